"""Offsets of players in contexts (surface, map, time control), around the update of a system.

The strength of a player in a context is a general part g and an offset o in it. Both are believed
to be normal and independent, and o begins at 0 with the variance C^2, C = `context_deviation`. A
match in a context is rated in three steps, as a home advantage is (`rating.head_start`): the rating
of a player becomes g + o and the variance v_g + v_o, the system rates the match, and the change is
split as TrueSkill splits that of a team of two members, equation (8) and table 1 of [TS]_:

    w = v_g/(v_g + v_o)
    g <- g + w change                      o <- o + (1 - w) change
    v_g <- v_g (1 - w k)                   v_o <- v_o (1 - (1 - w) k)

where k = 1 - v/(v_g + v_o) and v is the variance after the match. Whatever a system adds to a
variance with time, and in a match before it is rated (`added` of the class), is added to v_g alone:
the general part drifts, and the offsets stay. A system without deviations moves by fixed shares:
its v_g is the variance for which its step is that of Fisher's scoring, `usual_deviation`^2 times
`first_share`, for Elo K scale/ln 10.

A player's first context teaches nothing about offsets: it is only noted, and matches in it are
rated by the general part alone, as matches without a context are. From the player's second context
on, every context has an offset. So a history with one context has the bits of one without.

Predictions count the share s of an offset that the pool has learned: a rating g + s o with the
variance v_g + v_o. Where contexts mean little, offsets are noise, and s falls to 0. Its belief is
that of a home advantage (`head_start.learned`) in a match of two teams, whose lever is the
difference of their offsets, if that is at least C; it begins at 1/2 with the deviation 1/4, and is
never below 0. The share changes no rating.

The offsets are the ragged column `State.runs`: records of (code of the context, mean, variance), in
the order in which the player met the contexts. A code follows from the name alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import History
from equipoise.rating.federation_columns import codes_of
from equipoise.rating.head_start import learned
from equipoise.rating.state import BEGIN, COUNT, ROOM, Runs, State
from equipoise.rating.system import TraceColumns, zeroed

#: Name of the column of a history, and of the parameter.
CONTEXT, CONTEXT_DEVIATION = "context", "context_deviation"

#: Name in `State.shared` of the belief about the share, and that of a new pool.
SHARE, NEW_SHARE = "context_share", (0.5, 0.0625)

#: Fields of a record.
CODE, MEAN, VARIANCE = range(3)
FIELDS = 3

#: Names in a trace of mean and variance of the offset that counted in a match, 0 for none.
TRACED = OFFSET, OFFSET_VARIANCE = "context_offset", "context_variance"

#: What `equipoise systems` says of the parameter.
NOTE = (
    "standard deviation, in rating points, of a player's extra strength in a context (column "
    "context: surface, map, time control); 0 ignores contexts"
)


class Share(NamedTuple):
    """How much of the offsets predictions count, and what kernels need to learn it.

    belief : shape (2,), mean and variance; kernels change it
    least : levers below this teach too little to be worth the time, points
    fixed, own, slope, normal, adds : as in `head_start.Home`
    members : shape (2,), memory for one match
    """

    belief: Floats
    least: float
    fixed: float
    own: float
    slope: float
    normal: bool
    adds: bool
    members: Floats


class Contexts(NamedTuple):
    """The contexts of participations and the offsets of players, in the form that kernels use.

    code : shape (N,), of the context; NaN for none
    spans, values : of `Runs`, with room for all new records
    fresh : variance of an offset at first, points^2
    fixed : variance of the general part in systems without deviations
    deviation_at, volatility_at : columns of the state, -1 for none; a match adds the square of the
        latter, on the scale of Glicko-2
    added : variance that a match adds before it is rated, points^2
    place : shape (n,), memory for one match: the index of an offset's mean in `values`, -1 for none
    work : shape (n, 4), memory for one match; see `GENERAL` and the names after it
    offset, variance : shape (N,), filled with the offset that a prediction counts, 0 for none;
        shape (0,) where that is not wanted
    share : of the offsets
    """

    code: Floats
    spans: Ints
    values: Floats
    fresh: float
    fixed: float
    deviation_at: int
    volatility_at: int
    added: float
    place: Ints
    work: Floats
    offset: Floats
    variance: Floats
    share: Share


#: Columns of `Contexts.work`: the rating and the drifted variance before the match, the rating plus
#: the offset, and the variance of the offset.
GENERAL, DRIFTED, MOVED, SPREAD = range(4)

#: Rating points of a unit of the scale of Glicko-2.
_GLICKO2 = 400.0 / math.log(10.0)


@inner_kernel
def _place_of(contexts: Contexts, row: int, code: float) -> int:
    """Return the index in `values` of the mean of an offset, -1 for none; note a new context."""
    begin, room = contexts.spans[row, BEGIN], contexts.spans[row, ROOM]
    count = contexts.spans[row, COUNT]
    for k in range(count):
        if contexts.values[begin + k] == code:
            return begin + room + k if count > 1 else -1
    contexts.values[begin + count] = code
    contexts.values[begin + room + count] = 0.0
    contexts.values[begin + 2 * room + count] = contexts.fresh
    contexts.spans[row, COUNT] = count + 1
    return begin + room + count if count > 0 else -1


@inlined_kernel
def add_offsets(job: Any, m: int, start: int, stop: int, read: Any) -> None:
    """Add the offsets of match m, in rows start:stop, to ratings and deviations."""
    contexts, matches, at = job.contexts, job.matches, job.contexts.deviation_at
    for i in range(start, stop):
        contexts.place[i - start] = -1
        if math.isnan(contexts.code[i]):
            continue
        row = matches.player[i]
        place = _place_of(contexts, row, contexts.code[i])
        if place < 0:
            continue
        player, work = job.table[row], contexts.work[i - start]
        mean = contexts.values[place]
        variance = contexts.values[place + contexts.spans[row, ROOM]]
        contexts.place[i - start] = place
        work[GENERAL], work[DRIFTED], work[SPREAD] = player[0], contexts.fixed, variance
        if at >= 0:
            deviation = read(player, matches.time[m], job.settings)[1]
            work[DRIFTED] = deviation * deviation
            player[at] = math.sqrt(player[at] * player[at] + variance)
        player[0] += mean
        work[MOVED] = player[0]
        if len(contexts.offset):
            contexts.offset[i] = contexts.share.belief[0] * mean
            contexts.variance[i] = variance


@inlined_kernel
def split_changes(job: Any, start: int, stop: int) -> None:
    """Split the changes in rows start:stop between the general parts and the offsets."""
    contexts, matches, at = job.contexts, job.matches, job.contexts.deviation_at
    for i in range(start, stop):
        place = contexts.place[i - start]
        if place < 0:
            continue
        row, work = matches.player[i], contexts.work[i - start]
        player, general, offset = job.table[row], work[DRIFTED], work[SPREAD]
        if at >= 0:
            general += contexts.added
            if contexts.volatility_at >= 0:
                sigma = _GLICKO2 * player[contexts.volatility_at]
                general += sigma * sigma
        whole = 1.0 / (general + offset)
        share, rest, change = general * whole, offset * whole, player[0] - work[MOVED]
        player[0] = work[GENERAL] + share * change
        contexts.values[place] += rest * change
        if at >= 0:
            # A cap of the system may leave more than both parts; neither of them shrinks then.
            k = max(1.0 - player[at] * player[at] * whole, 0.0)
            player[at] = math.sqrt(general * (1.0 - share * k))
            contexts.values[place + contexts.spans[row, ROOM]] = offset * (1.0 - rest * k)


@inlined_kernel
def outlook_in_context(
    job: Any, start: int, stop: int, outlook: tuple[float, float]
) -> tuple[float, float]:
    """Return (difference, squared scale) of two teams with the offsets of their players."""
    difference, squared = outlook
    home, contexts, members = job.home, job.contexts, job.home.working.members
    share = contexts.share.belief[0]
    for i in range(start, stop):
        if contexts.place[i - start] >= 0:
            t, work = job.matches.team[i], contexts.work[i - start]
            part = 1.0 if home.adds else 1.0 / members[t]
            signed = part if t == 0 else -part
            difference += signed * share * (work[MOVED] - work[GENERAL])
            squared += part * part * home.slope * work[SPREAD]
    return difference, squared


@inlined_kernel
def _lever_of(job: Any, start: int, stop: int) -> float:
    """Return how much larger the offsets of the first of two teams are; count their members."""
    contexts, share, lever = job.contexts, job.contexts.share, 0.0
    share.members[0] = share.members[1] = 0.0
    for i in range(start, stop):
        share.members[job.matches.team[i]] += 1.0
    for i in range(start, stop):
        if contexts.place[i - start] >= 0:
            t, work = job.matches.team[i], contexts.work[i - start]
            part = 1.0 if share.adds else 1.0 / share.members[t]
            lever += (part if t == 0 else -part) * (work[MOVED] - work[GENERAL])
    return lever


@inlined_kernel
def learn_share(
    job: Any, home: Any, m: int, start: int, stop: int, score: float, read: Any
) -> None:
    """Learn the share from match m of two teams, after `add_offsets`; score : of the first."""
    contexts, matches, share = job.contexts, job.matches, job.contexts.share
    lever = _lever_of(job, start, stop)
    if abs(lever) < share.least:
        return
    difference, squared = 0.0, 2.0 * share.fixed
    for i in range(start, stop):
        t = matches.team[i]
        each = 1.0 / share.members[t]
        part = 1.0 if share.adds else each
        if contexts.place[i - start] >= 0:
            rating = contexts.work[i - start][GENERAL]
            variance = contexts.work[i - start][DRIFTED] + contexts.work[i - start][SPREAD]
        else:
            shown = read(job.table[matches.player[i]], matches.time[m], job.settings)
            rating, variance = shown[0], shown[1] * shown[1]
        points = part * rating
        if home is not None:
            points += each * home.pool[0] * home.at_home[i]
        difference += points if t == 0 else -points
        squared += part * part * (share.own + share.slope * variance)
    mean, variance = learned(
        share.belief[0],
        share.belief[1],
        lever,
        matches.weight[m],
        (difference, squared, score),
        share.normal,
    )
    share.belief[0], share.belief[1] = max(mean, 0.0), variance


def memory_of(
    state: State, history: History, start: int, stop: int, trace: TraceColumns | None
) -> dict[str, Any]:
    """Return the arrays of `Contexts` for matches start:stop, with room for their new records."""
    low, high = int(history.offsets[start]), int(history.offsets[stop])
    codes, numbers, names = _coded(history)
    runs = state.runs
    assert runs is not None
    _reserve(runs, history, low, high, numbers, names)
    largest = int(np.diff(history.offsets[start : stop + 1]).max(initial=0))
    return {
        "code": codes[low:high],
        "spans": runs.spans,
        "values": runs.values,
        "place": np.empty(largest, np.int64),
        "work": np.empty((largest, 4)),
        "offset": zeroed(trace, OFFSET, low, high),
        "variance": zeroed(trace, OFFSET_VARIANCE, low, high),
    }


#: What `_coded` returns of whole columns, by their identity: every system that rates a history, and
#: every part of it, reads them.
_known: dict[int, tuple[ref[Ids], tuple[Floats, Ints, Floats]]] = {}


def _coded(history: History) -> tuple[Floats, Ints, Floats]:
    """Return the codes of all participations, the numbers of their contexts, and the codes once.

    A code is NaN, and a number -1, where there is no context.
    """
    column = history.attributes.get(CONTEXT)
    if column is None:
        rows = history.participations
        return np.full(rows, np.nan), np.full(rows, -1), np.zeros(0)
    known = _known.get(id(column))
    if known is not None and known[0]() is column:
        return known[1]
    codes = codes_of(column)
    names = np.unique(codes[~np.isnan(codes)])
    numbers = np.where(np.isnan(codes), -1, np.searchsorted(names, codes))
    coded, key = (codes, numbers, names), id(column)
    _known[key] = ref(column, lambda _: _known.pop(key, None)), coded
    return coded


def numbered_contexts(history: History) -> tuple[Floats, Ints]:
    """Return the codes of contexts, NaN as the last, and the number of every participation's."""
    _, numbers, names = _coded(history)
    return np.append(names, np.nan), numbers


