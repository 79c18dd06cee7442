"""What a page shows belongs together, also where a replay is put in place while it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolChange, PoolRequest
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.pool.settings import change_settings
from equipoise.pools.reading import players
from equipoise.pools.reading.players import rating_timeline, ratings_of_players
from equipoise.pools.reading.questions import explain_player
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import change_pool, get_pool
from equipoise.web.page.context import OverviewCache
from equipoise.web.processes import CalculationProcesses, Work
from pools.pool_trials import Trial, duel
from web.conftest import Serve
from web.conftest import duel as posted
from web.page.invented import DAY, START
from web.page.markup import Page
from web.page.test_forms_at_work import confirm


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    found = open_store(database_url)
    yield found
    found.close()


def test_what_is_read_together_is_of_one_generation(store: Store) -> None:
    """Player, history, timeline, explanation, board and overview, with a replay between any two."""
    pool = Trial(store, system="elo-mmr")
    for at in range(12):
        pool.post(duel(f"m{at}", f"p{at % 3}", f"p{(at + 1) % 3}", at))
    overviews = OverviewCache()
    voided = iter(range(12))

    def changed() -> None:
        pool.void(f"m{next(voided)}")
        assert pool.replay()

    def read(moment: Store) -> list[Any]:
        found: list[Any] = [pool_message(moment, pool.name).generation]
        changed()
        player = players.player(moment, pool.name, "p0")
        changed()
        history = players.player_history(moment, pool.name, "p0", limit=5)
        changed()
        timeline = rating_timeline(moment, pool.name, "p0", most=100)
        changed()
        why = explain_player(moment, pool.name, "p0", None)
        changed()
        board = players.leaderboard(moment, pool.name, limit=9, provisional=True, inactive=True)
        changed()
        ratings = ratings_of_players(moment, pool.name, ["p0"])
        overview = overviews.get(moment, pool.name)
        on_board = next(row for row in board.players if row.player == "p0")
        shown = [player.rating, history.matches[0].rating, timeline.ratings[-1], why.rating]
        found += [*shown, on_board.rating, ratings["p0"][0], board.generation]
        found += [
            pool_message(moment, pool.name).generation,
            len(timeline.ratings),
            overview.overview.mean,
        ]
        return found

    before = players.player(store, pool.name, "p0").rating
    with store.moment() as moment:
        seen = read(moment)
    assert seen[1:7] == [before] * 6
    assert len({seen[0], seen[7], seen[8]}) == 1
    assert players.player(store, pool.name, "p0").rating != before
    assert pool_message(store, pool.name).generation == seen[0] + 6
    # An overview that was made from before the replays is not shown after them.
    assert overviews.get(store, pool.name).overview.mean != seen[10]


def test_a_players_page_opens_one_transaction(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside those that find out who asks, and whether the pool may be read."""
    moments: list[object] = []
    reads: list[object] = []
    moment, read = Store.moment, Store.read

    def counted(self: Store) -> Any:
        moments.append(self)
        return moment(self)

    def counted_read(self: Store) -> Any:
        if type(self) is Store:
            reads.append(self)
        return read(self)

    async def in_this_process(self: CalculationProcesses, work: Work) -> Any:
        """Calculate where calls are counted."""
        store = open_store(self._settings.database, migrate=False)
        try:
            return work.function(store, *work.args, **work.kwargs)
        finally:
            store.close()

    with site.visitor() as client:
        client.get("/pools/arena/players/mio-fox?wait=1")
        monkeypatch.setattr(CalculationProcesses, "run", in_this_process)
        monkeypatch.setattr(Store, "moment", counted)
        monkeypatch.setattr(Store, "read", counted_read)
        answer = client.get("/pools/arena/players/ada-fox?wait=1")
        assert answer.status_code == 200
        assert "Why did the rating change" in answer.text
        assert len(moments) == 1
        moments.clear()
        assert client.get("/pools/arena").status_code == 200
        assert len(moments) == 1


def test_pages_show_the_pool_as_it_is_now(serve: Serve) -> None:
    """Although the checks of requests keep it for as long as they keep keys."""
    served = serve(page=True, key_seconds=3600.0)
    pool = served.pool(public=True)
    host = {"origin": "http://service"}
    served.running.request("POST", "/sign-in", data={"key": served.admin}, headers=host)
    pages = {name: f"/pools/{pool}/{name}" for name in ("settings", "tournament", "amendments")}

    def shown() -> dict[str, Page]:
        return {
            name: Page(served.running.request("GET", path).text) for name, path in pages.items()
        }

    assert "being rated again" not in shown()["amendments"].text
    for at in range(2):
        served.post(f"/v1/pools/{pool}/matches", posted(f"m{at}", time=START + at))
    # As by another service.
    change_settings(served.store, pool, PoolChange(title="Ladder"), START, key=None)
    with served.store.write() as connection:
        leased = {"replay_owner": "another", "replay_until": 2**60}
        change_pool(connection, get_pool(connection, pool).id, dirty=(2**60, 0), **leased)
    now = shown()
    assert "with its 2 matches" in now["settings"].text
    assert now["settings"].field("title") == "Ladder"
    assert now["tournament"].field("until") == "2026-09-01"
    assert "being rated again" in now["amendments"].text


