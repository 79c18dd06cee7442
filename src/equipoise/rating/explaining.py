"""Explaining a change of rating: find the match, rate it on copies, and call the explainer.

The system's own explainer sees the match as if the entry were fixed and no level held, with
newcomers where they entered. What the match handed to the player to hold the level is added as a
part of the change, and so is what the home advantage and the context took from it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats
from equipoise.data.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import HomeSystem, System, belief_of
from equipoise.rating.contexts import CONTEXT, OFFSET, OFFSET_VARIANCE, TRACED, offsets_in
from equipoise.rating.newcomers import MU, TARGET, WEIGHT, Entry, level_adjustment
from equipoise.rating.pool_state import PoolState
from equipoise.rating.registry import SYSTEMS, Explainer, system_class
from equipoise.rating.replay import Resumption, check_fit, pieces, resume
from equipoise.rating.single_match import (
    NAMED_OPPONENTS,
    SingleMatch,
    alone,
    by_opponent,
    contribution,
    explanation,
    opposing_teams,
    places,
    quantity,
    rate_isolated,
    single_match,
)
from equipoise.rating.state import State
from equipoise.rating.system import TRACE_COLUMNS, ExplainsItself, RatingSystem
from equipoise.wording import did_you_mean

#: Number of a player's matches that an error names if the wanted one is not among them.
_NAMED = 5

#: What tables showed of a player before a match.
_BEFORE = ("rating_before", "deviation_before")


def explain_with_entry(
    explainer: Explainer, system: System, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating; see `explain_change`."""
    entry = system.entry_of(before)
    if entry is None:
        return explainer(system, before, history, match, row)
    single = single_match(system, before, history, match, row)
    player = before.table[history.player[row]]
    fixed: Any = replace(system, entry="fixed", hold_level=0.0)
    state = _entered(entry, before)
    rows = history.player[int(history.offsets[match]) : int(history.offsets[match + 1])]
    # A period that ends before this match ends with what it handed out, which `fixed` leaves out.
    system.begin_period(state, rows, float(history.days(match, match + 1)[0]))
    explanation = explainer(fixed, state, history, match, row)
    delta = 0.0
    if player[entry.matches] < entry.young and player[entry.seeded] == 0.0:
        delta = level_adjustment(entry.pool, entry.holds, entry.most)
    return replace(
        explanation,
        # Within a rating period a pending adjustment is part of both.
        rating_before=float(single.trace["rating_before"][single.row]),
        rating=float(single.trace["rating"][single.row]),
        contributions=(*explanation.contributions, *_adjustment(system, entry, delta)),
        quantities=(*_start(system, entry, player), *explanation.quantities),
        # The whole belief moves, so the rating stays the mean of what is remembered.
        remembered=tuple(
            replace(
                memory,
                performance=memory.performance + delta,
                change=memory.change + memory.weight * delta,
            )
            for memory in explanation.remembered
        ),
        least_change=explanation.least_change + delta,
        largest_change=explanation.largest_change + delta,
    )


def _is_new(entry: Entry, player: Any) -> Any:
    """Return whether this player, or each of these, has neither played nor a known rating."""
    return (player[..., entry.matches] == 0.0) & (player[..., entry.seeded] == 0.0)


def _entered(entry: Entry, before: State) -> State:
    """Return a copy of the state in which newcomers have entered."""
    state = before.copy()
    if entry.learns:
        new = _is_new(entry, state.table)
        state.table[new, 0] = entry.pool[MU]
        state.table[new, entry.mean] = entry.pool[MU]
    return state


def _adjustment(system: System, entry: Entry, delta: float) -> list[Contribution]:
    """Return the part of the change that holds the level, if there is one."""
    if delta == 0.0:
        return []
    reason = (
        f"holds the level of the pool at {entry.pool[TARGET]:.0f}: every player with fewer than "
        f"{system.hold_level_matches} earlier matches gets it"
    )
    return [contribution("level adjustment", delta, reason)]


