"""Offsets in contexts: what they leave alone, and what they learn."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError
from equipoise.rating.base_system import HomeSystem
from equipoise.rating.contexts import in_context
from equipoise.rating.explaining import explain_change
from equipoise.rating.one_match import OneMatch, history_of
from equipoise.rating.registry import SYSTEMS, make_system, system_class
from rating.entry_histories import by_family
from test_every_system import assert_parts_sum_to_the_change

#: Systems with contexts, and those that none have and why.
COUNTING = [
    *("elo", "glicko", "glicko2", "lichess", "stephenson", "team-glicko2", "trueskill"),
    *("trueskill-spb", "plackett-luce", "bradley-terry", "thurstone-mosteller"),
]
C = 60.0
DAY = 86_400_000_000


def matches(contexts: list[str | None], seed: int = 0, players: int = 8) -> History:
    """Return duels without draws, one for each context, drawn with equal chances."""
    rng = np.random.default_rng(seed)
    pairs = [rng.choice(players, 2, replace=False).tolist() for _ in contexts]
    played = [
        OneMatch((1, 1), (0, 1), time=number * DAY // 3, context=context)
        for number, context in enumerate(contexts)
    ]
    return history_of(played, pairs)


def named(names: str, count: int = 300, seed: int = 1) -> list[str | None]:
    """Return contexts by letters, drawn at random; "-" is none."""
    drawn = np.random.default_rng(seed).choice(list(names), count)
    return [None if one == "-" else str(one) for one in drawn]


def counting(name: str, **more: object) -> HomeSystem:
    """Return a system with contexts."""
    system = make_system(name, {"context_deviation": C, **more})
    assert isinstance(system, HomeSystem)
    return system


def table(system: HomeSystem, history: History) -> np.ndarray:
    """Return the numbers of all players after a history."""
    return eq.replay(system, history).state.state.table


def test_systems_without_contexts_have_no_parameter() -> None:
    for name in SYSTEMS:
        known = {one.name for one in dataclasses.fields(system_class(name))}
        assert ("context_deviation" in known) == (name in COUNTING)


@pytest.mark.parametrize("name", by_family(COUNTING))
class TestEverySystem:
    def test_one_context_has_the_bits_of_none(self, name: str) -> None:
        same = matches(named("c-"))
        without = make_system(name)
        assert table(counting(name), same).tobytes() == table(without, same).tobytes()

    def test_resuming_and_single_matches_have_the_bits_of_a_replay(self, name: str) -> None:
        history, system = matches(named("abc-", 60)), counting(name)
        done = eq.replay(system, history)
        half = eq.replay(system, history.slice(0, 30))
        again = eq.replay(system, history, state=half.state)
        pool = eq.Pool(system)
        for m in range(history.matches):
            low = int(history.offsets[m])
            ids = history.player_ids[history.player[low : low + 2]].tolist()
            context = history.attributes["context"][low]
            pool.rate(ids, time=history.days()[m], context=context)
        for state in (again.state.state, pool.state.state):
            assert state.table.tobytes() == done.state.state.table.tobytes()
            for field in range(3):
                one, other = (two.runs.records(field) for two in (state, done.state.state))
                assert one.tobytes() == other.tobytes()

    def test_learns_who_is_better_where(self, name: str) -> None:
        """Player 0 always wins on a and always loses on b; the general part is the same."""
        played = [
            OneMatch((1, 1), (0, 1) if m % 2 == 0 else (1, 0), context="ab"[m % 2])
            for m in range(60)
        ]
        system = counting(name)
        pool = eq.replay(system, history_of(played, [[0, 1]] * 60)).state
        chances = [
            eq.predict(system, pool, [[0], [1]], context=one).expected[0] for one in ("a", "b")
        ]
        plain = eq.predict(system, pool, [[0], [1]]).expected[0]
        assert chances[1] < plain < chances[0]

    def test_an_unknown_context_adds_the_deviation(self, name: str) -> None:
        system = counting(name)
        state = eq.replay(system, matches(named("ab"))).state.state
        rows = np.arange(state.players)
        now = system.at(state, rows, None)
        rating, deviation = in_context(state, rows, now["rating"], now["deviation"], C, "new")
        assert rating.tobytes() == now["rating"].tobytes()
        assert np.allclose(deviation, np.hypot(now["deviation"], C), equal_nan=True)


def test_a_match_without_context_changes_the_general_part_alone() -> None:
    system = counting("glicko2")
    pool = eq.Pool.of(eq.replay(system, matches(named("ab"), players=3)))
    before = pool.state.state.runs
    kept = before.records(1)
    rating = pool[0].rating
    pool.rate([0, 1], time=400.0)
    after = pool.state.state.runs
    assert after.records(1).tobytes() == kept.tobytes()
    assert pool[0].rating > rating


def test_split_is_that_of_a_team_of_two_members() -> None:
    """A player's general part and offset are rated as TrueSkill rates two members of a team.

    Every player met a and b before, so that all offsets begin at 0 with the deviation C.
    """
    system = eq.TrueSkill(draw_probability=0, drift=0.0, context_deviation=C)
    plain = dataclasses.replace(system, context_deviation=0.0)
    pool = eq.Pool(system)
    pool.rate(["x", "y"], context="a")
    x, y = pool["x"], pool["y"]
    pool.rate(["x", "y"], context="b")
    teams = [
        [plain.rating(x.rating, x.deviation), plain.rating(0.0, C)],
        [plain.rating(y.rating, y.deviation), plain.rating(0.0, C)],
    ]
    # Two members have the noise of one performance each.
    half = dataclasses.replace(plain, beta=plain.beta / np.sqrt(2.0))
    teams = [[half.rating(one.rating, one.deviation) for one in team] for team in teams]
    winners, losers = half.rate(teams)
    runs = pool.state.state.runs
    for name, row, (general, offset) in (("x", 0, winners), ("y", 1, losers)):
        assert pool[name].rating == pytest.approx(general.rating, abs=1e-9)
        assert pool[name].deviation == pytest.approx(general.deviation, abs=1e-9)
        record = 2 * row + 1
        assert runs.records(1)[record] == pytest.approx(offset.rating, abs=1e-9)
        assert np.sqrt(runs.records(2)[record]) == pytest.approx(offset.deviation, abs=1e-9)


def test_elo_splits_by_fixed_shares() -> None:
    """The general part of Elo has the variance K scale/ln 10; see `rating.contexts`."""
    system = eq.Elo(context_deviation=C)
    one, other = system.rate([system.rating(), system.rating()], context="a")
    after, _ = system.rate([one, other], context="b")
    change = 32.0 * (1.0 - system.predict([one, other]).expected[0])
    general = 32.0 * 400.0 / np.log(10.0)
    assert after.rating - one.rating == pytest.approx(change * general / (general + C * C))


def test_saved_states_keep_offsets(tmp_path: Path) -> None:
    system, history = counting("glicko"), matches(named("abc"))
    pool = eq.replay(system, history).state
    pool.save(tmp_path / "state.npz")
    read = eq.PoolState.load(tmp_path / "state.npz")
    for context in ("a", "never", None):
        one, two = (eq.predict(system, each, [[0], [1]], context=context) for each in (pool, read))
        assert one.expected == two.expected
    rated = eq.Pool.of(pool)[0]
    assert eq.Rating.from_json(rated.to_json()) == rated


def test_a_learned_advantage_is_learned_in_contexts() -> None:
    system = counting("elo", learn_home_advantage=True)
    history = matches(named("ab"))
    at_home = np.tile([1.0, 0.0], history.matches)
    history = dataclasses.replace(history, attributes={**history.attributes, "at_home": at_home})
    state = eq.replay(system, history).state.state
    assert system.learned_advantage(state)[0] > 0.0


def test_refuses_a_context_that_changes_nothing() -> None:
    system = eq.Elo()
    with pytest.raises(InvalidParameterError, match="unless context_deviation is set"):
        system.rate([system.rating(), system.rating()], context="Clay")
    with pytest.raises(InvalidParameterError, match="text, such as the name of a surface"):
        counting("elo").predict([counting("elo").rating()] * 2, context="")


@pytest.mark.parametrize("name", by_family(COUNTING))
@pytest.mark.parametrize("home", [False, True])
def test_explanations_add_up_and_name_the_context(name: str, home: bool) -> None:
    history = matches(named("ab", 60))
    more: dict[str, object] = {}
    if home:
        flags = {"at_home": np.tile([1.0, 0.0], history.matches)}
        history = dataclasses.replace(history, attributes={**history.attributes, **flags})
        more = {"learn_home_advantage": True, "home_advantage": 30.0}
    system = counting(name, **more)
    before = eq.replay(system, history.slice(0, 59)).state.state
    found = explain_change(system, before, history, 59, int(history.offsets[59]))
    assert_parts_sum_to_the_change(found)
    assert "the context" in [part.name for part in found.contributions]
    done = eq.replay(system, history, trace=True).trace
    assert found.rating == done.columns["rating"][history.offsets[59]]
