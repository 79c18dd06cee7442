"""A pool under everything that may be done to it, in any order, beside a plain list of matches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import hypothesis.strategies as st
import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import equipoise as eq
from equipoise.errors import ConflictError, InvalidDataError
from equipoise.messages.matches import DifferenceMessage, Effect, MatchRequest, TeamRequest
from equipoise.messages.pools import InitialRating, InitialRequest, PoolChange
from equipoise.pools import amending
from equipoise.pools.initial_ratings import initial_content, initial_ratings, keep_content
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.pool.settings import change_settings, preview_settings
from equipoise.pools.reading.players import leaderboard, player_history
from equipoise.pools.replay import replaying
from equipoise.pools.replay.states import keep_checkpoints
from equipoise.pools.replay.verifying import verify_pool
from equipoise.rating.registry import make_system
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store
from equipoise.store.pools import change_pool, first_replay_with, get_pool
from pools.pool_trials import NOW, Trial

PLAYERS = ["ann", "bea", "cat", "dot", "eve"]

#: Seconds after the start of the trial; few, so that many matches share one.
TIMES = st.integers(0, 9)

#: Effects of disqualifications; None reinstates.
EFFECTS: st.SearchStrategy[Effect | None] = st.sampled_from(["without", "keep", "void", None, None])

#: Who plays whom: an order of players, and which of them share a place with the one before.
FIELDS = st.tuples(
    st.permutations(PLAYERS), st.integers(2, 4), st.lists(st.booleans(), min_size=4, max_size=4)
)


def contest(match: str, drawn: Any, time: int | None, rated: bool = True) -> MatchRequest:
    """Return a match of some players, each alone."""
    order, size, tied = drawn
    ranks = np.cumsum([0 if same else 1 for same in tied])
    teams = [TeamRequest([order[place]], int(ranks[place])) for place in range(size)]
    return MatchRequest(match=match, teams=teams, time=time, rated=rated)


@dataclass
class Known:
    """What the plain list has of a match."""

    seq: int
    posted: MatchRequest
    request: MatchRequest
    time: int
    void: bool = False


@dataclass
class Plain:
    """A log without a database: what each match says now, and who was barred when."""

    system: str
    parameters: dict[str, Any]
    matches: dict[str, Known] = field(default_factory=dict)
    turns: list[tuple[int, str, Effect | None, int | None]] = field(default_factory=list)
    seq: int = 0
    known: dict[str, float] = field(default_factory=dict)

    @property
    def last(self) -> int | None:
        """The latest time at which a match counts, or lists a player."""
        return max(
            (one.time for one in self.matches.values() if any(self.split(one))), default=None
        )

    def barred(self, player: str, seq: int, time: int) -> Effect | None:
        """Return the effect of the last word about a player that holds for a match, if it bars."""
        state: Effect | None = None
        for said, who, effect, since in self.turns:
            holds = said < seq if since is None else since <= time
            if who == player and holds:
                state = effect
        return state

    def split(self, one: Known) -> tuple[list[tuple[str, int]], list[str]]:
        """Return the players of a match who are rated, with their ranks, and those listed only."""
        if not one.request.rated or one.void:
            return [], []
        entered = [(str(team.players[0]), team.rank) for team in one.request.teams]
        barred = {who: self.barred(who, one.seq, one.time) for who, _ in entered}
        if "void" in barred.values():
            return [], [who for who, effect in barred.items() if effect is not None]
        kept = [(who, rank) for who, rank in entered if barred[who] != "without"]
        return kept, [who for who, effect in barred.items() if effect == "without"]

    def counted(self) -> list[tuple[int, int, list[tuple[str, int]]]]:
        """Return (time, seq, players with ranks) of everything that is rated, in order."""
        split = [(one.time, one.seq, self.split(one)[0]) for one in self.matches.values()]
        return sorted(one for one in split if one[2])

    def ratings(self) -> dict[str, float]:
        """Return what the library makes of it, all at once; who is only listed is a newcomer."""
        listed = {who for one in self.matches.values() for who in self.split(one)[1]}
        newcomer = make_system(self.system, self.parameters).initial(1).column("rating")[0]
        return {**dict.fromkeys(listed, newcomer), **self.known, **self.rated()}

    def rated(self) -> dict[str, float]:
        """Return the ratings of those who are rated, and of those with known ratings."""
        counted = self.counted()
        if not counted:
            return self.known
        names = sorted({who for _, _, entered in counted for who, _ in entered})
        dense = [sorted({rank for _, rank in entered}) for _, _, entered in counted]
        sizes = [len(entered) for _, _, entered in counted]
        history = eq.History(
            match_ids=np.arange(len(counted)),
            player_ids=np.array(names, dtype=object),
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            player=np.array([names.index(who) for _, _, e in counted for who, _ in e], np.int64),
            team=np.concatenate([np.arange(size) for size in sizes]).astype(np.int64),
            rank=np.array(
                [
                    ranks.index(r)
                    for ranks, (_, _, e) in zip(dense, counted, strict=True)
                    for _, r in e
                ],
                np.int64,
            ),
            time=np.array([time * 1_000_000 for time, _, _ in counted], np.int64),
        )
        initial = eq.InitialRatings(
            player_ids=np.array(list(self.known), dtype=object),
            rating=np.array(list(self.known.values()), np.float64),
            deviation=np.full(len(self.known), np.nan),
        )
        system = make_system(self.system, self.parameters)
        state = eq.replay(system, history, initial=initial).state
        numbers = system.at(state.state, np.arange(len(state.player_ids)), None)["rating"]
        # Whoever was only in matches that changed nothing has the entry of the last of them.
        unplayed = state.state.column("matches") == 0
        numbers[unplayed] = state.state.column("rating")[unplayed]
        return dict(zip(state.player_ids.tolist(), numbers.tolist(), strict=True))


class PoolMachine(RuleBasedStateMachine):
    """A pool and the plain list beside it."""

    store: Store
    system: str
    parameters: dict[str, Any]
    numbers: Iterator[int]

    @initialize(late=st.sampled_from(["replay", "replay", "append", "reject"]))
    def begin(self, late: str) -> None:
        """Make a new pool with tiny checkpoints."""
        name = f"trial{next(self.numbers)}"
        self.late = late
        settings = {"system": self.system, "parameters": self.parameters}
        self.pool = Trial(self.store, name, late=late, **settings)
        self.plain = Plain(**settings)

    # What is posted and amended.

    @rule(known=st.dictionaries(st.sampled_from(PLAYERS), st.integers(1000, 2000)))
    def begin_with(self, known: dict[str, int]) -> None:
        """Set known ratings: refused after the first match, unless they are those already set."""
        wanted = {player: float(known[player]) for player in sorted(known)}
        ratings = [InitialRating(player, rating) for player, rating in wanted.items()]
        content, plain = initial_content(InitialRequest(ratings=ratings)), self.plain
        given = (self.store, self.pool.name, content)
        before = initial_ratings(self.store, self.pool.name).summary
        if before.seq is not None and wanted == plain.known:
            assert keep_content(*given, key=None, now=NOW) == before
        elif plain.matches:
            with pytest.raises(ConflictError):
                keep_content(*given, key=None, now=NOW)
        else:
            plain.seq, plain.known = plain.seq + 1, wanted
            assert keep_content(*given, key=None, now=NOW).seq == plain.seq

    @rule(drawn=FIELDS, time=TIMES, rated=st.sampled_from([True, True, True, False]))
    def post(self, drawn: Any, time: int, rated: bool) -> None:
        """Post a match, perhaps a late one."""
        plain = self.plain
        match = f"m{plain.seq + 1}"
        request = contest(match, drawn, time, rated)
        late = plain.last is not None and time < plain.last
        if late and self.late == "reject":
            assert isinstance(self.pool.answer(request), InvalidDataError)
            return
        _, rated_to = self._times()
        (seen,) = self.pool.post(request)
        counts_at = plain.last if late and self.late == "append" else time
        assert counts_at is not None
        plain.seq += 1
        assert seen.seq == plain.seq
        # Matches before those that are void now, and still in the ratings, wait for a replay.
        waits = rated and rated_to is not None and counts_at < rated_to
        assert waits or not (late and self.late == "replay" and rated)
        assert seen.status == ("pending" if waits else "rated" if rated else "unrated")
        plain.matches[match] = Known(plain.seq, request, request, counts_at)

    @precondition(lambda self: self.plain.matches)
    @rule(data=st.data())
    def post_again(self, data: st.DataObject) -> None:
        """Post what is there: nothing changes. Post it otherwise: it is refused."""
        known = data.draw(st.sampled_from(list(self.plain.matches.values())))
        before = pool_message(self.store, self.pool.name)
        (seen,) = self.pool.post(known.posted)
        assert seen.seq == known.seq
        other = MatchRequest(
            match=known.posted.match,
            teams=known.posted.teams,
            time=known.posted.time,
            weight=2.0,
        )
        assert isinstance(self.pool.answer(other), ConflictError)
        assert pool_message(self.store, self.pool.name) == before

    @precondition(lambda self: self.plain.matches)
    @rule(data=st.data(), asked_before=st.booleans())
    def void_or_restore(self, data: st.DataObject, asked_before: bool) -> None:
        """Void a match, or restore it if it is void; the other is refused."""
        match = data.draw(st.sampled_from(sorted(self.plain.matches)))
        known = self.plain.matches[match]
        do, other = (
            (self.pool.restore, self.pool.void)
            if known.void
            else (self.pool.void, self.pool.restore)
        )
        with pytest.raises(ConflictError):
            other(match)
        foreseen = do(match, preview=True) if asked_before else None
        assert do(match).seq == self.plain.seq + 1
        self.plain.seq += 1
        known.void = not known.void
        if foreseen is not None:
            self._came_as(foreseen)

    @precondition(lambda self: self.plain.matches)
    @rule(
        data=st.data(),
        drawn=FIELDS,
        time=st.none() | TIMES,
        rated=st.sampled_from([True, True, False]),
        asked_before=st.booleans(),
    )
    def correct(
        self, data: st.DataObject, drawn: Any, time: int | None, rated: bool, asked_before: bool
    ) -> None:
        """Correct a match, perhaps its time too."""
        match = data.draw(st.sampled_from(sorted(self.plain.matches)))
        known = self.plain.matches[match]
        request = contest(match, drawn, time, rated)
        foreseen = self.pool.correct(request, preview=True) if asked_before else None
        self.pool.correct(request)
        self.plain.seq += 1
        known.request = request
        known.time = known.time if time is None else time
        if foreseen is not None:
            self._came_as(foreseen)

    @rule(player=st.sampled_from(PLAYERS), since=st.none() | TIMES, effect=EFFECTS)
    def bar(self, player: str, since: int | None, effect: Effect | None) -> None:
        """Disqualify a player with an effect, or reinstate the player."""
        how = self.pool.reinstate
        if effect is not None:
            how = partial(self.pool.disqualify, effect=effect)
        barred_now = next((t[2] for t in reversed(self.plain.turns) if t[1] == player), None)
        if since is None and (barred_now is None) == (effect is None):
            with pytest.raises(ConflictError):
                how(player)
            return
        how(player, since)
        self.plain.seq += 1
        self.plain.turns.append((self.plain.seq, player, effect, since))

    @precondition(lambda self: self.parameters)
    @rule(entry=st.sampled_from(["fixed", "learned"]), held=st.sampled_from([0.0, 0.5]))
    def change_entry(self, entry: str, held: float) -> None:
        """Turn the learned entry and the held level on or off, after a look at what that does."""
        wanted = {**self.plain.parameters, "entry": entry, "hold_level": held}
        request = PoolChange(parameters={"entry": entry, "hold_level": held})
        foreseen = preview_settings(self.store, self.pool.name, request, NOW)
        before = pool_message(self.store, self.pool.name)
        after = change_settings(self.store, self.pool.name, request, NOW)
        if wanted == self.plain.parameters:
            assert after == before
            return
        assert after.pending
        assert after.parameters == before.parameters
        self.plain.seq += 1
        self.plain.parameters = wanted
        self._came_as(foreseen)

    # What is done in the background.

    @rule()
    def replay(self) -> None:
        """Replay, and see that what is told of it is what happened."""
        before, generation = self.pool.ratings(), self._generation()
        if not self.pool.replay():
            assert self.pool.ratings() == before
            return
        after = self.pool.ratings()
        assert self._generation() > generation
        with self.store.read() as connection:
            record = get_pool(connection, self.pool.name)
            last = first_replay_with(connection, record.id, self.plain.seq)
        if last is not None and last.generation == record.generation:
            found = msgspec.json.decode(last.difference, type=DifferenceMessage)
            assert self._told(found) == self._changed(before, after)
            assert found.changed == len(found.players)

    @rule(steps=st.integers(0, 8))
    def replay_half(self, steps: int) -> None:
        """Stop a replay on the way; readers see what they saw."""
        before, left = self.pool.ratings(), [steps]

        def stop() -> bool:
            left[0] -= 1
            assert self.pool.ratings() == before
            return left[0] < 0

        if not self.pool.replay(stop=stop):
            assert self.pool.ratings() == before

    @precondition(lambda self: self._pending())
    @rule(steps=st.integers(0, 6), abandoned=st.booleans())
    def replay_taken_over(self, steps: int, abandoned: bool) -> None:
        """Let somebody else take a replay over whose owner was silent for too long.

        abandoned : that one, too, stops on the way
        """
        left = [steps]

        def stop() -> bool:
            left[0] -= 1
            if left[0] == -1:
                with self.store.write() as connection:
                    record = get_pool(connection, self.pool.name, lock=True)
                    change_pool(connection, record.id, replay_until=0)
                further = [3]

                def stop_too() -> bool:
                    further[0] -= 1
                    return abandoned and further[0] < 0

                self.pool.replay(owner="another", stop=stop_too)
            return False

        with contextlib.suppress(ConflictError):
            self.pool.replay(stop=stop)

    @precondition(lambda self: self._pending())
    @rule(data=st.data(), steps=st.integers(0, 6))
    def post_into_a_replay(self, data: st.DataObject, steps: int) -> None:
        """Post and amend while a replay is under way."""
        left = [steps]
        doing: list[Callable[[], None]] = [
            lambda: self.post(data.draw(FIELDS), data.draw(TIMES), True),
            lambda: self.correct(data, data.draw(FIELDS), data.draw(TIMES), True, False),
            lambda: self.void_or_restore(data, False),
            lambda: self.bar("ann", data.draw(st.none() | TIMES), data.draw(EFFECTS)),
            lambda: replaying.rerate(self.store, self.pool.name),
        ]
        if self.parameters:
            held = data.draw(st.sampled_from([0.0, 0.25, 0.5]))
            request = PoolChange(parameters={"hold_level": held})
            doing.append(lambda: self._hold(request, held))
        what = data.draw(st.lists(st.sampled_from(doing), min_size=1, max_size=2))

        def stop() -> bool:
            left[0] -= 1
            if left[0] == -1 and self.plain.matches:
                for one in what:
                    one()
            return False

        self.pool.replay(stop=stop)

    @rule()
    def rerate(self) -> None:
        """Ask for all of it anew."""
        replaying.rerate(self.store, self.pool.name)

    @rule(steps=st.integers(0, 3))
    def clear_out(self, steps: int) -> None:
        """Delete what nobody sees, perhaps not all of it."""
        left = [steps]

        def stop() -> bool:
            left[0] -= 1
            return left[0] < 0

        replaying.collect_garbage(self.store, self.pool.name, stop=stop)

    @rule()
    def keep(self) -> None:
        """Keep a checkpoint, if one is due."""
        keep_checkpoints(self.store, self.pool.name)

    # What holds throughout.

    @invariant()
    def is_sound(self) -> None:
        """See that the log gives what readers see, replayed or not yet."""
        found = verify_pool(self.store, self.pool.name)
        assert found.identical, found.differences

    @invariant()
    def has_the_last_time(self) -> None:
        """See that the last time is that of the latest match that counts."""
        last, rated_to = self._times()
        assert last == self.plain.last
        if not self._pending():
            assert rated_to == last

    @invariant()
    def is_what_the_library_makes_of_it(self) -> None:
        """See that nothing is missing once nothing waits."""
        if not self._pending():
            assert self.pool.ratings() == self.plain.ratings()

    @invariant()
    def pages_add_up(self) -> None:
        """See that pages list every player once, best first, and histories every match.

        Those who are disqualified come after all others.
        """
        rows, cursor = [], None
        while True:
            page = leaderboard(self.store, self.pool.name, cursor=cursor, limit=2)
            rows += page.players
            cursor = page.next
            if cursor is None:
                break
        shown = [(row.disqualified, -row.rating, row.player) for row in rows]
        assert shown == sorted(shown)
        assert len({row.player for row in rows}) == len(rows)
        for row in rows:
            history = player_history(self.store, self.pool.name, row.player, limit=1000).matches
            assert all(
                one.rating_before + one.change == pytest.approx(one.rating) for one in history
            )
            ratings = [one.rating for one in history]
            befores = [one.rating_before for one in history]
            assert ratings[1:] == befores[:-1]
            assert not ratings or ratings[0] == row.rating

    def teardown(self) -> None:
        """Replay what waits, and see that all of it counts."""
        if not hasattr(self, "pool"):
            return
        with self.store.write() as connection:
            record = get_pool(connection, self.pool.name, lock=True)
            change_pool(connection, record.id, replay_until=None)
        self.pool.settle()
        self.is_sound()
        assert self.pool.ratings() == self.plain.ratings()

    def _hold(self, request: PoolChange, held: float) -> None:
        """Change how much of the level is held."""
        change_settings(self.store, self.pool.name, request, NOW)
        if self.plain.parameters["hold_level"] != held:
            self.plain.seq += 1
            self.plain.parameters = {**self.plain.parameters, "hold_level": held}

    def _pending(self) -> bool:
        return pool_message(self.store, self.pool.name).pending

    def _times(self) -> tuple[int | None, int | None]:
        """Return the last time of the pool and that of its ratings, in seconds."""
        with self.store.read() as connection:
            record = get_pool(connection, self.pool.name)
        times = [record.last_time, record.rated_to]
        last, rated_to = [None if one is None else one // 1_000_000 for one in times]
        return last, rated_to

    def _generation(self) -> int:
        return pool_message(self.store, self.pool.name).generation

    def _changed(
        self, before: dict[str, float], after: dict[str, float]
    ) -> dict[str, tuple[float | None, float | None]]:
        """Return whose rating differs, as it was and as it is."""
        return {
            player: (before.get(player), after.get(player))
            for player in {**before, **after}
            if before.get(player) != after.get(player)
        }

    def _told(self, difference: DifferenceMessage) -> dict[str, tuple[float | None, float | None]]:
        """Return whose rating is said to differ; of others only the deviation may."""
        return {
            one.player: (one.rating_before, one.rating)
            for one in difference.players
            if one.rating_before != one.rating
        }

    def _came_as(self, foreseen: Any) -> None:
        """See that a replay changes what was foreseen."""
        with self.store.read() as connection:
            until = get_pool(connection, self.pool.name).replay_until
        before, pending = self.pool.ratings(), self._pending()
        if until is not None or not self.pool.replay():
            assert pending or foreseen.difference.changed == 0
            return
        if amending.amendment(self.store, self.pool.name, self.plain.seq).difference.matches == 0:
            # It changes nothing by itself, and what waited before was not asked for.
            return
        after = self.pool.ratings()
        assert self._told(foreseen.difference) == self._changed(before, after)
        found = amending.amendment(self.store, self.pool.name, self.plain.seq)
        assert found.status == "done"
        if found.difference is not None and found.difference.matches:
            assert found.difference == foreseen.difference


#: Newcomers move the entry quickly, and two matches make a player experienced.
ENTRY = {
    "entry": "learned",
    "entry_half_life": 5.0,
    "entry_weight": 1.0,
    "hold_level": 0.5,
    "hold_level_matches": 3,
    "level_experienced": 2,
    "level_memory": 10.0,
}


@pytest.mark.parametrize("parameters", [{}, ENTRY], ids=["fixed", "learned"])
def test_a_pool_is_what_its_log_says(store: Store, parameters: dict[str, Any]) -> None:
    """Whatever was posted, amended, replayed, given up, taken over or cleared out, in any order."""
    sizes = Sizes(matches=3, checkpoint_interval=5, checkpoints=4, rows=3, players_left=2)
    names = iter(range(1_000_000))

    class Machine(PoolMachine):
        pass

    # One that remembers performances, and one whose ratings are all that it knows.
    Machine.system = "elo-mmr" if store.is_sqlite else "elo"
    Machine.parameters = parameters
    Machine.store, Machine.numbers = Store(store.engine, sizes), names
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


#: Enough to meet every rule, few enough for a loaded machine; raise them to look for more.
EXAMPLES, STEPS = 4, 25