def test_all_opponents_are_counted(site: Any) -> None:
    """The explanation names some of them; the page says how many there were beside those shown."""
    teams = [TeamRequest([f"p{at:02}"], at) for at in range(30)]
    pool = site.new_pool(
        "crowd",
        PoolRequest(system="elo-mmr", public=True),
        [MatchRequest("contest", teams, time=START)],
    )
    with site.visitor() as client:
        page = client.get(f"/pools/{pool}/players/p03?wait=1").text
    shown = page.partition('id="opponents-caption"')[2].partition("</table>")[0].count("<tr>") - 1
    assert shown == 12
    assert "and 17 others with a smaller effect" in page


def test_a_match_without_a_time_is_shown_as_received(site: Any) -> None:
    """On the list, the match's page, the player's page and in the chart."""
    matches = [duel("played", "ana", "ben", START), duel("found", "ana", "ben", None)]
    pool = site.new_pool("untold", PoolRequest(system="elo", public=True), [matches[0], matches[1]])
    with site.visitor() as client:
        rows = client.get(f"/pools/{pool}/matches").text.split("<tr>")
        told = {name: row for row in rows for name in ("played", "found") if f">{name}<" in row}
        assert "<small>received</small>" in told["found"]
        assert "<small>received</small>" not in told["played"]
        assert "<dt>Received</dt>" in client.get(f"/pools/{pool}/matches/found").text
        assert "<dt>Played</dt>" in client.get(f"/pools/{pool}/matches/played").text
        player = client.get(f"/pools/{pool}/players/ana?wait=1").text
        assert player.count("<small>received</small>") == 1
        assert "(received " in player
        assert client.get(f"/pools/{pool}/course/ana").json()["played"] == [True, False]


def test_a_pool_is_set_and_deleted_on_its_page(site: Any) -> None:
    """A setting is saved and told in the log; deletion wants the name, and a key for all pools."""
    pool = site.new_pool("setting", PoolRequest(system="elo"), [duel("a", "ana", "ben", START)])
    where = f"/pools/{pool}/settings"
    with site.visitor(f"{pool} admin") as client:
        page = Page(client.get(where).text)
        assert "Delete the pool" not in page.text
        boxes = [one for one in page.all("input") if one.get("type") == "checkbox"]
        assert boxes
        assert not [one for one in boxes if "checked" in one]
        typed = {
            "token": page.field("token"),
            "late": "append",
            "times": "datetime",
            "placement_matches": "2",
            "inactive_days": "",
            "display_deviations": "0",
            "display_floor": "1234.5",
            "reason": "slow uploads",
        }
        wrong = client.post(where, data={**typed, "placement_matches": "1.5"})
        assert wrong.status_code == 422
        assert "must be a whole number" in wrong.text
        saved = client.post(where, data=typed)
        assert saved.status_code == 303
        shown = Page(client.get(saved.headers["location"]).text)
        assert "Settings saved." in shown.text
        assert shown.field("display_floor") == "1234.5"
        told = site.ask("GET", f"/pools/{pool}").json()
        assert (told["late"], told["times"], told["placement_matches"]) == ("append", "datetime", 2)
        assert "slow uploads" in client.get(f"/pools/{pool}/amendments/{told['last_seq']}").text
        data = {"token": page.field("token"), "confirm": pool}
        assert client.post(f"/pools/{pool}/delete", data=data).status_code == 403
    with site.visitor("admin") as client:
        token = Page(client.get(where).text).field("token")
        refused = client.post(f"/pools/{pool}/delete", data={"token": token, "confirm": "other"})
        assert refused.status_code == 422
        assert site.ask("GET", f"/pools/{pool}").status_code == 200
        done = client.post(f"/pools/{pool}/delete", data={"token": token, "confirm": pool})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        assert site.ask("GET", f"/pools/{pool}").status_code == 404
        assert "deleted the pool" in client.get(f"/audit?pool={pool}").text


def test_who_is_disqualified_is_marked_on_the_board(site: Any) -> None:
    """After all others, without a place; one match can be named instead of a time."""
    pool = site.new_pool(
        "marked",
        PoolRequest(system="elo", public=True, late="replay", placement_matches=0),
        [duel("a", "ana", "ben", START), duel("b", "ana", "cyd", START + DAY)],
    )
    site.perform("POST", f"/pools/{pool}/players/ana/disqualify")
    with site.visitor(f"{pool} admin") as client:
        rows = client.get(f"/pools/{pool}/leaderboard").text.split("<tr")[2:]
        assert [">disqualified<" in row for row in rows] == [False, False, True]
        assert ">ana<" in rows[-1]
        match = client.get(f"/pools/{pool}/matches/a").text
        form = f"/pools/{pool}/disqualify/ben?match=a"
        assert form in match.replace("&amp;", "&")
        page = Page(client.get(form).text)
        data = {"token": page.field("token"), "match": page.field("match"), "since": ""}
        path = f"/pools/{pool}/disqualify/ben"
        told = confirm(client, path, data)
        assert "ben in match a disqualified" in Page(told.text).text
