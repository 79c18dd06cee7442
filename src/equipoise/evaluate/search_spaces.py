"""Which parameters of each system are worth a search, and where they are looked for.

Source: [EM]_ section 6.3 says only that a grid was searched. The grids of `codeforces`,
`trueskill-spb`, `elo-mmr` and `elo-mmx` are those of the authors' published search program
(multi-skill 0.1, hparam_search), which spaces every parameter by equal factors and rounds.
Departures: of `elo-mmr` and `elo-mmx` it also tries every `rho` of 0, 0.04, 0.2, 1, 5 and infinity
and `split_ties`; here these stay as they are given unless they are asked for. Of `topcoder` it
scales both weights together; here they are two parameters. The spaces of the other systems are
ours: what their sources recommend, and a factor of about four either way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from equipoise.data.tuning import Range, Value
from equipoise.errors import InvalidParameterError
from equipoise.rating.elo_mmr_parameters import EloMMRParameters
from equipoise.rating.registry import kind_of, parameters_of
from equipoise.rating.system import RatingSystem


class Span(NamedTuple):
    """Values from `low` to `high`: as a grid in so many steps, rounded to multiples of `unit`.

    log : spaced by equal factors instead of equal steps
    """

    low: float
    high: float
    steps: int
    unit: float
    log: bool = True

    def grid(self) -> tuple[float, ...]:
        """Return the values of the grid; what is equal after rounding stands once."""
        space = np.geomspace if self.log else np.linspace
        units = np.rint(space(self.low, self.high, self.steps) / self.unit)
        # Fifteen digits: 3 x 0.1 is written, and read again, as 0.3.
        return tuple(dict.fromkeys(float(f"{count * self.unit:.15g}") for count in units))


_BETA = Span(30, 600, 15, 5)
_DRIFT = Span(5, 80, 12, 1)
_LIMITS = {"weight_limit": Span(0.01, 2, 15, 0.01), "sigma_limit": Span(20, 160, 10, 5)}
#: The same in the other spelling (READINGS B4).
_SPREADS = {"beta": Span(60, 600, 12, 10), "gamma": Span(5, 120, 12, 1)}
_WENG_LIN = {"beta": _BETA, "drift": Span(1, 80, 10, 0.5)}

SPACES: dict[str, dict[str, Span]] = {
    "bradley-terry": _WENG_LIN,
    "codeforces": {"beta": _BETA, "weight": Span(0.05, 10, 12, 0.01)},
    "elo": {"k": Span(4, 160, 14, 1)},
    "elo-mmr": _LIMITS,
    "elo-mmx": _LIMITS,
    "glicko": {"drift": _DRIFT, "initial_deviation": Span(100, 500, 5, 10)},
    "glicko2": {
        "initial_volatility": Span(0.01, 0.24, 8, 0.005),
        "tau": Span(0.2, 1.2, 4, 0.1),
        "initial_deviation": Span(100, 500, 5, 10),
    },
    "plackett-luce": _WENG_LIN,
    "team-glicko2": {
        "beta": Span(0, 0.6, 7, 0.1, log=False),
        "initial_volatility": Span(0.01, 0.24, 6, 0.005),
        "initial_deviation": Span(100, 500, 5, 10),
    },
    "topcoder": {
        "weight_noob": Span(0.1, 0.95, 10, 0.01),
        "weight_limit": Span(0.03, 0.6, 10, 0.01),
    },
    "trueskill": {"beta": _BETA, "drift": Span(1, 80, 10, 0.5)},
    "trueskill-spb": {"eps": Span(0.1, 100, 10, 0.1), "beta": _BETA, "sigma_drift": _DRIFT},
}


def starting_values(system: RatingSystem, names: Iterable[str]) -> dict[str, Value]:
    """Return the parameters as they are; None only where that is no other spelling of a number."""
    values = parameters_of(system)
    if isinstance(system, EloMMRParameters):
        values["weight_limit"], values["sigma_limit"] = system.limits()
    return {name: values[name] for name in names}


def default_grid(system: RatingSystem) -> dict[str, tuple[Value, ...]]:
    """Return the values to try for a system.

    Raises : InvalidParameterError where none are known
    """
    return {name: span.grid() for name, span in _space(system).items()}


def default_ranges(system: RatingSystem) -> dict[str, Range]:
    """Return the ranges to sample for a system. Raises : InvalidParameterError."""
    return {
        name: Range(
            low=span.low,
            high=span.high,
            log=span.log,
            whole=kind_of(system.name, name) == "whole",
        )
        for name, span in _space(system).items()
    }


def _space(system: RatingSystem) -> dict[str, Span]:
    if parameters_of(system).get("gamma") is not None:
        return _SPREADS
    space = SPACES.get(system.name)
    if space is None:
        raise InvalidParameterError(
            f"for {system.name} say what to try: which values, or which ranges, of which parameters"
        )
    return space
