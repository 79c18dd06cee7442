"""Days of a queue: how fast, and how exact.

Speed: a day of a million tickets, 1 against 1 and 5 against 5, with ticks every second, one
distance rule that is flexed twice, and three regions, on one core by compiled rules. Kernels are
compiled before. Times are of the processor. "Day" draws the people and runs the queue; "measures"
are those of the command. Memory is the most that the process of the row had.

Exact: Poisson arrivals against the exact results of queueing theory, a million tickets each (two
million for 2 against 2, four days of 1.7 million for the two roles).
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import time
from dataclasses import replace

import numpy as np

from equipoise.data.matchmaking import Flexing, MatchingRule, MatchOption, MatchRuleset
from equipoise.matchmaking.arrivals import DayModel
from equipoise.matchmaking.compiled import EXPIRED, GAVE_UP, MATCHED, WAITING
from equipoise.matchmaking.measures import matches_of, measures
from equipoise.matchmaking.simulation import Plan, SimulatedDay, simulate_day
from report import report

MILLION = 1e6


def ruleset(
    size: int, tolerance: float | None, option: str | None = None, flexed: tuple[Flexing, ...] = ()
) -> MatchRuleset:
    """Return a ruleset of two teams of this size."""
    rules = () if tolerance is None else (MatchingRule(attribute="mmr", reference=tolerance),)
    options = () if option is None else (MatchOption("class", option),)
    return MatchRuleset(
        min_number=2,
        max_number=2,
        player_min_number=size,
        player_max_number=size,
        rules=rules,
        flexing_rule=flexed,
        match_options=options,
        region_latency_max_ms=200,
    )


FLEXED = (Flexing("mmr", 20, 100.0), Flexing("mmr", 40, 200.0))


def _timed(size: int) -> tuple[float, float, float, float, float]:
    """Return seconds of the day and of its measures, GB, mean wait and share matched."""
    rules = ruleset(size, 50.0, flexed=FLEXED)
    model = DayModel(tickets=MILLION, regions="three")
    plan = Plan(label="one", ruleset=rules)
    small = replace(model, tickets=1000.0, hours=1.0)
    _measured(simulate_day(plan, small, 0))
    start = time.process_time()
    day = simulate_day(plan, model, 1)
    ran = time.process_time()
    found = _measured(day)
    done = time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    matched = float(np.mean(day.outcome.status == MATCHED))
    return ran - start, done - ran, memory, found["wait_mean"], matched


def _measured(day: SimulatedDay) -> dict[str, float]:
    return measures(day, matches_of(day))


def speed() -> list[list[str]]:
    """Return the rows of speed, each measured in a process of its own."""
    rows = []
    for size in (1, 5):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            day, after, memory, wait, matched = pool.apply(_timed, (size,))
        name = f"{size} against {size}"
        rows.append(
            [
                name,
                f"day {day:.1f} s, measures {after:.1f} s, {memory:.2f} GB",
                f"mean wait {wait:.1f} s, {100 * matched:.1f} % matched",
                "aim: 5 s" if size == 1 else "aim: 60 s",
            ]
        )
    return rows


def _steady(rate: float, tickets: float, **more: object) -> DayModel:
    plain: dict[str, object] = {"curve": (1.0,), "party_sizes": (1.0,), "patience": "none"}
    hours = tickets / rate / 3600
    return DayModel(**{"tickets": tickets, "hours": hours, "interval": 0.0, **plain, **more})  # type: ignore[arg-type]


def _waits(day: SimulatedDay) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    left: np.ndarray[tuple[int], np.dtype[np.float64]]
    left = (day.outcome.left - day.people.created)[day.outcome.status != WAITING]
    return left


def exact() -> list[list[str]]:
    """Return the rows of exact results."""
    rows: list[list[str]] = []

    def row(name: str, expected: float, found: float) -> None:
        off = f"{100 * (found / expected - 1):+.2f} %"
        rows.append([name, f"exact {expected:.4f}", f"simulated {found:.4f}", off])

    def day(rules: MatchRuleset, model: DayModel, seed: int = 1) -> SimulatedDay:
        return simulate_day(Plan(label="one", ruleset=rules), model, seed)

    duel = ruleset(1, None)
    wait = _waits(day(duel, _steady(1, MILLION)))
    row("1 against 1: mean wait", 0.5, float(wait.mean()))
    row("1 against 1: variance", 0.75, float(wait.var()))
    row("1 against 1: 95 % quantile", math.log(10), float(np.quantile(wait, 0.95)))
    row("1 against 1: 99 % quantile", math.log(50), float(np.quantile(wait, 0.99)))
    wait = _waits(day(duel, _steady(1, MILLION, interval=2.0)))
    row("1 against 1, ticks every 2 s: mean wait", 1.5, float(wait.mean()))
    wait = _waits(day(ruleset(5, None), _steady(1, MILLION)))
    row("10 solos a match: mean wait", 4.5, float(wait.mean()))
    row("10 solos a match: variance", 33 - 81 / 4, float(wait.var()))
    wait = _waits(day(ruleset(1, None, "all"), _steady(1, MILLION, classes=(8.0, 1.0, 1.0))))
    row("3 classes, shares 8, 1, 1: mean wait", 1.5, float(wait.mean()))
    both = ruleset(1, 0.0, flexed=(Flexing("mmr", 10, 1e9),))
    wait = _waits(day(both, _steady(1, MILLION, interval=0.5)))
    row("tolerance 0 for 10 s, ticks every 0.5 s: mean wait", 10.75, float(wait.mean()))
    hasty = day(duel, _steady(1, MILLION, patience="exponential", patience_mean=5.0))
    row("patience 5 s: mean over all", 1 / 2.2, float(_waits(hasty).mean()))
    row("patience 5 s: share that gives up", 0.2 / 2.2, _share(hasty, GAVE_UP))
    short, e = day(duel, _steady(1, MILLION, expires_after=0.7)), math.exp(-0.7)
    row("expiry at 0.7 s: mean over all", (1 - e) / (2 - e), float(_waits(short).mean()))
    row("expiry at 0.7 s: share that expires", e / (2 - e), _share(short, EXPIRED))
    roles = _steady(1.7, 1.7e6, classes=(1.0, 0.7), patience="exponential", patience_mean=5.0)
    days = [day(ruleset(1, None, "unique"), roles, seed) for seed in range(4)]
    for group, (name, expected) in enumerate((("tanks", 1.8094), ("healers", 0.44203))):
        mean = np.mean([_waits_of(one, one.people.group == group) for one in days])
        row(f"two roles, 1 and 0.7: wait of {name}", expected, float(mean))
    for solos, duos, waits in (
        (1.0, 1.0, (7 / 8, 5 / 16)),
        (2.0, 1.0, (19 / 36, 2 / 9)),
        (1.0, 2.0, (13 / 18, 7 / 36)),
        (4.0, 1.0, (61 / 200, 7 / 50)),
    ):
        mixed = day(ruleset(2, None), _steady(solos + duos, 2 * MILLION, party_sizes=(solos, duos)))
        for size, expected in enumerate(waits, start=1):
            who = ("solos", "duos")[size - 1]
            name = f"2 against 2, {solos:g} solos to {duos:g} duos: wait of {who}"
            row(name, expected, _waits_of(mixed, mixed.people.size == size))
    return rows


def _share(day: SimulatedDay, status: int) -> float:
    return float(np.mean(day.outcome.status == status))


def _waits_of(day: SimulatedDay, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    left = chosen & (day.outcome.status != WAITING)
    return float((day.outcome.left - day.people.created)[left].mean())


if __name__ == "__main__":
    report(
        "matchmaking_day",
        (__doc__ or "").strip(),
        ["case", "first", "second", "remark"],
        [*speed(), *exact()],
    )
