"""What `equipoise doctor` looks at: libraries, extras, compiled kernels, programs.

Of the requirements that the installed package names, only what pyproject.toml uses is understood:
lower bounds, extras, and conditions on the system and on the version of Python. A test compares
this with the library that pip uses, which is not installed with this package.

Libraries are imported in another process. One that is broken may end its process, and none of them
should be able to end this one.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from equipoise.errors import InvalidParameterError
from equipoise.wording import counted

#: "ok"; "absent": not installed or not done, and not needed; "warning": it works, but not as well
#: as it could; "failed": needed and not in order.
Status: TypeAlias = Literal["ok", "absent", "warning", "failed"]


class Finding(NamedTuple):
    """One thing that was looked at.

    topic : the heading under which it stands
    detail : what was found
    remedy : a command that puts it in order; "" where there is none or nothing to do
    """

    topic: str
    name: str
    status: Status
    detail: str
    remedy: str = ""


def first_line(error: BaseException) -> str:
    """Return kind and first line of an error."""
    line = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


#: The parts of a requirement: name, extras of it, lower bound, condition.
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9._-]+)\s*(\[[^\]]*\])?\s*\(?(?:>=\s*([^;)\s]+))?\)?\s*(?:;(.*))?"
)
_EXTRA = re.compile(r"\bextra\s*==\s*['\"]([^'\"]+)['\"]")
_CONDITION = re.compile(r"\b(sys_platform|python_version)\s*(==|!=|<|>=)\s*['\"]([^'\"]+)['\"]")
#: Numbers of a version, and what follows them where it is not finished yet: 2.0rc1, 2.0.dev3.
_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:[.-]?(a|b|rc|dev|alpha|beta)\.?\d*)?")

_ZEROS = re.compile(r"(\.0+)+$")

#: Libraries whose module has another name, by the name of the library.
_MODULES = {
    "backports.zstd": "backports.zstd",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry-sdk": "opentelemetry.sdk",
}


class Requirement(NamedTuple):
    """A library that the package needs, or that one of its extras needs.

    extra : name of the extra; "" for what is always needed
    written : as in the package's metadata, without the condition: "numpy>=2.0"
    least : the lower bound of its version; "" for any
    """

    name: str
    extra: str
    written: str
    least: str

    @property
    def module(self) -> str:
        """Return the name under which it is imported."""
        return _MODULES.get(self.name, self.name.replace("-", "_"))


def requirements_of(lines: Iterable[str]) -> list[Requirement]:
    """Return the requirements that hold for this system and this Python.

    lines : as in the metadata: "uvloop>=0.19; sys_platform != 'win32' and extra == 'service'"
    Raises : ValueError
    """
    requirements = []
    for line in lines:
        parts = _REQUIREMENT.fullmatch(line.strip())
        if parts is None:
            raise ValueError(f"the requirement {line!r} is not understood")
        written, extras, least, condition = (part or "" for part in parts.groups())
        # Names are compared without case, and with one kind of hyphen.
        name = re.sub(r"[-_.]+", "-", written).lower()
        name = "backports.zstd" if name == "backports-zstd" else name
        if all(_holds(*comparison) for comparison in _CONDITION.findall(condition)):
            extra = _EXTRA.search(condition)
            bound = f">={least}" if least else ""
            needed = Requirement(name, extra[1] if extra else "", f"{name}{extras}{bound}", least)
            requirements.append(needed)
    return requirements


def _holds(what: str, operator: str, value: str) -> bool:
    """Return whether a condition on the system or on the version of Python holds here."""
    if what == "sys_platform":
        return (sys.platform == value) == (operator == "==")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    reaches = is_at_least(here, value)
    same = reaches and is_at_least(value, here)
    return {"==": same, "!=": not same, "<": not reaches, ">=": reaches}[operator]


def is_at_least(version: str, least: str) -> bool:
    """Return whether a version is not before another. "2.0rc1" is before "2.0"."""
    return not least or _sortable(version) >= _sortable(least)


def _sortable(version: str) -> tuple[list[int], bool]:
    """Return the numbers of a version without zeros at the end, and whether it is released."""
    match = _VERSION.match(version)
    if match is None:
        return [], False
    return [int(number) for number in _ZEROS.sub("", match[1]).split(".")], match[2] is None


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

#: The folder of the package.
_PLACE = Path(__file__).parents[2]
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
        for name in {requirement.name for requirement in requirements}:
            # A library whose files are damaged counts as one that is not there.
            with suppress(PackageNotFoundError, OSError, ValueError):
                versions[name] = distribution(name).version or "of unknown version"
        modules = {one.module: one.name for one in requirements if one.name in versions}
        broken = {modules[name]: reason for name, reason in broken_imports(list(modules)).items()}
        return cls(package, requirements, versions, broken)

    @property
    def extras(self) -> set[str]:
        """Return the names of the extras that the package's metadata have."""
        return set(self.package.metadata.get_all("Provides-Extra") or ()) if self.package else set()

    def fault_of(self, requirement: Requirement) -> str:
        """Return what is wrong with a library, "" if it is in order."""
        name, version = requirement.name, self.versions.get(requirement.name)
        if version is None:
            return f"{name} is not installed"
        if not is_at_least(version, requirement.least):
            return f"{name} {version} is older than {requirement.least}"
        if name in self.broken:
            return f"{name} {version} cannot be imported: {self.broken[name]}"
        return ""


