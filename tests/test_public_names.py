"""The public names: each has an example that runs, and their signatures name only public types."""

from __future__ import annotations

import doctest
import importlib
import inspect
import types
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import equipoise as eq

ROOT = Path(__file__).parents[1]

#: Methods by which a system and its kernels work together: those who write a system use them, and
#: their types are those of the kernels of one system.
OF_KERNELS = {
    "settings",
    "update",
    "own",
    "entry_of",
    "kernel",
    "home_of",
    "contexts_of",
}
#: Types that an equilibrium makes, and nobody else.
MADE_ELSEWHERE = {"Uncertainty"}


def documented(name: str) -> str:
    return inspect.getdoc(getattr(eq, name)) or ""


def section(text: str) -> str:
    """Return the examples of a docstring."""
    return text.partition("\nExamples\n--------\n")[2]


@pytest.mark.parametrize("name", eq.__all__)
def test_the_example_of_a_public_name_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkout of the project, with `import equipoise as eq` before it."""
    monkeypatch.chdir(ROOT)
    examples = section(documented(name))
    assert ">>>" in examples, f"{name} has no section Examples"
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
    runner.run(doctest.DocTestParser().get_doctest(examples, {"eq": eq}, name, name, 0))
    assert runner.tries > 0
    assert runner.failures == 0


def callables(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a public function, or the fields and public methods of a public type."""
    if not inspect.isclass(value):
        yield "", value
        return
    yield "", value
    for name, member in inspect.getmembers_static(value):
        if name in OF_KERNELS or (name.startswith("_") and name != "__init__"):
            continue
        if isinstance(member, property):
            yield name, member.fget
        elif isinstance(member, classmethod | staticmethod):
            yield name, member.__func__
        elif inspect.isfunction(member):
            yield name, member


def hints(function: Any) -> dict[str, Any]:
    """Return the annotations of a function or of the fields of a type, evaluated.

    The classes of dataclasses inherit `__init__` of another module, so names are looked up in the
    modules of all base classes. Names that are imported only for type checkers are given here.
    """
    names: dict[str, Any] = {
        "pl": pl,
        "Figure": object,
        "Markup": str,
        "System": eq.System,
        "Prediction": eq.Prediction,
    }
    for one in getattr(function, "__mro__", ()):
        names |= vars(importlib.import_module(one.__module__))
    return typing.get_type_hints(function, localns=names)


def types_in(hint: Any) -> Iterator[type]:
    """Yield the classes of this project that an annotation names."""
    if isinstance(hint, list | tuple):
        for one in hint:
            yield from types_in(one)
        return
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        if hint.__module__.partition(".")[0] == "equipoise":
            yield hint
        return
    for one in typing.get_args(hint):
        yield from types_in(one)


def test_every_type_that_a_signature_names_is_public() -> None:
    public = {id(getattr(eq, one)) for one in eq.__all__}
    missing = {
        f"{found.__module__}.{found.__qualname__} in {name}.{method}"
        for name in eq.__all__
        for method, function in callables(getattr(eq, name))
        # A dataclass takes its fields, which are looked at as those of the class.
        if method != "__init__" or not (is_dataclass(getattr(eq, name)) or name in MADE_ELSEWHERE)
        for field, hint in hints(function).items()
        if not field.startswith("_")
        for found in types_in(hint)
        if id(found) not in public
    }
    assert sorted(missing) == []
