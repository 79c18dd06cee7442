"""What the Elo-MMR paper prints in Tables 1 to 3, and the parameters of its authors' runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: In the order of the paper: what we call it, its column in Table 2, parameters of its runs.
AS_RUN: dict[str, dict[str, float]] = {
    "codeforces": {"beta": 65.0, "weight": 0.631},
    "topcoder": {"weight_noob": 0.905, "weight_limit": 0.18},
    "trueskill-spb": {"eps": 11.5, "beta": 40.0, "convergence_eps": 1e-4, "sigma_drift": 10.0},
    "elo-mmr": {"weight_limit": 0.23, "sigma_limit": 54.0, "rho": 0.04},
    "elo-mmx": {"weight_limit": 0.16, "sigma_limit": 74.0},
}

#: What the generator of the synthetic contests does, in the words of each system.
AS_GENERATED: dict[str, dict[str, float]] = {
    "trueskill-spb": {
        "eps": 0.1,
        "beta": 200.0,
        "sigma_drift": 35.0,
        "initial_deviation": 300.0,
    },
    "elo-mmr": {"beta": 200.0, "gamma": 35.0, "initial_deviation": 300.0},
    "elo-mmx": {"beta": 200.0, "gamma": 35.0, "initial_deviation": 300.0},
}
GRIDS: dict[str, dict[str, Sequence[float]]] = {
    "codeforces": {"weight": (0.2, 0.3, 0.4, 0.5, 0.7, 1.0)},
    "topcoder": {"weight_limit": (0.09, 0.12, 0.15, 0.18, 0.22), "weight_noob": (0.3, 0.6, 0.9)},
}

#: What is tried for trueskill-spb on the first tenth of the Codeforces contests.
TUNED_EARLY: dict[str, Sequence[float]] = {
    "eps": (0.1, 1.0, 4.0),
    "beta": (40.0, 100.0, 200.0, 300.0),
    "sigma_drift": (10.0, 20.0, 35.0),
}


@dataclass(frozen=True, slots=True)
class Published:
    """What the paper prints of a data set; tuples are in the order of `AS_RUN`.

    contests, participants : Table 1
    pairs, ranks : Table 2, pair inversion and rank deviation in percent
    seconds : Table 3
    """

    contests: int
    participants: int
    pairs: tuple[float, ...]
    ranks: tuple[float, ...]
    seconds: tuple[float, ...]


PAPER = {
    "Codeforces": Published(
        1087,
        2999,
        (78.3, 78.5, 61.7, 78.6, 78.5),
        (14.9, 15.1, 25.4, 14.7, 14.8),
        (212.9, 72.5, 67.2, 35.4, 31.4),
    ),
    "TopCoder": Published(
        2023,
        403,
        (72.6, 72.3, 68.7, 73.1, 73.0),
        (18.5, 18.7, 20.9, 18.2, 18.3),
        (9.60, 4.25, 16.8, 7.52, 7.00),
    ),
    "Reddit": Published(
        1000,
        20,
        (61.5, 61.4, 61.5, 61.6, 61.6),
        (27.3, 27.4, 27.2, 27.3, 27.3),
        (1.19, 1.14, 0.44, 1.42, 1.14),
    ),
    "Synthetic": Published(
        50,
        2500,
        (81.7, 81.7, 81.3, 81.7, 81.7),
        (12.9, 12.8, 13.1, 12.8, 12.8),
        (3.26, 1.00, 2.93, 0.85, 0.81),
    ),
}
