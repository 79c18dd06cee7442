"""Which libraries are installed, whether their versions suffice, and whether they can be imported.

Libraries are imported in another process. One that is broken may end its process, and none of them
should be able to end this one.
"""

from __future__ import annotations

import json
import platform
import shlex
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from equipoise.analysis.doctor.finding import Finding, Status, first_line
from equipoise.analysis.doctor.requirements import Requirement, is_at_least, requirements_of
from equipoise.errors import InvalidParameterError

#: What each extra is for. A test compares the names with pyproject.toml.
EXTRAS = {
    "amg": "performance ratings of very large tournaments whose players form long chains",
    "charts": "charts in files and HTML reports: `--output`, `--chart`, `--report`",
    "client": "the Python client of the service, equipoise.client, and files at https:// addresses",
    "cluster": "work on the workers of a Dask scheduler: `--cluster`",
    "excel": "workbooks: .xlsx, .xlsm, .xls and .ods",
    "postgresql": "databases of PostgreSQL",
    "service": "`equipoise serve` and all commands with `--database`",
    "tracing": "traces of the service for OpenTelemetry",
    "tune": "`equipoise tune` with samples, and studies that can be continued",
    "zstd": "files that are compressed with zstd, before Python 3.14",
}

#: Seconds after which an import counts as broken.
_PATIENCE = 60
#: Imports modules one after another, and writes a line after each: "" or the reason it failed.
_IMPORT = """
import importlib, json, os, sys
said = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
for name in sys.argv[1:]:
    wrong = ""
    try:
        importlib.import_module(name)
    except BaseException as error:
        wrong = type(error).__name__ + ": " + str(error).strip().partition("\\n")[0]
    said.write(json.dumps([name, wrong]) + "\\n")
os._exit(0)
"""


@dataclass(slots=True)
class Installation:
    """The installed package and its libraries.

    package : None if the package has no metadata, as in a folder that is only in PYTHONPATH
    versions : library -> its version, for those that are installed
    broken : library -> why it cannot be imported
    """

    package: Distribution | None
    requirements: Sequence[Requirement]
    versions: Mapping[str, str]
    broken: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def look(cls) -> Installation:
        """Return what is installed here. It imports everything, in another process."""
        try:
            package = distribution("equipoise")
        except PackageNotFoundError:
            return cls(None, (), {})
        requirements = requirements_of(package.requires or ())
        versions = {}
        for one in requirements:
            # A library whose files are damaged counts as one that is not there.
            with suppress(PackageNotFoundError, OSError, ValueError):
                versions[one.name] = distribution(one.name).version or "of unknown version"
        modules = {one.module: one.name for one in requirements if one.name in versions}
        broken = {modules[name]: reason for name, reason in broken_imports(list(modules)).items()}
        return cls(package, requirements, versions, broken)

    @property
    def extras(self) -> set[str]:
        """Return the names of the extras that the package's metadata have."""
        return set(self.package.metadata.get_all("Provides-Extra") or ()) if self.package else set()

    def fault_of(self, one: Requirement) -> str:
        """Return what is wrong with a library, "" if it is in order."""
        version = self.versions.get(one.name)
        if version is None:
            return f"{one.name} is not installed"
        if not is_at_least(version, one.least):
            return f"{one.name} {version} is older than {one.least}"
        if one.name in self.broken:
            return f"{one.name} {version} cannot be imported: {self.broken[one.name]}"
        return ""


def broken_imports(modules: Sequence[str]) -> dict[str, str]:
    """Return why modules cannot be imported, for those that cannot."""
    broken = {}
    waiting = list(modules)
    while waiting:
        command = [sys.executable, "-c", _IMPORT, *waiting]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
            said, end = done.stdout, _end_of(done.returncode)
        except subprocess.TimeoutExpired as error:
            said, end = error.stdout or b"", f"the import takes longer than {_PATIENCE} s"
        except OSError as error:
            return dict.fromkeys(waiting, first_line(error))
        for line in said.splitlines():
            name, reason = json.loads(line)
            waiting.remove(name)
            if reason:
                broken[name] = reason
        if waiting:
            # The first of those that are left ended the process.
            broken[waiting.pop(0)] = end
    return broken


