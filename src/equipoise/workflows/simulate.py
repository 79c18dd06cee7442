"""Simulating a history: contest by contest into a file, true skills beside."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import polars as pl

from equipoise.arrays import Floats
from equipoise.errors import InvalidParameterError, require
from equipoise.evaluate.synthetic import Contest, ContestModel, contests
from equipoise.formats import write_table
from equipoise.formats.pieces import check_pieces_target, write_pieces
from equipoise.formats.times import instant
from equipoise.formats.writing import check_target
from equipoise.messages.simulate import SimulateMessage

#: What can be simulated.
KINDS = ("contests",)
#: Participations of small contests that go into one table.
_ROWS = 50_000
#: How often progress is told in a run.
_REPORTS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateRequest:
    """What to simulate and where to write it.

    parameters : of `ContestModel` by name; `first_time` may be text in any form of a time
    output : path, or a binary stream that gets CSV
    skills : path of a table of the players' true skills
    with_skill : whether a column says how skilled each player was at each contest
    """

    kind: str
    parameters: Mapping[str, Any]
    seed: int
    output: str | IO[bytes]
    skills: str | None = None
    with_skill: bool = False


def simulate(
    request: SimulateRequest, progress: Callable[[int, int], None] | None = None
) -> SimulateMessage:
    """Simulate and write; memory grows with the players, not with the contests.

    Raises : InvalidParameterError, and then nothing was written
    """
    start = time.perf_counter()
    model = _checked(request)
    known = _Players(model.players)
    made = contests(model, rng=np.random.default_rng(request.seed))
    tables = _tables(known.watch(_told(made, model, progress)), model, request.with_skill)
    participations = write_pieces(tables, request.output)
    if request.skills is not None:
        write_table(known.table(), request.skills)
    return SimulateMessage(
        kind=request.kind,
        seed=request.seed,
        parameters=dataclasses.asdict(model),
        matches=known.contests,
        participations=participations,
        players=model.players,
        output=request.output if isinstance(request.output, str) else None,
        skills=request.skills,
        seconds=time.perf_counter() - start,
    )


def _checked(request: SimulateRequest) -> ContestModel:
    """Refuse a wrong request before any file is touched; return its model."""
    require(request.kind in KINDS, "--kind", " or ".join(KINDS), request.kind)
    require(request.seed >= 0, "--seed", "a whole number from 0", request.seed)
    if isinstance(request.output, str):
        check_pieces_target(request.output)
    if request.skills is not None:
        check_target(request.skills)
    parameters = dict(request.parameters)
    first = parameters.get("first_time")
    if isinstance(first, str):
        parameters["first_time"] = instant(first, "--first-time") // 1_000_000
    return ContestModel(**parameters)


def _told(
    made: Iterator[Contest], model: ContestModel, progress: Callable[[int, int], None] | None
) -> Iterator[Contest]:
    """Pass contests on and tell of them from time to time."""
    every = max(model.contests // _REPORTS, 1)
    for contest in made:
        yield contest
        if progress is not None and contest.number % every == 0:
            progress(contest.number, model.contests)


def _tables(
    made: Iterator[Contest], model: ContestModel, with_skill: bool
) -> Iterator[pl.DataFrame]:
    """Yield contests as pieces of a long table, small ones together."""
    waiting: list[Contest] = []
    nobody, rows = True, 0
    for contest in made:
        nobody = False
        # Without the skills of those who are absent: there may be millions of them.
        waiting.append(dataclasses.replace(contest, skills=contest.skill))
        rows += len(contest.player)
        if rows >= _ROWS:
            yield _table(waiting, with_skill)
            waiting, rows = [], 0
    if nobody:
        raise InvalidParameterError(
            f"attendance must be large enough that somebody plays; got {model.attendance!r}"
        )
    if waiting:
        yield _table(waiting, with_skill)


def _table(some: Sequence[Contest], with_skill: bool) -> pl.DataFrame:
    sizes = [len(one.player) for one in some]
    columns = {
        "match": np.repeat([one.number for one in some], sizes),
        "time": np.repeat([one.time for one in some], sizes),
        "player": np.concatenate([one.player for one in some]),
        "rank": np.concatenate([one.rank for one in some]),
    }
    if with_skill:
        columns["skill"] = np.concatenate([one.skill for one in some])
    return pl.DataFrame(columns)


class _Players:
    """What is known of everyone in the end: skills and number of contests."""

    def __init__(self, players: int) -> None:
        self.contests = 0
        self._matches = np.zeros(players, np.int64)
        self._first: Floats = np.zeros(players)
        self._last: Floats = self._first

    def watch(self, made: Iterator[Contest]) -> Iterator[Contest]:
        """Pass contests on and remember what they say of the players."""
        for contest in made:
            if self.contests == 0:
                self._first = contest.skills
            self._last = contest.skills
            self._matches[contest.player] += 1
            self.contests = contest.number
            yield contest

    def table(self) -> pl.DataFrame:
        """Return a row a player: skill at the last contest and at the first, contests attended."""
        return pl.DataFrame(
            {
                "player": np.arange(len(self._matches)),
                "skill": self._last,
                "first_skill": self._first,
                "matches": self._matches,
            }
        )
