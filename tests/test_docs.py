"""The pages say what the program does: commands, examples, messages, names."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import io
import re
import shlex
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

import equipoise
from equipoise import errors
from equipoise.cli.application import create_application
from equipoise.errors import EquipoiseError, exit_status
from equipoise.rating.registry import SYSTEMS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a page in one language."""
    found = re.findall(rf"^```{re.escape(language)}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [str(block) for block in found]


def generator(name: str) -> Any:
    """Return a script of docs that writes a page."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_page_of_commands_is_up_to_date() -> None:
    """`python docs/generate_commands.py` writes it."""
    assert generator("generate_commands").commands_page() == page("reference/commands.md")


def test_the_layout_in_contributing_is_up_to_date() -> None:
    """`python docs/generate_layout.py` writes it."""
    assert generator("generate_layout").page() == CONTRIBUTING.read_text(encoding="utf-8")


def test_outputs_of_commands_are_compared_except_for_times() -> None:
    """`python docs/generate_outputs.py --check` does this with all guides."""
    shown = """```console
$ printf 'warning\\na  1\\nb  2\\ndone in 12.5 s\\n'
```

```output
warning
...
b  3
done in 9.1 s
```

<!-- not run: a reason -->
```output
anything
```
"""
    script = generator("generate_outputs")
    page = script.updated(shown)
    assert page.text == shown.replace("b  3", "b  2")
    assert len(page.changes) == len(page.not_run) == 1
    assert "-b  3\n+b  2" in page.changes[0]
    with pytest.raises(ValueError, match=r"failed:\nno"):
        script.updated("<!-- $ echo no; false -->\n```console\n$ true\n```\n")


@pytest.mark.parametrize("name", names(PAGES))
def test_an_output_of_a_command_is_marked_as_one(name: str) -> None:
    """Then it is compared; other text, such as a file, is a block `text`."""
    assert not re.search(r"^```console\n[^`]*```\n\n```text$", (ROOT / name).read_text(), re.M)


def test_the_layout_has_every_package() -> None:
    """A package that no layer names could import anything; `sample` has no module."""
    package = ROOT / "src" / "equipoise"
    there = {path.parent.name for path in package.glob("*/__init__.py")}
    there |= {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    layers = generator("generate_layout").layers()
    assert sorted(name for layer in layers for name in layer) == sorted(there)


#: A file or folder in backquotes: `rating/draws.py`, `docs/decisions`; not `rating/<name>.py`.
PATH = re.compile(r"`(\w[\w./-]*\.(?:py|md|bib)|(?:docs|tests|benchmarks|examples|src)/[\w./-]+)`")


@pytest.mark.parametrize(
    "path",
    [ROOT / "README.md", CONTRIBUTING, *(path for path in PAGES if path not in DECISIONS)],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_every_path_that_a_page_names_exists(path: Path) -> None:
    """Below the project, or below the package. Decisions tell what once was."""
    roots = (ROOT, ROOT / "src" / "equipoise")
    named = PATH.findall(path.read_text(encoding="utf-8"))
    assert [one for one in named if not any((root / one).exists() for root in roots)] == []


def command_lines() -> list[str]:
    """Return every `equipoise ...` that a page or a guide for contributors shows."""
    paths = [*PAGES, CONTRIBUTING]
    shown = (
        line.removeprefix("$ ").partition("#")[0].strip()
        for path in paths
        for block in blocks(path.read_text(encoding="utf-8"), "console")
        for line in block.splitlines()
    )
    return sorted({line for line in shown if line.startswith("equipoise")})


@cache
def command_tree() -> Any:
    return typer.main.get_command(create_application())


@pytest.mark.parametrize("line", command_lines())
def test_every_command_shown_exists_with_its_options(line: str) -> None:
    root = command_tree()
    words = shlex.split(line)[1:]
    command = root
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        assert words[0] in command.commands
        command = command.commands[words.pop(0)]
    known = {"--help", *(option for one in command.params for option in one.opts)}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("name", names([path for path in PAGES if ">>>" in path.read_text()]))
def test_every_example_gives_what_the_page_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of a page are one session, in a checkout of the project."""
    monkeypatch.chdir(ROOT)
    session = "\n".join(blocks((ROOT / name).read_text(encoding="utf-8"), "{doctest}"))
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
    runner.run(doctest.DocTestParser().get_doctest(session, {}, name, name, 0))
    assert runner.tries > 0
    assert runner.failures == 0


@pytest.mark.parametrize("path", DECISIONS, ids=names(DECISIONS))
def test_every_decision_has_its_three_parts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Choice", "Consequences"]
    assert re.match(r"# \d+\. \S.*\n\nStatus: \S", text)


def test_decisions_are_numbered_one_by_one() -> None:
    """The number of the file is that of its title."""
    for number, path in enumerate(DECISIONS, start=1):
        assert path.name.startswith(f"{number:04}-")
        assert path.read_text(encoding="utf-8").startswith(f"# {number}. ")


#: Files and folders of `formats` that read games; the others read histories, lobbies and tables of
#: any kind.
READERS_OF_GAMES = re.compile(r"((games|pgn)/.*|likely_doubles|synonyms|trf)\.py")


def rules_in(path: Path) -> set[str]:
    """Return every "must ..." of a source, up to its first variable part."""
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {id(part) for node in ast.walk(tree) for part in getattr(node, "values", ())}
    for node in ast.walk(tree):
        first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
        if first is node and id(node) in parts:
            continue
        if isinstance(first, ast.Constant) and str(first.value).startswith("must "):
            found.add(str(first.value).strip())
    return found


def rules_of_readers(*, games: bool) -> list[str]:
    """Return the rules of the readers of games, or of the others."""
    package = ROOT / "src" / "equipoise"
    formats = package / "formats"
    files = [
        path
        for path in formats.rglob("*.py")
        if bool(READERS_OF_GAMES.fullmatch(path.relative_to(formats).as_posix())) == games
    ]
    if games:
        files.append(package / "data" / "tournaments" / "games.py")
    return sorted(set().union(*(rules_in(path) for path in files)))


@pytest.mark.parametrize("rule", rules_of_readers(games=False))
def test_every_rule_of_the_readers_is_explained(rule: str) -> None:
    assert f"`{rule}" in page("reference/messages.md")


@pytest.mark.parametrize("rule", rules_of_readers(games=True))
def test_every_rule_of_the_readers_of_games_is_explained(rule: str) -> None:
    """What they share with readers of histories may be explained there."""
    pages = page("guides/reading-games.md") + page("reference/messages.md")
    assert f"`{rule}" in pages


@pytest.mark.parametrize("name", equipoise.__all__)
def test_every_public_name_is_on_the_page_of_the_library(name: str) -> None:
    assert re.search(
        rf"^\.\. auto\w+:: equipoise\.{name}(\(\))?$", page("reference/library.md"), re.MULTILINE
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_has_its_equations_and_says_what_it_expects(system: str) -> None:
    assert (DOCS / "equations" / f"{system}.md").is_file()
    expected = page("reference/tables.md").partition("### Expected")[2]
    assert f"| `{system}` |" in expected
    assert f"[`{system}`](../equations/{system}.md)" in page("reference/systems.md")


@pytest.mark.parametrize(
    "error",
    [
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, EquipoiseError)
    ],
)
def test_every_error_is_listed_with_its_code_and_exit_status(error: type[EquipoiseError]) -> None:
    rows = [line for line in page("reference/errors.md").splitlines() if error.__name__ in line]
    status = exit_status(error.__new__(error))
    assert any(f"| `{error.code}` | {status} |" in row for row in rows)


def test_every_setting_and_metric_of_the_service_is_in_the_guide_to_production() -> None:
    settings = pytest.importorskip("equipoise.web.settings")
    metrics = pytest.importorskip("equipoise.web.monitoring")
    guide = page("guides/production.md")
    for name in settings.ServiceSettings.__struct_fields__:
        assert f"`{name}`" in guide
    told = metrics.Metrics().page().decode()
    for name in re.findall(r"^# TYPE (\w+) (?:counter|gauge|histogram)$", told, re.MULTILINE):
        assert name.endswith("_created") or f"`{name}`" in guide


#: The code of a reading, as in "READINGS A6" or "(B7, B12)".
READING = re.compile(r"(?<![\w%.])[A-D]\d{1,2}\b")
#: Words of that form which are none: sets of control characters, players of an example, a white.
NO_READINGS = {"C0", "B60", "C60", "D65"}


def prose(path: Path) -> Iterator[str]:
    """Yield what a file says to its readers: all of a page; docstrings and comments of code."""
    text = path.read_text(encoding="utf-8")
    if not READING.search(text):
        return
    if path.suffix == ".md":
        yield text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def readings() -> dict[str, str]:
    """Return what docs/readings.md says under the code of each reading."""
    parts = re.split(r"^\(reading-[a-d]\d+\)=\n### ", page("readings.md"), flags=re.MULTILINE)[1:]
    return {part.partition(".")[0]: part for part in parts}


def test_every_reading_that_is_cited_is_stated() -> None:
    """In comments, docstrings and pages; a word that only looks like one is in NO_READINGS."""
    folders = [ROOT / name for name in ("src", "tests", "benchmarks", "examples")]
    code = [path for folder in folders for path in folder.rglob("*.py")]
    results = (ROOT / "benchmarks").rglob("*.md")
    cited = {
        found
        for path in (*code, *results, *PAGES)
        for text in prose(path)
        for found in READING.findall(text)
    }
    assert len(cited) > 30
    assert cited - NO_READINGS - readings().keys() == set()


def test_every_reading_has_a_label_of_its_own() -> None:
    """A6 is (reading-a6)=, which is where links from docstrings lead."""
    labels = re.findall(r"^\(reading-(.+)\)=$", page("readings.md"), re.MULTILINE)
    assert labels == [code.lower() for code in readings()]


@pytest.mark.parametrize("code", readings())
def test_every_reading_has_its_four_parts(code: str) -> None:
    parts = re.findall(r"^(\w+)\n: ", readings()[code], re.MULTILINE)
    assert parts == ["Source", "Reading", "Code", "Tests"]


def test_every_test_of_a_reading_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", page("readings.md")))
    defined = {
        found
        for path in (ROOT / "tests").rglob("test_*.py")
        for found in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named - defined == set()


def names_in_the_glossary() -> set[str]:
    """Return the names of Python, JSON and options that the tables give for a term."""
    rows = [line.split("|") for line in page("glossary.md").splitlines() if line.count("|") == 5]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row[3])}


def test_every_name_in_the_glossary_is_used() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    used = set(re.findall(r"(?:--)?\w+(?:[.-]\w+)*", "\n".join(sources)))
    assert len(names_in_the_glossary()) > 100
    assert names_in_the_glossary() - used == set()


def test_every_term_of_the_glossary_is_there_once() -> None:
    rows = [line.split("|")[1].strip() for line in page("glossary.md").splitlines() if "|" in line]
    terms = [term for term in rows if term not in ("term", "word") and not term.startswith("--")]
    assert len(terms) > 100
    assert sorted(set(terms)) == sorted(terms)
