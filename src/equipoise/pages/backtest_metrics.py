"""How the metrics of a backtest are called and written on a page."""

from __future__ import annotations

import math
from typing import NamedTuple

from equipoise.charts.scale import signed
from equipoise.data.backtest import HIGHER_IS_BETTER, METRICS, Backtest

#: What stands where there is no number.
NOTHING = "\N{EN DASH}"


class Metric(NamedTuple):
    """How a metric is called and written.

    key : in `METRICS`; unit : after a number; digits : behind the point
    """

    key: str
    name: str
    unit: str
    digits: int
    meaning: str

    @property
    def better(self) -> str:
        """Which direction is the better one."""
        return "higher is better" if self.key in HIGHER_IS_BETTER else "lower is better"

    @property
    def inside(self) -> str:
        """The name inside a sentence: NDCG and Brier keep their capitals."""
        return self.name if self.key in ("ndcg", "brier") else self.name.lower()

    @property
    def heading(self) -> str:
        """The name, with its unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name

    def number(self, value: float) -> str:
        """Return a value as text, without its unit."""
        return NOTHING if math.isnan(value) else signed(f"{value:z.{self.digits}f}")

    def change(self, value: float) -> str:
        """Return a difference as text, with its sign."""
        if math.isnan(value):
            return NOTHING
        # What is written as 0 has no sign.
        rounded = round(value, self.digits)
        return signed(f"{rounded:+.{self.digits}f}") if rounded else self.number(0.0)

    def interval(self, lower: float, upper: float, sign: bool = False) -> str:
        """Return bounds as text, or nothing where nobody knows them."""
        if math.isnan(lower) or math.isnan(upper):
            return ""
        write = self.change if sign else self.number
        return f"{write(lower)} to {write(upper)}"


_TOP = "The same, for those who came among the first hundred of their match."

_METRICS = (
    Metric(
        "pair_inversion",
        "Pair inversion",
        "%",
        3,
        "Of all pairs of a match, the share that was put in the right order.",
    ),
    Metric(
        "rank_deviation",
        "Rank deviation",
        "%",
        3,
        "Distance between predicted and actual place, in percent of the largest there can be.",
    ),
    Metric("pair_inversion_top100", "Pair inversion, top 100", "%", 3, _TOP),
    Metric("rank_deviation_top100", "Rank deviation, top 100", "%", 3, _TOP),
    Metric(
        "ndcg",
        "NDCG",
        "",
        5,
        "How much of what the best order would have gained the predicted one gains, the first "
        "places counting most; 1 is all.",
    ),
    Metric(
        "log_loss",
        "Log loss",
        "",
        5,
        signed("-s ln p - (1 - s) ln(1 - p)") + " for a pair with expected score p and score s (a "
        "win 1, a tie 1/2, a loss 0). To be sure and wrong costs most.",
    ),
    Metric(
        "brier",
        "Brier score",
        "",
        5,
        signed("(s - p)") + "\N{SUPERSCRIPT TWO} for such a pair.",
    ),
)
CALIBRATION = Metric(
    "calibration",
    "Calibration error",
    "",
    5,
    "Mean distance of expected and observed scores.",
)
METRIC = {metric.key: metric for metric in _METRICS}


def shown_metrics(found: Backtest) -> list[Metric]:
    """Return the metrics with any numbers, those of the top only where matches are larger."""
    one = found.systems[0].metrics
    same = one["pair_inversion_top100"] == one["pair_inversion"]
    return [
        METRIC[key]
        for key in METRICS
        if not (same and key.endswith("top100"))
        and not all(math.isnan(system.metrics[key]) for system in found.systems)
    ]
