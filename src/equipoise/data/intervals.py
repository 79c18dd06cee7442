"""The 95 % range of a rating: what ± and error bars mean wherever a rating is shown.

A deviation is one standard deviation. It is called so in files, messages and columns of that name.
"""

from __future__ import annotations

from typing import Final

#: Deviations on either side of a rating within which 95 % of a normal distribution lies.
HALF_WIDTH: Final = 1.96
#: How ± is labelled.
LABEL: Final = "95 %"


def half_width(deviation: float) -> float:
    """Return how far the 95 % range extends on either side of a rating."""
    return HALF_WIDTH * deviation


def half_width_in_words(deviation: float) -> str:
    """Return the same as text of two or three digits; more would claim to know it better."""
    width = half_width(deviation)
    digits = 0 if width >= 100 else 1 if width >= 10 else 2
    return f"{width:,.{digits}f}"
