"""Equipoise: ratings, tournament performance and fair teams.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.data.audits import Drift, Incentive
    from equipoise.data.backtest import Backtest
    from equipoise.data.explanation import Explanation
    from equipoise.data.games import Games
    from equipoise.data.history import History
    from equipoise.data.lobby import Balance, Lobby
    from equipoise.data.prediction import Prediction, win_probability
    from equipoise.data.ratings import EffectiveRating, Ratings, Trace
    from equipoise.data.rebalancing import Rebalance, RebalanceRequest, Ruleset
    from equipoise.data.tournament import TournamentPerformance
    from equipoise.data.tuning import Range, Tuning
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
    from equipoise.evaluate.incentives.audit import incentives
    from equipoise.evaluate.placing import PlaceDistribution, place_distribution
    from equipoise.evaluate.tuning import tune
    from equipoise.formats import read_history, scan_history, write_history, write_table
    from equipoise.formats.games.reading import read_games, scan_games
    from equipoise.formats.lobby import read_lobby
    from equipoise.formats.rebalance_request import read_rebalance_request
    from equipoise.rating.bayes.trueskill import TrueSkill, TrueSkillSPb
    from equipoise.rating.bayes.weng_lin import BradleyTerry, PlackettLuce
    from equipoise.rating.classical.elo import Elo
    from equipoise.rating.classical.glicko import Glicko
    from equipoise.rating.classical.glicko2 import Glicko2
    from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMX
    from equipoise.rating.explaining import explain
    from equipoise.rating.lineup import lobby_of
    from equipoise.rating.platforms.codeforces import Codeforces
    from equipoise.rating.platforms.topcoder import TopCoder
    from equipoise.rating.pool_state import PoolState
    from equipoise.rating.registry import make_system
    from equipoise.rating.replay import Replay, predict, replay
    from equipoise.rating.team_glicko2.team_glicko2 import TeamGlicko2
    from equipoise.rating.what_if import WhatIf, what_if
    from equipoise.teams.lobby.lobby_split import balance
    from equipoise.teams.parties.rebalance import rebalance
    from equipoise.tournament.equilibrium.equilibrium import Equilibrium, performance_equilibrium
    from equipoise.tournament.formulas import (
        complete_performance,
        fide_performance,
        linear_performance,
        results_of_player,
        tournament_performance,
    )
    from equipoise.tournament.recursive import recursive_performance
    from equipoise.tournament.tournament import performance

_PLACES = {
    "ApproximationWarning": "equipoise.errors",
    "backtest": "equipoise.evaluate.backtest",
    "Backtest": "equipoise.data.backtest",
    "balance": "equipoise.teams.lobby.lobby_split",
    "Balance": "equipoise.data.lobby",
    "BradleyTerry": "equipoise.rating.bayes.weng_lin",
    "Codeforces": "equipoise.rating.platforms.codeforces",
    "complete_performance": "equipoise.tournament.formulas",
    "ConflictError": "equipoise.errors",
    "ConvergenceError": "equipoise.errors",
    "drift": "equipoise.evaluate.drift",
    "Drift": "equipoise.data.audits",
    "EffectiveRating": "equipoise.data.ratings",
    "Elo": "equipoise.rating.classical.elo",
    "EloMMR": "equipoise.rating.elo_mmr.elo_mmr",
    "EloMMX": "equipoise.rating.elo_mmr.elo_mmr",
    "Equilibrium": "equipoise.tournament.equilibrium.equilibrium",
    "EquipoiseError": "equipoise.errors",
    "explain": "equipoise.rating.explaining",
    "Explanation": "equipoise.data.explanation",
    "fide_performance": "equipoise.tournament.formulas",
    "Games": "equipoise.data.games",
    "Glicko": "equipoise.rating.classical.glicko",
    "Glicko2": "equipoise.rating.classical.glicko2",
    "History": "equipoise.data.history",
    "Incentive": "equipoise.data.audits",
    "InvalidDataError": "equipoise.errors",
    "InvalidParameterError": "equipoise.errors",
    "linear_performance": "equipoise.tournament.formulas",
    "lobby_of": "equipoise.rating.lineup",
    "Lobby": "equipoise.data.lobby",
    "incentives": "equipoise.evaluate.incentives.audit",
    "make_system": "equipoise.rating.registry",
    "NoEquilibriumError": "equipoise.errors",
    "NotFoundError": "equipoise.errors",
    "performance": "equipoise.tournament.tournament",
    "performance_equilibrium": "equipoise.tournament.equilibrium.equilibrium",
    "place_distribution": "equipoise.evaluate.placing",
    "PlaceDistribution": "equipoise.evaluate.placing",
    "PlackettLuce": "equipoise.rating.bayes.weng_lin",
    "PoolState": "equipoise.rating.pool_state",
    "predict": "equipoise.rating.replay",
    "Prediction": "equipoise.data.prediction",
    "Problem": "equipoise.errors",
    "Range": "equipoise.data.tuning",
    "Ratings": "equipoise.data.ratings",
    "read_games": "equipoise.formats.games.reading",
    "read_history": "equipoise.formats",
    "read_lobby": "equipoise.formats.lobby",
    "recursive_performance": "equipoise.tournament.recursive",
    "read_rebalance_request": "equipoise.formats.rebalance_request",
    "rebalance": "equipoise.teams.parties.rebalance",
    "replay": "equipoise.rating.replay",
    "Rebalance": "equipoise.data.rebalancing",
    "RebalanceRequest": "equipoise.data.rebalancing",
    "Replay": "equipoise.rating.replay",
    "results_of_player": "equipoise.tournament.formulas",
    "scan_games": "equipoise.formats.games.reading",
    "scan_history": "equipoise.formats",
    "Sweep": "equipoise.errors",
    "Ruleset": "equipoise.data.rebalancing",
    "TeamGlicko2": "equipoise.rating.team_glicko2.team_glicko2",
    "TopCoder": "equipoise.rating.platforms.topcoder",
    "tournament_performance": "equipoise.tournament.formulas",
    "TournamentPerformance": "equipoise.data.tournament",
    "Trace": "equipoise.data.ratings",
    "TrueSkill": "equipoise.rating.bayes.trueskill",
    "TrueSkillSPb": "equipoise.rating.bayes.trueskill",
    "tune": "equipoise.evaluate.tuning",
    "Tuning": "equipoise.data.tuning",
    "what_if": "equipoise.rating.what_if",
    "WhatIf": "equipoise.rating.what_if",
    "win_probability": "equipoise.data.prediction",
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
