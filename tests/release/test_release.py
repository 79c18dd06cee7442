"""What a release is made of: notes, versions, workflows, and files about the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from release_scripts import ROOT, script

yaml = pytest.importorskip("yaml")

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

CHANGELOG = """# Changelog

Some words.

## Unreleased

- Coming.

## 1.1.0 - 2027-03-01

### Added

- More.

## [1.0.0] - 2027-01-31

- First.

## 0.9.0
"""


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("1.1.0", "### Added\n\n- More."),
        ("v1.0.0", "- First."),
        ("Unreleased", "- Coming."),
    ],
)
def test_the_notes_are_one_section(version: str, wanted: str) -> None:
    assert script("notes").notes(CHANGELOG, version) == wanted


def test_a_version_without_a_section_is_refused() -> None:
    notes = script("notes").notes
    with pytest.raises(SystemExit, match=r"no section for 2.0.0; it has Unreleased, 1.1.0, 1.0.0"):
        notes(CHANGELOG, "v2.0.0")
    with pytest.raises(SystemExit, match="is empty"):
        notes(CHANGELOG, "0.9.0")


def test_the_notes_of_this_tree_are_written(tmp_path: Path) -> None:
    """Those of the next version, as long as it is not released."""
    program = [sys.executable, str(ROOT / "release" / "notes.py")]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("### Added\n")
    assert "\n## " not in done.stdout
    subprocess.run([*program, "", str(tmp_path / "notes.md")], capture_output=True, check=True)
    assert (tmp_path / "notes.md").read_text() == done.stdout


def test_all_files_must_name_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "release"))
    check = script("check").check
    for name in ("pyproject.toml", "CITATION.cff"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(f"## {VERSION} - 2027-01-31\n\n- First.\n")
    check(tmp_path, f"v{VERSION}")
    with pytest.raises(SystemExit, match=f"is 9.0.0, but pyproject.toml has {VERSION}"):
        check(tmp_path, "v9.0.0")
    (tmp_path / "CITATION.cff").write_text("version: 0.0.1\n")
    with pytest.raises(SystemExit, match=r"but CITATION.cff has 0.0.1$"):
        check(tmp_path, VERSION)
    shutil.copyfile(ROOT / "CITATION.cff", tmp_path / "CITATION.cff")
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n\n- First.\n")
    with pytest.raises(SystemExit, match="no section"):
        check(tmp_path, VERSION)


def test_the_citation_names_the_version_and_the_authors_of_the_package() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(cited["version"]) == VERSION
    assert cited["authors"] == [{"name": "The Equipoise developers"}]
    assert cited["license"] == "MIT"


def steps(path: Path) -> list[dict[str, Any]]:
    """Return the steps of all jobs of a workflow."""
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    return [step for job in jobs for step in job.get("steps", ())]


def targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.name))
def test_every_step_of_a_workflow_is_a_make_target(path: Path) -> None:
    """One target a step, with variables that the Makefile reads."""
    makefile = (ROOT / "Makefile").read_text()
    assert steps(path)
    for step in steps(path):
        if "run" not in step:
            continue
        command = re.fullmatch(r"make ([a-z-]+)((?: [A-Z]+=(?:\"[^\"]*\"|[\w.]+))*)", step["run"])
        assert command is not None, step["run"]
        assert command[1] in targets(), step["run"]
        for variable in re.findall(r" ([A-Z]+)=", command[2]):
            assert f"$({variable})" in makefile, step["run"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.name))
def test_every_action_is_pinned_to_a_commit(path: Path) -> None:
    """With its version as a comment."""
    lines = [line for line in path.read_text().splitlines() if re.match(r" +- uses: ", line)]
    assert len(lines) == sum("uses" in step for step in steps(path))
    pinned = r" +- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    for line in lines:
        assert re.fullmatch(pinned, line), line


def test_a_version_of_an_action_is_the_same_commit_in_all_workflows() -> None:
    text = "".join(path.read_text() for path in WORKFLOWS)
    found = set(re.findall(r"uses: ([\w-]+/[\w-]+)@(\w{40}) # (v[\d.]+)", text))
    assert len({(name, version) for name, _, version in found}) == len(found)
    assert len({name for name, *_ in found}) == len(found) == 7


def test_the_lowest_versions_are_those_of_the_package_and_its_extras() -> None:
    lines = script("lowest").lowest(ROOT)
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = package["optional-dependencies"].values()
    needed = {*package["dependencies"], *(one for extra in extras for one in extra)}
    assert len(lines) == len(needed)
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+(;.*)?", line) for line in lines)
    assert f"numpy=={next(one for one in needed if one.startswith('numpy'))[7:]}" in lines


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.name))
def test_a_workflow_may_only_read_unless_a_job_needs_more(path: Path) -> None:
    """And every job has an end."""
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "permissions" not in job or name == "publish"
        assert "uses" in job or job["timeout-minutes"] <= 360
        # Text that others choose is never part of a script.
        assert not any("${{" in step.get("run", "") for step in job.get("steps", ()))


def test_the_matrix_has_the_versions_that_are_claimed_and_the_next() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    claimed = [one.split()[-1] for one in classifiers if re.search(r":: 3\.\d+$", one)]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == [*claimed, "3.14"]
    assert "3.14" not in claimed


def test_templates_of_issues_are_forms() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        if path.name != "config.yml":
            assert {"name", "description", "body"} <= form.keys()
            ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
            assert len(set(ids)) == len(ids) > 1


DAY = """# speed

