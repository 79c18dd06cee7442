"""How good are the probabilities of win, draw and loss, on 49,520 football internationals?

Every system rates the whole history with its defaults, and each match is predicted from the ratings
before it. `trueskill` and `trueskill-spb` model draws. For all others the draw probability is the
estimate of a pool: from the draws and the expected scores of all matches before (docs/guides/
predicting.md). "elo, at home" has home_advantage 80; no other line knows who is at home, except the
baseline that says so. "trueskill, chosen" has the parameters of a grid with the least log loss on
the first half, and "trueskill, chosen, rule" the best draw rule beside them, chosen on the first
half too. Scored is the second half, matches of teams with five earlier matches or more.

Log loss is -ln of the probability of what happened, of the three outcomes; the ranked probability
score (RPS) and the Brier score are sums of squares. Lower is better. Intervals (95 %) are from
1,000 resamples of 1,000 blocks of consecutive matches, the same for all lines. The calibration
error of draws is the mean distance between predicted and observed draws in ten bins of equal size.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

import equipoise as eq
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook, chance
from equipoise.evaluate.backtest import SystemPredictor
from equipoise.evaluate.scoring.order import STARTS
from equipoise.numeric.workers import Workers
from equipoise.rating.registry import make_system
from equipoise.rating.state import LEAST_MATCHES
from equipoise.rating.system import models_draws
from report import DATA, Part, needs, report_parts

SYSTEMS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "elo, at home": ("elo", {"home_advantage": 80}),
    **{
        name: (name, {})
        for name in (
            *("elo", "glicko", "glicko2", "team-glicko2", "elo-mmr", "elo-mmx"),
            *("plackett-luce", "bradley-terry", "trueskill", "trueskill-spb"),
        )
    },
}
GRID = {
    "beta": (175.0, 350.0, 500.0),
    "drift": (3.5, 15.0, 40.0),
    "draw_probability": (0.1, 0.2, 0.25, 0.3, 0.35),
}
#: Slopes of the log odds for each 100 points of the mean rating.
SLOPES = (-0.1, -0.05, -0.02, 0.02, 0.05, 0.1)
RESAMPLES, BLOCKS, BINS = 1000, 1000, 10
RATES, HOME_RATES = "rates so far", "rates so far, at home"


class Football:
    """The matches as duels: rows, result of the first team, and which matches are scored."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.first = history.offsets[:-1]
        second = self.first + 1
        self.result: Ints = np.sign(history.rank[self.first] - history.rank[second])
        self.drawn: Floats = (self.result == 0).astype(np.float64)
        earlier = _earlier(history)
        experienced = np.minimum(earlier[self.first], earlier[second]) >= STARTS[-1]
        later = np.arange(history.matches) >= history.matches // 2
        self.tuned: Flags = experienced & ~later
        self.scored: Flags = experienced & later
        home = history.at_home()
        if home is None:
            raise SystemExit("football.parquet has no column at_home")
        self.at_home: Ints = home[self.first].astype(np.int64) - home[second]


def _earlier(history: History) -> Ints:
    """Return the number of earlier matches of the player of each participation."""
    order = np.argsort(history.player, kind="stable")
    players = history.player[order]
    starts = np.searchsorted(players, players)
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order)) - starts
    return found


def so_far(values: Floats) -> Floats:
    """Return the sum of the values before each."""
    return np.cumsum(values) - values


def predicted(system: Any, game: Football) -> Floats:
    """Return the chances of a win, a draw and a loss of the first team, shape (matches, 3)."""
    history = game.history
    with Workers(1) as workers:
        outlook = SystemPredictor(system, history, workers).predict(0, history.matches)
    if models_draws(system):
        return _modelled(system, outlook, game.first)
    first = outlook.beats(game.first, game.first + 1)
    second = outlook.beats(game.first + 1, game.first)
    spread = so_far(4.0 * first * second)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.minimum(so_far(game.drawn) / spread, 1.0)
    # Before the fiftieth match there is no estimate; none of these is scored.
    rate[:LEAST_MATCHES] = 0.0
    draw = np.minimum(4.0 * rate * first * second, 2.0 * np.minimum(first, second))
    return np.stack([first - 0.5 * draw, draw, second - 0.5 * draw], axis=1)


