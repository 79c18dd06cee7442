"""How benchmarks/tables.py shows what it measured, beside what the paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from elo_mmr_paper import AS_RUN, PAPER

from equipoise.data.backtest import Backtest, Difference
from equipoise.data.history import History
from report import Part

SEEDS = tuple(range(10))
#: A mean over the seeds may be so far from the paper's figure.
WITHIN = 0.3


@dataclass(frozen=True, slots=True)
class Measured:
    """What we find on one history.

    ours, authors : backtests, pairs predicted equal being halves or, as the authors count, right
    seconds : to rate the whole history, by system
    """

    history: History
    ours: Backtest
    authors: Backtest
    seconds: dict[str, float]


def apart(one: Measured, name: str, metric: str) -> bool:
    """Return whether the two ways to count ties differ in what is shown."""
    return round(one.ours.of(name).metrics[metric], 3) != round(
        one.authors.of(name).metrics[metric], 3
    )


def first_table(named: Mapping[str, History]) -> Part:
    """Return Table 1: sizes."""
    rows = []
    for name, paper in PAPER.items():
        history = named.get(name)
        rows.append(
            (
                name,
                "not public" if history is None else f"{history.matches:,}",
                f"{paper.contests:,}",
                "" if history is None else f"{history.participations / history.matches:,.0f}",
                f"{paper.participants:,}",
            )
        )
    columns = ("data", "contests", "paper", "participants each", "paper")
    return Part("Table 1: the data", columns, rows)


def second_table(named: Mapping[str, Measured]) -> Part:
    """Return Table 2 of histories that were read: the order that was predicted."""
    rows = []
    for data, one in named.items():
        paper = PAPER.get(data)
        for k, name in enumerate(AS_RUN):
            cells = [data, name]
            for metric, printed in (("pair_inversion", "pairs"), ("rank_deviation", "ranks")):
                value = one.ours.of(name).metrics[metric]
                cells.append(f"{value:.3f}")
                both = one.authors.of(name).metrics[metric]
                cells.append(f"{both:.3f}" if apart(one, name, metric) else "the same")
                cells.append("" if paper is None else f"{getattr(paper, printed)[k]:.1f}")
            scores = one.ours.of(name)
            cells += [f"{scores.metrics['log_loss']:.4f}", f"{scores.calibration.error:.4f}"]
            rows.append(tuple(cells))
    columns = (
        *("data", "system", "pair inversion, %", "ties as authors", "paper"),
        *("rank deviation, %", "ties as authors", "paper", "log loss", "calibration error"),
    )
    note = (
        "Log loss and calibration are not in the paper. A log loss above 1 comes of expected "
        "scores next to 0 and 1 that were wrong."
    )
    return Part("Table 2: what was predicted", columns, rows, note)


def differences_table(one: Backtest, data: str) -> Part:
    """Return how far the systems are from elo-mmr, on the same contests."""
    rows = []
    for found in one.differences:
        if "elo-mmr" not in (found.first, found.second):
            continue
        other = found.first if found.second == "elo-mmr" else found.second
        sign = 1.0 if found.second == "elo-mmr" else -1.0
        shown = (("pair_inversion", 3), ("rank_deviation", 3), ("log_loss", 4))
        rows.append((other, *(difference(found, metric, sign, n) for metric, n in shown)))
    columns = ("system", "pair inversion, %", "rank deviation, %", "log loss")
    return Part(f"{data}: less elo-mmr, with the 95 % interval", columns, rows)


def difference(found: Difference, metric: str, sign: float, digits: int) -> str:
    """Return a difference and its bounds."""
    low, high = sorted(sign * bound for bound in found.intervals[metric])
    value = sign * found.metrics[metric]
    return f"{value:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"


def synthetic_table(
    found: Mapping[str, list[Measured]], parameters: Mapping[str, Mapping[str, Mapping[str, float]]]
) -> Part:
    """Return the synthetic row of Table 2: means over the seeds, and their range."""
    rows = []
    for kind, seeds in found.items():
        for k, name in enumerate(AS_RUN):
            cells = [kind, name]
            for metric, printed in (("pair_inversion", "pairs"), ("rank_deviation", "ranks")):
                values = [one.ours.of(name).metrics[metric] for one in seeds]
                paper = getattr(PAPER["Synthetic"], printed)[k]
                missed = [
                    str(seed)
                    for seed, value in zip(SEEDS, values, strict=True)
                    if abs(value - paper) > WITHIN
                ]
                within = "yes" if abs(mean(values) - paper) <= WITHIN else "NO"
                cells += [spread(values), f"{paper:.1f}", within, " ".join(missed)]
            rows.append((*cells, spread([one.ours.of(name).metrics["log_loss"] for one in seeds])))
    columns = (
        *("parameters", "system", "pair inversion, %", "paper", "within 0.3", "seeds outside"),
        *("rank deviation, %", "paper", "within 0.3", "seeds outside", "log loss"),
    )
    same = not any(
        apart(one, name, metric)
        for seeds in found.values()
        for one in seeds
        for name in AS_RUN
        for metric in ("pair_inversion", "rank_deviation")
    )
    chosen = "; ".join(f"{name} {settings(parameters['fitted'][name])}" for name in AS_RUN)
    note = (
        f"Mean of ten seeds (least to most). Fitted: {chosen}. "
        f"Ties counted as the authors do: {'the same figures' if same else 'other figures'}."
    )
    return Part("Table 2: the synthetic row", columns, rows, note)


def settings(parameters: Mapping[str, float]) -> str:
    """Return parameters in a few words."""
    return "(" + ", ".join(f"{name} {value:g}" for name, value in parameters.items()) + ")"


def spread(values: Sequence[float]) -> str:
    """Return a mean and its range."""
    return f"{mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def third_table(seconds: Mapping[str, Mapping[str, float]]) -> Part:
    """Return Table 3: seconds to rate everything."""
    rows = []
    for data, taken in seconds.items():
        paper = PAPER.get(data)
        for k, name in enumerate(AS_RUN):
            printed = "" if paper is None else f"{paper.seconds[k]:g}"
            rows.append((data, name, f"{taken[name]:.2f}", printed))
    columns = ("data", "system", "seconds, 2 threads", "paper, 24 cores")
    return Part("Table 3: time", columns, rows, "Synthetic: mean of the ten seeds.")
