"""What texts of the command line mean: functions of the text or texts, and of the option's name."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from equipoise.errors import InvalidParameterError


def source(paths: str | list[str], _: str) -> object:
    """Return a path, standard input if it is -, or the list of several paths."""
    if isinstance(paths, list):
        return source(paths[0], _) if len(paths) == 1 else paths
    return sys.stdin.buffer if paths == "-" else paths


def path(given: str, _: str) -> str:
    """Return a path as it is."""
    return given


def assignments(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return {NAME: VALUE} of NAME=VALUE texts. Raises : InvalidParameterError."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidParameterError(f"{option} takes NAME=VALUE; got {text!r}")
        if name.strip() in found:
            raise InvalidParameterError(f"{option} names {name.strip()!r} twice")
        found[name.strip()] = value.strip()
    return found


def numbers(values: Mapping[str, object], what: str) -> dict[str, float]:
    """Return values as numbers. Raises : InvalidParameterError."""
    found = {}
    for name, value in values.items():
        try:
            found[name] = float(str(value))
        except ValueError:
            raise InvalidParameterError(
                f"{what}: the weight of {name} must be a number; got {value!r}"
            ) from None
    return found


def ids(text: str, option: str) -> list[str]:
    """Return the ids of a text A,B,... Raises : InvalidParameterError."""
    from equipoise.formats.lobby import ids_of

    return ids_of(text, option)


def lists_of_ids(texts: list[str], option: str) -> list[list[str]]:
    """Return the ids of each text. Raises : InvalidParameterError."""
    return [ids(text, option) for text in texts]


def all_cores() -> int:
    """Return the number of cores of this machine."""
    from equipoise.numeric.workers import available_cores

    return available_cores()
