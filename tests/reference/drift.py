"""Drift by its definitions: sets of players, and every mean taken anew."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.history import History


def mean(values: Mapping[int, float]) -> float:
    return math.fsum(values.values()) / len(values)


def drift(
    history: History,
    trace: Mapping[str, Floats],
    place: list[int],
    reach: int,
    moments: list[int],
    performed: Mapping[int, tuple[float, float]],
) -> list[dict[str, float]]:
    """Return what `evaluate.drift` says of each moment, but for deviations.

    place : of every match; moments : places to look at; reach : of the window
    performed : row -> (first performance, weight) of newcomers
    """
    rows = []
    last: dict[int, int] = {}
    ratings: dict[int, float] = {}
    active: dict[int, float] = {}
    level = start = math.nan
    parts = dict.fromkeys(
        ("by_leaving", "by_entering", "by_matches", "by_performance", "by_level"), 0.0
    )
    created = by_performance = handed = 0.0
    entered: list[float] = []
    rated = match = 0

    def settle(part: str) -> None:
        nonlocal level
        if active:
            parts[part] += mean(active) - level
            level = mean(active)

    def retire(now: int) -> None:
        for player in [player for player in active if now - last[player] > reach]:
            del active[player]
        settle("by_leaving")

    for moment in moments:
        parts = dict.fromkeys(parts, 0.0)
        known, firsts = len(entered), []
        while match < history.matches and place[match] <= moment:
            retire(place[match])
            span = range(int(history.offsets[match]), int(history.offsets[match + 1]))
            played = [i for i in span if not math.isnan(trace["rating"][i])]
            for i in played:
                if int(history.player[i]) not in last:
                    entered.append(float(trace["rating_before"][i]))
                    firsts.append(performed[i])
                active.setdefault(int(history.player[i]), float(trace["rating_before"][i]))
            if played and math.isnan(level):
                level = start = mean(active)
            settle("by_entering")
            for i in played:
                player = int(history.player[i])
                ratings[player] = active[player] = float(trace["rating"][i])
                last[player] = place[match]
                created += trace["rating"][i] - trace["rating_before"][i]
                if "level_adjustment" in trace:
                    handed += trace["level_adjustment"][i]
                    parts["by_level"] += trace["level_adjustment"][i] / len(active)
                if "rating_unscaled" in trace:
                    scaled = trace["rating"][i] - trace["rating_unscaled"][i]
                    by_performance += scaled
                    parts["by_performance"] += scaled / len(active)
            settle("by_matches")
            rated += bool(played)
            match += 1
        retire(moment)
        rows.append(
            {
                "start": start,
                "matches": match,
                "active": len(active),
                "rating": mean(active) if active else math.nan,
                "spread": float(np.std(list(active.values()))) if active else math.nan,
                **parts,
                "players": len(ratings),
                "rating_all": mean(ratings) if ratings else math.nan,
                "rated": rated,
                "created": created,
                "created_by_performance": by_performance,
                "handed": handed,
                "newcomers": len(entered) - known,
                "entered": mean(dict(enumerate(entered[known:]))) if firsts else math.nan,
                "performed": (
                    math.fsum(x * w for x, w in firsts) / math.fsum(w for _, w in firsts)
                    if firsts
                    else math.nan
                ),
                "brought": math.fsum(rating - start for rating in entered),
                "lost": math.fsum(ratings[p] - start for p in ratings if p not in active),
            }
        )
    return rows
