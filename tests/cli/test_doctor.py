"""equipoise doctor and systems: what is looked at, said of broken things, left alone and listed.

Importing every library takes seconds, so most tests do without.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import Cli
from equipoise.analysis.doctor import computation as findings
from equipoise.analysis.doctor.computation import (
    EXTRAS,
    Installation,
    Requirement,
    broken_imports,
    is_at_least,
    requirements_of,
)
from equipoise.cli import run
from equipoise.rating.registry import SYSTEMS, system_class

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def metadata() -> str:
    """Return the package's metadata as pyproject.toml has them, whatever is installed."""
    extras = PROJECT["optional-dependencies"]
    lines = [
        *("Metadata-Version: 2.4", "Name: equipoise", f"Version: {PROJECT['version']}"),
        f"Requires-Python: {PROJECT['requires-python']}",
        *(f"Provides-Extra: {name}" for name in extras),
        *(f"Requires-Dist: {line}" for line in PROJECT["dependencies"]),
    ]
    for name, needed in extras.items():
        for line in needed:
            requirement, semicolon, condition = line.partition(";")
            joined = f"({condition.strip()}) and " if semicolon else ""
            lines.append(f"Requires-Dist: {requirement}; {joined}extra == '{name}'")
    return "\n".join([*lines, "", ""])


@pytest.fixture
def early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is searched before all others, with up-to-date metadata in it."""
    folder = tmp_path / "early"
    told = folder / f"equipoise-{PROJECT['version']}.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text(metadata())
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.delenv("EQUIPOISE_DATABASE", raising=False)
    return folder


@pytest.fixture
def quick(early: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return that folder, for a command that imports and rates nothing."""
    monkeypatch.setattr(findings, "broken_imports", lambda modules: {})
    monkeypatch.setattr(findings, "_compiled_systems", lambda: (["elo"], []))
    return early


def few_libraries(folder: Path) -> None:
    """Let the metadata name one library that is always needed, and those of two extras."""
    (told,) = folder.glob("equipoise-*.dist-info/METADATA")
    kept = [
        line
        for line in metadata().splitlines()
        if "Requires-Dist" not in line or re.search(" (msgspec|matplotlib|httpx).*", line)
    ]
    told.write_text("\n".join([*kept, "", ""]))


