"""What matching by rating does to ratings: their error by games played, and islands.

Convergence: 300 players return with probability 0.97 for a day, and every match is rated. A match
is made within 100 points of the rating, or between anybody. The error is the root mean square of
rating minus true skill, without its mean, at visits after so many games; means of five days with
different seeds, and differences with 95 % intervals of Student's t, paired by seed. team-glicko2
plays 2 against 2, the others 1 against 1.

Islands: half of the players belong to each of two regions, and those of the second are better by
300 points. Their matches are made within 100 points. The gap is the difference of the mean ratings
after 10 games or more: 300 if the scales agree.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.data.matchmaking import MatchingRule, MatchOption, MatchRuleset
from equipoise.matchmaking.arrivals import DayModel, draw_people
from equipoise.matchmaking.comparing import interval
from equipoise.matchmaking.measures import GAMES, by_games
from equipoise.matchmaking.simulation import Plan, SimulatedDay, simulate_day
from equipoise.rating.registry import make_system
from report import keep_numbers, report

DAYS = 5
#: System -> players of a team.
SYSTEMS = {"elo": 1, "glicko2": 1, "trueskill": 1, "team-glicko2": 2}
BINS = GAMES[:6]
BETTER = 300.0
MODEL = DayModel(
    tickets=300,
    curve=(4.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    start_hour=0.0,
    party_sizes=(1.0,),
    patience="none",
    interval=5.0,
    return_probability=0.97,
    idle_minutes=10.0,
    match_minutes=15.0,
)


def ruleset(size: int, tolerance: float, option: str = "disable") -> MatchRuleset:
    """Return a ruleset of two teams of this size; option : type of the attribute `class`."""
    return MatchRuleset(
        min_number=2,
        max_number=2,
        player_min_number=size,
        player_max_number=size,
        rules=(MatchingRule(attribute="mmr", reference=tolerance),),
        match_options=(MatchOption("class", option),),
    )


def convergence(name: str) -> dict[str, list[list[float]]]:
    """Return the error of each day and number of games, for matches near and between anybody."""
    errors: dict[str, list[list[float]]] = {}
    for label, tolerance in (("within 100 points", 100.0), ("anybody", 1e9)):
        plan = Plan(
            label=label, ruleset=ruleset(SYSTEMS[name], tolerance), system=make_system(name)
        )
        for seed in range(DAYS):
            rows = {row["games_from"]: row for row in by_games(simulate_day(plan, MODEL, seed))}
            errors.setdefault(label, []).append([rows[low]["rating_error"] for low in BINS])
    return errors


def gap(day: SimulatedDay) -> float:
    """Return the difference of the mean ratings of the two regions after 10 games or more."""
    assert day.rated is not None
    region = np.repeat(day.people.group, day.people.size)
    often = day.rated.games >= 10
    means = [float(day.rated.rating[often & (region == one)].mean()) for one in (0, 1)]
    return means[1] - means[0]


def islands(name: str) -> dict[str, list[float]]:
    """Return the gap of each day, for regions that never meet and for one queue."""
    model = replace(MODEL, classes=(0.5, 0.5))
    gaps: dict[str, list[float]] = {}
    for label, option in (("never meet", "all"), ("one queue", "disable")):
        rules = ruleset(SYSTEMS[name], 100.0, option)
        plan = Plan(label=label, ruleset=rules, system=make_system(name))
        gaps[label] = []
        for seed in range(DAYS):
            people = draw_people(model, seed, largest=1)
            # Parties are single players, so tickets are players.
            people = people._replace(skill=people.skill + BETTER * people.group)
            gaps[label].append(gap(simulate_day(plan, model, seed, people=people)))
    return gaps


def main() -> None:
    """Measure, report, and keep the numbers of the figure."""
    rows, kept = [], {}
    for name in SYSTEMS:
        errors = {label: np.array(days) for label, days in convergence(name).items()}
        near, anybody = errors["within 100 points"], errors["anybody"]
        for at, low in enumerate(BINS[3:], start=3):
            change = interval(near[:, at] - anybody[:, at], of=0.0)
            rows.append(
                [
                    f"{name}, error from {low} games",
                    f"within 100 points {near[:, at].mean():.1f}",
                    f"anybody {anybody[:, at].mean():.1f}",
                    f"{change.mean:+.1f} ({change.lower:+.1f} to {change.upper:+.1f})",
                ]
            )
        gaps = {label: interval(np.array(days)) for label, days in islands(name).items()}
        parts = [
            f"{label} {one.mean:.0f} ({one.lower:.0f} to {one.upper:.0f})"
            for label, one in gaps.items()
        ]
        rows.append([f"{name}, gap of two regions", *parts, f"true {BETTER:g}"])
        kept[name] = {
            "games": list(BINS),
            "error": {label: days.mean(axis=0).tolist() for label, days in errors.items()},
            "gap": {label: [one.mean, one.lower, one.upper] for label, one in gaps.items()},
        }
    keep_numbers("matchmaking_ratings", kept)
    columns = ["system and measure", "first", "second", "difference, or the truth"]
    report("matchmaking_ratings", (__doc__ or "").strip(), columns, rows)


if __name__ == "__main__":
    main()
