"""Exports and imports: nothing is lost, nothing is counted twice, files are whole or not there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import equipoise as eq
from equipoise.analysis.reading import HistoryRequest, with_performance
from equipoise.errors import (
    ConflictError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
)
from equipoise.messages.matches import (
    MatchRequest,
    ParticipationRequest,
    ReasonRequest,
    TeamRequest,
)
from equipoise.messages.pools import (
    InitialRating,
    InitialRequest,
    PoolChange,
    PoolRequest,
    ProfileRequest,
    ProfilesRequest,
    SeasonRequest,
)
from equipoise.messages.upkeep import LOG_VERSION
from equipoise.pools.amending import void_match
from equipoise.pools.erasing import erase_player
from equipoise.pools.exchange import exporting
from equipoise.pools.exchange.exporting import What, export_bytes, export_file
from equipoise.pools.exchange.histories import pieces_of
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.initial_ratings import initial_content, keep_content
from equipoise.pools.pool.pools import create_pool, pool_message
from equipoise.pools.pool.settings import change_settings
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.profiles import set_profiles
from equipoise.pools.reading.players import leaderboard
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.store import ratings
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import get_pool
from pools.pool_trials import (
    NOW,
    STATISTICS,
    Trial,
    duel,
    every_change,
    fill,
    import_file,
    sealed_log,
    team_season,
)

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

ROOT = Path(__file__).parents[2]
CONTESTS = ROOT / "examples" / "contests.csv"


#: So little is read and written at a time that every table has several pieces.
SMALL = Sizes(matches=7, ratings=9, imported=6)


@pytest.fixture
def store(sqlite_url: str) -> Iterator[Store]:
    found = open_store(sqlite_url, sizes=SMALL)
    yield found
    found.close()


def from_file(path: Path | str, time_format: str | None = None, **more: Any) -> ImportRequest:
    return ImportRequest(history=HistoryRequest(source=str(path), time_format=time_format), **more)


def fill_eventful(store: Store, known: bool = False) -> None:
    """Make a pool with everything that a log can hold: late, void, corrected, disqualified.

    known : also begin with known ratings, erase a player, and name, rename and change more
    """
    history = eq.read_history(CONTESTS)
    if known:
        create_pool(store, "eventful", PoolRequest(late="replay"), NOW)
        rows = [InitialRating("jade-kite", 1800.0, 90.0), InitialRating("zoe", 1650.5, None)]
        content = initial_content(InitialRequest(ratings=rows, reason="moved"))
        keep_content(store, "eventful", content, key=None, now=NOW)
    fill(store, "eventful", history, PoolRequest(late="replay"), size=9)
    times = (history.time // 1_000_000).tolist() if history.time is not None else []
    late = [
        MatchRequest(
            match="late",
            teams=[TeamRequest(["jade-kite"], 3), TeamRequest([7], 5)],
            time=times[4] + 1,
        ),
        MatchRequest(match="now", teams=[TeamRequest(["jade-ant"], 0), TeamRequest(["new"], 0)]),
        MatchRequest(
            match="told",
            teams=[
                TeamRequest(
                    [ParticipationRequest("jade-ant", attributes={"map": "oasis"})], 0, "red"
                ),
                TeamRequest(["jade-kite"], 1, "blue"),
            ],
            time="2030-03-01T10:00:00.250001",
            weight=0.5,
            performance_ceiling=1700.0,
        ),
        MatchRequest(
            match="off", teams=[TeamRequest(["x"], 0), TeamRequest(["y"], 1)], rated=False
        ),
    ]
    for number, match in enumerate(late):
        post_matches(store, "eventful", [Post([match], key=None)], NOW + 1_000_001 * number)
    pool = Trial.existing(store, "eventful")
    pool.void("3", now=NOW + 10_000_000)
    pool.restore("3", now=NOW + 10_000_001)
    reason = ReasonRequest("\u00e9\n")
    void_match(store, "eventful", "5", reason, key=None, now=NOW + 10_000_002)
    pool.correct(duel("8", "jade-kite", "cedar-bear", times[20]), now=NOW + 10_000_003)
    pool.disqualify("jade-ant", times[30], now=NOW + 10_000_004)
    pool.disqualify("new", now=NOW + 10_000_005)
    post_matches(
        store, "eventful", [Post([duel("last", "jade-ant", "new", None)])], NOW + 11_000_000
    )
    if known:
        named = ProfilesRequest([ProfileRequest("zoe", "Zoë", attributes={"country": "NL"})])
        set_profiles(store, "eventful", named, key=None, now=NOW + 12_000_000)
        change_settings(store, "eventful", PoolChange(parameters={"entry": "learned"}), NOW)
        pool.correct(msgspec.structs.replace(late[1], title="Corrected"), now=NOW + 12_000_000)
        pool.rename("amber-deer", "deer", now=NOW + 12_000_000)
        pool.disqualify("jade-kite", match="8", effect="void", now=NOW + 12_000_000)
        reason = ReasonRequest("asked")
        erase_player(store, "eventful", "cedar-bear", reason, key=None, now=NOW + 12_000_000)
    pool.settle()


def stored(store: Store, pool: str) -> tuple[Any, ...]:
    """Return all that is stored of a pool but the keys that posted it."""
    board = leaderboard(store, pool, provisional=True, inactive=True, limit=1000).players
    with store.read() as connection:
        record = get_pool(connection, pool)
        pieces = sealed_log(connection, record.id)
        entries = [one._replace(key=None) for records, _ in pieces for one in records]
        states = [
            row
            for rows in ratings.all_states(connection, record.id, record.generation)
            for row in rows
        ]
        rows = every_change(connection, record)
        learned = {name: one.tolist() for name, one in record.shared.items()}
        same = (record.last_time, record.players, record.settings, record.head, learned)
        return entries, states, rows, *same, board


def test_an_imported_log_is_the_same_pool(database_url: str, tmp_path: Path) -> None:
    """Entry for entry, and every rating and every change to the bit; twice is as good as once."""
    store = open_store(database_url, sizes=SMALL)
    fill_eventful(store, known=True)
    path = tmp_path / "log.ndjson"
    export_file(store, "eventful", "log", str(path))
    again = open_store(f"sqlite:///{tmp_path / 'again.db'}", sizes=SMALL)
    done = import_pool(again, "copy", from_file(path, create=True), NOW + 99)
    assert (done.created, done.matches, done.amendments, done.pending) == (True, 45, 13, False)
    assert done.same_head
    assert stored(again, "copy") == stored(store, "eventful")
    before = pool_message(again, "copy")
    done = import_pool(again, "copy", from_file(path, create=True), NOW + 99)
    assert (done.created, done.matches, done.amendments) == (False, 0, 0)
    assert (done.known_matches, done.known_amendments) == (45, 13)
    assert pool_message(again, "copy") == before
    export_file(again, "copy", "log", str(tmp_path / "copy.jsonl"))
    first, copied = (tmp_path / name for name in ("log.ndjson", "copy.jsonl"))
    assert first.read_bytes().splitlines()[1:] == copied.read_bytes().splitlines()[1:]
    store.close()
    again.close()


def test_the_rest_of_a_log_can_follow(store: Store, tmp_path: Path) -> None:
    """A pool that went on is imported into its copy: only what is new is recorded."""
    history = eq.read_history(CONTESTS).slice(0, 16)
    fill(store, "a", history.slice(0, 8), PoolRequest())
    export_file(store, "a", "log", str(tmp_path / "a.ndjson"))
    import_pool(store, "b", from_file(tmp_path / "a.ndjson", create=True), NOW)
    fill(store, "a", history, PoolRequest())
    export_file(store, "a", "log", str(tmp_path / "a.ndjson"))
    done = import_pool(store, "b", from_file(tmp_path / "a.ndjson"), NOW)
    assert (done.matches, done.known_matches) == (8, 8)
    assert stored(store, "a") == stored(store, "b")


def test_a_season_that_began_with_ratings_begins_with_them_again(
    store: Store, tmp_path: Path
) -> None:
    """Those of players who have not played in it included."""
    history = eq.read_history(CONTESTS)
    fill(store, "league", history.slice(0, 8), PoolRequest())
    end_season(store, "league", SeasonRequest(season="1", reset="soft"), key=None, now=NOW)
    fill(store, "league", history.slice(20, 23), PoolRequest())
    path = tmp_path / "log.ndjson"
    export_file(store, "league", "log", str(path))
    import_pool(store, "copy", from_file(path, create=True), NOW)
    assert stored(store, "copy") == stored(store, "league")
    assert verify_pool(store, "copy").identical
    assert import_pool(store, "copy", from_file(path), NOW).known_matches == 3
    create_pool(store, "other", PoolRequest(), NOW)
    export_file(store, "league.1", "log", str(tmp_path / "archive.ndjson"))
    import_pool(store, "other", from_file(tmp_path / "archive.ndjson"), NOW)
    with pytest.raises(ConflictError, match="started with other ratings"):
        import_pool(store, "other", from_file(path), NOW)
    create_pool(store, "elo", PoolRequest(system="elo"), NOW)
    with pytest.raises(InvalidDataError, match="of another system"):
        import_pool(store, "elo", from_file(path), NOW)


def test_the_tables_are_those_of_the_command_rate(store: Store, tmp_path: Path) -> None:
    """The ratings and the trace of the same history, column by column."""
    history = eq.read_history(CONTESTS)
    fill(store, "contests", history, PoolRequest())
    there = eq.replay(eq.EloMMR(), history, trace=True)
    assert there.trace is not None
    tables: list[tuple[What, Any]] = [("ratings", there.ratings), ("changes", there.trace)]
    for (what, expected), suffix in product(tables, ("csv", "parquet", "ndjson")):
        path = tmp_path / f"{what}.{suffix}"
        export_file(store, "contests", what, str(path))
        if suffix == "ndjson":
            found = pl.read_ndjson(path, infer_schema_length=None)
        else:
            found = pl.read_csv(path) if suffix == "csv" else pl.read_parquet(path)
        wanted = expected.file_table().with_columns(pl.col("^match$").cast(pl.String))
        found = found.with_columns(pl.col("^match$").cast(pl.String))
        assert_frame_equal(found, wanted, check_exact=True)


def test_the_matches_that_count_are_a_history_that_rates_alike(
    store: Store, tmp_path: Path
) -> None:
    """Void matches are gone, corrections made, disqualified players left out."""
    fill_eventful(store)
    export_file(store, "eventful", "ratings", str(tmp_path / "ratings.parquet"))
    found = pl.read_parquet(tmp_path / "ratings.parquet")
    # Who is disqualified comes after all others in the table of the pool.
    assert found["disqualified"].to_list() == sorted(found["disqualified"].to_list())
    columns = ["player", "rating", "deviation", "matches"]
    for suffix in ("csv", "parquet"):
        path = tmp_path / f"log.{suffix}"
        export_file(store, "eventful", "log", str(path))
        history = eq.read_history(path)
        assert {"5", "off"}.isdisjoint(set(history.match_ids.astype(str).tolist()))
        assert "map" not in history.attributes
        rated = eq.replay(eq.EloMMR(), history).ratings.file_table()
        wanted = rated.with_columns(pl.col("player").cast(pl.String)).select(columns)
        assert_frame_equal(
            found.select(columns).sort("player"), wanted.sort("player"), check_exact=True
        )


def test_statistics_shares_and_teams_survive(store: Store, tmp_path: Path) -> None:
    season = eq.read_history(team_season(), statistics=tuple(STATISTICS))
    request = PoolRequest(system="team-glicko2", statistics=STATISTICS)
    fill(store, "teams", season, request)
    path = str(tmp_path / "teams.csv")
    export_file(store, "teams", "log", path)
    again = eq.read_history(path, statistics=tuple(STATISTICS))
    assert_frame_equal(again.to_polars(), season.to_polars(), check_column_order=False)
    played = with_performance(again, STATISTICS)
    trace = eq.replay(eq.TeamGlicko2(), played, trace=True).trace
    wanted = trace.file_table()
    export_file(store, "teams", "changes", str(tmp_path / "changes.parquet"))
    found = pl.read_parquet(tmp_path / "changes.parquet")
    numbers = [name for name in wanted.columns if name != "team"]
    assert_frame_equal(found.select(numbers), wanted.select(numbers), check_exact=True)
    done = import_pool(
        store,
        "again",
        from_file(path, create=True, settings={"system": "team-glicko2", "statistics": STATISTICS}),
        NOW,
    )
    assert done.matches == season.matches
    assert stored(store, "again")[1:4] == stored(store, "teams")[1:4]


@pytest.mark.parametrize("lower", [False, True])
def test_a_history_by_scores_is_imported_with_its_places(
    store: Store, tmp_path: Path, lower: bool
) -> None:
    """What `at_home` says counts as `elo` reads it, "No" too."""
    path = tmp_path / "scores.csv"
    path.write_text("match,player,score,at_home\n1,a,3,No\n1,b,4,Yes\n2,a,5,No\n2,b,5,No\n")
    history = HistoryRequest(source=str(path), lower_score_is_better=lower)
    done = import_pool(store, "scores", ImportRequest(history=history, create=True), NOW)
    assert any("score decides the places" in note for note in done.history.notes)
    first, second = (msgspec.json.decode(one.content) for one in stored(store, "scores")[0])
    assert [team["rank"] for team in first["teams"]] == ([0, 1] if lower else [1, 0])
    assert [team["rank"] for team in second["teams"]] == [0, 0]
    at_home = [one["at_home"] for team in first["teams"] for one in team["players"]]
    assert at_home == [False, True]


def test_what_the_pool_does_not_use_is_said_or_refused(store: Store, tmp_path: Path) -> None:
    """Refused before the pool is made, or anything is recorded."""
    path = tmp_path / "shares.csv"
    path.write_text("match,player,rank,share,kills\n1,a,0,0.5,3\n1,b,1,1,4\n")
    history = HistoryRequest(source=str(path), strict=True)
    settings = {"system": "elo", "statistics": {"kills": 1.0}}
    request = ImportRequest(history=history, create=True, settings=settings)
    line = "elo does not use share, --stat: no rating depends on them"
    with pytest.raises(InvalidParameterError, match=line):
        import_pool(store, "shares", request, NOW)
    with pytest.raises(NotFoundError):
        pool_message(store, "shares")
    done = import_pool(store, "shares", from_file(path, create=True, settings=settings), NOW)
    assert line in done.history.notes
    again = ImportRequest(history=history)
    with pytest.raises(InvalidParameterError, match="does not use share"):
        import_pool(store, "shares", again, NOW)


def test_columns_that_mean_something_else_are_named_apart(store: Store, tmp_path: Path) -> None:
    create_pool(store, "odd", PoolRequest(system="elo", times="none"), NOW)
    told = ParticipationRequest(
        "a", attributes={"rank": "major", "size": 3, "big": 2**70, "on": True, "mixed": 1}
    )
    other = ParticipationRequest("b", attributes={"size": 2.5, "mixed": "x", "on": None})
    teams = [TeamRequest([told], 0, "t"), TeamRequest([other], 4, "t")]
    post_matches(store, "odd", [Post([MatchRequest(match="m", teams=teams)])], NOW)
    export_file(store, "odd", "log", str(tmp_path / "odd.parquet"))
    found = pl.read_parquet(tmp_path / "odd.parquet").to_dicts()
    assert found == [
        {"match": "m", "player": "a", "team": "1", "rank": 0, "attributes.rank": "major"}
        | {"big": float(2**70), "mixed": "1", "on": True, "size": 3.0},
        {"match": "m", "player": "b", "team": "2", "rank": 1, "attributes.rank": None}
        | {"big": None, "mixed": "x", "on": None, "size": 2.5},
    ]


def test_whole_numbers_beyond_floats_are_exported_as_text(store: Store, tmp_path: Path) -> None:
    """Beside smaller numbers and alone; the log keeps them as they were posted."""
    create_pool(store, "vast", PoolRequest(system="elo", times="none"), NOW)
    players = [
        ParticipationRequest("a", attributes={"alone": -(10**400), "beside": 10**400}),
        ParticipationRequest("b", attributes={"beside": 2.5, "most": int(sys.float_info.max)}),
    ]
    teams = [TeamRequest([one], rank) for rank, one in enumerate(players)]
    post_matches(store, "vast", [Post([MatchRequest(match="m", teams=teams)])], NOW)
    for suffix in ("csv", "parquet", "ndjson"):
        export_file(store, "vast", "log", str(tmp_path / f"vast.{suffix}"))
    found = pl.read_parquet(tmp_path / "vast.parquet")
    assert found["alone"].to_list() == [str(-(10**400)), None]
    assert found["beside"].to_list() == [str(10**400), "2.5"]
    assert found["most"].to_list() == [None, sys.float_info.max]
    assert eq.read_history(tmp_path / "vast.csv").matches == 1
    import_pool(store, "again", from_file(tmp_path / "vast.ndjson", create=True), NOW)
    assert stored(store, "again") == stored(store, "vast")


def test_an_empty_pool_has_its_columns(store: Store, tmp_path: Path) -> None:
    create_pool(store, "empty", PoolRequest(), NOW)
    for what in ("ratings", "changes", "log"):
        for suffix in ("csv", "parquet"):
            export_file(store, "empty", what, str(tmp_path / f"{what}.{suffix}"))  # type: ignore[arg-type]
            read = pl.read_csv if suffix == "csv" else pl.read_parquet
            assert {"player"} <= set(read(tmp_path / f"{what}.{suffix}").columns)
    export_file(store, "empty", "log", str(tmp_path / "log.ndjson"))
    import_pool(store, "too", from_file(tmp_path / "log.ndjson", create=True), NOW)
    assert pool_message(store, "too").last_seq == 0


def test_what_cannot_be_exported_is_refused_at_once(store: Store, tmp_path: Path) -> None:
    create_pool(store, "empty", PoolRequest(), NOW)
    with pytest.raises(NotFoundError, match="no pool"):
        export_bytes(store, "none", "log", "csv")
    with pytest.raises(InvalidParameterError, match="what must be one of log, ratings, changes"):
        export_bytes(store, "empty", "all", "csv")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="format must be one of csv, parquet, ndjson"):
        export_bytes(store, "empty", "log", "xml")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="must end in"):
        export_file(store, "empty", "log", str(tmp_path / "log.txt"))
    with pytest.raises(NotFoundError):
        export_file(store, "none", "log", str(tmp_path / "log.csv"))
    assert not list(tmp_path.glob("log*"))


def test_an_export_that_fails_leaves_no_file(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, "contests", eq.read_history(CONTESTS), PoolRequest())
    path = tmp_path / "ratings.csv"
    path.write_text("before")

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError("full")

    monkeypatch.setattr(exporting, "_encoded", fail)
    with pytest.raises(OSError, match="full"):
        export_file(store, "contests", "ratings", str(path))
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.glob("*rat*")] == ["ratings.csv"]


def damaged(lines: list[bytes], number: int, **changed: object) -> bytes:
    line = msgspec.json.decode(lines[number])
    line.update(changed)
    return b"\n".join([*lines[:number], msgspec.json.encode(line), *lines[number + 1 :], b""])


def test_options_of_histories_are_refused_for_a_log(store: Store, tmp_path: Path) -> None:
    """A log is imported as it is: an option that did nothing would mislead."""
    fill(store, "contests", eq.read_history(CONTESTS).slice(0, 5), PoolRequest())
    path = tmp_path / "log.ndjson"
    export_file(store, "contests", "log", str(path))
    history = HistoryRequest(source=str(path), synonyms="s.csv", since="2024-01-01")
    with pytest.raises(InvalidParameterError, match=r"leave out --from, --synonyms: a log"):
        import_pool(store, "copy", ImportRequest(history=history, create=True), NOW)


def test_a_damaged_log_records_nothing(store: Store, tmp_path: Path) -> None:
    """Cut short, out of order, of a later version, or with entries that are none."""
    fill(store, "contests", eq.read_history(CONTESTS).slice(0, 5), PoolRequest())
    path = tmp_path / "log.ndjson"
    export_file(store, "contests", "log", str(path))
    whole = path.read_bytes()
    lines = whole.splitlines()
    for content, message in (
        (whole[:-200], "must be a log record"),
        (b"\n".join(lines[:-1]) + b"\n", "must have 5 records, as its first line says; got 4"),
        (damaged(lines, 3, seq=9), "must be 3: records are numbered"),
        (damaged(lines, 0, equipoise_log=LOG_VERSION + 1), "the versions of logs"),
        (damaged(lines, 0, entries="many"), "must be the head"),
        (damaged(lines, 2, kind="party"), "must be a log record"),
        (damaged(lines, 2, received="yesterday"), "must be a log record"),
        (damaged(lines, 2, received="2024-01-01"), "must lead to the head"),
        (damaged(lines, 2, salt="AAAA"), "must lead to the head"),
        (damaged(lines, 0, head="00"), "must lead to the head"),
        (damaged(lines, 2, content={"teams": 3}), "must be a valid record of this kind"),
        (damaged(lines, 2, kind="void", content=[]), "must be a valid record of this kind"),
    ):
        path.write_bytes(content)
        with pytest.raises(InvalidDataError, match=message):
            import_pool(store, "copy", from_file(path, create=True), NOW)
        with pytest.raises(NotFoundError):
            pool_message(store, "copy")


def test_a_history_is_imported_once(store: Store) -> None:
    """Its times decide how the pool writes times; ratings are those of the command rate."""
    done = import_pool(store, "new", from_file(CONTESTS, create=True), NOW)
    assert (done.created, done.matches, done.known_matches) == (True, 40, 0)
    assert done.history.matches == 40
    assert pool_message(store, "new").times == "seconds"
    done = import_pool(store, "new", from_file(CONTESTS), NOW)
    assert (done.created, done.matches, done.known_matches) == (False, 0, 40)
    rated = eq.replay(eq.EloMMR(), eq.read_history(CONTESTS)).ratings
    with store.read() as connection:
        record = get_pool(connection, "new")
        found = ratings.ratings_of(connection, record.id, 1, rated.player_ids.tolist())
    assert {name: row.rating for name, row in found.items()} == dict(
        zip(rated.player_ids.tolist(), rated.rating.tolist(), strict=True)
    )


def test_a_pool_is_made_as_it_is_asked_for(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "duels.csv"
    path.write_text("match,player,rank\n1,a,0\n1,b,1\n")
    settings = {"system": "elo", "parameters": {"k": "16"}, "public": True}
    import_pool(store, "duels", from_file(path, create=True, settings=settings), NOW)
    found = pool_message(store, "duels")
    assert (found.system, found.parameters["k"], found.times) == ("elo", 16.0, "none")
    assert found.public
    import_pool(store, "duels", from_file(path, create=True, settings=settings), NOW)
    with pytest.raises(
        ConflictError, match="already exists with different settings: system is 'elo'"
    ):
        import_pool(
            store, "duels", from_file(path, create=True, settings={"system": "glicko"}), NOW
        )
    with pytest.raises(InvalidParameterError, match="Invalid enum value 'never'"):
        import_pool(store, "x", from_file(path, create=True, settings={"late": "never"}), NOW)


def test_what_does_not_fit_the_pool_is_refused(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "more.csv"
    path.write_text("match,time,player,rank\nold,5,a,0\nold,5,b,1\n")
    with pytest.raises(NotFoundError, match="no pool 'none'; add --create to create it"):
        import_pool(store, "none", from_file(path), NOW)
    with pytest.raises(InvalidDataError, match="no such file or directory"):
        import_pool(store, "none", from_file(tmp_path / "no.csv", create=True), NOW)
    fill(store, "contests", eq.read_history(CONTESTS), PoolRequest())
    with pytest.raises(InvalidDataError, match="match old, time: must not be before the last"):
        import_pool(store, "contests", from_file(path, time_format="s"), NOW)
    path.write_text("match,player,rank\n1,a,0\n1,b,1\n")
    with pytest.raises(InvalidParameterError, match="the pool has times, and the history none"):
        import_pool(store, "contests", from_file(path), NOW)
    path.write_text("match,time,player,rank\n1,1577836800,a,0\n1,1577836800,b,1\n")
    with pytest.raises(ConflictError, match="already recorded with different content: 1"):
        import_pool(store, "contests", from_file(path), NOW)
    create_pool(store, "plain", PoolRequest(times="none"), NOW)
    with pytest.raises(InvalidParameterError, match="the pool has no times"):
        import_pool(store, "plain", from_file(CONTESTS), NOW)


def test_an_amendment_that_contradicts_the_pool_is_told_with_its_line(
    store: Store, tmp_path: Path
) -> None:
    fill(store, "a", eq.read_history(CONTESTS).slice(0, 3), PoolRequest())
    fill(store, "b", eq.read_history(CONTESTS).slice(0, 3), PoolRequest())
    void_match(store, "a", "2", ReasonRequest(), key=None, now=NOW)
    void_match(store, "b", "2", ReasonRequest(), key=None, now=NOW + 1)
    path = tmp_path / "a.ndjson"
    export_file(store, "a", "log", str(path))
    with pytest.raises(ConflictError, match=r"a\.ndjson, line 5: match '2' is already void"):
        import_pool(store, "b", from_file(path), NOW)


@pytest.mark.parametrize("first", [45_322, 20_240_131, 2_024_013_100, -86_400, 1_700_000_000.25])
def test_tables_of_a_pool_are_read_back_whatever_its_seconds_are(
    store: Store, tmp_path: Path, first: float
) -> None:
    """Over HTTP an integer is seconds since 1970; a table says so where a reader would not."""
    times = [first, first + 1, first + 2]
    matches = [
        MatchRequest(
            match=f"m{number}",
            teams=[TeamRequest(["ann"], number % 2), TeamRequest(["bob"], 1 - number % 2)],
            time=time if isinstance(time, int) else datetime.fromtimestamp(time, UTC).isoformat(),
        )
        for number, time in enumerate(times)
    ]
    create_pool(store, "early", PoolRequest(system="elo"), NOW)
    # One of the times is ahead of the clock.
    post_matches(store, "early", [Post(matches)], NOW, future_seconds=None)
    expected = [int(time * 1_000_000) for time in times]
    for suffix in ("csv", "parquet", "ndjson"):
        if suffix != "ndjson":  # the log as lines of JSON is no table
            path = tmp_path / f"log.{suffix}"
            export_file(store, "early", "log", str(path))
            assert eq.read_history(path).time.tolist() == expected
        path = tmp_path / f"changes.{suffix}"
        export_file(store, "early", "changes", str(path))
        format = "jsonl" if suffix == "ndjson" else suffix
        assert eq.read_history(str(path), format=format).time.tolist() == expected
    path = tmp_path / "ratings.parquet"
    export_file(store, "early", "ratings", str(path))
    last = pl.read_parquet(path)["last_time"]
    # The last one may be plain where the first was not.
    last = last * 1_000_000 if last.dtype == pl.Int64 else last.to_physical()
    assert last.unique().to_list() == expected[-1:]


def test_an_order_comes_into_a_pool_without_times_only(store: Store, tmp_path: Path) -> None:
    """In its order; the pool with times says how the numbers become seconds."""
    path = tmp_path / "rounds.csv"
    path.write_text("match,time,player,rank\nb,2,x,0\nb,2,y,1\na,1,x,1\na,1,y,0\n")
    done = import_pool(store, "rounds", from_file(path, create=True), NOW)
    assert done.matches == 2
    with store.read() as connection:
        record = get_pool(connection, "rounds")
        records = [one for piece, _ in sealed_log(connection, record.id) for one in piece]
        assert [one.match for one in records] == ["a", "b"]
    assert pool_message(store, "rounds").times == "none"
    create_pool(store, "timed", PoolRequest(), NOW)
    with pytest.raises(InvalidParameterError, match="--time-format s"):
        import_pool(store, "timed", from_file(path), NOW)
    assert import_pool(store, "timed", from_file(path, time_format="s"), NOW).matches == 2


def test_a_log_of_the_version_before_is_imported(store: Store) -> None:
    """Version 1 knew neither changed settings nor disqualifications from one match."""
    path = Path(__file__).parent.parent / "trials" / "log_1.ndjson"
    found = import_file(store, "ladder", path)
    assert (found.matches, found.amendments, found.pending) == (21, 5, False)
    board = leaderboard(store, "ladder", provisional=True).players
    assert {row.player for row in board if row.disqualified} == {"ana", "cyd"}
    assert verify_pool(store, "ladder").identical


def test_a_history_is_imported_in_slices_of_bounded_size() -> None:
    """At most so many matches, and of large ones fewer, but each once and in order."""
    sizes = [2, 2, 2, 30, 3, 9, 1, 1, 1, 1]
    history = eq.read_history(
        pl.DataFrame(
            [
                (match, match, f"p{player}", player)
                for match, size in enumerate(sizes, 1)
                for player in range(size)
            ],
            schema=["match", "time", "player", "rank"],
            orient="row",
        )
    )
    slices = list(pieces_of(history, 3))
    assert slices == [(0, 3), (3, 4), (4, 6), (6, 9), (9, 10)]
