"""Writing the file that `--parameters` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import tomli_w

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
    content: dict[str, object] = {
        "system": system,
        "parameters": {name: value for name, value in parameters.items() if value is not None},
    }
    if statistics:
        content["statistics"] = statistics
    top = "".join(f"# {line}\n" for line in comments)
    with whole_file(path) as file:
        file.write((top + tomli_w.dumps(content)).encode())
