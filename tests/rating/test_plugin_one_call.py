"""One match in one call, for a system of another package."""

from __future__ import annotations

from pathlib import Path

import equipoise as eq
from equipoise.rating.registry import make_system


def test_one_match_in_one_call_is_what_a_replay_gives(football: Path) -> None:
    system = make_system("football-elo", {"home_advantage": 0})
    winner, loser = system.rate([system.rating(), system.rating(1600)])  # type: ignore[attr-defined]
    pool = eq.Pool(system, initial={"ayr": 1500, "bute": 1600})  # type: ignore[arg-type]
    after = pool.rate(["ayr", "bute"])
    assert (after["ayr"], after["bute"]) == (winner, loser)
    assert winner.rating + loser.rating == 3100.0
    again = eq.Rating.from_json(winner.to_json())
    assert again == winner
