"""Incentive audit: whether a player would have ended higher by doing worse.

Source: [EM]_ section 5.1, READINGS B13. In a system with aligned incentives (Theorem 5.5) no worse
place in any match raises a later rating, as long as the others' ratings before each match and their
order stay the same. Systems that measure how much a player's results vary can be exploited: results
that vary on purpose make later changes larger.

The audit replaces places in the last matches of a player by worse ones, never by better ones, and
searches for the plan with the highest last rating. In a match of teams the place is that of the
player's team, and all other members of the team keep their states like opponents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from equipoise.arguments import check_fields, checks_arguments
from equipoise.arrays import Flags, Ints
from equipoise.data.audits import Incentive
from equipoise.data.history import History
from equipoise.errors import NotFoundError, require
from equipoise.evaluate.incentive_plans import (
    FrozenRater,
    MatchSnapshot,
    Plan,
    PlayerMatches,
    Search,
    honest,
    last_places,
    replay_honestly,
    search,
)
from equipoise.numeric.workers import Workers
from equipoise.parallel.tasks import run_tasks
from equipoise.rating.replay import check_fit
from equipoise.rating.system import RatingSystem

#: Number of players to audit if none are named; half of them are the most active ones.
PLAYERS = 4
#: Fewest rated matches of a player of medium activity, if there are such players.
_MEDIUM = 10


def activity_of(history: History, rated: Flags) -> Ints:
    """Return the number of rated matches of every player, shape (P,)."""
    return np.bincount(history.player[rated[history.match_rows()]], minlength=history.players)


def sample(activity: Ints, count: int = PLAYERS) -> list[int]:
    """Return a sample of players: half the most active, the others spread over the rest.

    Players with fewer than 10 rated matches are left out if there are enough others.

    activity : shape (P,), number of rated matches of every player
    """
    order = np.argsort(-activity, kind="stable")
    order = order[activity[order] > 0]
    busy = order[activity[order] >= _MEDIUM]
    order = busy if len(busy) >= count else order
    most = order[: (count + 1) // 2]
    rest = order[len(most) :]
    wanted = min(count - len(most), len(rest))
    # The middles of equal parts.
    spread = ((np.arange(wanted) + 0.5) * len(rest) / max(wanted, 1)).astype(np.int64)
    return [*most.tolist(), *rest[spread].tolist()]


def entered_matches(history: History, rated: Flags, row: int, matches: int) -> PlayerMatches:
    """Return the last rated matches of a player. Raises : NotFoundError without any."""
    at = np.flatnonzero(history.player == row)
    match = history.match_rows()[at]
    at, match = at[rated[match]], match[rated[match]]
    if not len(at):
        raise NotFoundError(f"{history.player_ids[row]} has no match that changes ratings")
    at, match = at[-matches:], match[-matches:]
    return PlayerMatches(row, match, at - history.offsets[match])


#: Number of last matches of a player that are considered.
MATCHES = 40
#: Number of plans to try for a player.
BUDGET = 500
#: Participations whose states are kept at a time; for elo-mmr about a kilobyte each.
_KEPT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Limits of an audit; all at least 1.

    matches : number of last rated matches of a player in which places may be worse
    budget : number of plans to try for a player

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> effort = eq.Effort(matches=5, budget=20)
    >>> found = eq.incentives(eq.Elo(), history, ["cedar-bear"], effort=effort)
    >>> found[0].plans <= 20
    True
    """

    matches: int = MATCHES
    budget: int = BUDGET

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        for name in ("matches", "budget"):
            require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))


@checks_arguments()
def incentives(
    system: RatingSystem,
    history: History,
    players: Sequence[object] | None = None,
    *,
    effort: Effort | None = None,
    seed: int = 0,
    threads: int = 1,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Incentive]:
    """Return for each player the best plan that a search finds, players in the order named.

    A gain that is found is real. If no plan gains, that does not prove that none exists.

    players : ids; None takes the two most active and two of medium activity
    seed : random seed of the search
    threads : to use for large matches, with one worker; never changes a number
    workers : number of processes, each for one player at a time; never changes a number. With more
        than one, a script must be importable (`if __name__ == "__main__"`)
    executor : audits the players instead; never changes a number
    progress : called with (plans tried, total)
    Raises : NotFoundError for a player who is not in the history or whom the system never rates,
        InvalidDataError if the system cannot rate this history, ConvergenceError

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> found = eq.incentives(eq.Elo(), history, ["cedar-bear"])
    >>> found[0].gain
    0.0
    """
    effort = effort or Effort()
    check_fit(system, history)
    rated = system.capabilities.rated(history)
    activity = activity_of(history, rated)
    rows = sample(activity)
    if players is not None:
        rows = list(dict.fromkeys(history.player_row(player) for player in players))
    considered = [entered_matches(history, rated, row, effort.matches) for row in rows]
    require(workers >= 1, "workers", "at least 1", workers)
    budget = effort.budget
    audit = _Audit(system, history, activity, effort, seed)

    def note(done: int, tried: int = 0) -> None:
        if progress is not None:
            progress(done * budget + tried, len(rows) * budget)

    if not considered or (executor is None and workers == 1):
        incentives = audit.here(considered, threads, note)
    else:
        # Every player costs a replay of the history; in this process all of them share one.
        soonest = min(considered, key=lambda place: int(place.match[0]))
        incentives = list(
            run_tasks(
                _audited,
                audit,
                considered,
                executor=executor,
                workers=min(workers, len(considered)),
                names=lambda place: str(history.player_ids[place.player]),
                prepare=partial(_compile, soonest),
                finished=note,
            )
        )
    note(len(rows))
    return incentives


