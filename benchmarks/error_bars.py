"""Do the error bars of PPR hold what they promise, with few and with many draws?

Round robins are drawn at known ratings. A game between players who expect E and 1 - E is drawn with
the chance 4 d E (1 - E), at most 2E and 2 (1 - E), and won so that the expected score is E. The
rating of a player, relative to the mean, should lie within 1.96 standard errors of the truth 95
times of 100. "As coins" are the same errors without the dispersion, which take every game for a
coin. "Lowest" is the player whose bar holds least often. Tournaments in which some group took every
point of the others have no equilibrium and are not counted.

Is the player found on top as likely to be better than the second as superiority says? Ten players,
whose ratings are normal, play round robins without draws, 5,000 of every kind: the error of "true"
is 0.7 points. "Field" is superiority with the prior of the field, "flat" with a flat one. With nine
games each, ratings hardly show the spread: even a prior that knows it to be either 50 or 200 is 1.2
points too sure for 50, and 2.9 too cautious for 200.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.tournaments.games import Games
from equipoise.errors import NoEquilibriumError
from equipoise.tournament.curves import EloCurve
from equipoise.tournament.equilibrium.equilibrium import performance_equilibrium
from report import Part, report_parts

WITHIN = 1.959963984540054
#: Tournaments of the best two in a line: "true" then has an error of 0.7 points at most.
BEST = 5_000


class Design(NamedTuple):
    """A round robin of players whose ratings are spread evenly over -reach to reach."""

    players: int
    rounds: int
    reach: float
    tournaments: int


DESIGNS = (
    Design(20, 2, 150.0, 600),
    Design(20, 2, 250.0, 600),
    Design(10, 1, 100.0, 1500),
    Design(11, 1, 150.0, 1500),
    Design(12, 1, 200.0, 1500),
)
DRAWS = (0.0, 0.3, 0.6)


def drawn(design: Design, draws: float, truth: Floats, rng: np.random.Generator) -> Games:
    """Return the games of one tournament."""
    one, other = (np.tile(side, design.rounds) for side in np.triu_indices(design.players, 1))
    expected = EloCurve().expected(truth[one] - truth[other])
    rest = 1.0 - expected
    chance = np.minimum(4.0 * draws * expected * rest, 2.0 * np.minimum(expected, rest))
    win = expected - 0.5 * chance
    shown = rng.random(len(one))
    points = np.where(shown < win, 1.0, np.where(shown < win + chance, 0.5, 0.0))
    return Games(player_ids=np.arange(design.players), white=one, black=other, points=points)


def line(design: Design, draws: float) -> tuple[str, ...]:
    """Return a line of the table."""
    truth = np.linspace(-design.reach, design.reach, design.players)
    rng = np.random.default_rng(1)
    held, coins, dispersions = [], [], []
    for _ in range(design.tournaments):
        try:
            found = performance_equilibrium(drawn(design, draws, truth, rng))
        except NoEquilibriumError:
            continue
        away = np.abs(found.rating - found.rating.mean() - truth)
        errors, dispersion = found.errors(), found.uncertainty.dispersion(0)
        held.append(away <= WITHIN * errors)
        coins.append(away <= WITHIN * errors / math.sqrt(dispersion))
        dispersions.append(dispersion)
    name = {1: "single", 2: "double"}[design.rounds]
    return (
        f"{design.players} players, {name}, +-{design.reach:.0f}",
        f"{100 * draws:.0f} %",
        f"{(design.players - 1) * design.rounds}",
        f"{len(held):,}",
        f"{np.mean(held):.3f}",
        f"{np.mean(held, axis=0).min():.3f}",
        f"{np.mean(coins):.3f}",
        f"{np.mean(dispersions):.3f}",
    )


def superiority(rounds: int, spread: float) -> tuple[str, ...]:
    """Return a line of the table of the best two players."""
    rng = np.random.default_rng(1)
    found: list[tuple[float, float, bool]] = []
    while len(found) < BEST:
        truth = rng.normal(0.0, spread, 10)
        try:
            one = performance_equilibrium(drawn(Design(10, rounds, 0.0, 1), 0.0, truth, rng))
        except NoEquilibriumError:
            continue
        best = np.argsort(-one.rating)[:2]
        field, flat = (one.superiority(best, prior)[0, 1] for prior in ("field", "flat"))
        found.append((field, flat, truth[best[0]] > truth[best[1]]))
    shares = (f"{100 * share:.1f} %" for share in np.mean(found, axis=0))
    return (f"{9 * rounds}", f"{spread:.0f}", *shares)


def main() -> None:
    """Measure and report."""
    rows = [line(design, draws) for design in DESIGNS for draws in DRAWS]
    columns = (
        "round robin",
        "draws between equals",
        "games each",
        "tournaments",
        "coverage",
        "lowest",
        "as coins",
        "dispersion",
    )
    best = [superiority(rounds, spread) for rounds in (1, 2, 4) for spread in (50.0, 100.0, 200.0)]
    heads = ("games each", "spread", "field", "flat", "true")
    parts = [Part("Error bars", columns, rows), Part("The best two", heads, best)]
    report_parts("error_bars", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()
