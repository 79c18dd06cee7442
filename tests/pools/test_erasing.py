"""Erasure of a player's name: nothing in the database has it, and every number stays."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import MetaData, select

from equipoise.errors import ConflictError, InvalidDataError, NotFoundError
from equipoise.messages.matches import (
    MatchRequest,
    ParticipationRequest,
    ReasonRequest,
    TeamRequest,
)
from equipoise.messages.pools import SeasonRequest
from equipoise.messages.upkeep import ErasureMessage, WebhookRequest
from equipoise.pools import amending
from equipoise.pools.erasing import PREFIX, erase_player
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.posting.running import StateCache
from equipoise.pools.reading.players import player
from equipoise.pools.replay import replaying
from equipoise.pools.replay.replaying import rerate
from equipoise.pools.replay.states import keep_checkpoints
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.pools.webhooks import create_webhook
from equipoise.store import log, ratings
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, Trial, duel, import_file, sealed_log

#: With characters that JSON escapes, and others that are not ASCII.
NAME = 'Zoë "Q" O\'Neil'
SIZES = Sizes(
    checkpoint_interval=3,
    checkpoint_per_player=0,
    partial_interval=3,
    partial_bytes=10**6,
    matches=4,
    rows=3,
    players_left=0,
)


@pytest.fixture
def small(database_url: str) -> Iterator[Store]:
    """Give a store that makes checkpoints after a few matches."""
    store = open_store(database_url, sizes=SIZES)
    yield store
    store.close()


def league(store: Store) -> Trial:
    """Return a pool with the name wherever it may be: a season that ended, and a new one."""
    trial = Trial(store, "league", late="replay")
    hook = WebhookRequest(url="https://example.org/hook", events=["match.rated"])
    create_webhook(store, "league", hook, now=NOW, key=None)
    for number in range(9):
        trial.post(duel(f"m{number}", NAME, "ben", 10 * number))
        keep_checkpoints(store, "league")
    note = {"note": f"{NAME} was late", "at_home": True}
    detailed = MatchRequest(
        "detailed",
        [
            TeamRequest([ParticipationRequest(NAME, attributes=note)], 0, team=NAME),
            TeamRequest(["ben", "cyd"], 1, team="others"),
        ],
        time=100,
    )
    trial.post(detailed, duel("unrated", "cyd", NAME, 110, rated=False))
    amending.void_match(store, "league", "m3", ReasonRequest(f"{NAME} cheated"), key=None, now=NOW)
    trial.correct(duel("m4", "dan", NAME, 45))
    trial.disqualify(NAME, 95)
    trial.reinstate(NAME, 105)
    trial.disqualify(NAME, match="m5")
    trial.settle()
    trial.post(duel("late", NAME, "eve", 33))
    trial.settle()
    for number in range(4):
        trial.post(duel(f"n{number}", NAME, "eve", 200 + number))
        keep_checkpoints(store, "league")
    end_season(store, "league", SeasonRequest(season="one", reset="soft"), key=None, now=NOW)
    for number in range(5):
        trial.post(duel(f"o{number}", NAME, "eve", 300 + number))
        keep_checkpoints(store, "league")
    trial.post(duel("waits", "ben", NAME, 250))
    return trial


def texts_of(value: Any) -> Iterator[str]:
    """Give every text in a value of the database, with those in packed states."""
    if isinstance(value, str):
        yield value
        if value.startswith(("{", "[")):
            yield repr(msgspec.json.decode(value)).replace("\\'", "'")
    elif isinstance(value, bytes | memoryview):
        content = bytes(value)
        pieces = [content]
        with contextlib.suppress(zlib.error):
            pieces.append(zlib.decompress(content))
        for piece in list(pieces):
            if zipfile.is_zipfile(io.BytesIO(piece)):
                with zipfile.ZipFile(io.BytesIO(piece)) as members:
                    pieces += [members.read(name) for name in members.namelist()]
        for piece in pieces:
            # JSON writes some characters as escapes.
            plain = piece.decode("utf-8", "ignore").replace('\\"', '"')
            yield re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), plain)
            for encoding in ("utf-8", "utf-16-le", "utf-32-le"):
                yield piece.decode(encoding, "ignore")
            # Texts of NumPy that do not begin at a multiple of four bytes.
            yield from (piece[at:].decode("utf-32-le", "ignore") for at in (1, 2, 3))


def places_of(store: Store, name: str) -> set[str]:
    """Return the columns of all tables in which a name is found."""
    tables = MetaData()
    tables.reflect(store.engine)
    found = set()
    with store.read() as connection:
        for table in tables.sorted_tables:
            for row in connection.execute(select(table)).mappings():
                for column, value in row.items():
                    if any(name in text for text in texts_of(value)):
                        found.add(f"{table.name}.{column}")
    return found


def states(store: Store, pool: str) -> dict[str, tuple[Any, ...]]:
    """Return everything that is stored of each player, without the name."""
    with store.read() as connection:
        record = get_pool(connection, pool)
        every = [
            row
            for rows in ratings.all_ratings(connection, record.id, record.generation)
            for row in rows
        ]
    # The first field is the name.
    return {row.player: tuple(row[1:]) for row in every}


def erase(store: Store, name: str, pool: str = "league", **more: Any) -> ErasureMessage:
    """Erase a name."""
    given: dict[str, Any] = {"key": None, "now": NOW, **more}
    return erase_player(store, pool, name, ReasonRequest(f"{name} asked for it"), **given)


def test_nothing_in_the_database_has_the_name_and_every_number_stays(small: Store) -> None:
    """Every text and every packed state of every table is searched, before and after.

    The pool and the archive of its season verify then, also after a replay from their beginning.
    """
    trial = league(small)
    assert places_of(small, NAME) == {
        "audit.detail",
        "audit.subject",
        "changes.player",
        "checkpoints.content",
        "log.content",
        "log.player",
        "partial_checkpoints.content",
        "ratings.player",
        "replays.difference",
        "seeds.content",
    }
    pools = ["league", "league.one"]
    before = {pool: states(small, pool) for pool in pools}
    foreseen = erase(small, NAME, preview=True)
    assert (foreseen.player, [one.seq for one in foreseen.pools]) == (None, [None, None])
    assert places_of(small, PREFIX) == set()
    done = erase(small, NAME)
    assert done.player.startswith(PREFIX)
    assert places_of(small, NAME) == set()
    for word in ("Zoë", "O'Neil"):
        assert places_of(small, word) == set()
    plain = [msgspec.structs.replace(one, seq=None) for one in done.pools]
    assert (plain, done.audit) == (foreseen.pools, foreseen.audit)
    assert {one.pool for one in done.pools} == set(pools)
    for pool in pools:
        was = before[pool].pop(NAME)
        now = states(small, pool)
        assert now.pop(done.player) == was
        assert now == before[pool]
        assert verify_pool(small, pool).identical
    trial.check()
    rerate(small, "league")
    trial.check()
    assert places_of(small, NAME) == set()
    # From a checkpoint that was rewritten.
    trial.void("o3")
    trial.check()
    assert amending.amendments(small, "league.one").amendments[0].kind == "erase"
    with pytest.raises(NotFoundError, match="no player"):
        erase(small, NAME)


def test_the_file_of_sqlite_does_not_have_the_name(sqlite_url: str) -> None:
    """Neither in pages that are free now nor in the write-ahead log."""
    store = open_store(sqlite_url, sizes=SIZES)
    league(store)
    file = Path(sqlite_url.removeprefix("sqlite:///"))

    def found() -> bool:
        logged = file.with_name(f"{file.name}-wal")
        parts = [file.read_bytes(), logged.read_bytes() if logged.exists() else b""]
        return any(b"O'Neil" in part for part in parts)

    assert found()
    erase(store, NAME)
    assert not found()
    store.close()


def test_a_repeated_post_is_known_and_a_new_match_is_a_newcomers(store: Store) -> None:
    trial = Trial(store, "league")
    posted = [
        duel("a", NAME, "ben", 10),
        MatchRequest("b", [TeamRequest([NAME], 0, team=NAME), TeamRequest(["ben"], 1)], time=20),
    ]
    trial.post(*posted)
    done = erase(store, NAME)
    assert done.player is not None
    before = pool_message(store, "league")
    answers = trial.post(*posted)
    assert [one.match for one in answers] == ["a", "b"]
    assert answers[0].teams[0].players[0].player == done.player
    assert pool_message(store, "league") == before
    # What differs apart from the name is a conflict as before.
    assert isinstance(trial.refused(duel("a", NAME, "cyd", 10)), ConflictError)
    assert isinstance(trial.refused(duel("a", "ben", NAME, 10)), ConflictError)
    assert isinstance(trial.refused(duel("a", NAME, "ben", 11)), ConflictError)
    (new,) = trial.post(duel("c", NAME, "ben", 30))
    began = new.teams[0].players[0]
    assert began.rating_before == player(store, "league", NAME).rating - (began.change or 0.0)
    assert player(store, "league", NAME).matches == 1
    assert player(store, "league", done.player).matches == 2
    assert trial.is_sound()
    again = erase(store, NAME)
    assert again.player != done.player
    assert player(store, "league", str(again.player)).matches == 1
    assert places_of(store, NAME) == set()
    assert [one.match for one in trial.post(*posted, duel("c", NAME, "ben", 30))] == ["a", "b", "c"]


def test_another_writer_drops_the_states_that_it_remembers(database_url: str) -> None:
    """Else the old name would go on with the rating of the erased player."""
    one, two = open_store(database_url), open_store(database_url)
    trial = Trial(one, "league")
    caches = StateCache(), StateCache()
    for number in range(4):
        for store, cache in zip((one, two), caches, strict=True):
            match = duel(f"m{number}-{id(cache)}", NAME, "ben", number)
            (answer,) = post_matches(store, "league", [Post([match])], NOW, cache)
            assert isinstance(answer, list), answer
    done = erase(two, NAME)
    for store, cache in zip((one, two), caches, strict=True):
        match = duel(f"n-{id(cache)}", NAME, "ben", 10)
        (answer,) = post_matches(store, "league", [Post([match])], NOW, cache)
        assert isinstance(answer, list), answer
    assert player(one, "league", NAME).matches == 2
    assert player(one, "league", str(done.player)).matches == 8
    assert trial.is_sound()
    one.close()
    two.close()


def test_a_replay_that_runs_meanwhile_begins_again(small: Store) -> None:
    """It has the old name in memory, and must not write it."""
    trial = league(small)
    did: list[str | None] = []

    def stop() -> bool:
        if not did:
            did.append(erase(small, NAME).player)
        return False

    rerate(small, "league")
    with pytest.raises(ConflictError, match="taken over"):
        trial.replay(stop=stop)
    assert places_of(small, NAME) == set()
    trial.settle()
    assert places_of(small, NAME) == set()
    assert trial.is_sound()
    assert did[0] in trial.ratings()


def test_what_a_replay_stores_after_its_swap_does_not_have_the_name(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoints, which come in transactions of their own."""
    trial = league(small)
    store_checkpoints, did = replaying._store_checkpoints, []

    def erasing_first(*given: Any) -> Any:
        if not did:
            did.append(erase(small, NAME))
        return store_checkpoints(*given)

    monkeypatch.setattr(replaying, "_store_checkpoints", erasing_first)
    rerate(small, "league")
    assert trial.replay()
    assert did
    assert places_of(small, NAME) == set()
    trial.check()


