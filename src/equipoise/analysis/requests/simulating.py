"""Which population to simulate, and what its matches are."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

from equipoise.analysis.requests import texts
from equipoise.analysis.requests.typed import typed


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

    population: Mapping[str, Any] = typed(
        dict,
        "A TOML file with the kind and the parameters of the population and its matches, such as "
        "examples/population.toml. Options override it.",
        "POPULATION",
        argument=True,
        read=_population,
    )
    output: str | IO[bytes] = typed(
        ...,
        "Write the history: .csv, .csv.gz, .tsv, .parquet or .jsonl. [default: CSV to standard "
        "output]",
        "FILE",
        read=texts.path,
        otherwise=_stdout,
    )
    kind: str | None = typed(None, "What to simulate. [default: contests]", "contests|teams")
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
        False, "Teams: give players roles with different statistics. Adds the column role."
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
