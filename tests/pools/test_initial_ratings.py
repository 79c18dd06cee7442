"""Known ratings of a pool: recorded before the first match, and the beginning of every replay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from sqlalchemy import text

import equipoise as eq
from equipoise.analysis.reading import HistoryRequest
from equipoise.errors import (
    ConflictError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
)
from equipoise.messages.matches import ReasonRequest
from equipoise.messages.pools import (
    InitialMapping,
    InitialMessage,
    InitialRating,
    InitialRequest,
    SeasonRequest,
)
from equipoise.pools import initial_ratings as known
from equipoise.pools.amending import amendment, amendments
from equipoise.pools.erasing import erase_player
from equipoise.pools.exchange.exporting import export_bytes, export_file
from equipoise.pools.exchange.histories import requests_of
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.initial_ratings import (
    content_of,
    copied_content,
    initial_content,
    initial_ratings,
    keep_content,
)
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.reading.players import leaderboard, player
from equipoise.pools.reading.questions import explain_player
from equipoise.pools.replay.replaying import maintain_pool, rerate
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.rating.registry import make_system
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial, duel, import_file

EXAMPLES = Path(__file__).parents[2] / "examples"
CONTESTS, LEAGUE = EXAMPLES / "contests.csv", EXAMPLES / "league.csv"

#: Of players who play, and of one who never does.
KNOWN = {"ana": (1800.0, 90.0), "ben": (1650.5, None), "zoe": (1400.0, 50.0)}


def rows(values: dict[str, tuple[float, float | None]]) -> list[InitialRating]:
    return [InitialRating(player, *numbers) for player, numbers in values.items()]


def begin(
    store: Store,
    name: str,
    values: dict[str, tuple[float, float | None]] | None = None,
    now: int = NOW,
    **more: Any,
) -> InitialMessage:
    """Set known ratings, or take those of `more`."""
    if "pool" not in more:
        more["ratings"] = rows(KNOWN if values is None else values)
    request = InitialRequest(**more)
    copied = request.pool is not None
    content = copied_content(store, name, request) if copied else initial_content(request)
    return keep_content(store, name, content, key=None, now=now)


def played(trial: Trial, count: int = 8) -> None:
    names = ["ana", "ben", "cyd", "dee"]
    for number in range(count):
        pair = names[number % 4], names[(number + 1 + number % 2) % 4]
        trial.post(duel(f"m{number}", *pair, 100 * number))


@pytest.mark.parametrize("system", ["elo", "glicko2", "elo-mmr", "trueskill"])
def test_players_begin_with_known_ratings(store: Store, system: str) -> None:
    """They are on the leaderboard at once, and newcomers enter beside them."""
    trial = Trial(store, system=system)
    told = begin(store, "trial", reason="from the old site")
    assert (told.seq, told.players, told.reason) == (1, 3, "from the old site")
    assert trial.ratings() == {name: value[0] for name, value in KNOWN.items()}
    message = pool_message(store, "trial")
    assert (message.players, message.matches, message.known_ratings) == (3, 0, 3)
    assert trial.is_sound()
    played(trial)
    assert sorted(trial.ratings()) == ["ana", "ben", "cyd", "dee", "zoe"]
    ana, cyd = player(store, "trial", "ana"), player(store, "trial", "cyd")
    assert (ana.known_rating, ana.known_deviation) == (1800.0, 90.0)
    assert player(store, "trial", "ben").known_deviation is None
    assert (cyd.known_rating, cyd.known_deviation) == (None, None)
    assert player(store, "trial", "zoe").rating == 1400.0
    assert player(store, "trial", "zoe").matches == 0
    assert trial.is_sound()


LEARNED = {"entry": "learned", "hold_level": 0.05}


@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        *((name, {}) for name in ("elo", "glicko2", "elo-mmr", "trueskill-spb", "topcoder")),
        *((name, LEARNED) for name in ("elo", "glicko2", "elo-mmr")),
    ],
)
def test_a_pool_gives_the_bits_of_rate_initial(
    store: Store, system: str, parameters: dict[str, Any]
) -> None:
    """Posted one by one, in batches and replayed: the ratings of `rate --initial`."""
    history = eq.read_history(LEAGUE if system == "glicko2" else CONTESTS).slice(0, 30)
    chosen = make_system(system, parameters)
    rng = np.random.default_rng(3)
    names = [str(one) for one in history.player_ids.tolist()][::2]
    spread = np.where(rng.random(len(names)) < 0.3, np.nan, rng.uniform(40.0, 200.0, len(names)))
    initial = eq.InitialRatings(
        player_ids=np.array(names, dtype=object),
        rating=rng.normal(1600.0, 200.0, len(names)),
        deviation=spread,
    )
    done = eq.replay(chosen, history, initial=initial).ratings
    expected = {name: done.of(name)["rating"] for name in map(str, done.player_ids.tolist())}
    trial = Trial(store, "bits", system=system, parameters=parameters)
    keep_content(store, "bits", content_of(initial, InitialRequest()), key=None, now=NOW)
    at = 0
    for size in (1, 1, 3, history.matches - 5):
        matches = requests_of(history, at, at + size)
        (answer,) = post_matches(store, "bits", [Post(matches, detailed=False)], NOW)
        assert not isinstance(answer, EquipoiseError), answer
        at += size
    found = {row.player: row.rating for row in leaderboard(store, "bits", limit=1000).players}
    assert {name: value.hex() for name, value in found.items()} == {
        name: value.hex() for name, value in expected.items()
    }
    assert trial.is_sound()
    rerate(store, "bits")
    maintain_pool(store, "bits", owner="test", stop=lambda: False)
    again = {row.player: row.rating for row in leaderboard(store, "bits", limit=1000).players}
    assert again == found
    assert trial.is_sound()


def test_they_are_replaced_before_the_first_match_and_kept_after_it(store: Store) -> None:
    """The same again changes nothing, also later; others are refused with a sentence."""
    trial = Trial(store)
    first = begin(store, "trial", {"old": (1000.0, None)})
    assert (begin(store, "trial", {}).players, trial.ratings()) == (0, {})
    second = begin(store, "trial", now=NOW + 5)
    assert (first.seq, second.seq) == (1, 3)
    assert sorted(trial.ratings()) == ["ana", "ben", "zoe"]
    assert begin(store, "trial", dict(reversed(KNOWN.items())), now=NOW + 9) == second
    trial.post(duel("m", "ana", "new", 1))
    assert begin(store, "trial", now=NOW + 10) == second
    with pytest.raises(ConflictError, match="set before the first match, and pool 'trial' has 1 m"):
        begin(store, "trial", {"ana": (1800.0, None)})
    trial.void("m")
    trial.settle()
    with pytest.raises(ConflictError, match="void and unrated ones included: set them in a new"):
        begin(store, "trial", {})
    assert pool_message(store, "trial").last_seq == 5
    assert trial.is_sound()


def test_they_are_read_page_by_page(store: Store) -> None:
    Trial(store)
    nothing = initial_ratings(store, "trial")
    assert (nothing.summary.seq, nothing.summary.players, nothing.ratings) == (None, 0, [])
    begin(store, "trial")
    first = initial_ratings(store, "trial", limit=2)
    assert [one.player for one in first.ratings] == ["ana", "ben"]
    last = initial_ratings(store, "trial", limit=2, cursor=first.next)
    assert last.ratings == rows({"zoe": KNOWN["zoe"]})
    assert last.next is None
    with pytest.raises(NotFoundError):
        initial_ratings(store, "nowhere")
    # The record has columns instead of objects, so that a long list is read quickly.
    head, line = exported(store, "trial").splitlines()
    assert msgspec.json.decode(head)["equipoise_log"] == 4
    assert msgspec.json.decode(line)["content"] == {
        "players": ["ana", "ben", "zoe"],
        "rating": [1800.0, 1650.5, 1400.0],
        "deviation": [90.0, None, 50.0],
    }


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (InitialRequest(), "ratings must be given, unless pool is"),
        (
            InitialRequest(ratings=[InitialRating("a", 1.0), InitialRating("a", 2.0)]),
            r"ratings\[1\].player must not repeat a player",
        ),
        (InitialRequest(ratings=[InitialRating("a", 1e10)]), r"ratings\[0\].rating must be from"),
        (
            InitialRequest(ratings=[InitialRating("a", 1.0, 1e-9)]),
            r"ratings\[0\].deviation must be from 1e-6",
        ),
        (InitialRequest(ratings=[InitialRating("a\n", 1.0)]), "player must have 1 to 200"),
    ],
)
def test_bad_ratings_are_named(request_: InitialRequest, sentence: str) -> None:
    with pytest.raises(InvalidDataError) as caught:
        initial_content(request_)

    assert re.search(sentence, "\n".join(f"{p.field} {p.rule}" for p in caught.value.problems))


def test_it_is_an_amendment_without_effect_on_matches(store: Store) -> None:
    trial = Trial(store)
    begin(store, "trial", reason="moved here")
    played(trial, 2)
    trial.void("m0")
    (_, first) = amendments(store, "trial").amendments
    assert (first.kind, first.reason, first.status) == ("initial", "moved here", "done")
    assert amendment(store, "trial", 1) == first
    # Disqualified players stay so.
    barred = Trial(store, "barred")
    barred.disqualify("ana")
    begin(store, "barred")
    marks = {row.player: row.disqualified for row in leaderboard(store, "barred", limit=10).players}
    assert marks == {"ana": True, "ben": False, "zoe": False}
    assert barred.is_sound()


def test_a_running_replay_begins_again(store: Store) -> None:
    """One that has the earlier ratings in memory must not write them."""
    trial = Trial(store)
    begin(store, "trial", {"ana": (1000.0, None), "old": (900.0, None)})
    rerate(store, "trial")
    steps: list[int] = []

    def stop() -> bool:
        if not steps:
            steps.append(1)
            begin(store, "trial")
        return False

    with pytest.raises(ConflictError):
        trial.replay(stop=stop)
    trial.settle()
    assert sorted(trial.ratings()) == ["ana", "ben", "zoe"]
    assert trial.is_sound()


def exported(store: Store, pool: str) -> bytes:
    return b"".join(export_bytes(store, pool, "log", "ndjson"))


def test_a_changed_log_is_not_imported_nor_into_another_scale(store: Store, tmp_path: Path) -> None:
    trial = Trial(store)
    begin(store, "trial")
    played(trial, 2)
    log = tmp_path / "log.ndjson"
    for rating, sentence in (
        (b"1950.5,", "must lead to the head"),
        (b"1e400,", "must be a valid record of this kind"),
        (b"", "must be a valid record of this kind"),
    ):
        log.write_bytes(exported(store, "trial").replace(b"1650.5,", rating))
        with pytest.raises(InvalidDataError, match=sentence):
            import_file(store, "copy", log)
    log.write_bytes(exported(store, "trial"))
    history = HistoryRequest(source=str(log))
    request = ImportRequest(history=history, create=True, settings={"system": "glicko"})
    with pytest.raises(InvalidParameterError, match="known ratings of elo, not of glicko"):
        import_pool(store, "copy", request, NOW)
    with pytest.raises(NotFoundError):
        pool_message(store, "copy")
    fine = ImportRequest(history=history, create=True, settings={"late": "append"})
    import_pool(store, "copy", fine, NOW)
    assert pool_message(store, "copy").known_ratings == 3


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "UPDATE log SET content = replace(content, '1650.5', '1950.5') WHERE seq = 1",
            "player ben: the stored rating is",
        ),
        ("UPDATE log SET content = '{}' WHERE seq = 1", "cannot be read"),
        ("UPDATE pools SET initial = 0", "are not the last ones in the log"),
        ("UPDATE pools SET initial = 2", "record 2 of the log has no known ratings"),
        ("UPDATE pools SET known_ratings = 2", "number of players with known ratings differs"),
    ],
)
def test_falsified_ratings_are_found(store: Store, statement: str, sentence: str) -> None:
    trial = Trial(store)
    begin(store, "trial")
    played(trial, 3)
    with store.write() as connection:
        connection.execute(text(statement))
    found = verify_pool(store, "trial")
    assert not found.identical
    assert any(sentence in one for one in found.differences), found.differences


def test_an_erased_player_keeps_the_known_rating(store: Store) -> None:
    """The name is gone from the record, and the chain holds."""
    trial = Trial(store)
    begin(store, "trial", reason="ana asked")
    played(trial)
    before = sorted(trial.ratings().values())
    assert player(store, "trial", "ana").known_rating == 1800.0
    told = erase_player(store, "trial", "ana", ReasonRequest(""), key=None, now=NOW)
    assert told.pools[0].amendments == 1
    assert told.player is not None
    assert player(store, "trial", told.player).known_rating == 1800.0
    assert b"ana" not in exported(store, "trial")
    assert sorted(trial.ratings().values()) == before
    assert trial.is_sound()
    rerate(store, "trial")
    trial.settle()
    assert sorted(trial.ratings().values()) == before
    unplayed = erase_player(store, "trial", "zoe", ReasonRequest(""), key=None, now=NOW)
    assert player(store, "trial", str(unplayed.player)).rating == 1400.0
    assert trial.is_sound()


def test_another_pool_gives_its_ratings_by_a_mapping(store: Store) -> None:
    """One of the same scale as they are; of another, only with two ratings that correspond."""
    chess = Trial(store, "chess", system="glicko")
    played(chess)
    there = chess.ratings()
    Trial(store, "same", system="glicko")
    told = begin(store, "same", pool="chess")
    assert (told.source, told.mapping, told.players) == ("chess", None, 4)
    assert {row.player: row.rating for row in leaderboard(store, "same").players} == there
    other = Trial(store, "other", system="trueskill", parameters={"initial_rating": 25, "beta": 4})
    with pytest.raises(InvalidParameterError, match="has ratings of glicko, not of trueskill"):
        begin(store, "other", pool="chess")
    mapping = InitialMapping(there=(1500.0, 1850.0), here=(25.0, 32.0))
    told = begin(store, "other", pool="chess", mapping=mapping)
    assert told.mapping == mapping
    for name, rating in there.items():
        assert other.ratings()[name] == pytest.approx(25.0 + (rating - 1500.0) / 50.0, rel=1e-12)
        mine, theirs = (player(store, one, name).deviation for one in ("other", "chess"))
        assert mine is not None
        assert theirs is not None
        assert mine == pytest.approx(theirs / 50.0, rel=1e-12)
    # What happens to the other pool later changes nothing here.
    before = other.ratings()
    chess.post(duel("more", "ana", "ben", 10_000))
    other.post(duel("m", "ana", "new", 1))
    assert other.ratings()["ben"] == before["ben"]
    for pool in ("same", "other"):
        assert Trial.existing(store, pool).is_sound()


def test_what_cannot_be_copied_is_refused(sqlite_store: Store) -> None:
    trial = Trial(sqlite_store, "chess", late="replay")
    played(trial)
    Trial(sqlite_store, "new")
    for more, kind, sentence in (
        ({"pool": "new"}, InvalidParameterError, "another pool than 'new'"),
        ({"pool": "nowhere"}, NotFoundError, "no pool 'nowhere'"),
        ({"pool": "chess", "ratings": []}, InvalidParameterError, "cannot be combined"),
    ):
        with pytest.raises(kind, match=sentence):
            begin(sqlite_store, "new", **more)
    for there, here, sentence in (
        ((1.0, 1.0), (1.0, 2.0), "two different ratings"),
        ((1.0, 2.0), (2.0, 1.0), "the higher rating must stay the higher one"),
    ):
        with pytest.raises(InvalidParameterError, match=sentence):
            begin(sqlite_store, "new", pool="chess", mapping=InitialMapping(there, here))
    trial.void("m1")
    with pytest.raises(ConflictError, match="waits for a replay"):
        begin(sqlite_store, "new", pool="chess")


def test_seasons_and_known_ratings(store: Store) -> None:
    """A season keeps them in its archive; a hard reset leaves room for others, a soft one not."""
    trial = Trial(store, system="glicko2")
    begin(store, "trial")
    played(trial)
    end_season(store, "trial", SeasonRequest(season="one", reset="soft"), key=None, now=NOW)
    # Who never played is in the next season too, as everybody with a rating is.
    assert sorted(trial.ratings()) == ["ana", "ben", "cyd", "dee", "zoe"]
    with pytest.raises(ConflictError, match="began with the ratings of the season before"):
        begin(store, "trial")
    with pytest.raises(ConflictError, match="is closed"):
        begin(store, "trial.one", {})
    end_season(store, "trial", SeasonRequest(season="two", reset="hard"), key=None, now=NOW)
    begin(store, "trial")
    trial.post(duel("x", "ana", "new", 10_000))
    trial.post(duel("y", "cyd", "ana", 10_001))
    assert explain_player(store, "trial", "ana", "x").rating_before == 1800.0
    for pool in ("trial", "trial.one", "trial.two"):
        assert Trial.existing(store, pool).is_sound()
    assert initial_ratings(store, "trial.one").summary.players == 3
    assert initial_ratings(store, "trial.two").summary.players == 0


def test_ratings_that_decay_begin_so_too(store: Store) -> None:
    """A player who never played has been away for no time."""
    trial = Trial(
        store, display_decay_per_day=2.0, display_decay_after_days=0.0, placement_matches=1
    )
    begin(store, "trial")
    assert leaderboard(store, "trial").players == []
    trial.post(duel("m", "ana", "ben", 0), duel("n", "ben", "new", 86_400 * 10))
    maintain_pool(store, "trial", owner="test", stop=lambda: False)
    rows = leaderboard(store, "trial", provisional=True).players
    shown = {row.player: row.display for row in rows}
    assert [row.player for row in rows if row.provisional] == ["zoe"]
    assert shown["zoe"] == 1400.0
    assert shown["ana"] == pytest.approx(player(store, "trial", "ana").rating - 20.0)
    assert trial.is_sound()


def test_they_are_not_replaced_without_end(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log keeps each replacement; the same ratings again add nothing, and imports are whole."""
    monkeypatch.setattr(known, "MOST_REPLACED", 1_000)
    Trial(store)
    records = 0
    while log_length(store) <= 1_000:
        records += 1
        begin(store, "trial", {"ana": (1500.0 + records, None)})
    with pytest.raises(ConflictError, match="known ratings that were replaced"):
        begin(store, "trial", {"ana": (1500.0, None)})
    assert begin(store, "trial", {"ana": (1500.0 + records, None)}).seq == records > 2
    assert pool_message(store, "trial").last_seq == records
    export_file(store, "trial", "log", str(tmp_path / "log.ndjson"))
    # One more than the limit lets a pool have.
    monkeypatch.setattr(known, "MOST_REPLACED", 100)
    assert import_file(store, "copy", tmp_path / "log.ndjson").same_head


def log_length(store: Store) -> int:
    with store.read() as connection:
        found = connection.execute(text("SELECT sum(length(content)) FROM log")).scalar()
    return int(found or 0)