def test_a_pool_with_erasures_is_exported_and_imported(small: Store, tmp_path: Path) -> None:
    """The copy has the same ratings, the erasure, and knows a repeated post as well."""
    trial = league(small)
    trial.settle()
    erase(small, NAME)
    path = tmp_path / "archive.ndjson"
    export_file(small, "league.one", "log", str(path))
    assert "Zoë" not in path.read_text()
    done = import_file(small, "copy", path)
    assert import_file(small, "copy", path).amendments == 0
    assert done.last_seq == pool_message(small, "league.one").last_seq
    copy = Trial.existing(small, "copy")
    archive = Trial.existing(small, "league.one")
    assert copy.ratings() == archive.ratings()
    assert copy.is_sound()
    assert [one.match for one in copy.post(duel("m1", NAME, "ben", 10))] == ["m1"]


def test_an_import_refuses_a_falsified_record_of_an_erasure(store: Store, tmp_path: Path) -> None:
    """Rewritten records keep their first leaves, so the log still leads to its head.

    Also refused: another record that claims to be rewritten, which no erasure lists.
    """
    trial = Trial(store, "league")
    trial.post(duel("a", NAME, "ben", 1), duel("b", "ben", "cyd", 2))
    with store.read() as connection:
        pool = get_pool(connection, "league")
        ((records, seals),) = sealed_log(connection, pool.id)
    leaf = base64.b64encode(log.sealed_leaf(records[1], seals[1])).decode()
    erase(store, NAME)
    path = tmp_path / "league.ndjson"
    export_file(store, "league", "log", str(path))
    whole = path.read_text()
    lines = whole.splitlines()
    for number in (1, 2):
        false = {"leaf": leaf, **json.loads(lines[number])}
        first, second = false["content"]["teams"]
        first["players"], second["players"] = second["players"], first["players"]
        changed = [*lines[:number], json.dumps(false), *lines[number + 1 :], ""]
        path.write_text("\n".join(changed))
        with pytest.raises(InvalidDataError, match=f"must have the content .* got record {number}"):
            import_file(store, "copy", path)
        with pytest.raises(NotFoundError):
            pool_message(store, "copy")
    path.write_text(whole)
    assert import_file(store, "copy", path).same_head
    assert verify_pool(store, "copy").identical


