"""Ratings in hindsight, against Newton's method with the full Hessian of all ratings."""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from equipoise.arrays import Floats
from equipoise.data.outlook import chance
from equipoise.rating import looking_back
from equipoise.rating.looking_back import Process

SYSTEMS = {
    "elo": eq.Elo(k=40.0, home_advantage=60.0),
    "glicko": eq.Glicko(drift=30.0, drift_per_day=2.0, initial_deviation=250.0),
    "glicko without drift": eq.Glicko(drift=0.0),
    "elo-mmx": eq.EloMMX(beta=180.0, gamma=30.0, drift_per_day=1.0),
}


def drawn(seed: int, *, sizes: tuple[int, ...] = (2, 4), matches: int = 25) -> pl.DataFrame:
    """Return matches of seven players with ties, some on one day."""
    rng = np.random.default_rng(seed)
    rows = []
    for match in range(matches):
        players = rng.permutation(7)[: rng.choice(sizes)].tolist()
        ranks = rng.integers(1, 3, len(players)) if match % 4 else np.arange(len(players)) + 1
        for player, rank in zip(players, ranks.tolist(), strict=True):
            when = date(2020, 1, 1 + match // 2 * 2)
            home = player == players[0]
            rows.append((match, when, f"p{player}", rank, home))
    return pl.DataFrame(rows, ["match", "time", "player", "rank", "at_home"], orient="row")


def dense(process: Process, history: eq.History, lead: Floats) -> tuple[Floats, Floats]:
    """Return ratings less the initial one, and their covariance, for each participation."""
    n = history.participations
    prior = np.zeros((n, n))
    days, match = np.nan_to_num(history.days()), history.match_rows()
    for player in range(history.players):
        rows = np.flatnonzero(history.player == player)
        # Without drift, a tiny one: the ratings of a player are then equal.
        steps = process.drift + process.drift_per_day * np.diff(days[match[rows]])
        prior[rows[0], rows[0]] += 1.0 / process.variance
        for before, after, step in zip(rows[:-1], rows[1:], np.maximum(steps, 1e-4), strict=True):
            pair = np.ix_([before, after], [before, after])
            prior[pair] += np.array([[1.0, -1.0], [-1.0, 1.0]]) / step
    rating = np.zeros(n)
    for _ in range(60):
        gradient, hessian = -prior @ rating, prior.copy()
        for start, stop in zip(history.offsets[:-1], history.offsets[1:], strict=True):
            weight = min(stop - start - 1.0, process.most_games) / (stop - start - 1)
            for i in range(start, stop):
                for j in range(start, stop):
                    if i == j:
                        continue
                    z = (rating[i] + lead[i] - rating[j] - lead[j]) / process.scale
                    p = float(chance(np.array([z]), "normal" if process.normal else "logistic")[0])
                    density = p * (1 - p)
                    if process.normal:
                        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
                    score = 0.5 * (history.rank[i] < history.rank[j]) + 0.5 * (
                        history.rank[i] <= history.rank[j]
                    )
                    slope = density / (p * (1 - p)) / process.scale
                    gradient[i] += weight * (score - p) * slope
                    hessian[i, i] += weight * p * (1 - p) * slope * slope
                    hessian[i, j] -= weight * p * (1 - p) * slope * slope
        rating += np.linalg.solve(hessian, gradient)
    return rating, np.linalg.inv(hessian)


@pytest.mark.parametrize("name", SYSTEMS)
def test_agrees_with_the_full_hessian(name: str) -> None:
    """Ratings agree. Deviations have at least the uncertainty within the group of players."""
    system, history = SYSTEMS[name], eq.read_history(drawn(1))
    process = looking_back._process_of(system)
    rating, covariance = dense(process, history, looking_back._leads(system, history))
    columns = eq.look_back(system, history).columns
    # The reference has a tiny drift instead of none.
    assert columns["rating"] - 1500.0 == pytest.approx(rating, abs=1e-4)
    variance = np.diag(covariance)
    # Of the difference from the mean rating: the level of seven players is known badly.
    within = variance - 2.0 * covariance.mean(axis=0) + covariance.mean()
    assert (columns["deviation"] < np.sqrt(variance)).all()
    assert (columns["deviation"] > np.sqrt(within)).all()
    assert (columns["deviation"] < 1.25 * np.sqrt(within)).all()


def test_deviations_are_exact_without_cycles() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("b", "e")]
    rows = [(m, p, r) for m, pair in enumerate(pairs) for r, p in enumerate(pair, start=1)]
    history = eq.read_history(pl.DataFrame(rows, ["match", "player", "rank"], orient="row"))
    system = eq.Glicko(drift=50.0)
    _, covariance = dense(looking_back._process_of(system), history, np.zeros(8))
    # Turns end at changes of 1e-6.
    columns = eq.look_back(system, history).columns
    assert columns["deviation"] == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-5)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_order_of_players_does_not_matter(name: str) -> None:
    table = drawn(2)
    names = {f"p{i}": f"q{(3 * i) % 7}" for i in range(7)}
    other = table.with_columns(pl.col("player").replace(names)).sort("match", "player")
    first, second = (
        eq.look_back(SYSTEMS[name], eq.read_history(each)).to_polars() for each in (table, other)
    )
    first = first.with_columns(pl.col("player").replace(names))
    both = first.join(second, on=["match", "player"], suffix="_other")
    assert len(both) == len(table)
    for column in ("rating", "deviation"):
        assert both[column].to_numpy() == pytest.approx(
            both[f"{column}_other"].to_numpy(), rel=1e-5
        )


