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
    from equipoise.data.backtest import Backtest
    from equipoise.data.drift import Drift
    from equipoise.data.effective import EffectiveRating
    from equipoise.data.explanation import Explanation
    from equipoise.data.history import History
    from equipoise.data.lobby import Lobby
    from equipoise.data.prediction import Prediction
    from equipoise.data.ratings import Ratings, Trace
    from equipoise.data.split import Balance
    from equipoise.data.win_probability import win_probability
    from equipoise.errors import (
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
    from equipoise.evaluate.placing import PlaceDistribution, place_distribution
    from equipoise.formats import read_history, scan_history, write_history, write_table
    from equipoise.formats.lobby import read_lobby
    from equipoise.rating.elo import Elo
    from equipoise.rating.elo_mmr import EloMMR
    from equipoise.rating.elo_mmx import EloMMX
    from equipoise.rating.explaining import explain
    from equipoise.rating.glicko import Glicko
    from equipoise.rating.glicko2 import Glicko2
    from equipoise.rating.pool_state import PoolState
    from equipoise.rating.registry import make_system
    from equipoise.rating.replay import Replay, predict, replay
    from equipoise.rating.team_glicko2 import TeamGlicko2
    from equipoise.rating.trueskill import TrueSkill, TrueSkillSPb
    from equipoise.rating.weng_lin import BradleyTerry, PlackettLuce
    from equipoise.rating.what_if import WhatIf, what_if

_PLACES = {
    "Balance": "equipoise.data.split",
    "Backtest": "equipoise.data.backtest",
    "BradleyTerry": "equipoise.rating.weng_lin",
    "ConflictError": "equipoise.errors",
    "ConvergenceError": "equipoise.errors",
    "Drift": "equipoise.data.drift",
    "EffectiveRating": "equipoise.data.effective",
    "Elo": "equipoise.rating.elo",
    "EloMMR": "equipoise.rating.elo_mmr",
    "EloMMX": "equipoise.rating.elo_mmx",
    "EquipoiseError": "equipoise.errors",
    "Explanation": "equipoise.data.explanation",
    "Glicko": "equipoise.rating.glicko",
    "Glicko2": "equipoise.rating.glicko2",
    "History": "equipoise.data.history",
    "InvalidDataError": "equipoise.errors",
    "InvalidParameterError": "equipoise.errors",
    "Lobby": "equipoise.data.lobby",
    "NoEquilibriumError": "equipoise.errors",
    "NotFoundError": "equipoise.errors",
    "PlackettLuce": "equipoise.rating.weng_lin",
    "PlaceDistribution": "equipoise.evaluate.placing",
    "PoolState": "equipoise.rating.pool_state",
    "Prediction": "equipoise.data.prediction",
    "Problem": "equipoise.errors",
    "Ratings": "equipoise.data.ratings",
    "Replay": "equipoise.rating.replay",
    "Sweep": "equipoise.errors",
    "TeamGlicko2": "equipoise.rating.team_glicko2",
    "TrueSkill": "equipoise.rating.trueskill",
    "TrueSkillSPb": "equipoise.rating.trueskill",
    "Trace": "equipoise.data.ratings",
    "WhatIf": "equipoise.rating.what_if",
    "backtest": "equipoise.evaluate.backtest",
    "drift": "equipoise.evaluate.drift",
    "balance": "equipoise.balance.lobby_split",
    "explain": "equipoise.rating.explaining",
    "make_system": "equipoise.rating.registry",
    "place_distribution": "equipoise.evaluate.placing",
    "predict": "equipoise.rating.replay",
    "read_history": "equipoise.formats",
    "read_lobby": "equipoise.formats.lobby",
    "replay": "equipoise.rating.replay",
    "scan_history": "equipoise.formats",
    "what_if": "equipoise.rating.what_if",
    "win_probability": "equipoise.data.win_probability",
    "write_history": "equipoise.formats",
    "write_table": "equipoise.formats",
}

__all__ = [
    "Backtest",
    "Balance",
    "BradleyTerry",
    "ConflictError",
    "ConvergenceError",
    "Drift",
    "EffectiveRating",
    "Elo",
    "EloMMR",
    "EloMMX",
    "EquipoiseError",
    "Explanation",
    "Glicko",
    "Glicko2",
    "History",
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
    "Ratings",
    "Replay",
    "Sweep",
    "TeamGlicko2",
    "Trace",
    "TrueSkill",
    "TrueSkillSPb",
    "WhatIf",
    "backtest",
    "balance",
    "drift",
    "explain",
    "make_system",
    "place_distribution",
    "predict",
    "read_history",
    "read_lobby",
    "replay",
    "scan_history",
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
