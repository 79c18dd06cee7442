"""Title, link and attributes of matches: kept, returned, corrected without a replay, erased."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl
import pytest

from equipoise.analysis.reading import HistoryRequest
from equipoise.messages.matches import MatchRequest, ReasonRequest
from equipoise.pools.erasing import erase_player
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.reading.matches import match, matches
from equipoise.pools.reading.players import player_history as history
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial, duel

LINK = "https://example.org/final?player=J%C3%B6rg"
TEXTS = {"title": "The final of Jörg", "link": LINK, "attributes": {"round": 7, "by": "Jörg"}}


def final(**more: object) -> MatchRequest:
    """Return a match with title, link and attributes."""
    return duel("final", "Jörg", "ada", 10, **{**TEXTS, **more})


def test_every_answer_has_the_title(store: Store) -> None:
    """The match has all three; lists have the title."""
    pool = Trial(store)
    (posted,) = pool.post(final())
    for found in (posted, match(store, "trial", "final")):
        assert (found.title, found.link, found.attributes) == tuple(TEXTS.values())
    assert matches(store, "trial").matches[0].title == TEXTS["title"]
    assert history(store, "trial", "ada").matches[0].title == TEXTS["title"]
    pool.refused(final(title="Another"))
    assert pool.is_sound()


def test_a_correction_of_texts_alone_needs_no_replay(store: Store) -> None:
    """Ratings and generation stay; with another result too, a replay follows."""
    pool = Trial(store, late="replay")
    pool.post(duel("final", "Jörg", "ada", 10), duel("next", "ada", "bo", 20))
    before, generation = pool.ratings(), pool_message(store, "trial").generation
    previewed = pool.correct(final(), preview=True)
    assert previewed.difference is not None
    assert previewed.difference.matches == 0
    said = pool.correct(final())
    assert (said.kind, said.status) == ("describe", "done")
    now = pool_message(store, "trial")
    assert (now.pending, now.generation) == (False, generation)
    assert pool.ratings() == before
    found = match(store, "trial", "final")
    assert (found.title, found.status, found.corrected) == (TEXTS["title"], "rated", said.seq)
    assert history(store, "trial", "Jörg").matches[0].title == TEXTS["title"]
    assert pool.is_sound()
    pool.correct(duel("final", "ada", "Jörg", 10, title="Turned"))
    assert pool_message(store, "trial").pending
    pool.settle()
    assert match(store, "trial", "final").title == "Turned"
    assert pool.ratings() != before
    assert pool.is_sound()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_have_the_texts_as_columns(sqlite_store: Store, tmp_path: Path, ending: str) -> None:
    """A table that is imported gives the same texts, those of corrections included."""
    pool = Trial(sqlite_store)
    pool.post(final(), duel("next", "ada", "bo", 20), duel("last", "bo", "ada", 30))
    pool.correct(duel("next", "ada", "bo", 20, title="Third place"))
    path = str(tmp_path / f"trial.{ending}")
    export_file(sqlite_store, "trial", "log", path)
    frame = pl.read_csv(path) if ending == "csv" else pl.read_parquet(path)
    assert frame["match_title"].to_list()[::2] == [TEXTS["title"], "Third place", None]
    request = ImportRequest(
        history=HistoryRequest(source=path), create=True, settings={"system": "elo"}
    )
    import_pool(sqlite_store, "copy", request, NOW)
    first, second, third = (match(sqlite_store, "copy", name) for name in ("final", "next", "last"))
    assert (first.title, first.link, first.attributes) == tuple(TEXTS.values())
    assert (second.title, third.title, third.attributes) == ("Third place", None, {})


def test_an_erasure_rewrites_the_name_in_texts(store: Store, tmp_path: Path) -> None:
    """The preview counts them; the name is also found as links write it."""
    pool = Trial(store)
    pool.post(final(), duel("other", "ada", "bo", 20))
    pool.correct(duel("other", "ada", "bo", 20, title="Without Jörg", link=LINK))
    preview = erase_player(store, "trial", "Jörg", ReasonRequest(), key=None, now=NOW, preview=True)
    done = erase_player(store, "trial", "Jörg", ReasonRequest(), key=None, now=NOW)
    for found in (preview, done):
        assert (found.pools[0].texts, found.pools[0].matches) == (5, 2)
    for name in ("final", "other"):
        text = msgspec.json.encode(match(store, "trial", name)).decode()
        assert "Jörg" not in text
        assert "J%C3%B6rg" not in text
        assert f"https://example.org/final?player={done.player}" in text
    path = tmp_path / "trial.ndjson"
    export_file(store, "trial", "log", str(path))
    assert "Jörg" not in path.read_text()
    assert pool.is_sound()
