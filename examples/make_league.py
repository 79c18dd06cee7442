"""Make examples/league.csv: a league of six players in which farming volatility pays.

Run: python examples/make_league.py
For 30 weeks each of six players plays twelve games a week. Five are about equally strong; ada is
200 points stronger, and in top form in the last four weeks. The guide on incentives shows what
losing on purpose before that would do for her. The file is the same on every machine; a test holds
it against this script.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.formats import write_history

PLAYERS = ("ada", "ben", "cem", "dia", "eva", "finn")
WEEKS, ROUNDS, LAST = 30, 12, 4
#: Rating points above the mean of the others, before the last weeks and in them.
STRONGER, IN_FORM = 200.0, 500.0
#: 2025-01-02, a Thursday: where weeks since 1970 begin.
FIRST_DAY = 20_090


def league() -> History:
    """Return the season: rounds of three duels each, drawn by lot, decided by logistic chance."""
    rng = np.random.default_rng(3)
    skill = rng.normal(1500, 100, len(PLAYERS))
    player, rank, day = [], [], []
    for week in range(WEEKS):
        skill[0] = 1500 + (IN_FORM if week >= WEEKS - LAST else STRONGER)
        for _ in range(ROUNDS):
            drawn = rng.permutation(len(PLAYERS))
            for one, other in zip(drawn[::2], drawn[1::2], strict=True):
                chance = 1 / (1 + 10 ** ((skill[other] - skill[one]) / 400))
                wins = rng.random() < chance
                player += [one, other]
                rank += [0, 1] if wins else [1, 0]
                day.append(FIRST_DAY + 7 * week)
    return History(
        match_ids=np.arange(1, len(day) + 1),
        player_ids=np.array(PLAYERS, dtype=object),
        offsets=2 * np.arange(len(day) + 1),
        player=np.array(player, dtype=np.int64),
        team=np.tile([0, 1], len(day)),
        rank=np.array(rank, dtype=np.int64),
        time=np.array(day, dtype=np.int64) * MICROSECONDS_PER_DAY,
        time_kind="date",
    )


PLACE = Path(__file__).with_name("league.csv")

if __name__ == "__main__":
    write_history(league(), PLACE)