def _modelled(system: Any, outlook: Outlook, first: Ints) -> Floats:
    """Return win, draw and loss by the margin of a system that models draws."""
    one, other = outlook.centre[first], outlook.centre[first + 1]
    scale = np.hypot(outlook.scale[first], outlook.scale[first + 1])
    if getattr(system, "draw_rule", "constant") == "constant":
        margin = np.full(len(first), system.draw_margin(2))
    else:
        margin = np.array([system.draw_margin(2, mean) for mean in (0.5 * (one + other)).tolist()])
    win = chance((one - other - margin) / scale, outlook.curve)
    loss = chance((other - one - margin) / scale, outlook.curve)
    return np.stack([win, 1.0 - win - loss, loss], axis=1)


def rates(game: Football, known_home: bool) -> Floats:
    """Return the frequencies of the results before each match, without ratings."""
    side = game.at_home if known_home else np.zeros(len(game.result), np.int64)
    found = np.empty((len(side), 3))
    for here in (-1, 0, 1):
        at = side == here
        # Neutral ground has no first team: a win and a loss count the same.
        like = side != 0 if here else at
        signed = np.where(side == 0, 1, side) * game.result
        counts = [so_far((like & (signed == one)).astype(np.float64)) + 1.0 for one in (-1, 0, 1)]
        won, draws, lost = counts
        if here == 0:
            won = lost = 0.5 * (won + lost)
        total = won + draws + lost
        order = (lost, draws, won) if here < 0 else (won, draws, lost)
        found[at] = np.stack([one / total for one in order], axis=1)[at]
    return found


def losses(probability: Floats, game: Football) -> Floats:
    """Return (log loss, RPS, Brier) of each match, shape (matches, 3)."""
    happened = np.stack([game.result == one for one in (-1, 0, 1)], axis=1).astype(np.float64)
    log = -np.log(np.maximum((probability * happened).sum(axis=1), 1e-300))
    ahead = np.cumsum(probability - happened, axis=1)[:, :2]
    return np.stack(
        [log, 0.5 * (ahead**2).sum(axis=1), ((probability - happened) ** 2).sum(axis=1)], axis=1
    )


def resampled(values: Floats, drawn: Ints) -> Floats:
    """Return the mean of the values in every resample of blocks of consecutive matches."""
    parts = np.array_split(values, BLOCKS)
    sums, sizes = np.array([one.sum() for one in parts]), np.array([len(one) for one in parts])
    means: Floats = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return means


def calibration_error(draw: Floats, drawn: Floats) -> float:
    """Return the mean distance of predicted and observed draws in bins of equal size."""
    order = np.argsort(draw, kind="stable")
    parts = np.array_split(order, BINS)
    apart = [abs(float(draw[part].mean() - drawn[part].mean())) for part in parts]
    return float(np.average(apart, weights=[len(part) for part in parts]))


def choose(game: Football) -> dict[str, dict[str, Any]]:
    """Return the parameters of trueskill with the least log loss on the first half."""

    def loss(parameters: Mapping[str, Any]) -> float:
        found = predicted(make_system("trueskill", parameters), game)
        return float(losses(found, game)[game.tuned, 0].mean())

    tried = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    best = min(tried, key=loss)
    ruled = [{**best, "draw_rule": "rating", "draw_slope": slope} for slope in SLOPES]
    return {"trueskill, chosen": best, "trueskill, chosen, rule": min(ruled, key=loss)}


def check(game: Football) -> None:
    """Check the probabilities of some matches against what a pool predicts before them."""
    for label in ("elo", "glicko2", "trueskill", "trueskill-spb"):
        system = make_system(label)
        found = predicted(system, game)
        for match in (60, 2_500):
            before = eq.replay(system, game.history.slice(0, match)).state
            row = int(game.first[match])
            ids = game.history.player_ids[game.history.player[row : row + 2]].tolist()
            told = eq.predict(system, before, [[ids[0]], [ids[1]]])
            if told.win is None or told.draw is None:
                raise SystemExit(f"no draw probability of {label} after {match} matches")
            expected = [told.win[0], told.draw, told.win[1]]
            np.testing.assert_allclose(found[match], expected, rtol=0, atol=1e-9)


