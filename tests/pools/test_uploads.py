"""Files of matches: understood, previewed, and known when they are uploaded again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from equipoise.analysis.requests import HistoryRequest
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.amending import correct_match
from equipoise.pools.exchange.histories import OwnIds, Uploaded, read_upload
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.pool.pools import create_pool, pool_message
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.reading.matches import match
from equipoise.store.connection import Store, open_store

NOW = 1_800_000_000_000_000
ROWS = """date,player 1,player 2,score 1,score 2
2026-10-01,Ada Fox,Bo,3,1
2026-10-01,Ada Fox,Bo,2,0
2026-10-08,Bo,Cy,1,1
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Give a database with an empty pool of duels."""
    store = open_store(f"sqlite:///{tmp_path / 'league.db'}")
    create_pool(store, "league", PoolRequest(system="elo", late="replay", times="datetime"), NOW)
    return store


def read(store: Store, rows: str, **more: object) -> Uploaded:
    """Return what a CSV file would change."""
    options = {"future_seconds": None, **more}
    return read_upload(store, "league", rows.encode(), "csv", NOW, **options)  # type: ignore[arg-type]


def post(store: Store, found: Uploaded) -> None:
    """Post the matches of an upload."""
    (answer,) = post_matches(store, "league", [Post(found.matches)], NOW)
    assert isinstance(answer, list), answer


def test_an_upload_changes_nothing_until_it_is_posted_and_then_what_it_said(store: Store) -> None:
    """Ratings of the preview are those after posting, bit for bit."""
    found = read(store, ROWS)
    assert (found.total, found.players, found.known, found.fault) == (3, 3, 0, None)
    assert found.columns["white_score"] == "score 1"
    assert [one.player for one in found.newcomers] == ["Ada Fox", "Bo", "Cy"]
    assert pool_message(store, "league").matches == 0
    post(store, found)
    told = {one.player: one.rating for one in found.changes}
    last = match(store, "league", "2026-10-08 Bo - Cy")
    assert {p.player: p.rating for team in last.teams for p in team.players} == {
        "Bo": told["Bo"],
        "Cy": told["Cy"],
    }
    assert [team.score for team in last.teams] == [1.0, 1.0]


def test_the_same_file_again_changes_nothing_and_a_longer_one_adds_its_rows(store: Store) -> None:
    """Also with the rows in another order."""
    post(store, read(store, ROWS))
    again = read(store, ROWS)
    assert (again.matches, again.known, again.differing) == ([], 3, [])
    head, *rows = ROWS.splitlines()
    longer = "\n".join([head, "2026-10-15,Cy,Ada Fox,0,2", rows[2], rows[0], rows[1]])
    more = read(store, longer)
    assert [one.match for one in more.matches] == ["2026-10-15 Cy - Ada Fox"]
    assert more.known == 3
    assert more.newcomers == []


def test_a_match_with_another_result_is_named_and_not_posted(store: Store) -> None:
    """After its correction the corrected file is known, and so is the first one."""
    post(store, read(store, ROWS))
    repaired = ROWS.replace("Bo,Cy,1,1", "Bo,Cy,1,2")
    found = read(store, repaired)
    assert (found.matches, found.known, found.differing) == ([], 2, ["2026-10-08 Bo - Cy"])
    teams = [TeamRequest(["Bo"], score=1.0), TeamRequest(["Cy"], score=2.0)]
    wanted = MatchRequest("2026-10-08 Bo - Cy", teams, time="2026-10-08T00:00:00")
    correct_match(store, "league", str(wanted.match), wanted, key=None, now=NOW)
    assert read(store, repaired).known == 3
    assert read(store, ROWS).known == 3


def test_a_misspelled_name_is_noticed_before_it_is_posted(store: Store) -> None:
    """It is a newcomer like a player of the pool."""
    post(store, read(store, ROWS))
    found = read(store, f"{ROWS}2026-10-15,Adda Fox,Bo,1,0\n")
    assert [(one.player, one.like) for one in found.newcomers] == [("Adda Fox", "Ada Fox")]


def test_dates_with_two_meanings_are_read_as_chosen(store: Store) -> None:
    """Without a choice the lines are named; a wrong cell is named in any case."""
    rows = ROWS.replace("2026-10-01", "01.10.2026").replace("2026-10-08", "08.10.2026")
    found = read(store, rows)
    assert found.fault.problems[0].line == 2
    days = [str(one.match)[:10] for one in read(store, rows, dates="%d").matches]
    assert days == ["2026-10-01", "2026-10-01", "2026-10-08"]
    days = [str(one.match)[:10] for one in read(store, rows, dates="%m").matches]
    assert days == ["2026-01-10", "2026-01-10", "2026-08-10"]


def test_problems_name_lines_or_matches_and_bad_matches_can_be_left_out(store: Store) -> None:
    """Those of the file by line, those of the pool by match."""
    broken = ROWS.replace("Bo,Cy,1,1", "Bo,Cy,1,x")
    found = read(store, broken)
    assert [one.line for one in found.fault.problems] == [4]
    left = read(store, broken, skip_bad=True)
    assert (left.total, left.dropped) == (2, 1)
    future = read(store, ROWS.replace("2026-10-08", "2036-10-08"), future_seconds=86_400.0)
    assert future.fault.problems[0].field == "match 2036-10-08 Bo - Cy: time"
    useless = read(store, "nothing,of,use\n1,2,3\n")
    assert useless.fault is not None
    assert "must have the columns" in str(useless.fault)


def test_an_own_id_is_short_and_has_the_day() -> None:
    """However many players there are."""
    many = MatchRequest("1", [TeamRequest([f"player {at}" for at in range(99)], rank=1)] * 2)
    few = MatchRequest("1", [TeamRequest(["a"], 0), TeamRequest(["b"], 1)])
    found = [str(match.match) for match in OwnIds().named([many, few, few])]
    assert len(found[0]) == 16
    assert found[1:] == ["a - b", "a - b (2)"]


def imported(store: Store, path: Path) -> tuple[int, int]:
    """Return how many matches `equipoise db import` records, and how many it knows."""
    done = import_pool(
        store, "league", ImportRequest(history=HistoryRequest(source=str(path))), NOW
    )
    return done.matches, done.known_matches


def test_a_page_and_a_command_give_the_games_of_a_file_the_same_ids(
    store: Store, tmp_path: Path
) -> None:
    """So nothing is recorded twice, whichever reads the file first, and with further rows."""
    path = tmp_path / "games.csv"
    path.write_text(ROWS)
    assert imported(store, path) == (3, 0)
    longer = read(store, ROWS + "2026-10-09,Cy,Bo,0,1\n")
    assert (longer.known, longer.differing, len(longer.matches)) == (3, [], 1)
    post(store, longer)
    path.write_text(ROWS + "2026-10-09,Cy,Bo,0,1\n2026-10-09,Cy,Bo,2,1\n")
    assert imported(store, path) == (1, 4)


def test_a_pool_keeps_games_that_an_earlier_version_named_by_their_numbers(
    store: Store, tmp_path: Path
) -> None:
    teams = [TeamRequest(["Ada Fox"], rank=0), TeamRequest(["Bo"], rank=1)]
    first = MatchRequest("1", teams, time=datetime(2026, 10, 1, tzinfo=UTC))
    post_matches(store, "league", [Post([first])], NOW)
    found = read(store, ROWS)
    assert [match.match for match in found.matches] == ["2", "3"]
    assert (found.known, found.differing) == (0, ["1"])  # it was recorded without scores


def test_matches_with_ids_are_known_to_a_page_when_a_command_has_imported_them(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "games.csv"
    path.write_text("match,date,player 1,player 2,score 1,score 2\n7,2026-10-01,Ada,Bo,3,1\n")
    assert imported(store, path) == (1, 0)
    assert read(store, path.read_text()).known == 1


def test_dates_beside_texts_are_read_with_the_day_first(store: Store) -> None:
    """Also with a row of totals, which is left out."""
    rows = ROWS + "3.11.2026,Bo,Cy,3,1\nTotal games,,,,4\n"
    assert read(store, rows).fault is not None
    found = read(store, rows, dates="%d", skip_bad=True)
    assert [str(match.match) for match in found.matches][-1] == "2026-11-03 Bo - Cy"
    assert (found.total, found.dropped) == (4, 1)
