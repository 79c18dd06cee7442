"""Pools of a system of another package: with it, and after it is gone."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from equipoise.errors import InvalidDataError, PluginError
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import PoolChange, PoolRequest
from equipoise.pools.exchange.exporting import export_bytes
from equipoise.pools.pool.pools import create_pool, pool_message, pool_messages
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.pool.settings import change_settings
from equipoise.pools.reading.matches import match
from equipoise.pools.reading.players import player, player_history, rating_timeline
from equipoise.pools.reading.questions import explain_player
from equipoise.pools.replay.replaying import maintain_pool
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store.connection import Store
from plugged import Install
from pools.pool_trials import NOW, Trial, duel, import_file

SENTENCE = (
    "the pool has the system 'football-elo' of the package equipoise-football, which is not "
    "installed here: install equipoise-football==0.1.0"
)


def game(number: int, winner: str, loser: str, goals: tuple[float, float]) -> MatchRequest:
    """Return a match with goals, the winner at home."""
    teams = [
        TeamRequest([ParticipationRequest(winner, performance=goals[0], side="home")], 0),
        TeamRequest([ParticipationRequest(loser, performance=goals[1], side="away")], 1),
    ]
    return MatchRequest(match=str(number), teams=teams, time=1_700_000_000 + 86_400 * number)


def season(store: Store) -> Trial:
    """Return a pool with four matches."""
    trial = Trial(store, system="football-elo", late="replay", parameters={"k": 30})
    for number, (one, two, goals) in enumerate(
        [("Ayr", "Bute", (4.0, 1.0)), ("Bute", "Cove", (1.0, 0.0))] * 2
    ):
        trial.post(game(number, one, two, goals))
    return trial


def test_a_pool_rates_replays_and_verifies_with_it(store: Store, football: Path) -> None:
    trial = season(store)
    before = trial.ratings()
    trial.void("1")
    trial.settle()
    assert trial.ratings() != before
    trial.restore("1")
    trial.settle()
    assert trial.ratings() == before
    assert trial.is_sound()
    told = explain_player(store, trial.name, "Bute", "3")
    assert sum(part.change for part in told.contributions) == pytest.approx(
        told.rating - told.rating_before
    )
    message = pool_message(store, trial.name)
    assert message.notes == ["football-elo comes from the package equipoise-football==0.1.0"]
    assert message.code.endswith(" equipoise-football==0.1.0")


def exported(store: Store, name: str, what: str, format: str = "csv") -> bytes:
    return b"".join(export_bytes(store, name, what, format))  # type: ignore[arg-type]


@pytest.fixture
def orphan(store: Store, football: Path, install: Install) -> Trial:
    """Give a pool whose package was removed after four matches."""
    trial = season(store)
    trial.before = {  # type: ignore[attr-defined]
        "ratings": trial.ratings(),
        "player": player(store, trial.name, "Ayr"),
        "log": exported(store, trial.name, "log", "ndjson"),
        "table": exported(store, trial.name, "ratings"),
        "changes": exported(store, trial.name, "changes"),
    }
    install.remove(football)
    rules_of.cache_clear()
    return trial


def test_a_pool_without_its_package_can_be_read(store: Store, orphan: Trial) -> None:
    before = orphan.before  # type: ignore[attr-defined]
    assert orphan.ratings() == before["ratings"]
    assert player(store, orphan.name, "Ayr") == before["player"]
    assert len(player_history(store, orphan.name, "Ayr").matches) == 2
    assert len(rating_timeline(store, orphan.name, "Ayr", most=10).ratings) == 2
    assert match(store, orphan.name, "0").status == "rated"
    assert exported(store, orphan.name, "log", "ndjson") == before["log"]
    assert exported(store, orphan.name, "ratings") == before["table"]
    assert exported(store, orphan.name, "changes") == before["changes"]
    assert pl.read_parquet(exported(store, orphan.name, "ratings", "parquet")).height == 3
    message = pool_message(store, orphan.name)
    assert (message.system, message.parameters) == ("football-elo", {"k": 30})
    assert message.notes[0].startswith(SENTENCE)
    assert [one.pool for one in pool_messages(store)] == [orphan.name]


def test_what_needs_the_package_is_refused_with_its_name(store: Store, orphan: Trial) -> None:
    name = orphan.name
    for refused in (
        lambda: orphan.answer(game(9, "Ayr", "Cove", (1.0, 0.0))),
        lambda: player(store, name, "Ayr", at=1_800_000_000),
        lambda: explain_player(store, name, "Bute", "3"),
    ):
        with pytest.raises(PluginError) as found:
            refused()
        assert SENTENCE in str(found.value)
    verified = verify_pool(store, name)
    assert not verified.identical
    assert SENTENCE in verified.differences[0]
    with pytest.raises(InvalidDataError, match="no system 'football-elo'"):
        change_settings(store, name, PoolChange(public=True), NOW)
    with pytest.raises(InvalidDataError, match="no system 'football-elo'"):
        create_pool(store, "another", PoolRequest(system="football-elo"), NOW)


def test_upkeep_leaves_such_a_pool_alone(store: Store, orphan: Trial) -> None:
    """The service looks after all pools in turn: none may stop the others."""
    orphan.void("1")
    other = Trial(store, "other")
    other.post(duel("1", "a", "b", 10))
    with pytest.raises(PluginError, match="equipoise-football"):
        maintain_pool(store, orphan.name, owner="tester", stop=lambda: False)
    assert pool_message(store, orphan.name).pending
    assert other.is_sound()


def test_it_works_again_once_the_package_is_back(
    store: Store, orphan: Trial, install: Install
) -> None:
    install.football()
    rules_of.cache_clear()
    orphan.post(game(9, "Ayr", "Cove", (1.0, 0.0)))
    assert orphan.is_sound()


def test_a_log_can_be_imported_where_the_package_is(
    store: Store, football: Path, tmp_path: Path
) -> None:
    trial = season(store)
    path = tmp_path / "log.ndjson"
    path.write_bytes(exported(store, trial.name, "log", "ndjson"))
    head = json.loads(path.read_bytes().splitlines()[0])
    assert head["settings"]["package"] == "equipoise-football==0.1.0"
    assert import_file(store, "copy", path).same_head