def pretend(folder: Path, name: str, version: str, module: str, code: str = "") -> None:
    """Put a library into a folder."""
    told = folder / f"{name}-{version}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text(code)


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit status, and its findings by name."""
    capsys.readouterr()
    status = run(["doctor", "--json", *arguments])
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] == (status == 0)
    found = {one["name"]: one for one in answer["findings"]}
    assert len(found) == len(answer["findings"]), "two things have one name"
    return status, found


def test_it_looks_at_everything_and_knows_the_extras_of_the_project(early, capsys):
    status, found = doctor(capsys)
    assert status == 0
    always = {one.name for one in requirements_of(PROJECT["dependencies"])}
    assert found.keys() >= {"python", "equipoise", *always, *EXTRAS, "pg_dump"}
    assert found["numba"]["detail"].startswith(distribution("numba").version)
    assert all(one["detail"] for one in found.values())
    assert sorted(EXTRAS) == sorted(PROJECT["optional-dependencies"])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.search(r"^EXTRAS := (.*)$", makefile, re.MULTILINE)
    assert named is not None
    assert sorted(named[1].split(",")) == sorted(EXTRAS)


def test_the_text_has_a_line_for_each_thing_and_its_command(quick, capsys):
    pretend(quick, "polars", "1.9.0", "polars")
    assert run(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = next(k for k, line in enumerate(lines) if "polars" in line)
    assert " ".join(lines[at].split()) == "failed polars polars 1.9.0 is older than 2.1"
    assert lines[at + 1].strip() == f"$ {sys.executable} -m pip install 'polars>=2.1'"
    assert all(len(line) <= 100 for line in lines if "$ " not in line)


def test_requirements_are_read_as_pip_reads_them(early: Path) -> None:
    """`packaging` is what pip reads them with."""
    packaging = pytest.importorskip("packaging.requirements")
    lines = distribution("equipoise").requires or []
    assert len(lines) > 25
    wanted = []
    for line in lines:
        read = packaging.Requirement(line)
        for extra in ["", *EXTRAS]:
            always = read.marker is None or read.marker.evaluate({"extra": ""})
            if read.marker is None or read.marker.evaluate({"extra": extra}):
                bounds = [one.version for one in read.specifier]
                wanted.append((read.name.lower(), "" if always else extra, *bounds))
                break
    found = [(one.name, one.extra, one.least) for one in requirements_of(lines)]
    assert found == wanted


@pytest.mark.parametrize(
    "version", ["1.9", "2.0", "2", "2.0.0", "2.0rc1", "2.0.dev3", "2.0.post1", "10.0", "2.0+cpu"]
)
@pytest.mark.parametrize("least", ["2.0", "2.0.1", "1.10", "2"])
def test_versions_are_compared_as_pip_compares_them(version: str, least: str) -> None:
    packaging = pytest.importorskip("packaging.version")
    assert is_at_least(version, least) == (packaging.Version(version) >= packaging.Version(least))


def test_a_condition_holds_for_one_python_only_and_a_missing_program_is_absent(monkeypatch):
    lines = ["a>=1; python_version < '3.0'", "b; sys_platform == 'none'", "c>=2"]
    assert requirements_of(lines) == [Requirement("c", "", "c>=2", "2")]
    with pytest.raises(ValueError, match="not understood"):
        requirements_of(["d ~= 1 ~= 2"])
    monkeypatch.setattr(findings.shutil, "which", lambda name: None)
    assert {one.status for one in findings.program_findings()} == {"absent"}


def test_a_missing_extra_is_absent_and_failed_if_it_is_needed(quick, capsys, monkeypatch):
    real = findings.distribution

    def without(name: str) -> Any:
        if name == "optuna":
            raise findings.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(findings, "distribution", without)
    status, found = doctor(capsys)
    assert status == 0
    assert found["tune"]["status"] == "absent"
    assert "not installed: optuna" in found["tune"]["detail"]
    assert found["tune"]["remedy"] == f"{sys.executable} -m pip install '.[tune]'"
    status, found = doctor(capsys, "--need", "tune")
    assert status == 1
    assert found["tune"]["status"] == "failed"
    assert run(["doctor", "--need", "chess"]) == 2
    assert "no extra 'chess'; the extras are amg, charts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ImportError('libpng is missing')", "ImportError: libpng is missing"),
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_n"),
        ("import os; os._exit(3)", "Python ended with status 3"),
        ("raise SystemExit(4)", "SystemExit: 4"),
        ("print('hello')", ""),
        ("import os; os.write(1, b'hello')", ""),
        pytest.param(
            "import os; os.abort()",
            "Python was ended by signal SIGABRT",
            marks=pytest.mark.skipif(os.name == "nt", reason="Windows has no signals"),
        ),
    ],
)
def test_a_broken_library_stops_nothing(early, capsys, monkeypatch, code, reason):
    """The libraries that are imported after it are still looked at."""
    few_libraries(early)
    monkeypatch.setattr(findings, "_compiled_systems", lambda: (["elo"], []))
    pretend(early, "matplotlib", "3.10.1", "matplotlib", code)
    status, found = doctor(capsys)
    assert status == 0
    assert found["charts"]["status"] == ("warning" if reason else "ok")
    assert reason in found["charts"]["detail"]
    assert found["client"]["status"] == "ok"


def test_an_import_without_end_is_broken(early: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (early / "sleeper.py").write_text("import time\ntime.sleep(60)")
    monkeypatch.setattr(findings, "_PATIENCE", 2)
    found = broken_imports(["json", "sleeper", "csv"])
    assert found == {"sleeper": "the import takes longer than 2 s"}


def test_a_library_that_is_always_needed_may_be_broken(early: Path, tmp_path: Path) -> None:
    """In a process that has not imported it yet."""
    few_libraries(early)
    (told,) = early.glob("equipoise-*.dist-info/METADATA")
    told.write_text(
        told.read_text().replace("Requires-Dist: msgspec>=0.19", "Requires-Dist: numba>=0.68")
    )
    pretend(early, "numba", "0.99.0", "numba", "raise ImportError('Numba needs NumPy 1.x')")
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", "doctor"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stderr
    assert "numba 0.99.0 cannot be imported: ImportError: Numba needs NumPy 1.x" in " ".join(
        done.stdout.split()
    )
    assert f"{sys.executable} -m pip install --force-reinstall 'numba>=0.68'" in done.stdout
    assert "Numba cannot be used: ImportError: Numba needs NumPy 1.x" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("known", [True, False], ids=["old", "none"])
def test_old_metadata_or_none_are_noticed(known, quick, capsys, monkeypatch):
    """An installation in place keeps those of its day; a folder in PYTHONPATH has none."""
    (told,) = quick.glob("equipoise-*.dist-info/METADATA")
    told.write_text(metadata().replace("Provides-Extra: tracing\n", ""))

    def missing(name: str) -> Any:
        raise findings.PackageNotFoundError(name)

    if not known:
        monkeypatch.setattr(findings, "distribution", missing)
    status, found = doctor(capsys)
    detail = "older than its code and lacks tracing" if known else "is not installed"
    assert (status, found["equipoise"]["status"]) == ((0, "warning") if known else (1, "failed"))
    assert detail in found["equipoise"]["detail"]
    assert "pip install" in found["equipoise"]["remedy"]


@pytest.mark.parametrize(
    ("origin", "place"),
    [
        ({"url": "file:///home/a/clone", "dir_info": {"editable": True}}, "--editable {}[tune]"),
        ({"url": "file:///home/a/clone", "dir_info": {}}, "{}[tune]"),
        ({"url": "file:///a%20b/equipoise.whl", "archive_info": {}}, "'/a b/equipoise.whl[tune]'"),
        ({"url": "https://example.org/equipoise.whl"}, "'.[tune]'"),
        (None, "'.[tune]'"),
    ],
)
def test_the_command_names_the_place_of_the_package(quick, origin, place):
    """As pip has written it down (PEP 610)."""
    (told,) = quick.glob("equipoise-*.dist-info")
    if origin is not None:
        (told / "direct_url.json").write_text(json.dumps(origin))
    command = findings.install_command(Installation.look().package, "tune")
    wanted = place.format("/home/a/clone").replace("/home/a/clone[tune]", "'/home/a/clone[tune]'")
    assert command == f"{sys.executable} -m pip install {wanted}"


def test_nothing_is_compiled(early: Path, tmp_path: Path) -> None:
    """With an empty cache, which it leaves empty."""
    few_libraries(early)
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", "doctor", "--json"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = {one["name"]: one for one in json.loads(done.stdout)["findings"]}
    assert found["systems"]["status"] == "absent"
    assert found["systems"]["detail"].startswith(f"0 of {len(SYSTEMS)} systems are compiled")
    assert found["systems"]["remedy"] == "equipoise doctor --compile"
    assert "is writable: 0 files, 0.0 MB" in found["cache"]["detail"]
    assert [path for path in tmp_path.joinpath("cache").rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_a_system_that_was_used_is_compiled(early: Path, tmp_path: Path) -> None:
    few_libraries(early)
    code = "import equipoise.cli as c; c.run({!r})"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    sample = str(ROOT / "examples" / "league.csv")
    rate = ["rate", sample, "--system", "glicko2", "--output", str(tmp_path / "out.csv")]
    for arguments in (rate, ["doctor", "--json"]):
        done = subprocess.run(
            [sys.executable, "-c", code.format(arguments)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    found = {one["name"]: one for one in json.loads(done.stdout)["findings"]}
    listed = found["systems"]["detail"].partition(":")[2].split(", ")
    assert "glicko2" not in [name.strip() for name in listed]


@pytest.mark.parametrize(
    ("disabled", "remedy"),
    [("0", "export NUMBA_CACHE_DIR=/var/cache/equipoise"), ("1", "unset NUMBA_DISABLE_JIT")],
)
def test_kernels_that_are_not_kept_or_not_compiled_are_a_warning(disabled, remedy, monkeypatch):
    from equipoise import _jit

    monkeypatch.setenv("NUMBA_DISABLE_JIT", disabled)
    monkeypatch.setattr(_jit, "cache_folder", lambda: None)
    (found,) = findings.kernel_findings()
    assert (found.status, found.remedy) == ("warning", remedy)


def test_a_database_is_looked_at(quick, capsys, tmp_path, monkeypatch):
    address = f"sqlite:///{tmp_path / 'league.db'}"
    status, found = doctor(capsys, "--database", address)
    assert status == 1
    assert found["file"]["remedy"] == f"equipoise serve --database {address}"
    assert run(["db", "keys", "create", "--name", "a", "--database", address]) == 0
    status, found = doctor(capsys, "--database", address)
    assert status == 0
    assert found["schema"]["detail"].startswith("version ")
    assert found["free space"]["status"] == "ok"
    assert found["content"]["remedy"] == f"equipoise db check --database {address}"
    monkeypatch.setenv("EQUIPOISE_DATABASE", address)
    assert doctor(capsys)[1]["content"]["remedy"] == "equipoise db check"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mysql://a:secret@b/c", "the database must be sqlite:///FILE or"),
        ("postgresql+psycopg://a:secret@127.0.0.1:1/c", "connect"),
        ("sqlite:///no/such/folder/x.db", "no database no/such/folder/x.db"),
        ("sqlite:///none.db", "cannot be read"),
    ],
)
def test_a_database_that_cannot_be_read_is_a_finding(quick, capsys, monkeypatch, address, said):
    monkeypatch.chdir(quick)
    (quick / "none.db").write_text("no database" * 1000)
    capsys.readouterr()
    assert run(["doctor", "--database", address]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert said in out
    assert "secret" not in out


def test_systems_are_listed_or_shown_with_their_parameters(cli: Cli) -> None:
    out = cli("systems").out
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(SYSTEMS)
    assert "home_advantage" in cli("systems", "elo").out
    (found,) = cli.json("systems", "elo")
    assert {"name": "k", "type": "float", "default": 32.0} in found["parameters"]
    shown = cli("systems", "chess", status=1)
    assert f"the systems are {', '.join(list(SYSTEMS)[:5])}" in shown.err


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_says_what_a_learned_entry_and_a_held_level_are(name, cli):
    """Unless it has rules of its own for first ratings, and refuses them."""
    out = cli("systems", name).out
    assert "initial_rating" in out
    takes = system_class(name).takes_entry
    for said in (
        "fixed | learned",
        "entry: starting point of newcomers: fixed at initial_rating, or learned",
        "hold_level: share of the difference between target and level",
    ):
        assert (said in out) == takes
    assert takes or not ("entry" in out or "hold_level" in out)