def broken_imports(modules: Sequence[str]) -> dict[str, str]:
    """Return why modules cannot be imported, for those that cannot."""
    broken = {}
    waiting = list(modules)
    while waiting:
        command = [sys.executable, "-c", _IMPORT, *waiting]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
            output, end = done.stdout, _end_of(done.returncode)
        except subprocess.TimeoutExpired as error:
            output, end = error.stdout or b"", f"the import takes longer than {_PATIENCE} s"
        except OSError as error:
            return dict.fromkeys(waiting, first_line(error))
        for line in output.splitlines():
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
    version = platform.python_version()
    python = f"{version}, {platform.python_implementation()} on {platform.system()} "
    python += platform.machine()
    if here.package is None:
        yield Finding(topic, "python", "ok", python)
        detail = f"{_PLACE} is not installed, so its libraries are not known"
        yield Finding(topic, "equipoise", "failed", detail, f"{_pip()} install .")
        return
    (least,) = here.package.metadata.get_all("Requires-Python") or [""]
    least = least.removeprefix(">=")
    status: Status = "ok" if is_at_least(version, least) else "failed"
    yield Finding(topic, "python", status, f"{python} (needs {least})")
    yield _package(here)
    for requirement in here.requirements:
        if requirement.extra:
            continue
        name, fault = requirement.name, here.fault_of(requirement)
        needs = f" (needs {requirement.least})" if requirement.least else ""
        again = "--force-reinstall " if name in here.broken else ""
        if not fault:
            yield Finding(topic, name, "ok", f"{here.versions[name]}{needs}")
        else:
            remedy = f"{_pip()} install {again}{shlex.quote(requirement.written)}"
            yield Finding(topic, name, "failed", fault, remedy)


def _package(here: Installation) -> Finding:
    """Return the package itself. An installation in place may have the metadata of the past."""
    assert here.package is not None
    detail = f"{here.package.version} in {_PLACE}"
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
        own = [requirement for requirement in here.requirements if requirement.extra == name]
        missing = [requirement.name for requirement in own if requirement.name not in here.versions]
        faults = [f"not installed: {', '.join(missing)}"] if missing else []
        faults += filter(None, (here.fault_of(one) for one in own if one.name not in missing))
        if name not in here.extras:
            faults = ["missing from the metadata of the package"]
        if not faults:
            # An extra without libraries is one that this system or this Python does not need.
            versions = ", ".join(f"{one.name} {here.versions[one.name]}" for one in own)
            yield Finding("Extras", name, "ok", f"{purpose}: {versions or 'nothing needed'}")
            continue
        status: Status = "absent" if missing or not own else "warning"
        detail = f"{purpose}: {'; '.join(faults)}"
        remedy = install_command(here.package, name)
        yield Finding("Extras", name, "failed" if name in needed else status, detail, remedy)


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