def by_favourite(found: Mapping[str, Floats], game: Football) -> Part:
    """Return predicted and observed draws by the favourite's expected score."""
    rows = []
    for label in ("elo, at home", "glicko2", "trueskill", "trueskill, chosen"):
        p = found[label][game.scored]
        favourite = np.maximum(p[:, 0], p[:, 2]) + 0.5 * p[:, 1]
        for low in (0.5, 0.6, 0.7, 0.8, 0.9):
            at = (favourite >= low) & (favourite < low + 0.1)
            told, seen = p[at, 1].mean(), game.drawn[game.scored][at].mean()
            error = np.sqrt(seen * (1 - seen) / at.sum())
            rows.append(
                (
                    label,
                    f"{low:.1f} to {low + 0.1:.1f}",
                    f"{at.sum():,}",
                    f"{100 * told:.1f}",
                    f"{100 * seen:.1f} ± {196 * error:.1f}",
                )
            )
    columns = ("system", "favourite's expected score", "matches", "draws predicted, %", "seen, %")
    return Part("Draws by how even the match was", columns, rows)


def main() -> None:
    """Measure and report."""
    game = Football(eq.read_history(str(needs(DATA / "football.parquet"))))
    check(game)
    chosen = choose(game)
    systems = {**SYSTEMS, **{label: ("trueskill", one) for label, one in chosen.items()}}
    found = {label: predicted(make_system(*one), game) for label, one in systems.items()}
    found |= {RATES: rates(game, False), HOME_RATES: rates(game, True)}
    scores = {label: losses(one, game)[game.scored] for label, one in found.items()}
    drawn = np.random.default_rng(0).integers(0, BLOCKS, (RESAMPLES, BLOCKS))
    means = {label: one.mean(axis=0) for label, one in scores.items()}
    order = sorted(means, key=lambda label: float(means[label][0]))
    best, happened = scores[order[0]], game.drawn[game.scored]
    rows = []
    for label in order:
        low, high = np.quantile(resampled(scores[label][:, 0], drawn), [0.025, 0.975])
        less = scores[label][:, 0] - best[:, 0]
        bounds = np.quantile(resampled(less, drawn), [0.025, 0.975])
        told = found[label][game.scored, 1]
        rows.append(
            (
                label,
                f"{means[label][0]:.4f} ± {(high - low) / 2:.4f}",
                "best"
                if label == order[0]
                else f"{less.mean():+.4f} ({bounds[0]:+.4f} to {bounds[1]:+.4f})",
                f"{means[label][1]:.4f}",
                f"{means[label][2]:.4f}",
                f"{100 * told.mean():.1f}",
                f"{100 * calibration_error(told, happened):.1f}",
            )
        )
    columns = (
        *("system", "log loss", "less the best's (95 %)", "RPS", "Brier"),
        *("draws predicted, %", "calibration error of draws, %"),
    )
    words = "; ".join(
        f"{label}: " + ", ".join(f"{name} {value}" for name, value in one.items())
        for label, one in chosen.items()
    )
    ruled, plain = (
        scores[label][:, 0] for label in ("trueskill, chosen, rule", "trueskill, chosen")
    )
    low, high = np.quantile(resampled(ruled - plain, drawn), [0.025, 0.975])
    change = f"{(ruled - plain).mean():+.5f} ({low:+.5f} to {high:+.5f})"
    note = (
        f"Scored: {int(game.scored.sum()):,} matches, {100 * happened.mean():.1f} % of them drawn. "
        f"Chosen on {int(game.tuned.sum()):,} matches of the first half: {words}. The "
        f"rule changes the log loss by {change}."
    )
    parts = [Part("", columns, rows, note), by_favourite(found, game)]
    report_parts("draws", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()