def test_later_results_change_earlier_ratings() -> None:
    """Whoever loses to a player who wins later lost to a better one."""
    early = [(0, "ann", 2), (0, "ben", 1)]
    late = [(m, p, r) for m in range(1, 6) for p, r in (("ben", 1), ("cid", 2))]
    ratings = [
        eq.look_back(
            eq.Glicko(),
            eq.read_history(pl.DataFrame(rows, ["match", "player", "rank"], orient="row")),
        ).columns["rating"][0]
        for rows in (early, early + late)
    ]
    assert ratings[0] < ratings[1] < 1500.0


@pytest.mark.parametrize("system", [eq.Elo(), eq.Glicko(), eq.EloMMX()])
def test_a_player_of_a_large_match_has_games_of_its_weight(system: eq.RatingSystem) -> None:
    process = looking_back._process_of(system)
    for count in (2, 5, 10, 11, 40, 1001):
        one, other, weight = looking_back._pairs_of(np.array([0, count]), process.most_games)
        games = np.bincount(one, weight, count) + np.bincount(other, weight, count)
        assert games == pytest.approx(min(count - 1.0, process.most_games))
        assert (one != other).all()
        assert len(one) <= 8 * count


def test_the_variance_of_elo_is_that_of_a_steady_filter() -> None:
    process = looking_back._process_of(eq.Elo(k=24.0))
    scale = 400.0 / math.log(10.0)
    after = 1.0 / (1.0 / process.variance + 0.25 / scale**2)
    assert after == pytest.approx(24.0 * scale)
    assert after + process.drift == pytest.approx(process.variance)


def test_refuses_what_it_has_no_model_of(monkeypatch: pytest.MonkeyPatch) -> None:
    history = eq.read_history(drawn(3, sizes=(2,)))
    for system, words in (
        (eq.TrueSkill(), "trueskill has no model to look back with: use elo, glicko or elo-mmx"),
        (eq.Glicko(period_days=30), "period_days must be None to look back"),
        (eq.Elo(k=700.0), "k must be less than 695 to look back"),
    ):
        with pytest.raises(eq.InvalidParameterError, match=words):
            eq.look_back(system, history)
    teams = {"match": [1] * 4, "player": [*"abcd"], "team": [1, 1, 2, 2], "rank": [1, 1, 2, 2]}
    with pytest.raises(eq.InvalidParameterError, match="of single players to look back"):
        eq.look_back(eq.Elo(), eq.read_history(teams))
    monkeypatch.setattr(looking_back, "_find_ratings", lambda *_: (100, 5.0))
    with pytest.raises(eq.ConvergenceError, match="ratings in hindsight did not converge in 100"):
        eq.look_back(eq.Elo(), history)