#: Programs that commands start: name -> what for.
PROGRAMS = {
    "pg_dump": "`equipoise db backup` of a database of PostgreSQL",
    "pg_restore": "`equipoise db restore` into a database of PostgreSQL",
}


def kernel_findings() -> Iterator[Finding]:
    """Give the cache of compiled kernels, and the systems whose kernels it has.

    Nothing is compiled. Numba must be in order.
    """
    topic = "Compiled kernels"
    try:
        from equipoise import _jit

        folder, keeps = _jit.cache_folder(), _jit.keeps_kernels()
    except Exception as error:  # noqa: BLE001   Numba may fail in any way
        yield Finding(topic, "cache", "failed", f"Numba cannot be used: {first_line(error)}")
        return
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        detail = "NUMBA_DISABLE_JIT is set: kernels run as plain Python, a hundred times slower"
        yield Finding(topic, "compiler", "warning", detail, "unset NUMBA_DISABLE_JIT")
        return
    if folder is None:
        detail = "no folder can be written: every process compiles its kernels again"
        remedy = "export NUMBA_CACHE_DIR=/var/cache/equipoise"
        yield Finding(topic, "cache", "warning", detail, remedy)
        return
    sizes = [path.stat().st_size for path in folder.rglob("*.nb?")]
    amount = f"{counted(len(sizes), 'file')}, {sum(sizes) / 1e6:.1f} MB"
    detail = f"{folder} is writable: {amount}"
    if not keeps:
        detail = f"{folder} is read-only: {amount}; other kernels are compiled at every start"
    yield Finding(topic, "cache", "ok", detail)
    yield _systems(topic)


def _systems(topic: str) -> Finding:
    """Return which systems can rate without compiling."""
    try:
        compiled, missing = _compiled_systems()
    except Exception as error:  # noqa: BLE001   libraries may fail in any way
        return Finding(topic, "systems", "failed", f"nothing can be rated: {first_line(error)}")
    detail = f"{len(compiled)} of {len(compiled) + len(missing)} systems are compiled"
    if not missing:
        return Finding(topic, "systems", "ok", detail)
    detail += f", these are compiled at their first use: {', '.join(missing)}"
    remedy = " ".join(["equipoise doctor --compile", *(missing if compiled else ())])
    return Finding(topic, "systems", "absent", detail, remedy)


def _compiled_systems() -> tuple[list[str], list[str]]:
    """Return the systems whose kernels are on disk, and the others.

    Each rates two matches in a thread that may load kernels and not compile any.
    """
    from equipoise._jit import NotCachedError, cached_only
    from equipoise.analysis.rate.partitions import MATCHES
    from equipoise.formats import read_history
    from equipoise.rating.registry import SYSTEMS, make_system
    from equipoise.rating.replay import replay

    history = read_history(MATCHES)
    compiled, missing = [], []
    for name in SYSTEMS:
        try:
            with cached_only():
                replay(make_system(name), history)
            compiled.append(name)
        except NotCachedError:
            missing.append(name)
    return compiled, missing


def program_findings() -> Iterator[Finding]:
    """Give the programs that some commands start."""
    install = "apt-get install postgresql-client" if shutil.which("apt-get") else ""
    for name, purpose in PROGRAMS.items():
        place = shutil.which(name)
        if place is not None:
            yield Finding("Programs", name, "ok", f"{purpose}: {place}")
        else:
            yield Finding("Programs", name, "absent", f"{purpose}: not in PATH", install)
