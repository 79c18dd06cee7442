"""The structure that the design promises."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "equipoise"

HEAVY = (
    *("numpy", "rich", "numba", "polars", "sqlalchemy", "starlette", "matplotlib", "scipy"),
    "optuna",
)


@pytest.mark.parametrize(
    "code",
    [
        "import equipoise",
        "import equipoise.cli; equipoise.cli.run(['--help'])",
        "from equipoise.cli import run\n"
        "from equipoise.cli.application import create_application\n"
        "for command in create_application().registered_commands: run([command.name, '--help'])",
    ],
)
def test_importing_and_helping_load_nothing_heavy(code: str) -> None:
    """`import equipoise` and `--help` answer at once."""
    check = f"{code}\nimport sys\nprint('LOADED', *sorted(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED"


#: One after the other in one process: what it does, and what it may not load.
AT_ONCE = """
import sys
import numpy

def loads(*names):
    print("LOADED", *sorted(set(names) & set(sys.modules)))

from equipoise.cli import run
examples = sys.argv[1]
run(["balance", f"{examples}/lobby.csv", "--json"])
run(["rebalance", f"{examples}/rebalance.json", "--json"])
loads("numba", "scipy", "rich")
run(["compare", *sys.argv[2:], "--json"])
loads("numba", "scipy", "matplotlib")

from equipoise.data.games import Games
from equipoise.tournament.tournament import performance
white, black = numpy.triu_indices(4, 1)
games = Games(
    player_ids=numpy.arange(4), white=white, black=black, points=numpy.tile([1.0, 0.5, 0.0], 2)
)
performance(games)

from equipoise.tournament.existence import existence
from equipoise.tournament.pairs import Pairs
first, second = numpy.triu_indices(500, 1)
ones = numpy.ones(len(first))
assert existence(Pairs(first, second, ones, ones / 2, ones), 500).exists
loads("numba")
"""


def test_small_answers_load_no_compiler(tmp_path: Path) -> None:
    """Loading it takes longer than everything else: lobbies, two tables, a round robin of 500."""
    tables = [tmp_path / name for name in ("one.csv", "two.csv")]
    for at, path in enumerate(tables):
        path.write_text("player,rating\n" + "".join(f"{k},{1500 + k + at}\n" for k in range(9)))
    command = [sys.executable, "-c", AT_ONCE, str(ROOT / "examples"), *map(str, tables)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = [line for line in done.stdout.splitlines() if line.startswith("LOADED")]
    assert told == ["LOADED"] * 3


def test_messages_need_no_arrays() -> None:
    code = "import equipoise.messages.conversion, sys\n"
    check = f"{code}print(sorted(set(sys.modules) & {{'numpy', 'numba', 'polars'}}))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist() -> None:
    """Every name of the list can be had, with its own name; no other can."""
    import equipoise

    assert len(equipoise.__all__) > 70
    assert dir(equipoise) == equipoise.__all__
    assert equipoise.__version__ == metadata.version("equipoise")
    for name in equipoise.__all__:
        assert getattr(equipoise, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = equipoise.nothing


def test_the_list_of_public_names_is_all_that_init_imports_for_type_checkers() -> None:
    """An import without "as" would not be found at run time."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    imported = [
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("equipoise")
        for name in node.names
    ]
    assert [name.asname for name in imported] == [name.name for name in imported]


def test_no_package_has_the_name_of_a_public_function() -> None:
    """Importing `equipoise.balance` would put the package in place of the function."""
    import equipoise

    # Sources alone: a folder that has moved may leave its compiled files behind.
    sources = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    below = {path.parts[0].removesuffix(".py") for path in sources}
    assert {"rating", "errors"} < below
    assert below.isdisjoint(equipoise.__all__)


def test_no_modules_import_one_another_in_a_circle() -> None:
    """Imports within functions count; those for type checkers alone do not."""
    code = (
        "from structure import cycles, imports, modules\n"
        "print(cycles(imports(modules(), for_types=False)))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT / "benchmarks"
    )
    assert done.stdout == "[]\n"


def test_no_file_has_a_name_that_says_nothing() -> None:
    names = {path.stem for path in (*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py"))}
    assert not names & {"utils", "util", "core", "common", "helpers", "misc"}


def test_no_constraint_names_an_index() -> None:
    """Versions are pinned by name and number alone."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    for line in lines:
        assert line.startswith("#") or re.fullmatch(r"[a-z0-9.-]+==[A-Za-z0-9.]+", line), line


def test_every_requirement_is_pinned() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        *project["project"]["dependencies"],
        *(name for extra in project["project"]["optional-dependencies"].values() for name in extra),
        *(name for group in project["dependency-groups"].values() for name in group),
    ]
    pinned = {
        line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    for requirement in wanted:
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        assert name.group().lower().replace("_", "-") in pinned
