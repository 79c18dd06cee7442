"""Rates matches in order: all that surrounds the update of a system, once for all systems.

A system gives `rate_duels` or `rate_teams` up to five kernels:

    duel(job, m, one, other, lead, score)  rates match m between two players, rows of the state:
            lead is the head start of the first over the other, score that of the first. It returns
            both expected scores, z and a residual
    match(job, m, teams)  rates match m between this many teams, writes their expected scores to
            `job.trace.expected` if that has a length, and returns z and a residual
    begin(job, m, i)  closes what ended before match m for participation i; returns a residual
    read(player, day, settings)  what tables show of a player: rating, deviation, and more. The day
            is NaN for the time of the last match; without deviations the second number is 0
    evidence(job, m, i)  what a first match said of a newcomer, for a learned entry
    move(job, row, delta)  adds points to all of a player's belief, for a held level

z is the lead of the first of two sides over its scale, by which draws are counted; NaN counts
nothing. A residual below 0 says that all equations were solved. `begin` is None without rating
periods, `evidence` and `move` are None for systems that refuse a learned entry.

The loop enters newcomers, begins periods, writes the trace, adds offsets of contexts and head
starts, counts draws and matches, learns the offsets, the advantage and the entry, and holds the
level. Where a job has no entry, no home or no contexts, Numba compiles none of that: it leaves out
what stands below `if argument is not None`, for arguments of a function and never for fields such
as `job.entry`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from equipoise._jit import Option, inlined_kernel, inner_kernel, kernel, lent
from equipoise.arrays import Floats, Ints
from equipoise.rating.contexts import (
    add_offsets,
    learn_share,
    outlook_in_context,
    split_changes,
)
from equipoise.rating.head_start import (
    add_head_starts,
    learn_advantage,
    lever_of,
    outlook_of,
    take_head_starts,
)
from equipoise.rating.newcomers import enter, learn_and_hold
from equipoise.rating.state import count_draw


class Inputs(NamedTuple):
    """What a match says of its participations beside ranks, shape (N,); None where not used.

    head_start : filled match by match, for systems that add head starts themselves
    """

    head_start: Floats | None = None
    share: Floats | None = None
    score: Floats | None = None
    performance: Floats | None = None


#: What an input says of a participation where a match says nothing.
ABSENT = {"share": 1.0, "score": math.nan, "performance": math.nan}


class Trace(NamedTuple):
    """Columns of a trace, each of shape (N,), or of shape (0,) if not wanted.

    before, after : a column for each number that `read` returns; all of one are wanted or none
    more : columns that the update writes itself
    """

    expected: Floats
    before: tuple[Floats, ...]
    after: tuple[Floats, ...]
    more: tuple[Floats, ...]


class Job(NamedTuple):
    """All that a kernel is given.

    table : of the state
    draws : sums of `rating.draws`, or shape (0,) if draws are not counted
    normal : whether the outlook of two teams is a normal curve
    skips_ties : whether matches of three or more in which all tie change nothing
    matches_at, time_at : columns of the state that the loop itself writes
    own : other input or output of the system's kernels; None for most systems
    entry, home, contexts : an `Entry`, a `Home` and `Contexts`, None where they are turned off
    """

    table: Floats
    matches: Any
    settings: Any
    trace: Trace
    draws: Floats
    normal: Option
    skips_ties: bool
    inputs: Inputs
    matches_at: int
    time_at: int
    own: Any = None
    entry: Any = None
    home: Any = None
    contexts: Any = None


@inner_kernel
def read_columns(player: Floats, day: float, settings: Any) -> tuple[float, float]:
    """Return (rating, deviation), the first columns of the state."""
    return player[0], player[1]


@inner_kernel
def read_rating_only(player: Floats, day: float, settings: Any) -> tuple[float, float]:
    """Return (rating, 0), where there are no deviations."""
    return player[0], 0.0


@inner_kernel
def move_rating(job: Any, row: int, delta: float) -> None:
    """Add delta to a rating, where that is all there is to move."""
    job.table[row, 0] += delta


@inlined_kernel
def _show(job: Any, start: int, stop: int, day: float, read: Any, out: Any) -> None:
    """Write what tables show of the players of a match, if that is wanted."""
    if len(out[0]):
        for i in range(start, stop):
            _write(out, i, read(job.table[job.matches.player[i]], day, job.settings))


@inlined_kernel
def _write(out: Any, i: int, shown: Any) -> None:
    """Write what tables show of participation i."""
    # An index that is not constant makes Numba copy the tuple.
    out[0][i], out[1][i] = shown[0], shown[1]
    for c in range(2, len(shown)):
        out[c][i] = shown[c]


@inlined_kernel
def open_match(job: Any, m: int, start: int, stop: int, begin: Any, read: Any) -> float:
    """Begin the match in rows start:stop; return a residual."""
    residual = -1.0
    if begin is not None:
        for i in range(start, stop):
            residual = max(residual, begin(job, m, i))
    _show(job, start, stop, job.matches.time[m], read, job.trace.before)
    return residual


@inlined_kernel
def close_match(
    job: Any, entry: Any, m: int, start: int, stop: int, evidence: Any, move: Any, read: Any
) -> None:
    """Count the match in rows start:stop, which was rated, and learn from it."""
    for i in range(start, stop):
        _count(job, m, job.table[job.matches.player[i]])
    if entry is not None:
        learn_and_hold(job, m, start, stop, evidence, move, read)
    _show(job, start, stop, math.nan, read, job.trace.after)


@inlined_kernel
def _count(job: Any, m: int, player: Floats) -> None:
    """Count a match that was rated for a player."""
    player[job.matches_at] += 1.0
    player[job.time_at] = job.matches.time[m]


@inlined_kernel
def _rate_duels(
    job: Any,
    entry: Any,
    home: Any,
    contexts: Any,
    first: int,
    last: int,
    duel: Any,
    begin: Any,
    read: Any,
    evidence: Any,
    move: Any,
) -> tuple[int, float]:
    matches, trace = job.matches, job.trace
    for m in range(first, last):
        start, stop = matches.offsets[m], matches.offsets[m] + 2
        if entry is not None:
            enter(job, start, matches.offsets[m + 1])
        if matches.offsets[m + 1] != stop:
            continue
        score, lead, lever, outlook = 0.5, 0.0, 0.0, (0.0, 0.0)
        if matches.rank[start] != matches.rank[start + 1]:
            score = 1.0 if matches.rank[start] < matches.rank[start + 1] else 0.0
        if home is not None:
            if home.learns or home.adds:
                lever = lever_of(job, start, stop, 2)
            if home.learns and lever != 0.0:
                # As a prediction has it, before `begin` adds what a match itself makes uncertain.
                outlook = outlook_of(job, m, home.working.members, read)
        residual = -1.0
        if begin is not None:
            residual = max(residual, begin(job, m, start), begin(job, m, start + 1))
        one, other = job.table[matches.player[start]], job.table[matches.player[start + 1]]
        if len(trace.before[0]):
            # Read here, where the compiler sees that `duel` begins with the same numbers.
            day = matches.time[m]
            _write(trace.before, start, read(one, day, job.settings))
            _write(trace.before, start + 1, read(other, day, job.settings))
        if contexts is not None:
            add_offsets(job, m, start, stop, read)
            if home is not None and home.learns and lever != 0.0:
                outlook = outlook_in_context(job, start, stop, outlook)
            learn_share(job, home, m, start, stop, score, read)
        if home is not None:
            add_head_starts(job, start, stop)
            lead = home.head_start[start] - home.head_start[start + 1]
        expected, expected_other, z, left = duel(job, m, one, other, lead, score)
        residual = max(residual, left)
        if len(job.draws):
            count_draw(job.draws, score == 0.5, z, job.normal)
        if len(trace.expected):
            trace.expected[start], trace.expected[start + 1] = expected, expected_other
        if home is not None:
            take_head_starts(job, start, stop)
            if home.learns and lever != 0.0:
                learn_advantage(job, m, lever, outlook, score)
        if contexts is not None:
            split_changes(job, start, stop)
        if residual >= 0.0:
            return m, residual
        _count(job, m, one)
        _count(job, m, other)
        if entry is not None:
            learn_and_hold(job, m, start, stop, evidence, move, read)
        if len(trace.after[0]):
            _write(trace.after, start, read(one, math.nan, job.settings))
            _write(trace.after, start + 1, read(other, math.nan, job.settings))
    return -1, -1.0


@inlined_kernel
def rate_duels(
    job: Any, first: int, last: int, duel: Any, begin: Any, read: Any, evidence: Any, move: Any
) -> tuple[int, float]:
    """Rate matches first:last of two players in order, and skip those of one.

    Returns (match, residual) of the first match that cannot be rated, or (-1, -1).
    """
    lent_job = lent(job)
    return _rate_duels(
        lent_job,
        lent_job.entry,
        lent_job.home,
        lent_job.contexts,
        first,
        last,
        duel,
        begin,
        read,
        evidence,
        move,
    )


@inlined_kernel
def count_teams(matches: Any, start: int, stop: int) -> int:
    """Return the number of teams of the match in rows start:stop."""
    teams = 0
    for i in range(start, stop):
        teams = max(teams, matches.team[i] + 1)
    return teams


@inlined_kernel
def all_tie(matches: Any, start: int, stop: int) -> bool:
    """Return whether all ranks in rows start:stop are the same."""
    for i in range(start, stop):  # noqa: SIM110  # Numba knows no generator expressions
        if matches.rank[i] != matches.rank[start]:
            return False
    return True


@inlined_kernel
def _score_of_first(matches: Any, start: int, stop: int) -> float:
    """Return the score of the first of two teams."""
    first, second = 0, 0
    for i in range(start, stop):
        if matches.team[i] == 0:
            first = matches.rank[i]
        else:
            second = matches.rank[i]
    if first == second:
        return 0.5
    return 1.0 if first < second else 0.0


@inlined_kernel
def _rate_teams(
    job: Any,
    entry: Any,
    home: Any,
    contexts: Any,
    first: int,
    last: int,
    match: Any,
    begin: Any,
    read: Any,
    evidence: Any,
    move: Any,
) -> tuple[int, float]:
    matches = job.matches
    for m in range(first, last):
        start, stop = matches.offsets[m], matches.offsets[m + 1]
        teams = count_teams(matches, start, stop)
        if entry is not None:
            enter(job, start, stop)
        if teams < 2 or (job.skips_ties and teams > 2 and all_tie(matches, start, stop)):
            continue
        lever, outlook = 0.0, (0.0, 0.0)
        if home is not None:
            lever = lever_of(job, start, stop, teams)
            if home.learns and lever != 0.0:
                outlook = outlook_of(job, m, home.working.members, read)
        residual = open_match(job, m, start, stop, begin, read)
        if contexts is not None:
            add_offsets(job, m, start, stop, read)
            if home is not None and home.learns and lever != 0.0:
                outlook = outlook_in_context(job, start, stop, outlook)
            if teams == 2:
                learn_share(job, home, m, start, stop, _score_of_first(matches, start, stop), read)
        if home is not None:
            add_head_starts(job, start, stop)
        z, left = match(job, m, teams)
        residual = max(residual, left)
        if len(job.draws) and teams == 2:
            count_draw(job.draws, all_tie(matches, start, stop), z, job.normal)
        if home is not None:
            take_head_starts(job, start, stop)
            if home.learns and lever != 0.0:
                learn_advantage(job, m, lever, outlook, _score_of_first(matches, start, stop))
        if contexts is not None:
            split_changes(job, start, stop)
        if residual >= 0.0:
            return m, residual
        close_match(job, entry, m, start, stop, evidence, move, read)
    return -1, -1.0


@kernel
def rate_teams(
    job: Any, first: int, last: int, match: Any, begin: Any, read: Any, evidence: Any, move: Any
) -> tuple[int, float]:
    """Rate matches first:last of any teams in order, and skip those of one.

    Returns (match, residual) of the first match that cannot be rated, or (-1, -1).
    """
    lent_job = lent(job)
    return _rate_teams(
        lent_job,
        lent_job.entry,
        lent_job.home,
        lent_job.contexts,
        first,
        last,
        match,
        begin,
        read,
        evidence,
        move,
    )


@kernel
def read_rows(table: Floats, rows: Ints, day: float, settings: Any, read: Any) -> Floats:
    """Return what tables show of players as of a day, shape (shown, rows)."""
    width = 2
    if len(rows):
        width = len(read(table[rows[0]], day, settings))
    out = np.empty((width, len(rows)))
    for i in range(len(rows)):
        shown = read(table[rows[i]], day, settings)
        for c in range(len(shown)):
            out[c, i] = shown[c]
    return out
