"""Where players of a pool begin, on its pages and over HTTP: entry, level, known ratings."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from equipoise.messages.pools import PoolRequest
from web.page import invented
from web.page.markup import Page, confirmation, look
from web.page.site import LONGEST
from web.page.test_forms_at_work import token

LEARNED = {"entry": "learned", "hold_level": 0.3, "entry_weight": 2.0, "level_memory": 20.0}


def test_a_pool_shows_where_newcomers_start(site: Any) -> None:
    """Its overview has entry and level; a player's page the start and the level adjustment."""
    request = PoolRequest(system="elo-mmr", parameters=LEARNED, public=True, placement_matches=0)
    pool = site.new_pool("entry-shown", request, invented.club(15))
    entry = site.ask("GET", f"/pools/{pool}").json()["entry"]
    assert entry["target"] == 1500.0
    with site.visitor() as visitor:
        text = look(visitor, f"/pools/{pool}").text
        assert f"Newcomers start at {entry['rating']:,.0f}" in text
        assert f"Level {entry['level']:,.0f} target: 1,500" in text
        rows = site.perform("GET", f"/pools/{pool}/leaderboard")["players"]
        # The last to begin, when there is a level to adjust to.
        first, player = max(
            (
                (site.perform("GET", f"/pools/{pool}/players/{name}/history")["matches"][-1], name)
                for name in (row["player"] for row in rows)
            ),
            key=lambda begin: begin[0]["seq"],
        )
        query = f"match={first['match']}&wait=1"
        text = look(visitor, f"/pools/{pool}/players/{player}?{query}").text
        assert f"Started at {first['rating_before']:,.0f}" in text
        assert "level adjustment" in text


def test_the_entry_is_changed_after_what_would_happen_was_seen(site: Any) -> None:
    """Over HTTP and on the page: a preview changes nothing, and the change rates all again."""
    pool = site.new_pool(
        "entry-changed", PoolRequest(system="elo-mmr", placement_matches=0), invented.club(30)
    )
    path, begun = f"/pools/{pool}?preview=true", time.monotonic()
    # On a machine that has no kernels yet, they are compiled.
    while (answer := site.ask("PATCH", path, {"parameters": LEARNED})).status_code == 503:
        assert time.monotonic() - begun < LONGEST, answer.text
        time.sleep(0.5)
    shown = answer.json()
    assert (shown["kind"], shown["settings"]) == ("preview", {"parameters": LEARNED})
    assert shown["difference"]["changed"] > 0
    assert site.perform("GET", f"/pools/{pool}")["entry"] is None

    path = f"/pools/{pool}/settings/entry"
    with site.visitor(f"{pool} admin") as admin:
        assert f'href="{path}"' in admin.get(f"/pools/{pool}/settings").text
        fields = {name: str(value) for name, value in LEARNED.items()}
        fields |= {"token": token(admin, path), "reason": "newcomers are weaker"}
        preview = admin.post(path, data=fields)
        assert preview.status_code == 200, preview.text
        text = Page(preview.text).text
        assert f"{shown['difference']['changed']} ratings would change" in text
        seen = confirmation(preview.text)
        wrong = admin.post(path, data={**fields, "hold_level": "2"})
        assert "from 0 to 1" in Page(wrong.text).text
        done = admin.post(path, data={**fields, "do": seen})
        assert (done.status_code, done.headers["location"]) == (303, f"/pools/{pool}/amendments")
        assert site.replayed(pool)["parameters"]["entry"] == "learned"
        text = look(admin, f"/pools/{pool}/amendments/31").text
        assert "hold level" in text
        assert f"{shown['difference']['changed']} ratings changed" in text
        again = admin.post(path, data=fields)
        assert "has these parameters already" in Page(again.text).text


def test_pages_say_who_began_with_a_known_rating(site: Any) -> None:
    """The pool how many; a player at what; amendments that they were set."""
    pool = site.new_pool("begun", PoolRequest(system="elo-mmr", public=True))
    matches = invented.club(4)
    name = str(next(iter(matches[0].teams[0].players)))
    ratings = [
        {"player": name, "rating": 1800, "deviation": 90},
        {"player": "absent", "rating": 1400},
    ]
    known = {"ratings": ratings, "reason": "moved here"}
    site.perform("PUT", f"/pools/{pool}/initial-ratings", known)
    with site.visitor(f"{pool} admin") as judge:
        assert "2 players began with known ratings." in look(judge, f"/pools/{pool}").text
        text = look(judge, f"/pools/{pool}/players/absent").text
        assert "Started with a known rating of 1,400." in text
        site.perform("POST", f"/pools/{pool}/matches", msgspec.to_builtins(matches))
        text = look(judge, f"/pools/{pool}/players/{name}").text
        assert "Started with a known rating of 1,800 ± 176 (95 %)" in text
        other = str(matches[0].teams[1].players[0])
        assert "Started with" not in look(judge, f"/pools/{pool}/players/{other}").text
        text = look(judge, f"/pools/{pool}/amendments/1").text
        assert "Known ratings set" in text
        assert "moved here" in text