How fast?

Machine

| what   | peer | ours, s | ratio | note         |
|--------|------|---------|-------|--------------|
| duels  | a    | {}    | 20.6x | new          |
| <teams> | b   | 1,234.5 | 3x    | 4 and others |

## Memory

| what  | peak GB        |
|-------|----------------|
| duels | 0.5 (0.4, 0.6) |
| none  |                |
"""


def test_figures_are_kept_and_drawn_over_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two days of one benchmark; a file without a table is no figure."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    over_time = script("over_time", "benchmarks")
    results, kept = tmp_path / "results", tmp_path / "kept"
    results.mkdir()
    (results / "words.md").write_text("# words\n\nNothing.\n")
    for day, seconds in (("2027-01-31", "3.53"), ("2027-02-01", "3.10")):
        (results / "speed.md").write_text(DAY.format(seconds))
        over_time.keep(kept, over_time.date.fromisoformat(day), results)
    points = list(over_time.points_of(DAY.format("3.53"), over_time.date(2027, 1, 31)))
    assert [(one.chart, one.line, one.value) for one in points] == [
        ("ours, s", "duels, a, new", 3.53),
        ("ratio", "duels, a, new", 20.6),
        ("ours, s", "<teams>, b, 4 and others", 1234.5),
        ("ratio", "<teams>, b, 4 and others", 3.0),
        ("Memory: peak GB", "duels", 0.5),
    ]
    written = over_time.build(kept)
    assert [path.name for path in written] == ["speed.svg", "index.html"]
    chart, page = written[0].read_text(), written[1].read_text()
    for shown in ("speed: ours, s", "speed: Memory: peak GB", "duels, a, new", "&lt;teams&gt;"):
        assert shown in chart
    assert "2 days, from 2027-01-31 to 2027-02-01." in page
    before = written[0].read_bytes()
    over_time.build(kept)
    assert written[0].read_bytes() == before


def test_results_of_an_earlier_run_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone has the results of the last commit."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    over_time = script("over_time", "benchmarks")
    began = tmp_path / "began"
    for at, path in enumerate([tmp_path / "old.md", began, tmp_path / "new.md"]):
        path.write_text("")
        os.utime(path, (1_000 + at, 1_000 + at))
    over_time.keep(tmp_path / "kept", over_time.date(2027, 1, 31), tmp_path, since=began)
    assert [path.name for path in (tmp_path / "kept").rglob("*.md")] == ["new.md"]


def test_the_nightly_benchmarks_need_no_data() -> None:
    """What a benchmark reads from elsewhere it looks for with `needs` or below DATA."""
    makefile = (ROOT / "Makefile").read_text()
    nightly = re.search(r"^NIGHTLY := (.*)$", makefile, re.MULTILINE)
    assert nightly is not None
    for name in nightly[1].split():
        text = (ROOT / "benchmarks" / f"{name}.py").read_text()
        assert not re.search(r"\bneeds\(|\bDATA\b", text), name