def _end_of(status: int) -> str:
    """Return how a process ended that imported a library."""
    if status < 0:
        with suppress(ValueError):
            return f"Python was ended by signal {signal.Signals(-status).name}"
    return f"Python ended with status {status}"


def version_findings(here: Installation) -> Iterator[Finding]:
    """Give Python, the package, and every library that is always needed."""
    topic = "Versions"
    where = f"{platform.python_implementation()} on {platform.system()} {platform.machine()}"
    version = platform.python_version()
    if here.package is None:
        yield Finding(topic, "python", "ok", f"{version}, {where}")
        detail = f"{Path(__file__).parents[2]} is not installed, so its libraries are not known"
        yield Finding(topic, "equipoise", "failed", detail, f"{_pip()} install .")
        return
    (least,) = here.package.metadata.get_all("Requires-Python") or [""]
    least = least.removeprefix(">=")
    status: Status = "ok" if is_at_least(version, least) else "failed"
    yield Finding(topic, "python", status, f"{version}, {where} (needs {least})")
    yield _package(here)
    for one in here.requirements:
        if one.extra:
            continue
        fault, version = here.fault_of(one), here.versions.get(one.name, "")
        needs = f" (needs {one.least})" if one.least else ""
        if not fault:
            yield Finding(topic, one.name, "ok", f"{version}{needs}")
        else:
            again = "--force-reinstall " if one.name in here.broken else ""
            remedy = f"{_pip()} install {again}{shlex.quote(one.written)}"
            yield Finding(topic, one.name, "failed", fault, remedy)


def _package(here: Installation) -> Finding:
    """Return the package itself. An installation in place may have the metadata of the past."""
    assert here.package is not None
    detail = f"{here.package.version} in {Path(__file__).parents[2]}"
    missing = sorted(EXTRAS.keys() - here.extras)
    if missing:
        detail += f"; its metadata is older than its code and lacks {', '.join(missing)}"
        return Finding("Versions", "equipoise", "warning", detail, install_command(here.package))
    return Finding("Versions", "equipoise", "ok", detail)


def extra_findings(here: Installation, needed: Collection[str]) -> Iterator[Finding]:
    """Give every extra: for what it is, and which of its libraries are there.

    needed : names of extras that must be there
    Raises : InvalidParameterError   there is no such extra
    """
    for name in needed:
        if name not in EXTRAS:
            raise InvalidParameterError(f"no extra {name!r}; the extras are {', '.join(EXTRAS)}")
    for name, purpose in EXTRAS.items():
        own = [one for one in here.requirements if one.extra == name]
        missing = [one.name for one in own if one.name not in here.versions]
        faults = [here.fault_of(one) for one in own if one.name not in missing]
        faults = [fault for fault in faults if fault]
        if missing:
            faults.insert(0, f"not installed: {', '.join(missing)}")
        if name not in here.extras:
            faults = ["missing from the metadata of the package"]
        if not faults:
            # An extra without libraries is one that this system or this Python does not need.
            found = ", ".join(f"{one.name} {here.versions[one.name]}" for one in own)
            yield Finding("Extras", name, "ok", f"{purpose}: {found or 'nothing needed'}")
            continue
        status: Status = "absent" if missing or not own else "warning"
        if name in needed:
            status = "failed"
        detail = f"{purpose}: {'; '.join(faults)}"
        yield Finding("Extras", name, status, detail, install_command(here.package, name))


def install_command(package: Distribution | None, extra: str = "") -> str:
    """Return the command that installs the package again, with an extra.

    It names the clone or the wheel from which the package was installed, if that is known, else the
    current folder: the package is on no index.
    """
    place, editable = ".", ""
    with suppress(OSError, ValueError, KeyError, TypeError):
        origin = json.loads((package.read_text("direct_url.json") or "") if package else "")
        address = urlsplit(origin["url"])
        if address.scheme == "file":
            place = url2pathname(unquote(address.path)) if "%" in address.path else address.path
            editable = "--editable " if origin.get("dir_info", {}).get("editable") else ""
    chosen = f"{place}[{extra}]" if extra else place
    return f"{_pip()} install {editable}{shlex.quote(chosen)}"


def _pip() -> str:
    """Return the command of pip for the running Python."""
    return f"{shlex.quote(sys.executable)} -m pip"
