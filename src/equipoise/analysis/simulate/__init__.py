"""Which population to simulate, and what its matches are."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import IO, Any, Literal

from equipoise.analysis import requests
from equipoise.analysis.requests import typed
from equipoise.data.files import read_toml
from equipoise.errors import InvalidParameterError, NotFoundError, require


def _stdout() -> IO[bytes]:
    return sys.stdout.buffer


#: What a value of a parameter must be in a file, by its type in a model.
_RULES: dict[str, tuple[str, tuple[type, ...]]] = {
    "kind": ("contests or teams", (str,)),
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "bool": ("true or false", (bool,)),
    "sizes": ("text such as 5v5,5v4", (str,)),
    "first_time": ("a time", (int, str, date)),
}


def read_population(path: str, _: str = "") -> dict[str, Any]:
    """Return the kind and the parameters of a model in a TOML file.

    Raises : NotFoundError, InvalidParameterError
    """
    try:
        content = read_toml(path)
    except OSError as error:
        raise NotFoundError(f"no file {path} with a population: {error.strerror}") from None
    except ValueError as error:
        raise InvalidParameterError(f"{path} must be TOML: {error}") from None
    from equipoise.evaluate.synthetic import ContestModel, TeamModel

    models = (*fields(ContestModel), *fields(TeamModel))
    types = {field.name: str(field.type) for field in models}
    population: dict[str, Any] = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        known = name in types or name == "kind"
        require(known, f"{path}: {key}", f"one of {', '.join(['kind', *types])}", value)
        require(name not in population, f"{path}: {key}", "given once", value)
        rule, fit = _RULES[name if name in _RULES else types[name]]
        fits = isinstance(value, fit) and (bool in fit or not isinstance(value, bool))
        if name == "kind":
            fits = value in ("contests", "teams")
        elif fits and isinstance(value, int) and abs(value) >= 2**63:
            rule, fits = "a number of 64 bits", False
        require(fits, f"{path}: {key}", rule, value)
        population[name] = value.isoformat() if isinstance(value, date) else value
    return population


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateRequest:
    """What to simulate and where to write it.

    population : parameters of the model by name, and the `kind`; other fields override them.
        `first_time` may be text in any format of times, `sizes` text such as "5v5,5v4"
    output : path, or a binary stream that gets CSV
    """

    population: Mapping[str, Any] = typed(
        dict,
        "TOML file with the kind and the parameters of the population and its matches, such as "
        "examples/population.toml. Options override it.",
        "POPULATION",
        argument=True,
        read=read_population,
    )
    output: str | IO[bytes] = typed(
        ...,
        "Write the history: .csv, .csv.gz, .tsv, .parquet or .jsonl. [default: CSV to standard "
        "output]",
        "FILE",
        read=requests.path,
        otherwise=_stdout,
    )
    kind: Literal["contests", "teams"] | None = typed(
        None, "Kind of matches to simulate. [default: contests]"
    )
    seed: int = typed(
        0, "Random seed. The same seed and parameters give the same history.", least=0
    )
    players: int | None = typed(None, "Number of players. [default: 2500; teams: 500]")
    contests: int | None = typed(None, "Contests: number of contests. [default: 50]")
    matches: int | None = typed(None, "Teams: number of matches. [default: 2000]")
    attendance: float | None = typed(
        None, "Contests: probability that a player takes part in a contest. [default: 1]"
    )
    sizes: str | None = typed(
        None,
        "Teams: sizes of the two teams. Several sizes, including uneven ones, are equally likely. "
        "[default: 5v5]",
        "5v5,4v4,...",
    )
    roles: bool = typed(
        False, "Teams: give players roles with different statistics, in the column role."
    )
    skills: str | None = typed(
        None,
        "Write a table of the true skills at the first and the last match: .csv, .parquet, .json, "
        ".jsonl or .tsv.",
        "FILE",
    )
    with_skill: bool = typed(
        False, "Add a column with the true skill of each player at each match."
    )
