"""Elo-MMR-chi, the Gaussian model: the same rounds, with normal performances.

Source: [EM]_ Algorithms 1-3 with the Gaussian terms of Theorem 3.2; what it shares with the
logistic model is in `elo_mmr_parameters`, its performances are found in `elo_mmr_gaussian`.
Departure: the `performance_ceiling` of a match caps performances, as in the logistic model; the
Gaussian variant of the authors' program does not apply it (READINGS B8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from equipoise.rating.elo_mmr_parameters import EloMMRParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class EloMMX(EloMMRParameters):
    """Elo-MMR-chi [EM]_: Elo-MMR with the Gaussian performance model.

    A `performance_ceiling` caps performances here, which the authors' Gaussian variant does not do
    (READINGS B8). A belief is one Gaussian, so nothing but rating and deviation is remembered. The
    parameters are those of `EloMMR`; two of them cannot change anything here and are taken so that
    one parameter file serves both models:

    rho : where all factors are Gaussian, transfer and decay are the same [EM] sec. 4.1
    remembered : no performance has a shape of its own to keep

    As there, `opponents` is for reproducing published figures only; here it breaks Theorems 5.2,
    5.5 and 5.6, and an `ApproximationWarning` says so once for each object.
    """

    name: ClassVar[str] = "elo-mmx"
    gaussian: ClassVar[bool] = True