def test_short_names_do_not_touch_other_texts(store: Store) -> None:
    """Ids of matches stay, and a preview counts them; other players and words stay too."""
    trial = Trial(store, "league")
    trial.post(duel("a", "a", "ab", 1), duel("a-b", "b", "a", 2), duel("c", "b", "players", 3))
    amending.void_match(store, "league", "a-b", ReasonRequest("a quit, ab not"), key=None, now=NOW)
    trial.settle()
    done = erase(store, "a")
    assert done.remaining == 2
    assert set(trial.ratings()) == {done.player, "ab", "b", "players"}
    (void,) = [one for one in amending.amendments(store, "league").amendments if one.kind == "void"]
    assert (void.match, void.reason) == ("a-b", f"{done.player} quit, ab not")
    assert trial.is_sound()


def test_no_name_can_be_guessed_from_the_chain(small: Store) -> None:
    """Rewritten records keep their first leaves, and not the salts with which these were made.

    A second erasure of another player rewrites some of the same records.
    """
    league(small)
    with small.read() as connection:
        pool = get_pool(connection, "league.one")
        before = {
            one.seq: (one, log.sealed_leaf(one, seal))
            for records, seals in sealed_log(connection, pool.id)
            for one, seal in zip(records, seals, strict=True)
        }
    for name in (NAME, "ben"):
        erase(small, name)
        rewritten = 0
        with small.read() as connection:
            for records, seals in sealed_log(connection, pool.id):
                for one, seal in zip(records, seals, strict=True):
                    if seal.leaf is not None and one.seq in before:
                        record, leaf = before[one.seq]
                        assert seal.leaf == leaf
                        # Whoever guesses the name needs the salt, which is another one now.
                        assert log.leaf_of(record, seal.salt) != leaf
                        rewritten += 1
        assert rewritten > 15
        assert verify_pool(small, "league.one").identical
