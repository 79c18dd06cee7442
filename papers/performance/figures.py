"""The document's tables as charts: PPRs with their errors, TPRs and ratings before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.analysis.performance.chart import tournament_chart
from equipoise.tournament.tournament import performance
from papers.items import Facts
from papers.performance.tournaments import (
    AVERAGE_1970,
    grand_prix,
    interzonal,
    round_robin,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def table_1(_: Facts) -> Figure:
    """Return the chart of Tournament 1."""
    return tournament_chart(performance(round_robin(1)), name="Tournament 1 of Table 1")


def table_2(_: Facts) -> Figure:
    """Return the chart of Palma 2017."""
    return tournament_chart(performance(grand_prix("palma")), name="the Grand Prix of Palma 2017")


def table_3(_: Facts) -> Figure:
    """Return the chart of the Interzonal as printed, without the missing game."""
    found = performance(interzonal(complete=False), anchor=AVERAGE_1970)
    return tournament_chart(found, name="the Interzonal of 1970, without one game")
