"""Writers, readers and a replay at once: nobody fails, and nothing is lost."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

from equipoise.errors import EquipoiseError
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.pools import create_pool, pool_message
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.reading.matches import match
from equipoise.pools.reading.players import leaderboard, player, player_history
from equipoise.pools.replay import replaying
from equipoise.pools.replay.states import keep_checkpoints
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial, duel, rated_alone

#: For every system, or with processes that are killed: long, and rarely the first to fail.
pytestmark = pytest.mark.slow

PLAYERS = [f"p{number}" for number in range(8)]


def together(*jobs: Callable[[], None]) -> None:
    """Run jobs in threads of their own; the first failure of any fails the test."""
    failures: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001 (told by the thread that waits)
            failures.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_writers_readers_and_replays_go_on_beside_one_another(store: Store) -> None:
    """Each read is of one generation; in the end the log gives what is stored."""
    sizes = Sizes(matches=20, checkpoint_interval=40, rows=15, players_left=5)
    store = Store(store.engine, sizes)
    pool = Trial(store, late="replay")
    start = [duel(f"s{n}", *random.Random(n).sample(PLAYERS, 2), n) for n in range(60)]
    pool.post(*start)
    ended = threading.Event()

    def writer(name: str) -> Callable[[], None]:
        def write() -> None:
            drawn = random.Random(name)
            for number in range(20):
                two = drawn.sample(PLAYERS, 2)
                late = number % 7 == 3
                one = duel(f"{name}-{number}", *two, 5 if late else 100 + number)
                (answer,) = post_matches(store, pool.name, [Post([one])], NOW)
                assert not isinstance(answer, EquipoiseError), answer

        return write

    def amend() -> None:
        for number in range(0, 12, 2):
            pool.void(f"s{number}")
        pool.disqualify("p1", since=30)
        pool.correct(duel("s20", "p2", "p3", 3))

    def replay() -> None:
        while not ended.is_set() or pool_message(store, pool.name).pending:
            replaying.maintain_pool(store, pool.name, owner="one", stop=lambda: False)
            keep_checkpoints(store, pool.name)

    def read() -> None:
        while not ended.is_set():
            page = leaderboard(store, pool.name, limit=100)
            # Those who are disqualified meanwhile come last and have no place.
            places = [row.place for row in page.players]
            listed = sum(not row.disqualified for row in page.players)
            assert places == [*range(1, listed + 1), *[None] * (len(places) - listed)]
            for row in page.players[:3]:
                history = player_history(store, pool.name, row.player, limit=1000)
                befores = [one.rating_before for one in history.matches]
                assert [one.rating for one in history.matches][1:] == befores[:-1]
                assert len({one.seq for one in history.matches}) == len(history.matches)
            assert player(store, pool.name, "p5").matches > 0
            assert match(store, pool.name, "s7").seq == 8

    def work() -> None:
        try:
            together(writer("a"), writer("b"), amend)
        finally:
            ended.set()

    together(work, replay, read)
    pool.settle()
    assert pool.is_sound()
    assert pool_message(store, pool.name).matches == 100


def test_a_pool_may_be_made_by_several_at_once(store: Store) -> None:
    """All get the same answer."""
    answers = []
    ready = threading.Barrier(4)

    def make() -> None:
        ready.wait()
        answers.append(create_pool(store, "new", PoolRequest(system="elo"), NOW))

    together(*[make] * 4)
    assert len(answers) == 4
    assert all(one == answers[0] for one in answers)


def test_the_same_matches_posted_by_several_at_once_are_recorded_once(store: Store) -> None:
    """And rated once."""
    pool = Trial(store)
    matches = [duel(f"m{number}", "ada", "bob", number) for number in range(5)]
    together(*[lambda: pool.post(*matches) and None] * 4)  # type: ignore[func-returns-value]
    assert pool_message(store, pool.name).matches == 5
    assert pool.ratings() == rated_alone(store, matches)
