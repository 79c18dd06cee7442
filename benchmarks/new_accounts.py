"""New accounts: what do they do to a learned entry, and get where the level of a pool is held?

docs/guides/learned-entry.md says what entry and level are. Two questions that plans of one player
do not answer:

- *Losing accounts.* Somebody makes new accounts that lose their first match, so that later players
  enter lower. They are added to one match, all of them tied for last; where a match has two teams
  only, each loses a duel of its own against the most experienced player of that match. The rest of
  the history is rated with and without them. How far is the entry moved, and after how many matches
  and newcomers has half of that, and all but a point, been forgotten?
- *Taking part.* A young account gets points for holding the level in every match. How many at most,
  by the parameters; how many in as many rated matches in a row as an account is young, from the
  best one on, in this history; and how many are left at the end? To answer the last, an account
  takes part in those matches and ties with the median of the others, who are frozen, once with and
  once without the points: later matches take back some of what a rating is too high.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.evaluate.incentive_plans import MatchSnapshot
from equipoise.formats import read_history
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import System
from equipoise.rating.newcomers import ENTRY, LEVEL, MU, SEEDED, TARGET, level_adjustment
from equipoise.rating.registry import make_system
from equipoise.rating.replay import check_fit, pieces
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem

#: Default numbers of losing accounts.
ACCOUNTS = (10, 100)
#: The entry counts as restored when the accounts still move it by at most so many rating points.
RESTORED = 1.0


class LosingAccounts(NamedTuple):
    """How far new accounts that lose on purpose move the entry of later newcomers.

    match : id of the match that they joined; accounts : their number
    participants, newcomers : of that match without them
    entry, honest : where newcomers entered in that match, and after it without the accounts
    moved : by how much the accounts moved the entry, rating points
    half_matches, half_newcomers : number of later matches, and of newcomers in them, after which
        less than half of that is left for good; None if more is left at the end of the history
    restored_matches, restored_newcomers : the same until less than a point is left
    """

    match: Any
    accounts: int
    participants: int
    newcomers: int
    entry: float
    honest: float
    moved: float
    half_matches: int | None
    half_newcomers: int | None
    restored_matches: int | None
    restored_newcomers: int | None


class TakingPart(NamedTuple):
    """How many points an account gets for holding the level by only taking part.

    most : the largest number that the parameters allow
    matches : number of rated matches in a row in which it takes part
    first : id of the first of those that give most; best : what these give
    mean : over all such rows of matches
    kept : by how much the last rating is higher for it, if the account ties with the median in
        each, the others frozen; None where a match has two teams only
    """

    most: float
    matches: int
    first: Any
    best: float
    mean: float
    kept: float | None


def losing_accounts(
    system: System, history: History, accounts: Sequence[int], match: str | None
) -> list[LosingAccounts]:
    """Return how far so many losing accounts move the entry, and how quickly that is forgotten.

    match : id of the match that they join; None takes the first one with newcomers after half of
        the rated matches
    """
    if match is None:
        at = _match_to_join(history, system.capabilities.rated(history))
    else:
        at = [str(one) for one in history.match_ids.tolist()].index(match)
    with Workers() as workers:
        before = _state_before(system, history, at, workers)
        entry = float(before.shared[ENTRY][MU])
        newcomers = _newcomers(before, history, at)
        duels = system.capabilities.max_teams == 2
        honest = _entries(system, history, at, before.copy(), workers)
        found = []
        for count in accounts:
            state = before.copy()
            state.grow(history.players + count)
            match_joined = _bare(history.slice(at, at + 1))
            if not duels:
                joined = _joined(match_joined, history.players, count)
                moved = _entries(system, history, at, state, workers, joined)
            else:
                opponent = _most_experienced(before, match_joined)
                lost = _lost_duels(match_joined, opponent, history.players, count)
                system.run(state, lost, 0, count, None, workers)
                moved = _entries(system, history, at, state, workers)
            found.append(_losing(history, at, count, entry, newcomers, honest, moved))
    return found


class _Entries(NamedTuple):
    """The entry after each match from the one that is joined on, and newcomers since then."""

    entry: Floats
    newcomers: Ints


def _entries(
    system: RatingSystem,
    history: History,
    at: int,
    state: State,
    workers: Workers,
    joined: History | None = None,
) -> _Entries:
    """Rate the matches from `at` on, the first as `joined`, and return how the entry moves."""
    entry, newcomers, so_far = [], [], 0
    for m in range(at, history.matches):
        if m > at:
            so_far += _newcomers(state, history, m)
        match = joined if joined is not None and m == at else history.slice(m, m + 1)
        if match.participations:
            system.run(state, match, 0, 1, None, workers)
        entry.append(float(state.shared[ENTRY][MU]))
        newcomers.append(so_far)
    return _Entries(np.array(entry), np.array(newcomers))


def _losing(
    history: History,
    at: int,
    count: int,
    entry: float,
    newcomers: int,
    honest: _Entries,
    moved: _Entries,
) -> LosingAccounts:
    effect = moved.entry - honest.entry
    half = _first_below(effect, abs(effect[0]) / 2)
    restored = _first_below(effect, RESTORED)
    return LosingAccounts(
        match=history.match_ids[[at]].tolist()[0],
        accounts=count,
        participants=int(history.sizes()[at]),
        newcomers=newcomers,
        entry=entry,
        honest=float(honest.entry[0]),
        moved=float(effect[0]),
        half_matches=half,
        half_newcomers=None if half is None else int(honest.newcomers[half]),
        restored_matches=restored,
        restored_newcomers=None if restored is None else int(honest.newcomers[restored]),
    )


def _first_below(effect: Floats, most: float) -> int | None:
    """Return the number of matches after which the effect stays below; None if it does not."""
    above = np.flatnonzero(np.abs(effect) > most)
    if not len(above):
        return 0
    return int(above[-1]) + 1 if above[-1] + 1 < len(effect) else None


def taking_part(system: System, history: History) -> TakingPart:
    """Return how many points an account gets by taking part."""
    rated = np.flatnonzero(system.capabilities.rated(history))
    matches = min(system.hold_level_matches, len(rated))
    with Workers() as workers:
        delta = _adjustments(system, history, rated, workers)
        sums = np.concatenate([[0.0], np.cumsum(delta)])
        windows = sums[matches:] - sums[: len(sums) - matches]
        best = int(np.argmax(windows))
        joins = rated[best : best + matches]
        kept = None
        if system.capabilities.max_teams != 2:
            kept = _kept(system, history, joins, workers)
    return TakingPart(
        most=system.hold_level_matches * system.level_step * system.usual_deviation,
        matches=matches,
        first=history.match_ids[joins[:1]].tolist()[0] if matches else None,
        best=float(windows[best]),
        mean=float(np.mean(windows)),
        kept=kept,
    )


def _adjustments(system: System, history: History, rated: Ints, workers: Workers) -> Floats:
    """Return what each rated match hands to a young player, whether there was one or not."""
    state, found = system.initial(history.players), []
    for m in rated.tolist():
        entry = system.entry_of(state)
        if entry is not None:
            found.append(level_adjustment(entry.pool, entry.holds, entry.most))
        system.run(state, history, m, m + 1, None, workers)
    return np.array(found)


def _kept(system: System, history: History, joins: Ints, workers: Workers) -> float:
    """Return by how much an account's last rating is higher for what it was given.

    It takes part in these matches and ties with the median of the others, who are frozen.
    """
    state, done = system.initial(history.players), 0
    own = [system.initial(1), system.initial(1)]
    row = np.array([0])
    for m in joins.tolist():
        for low, high in pieces(history, done, m):
            system.run(state, history, low, high, None, workers)
        done = m
        snapshot = _with_account(MatchSnapshot.of(history, m, state))
        last = snapshot.match.participations - 1
        for number in (0, 1):
            numbers = snapshot.before.shared[ENTRY].copy()
            if number:
                # Nothing is handed out where the level is on its target.
                snapshot.before.shared[ENTRY][TARGET] = numbers[LEVEL]
            own[number] = snapshot.play(system, last, own[number], snapshot.match.rank, workers)
            snapshot.before.shared[ENTRY][:] = numbers
    ratings = [float(system.at(one, row, None)["rating"][0]) for one in own]
    return ratings[0] - ratings[1]


def _with_account(snapshot: MatchSnapshot) -> MatchSnapshot:
    """Return the match with one more player, who ties with the median of the others."""
    match, before = snapshot.match, snapshot.before
    ranks = np.sort(match.rank)
    joined = _joined(_bare(match), match.players, 1, int(ranks[len(ranks) // 2]))
    players = np.arange(match.players + 1)
    before = before.take(np.arange(match.players))
    before.grow(len(players))
    if before.runs is not None:
        # The account has played in at most so many matches before; `put` makes room for those.
        before.runs.reserve(players, np.ones(len(players), np.int64))
    return MatchSnapshot(joined.with_players(players, joined.player), before)


def _match_to_join(history: History, rated: Flags) -> int:
    """Return the first match with newcomers after half of the rated matches."""
    matches = np.flatnonzero(rated)
    _, first = np.unique(history.player, return_index=True)
    has_newcomers = np.zeros(history.matches, np.bool_)
    has_newcomers[history.match_rows()[first]] = True
    later = matches[len(matches) // 2 :]
    wanted = later[has_newcomers[later]]
    return int(wanted[0] if len(wanted) else later[0])


def _state_before(system: RatingSystem, history: History, at: int, workers: Workers) -> State:
    state = system.initial(history.players)
    for low, high in pieces(history, 0, at):
        system.run(state, history, low, high, None, workers)
    return state


def _newcomers(state: State, history: History, m: int) -> int:
    """Return the number of players of a match who have neither played nor a known rating."""
    players = history.player[history.offsets[m] : history.offsets[m + 1]]
    new = (state.column("matches")[players] == 0) & (state.column(SEEDED)[players] == 0)
    return int(np.sum(new))


def _most_experienced(state: State, match: History) -> int:
    """Return the row of the match's player with most matches."""
    return int(match.player[np.argmax(state.column("matches")[match.player])])


