"""The libraries that the installed package names as its requirements, and their versions.

Only what pyproject.toml uses is understood: lower bounds, extras, and conditions on the system and
on the version of Python. A test compares this with the library that pip uses, which is not
installed with this package.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from itertools import zip_longest
from typing import NamedTuple

#: The parts of a requirement: name, extras of it, lower bound, condition.
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9._-]+)\s*(\[[^\]]*\])?\s*\(?(?:>=\s*([^;)\s]+))?\)?\s*(?:;(.*))?"
)
_EXTRA = re.compile(r"\bextra\s*==\s*['\"]([^'\"]+)['\"]")
_CONDITION = re.compile(r"\b(sys_platform|python_version)\s*(==|!=|<|>=)\s*['\"]([^'\"]+)['\"]")
#: Numbers of a version, and what follows them where it is not finished yet: 2.0rc1, 2.0.dev3.
_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:[.-]?(a|b|rc|dev|alpha|beta)\.?\d*)?")

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
    found = []
    for line in lines:
        parts = _REQUIREMENT.fullmatch(line.strip())
        if parts is None:
            raise ValueError(f"the requirement {line!r} is not understood")
        # Names are compared without case, and with one kind of hyphen.
        name, condition = re.sub(r"[-_.]+", "-", parts[1]).lower(), parts[4] or ""
        name = "backports.zstd" if name == "backports-zstd" else name
        if all(_holds(*one) for one in _CONDITION.findall(condition)):
            extra = _EXTRA.search(condition)
            written = f"{name}{parts[2] or ''}" + (f">={parts[3]}" if parts[3] else "")
            found.append(Requirement(name, extra[1] if extra else "", written, parts[3] or ""))
    return found


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
    if not least:
        return True
    (one, one_before), (other, other_before) = _parts(version), _parts(least)
    for a, b in zip_longest(one, other, fillvalue=0):
        if a != b:
            return a > b
    return other_before or not one_before


def _parts(version: str) -> tuple[list[int], bool]:
    """Return the numbers of a version, and whether it comes before the release of that number."""
    found = _VERSION.match(version)
    if found is None:
        return [], True
    return [int(number) for number in found[1].split(".")], found[2] is not None