def _start(system: System, entry: Entry, player: Floats) -> list[Quantity]:
    """Return where a newcomer began, and how much is known of newcomers."""
    if not (entry.learns and _is_new(entry, player)):
        return []
    pool = entry.pool
    started = f"Started at {pool[MU]:.0f}, learned from recent newcomers "
    started += f"(the fixed starting rating is {system.initial_rating:g})"
    known = "what is known of newcomers, in first matches that say all about a player"
    return [
        quantity("entry", float(pool[MU]), "points", started),
        quantity("weight of the entry", float(pool[WEIGHT]), "", known),
    ]


@checks_arguments()
def explain(
    system: RatingSystem,
    history: History,
    player: object,
    match: object = None,
    *,
    state: PoolState | None = None,
    restart: bool = False,
    initial: InitialRatings | Ratings | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Explanation:
    """Return why a match changed a player's rating, in parts that add up to the change.

    player, match : ids, which may come as text for numbers; None takes the last match of the
        player that the system rates
    state : the pool that the history continues; None rates it from the start
    restart : rate from the start although there is a state; the history must have all its matches
    initial : known ratings with which players begin; all others are newcomers
    threads : number of threads for large matches; it never changes a result
    progress : called with (participations done, participations before the match)
    Raises : NotFoundError for an unknown player or match, or a player who was not in it;
        InvalidDataError if the match changed nothing or the system cannot rate the history;
        ConflictError if the state has rated the match already, or if the history does not
        continue it as in `replay`; ConvergenceError

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> found = eq.explain(eq.Elo(), league, "ada")
    >>> round(found.rating - found.rating_before, 2)
    2.91
    >>> [(part.name, round(part.change, 2)) for part in found.contributions]
    [('the win', 2.91)]
    """
    check_fit(system, history)
    place = _participation(system, history, player, match)
    resumed = resume(system, history, state=state, restart=restart, initial=initial)
    return next(_explained(system, resumed, [place], threads, progress))


def explain_since(
    system: RatingSystem,
    history: History,
    player: object,
    since: int,
    *,
    state: PoolState | None = None,
    restart: bool = False,
    initial: InitialRatings | Ratings | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Explanation]:
    """Return why every match from a time on changed a player's rating, oldest first.

    since : microseconds since 1970, or a number of the order of a history without dates; the others
      are those of `explain`
    Raises : as `explain`; InvalidParameterError if the history has neither
    """
    check_fit(system, history)
    times = history.order if history.time is None else history.time
    if times is None:
        raise InvalidParameterError("--since needs a history with times; this one has none")
    places = [
        (match, row)
        for match, row in zip(*_participations(history, player), strict=True)
        if times[match] >= since and why_unrated(system, history, match) is None
    ]
    if not places:
        raise NotFoundError(f"no match of {player} since then changed a rating")
    resumed = resume(system, history, state=state, restart=restart, initial=initial)
    return list(_explained(system, resumed, places, threads, progress))


def _explained(
    system: RatingSystem,
    resumed: Resumption,
    places: Sequence[tuple[int, int]],
    threads: int,
    progress: Callable[[int, int], None] | None,
) -> Iterator[Explanation]:
    """Give the explanations of participations, each a (match, row), in the order of matches."""
    pool, history, start = resumed.pool, resumed.history, resumed.start
    if places[0][0] < start:
        raise ConflictError(
            f"the saved state has rated match {history.match_ids[places[0][0]]} already: explain "
            "it from the complete history, without the state or with --restart "
            "(in Python restart=True)"
        )
    before, at, last = resumed.begin(), start, places[-1][0]
    with Workers(threads) as workers:
        for match, row in places:
            for low, high in pieces(history, at, match):
                system.run(before, history, low, high, None, workers)
                if progress is not None:
                    done, total = history.offsets[[high, last]] - history.offsets[start]
                    progress(int(done), int(total))
            at = match
            explanation = explain_change(system, before, history, match, row)
            player = int(history.player[row])
            if player < pool.known_ratings and before.column("matches")[player] == 0.0:
                # The player has a known rating, and has not played yet.
                rating = explanation.rating_before
                meaning = f"Started at {rating:.0f}, known before the first match"
                known = quantity("known rating", rating, "points", meaning)
                explanation = replace(explanation, quantities=(known, *explanation.quantities))
            yield explanation


def explainer_of(system: RatingSystem) -> Explainer:
    """Return the function that explains the changes of a system.

    One that is not built in explains itself by a method `explain`, or is explained in general.
    """
    if isinstance(system, ExplainsItself):
        own: Explainer = type(system).explain
        return own
    spec = SYSTEMS.get(system.name)
    if spec is not None and isinstance(system, kind := system_class(system.name)):
        module = f"{__package__}.{spec.explainer}" if spec.explainer else kind.__module__
        built_in: Explainer = importlib.import_module(module).explain
        return built_in
    return explain_in_general


def explain_change(
    system: RatingSystem, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating, adding up to the change.

    before : the state of all players of `history` before the match
    match, row : of the history; the row is a participation of that match
    Raises : InvalidDataError if the system did not rate that match
    """
    explainer = explainer_of(system)
    if isinstance(system, System):
        in_context = partial(_explain_in_context, partial(_explain_with_home, explainer))
        explanation = explain_with_entry(in_context, system, before, history, match, row)
        if explanation.belief is not None and explanation.belief.rating != explanation.rating:
            # The level adjustment moves the complete belief.
            explanation = replace(
                explanation,
                belief=explanation.belief.moved(explanation.rating - explanation.belief.rating),
            )
        return explanation
    return explainer(system, before, history, match, row)


def _explain_with_home(
    explainer: Explainer, system: Any, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating; see `explain_change`.

    The system's own explainer sees the match twice: as it was, with the head starts in the ratings,
    and as it would have been on neutral ground. The parts of the change are those on neutral
    ground; what the head starts took from it or added to it is one more part, so all parts add up.
    """
    if not isinstance(system, HomeSystem) or not system.counts_home:
        return explainer(system, before, history, match, row)
    settled = system.settled(before)
    low, high = int(history.offsets[match]), int(history.offsets[match + 1])
    one = history.slice(match, match + 1)
    starts = settled.head_starts(one, settled.home_advantage)
    neutral_rules: Any = {"home_advantage": 0.0}
    neutral: HomeSystem = replace(settled, **neutral_rules)
    if not starts.any():
        return _with_advantage(explainer(neutral, before, history, match, row), system, before)
    on_neutral = explainer(neutral, before, history, match, row)
    if settled.adds_head_starts:
        actual = explainer(settled, before, history, match, row)
    else:
        moved = before.copy()
        moved.column("rating")[history.player[low:high]] += starts
        actual = explainer(neutral, moved, history, match, row)
    single = single_match(settled, before, history, match, row)
    i, change = single.row, single.change
    without = math.fsum(part.change for part in on_neutral.contributions)
    reason = _home_reason(one, i, float(settled.home_advantage), on_neutral, actual)
    part = contribution("home advantage", change - without, reason)
    ratings = {other.player: other.rating for other in on_neutral.opponents}
    explanation = replace(
        actual,
        rating_before=float(single.trace["rating_before"][i]),
        rating=float(single.trace["rating"][i]),
        contributions=(*on_neutral.contributions, part),
        opponents=tuple(
            replace(other, rating=ratings.get(other.player, other.rating))
            for other in actual.opponents
        ),
    )
    return _with_advantage(explanation, system, before)


def _home_reason(
    match: History, i: int, advantage: float, neutral: Explanation, actual: Explanation
) -> str:
    """Return a sentence on what the head starts changed for participation i."""
    flags = match.at_home()
    assert flags is not None
    own, others = flags[match.team == match.team[i]], flags[match.team != match.team[i]]
    where = "this match had a side at home"
    if not np.any(others):
        where = "played at home"
    elif not np.any(own):
        where = "played away"
    return (
        f"{where}, worth {advantage:.0f} points: {actual.expected:.2f} was expected, "
        f"{neutral.expected:.2f} on neutral ground"
    )


def _with_advantage(explanation: Explanation, system: HomeSystem, before: State) -> Explanation:
    """Return an explanation with what the advantage was before the match."""
    belief = belief_of(before.shared) if system.learns_advantage else None
    value, meaning = float(system.home_advantage), "rating points that a team at home is stronger"
    if belief is not None:
        value = belief[0]
        meaning += f", as the matches before have shown; its deviation is {belief[1]:.1f}"
    worth = quantity("home advantage", value, "points", meaning)
    return replace(explanation, quantities=(*explanation.quantities, worth))


def _explain_in_context(
    explainer: Explainer, system: Any, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating; see `explain_change`.

    The explainer sees the match as the system does, with the offsets in ratings and deviations
    (`rating.contexts`). What the player's offset takes of that change is one more part.
    """
    if not system.counts_contexts:
        return explainer(system, before, history, match, row)
    isolated, players = alone(history, match)
    names = (*TRACE_COLUMNS, *TRACED)
    trace = {name: np.full(isolated.participations, np.nan) for name in names}
    alone_before, contexts = before.take(players), isolated.attributes.get(CONTEXT)
    offsets = np.zeros(len(players))
    for name in () if contexts is None else dict.fromkeys(contexts.tolist()):
        here = np.flatnonzero(contexts == name)
        offsets[here], _ = offsets_in(alone_before, here, system.context_deviation, name)
    system.run(alone_before, isolated, 0, 1, trace)
    moved = replace(before.copy(), runs=None)
    moved.column("rating")[players] += offsets
    if "deviation" in moved.initial:
        own = moved.column("deviation")
        own[players] = np.sqrt(own[players] ** 2 + trace[OFFSET_VARIANCE])
    explanation = explainer(replace(system, context_deviation=0.0), moved, history, match, row)
    i = row - int(history.offsets[match])
    shown: dict[str, Any] = {name: float(trace[name][i]) for name in names}
    offset, variance = float(offsets[i]), shown.pop(OFFSET_VARIANCE)
    del shown[OFFSET]
    explanation = replace(explanation, **shown)
    if variance == 0.0:
        return explanation
    change = explanation.rating - explanation.rating_before
    whole = math.fsum(part.change for part in explanation.contributions)
    share, context = change / whole if whole else math.nan, isolated.attributes[CONTEXT][i]
    reason = f"the offset in {context} takes it, because it is uncertain too"
    part = contribution("the context", change - whole, reason)
    meaning = "rating points by which the player was stronger there; its deviation was "
    meaning += f"{math.sqrt(variance):.1f}"
    number = quantity(f"offset in {context}", offset, "points", meaning)
    return replace(
        explanation,
        contributions=(*explanation.contributions, part),
        quantities=(*explanation.quantities, number),
        least_change=share * explanation.least_change,
        largest_change=share * explanation.largest_change,
    )


def _participation(
    system: RatingSystem, history: History, player: object, match: object
) -> tuple[int, int]:
    """Return (the match to explain, the participation of the player in it)."""
    matches, rows = _participations(history, player)
    if match is not None:
        where = _match(history, player, match, matches)
        reason = why_unrated(system, history, where)
        if reason is not None:
            raise InvalidDataError([], f"match {match} changed no rating: {reason}")
        return where, rows[matches.index(where)]
    for where, row in zip(reversed(matches), reversed(rows), strict=True):
        if why_unrated(system, history, where) is None:
            return where, row
    raise InvalidDataError([], f"no match of {player} changed a rating: {_reasons(system)}")


def _participations(history: History, player: object) -> tuple[list[int], list[int]]:
    """Return the matches of a player, and the participations in them. Raises : NotFoundError."""
    players = np.flatnonzero(history.player_ids.astype(str) == str(player))
    if not len(players):
        hint = did_you_mean([player], history.player_ids)
        raise NotFoundError(f"no player {player} among the {history.players} of the history{hint}")
    rows = np.flatnonzero(history.player == players[0])
    return (np.searchsorted(history.offsets, rows, side="right") - 1).tolist(), rows.tolist()


def _match(history: History, player: object, match: object, matches: Sequence[int]) -> int:
    """Return the row of this match, which must be one of the player's. Raises : NotFoundError."""
    matches_found = np.flatnonzero(history.match_ids.astype(str) == str(match))
    if not len(matches_found):
        hint = did_you_mean([match], history.match_ids)
        raise NotFoundError(f"no match {match} among the {history.matches} of the history{hint}")
    if matches_found[0] not in matches:
        last = ", ".join(str(match) for match in history.match_ids[matches[-_NAMED:]])
        raise NotFoundError(
            f"{player} did not take part in match {match}, but in {len(matches)} others, the last "
            f"of them {last}"
        )
    return int(matches_found[0])


def why_unrated(system: RatingSystem, history: History, match: int) -> str | None:
    """Return why a match changes no rating, None if it does."""
    rows = slice(int(history.offsets[match]), int(history.offsets[match + 1]))
    teams = int(history.team[rows].max()) + 1
    if teams < 2:
        return "it had a single player or team"
    tied = teams > 2 and history.rank[rows].max() == 0
    if tied and system.capabilities.skips_all_tied:
        return f"all {teams} tied, and {system.name} skips such a match"
    return None


def _reasons(system: RatingSystem) -> str:
    """Return why no match of a player may have changed a rating."""
    if system.capabilities.skips_all_tied:
        return "the player was alone in each match, or all tied"
    return "the player was alone in each match"


def explain_in_general(
    system: RatingSystem, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating, where the system says nothing of it.

    The match is rated again without each opposing team. What the change loses by that is the effect
    of the team. The effects of several teams need not add up to the change, so the match is one
    part of it.
    """
    single = single_match(system, before, history, match, row)
    beats = _beats(single)
    explained = explanation(
        single, contributions=(), quantities={}, meanings={}, opponents=_opponents(single, beats)
    )
    if np.isnan(explained.expected):
        explained = replace(explained, expected=float(beats.mean()))
    reason = f"scored {explained.score:.2f} where {explained.expected:.2f} was expected"
    mean = "the mean probability of doing better than an opposing team"
    return replace(
        explained,
        contributions=(contribution("this match", single.change, reason),),
        quantities=(
            quantity("expected score", explained.expected, "", mean),
            quantity("score", explained.score, "", "a win 1, a tie 1/2"),
        ),
    )


def _beats(single: SingleMatch) -> Floats:
    """Return the probability that the player's team beats each other team."""
    match, trace = single.history, single.trace
    outlook = single.system.outlook(trace["rating_before"], trace["deviation_before"], match)
    teams = outlook.of_teams(match.team, int(match.team.max()) + 1)
    own = int(match.team[single.row])
    others = np.array([team for team in np.unique(match.team).tolist() if team != own])
    return teams.beats(np.full(len(others), own), others)


def _opponents(single: SingleMatch, beats: Floats) -> list[Opponent]:
    """Return the opposing teams nearest in place, with what each did to the rating."""
    match, trace, place = single.history, single.trace, places(single.history)
    teams = opposing_teams(single)
    expected = dict(zip((int(rows[0]) for _, rows in teams), beats.tolist(), strict=True))
    own = int(place[single.row])
    nearest = sorted(teams, key=lambda team: abs(int(place[team[1][0]]) - own))

    def numbers(j: int, score: float) -> tuple[float, float, float, float]:
        members = match.team == match.team[j]
        rating, deviation = (trace[name][members].mean() for name in _BEFORE)
        effect = single.change - _change_without(single, int(match.team[j]))
        return float(rating), float(deviation), expected[j], float(effect)

    return by_opponent(single, numbers, nearest[:NAMED_OPPONENTS])


def _change_without(single: SingleMatch, team: int) -> float:
    """Return the change of rating if one opposing team had not taken part."""
    match = single.history
    kept = np.flatnonzero(match.team != team)
    others = np.unique(match.team[kept])
    if len(others) < 2:
        return 0.0

    def rows(column: Floats | None) -> Floats | None:
        return None if column is None else column[kept]

    smaller = replace(
        match,
        offsets=np.array([0, len(kept)], np.int64),
        player_ids=match.player_ids[kept],
        player=np.arange(len(kept)),
        team=np.searchsorted(others, match.team[kept]),
        rank=np.unique(match.rank[kept], return_inverse=True)[1].astype(np.int64),
        performance=rows(match.performance),
        share=rows(match.share),
        team_labels=rows(match.team_labels),
        statistics={name: column[kept] for name, column in match.statistics.items()},
        attributes={name: column[kept] for name, column in match.attributes.items()},
    )
    row = int(np.searchsorted(kept, single.row))
    return rate_isolated(single.system, smaller, single.before.take(kept), row).change
