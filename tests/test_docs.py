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
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_page_of_commands_is_up_to_date() -> None:
    """`python docs/generate_commands.py` writes it."""
    assert generator("generate_commands").commands_page() == page("reference/commands.md")


def test_the_page_of_the_layout_is_up_to_date() -> None:
    """`python docs/generate_layout.py` writes it."""
    assert generator("generate_layout").page() == page("dev/layout.md")


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


def test_an_output_of_a_command_is_marked_as_one() -> None:
    """Then it is compared; other text, such as a file, is a block `text`."""
    for path in PAGES:
        assert not re.search(r"^```console\n[^`]*```\n\n```text$", path.read_text(), re.M), path


def test_the_layout_has_every_package() -> None:
    """A package that no layer names could import anything; `sample` has no module."""
    package = ROOT / "src" / "equipoise"
    there = {path.parent.name for path in package.glob("*/__init__.py")}
    there |= {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    layers = generator("generate_layout").layers()
    assert sorted(name for layer in layers for name in layer) == sorted(there)


#: A file or folder in backquotes: `rating/state.py`, `docs/decisions`; not `rating/<name>.py`.
PATH = re.compile(r"`(\w[\w./-]*\.(?:py|md|bib)|(?:docs|tests|benchmarks|examples|src)/[\w./-]+)`")


def test_every_path_that_a_page_names_exists() -> None:
    """Below the project, or below the package."""
    roots = (ROOT, ROOT / "src" / "equipoise")
    for path in (ROOT / "README.md", CONTRIBUTING, *PAGES):
        named = PATH.findall(path.read_text(encoding="utf-8"))
        missing = [one for one in named if not any((root / one).exists() for root in roots)]
        assert missing == [], path


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


def test_every_command_shown_exists_with_its_options() -> None:
    root: Any = typer.main.get_command(create_application())
    for line in command_lines():
        words = shlex.split(line)[1:]
        command = root
        while hasattr(command, "commands") and words and not words[0].startswith("-"):
            assert words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        known = {"--help", *(option for one in command.params for option in one.opts)}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, line


@pytest.mark.parametrize("name", names([path for path in PAGES if ">>>" in path.read_text()]))
def test_every_example_gives_what_the_page_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of a page are one session, in a checkout of the project."""
    monkeypatch.chdir(ROOT)
    session = "\n".join(blocks((ROOT / name).read_text(encoding="utf-8"), "{doctest}"))
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
    runner.run(doctest.DocTestParser().get_doctest(session, {}, name, name, 0))
    assert runner.tries > 0
    assert runner.failures == 0


def test_decisions_are_numbered_one_by_one_and_have_five_parts() -> None:
    """The number of the file is that of its title."""
    parts = ["Question", "Decision", "Why", "Alternatives", "When to look again"]
    for number, path in enumerate(DECISIONS, start=1):
        text = path.read_text(encoding="utf-8")
        assert path.name.startswith(f"{number:04}-")
        assert text.startswith(f"# {number}. ")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == parts, path


def test_every_decision_that_is_cited_exists() -> None:
    """As docs/decisions/0010, or as decision 10."""
    folders = [ROOT / name for name in ("src", "tests", "benchmarks", "papers")]
    code = [path for folder in folders for path in folder.rglob("*.py")]
    cited = {
        int(number)
        for path in (*code, *PAGES, CONTRIBUTING)
        for number in re.findall(
            r"\b(?:decisions/0|decision )(\d+)\b", path.read_text(encoding="utf-8"), re.IGNORECASE
        )
    }
    assert len(cited) > 5
    assert cited <= set(range(1, len(DECISIONS) + 1))


#: Files and folders of `formats` that read games; the others read histories, lobbies and tables of
#: any kind.
READERS_OF_GAMES = re.compile(
    r"(games|game_lists|crosstable|conversions|history_of_sides|two_sides|pgn.*|names|trf)\.py"
)


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
        files.append(package / "data" / "games.py")
    return sorted(set().union(*(rules_in(path) for path in files)))


def test_every_rule_of_the_readers_is_explained() -> None:
    """What those of games share with those of histories may be explained there."""
    pages = page("reference/messages.md")
    assert [rule for rule in rules_of_readers(games=False) if f"`{rule}" not in pages] == []
    pages += page("reference/input-files.md")
    assert [rule for rule in rules_of_readers(games=True) if f"`{rule}" not in pages] == []


def test_every_public_name_is_on_the_page_of_the_library() -> None:
    there = re.findall(
        r"^\.\. auto\w+:: equipoise\.(\w+)(?:\(\))?$", page("reference/library.md"), re.MULTILINE
    )
    assert set(equipoise.__all__) - set(there) == set()


def test_every_system_has_its_equations_and_says_what_it_expects() -> None:
    expected = page("reference/tables.md").partition("### Expected")[2]
    for system in SYSTEMS:
        assert (DOCS / "equations" / f"{system}.md").is_file()
        assert f"| `{system}` |" in expected
        assert f"[`{system}`](../equations/{system}.md)" in page("reference/systems.md")


def test_every_error_is_listed_with_its_code_and_exit_status() -> None:
    kinds = [one for one in vars(errors).values() if isinstance(one, type)]
    for error in (one for one in kinds if issubclass(one, EquipoiseError)):
        rows = [line for line in page("reference/errors.md").splitlines() if error.__name__ in line]
        status = exit_status(error.__new__(error))
        assert any(f"| `{error.code}` | {status} |" in row for row in rows), error


def test_the_page_of_settings_is_up_to_date() -> None:
    """`python docs/generate_settings.py` writes it: every setting and metric has a meaning."""
    pytest.importorskip("equipoise.web.settings")
    script = generator("generate_settings")
    assert script.page() == page("reference/settings.md")
    assert not re.search(r"\|\s*\|\n", script.page())


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


#: A label, and a paragraph that begins with the code of its reading.
STATED = re.compile(r"^\(reading-(.+)\)=\n\*\*([A-D]\d+)\. ((?:.+\n)+)", re.MULTILINE)


def readings() -> dict[str, str]:
    """Return what the pages say under the code of each reading; a code has one place."""
    stated = [found for path in PAGES for found in STATED.findall(path.read_text("utf-8"))]
    assert len({code for _, code, _ in stated}) == len(stated)
    return {code: text for _, code, text in stated}


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
    """A6 is (reading-a6)=, which is where links lead; docs/readings.md has all of them."""
    stated = [found for path in PAGES for found in STATED.findall(path.read_text("utf-8"))]
    assert [label for label, _, _ in stated] == [code.lower() for _, code, _ in stated]
    assert set(READING.findall(page("readings.md"))) == readings().keys()


@pytest.mark.parametrize("code", readings())
def test_every_reading_has_its_three_parts(code: str) -> None:
    assert re.findall(r"\*(\w+):\*", readings()[code]) == ["Source", "Reading", "Tests"]


def test_every_test_of_a_reading_exists() -> None:
    named = {test for text in readings().values() for test in re.findall(r"`(test_\w+)`", text)}
    defined = {
        found
        for path in (ROOT / "tests").rglob("test_*.py")
        for found in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(named) > 60
    assert named - defined == set()


def test_every_name_in_the_glossary_is_used() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    used = set(re.findall(r"(?:--)?\w+(?:[.-]\w+)*", "\n".join(sources)))
    names_given = set(re.findall(r"`([^`]+)`", page("glossary.md")))
    assert len(names_given) > 25
    assert names_given - used == set()


def test_every_term_of_the_glossary_is_there_once() -> None:
    rows = [line.split("|")[1] for line in page("glossary.md").splitlines() if "|" in line]
    terms = [term.strip() for row in rows for term in row.split(",")]
    terms = [term for term in terms if term != "term" and not term.startswith("--")]
    assert len(terms) > 80
    assert sorted(set(terms)) == sorted(terms)
