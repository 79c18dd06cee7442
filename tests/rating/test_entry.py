"""Learned entry and held level: the invariants, and the slow reference."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference.entry import Numbers, SlowPool

import equipoise as eq
from equipoise.data.ratings import InitialRatings
from equipoise.rating import one_match
from equipoise.rating.explaining import explain_change
from equipoise.rating.newcomers import ENTRY, ENTRY_PARAMETERS, MU, TARGET, EntryParameters
from equipoise.rating.one_match import OneMatch
from equipoise.rating.pool_state import PoolState, saved_parameters, seeded_state
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.replay import predict, replay
from rating.entry_histories import BOTH, LEARNED, LEARNERS, by_family, history_of, numbers_of
from test_every_system import assert_parts_sum_to_the_change

HERE = Path(__file__).parent
every_system = pytest.mark.parametrize("name", by_family(LEARNERS))


@every_system
@pytest.mark.parametrize("parameters", [LEARNED, BOTH, {"hold_level": 0.3, "level_experienced": 1}])
def test_the_kernels_match_the_reference(name: str, parameters: dict[str, Any]) -> None:
    """Ratings, deviations and the four numbers; tolerance: sums are added up in another order."""
    plain, system = make_system(name), make_system(name, parameters)
    start = plain.initial_rating
    read = EntryParameters(**parameters)
    for seed in range(4):
        history = history_of(name, seed)
        state = plain.initial(history.players)
        slow = SlowPool(
            plain,
            read.entry == "learned",
            Numbers(start, read.entry_weight, start, start),
            read.entry_half_life,
            read.entry_weight,
            read.entry_clip,
            read.hold_level,
            read.hold_level_matches,
            read.level_experienced,
            read.level_memory,
            read.level_step,
        )
        for m in range(history.matches):
            slow.rate(state, history, m)
        fast = system.initial(history.players)
        system.run(fast, history, 0, history.matches)
        expected = [slow.numbers.mu, slow.numbers.n, slow.numbers.level, slow.numbers.target]
        np.testing.assert_allclose(numbers_of(fast), expected, rtol=1e-9)
        played = np.flatnonzero(fast.column("matches") > 0)
        assert len(played) > 10
        theirs, ours = plain.at(state, played, None), system.at(fast, played, None)
        for column in ("rating", "deviation", "matches"):
            np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-7, err_msg=column)


@pytest.mark.parametrize("name", ["glicko", "glicko2"])
def test_within_a_rating_period_the_level_waits(name: str) -> None:
    """The games of a period are compared with the ratings before it, and reading adds the rest."""
    history = history_of("glicko2", 7)
    system = make_system(name, {**BOTH, "period_days": 3})
    traced = replay(system, history, trace=True)
    assert np.any(traced.state.state.column("pending") > 0)
    last: dict[int, float] = {}
    for row, player in enumerate(history.player.tolist()):
        if player in last:
            assert traced.trace.columns["rating_before"][row] == last[player]
        last[player] = traced.trace.columns["rating"][row]
    for player, rating in last.items():
        assert traced.ratings.of(player)["rating"] == rating


@every_system
def test_a_match_of_newcomers_only_leaves_the_entry(name: str) -> None:
    able = make_system(name).capabilities
    system = make_system(name, LEARNED)
    members = 1 if able.max_team_size == 1 else 3
    teams = able.max_teams or 4
    match = OneMatch((members,) * teams, range(teams))
    state = system.initial(members * teams)
    system.run(state, one_match.history_of([match]), 0, 1)
    assert numbers_of(state)[MU] == system.initial_rating


@every_system
def test_the_order_of_rows_changes_no_bit_of_the_four_numbers(name: str) -> None:
    """In all matches whose ratings have the same bits in another order of the rows."""
    history, system, same = history_of(name, 9), make_system(name, BOTH), 0
    state = system.initial(history.players)
    for m in range(history.matches):
        match = history.slice(m, m + 1)
        order = np.random.default_rng(m).permutation(match.participations)
        other = dataclasses.replace(
            match, player=match.player[order], rank=match.rank[order], team=match.team[order]
        )
        shuffled = state.copy()
        system.run(shuffled, other, 0, 1)
        system.run(state, match, 0, 1)
        if state.table.tobytes() == shuffled.table.tobytes():
            same += 1
            assert numbers_of(state).tobytes() == numbers_of(shuffled).tobytes()
    assert same >= 10


@every_system
def test_seeded_players_are_neither_newcomers_nor_young(name: str) -> None:
    """A pool of seeded players alone rates as with a fixed entry, and the level is theirs."""
    history, players = history_of(name, 11), 25
    rng = np.random.default_rng(0)
    rating, deviation = 1700 + 100 * rng.standard_normal(players), np.full(players, 120.0)
    system, plain = make_system(name, {**BOTH, "hold_level": 1.0}), make_system(name)
    initial = InitialRatings(player_ids=np.arange(players), rating=rating, deviation=deviation)
    learned = replay(system, history, initial=initial)
    fixed = replay(plain, history, initial=initial)
    np.testing.assert_array_equal(learned.ratings.rating, fixed.ratings.rating)
    mu, weight, _, target = numbers_of(learned.state.state)
    assert (mu, weight) == (system.initial_rating, 4)
    assert target == pytest.approx(rating.mean())
    again = replay(system, history, state=PoolState.from_bytes(learned.state.to_bytes(), "again"))
    assert again.state.known_ratings == players


def test_a_newcomer_is_read_and_predicted_at_the_entry() -> None:
    history = history_of("elo-mmr", 14)
    system = make_system("elo-mmr", LEARNED)
    state = replay(system, history).state
    entry = float(numbers_of(state.state)[MU])
    assert entry != 1500
    assert predict(system, state, [["0"], ["nobody"]]).outlook.centre[1] == entry


@every_system
def test_explanations_add_up_and_say_where_newcomers_start(name: str) -> None:
    history, system = history_of(name, 15), make_system(name, BOTH)
    state, started, adjusted = system.initial(history.players), 0, 0
    numbers_of(state)[TARGET] += 50
    for m in range(15):
        if history.teams()[m] < 2 or history.distinct_ranks()[m] < 2:
            continue
        for row in range(*history.offsets[m : m + 2]):
            found = explain_change(system, state, history, m, row)
            assert_parts_sum_to_the_change(found)
            adjusted += any(one.name == "level adjustment" for one in found.contributions)
            for one in found.quantities:
                if one.name == "entry":
                    started += 1
                    assert one.value == found.rating_before
                    start = f"(the fixed starting rating is {system.initial_rating:g})"
                    assert f"learned from recent newcomers {start}" in one.meaning
        system.run(state, history, m, m + 1)
    assert started
    assert adjusted


@pytest.mark.parametrize("name", sorted(one.stem for one in HERE.glob("states_version_2/*.npz")))
def test_a_state_of_version_2_goes_on_to_the_same_bits(name: str) -> None:
    """Written before there was a learned entry: with a fixed one nothing has changed."""
    old = PoolState.load(HERE / "states_version_2" / f"{name}.npz")
    of = {"glicko2": "duels", "team-glicko2": "teams"}.get(name, "contests")
    history = eq.read_history(HERE / "states_version_1" / f"{of}.csv")
    known = len(old.rated)
    now = replay(old.system, history.slice(0, known)).state
    assert now.state.table.tobytes() == old.state.table.tobytes()
    assert now.to_bytes() == old.to_bytes()
    with np.load(HERE / "states_version_2" / f"{name}.npz") as parts:
        header = json.loads(parts["header"].tobytes())
    # A parameter that came later is left out at its default, so that earlier versions read it.
    removed = getattr(type(old.system), "removed", {})
    assert saved_parameters(make_system(name)).keys() == header["parameters"].keys() - removed
    straight = replay(old.system, history)
    assert replay(old.system, history, state=old).state.to_bytes() == straight.state.to_bytes()


@every_system
def test_what_has_no_effect_is_said(name: str) -> None:
    idle = make_system(name).capabilities.idle
    assert set(ENTRY_PARAMETERS) - idle == {"entry", "hold_level"}
    assert not set(ENTRY_PARAMETERS) & make_system(name, BOTH).capabilities.idle
    assert list(parameters_of(make_system(name)))[-len(ENTRY_PARAMETERS) :] == list(
        ENTRY_PARAMETERS
    )


def test_seeds_set_the_level_to_hold() -> None:
    system = make_system("elo-mmr", BOTH)
    state = seeded_state(system, np.array([1000.0, 1200.0]), np.array([100.0, 100.0]))
    assert numbers_of(state).tolist() == [1500.0, 4.0, 1100.0, 1100.0]
    plain = seeded_state(make_system("elo-mmr"), np.array([1000.0]), np.array([100.0]))
    assert ENTRY not in plain.shared
