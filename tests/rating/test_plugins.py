"""Systems of other packages: found by name, loaded when named, refused with the package's name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import equipoise as eq
from equipoise.errors import InvalidParameterError, NotFoundError, PluginError
from equipoise.rating.plugins import installed as plugins
from equipoise.rating.plugins.own_system import System
from equipoise.rating.registry import SYSTEMS, make_system, system_names
from plugged import FOOTBALL, Install

#: A class that is a system but for one fault.
STEPS = """\
from dataclasses import dataclass
from typing import ClassVar
from equipoise.rating.plugins.own_system import Capabilities, System

@dataclass(frozen=True, slots=True, kw_only=True)
class Steps(System):
    step: float = 10.0
    initial_rating: float = 1500.0
    initial_deviation: float = 350.0
    name: ClassVar[str] = "steps"

    @property
    def capabilities(self):
        return Capabilities()

    def settings(self):
        return ()

    def update(self, job, workers):
        return -1, -1.0

    def outlook(self, rating, deviation, history=None):
        raise NotImplementedError
"""


def test_listing_names_imports_no_package(install: Install) -> None:
    install("loud", "2.0", {"loud": "loud:System"}, {"loud.py": "raise SystemExit('imported')"})
    assert system_names() == [*SYSTEMS, "loud"]
    assert [one.requirement for one in plugins.offered()] == ["loud==2.0"]
    assert "loud" not in sys.modules


def test_a_system_is_loaded_when_it_is_named(install: Install) -> None:
    install("steppers", "1.0", {"steps": "steppers:Steps"}, {"steppers.py": STEPS})
    assert "steppers" not in sys.modules
    system = make_system("steps", {"step": "5"})
    assert isinstance(system, System)
    assert system == sys.modules["steppers"].Steps(step=5.0)
    with pytest.raises(NotFoundError, match=r"no system 'step'; .*did you mean steps\?"):
        make_system("step")


def test_a_built_in_system_is_never_replaced(install: Install) -> None:
    install("mine", "1.0", {"elo": "mine:Steps"}, {"mine.py": STEPS})
    assert type(make_system("elo")) is eq.Elo
    assert "mine" not in sys.modules
    (sentence,) = plugins.clashes(frozenset(SYSTEMS))
    assert sentence.startswith("the package mine 1.0 offers a system 'elo', but that name")
    assert "the built-in system is used" in sentence


def test_two_packages_with_one_name_are_refused(install: Install) -> None:
    for package in ("first", "second"):
        install(package, "1.0", {"steps": f"{package}:Steps"}, {f"{package}.py": STEPS})
    with pytest.raises(PluginError, match="2 packages offer a system 'steps': first and second"):
        make_system("steps")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            ("class Steps(System)", "class Steps"),
            r"must be a subclass of .*\.System; got Steps",
        ),
        (("@dataclass(frozen=True, slots=True, kw_only=True)", ""), "must be a frozen dataclass"),
        (("def update", "def other"), "must define update"),
        (
            ('= "steps"', '= "stairs"'),
            "must have the name of its entry point, 'steps'; got 'stairs'",
        ),
        (("step: float = 10.0", "step: float"), "must have a default for every parameter.* step"),
        (
            ("= 350.0", '= "much"'),
            "must accept its own default values; got: initial_deviation must be",
        ),
        (
            (
                "def settings",
                "def newcomer(self):\n        return {'level': 1.0}\n\n    def settings",
            ),
            "must keep the columns rating, matches, last_time .*; got level",
        ),
        (("class Steps", "class Stairs"), "cannot be loaded: AttributeError"),
    ],
)
def test_a_class_that_is_no_system_is_refused(
    install: Install, edit: tuple[str, str], message: str
) -> None:
    assert edit[0] in STEPS
    install("steppers", "1.0", {"steps": "steppers:Steps"}, {"steppers.py": STEPS.replace(*edit)})
    with pytest.raises(
        PluginError, match=rf"^the system 'steps' of the package steppers 1\.0 .*{message}"
    ):
        make_system("steps")


def test_a_function_is_no_system(install: Install) -> None:
    install("steppers", "1.0", {"steps": "steppers:steps"}, {"steppers.py": "def steps(): ..."})
    with pytest.raises(PluginError, match=r"steppers:steps must be a subclass of .*<function"):
        make_system("steps")


def test_what_the_update_does_not_do_is_refused(install: Install) -> None:
    """A learned entry needs kernels of the system; without them it would change nothing."""
    install("steppers", "1.0", {"steps": "steppers:Steps"}, {"steppers.py": STEPS})
    with pytest.raises(
        InvalidParameterError,
        match="entry must be 'fixed', because steps does not support a learned",
    ):
        make_system("steps", {"entry": "learned"})
    with pytest.raises(InvalidParameterError, match=r"hold_level must be 0\.0, because"):
        make_system("steps", {"hold_level": 0.5})


def test_a_saved_state_says_which_package_it_needs(
    football: Path, install: Install, tmp_path: Path
) -> None:
    pool = eq.PoolState.new(make_system("football-elo", {"k": 30}))
    pool.save(tmp_path / "state.npz")
    assert eq.PoolState.load(tmp_path / "state.npz").system == pool.system
    install.remove(football)
    with pytest.raises(
        PluginError,
        match=r"the saved state .*state\.npz has the system 'football-elo' of the package "
        r"equipoise-football, which is not installed here: install equipoise-football==0\.1\.0",
    ):
        eq.PoolState.load(tmp_path / "state.npz")


def test_a_state_of_a_built_in_system_names_no_package() -> None:
    assert b'"package"' not in eq.PoolState.new(eq.Elo()).to_bytes()


def test_the_example_is_what_its_project_file_says(football: Path) -> None:
    """The test takes names and versions from there, so that a change of one is not forgotten."""
    (plugin,) = plugins.offered()
    assert (plugin.name, plugin.requirement) == ("football-elo", "equipoise-football==0.1.0")
    assert plugin.summary == FOOTBALL["description"]