def _bare(match: History) -> History:
    """Return a match without what the accounts do not have: statistics, roles and the like."""
    return replace(
        match, performance=None, share=None, statistics={}, attributes={}, team_labels=None
    )


def _joined(match: History, first: int, count: int, rank: int | None = None) -> History:
    """Return a match with `count` more players, each alone, rows `first` and following.

    rank : with whom they tie; None puts them last
    """
    new = np.arange(count)
    last = int(match.rank.max()) + 1
    return replace(
        match,
        offsets=np.array([0, match.participations + count]),
        player_ids=np.arange(first + count),
        player=np.concatenate([match.player, first + new]),
        team=np.concatenate([match.team, int(match.team.max()) + 1 + new]),
        rank=np.concatenate([match.rank, np.full(count, last if rank is None else rank)]),
    )


def _lost_duels(match: History, winner: int, first: int, count: int) -> History:
    """Return duels at the time of a match, which new players lose against `winner`."""

    def repeated(values: Floats | None) -> Floats | None:
        return None if values is None else np.repeat(values, count)

    return replace(
        match,
        match_ids=np.arange(count),
        player_ids=np.arange(first + count),
        offsets=2 * np.arange(count + 1),
        player=np.stack([np.full(count, winner), first + np.arange(count)], axis=1).ravel(),
        team=np.tile([0, 1], count),
        rank=np.tile([0, 1], count),
        time=None if match.time is None else np.repeat(match.time, count),
        order=None if match.order is None else np.repeat(match.order, count),
        weight=None,
        performance_ceiling=repeated(match.performance_ceiling),
        beta=repeated(match.beta),
        gamma=repeated(match.gamma),
    )


def main() -> None:
    """Audit new accounts in a history, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("history")
    parser.add_argument("--system", default="elo-mmr")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--accounts", type=int, action="append", metavar="N")
    parser.add_argument("--match", help="the match that losing accounts join")
    given = parser.parse_args()
    parameters = {"entry": "learned", "hold_level": "0.05"}
    parameters |= dict(one.split("=", 1) for one in given.set)
    system, history = make_system(given.system, parameters), read_history(given.history)
    check_fit(system, history)
    if not (system.learns_entry and system.holds_level):
        raise SystemExit("the system must learn the entry and hold the level")
    losing = losing_accounts(system, history, given.accounts or ACCOUNTS, given.match)
    for one in (*losing, taking_part(system, history)):
        print(one)


if __name__ == "__main__":
    main()
