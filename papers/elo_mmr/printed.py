"""What the Elo-MMR paper prints in Tables 1 to 3, and our stored results for its real data.

The authors' parameters are those of their published runs (READINGS B12). The stored results were
measured by `benchmarks/tables.py`, `benchmarks/experience.py` and `benchmarks/entry.py`, whose
output is in `benchmarks/results`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

#: Systems in the order of the paper's columns, with the parameters of the authors' runs.
AS_RUN: dict[str, dict[str, float]] = {
    "codeforces": {"beta": 65.0, "weight": 0.631},
    "topcoder": {"weight_noob": 0.905, "weight_limit": 0.18},
    "trueskill-spb": {"eps": 11.5, "beta": 40.0, "convergence_eps": 1e-4, "sigma_drift": 10.0},
    "elo-mmr": {"weight_limit": 0.23, "sigma_limit": 54.0, "rho": 0.04},
    "elo-mmx": {"weight_limit": 0.16, "sigma_limit": 74.0},
}


class Row(NamedTuple):
    """A data set in Tables 1 to 3, as printed; tuples in the order of `AS_RUN`."""

    contests: str
    participants: str
    pairs: tuple[str, ...]
    ranks: tuple[str, ...]
    seconds: tuple[str, ...]


TABLES: dict[str, Row] = {
    "Codeforces": Row(
        "1087",
        "2999",
        ("78.3", "78.5", "61.7", "78.6", "78.5"),
        ("14.9", "15.1", "25.4", "14.7", "14.8"),
        ("212.9", "72.5", "67.2", "35.4", "31.4"),
    ),
    "TopCoder": Row(
        "2023",
        "403",
        ("72.6", "72.3", "68.7", "73.1", "73.0"),
        ("18.5", "18.7", "20.9", "18.2", "18.3"),
        ("9.60", "4.25", "16.8", "7.52", "7.00"),
    ),
    "Reddit": Row(
        "1000",
        "20",
        ("61.5", "61.4", "61.5", "61.6", "61.6"),
        ("27.3", "27.4", "27.2", "27.3", "27.3"),
        ("1.19", "1.14", "0.44", "1.42", "1.14"),
    ),
    "Synthetic": Row(
        "50",
        "2500",
        ("81.7", "81.7", "81.3", "81.7", "81.7"),
        ("12.9", "12.8", "13.1", "12.8", "12.8"),
        ("3.26", "1.00", "2.93", "0.85", "0.81"),
    ),
}


class Experience(NamedTuple):
    """Pair inversion by earlier contests: none, 1 to 4, 5 or more, and of all players."""

    none: float
    few: float
    many: float
    every: float


class Measured(NamedTuple):
    """A data set as we have it: its size, and by system pair inversion and rank deviation.

    experience : pair inversion by experience, by system
    """

    contests: int
    participants: float
    scores: Mapping[str, tuple[float, float]]
    source: str
    experience: Mapping[str, Experience]


#: Codeforces, from 10 % on, commit 3cba53eb of 2026-11-23; benchmarks/results/experience.md.
STORED_EXPERIENCE = {
    "codeforces": Experience(69.889, 76.988, 78.225, 76.408),
    "topcoder": Experience(56.645, 78.561, 78.330, 74.741),
    "trueskill-spb": Experience(32.749, 77.627, 77.325, 69.861),
    "elo-mmr": Experience(40.496, 78.963, 78.385, 72.148),
}

#: Codeforces without --data. benchmarks/results/tables.md.
STORED = Measured(
    1062,
    2818.0,
    {
        "codeforces": (78.225, 15.020),
        "topcoder": (78.330, 14.928),
        "trueskill-spb": (77.325, 15.623),
        "elo-mmr": (78.385, 14.904),
        "elo-mmx": (78.467, 14.859),
    },
    "Stored: measured at commit 3cba53eb, 2026-11-23. --data DIR computes it.",
    STORED_EXPERIENCE,
)

#: Seconds of rating all Codeforces contests, two threads, commit 3faf6cbb of 2026-11-23.
STORED_SECONDS = {
    "codeforces": 0.87,
    "topcoder": 0.56,
    "trueskill-spb": 6.88,
    "elo-mmr": 1.73,
    "elo-mmx": 1.98,
}
#: The same of the synthetic contests, mean of ten seeds.
STORED_SYNTHETIC_SECONDS = {
    "codeforces": 0.04,
    "topcoder": 0.02,
    "trueskill-spb": 0.23,
    "elo-mmr": 0.06,
    "elo-mmx": 0.08,
}

#: Pair inversion of elo-mmr by rho, commit 3cba53eb of 2026-11-23; benchmarks/results/backtest.md.
STORED_RHO = {"0": 78.386, "0.04": 78.385, "0.2": 78.382, "1": 78.363, "inf": 78.285}

#: A learned entry and a held level, with the constants that were chosen on the first half of
#: Codeforces; benchmarks/results/entry.md.
CHOSEN_ENTRY: dict[str, dict[str, float | str]] = {
    "codeforces": {
        "entry": "learned",
        "entry_half_life": 1000.0,
        "entry_weight": 30.0,
        "entry_clip": 1.0,
        "hold_level": 0.2,
        "level_memory": 500.0,
        "level_step": 0.057,
    },
    "elo-mmr": {
        "entry": "learned",
        "entry_half_life": 3000.0,
        "entry_weight": 30.0,
        "entry_clip": 0.5,
        "hold_level": 0.05,
        "level_memory": 2000.0,
        "level_step": 0.03,
    },
}
#: First contests and all participations of the second half of Codeforces, commit 3cba53eb of
#: 2026-11-23; benchmarks/results/entry.md.
STORED_ENTRY = {
    "codeforces, fixed entry": (70.57, 77.37),
    "codeforces, learned entry, held level": (73.49, 78.04),
    "elo-mmr, fixed entry": (39.62, 73.01),
    "elo-mmr, learned entry, held level": (75.05, 78.95),
}
