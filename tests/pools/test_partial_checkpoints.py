"""States before a match made from partial checkpoints: those of a full replay, bit for bit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from equipoise.messages.matches import (
    MatchRequest,
    ParticipationRequest,
    ReasonRequest,
    TeamRequest,
)
from equipoise.pools.erasing import erase_player
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.posting.running import StateCache
from equipoise.pools.reading.questions import explain_player
from equipoise.pools.records import amendments_of, counted_matches
from equipoise.pools.replay import states as match_state
from equipoise.pools.replay.states import PoolPast, running_from_start
from equipoise.rating.state import DRAWS, pack_players
from equipoise.store import changes
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import START, get_pool, rated_through
from equipoise.store.schema import partial_checkpoints
from pools.pool_trials import NOW, Trial

#: For every system, or with processes that are killed: long, and rarely the first to fail.
pytestmark = pytest.mark.slow

#: Partial checkpoints every 10 participations, whatever their size; pieces of 7 matches.
SIZES = Sizes(partial_interval=10, partial_bytes=10**6, matches=7)

NAMES = [f"p{number}" for number in range(9)]

SYSTEMS: dict[str, tuple[dict[str, Any], int]] = {
    "elo": ({}, 1),
    "glicko": ({}, 1),
    "glicko in periods": ({"period_days": 3}, 1),
    "glicko2": ({}, 1),
    "glicko2 in periods": ({"period_days": 3}, 1),
    "lichess": ({}, 1),
    "trueskill": ({}, 4),
    "trueskill-spb": ({"convergence_eps": 1e-10}, 4),
    "bradley-terry": ({}, 4),
    "thurstone-mosteller": ({}, 4),
    "plackett-luce": ({}, 4),
    "elo-mmr": ({}, 6),
    "elo-mmr remembering": ({"rho": 0.2, "remembered": 5, "drift_per_day": 2.0}, 6),
    "elo-mmx": ({}, 6),
    "codeforces": ({}, 6),
    "topcoder": ({}, 6),
    "team-glicko2": ({}, 0),
    "team-glicko2 with roles": ({"roles": True}, 0),
}

#: The others keep the same columns, and are looked at by night.
OF_EACH_KIND = (
    *("elo", "glicko2 in periods", "trueskill", "elo-mmr remembering"),
    *("codeforces", "team-glicko2 with roles"),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(f"sqlite:///{tmp_path / 'pools.db'}", sizes=SIZES)
    yield found
    found.close()


def drawn(rng: random.Random, number: int, most: int) -> MatchRequest:
    """Return a match of up to `most` players, or of two teams of two for 0; often an hour later."""
    when = 1_700_000_000 + 3_600 * (number - number % 2)
    if most == 0:
        four = rng.sample(NAMES, 4)
        roles = ["front", "back"]
        sides = [
            [
                ParticipationRequest(one, performance=rng.gauss(0, 1), role=role)
                for one, role in zip(four[at : at + 2], roles, strict=True)
            ]
            for at in (0, 2)
        ]
        teams = [TeamRequest([*side], rng.randrange(2)) for side in sides]
        return MatchRequest(f"m{number}", teams, when)
    names = rng.sample(NAMES, 2 if most == 1 else rng.randint(2, most))
    teams = [TeamRequest([one], rng.randrange(3)) for one in names]
    return MatchRequest(f"m{number}", teams, when, weight=rng.choice([1.0, 1.0, 2.0]))


def fill(trial: Trial, rng: random.Random, most: int, first: int, matches: int) -> None:
    """Post matches in batches of different sizes, by two writers with caches, and one without."""
    caches = [StateCache(), StateCache(), None]
    number = first
    while number < first + matches:
        batch = [drawn(rng, number + at, most) for at in range(rng.choice([1, 2, 8]))]
        cache = rng.choice([*caches, caches[0], caches[0]])
        post_matches(trial.store, trial.name, [Post(batch)], NOW, cache)
        number += len(batch)


def compare(trial: Trial) -> int:
    """Compare the states before every match with those of a replay; return how many were made."""
    found = 0
    with trial.store.read() as connection:
        pool = get_pool(connection, trial.name)
        rules = rules_of(pool.settings)
        amendments = amendments_of(connection, pool, rated_through(connection, pool))
        running = running_from_start(connection, pool, rules, {})
        for matches in counted_matches(connection, pool, amendments, START):
            for match in matches:
                stored = changes.changes_of_match(connection, pool, match.position)
                made = PoolPast(connection, pool, rules, amendments).players_before(match.position)
                if made is not None:
                    found += 1
                    compare_states(running, made, list(stored))
                running.rate([match])
    return found


def compare_states(running: Any, made: Any, players: list[str]) -> None:
    """Compare the states of some players, and what matches learn apart from draws."""
    running.state.grow(len(running.players))
    ids = made.player_ids.tolist()
    theirs = dict(zip(ids, pack_players(made.state), strict=True))
    newcomer = pack_players(running.rules.system.initial(1))[0]
    ours = dict(zip(running.players, pack_players(running.state), strict=True))
    for player in players:
        assert theirs[player] == ours.get(player, newcomer), player
    shared = {name: values for name, values in running.state.shared.items() if name != DRAWS}
    if getattr(running.rules.system, "roles", False):
        assert made.state.shared.keys() == shared.keys()
        assert all((made.state.shared[name] == shared[name]).all() for name in shared)


def rated(trial: Trial) -> int:
    """Return how many matches changed ratings."""
    with trial.store.read() as connection:
        pool = get_pool(connection, trial.name)
        query = changes.changes_between(connection, pool, START, (2**62, 2**62))
    return len({seq for _, seq in query})


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] * (name not in OF_EACH_KIND))
        for name in SYSTEMS
    ],
)
def test_states_are_those_of_a_replay(
    store: Store, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For every system; also while a replay waits, after it, and after older matches are filled."""
    monkeypatch.setattr(match_state, "_SINGLY", 3)
    parameters, most = SYSTEMS[name]
    rng = random.Random(name)
    trial = Trial(store, system=name.partition(" ")[0], parameters=parameters, late="replay")
    fill(trial, rng, most, 0, 60)
    assert compare(trial) == rated(trial)
    trial.void("m25")
    trial.disqualify("p3", 1_700_000_000 + 3_600 * 40)
    fill(trial, rng, most, 100, 10)
    assert compare(trial) == rated(trial)
    trial.settle()
    assert compare(trial) == rated(trial)
    fill(trial, rng, most, 200, 20)
    assert compare(trial) == rated(trial)
    # Its states are found by the new name, and by no other.
    erase_player(store, trial.name, "p1", ReasonRequest("asked"), key=None, now=NOW)
    assert compare(trial) == rated(trial)
    assert trial.is_sound()


