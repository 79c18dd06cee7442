"""Equipoise: ratings, tournament performance and fair teams.

A public name is loaded when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

# The one list of public names, as imports: "X as X" makes X public for type checkers and editors.
# These lines never run. When a name is first used, `_places` reads these lines from this file. A
# table of strings beside the imports would be a second list, and imports that run would load every
# library. The source is always available, because the cache of the kernels is named after a hash of
# it.
if TYPE_CHECKING:
    __version__: str

    from equipoise.data.audits import ActivityWindow as ActivityWindow
    from equipoise.data.audits import Drift as Drift
    from equipoise.data.audits import Incentive as Incentive
    from equipoise.data.backtest import Backtest as Backtest
    from equipoise.data.backtest import Calibration as Calibration
    from equipoise.data.backtest import Difference as Difference
    from equipoise.data.backtest import Group as Group
    from equipoise.data.backtest import GroupScores as GroupScores
    from equipoise.data.backtest import Range as Range
    from equipoise.data.backtest import SystemScores as SystemScores
    from equipoise.data.backtest import Trial as Trial
    from equipoise.data.backtest import Tuning as Tuning
    from equipoise.data.comparison import ChangeSummary as ChangeSummary
    from equipoise.data.comparison import RatingComparison as RatingComparison
    from equipoise.data.comparison import ScaleLine as ScaleLine
    from equipoise.data.explanation import Belief as Belief
    from equipoise.data.explanation import Contribution as Contribution
    from equipoise.data.explanation import Explanation as Explanation
    from equipoise.data.explanation import Opponent as Opponent
    from equipoise.data.explanation import Quantity as Quantity
    from equipoise.data.explanation import Remembered as Remembered
    from equipoise.data.games import Games as Games
    from equipoise.data.games import Rounds as Rounds
    from equipoise.data.history import History as History
    from equipoise.data.lobby import Balance as Balance
    from equipoise.data.lobby import Constraint as Constraint
    from equipoise.data.lobby import Lobby as Lobby
    from equipoise.data.lobby import Split as Split
    from equipoise.data.outlook import Outlook as Outlook
    from equipoise.data.outlook import PlaceDistribution as PlaceDistribution
    from equipoise.data.outlook import TeamModel as TeamModel
    from equipoise.data.places import place_distribution as place_distribution
    from equipoise.data.prediction import Prediction as Prediction
    from equipoise.data.prediction import win_probability as win_probability
    from equipoise.data.ratings import EffectiveRating as EffectiveRating
    from equipoise.data.ratings import InitialRatings as InitialRatings
    from equipoise.data.ratings import Ratings as Ratings
    from equipoise.data.ratings import ScaleMapping as ScaleMapping
    from equipoise.data.ratings import Trace as Trace
    from equipoise.data.rebalancing import Candidate as Candidate
    from equipoise.data.rebalancing import MatchedParty as MatchedParty
    from equipoise.data.rebalancing import MatchedPlayer as MatchedPlayer
    from equipoise.data.rebalancing import Optimum as Optimum
    from equipoise.data.rebalancing import Rebalance as Rebalance
    from equipoise.data.rebalancing import RebalanceRequest as RebalanceRequest
    from equipoise.data.rebalancing import Rule as Rule
    from equipoise.data.rebalancing import Ruleset as Ruleset
    from equipoise.data.rebalancing import Step as Step
    from equipoise.data.tournament import Standing as Standing
    from equipoise.data.tournament import Superiority as Superiority
    from equipoise.data.tournament import TieBreakDetails as TieBreakDetails
    from equipoise.data.tournament import TournamentPerformance as TournamentPerformance
    from equipoise.display import Displayed as Displayed
    from equipoise.display import Tabular as Tabular
    from equipoise.errors import ConflictError as ConflictError
    from equipoise.errors import ConvergenceError as ConvergenceError
    from equipoise.errors import EquipoiseError as EquipoiseError
    from equipoise.errors import InvalidDataError as InvalidDataError
    from equipoise.errors import InvalidParameterError as InvalidParameterError
    from equipoise.errors import NoEquilibriumError as NoEquilibriumError
    from equipoise.errors import NoStrengthsError as NoStrengthsError
    from equipoise.errors import NotFoundError as NotFoundError
    from equipoise.errors import PluginError as PluginError
    from equipoise.errors import Problem as Problem
    from equipoise.errors import Sweep as Sweep
    from equipoise.evaluate.backtest import backtest as backtest
    from equipoise.evaluate.drift import drift as drift
    from equipoise.evaluate.incentives import Effort as Effort
    from equipoise.evaluate.incentives import incentives as incentives
    from equipoise.evaluate.rating_comparison import compare_ratings as compare_ratings
    from equipoise.evaluate.tuning import Record as Record
    from equipoise.evaluate.tuning import tune as tune
    from equipoise.formats import read_history as read_history
    from equipoise.formats import scan_history as scan_history
    from equipoise.formats import write_history as write_history
    from equipoise.formats import write_table as write_table
    from equipoise.formats.games import read_games as read_games
    from equipoise.formats.games import scan_games as scan_games
    from equipoise.formats.players import read_initial_ratings as read_initial_ratings
    from equipoise.formats.players import read_lobby as read_lobby
    from equipoise.formats.rebalance_request import read_rebalance_request as read_rebalance_request
    from equipoise.formats.table import GamesReading as GamesReading
    from equipoise.formats.table import HistoryReading as HistoryReading
    from equipoise.numeric.workers import Workers as Workers
    from equipoise.rating.base_system import HomeSystem as HomeSystem
    from equipoise.rating.base_system import System as System
    from equipoise.rating.elo_mmr.elo_mmr import EloMMR as EloMMR
    from equipoise.rating.elo_mmr.elo_mmr import EloMMX as EloMMX
    from equipoise.rating.explaining import explain as explain
    from equipoise.rating.looking_back import look_back as look_back
    from equipoise.rating.one_call.pool import Pool as Pool
    from equipoise.rating.one_call.rating import Rating as Rating
    from equipoise.rating.pool_state import PoolState as PoolState
    from equipoise.rating.predicting import lobby_of as lobby_of
    from equipoise.rating.registry import make_system as make_system
    from equipoise.rating.replay import Replay as Replay
    from equipoise.rating.replay import predict as predict
    from equipoise.rating.replay import replay as replay
    from equipoise.rating.state import Runs as Runs
    from equipoise.rating.state import State as State
    from equipoise.rating.system import Capabilities as Capabilities
    from equipoise.rating.system import RatingSystem as RatingSystem
    from equipoise.rating.systems.codeforces import Codeforces as Codeforces
    from equipoise.rating.systems.dwz import DWZ as DWZ
    from equipoise.rating.systems.egf import EGF as EGF
    from equipoise.rating.systems.elo import Elo as Elo
    from equipoise.rating.systems.fide import FIDE as FIDE
    from equipoise.rating.systems.glicko import Glicko as Glicko
    from equipoise.rating.systems.glicko2 import Glicko2 as Glicko2
    from equipoise.rating.systems.lichess import Lichess as Lichess
    from equipoise.rating.systems.stephenson import Stephenson as Stephenson
    from equipoise.rating.systems.team_glicko2 import TeamGlicko2 as TeamGlicko2
    from equipoise.rating.systems.topcoder import TopCoder as TopCoder
    from equipoise.rating.systems.trueskill import TrueSkill as TrueSkill
    from equipoise.rating.systems.trueskill import TrueSkillSPb as TrueSkillSPb
    from equipoise.rating.systems.uscf import USCF as USCF
    from equipoise.rating.systems.weng_lin import BradleyTerry as BradleyTerry
    from equipoise.rating.systems.weng_lin import PlackettLuce as PlackettLuce
    from equipoise.rating.systems.weng_lin import ThurstoneMosteller as ThurstoneMosteller
    from equipoise.rating.what_if import WhatIf as WhatIf
    from equipoise.rating.what_if import what_if as what_if
    from equipoise.teams.lobby_split import balance as balance
    from equipoise.teams.rebalance import rebalance as rebalance
    from equipoise.tournament.curves import Curve as Curve
    from equipoise.tournament.equilibrium import Equilibrium as Equilibrium
    from equipoise.tournament.equilibrium import (
        performance_equilibrium as performance_equilibrium,
    )
    from equipoise.tournament.formulas import Results as Results
    from equipoise.tournament.formulas import complete_performance as complete_performance
    from equipoise.tournament.formulas import fide_performance as fide_performance
    from equipoise.tournament.formulas import fide_rating_change as fide_rating_change
    from equipoise.tournament.formulas import linear_performance as linear_performance
    from equipoise.tournament.formulas import recursive_performance as recursive_performance
    from equipoise.tournament.formulas import results_of_player as results_of_player
    from equipoise.tournament.formulas import tournament_performance as tournament_performance
    from equipoise.tournament.rankings import RankingStrengths as RankingStrengths
    from equipoise.tournament.rankings import ranking_strengths as ranking_strengths
    from equipoise.tournament.tie_breaks import tie_break_details as tie_break_details
    from equipoise.tournament.tie_breaks import tie_breaks as tie_breaks
    from equipoise.tournament.tournament import performance as performance
    from equipoise.tournament.uncertainty import Uncertainty as Uncertainty
else:
    # Hidden from type checkers, which would otherwise take any name for a public one.
    def __getattr__(name: str) -> Any:
        if name == "__all__":  # for `from equipoise import *`
            return sorted(_places())
        if name == "__version__":
            from importlib.metadata import version

            return version("equipoise")
        place = _places().get(name)
        if place is None:
            raise AttributeError(f"module 'equipoise' has no attribute {name!r}")
        value = getattr(importlib.import_module(place), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(_places())


@functools.cache
def _places() -> dict[str, str]:
    """Return the module of every public name, in the order of the imports above."""
    import ast
    from pathlib import Path

    return {
        name.name: str(statement.module)
        for statement in ast.walk(ast.parse(Path(__file__).read_bytes()))
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
        if name.asname == name.name
    }
