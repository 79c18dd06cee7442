"""Pages of a pool whose players began with known ratings."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.messages.pools import PoolRequest
from web.page import invented
from web.page.test_pages import look


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