def test_an_explanation_reads_no_checkpoint(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is the one that the state of the whole pool gives."""
    rng, answers = random.Random(1), []
    trial = Trial(store, system="elo-mmr")
    fill(trial, rng, 6, 0, 60)
    for slow in (False, True):
        other = "players_before" if slow else "running_before"
        monkeypatch.setattr(PoolPast, other, lambda *given: None)
        answers.append(
            [msgspec.json.encode(explain_player(store, trial.name, one)) for one in NAMES]
        )
        monkeypatch.undo()
    assert answers[0] == answers[1]


def test_wrong_states_are_noticed(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """The explanation then comes from the state of the whole pool."""
    rng = random.Random(1)
    trial = Trial(store, system="elo")
    fill(trial, rng, 1, 0, 60)
    right = explain_player(store, trial.name, "p1")
    with store.write() as connection:
        rows = connection.execute(partial_checkpoints.select()).all()
        for row in rows:
            states = msgspec.msgpack.decode(row.content, type=dict[str, bytes])
            for player, state in states.items():
                # The rating is the first column.
                states[player] = state[:8] + bytes(8) + state[16:]
            connection.execute(
                partial_checkpoints.update()
                .where(partial_checkpoints.c.seq == row.seq)
                .values(content=msgspec.msgpack.encode(states))
            )
    assert explain_player(store, trial.name, "p1") == right
    assert "disagree" in caplog.text


def test_old_rows_are_deleted(store: Store) -> None:
    """Those that a replay has replaced; a deleted pool leaves none."""
    rng = random.Random(1)
    trial = Trial(store, system="elo", late="replay")
    fill(trial, rng, 1, 0, 60)
    trial.void("m1")
    trial.settle()
    with store.read() as connection:
        pool = get_pool(connection, trial.name)
        rows = connection.execute(partial_checkpoints.select()).all()
    assert {row.generation for row in rows if (row.time, row.seq) >= pool.begins} == {
        pool.generation
    }
