"""Which population to simulate, and what its matches are."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Annotated, Any

from equipoise.analysis.requests import typed
from equipoise.analysis.requests.typed import Typed


def _stdout() -> IO[bytes]:
    return sys.stdout.buffer


def _population(path: str, _: str) -> dict[str, Any]:
    from equipoise.analysis.files.simulate import read_population

    return read_population(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateRequest:
    """What to simulate and where to write it.

    population : parameters of the model by name, and the `kind`; other fields override them.
        `first_time` may be text in any format of times, `sizes` text such as "5v5,5v4"
    output : path, or a binary stream that gets CSV
    """

    population: Annotated[
        Mapping[str, Any],
        Typed(
            "A TOML file with the kind and the parameters of the population and its matches, such "
            "as examples/population.toml. Options override it.",
            "POPULATION",
            argument=True,
            read=_population,
        ),
    ] = field(default_factory=dict)
    output: Annotated[
        str | IO[bytes],
        Typed(
            "Write the history: .csv, .csv.gz, .tsv, .parquet or .jsonl. [default: CSV to standard "
            "output]",
            "FILE",
            read=typed.path,
            otherwise=_stdout,
        ),
    ]
    kind: Annotated[
        str | None, Typed("What to simulate. [default: contests]", "contests|teams")
    ] = None
    seed: Annotated[
        int,
        Typed("Random seed. The same seed and parameters give the same history.", least=0),
    ] = 0
    players: Annotated[int | None, Typed("Number of players. [default: 2500; teams: 500]")] = None
    contests: Annotated[int | None, Typed("Contests: number of contests. [default: 50]")] = None
    matches: Annotated[int | None, Typed("Teams: number of matches. [default: 2000]")] = None
    attendance: Annotated[
        float | None,
        Typed("Contests: probability that a player takes part in a contest. [default: 1]"),
    ] = None
    sizes: Annotated[
        str | None,
        Typed(
            "Teams: sizes of the two teams. Several sizes, including uneven ones, are equally "
            "likely. [default: 5v5]",
            "5v5,4v4,...",
        ),
    ] = None
    roles: Annotated[
        bool,
        Typed("Teams: give players roles with different statistics. Adds the column role."),
    ] = False
    skills: Annotated[
        str | None,
        Typed(
            "Write a table of the true skills at the first and the last match: .csv, .parquet, "
            ".json, .jsonl or .tsv.",
            "FILE",
        ),
    ] = None
    with_skill: Annotated[
        bool, Typed("Add a column with the true skill of each player at each match.")
    ] = False
