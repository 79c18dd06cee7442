"""Whether a player would have ended higher by doing worse.

Source: [EM]_ section 5.1, READINGS B13. In a system with aligned incentives (Theorem 5.5) no worse
place in any match raises a later rating, the others' ratings before each match and their order held
fixed. Systems that count how much a player's results vary can be exploited: results that vary on
purpose make later changes larger.

The last matches of a player are gone through with worse places instead, never better ones; a search
looks for those after which the last rating is highest. In a match of teams it is the place of the
player's whole team, whose members all but the player are put back like opponents.

Whose incentives are looked at, and in which matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from equipoise.arguments import check_fields, checks_arguments
from equipoise.arrays import Flags, Ints
from equipoise.data.audits import Incentive, Others
from equipoise.data.history import History
from equipoise.errors import NotFoundError, require
from equipoise.evaluate.incentives.courses import (
    Course,
    Entered,
    FrozenCourse,
    Plan,
    ReplayedCourse,
    Walk,
    walk,
)
from equipoise.evaluate.incentives.search import Search, honest, last_places, search
from equipoise.numeric.workers import Workers
from equipoise.rating.replay import check_fit
from equipoise.rating.system import Capabilities, RatingSystem

#: Players looked at where none are named; half of them the most active ones.
PLAYERS = 4
#: Rated matches of a player of medium activity, at least, where there are such players.
_MEDIUM = 10


def rated_matches(history: History, capabilities: Capabilities) -> Flags:
    """Return which matches change ratings, shape (M,)."""
    teams = history.teams()
    rated: Flags = teams > 1
    if capabilities.skips_all_tied:
        rated &= (teams == 2) | (history.distinct_ranks() > 1)
    return rated


def activity_of(history: History, rated: Flags) -> Ints:
    """Return the number of rated matches of every player, shape (P,)."""
    return np.bincount(history.player[rated[history.match_rows()]], minlength=history.players)


def sample(activity: Ints, count: int = PLAYERS) -> list[int]:
    """Return some players: half of them the most active, the others spread over those after them.

    activity : shape (P,), rated matches of every player
    Players with fewer than 10 are left out where there are enough of the others.
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


def entered_matches(history: History, rated: Flags, row: int, matches: int) -> Entered:
    """Return the last rated matches of a player. Raises : NotFoundError where there are none."""
    at = np.flatnonzero(history.player == row)
    match = history.match_rows()[at]
    at, match = at[rated[match]], match[rated[match]]
    if not len(at):
        raise NotFoundError(f"{history.player_ids[row]} has no match that changes ratings")
    at, match = at[-matches:], match[-matches:]
    return Entered(row, match, at - history.offsets[match])


