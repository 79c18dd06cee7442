"""One value of every public type that the library returns, with names that attack a page."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import equipoise as eq

ROOT = Path(__file__).parents[1]
#: A name that would run in a notebook, if it were not escaped, and that controls a terminal.
HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e&\"'"


@cache
def every_value() -> dict[str, Any]:
    """Return the values by the names of their types."""
    players = [HOSTILE, *(f"player {number}" for number in range(1, 14))]
    pairs = [(i, j) for i in range(len(players)) for j in range(i) if (i * j + i + j) % 3]
    history = eq.read_history(
        {
            "match": [f"{HOSTILE} {at}" for at in range(len(pairs)) for _ in "ab"],
            "time": [1_700_000_000 + 86_400 * at for at in range(len(pairs)) for _ in "ab"],
            "player": [players[one] for pair in pairs for one in pair],
            "rank": [rank for pair in pairs for rank in ((1, 2), (2, 1), (1, 1))[sum(pair) % 3]],
        }
    )
    system = eq.Glicko2()
    rated = eq.replay(system, history, trace=True)
    prediction = eq.predict(system, rated.state, [[HOSTILE], ["nobody <b>"]])
    lobby = eq.Lobby.from_ratings(rated.ratings, players[:12])
    games = eq.Games.from_arrays(
        [players[i] for i, _ in pairs],
        [players[j] for _, j in pairs],
        [(1.0, 0.5, 0.0)[(i + j) % 3] for i, j in pairs],
    )
    rounds = eq.Games.from_arrays([HOSTILE], ["b"], [1.0], round=[1]).rounds
    tournament = eq.performance(games)
    tuning = eq.tune(system, history, {"tau": (0.3, 0.5)}, min_history=1)
    backtest = eq.backtest({HOSTILE: system, "elo": eq.Elo()}, history, resamples=20, min_history=1)
    request = eq.read_rebalance_request(ROOT / "examples" / "rebalance.json")
    rebalance = eq.rebalance(request)
    drift = eq.drift(eq.Elo(), history)
    (incentive,) = eq.incentives(eq.Elo(), history, [HOSTILE])
    values: dict[str, Any] = {
        "Backtest": backtest,
        "Balance": eq.balance(lobby),
        "Belief": eq.explain(eq.EloMMR(), history, HOSTILE).belief,
        "Drift": drift,
        "Equilibrium": eq.performance_equilibrium(games),
        "Explanation": eq.explain(system, history, HOSTILE),
        "Games": games,
        "History": history,
        "Incentive": incentive,
        "InitialRatings": eq.InitialRatings(
            player_ids=np.array(players[:2], dtype=object),
            rating=np.array([1500.0, 1600.0]),
            deviation=np.array([80.0, np.nan]),
        ),
        "Lobby": lobby,
        "PlaceDistribution": eq.place_distribution(prediction.outlook, samples=100),
        "PoolState": rated.state,
        "Prediction": prediction,
        "Ratings": rated.ratings,
        "Rebalance": rebalance,
        "RebalanceRequest": request,
        "RatingComparison": eq.compare_ratings(
            rated, eq.replay(eq.Elo(), history), names=(HOSTILE, "elo")
        ),
        "Replay": rated,
        "Ruleset": request.ruleset,
        "Rounds": rounds,
        "TieBreakDetails": eq.tie_break_details(games, HOSTILE, "buchholz-cut1"),
        "TournamentPerformance": tournament,
        "Trace": rated.trace,
        "Tuning": tuning,
        "WhatIf": eq.what_if(system, rated.state, [[HOSTILE], [players[1]]]),
    }
    values |= {
        "Calibration": backtest.systems[0].calibration,
        "Candidate": rebalance.best,
        "Difference": backtest.differences[0],
        "GamesReading": eq.scan_games(ROOT / "examples" / "league.csv"),
        "Group": backtest.groups[0],
        "GroupScores": backtest.groups[0].systems[0],
        "HistoryReading": eq.scan_history(ROOT / "examples" / "contests.csv"),
        "Outlook": prediction.outlook,
        "Range": eq.Range(low=200.0, high=400.0),
        "Split": values["Balance"].best,
        "Standing": tournament.standing,
        "SystemScores": backtest.systems[0],
        "State": rated.state.state,
        "TeamModel": eq.lobby_of(rated.state, ["one", "two"]).model,
        "Superiority": eq.performance(games, superiority=True).superiority,
        "Results": eq.results_of_player([1500.0, 1600.0], [1.0, 0.5]),
        "Trial": tuning.best,
    }
    return dict(sorted(values.items()))
