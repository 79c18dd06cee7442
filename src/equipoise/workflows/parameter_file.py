"""Writing the file that `--parameters` reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from equipoise.data.files import check_place, whole_file
from equipoise.errors import InvalidParameterError


def check_parameter_file(path: str) -> None:
    """Refuse a path that `write_parameters` would refuse. Raises : InvalidParameterError."""
    if Path(path).suffix.lower() != ".toml":
        raise InvalidParameterError(f"a file of parameters must end in .toml; got {path!r}")
    check_place(path)


def write_parameters(
    path: str,
    system: str,
    parameters: Mapping[str, object],
    statistics: Mapping[str, float],
    comments: Sequence[str],
) -> None:
    """Write a system with its parameters, and the weights of statistics, as TOML.

    parameters : those that are None are left out, which is what None means
    comments : lines at the top
    Raises : InvalidParameterError
    """
    check_parameter_file(path)
    lines = [*(f"# {line}" for line in comments), f'system = "{system}"', "", "[parameters]"]
    lines += [
        f"{name} = {_plain(value)}" for name, value in parameters.items() if value is not None
    ]
    if statistics:
        lines += ["", "[statistics]"]
        lines += [f"{_key(name)} = {_plain(weight)}" for name, weight in statistics.items()]
    with whole_file(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def _plain(value: object) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def _key(name: str) -> str:
    """Return the name of a column as a key, quoted."""
    letters = [
        f"\\u{ord(one):04x}" if ord(one) < 32 or ord(one) == 127 else one
        for one in name.replace("\\", "\\\\").replace('"', '\\"')
    ]
    return f'"{"".join(letters)}"'
