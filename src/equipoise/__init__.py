"""Equipoise: ratings, tournament performance and fair teams.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.balance.lobby_split import balance
    from equipoise.balance.rebalance import rebalance
    from equipoise.data.backtest import Backtest
    from equipoise.data.drift import Drift
    from equipoise.data.effective import EffectiveRating
    from equipoise.data.explanation import Explanation
    from equipoise.data.games import Games
    from equipoise.data.history import History
    from equipoise.data.incentives import Incentive
    from equipoise.data.lobby import Lobby
    from equipoise.data.prediction import Prediction
    from equipoise.data.ratings import Ratings, Trace
    from equipoise.data.rebalanced import Rebalance
    from equipoise.data.ruleset import RebalanceRequest, Ruleset
    from equipoise.data.split import Balance
    from equipoise.data.tournament import TournamentPerformance
    from equipoise.data.tuning import Range, Tuning
    from equipoise.data.win_probability import win_probability
    from equipoise.errors import (
        ApproximationWarning,
        ConflictError,
        ConvergenceError,
        EquipoiseError,
        InvalidDataError,
        InvalidParameterError,
        NoEquilibriumError,
        NotFoundError,
        Problem,
        Sweep,
    )
    from equipoise.evaluate.backtest import backtest
    from equipoise.evaluate.drift import drift
    from equipoise.evaluate.incentives import incentives
    from equipoise.evaluate.placing import PlaceDistribution, place_distribution
    from equipoise.evaluate.tuning import tune
    from equipoise.formats import read_history, scan_history, write_history, write_table
    from equipoise.formats.games import read_games, scan_games
    from equipoise.formats.lobby import read_lobby
    from equipoise.formats.rebalance_request import read_rebalance_request
    from equipoise.performance.averages import complete_performance, linear_performance
    from equipoise.performance.equilibrium import Equilibrium, performance_equilibrium
    from equipoise.performance.fide import fide_performance
    from equipoise.performance.recursive import recursive_performance
    from equipoise.performance.results import results_of_player
    from equipoise.performance.tournament import performance
    from equipoise.performance.tpr import tournament_performance
    from equipoise.rating.codeforces import Codeforces
    from equipoise.rating.elo import Elo
    from equipoise.rating.elo_mmr import EloMMR
    from equipoise.rating.elo_mmx import EloMMX
    from equipoise.rating.explaining import explain
    from equipoise.rating.glicko import Glicko
    from equipoise.rating.glicko2 import Glicko2
    from equipoise.rating.lineup import lobby_of
    from equipoise.rating.pool_state import PoolState
    from equipoise.rating.registry import make_system
    from equipoise.rating.replay import Replay, predict, replay
    from equipoise.rating.team_glicko2 import TeamGlicko2
    from equipoise.rating.topcoder import TopCoder
    from equipoise.rating.trueskill import TrueSkill, TrueSkillSPb
    from equipoise.rating.weng_lin import BradleyTerry, PlackettLuce
    from equipoise.rating.what_if import WhatIf, what_if

_PLACES = {
    "ApproximationWarning": "equipoise.errors",
    "backtest": "equipoise.evaluate.backtest",
    "Backtest": "equipoise.data.backtest",
    "balance": "equipoise.balance.lobby_split",
    "Balance": "equipoise.data.split",
    "BradleyTerry": "equipoise.rating.weng_lin",
    "Codeforces": "equipoise.rating.codeforces",
    "complete_performance": "equipoise.performance.averages",
    "ConflictError": "equipoise.errors",
    "ConvergenceError": "equipoise.errors",
    "drift": "equipoise.evaluate.drift",
    "Drift": "equipoise.data.drift",
    "EffectiveRating": "equipoise.data.effective",
    "Elo": "equipoise.rating.elo",
    "EloMMR": "equipoise.rating.elo_mmr",
    "EloMMX": "equipoise.rating.elo_mmx",
    "Equilibrium": "equipoise.performance.equilibrium",
    "EquipoiseError": "equipoise.errors",
    "explain": "equipoise.rating.explaining",
    "Explanation": "equipoise.data.explanation",
    "fide_performance": "equipoise.performance.fide",
    "Games": "equipoise.data.games",
    "Glicko": "equipoise.rating.glicko",
    "Glicko2": "equipoise.rating.glicko2",
    "History": "equipoise.data.history",
    "Incentive": "equipoise.data.incentives",
    "InvalidDataError": "equipoise.errors",
    "InvalidParameterError": "equipoise.errors",
    "linear_performance": "equipoise.performance.averages",
    "lobby_of": "equipoise.rating.lineup",
    "Lobby": "equipoise.data.lobby",
    "incentives": "equipoise.evaluate.incentives",
    "make_system": "equipoise.rating.registry",
    "NoEquilibriumError": "equipoise.errors",
    "NotFoundError": "equipoise.errors",
    "performance": "equipoise.performance.tournament",
    "performance_equilibrium": "equipoise.performance.equilibrium",
    "place_distribution": "equipoise.evaluate.placing",
    "PlaceDistribution": "equipoise.evaluate.placing",
    "PlackettLuce": "equipoise.rating.weng_lin",
    "PoolState": "equipoise.rating.pool_state",
    "predict": "equipoise.rating.replay",
    "Prediction": "equipoise.data.prediction",
    "Problem": "equipoise.errors",
    "Range": "equipoise.data.tuning",
    "Ratings": "equipoise.data.ratings",
    "read_games": "equipoise.formats.games",
    "read_history": "equipoise.formats",
    "read_lobby": "equipoise.formats.lobby",
    "recursive_performance": "equipoise.performance.recursive",
    "read_rebalance_request": "equipoise.formats.rebalance_request",
    "rebalance": "equipoise.balance.rebalance",
    "replay": "equipoise.rating.replay",
    "Rebalance": "equipoise.data.rebalanced",
    "RebalanceRequest": "equipoise.data.ruleset",
    "Replay": "equipoise.rating.replay",
    "results_of_player": "equipoise.performance.results",
    "scan_games": "equipoise.formats.games",
    "scan_history": "equipoise.formats",
    "Sweep": "equipoise.errors",
    "Ruleset": "equipoise.data.ruleset",
    "TeamGlicko2": "equipoise.rating.team_glicko2",
    "TopCoder": "equipoise.rating.topcoder",
    "tournament_performance": "equipoise.performance.tpr",
    "TournamentPerformance": "equipoise.data.tournament",
    "Trace": "equipoise.data.ratings",
    "TrueSkill": "equipoise.rating.trueskill",
    "TrueSkillSPb": "equipoise.rating.trueskill",
    "tune": "equipoise.evaluate.tuning",
    "Tuning": "equipoise.data.tuning",
    "what_if": "equipoise.rating.what_if",
    "WhatIf": "equipoise.rating.what_if",
    "win_probability": "equipoise.data.win_probability",
    "write_history": "equipoise.formats",
    "write_table": "equipoise.formats",
}

__all__ = [
    "ApproximationWarning",
    "Backtest",
    "Balance",
    "BradleyTerry",
    "Codeforces",
    "ConflictError",
    "ConvergenceError",
    "Drift",
    "EffectiveRating",
    "Elo",
    "EloMMR",
    "EloMMX",
    "Equilibrium",
    "EquipoiseError",
    "Explanation",
    "Games",
    "Glicko",
    "Glicko2",
    "History",
    "Incentive",
    "InvalidDataError",
    "InvalidParameterError",
    "Lobby",
    "NoEquilibriumError",
    "NotFoundError",
    "PlaceDistribution",
    "PlackettLuce",
    "PoolState",
    "Prediction",
    "Problem",
    "Range",
    "Ratings",
    "Rebalance",
    "RebalanceRequest",
    "Replay",
    "Ruleset",
    "Sweep",
    "TeamGlicko2",
    "TopCoder",
    "TournamentPerformance",
    "Trace",
    "TrueSkill",
    "TrueSkillSPb",
    "Tuning",
    "WhatIf",
    "backtest",
    "balance",
    "complete_performance",
    "drift",
    "explain",
    "fide_performance",
    "incentives",
    "linear_performance",
    "lobby_of",
    "make_system",
    "performance",
    "performance_equilibrium",
    "place_distribution",
    "predict",
    "read_games",
    "read_history",
    "read_lobby",
    "read_rebalance_request",
    "rebalance",
    "recursive_performance",
    "replay",
    "results_of_player",
    "scan_games",
    "scan_history",
    "tournament_performance",
    "tune",
    "what_if",
    "win_probability",
    "write_history",
    "write_table",
]


class _Package(ModuleType):
    """Keeps the name of a function from being taken by a subpackage of that name.

    Importing a subpackage sets it as an attribute of the package; `equipoise.balance` is the
    function all the same.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PLACES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'equipoise' has no attribute {name!r}")
    value = getattr(importlib.import_module(place), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