#: Last matches of a player that are considered.
MATCHES = 40
#: Plans tried for a player while the others are frozen, and with everything replayed.
BUDGET, REPLAYS = 500, 20
#: Participations whose states are kept at a time, of elo-mmr about a kilobyte each.
_KEPT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How far an audit looks; all at least 1.

    matches : last rated matches of a player in which places may be worse
    budget : plans tried for a player while the others are frozen
    replays : plans tried for a player with everything replayed
    """

    matches: int = MATCHES
    budget: int = BUDGET
    replays: int = REPLAYS

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        for name in ("matches", "budget", "replays"):
            require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))


@checks_arguments()
def incentives(
    system: RatingSystem,
    history: History,
    players: Sequence[object] | None = None,
    *,
    others: Others = "frozen",
    effort: Effort | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Incentive]:
    """Return for each player the best plan that a search finds, players in the order named.

    What a plan gains is there to be had; finding none is no proof that there is none.

    players : ids; None takes the two most active and two of medium activity
    others : "frozen", as Theorem 5.5 of [EM]_ has it, or "replayed": the plans that are best while
        the others are frozen, and plans near them, are judged by rating everything anew
    seed : of the random plans among those that are tried
    threads : to use for large matches; never changes a number
    progress : called with (plans tried, plans in all)
    Raises : NotFoundError for a player whom the history does not know or the system never rates,
        InvalidDataError where the system cannot rate this history, ConvergenceError
    """
    effort = effort or Effort()
    check_fit(system, history)
    rated = rated_matches(history, system.capabilities)
    rows = _rows(history, rated, players)
    entered = [entered_matches(history, rated, row, effort.matches) for row in rows]
    each = effort.budget + (effort.replays if others == "replayed" else 0)
    found: list[Incentive] = []

    def note(tried: int) -> None:
        if progress is not None:
            progress(len(found) * each + tried, len(rows) * each)

    activity = activity_of(history, rated)
    with Workers(threads) as workers:
        audit = _Audit(system, history, others, effort, seed, workers, note)
        for batch in _batches(history, entered):
            fields = {int(match) for one in batch for match in one.match}
            begins = {int(one.match[0]) for one in batch} if others == "replayed" else set()
            walked = walk(system, history, fields, begins, workers)
            for one in batch:
                found.append(audit.of(one, walked, int(activity[one.player])))
    if progress is not None:
        progress(len(rows) * each, len(rows) * each)
    return found


def throwing(
    system: RatingSystem,
    history: History,
    player: object,
    thrown: Sequence[object],
    *,
    others: Others = "frozen",
    threads: int = 1,
) -> Incentive:
    """Return what coming in last in some matches would have done to a player; it may well cost.

    thrown : ids of rated matches of the player; those from the first of them on are considered
    Raises : as `incentives`, and NotFoundError for matches that are none of the player's rated ones
    """
    check_fit(system, history)
    rated = rated_matches(history, system.capabilities)
    entered = entered_matches(history, rated, history.player_row(player), history.matches)
    ids = [str(match) for match in history.match_ids[entered.match].tolist()]
    wanted = {str(match) for match in thrown}
    if not wanted or wanted - set(ids):
        missing = ", ".join(sorted(wanted - set(ids))) or "none"
        raise NotFoundError(f"{player} has no rated match {missing}")
    first = next(n for n, match in enumerate(ids) if match in wanted)
    later = Entered(entered.player, entered.match[first:], entered.row[first:])
    with Workers(threads) as workers:
        audit = _Audit(system, history, others, Effort(), 0, workers, lambda tried: None)
        begins = {int(later.match[0])} if others == "replayed" else set()
        walked = walk(system, history, set(later.match.tolist()), begins, workers)
        return audit.judged(later, walked, [match in wanted for match in ids[first:]], len(ids))


class _Audit:
    """What is looked for, the same for all players."""

    def __init__(
        self,
        system: RatingSystem,
        history: History,
        others: Others,
        effort: Effort,
        seed: int,
        workers: Workers,
        note: Callable[[int], None],
    ) -> None:
        self._system, self._history, self._others = system, history, others
        self._effort, self._seed, self._workers, self._note = effort, seed, workers, note

    def of(self, entered: Entered, walked: Walk, played: int) -> Incentive:
        """Return the best plan found for a player."""
        frozen = self._frozen(entered, walked)
        rng = np.random.default_rng([self._seed, entered.player])
        found = search(frozen, self._effort.budget, rng=rng, note=self._note)
        gain = found.finals[found.gaining()] - found.finals[honest(frozen)]
        course: Course = frozen
        if self._others == "replayed":
            course = self._replayed(entered, walked, frozen)
            tried = len(found.finals)
            found = search(
                course,
                self._effort.replays,
                rng=rng,
                first=_worth_replaying(found, frozen, -(-self._effort.replays // 4)),
                note=lambda replayed: self._note(tried + replayed),
            )
        return self._incentive(entered, frozen, course, found, found.gaining(), gain, played)

    def judged(
        self, entered: Entered, walked: Walk, thrown: Sequence[bool], played: int
    ) -> Incentive:
        """Return what throwing these matches does, the others being honest."""
        frozen = self._frozen(entered, walked)
        most = last_places(frozen)
        plan = tuple(last if bad else 0 for last, bad in zip(most, thrown, strict=True))
        alone = Search(frozen, budget=2)
        gain = alone.final(plan) - alone.final(honest(frozen))
        course: Course = frozen
        if self._others == "replayed":
            course = self._replayed(entered, walked, frozen)
        found = Search(course, budget=2)
        found.final(plan)
        return self._incentive(entered, frozen, course, found, plan, gain, played)

    def _frozen(self, entered: Entered, walked: Walk) -> FrozenCourse:
        fields = [walked.fields[match] for match in entered.match.tolist()]
        return FrozenCourse(self._system, entered, fields, self._workers)

    def _replayed(self, entered: Entered, walked: Walk, frozen: FrozenCourse) -> ReplayedCourse:
        start = walked.states[int(entered.match[0])]
        return ReplayedCourse(
            self._system, self._history, entered, start, frozen.placements, self._workers
        )

    def _incentive(
        self,
        entered: Entered,
        frozen: FrozenCourse,
        course: Course,
        found: Search,
        plan: Plan,
        gain_frozen: float,
        played: int,
    ) -> Incentive:
        history, places = self._history, frozen.placements
        times = history.table_times()
        return Incentive(
            system=self._system.name,
            player=history.player_ids[[entered.player]].tolist()[0],
            others=self._others,
            played=played,
            match_ids=history.match_ids[entered.match],
            times=None if times is None else times[entered.match],
            teams=history.teams()[entered.match],
            place=np.array([one.place[0] for one in places]),
            tied=np.array([one.tied[0] for one in places]),
            planned_place=_taken([one.place for one in places], plan),
            planned_tied=_taken([one.tied for one in places], plan),
            before=course.before,
            honest=course.ratings(honest(course)),
            planned=course.ratings(plan),
            gain_frozen=gain_frozen,
            plans=len(found.finals),
            failed=found.failed,
            complete=found.complete,
        )


def _worth_replaying(found: Search, course: Course, count: int) -> list[Plan]:
    """Return `count` of the best plans, by turns with as many that throw a single match.

    What a single match moves of the others' ratings is easily lost among many.
    """
    least, most = honest(course), last_places(course)
    single = [(*least[:n], last, *least[n + 1 :]) for n, last in enumerate(most) if last]
    spread = np.linspace(0, len(single) - 1, min(count, len(single))).round().astype(np.int64)
    best = found.best(count)
    by_turns = zip_longest(best, [single[n] for n in spread.tolist()])
    return list(dict.fromkeys(plan for pair in by_turns for plan in pair if plan is not None))


def _taken(options: Sequence[Ints], plan: Plan) -> Ints:
    """Return what a plan takes of every match."""
    return np.array([one[option] for one, option in zip(options, plan, strict=True)])


def _rows(history: History, rated: Flags, players: Sequence[object] | None) -> list[int]:
    """Return the rows of the players to look at, each once. Raises : NotFoundError."""
    if players is not None:
        return list(dict.fromkeys(history.player_row(player) for player in players))
    return sample(activity_of(history, rated))


def _batches(history: History, entered: Sequence[Entered]) -> Iterator[list[Entered]]:
    """Yield players together as long as the states of their matches fit into memory."""
    sizes, matches = history.sizes(), set[int]()
    batch: list[Entered] = []
    for one in entered:
        more = matches | set(one.match.tolist())
        if batch and sum(int(sizes[match]) for match in more) > _KEPT:
            yield batch
            batch, more = [], set(one.match.tolist())
        batch.append(one)
        matches = more
    if batch:
        yield batch
