"""Rulesets and days for tests of the simulator."""

from __future__ import annotations

from typing import Any

from equipoise.data.matchmaking import Flexing, MatchingRule, MatchRuleset
from equipoise.matchmaking.arrivals import DayModel
from equipoise.matchmaking.simulation import Plan, SimulatedDay, simulate_day


def ruleset(size: int = 1, tolerance: float | None = None, **more: Any) -> MatchRuleset:
    """Return a ruleset of two teams; flexed : (duration, tolerance) pairs."""
    flexed = more.pop("flexed", ())
    rules = () if tolerance is None else (MatchingRule(attribute="mmr", reference=tolerance),)
    return MatchRuleset(
        min_number=2,
        max_number=2,
        player_min_number=more.pop("least", size),
        player_max_number=size,
        rules=rules,
        flexing_rule=tuple(Flexing("mmr", duration, to) for duration, to in flexed),
        **more,
    )


def steady(rate: float, tickets: float, **more: Any) -> DayModel:
    """Return a day of a constant rate per second, of patient solo tickets, matched at once."""
    plain = {"curve": (1.0,), "party_sizes": (1.0,), "patience": "none", "interval": 0.0}
    return DayModel(tickets=tickets, hours=tickets / rate / 3600, **{**plain, **more})


def day(rules: MatchRuleset, model: DayModel, seed: int = 1, **more: Any) -> SimulatedDay:
    """Return a simulated day."""
    return simulate_day(Plan(label="one", ruleset=rules), model, seed, **more)