@dataclass(frozen=True, slots=True, eq=False)
class _Audit:
    """What the audits of all players have in common.

    activity : shape (P,), number of rated matches of every player
    """

    system: RatingSystem
    history: History
    activity: Ints
    effort: Effort = field(default_factory=Effort)
    seed: int = 0

    def here(
        self, considered: Sequence[PlayerMatches], threads: int, note: Callable[[int, int], object]
    ) -> list[Incentive]:
        """Return the best plans of these players.

        note : called with the numbers of players done, and of plans tried for the next one
        """
        results: list[Incentive] = []
        with Workers(threads) as workers:
            for batch in _batches(self.history, considered):
                matches = {int(match) for place in batch for match in place.match}
                snapshots = replay_honestly(self.system, self.history, matches, workers)
                for place in batch:
                    rater = self.rater(place, snapshots, workers)
                    rng = np.random.default_rng([self.seed, place.player])
                    noted = partial(note, len(results))
                    result = search(rater, self.effort.budget, rng=rng, note=noted)
                    results.append(self.incentive(place, rater, result, result.gaining()))
        return results

    def rater(
        self,
        considered: PlayerMatches,
        snapshots: Mapping[int, MatchSnapshot],
        workers: Workers,
    ) -> FrozenRater:
        """Return what rates plans of a player."""
        of_player = [snapshots[match] for match in considered.match.tolist()]
        return FrozenRater(self.system, considered, of_player, workers)

    def incentive(
        self, considered: PlayerMatches, rater: FrozenRater, result: Search, plan: Plan
    ) -> Incentive:
        """Return the result of a plan."""
        history, places = self.history, rater.placements
        times = history.table_times()
        # The place and the ties of the actual result, and of the option that the plan takes.
        place, tied, planned_place, planned_tied = np.array(
            [
                (place.place[0], place.tied[0], place.place[option], place.tied[option])
                for place, option in zip(places, plan, strict=True)
            ]
        ).T.copy()
        return Incentive(
            system=self.system.name,
            player=history.player_ids[[considered.player]].tolist()[0],
            played=int(self.activity[considered.player]),
            match_ids=history.match_ids[considered.match],
            times=None if times is None else times[considered.match],
            teams=history.teams()[considered.match],
            place=place,
            tied=tied,
            planned_place=planned_place,
            planned_tied=planned_tied,
            before=rater.before,
            honest=rater.ratings(honest(rater)),
            planned=rater.ratings(plan),
            plans=len(result.finals),
            failed=result.failed,
            complete=result.complete,
        )


def _audited(audit: _Audit, considered: PlayerMatches) -> Incentive:
    """Return the best plan of a player."""
    (incentive,) = audit.here([considered], 1, lambda done, tried: None)
    return incentive


def _compile(considered: PlayerMatches, audit: _Audit) -> None:
    """Compile the kernels, by the least audit of one match."""
    least = replace(audit, effort=Effort(matches=1, budget=2))
    player, match, row = considered
    _audited(least, PlayerMatches(player, match[:1], row[:1]))


def throwing(
    system: RatingSystem,
    history: History,
    player: object,
    thrown: Sequence[object],
    *,
    threads: int = 1,
) -> Incentive:
    """Return the effect of coming in last in some matches; which may be a loss.

    thrown : ids of rated matches of the player; matches from the first of them on are considered
    Raises : as `incentives`, and NotFoundError for ids that are not rated matches of the player
    """
    check_fit(system, history)
    rated = system.capabilities.rated(history)
    considered = entered_matches(history, rated, history.player_row(player), history.matches)
    ids = [str(match) for match in history.match_ids[considered.match].tolist()]
    wanted = {str(match) for match in thrown}
    if not wanted or wanted - set(ids):
        missing = ", ".join(sorted(wanted - set(ids))) or "none"
        raise NotFoundError(f"{player} has no rated match {missing}")
    first = next(n for n, match in enumerate(ids) if match in wanted)
    later = PlayerMatches(considered.player, considered.match[first:], considered.row[first:])
    bad = [match in wanted for match in ids[first:]]
    audit = _Audit(system, history, activity_of(history, rated))
    with Workers(threads) as workers:
        snapshots = replay_honestly(system, history, set(later.match.tolist()), workers)
        rater = audit.rater(later, snapshots, workers)
        plan = tuple(
            last if is_bad else 0 for last, is_bad in zip(last_places(rater), bad, strict=True)
        )
        result = Search(rater, budget=2)
        result.final(plan)
        return audit.incentive(later, rater, result, plan)


def _batches(
    history: History, considered: Sequence[PlayerMatches]
) -> Iterator[list[PlayerMatches]]:
    """Yield groups of players; the states of the matches of a group fit into memory."""
    sizes, matches = history.sizes(), set[int]()
    batch: list[PlayerMatches] = []
    for place in considered:
        more = matches | set(place.match.tolist())
        if batch and sum(int(sizes[match]) for match in more) > _KEPT:
            yield batch
            batch, more = [], set(place.match.tolist())
        batch.append(place)
        matches = more
    if batch:
        yield batch
