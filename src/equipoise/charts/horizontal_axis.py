"""The horizontal axis of a figure: moments, or counts that are whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.arrays import Ids

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def set_horizontal_axis(axes: Axes, places: Ids, counted: str | None, inches: float) -> None:
    """Set limits a little beyond the places, whole numbers for counts, and say what they count.

    places : shape (n,), datetime64[us] or int64
    counted : what the numbers count; None for moments
    inches : width of the figure, which tells how many ticks there is room for
    """
    import matplotlib.dates
    from matplotlib.ticker import MaxNLocator

    # Its module of dates has no types.
    dates: Any = matplotlib.dates

    first, last = places.min(), places.max()
    most = max(int(inches), 3)
    if counted is None:
        # A single moment is shown between the days around it.
        edge = np.timedelta64(2, "D") if first == last else (last - first) * 0.015
        axes.set_xlim(first - edge, last + edge)
        locator = dates.AutoDateLocator(minticks=2, maxticks=most)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        return
    edge = max((last - first) * 0.015, 0.6)
    axes.set_xlim(first - edge, last + edge)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=most, integer=True, min_n_ticks=1))
    axes.set_xlabel(counted)