def _reserve(
    runs: Runs, history: History, low: int, high: int, numbers: Ints, names: Floats
) -> None:
    """Make room for a record of each context that a player of rows low:high meets.

    If memory is missing, it is reserved for the rest of the history at once.
    """
    if runs.used:
        rows, counts = _met(runs, history.player[low:high], numbers[low:high], names)
        if not len(rows) or not runs.lacks_room(rows, counts):
            return
    runs.reserve(*_met(runs, history.player[low:], numbers[low:], names))


def _met(runs: Runs, player: Ints, number: Ints, names: Floats) -> tuple[Ints, Ints]:
    """Return (players, how many contexts each of them meets that have no record yet)."""
    # The first column is of participations without a context.
    width = len(names) + 1
    pairs = player * width + number + 1
    # Not all players have a part in a posted match.
    every = np.unique(player)
    owner, codes = np.repeat(every, runs.spans[every, COUNT]), runs.records(CODE, every)
    place = np.searchsorted(names, codes)
    same = np.append(names, np.nan)[place] == codes
    known = owner[same] * width + place[same] + 1
    if len(runs.spans) * width <= 8 * len(pairs):
        met = np.zeros(len(runs.spans) * width, np.bool_)
        met[pairs] = True
        met[known] = False
        counts = met.reshape(-1, width)[:, 1:].sum(axis=1)
        rows = np.flatnonzero(counts)
        return rows, counts[rows]
    new = np.setdiff1d(pairs, known)
    rows, counts = np.unique(new[new % width > 0] // width, return_counts=True)
    return rows, counts


def in_context(
    state: State, rows: Ints, rating: Floats, deviation: Floats, fresh: float, context: object
) -> tuple[Floats, Floats]:
    """Return ratings and deviations of players in a context, as predictions count them.

    rows : of the state; rating, deviation : of their general parts, shape (n,)
    fresh : `context_deviation`, which counts where a player has not met the context yet
    context : its name
    """
    mean, variance = offsets_in(state, rows, fresh, context)
    share = state.shared.get(SHARE, NEW_SHARE)[0]
    return rating + share * mean, np.hypot(deviation, np.sqrt(variance))


def offsets_in(state: State, rows: Ints, fresh: float, context: object) -> tuple[Floats, Floats]:
    """Return mean and variance of the offsets of players in a context; see `in_context`."""
    code, runs = float(codes_of(np.array([context], dtype=object))[0]), state.runs
    if runs is None or math.isnan(code):
        return np.zeros(len(rows)), np.zeros(len(rows))
    counts = runs.spans[:, COUNT]
    mean, variance = np.zeros(len(counts)), np.where(counts > 0, fresh * fresh, 0.0)
    owner = np.repeat(np.arange(len(counts)), counts)
    codes, means, variances = (runs.records(field) for field in range(FIELDS))
    here = codes == code
    mean[owner[here]], variance[owner[here]] = means[here], variances[here]
    # The only context of a player is what the general part was learned in.
    variance[owner[here & (counts[owner] == 1)]] = 0.0
    return mean[rows], variance[rows]
