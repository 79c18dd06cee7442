"""Draw docs/figures/incentives.svg: the same matches thrown under several systems.

Run: python docs/figures/incentives.py
Upper row: ada of examples/league.csv loses on purpose every other week of the first twenty.
Lower row: jade-ibis of examples/contests.csv comes in last in the two contests that the search
finds best under topcoder.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import equipoise as eq
from equipoise.analysis.audit.chart import incentives_figure
from equipoise.charts import theme
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.evaluate.incentives import incentives, throwing

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
WEEKS = 20


def weeks_thrown(history: History, player: str) -> list[object]:
    """Return the player's matches in every other one of the first weeks."""
    assert history.time is not None
    week = (history.time - history.time[0]) // (7 * MICROSECONDS_PER_DAY)
    mine = history.match_rows()[history.player == history.player_row(player)]
    thrown: list[object] = history.match_ids[mine[(week[mine] < WEEKS) & (week[mine] % 2 == 0)]]
    return list(thrown)


def draw(target: Path) -> None:
    """Judge the same plans under several systems and write the chart."""
    league = eq.read_history(str(EXAMPLES / "league.csv"))
    contests = eq.read_history(str(EXAMPLES / "contests.csv"))
    glicko2 = eq.make_system("glicko2", {"tau": 1.2, "period_days": 7})
    topcoder, elo_mmr = eq.make_system("topcoder"), eq.EloMMR()
    weeks = weeks_thrown(league, "ada")
    (farmed,) = incentives(topcoder, contests, ["jade-ibis"])
    two = farmed.match_ids[np.flatnonzero(farmed.thrown)].tolist()
    found = {
        "glicko2, league": throwing(glicko2, league, "ada", weeks),
        "elo-mmr, league": throwing(elo_mmr, league, "ada", weeks),
        "topcoder, contests": farmed,
        "elo-mmr, contests": throwing(elo_mmr, contests, "jade-ibis", two),
    }
    figure = incentives_figure(
        found,
        title="Losing on purpose, and then winning",
        subtitle="Two volatile systems and Elo-MMR, each with the same matches thrown (marked). "
        "The other players keep their ratings.",
    )
    with target.open("wb") as file:
        theme.save(figure, file, "svg")


if __name__ == "__main__":
    draw(HERE / "incentives.svg")
