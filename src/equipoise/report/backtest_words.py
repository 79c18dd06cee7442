"""The sentences of the backtest page, and the names and number formats of its metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from equipoise.charts.axes import signed
from equipoise.data.backtest import (
    GROUP_METRICS,
    HIGHER_IS_BETTER,
    LEAST_DIFFERENCE,
    LEAST_MATCHES,
    METRICS,
    Backtest,
    Difference,
    judge,
    players_with,
)
from equipoise.evaluate.standings import UNKNOWN, Standing, standings
from equipoise.markup import joined
from equipoise.report.document import given
from equipoise.wording import counted

#: Text in place of a missing number.
NOTHING = "\N{EN DASH}"


class Metric(NamedTuple):
    """The name of a metric and the format of its values.

    key : in `METRICS`; unit : after a number; digits : after the decimal point
    """

    key: str
    name: str
    unit: str
    digits: int
    meaning: str

    @property
    def better(self) -> str:
        """Which direction is better."""
        return "higher is better" if self.key in HIGHER_IS_BETTER else "lower is better"

    @property
    def inside(self) -> str:
        """The name within a sentence: NDCG and Brier keep their capitals."""
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
        # A number that is written as 0 has no sign.
        rounded = round(value, self.digits)
        return signed(f"{rounded:+.{self.digits}f}") if rounded else self.number(0.0)

    def interval(self, lower: float, upper: float, sign: bool = False) -> str:
        """Return bounds as text; "" if they are unknown."""
        if math.isnan(lower) or math.isnan(upper):
            return ""
        write = self.change if sign else self.number
        return f"{write(lower)} to {write(upper)}"


_TOP = "The same, for the players who finished in the top 100 of their match."

_METRICS = (
    Metric(
        "pair_inversion",
        "Pair inversion",
        "%",
        3,
        "Share of the pairs in a match that were predicted in the right order.",
    ),
    Metric(
        "rank_deviation",
        "Rank deviation",
        "%",
        3,
        "Distance between predicted and actual place, in percent of the largest possible distance.",
    ),
    Metric("pair_inversion_top100", "Pair inversion, top 100", "%", 3, _TOP),
    Metric("rank_deviation_top100", "Rank deviation, top 100", "%", 3, _TOP),
    Metric(
        "ndcg",
        "NDCG",
        "",
        5,
        "Gain of the predicted order as a share of the gain of the best order. The first places "
        "count most; 1 is perfect.",
    ),
    Metric(
        "log_loss",
        "Log loss",
        "",
        5,
        signed("-s ln p - (1 - s) ln(1 - p)") + " for a pair with expected score p and score s (a "
        "win 1, a tie 1/2, a loss 0). Confident wrong predictions cost most.",
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
    "Mean distance between expected and observed scores.",
)
METRIC = {metric.key: metric for metric in _METRICS}


def shown_metrics(found: Backtest) -> list[Metric]:
    """Return the metrics that have values; top 100 only if there are larger matches."""
    one = found.systems[0].metrics
    same = one["pair_inversion_top100"] == one["pair_inversion"]
    return [
        METRIC[key]
        for key in METRICS
        if not (same and key.endswith("top100"))
        and not all(math.isnan(system.metrics[key]) for system in found.systems)
    ]


_SPACE = "\N{NO-BREAK SPACE}"


def enumerated(labels: Sequence[str]) -> Markup:
    """Return labels as part of a sentence."""
    *others, last = map(given, labels)
    return joined(joined(others, by=", "), " and ", last) if others else last


def lead(standing: Sequence[Standing], unknown: str) -> Markup:
    """Return one or two sentences: which system is best, and how sure that is.

    unknown : why this is not known, "" if it is
    """
    if not standing:
        return joined("There was nothing to score.")
    if not any(one.rivals for one in standing):
        only = given(standing[0].best)
        return joined(only, " is the only system. It is compared with the baseline.")
    metrics: dict[tuple[str, ...], list[str]] = {}
    for one in standing:
        metrics.setdefault(one.leaders, []).append(one.metric)
    if len(metrics) == 1:
        return joined(_leading(standing), ". ", unknown or _over_whom(standing))
    # Sorting is stable: among systems that lead equally often, the first metric decides.
    most = sorted(metrics.items(), key=lambda entry: -len(entry[1]))
    parts = (joined(_named(keys), ": ", _level(labels)) for labels, keys in most)
    return joined("Best by ", joined(parts, by="; by "), ". ", unknown or _how_often(standing))


def _leading(standing: Sequence[Standing]) -> Markup:
    """Return which system is best by which metrics."""
    labels, count = standing[0].leaders, len(standing)
    metrics = {1: "the only metric", 2: "both metrics"}.get(count, f"all {count} metrics")
    if len(labels) == 1:
        return joined(given(labels[0]), f" predicts best by {metrics}")
    if len(labels) == 1 + len(standing[0].rivals):
        return joined(enumerated(labels), f" are tied by {metrics}")
    return joined(enumerated(labels), f" predict best by {metrics}, tied")


def _level(labels: Sequence[str]) -> Markup:
    return joined(enumerated(labels), ", tied" if len(labels) > 1 else "")


def _named(metrics: Sequence[str]) -> str:
    """Return metrics as part of a sentence."""
    *others, last = (METRIC[key].inside for key in metrics)
    return f"{', '.join(others)} and {last}" if others else last


_NO_INTERVALS = "Nothing was resampled, so noise may explain any lead."
_TOO_FEW = f"Fewer than {LEAST_MATCHES} matches were scored, too few for a verdict on any lead."


def no_verdict(found: Backtest, differences: Sequence[Difference]) -> str:
    """Return why differences have no intervals; "" if they have."""
    if not found.resamples:
        return _NO_INTERVALS
    bounds = [bound for one in differences for pair in one.intervals.values() for bound in pair]
    return _TOO_FEW if all(math.isnan(bound) for bound in bounds) else ""


def _over_whom(standing: Sequence[Standing]) -> Markup:
    """Return over which systems a lead by every metric is significant."""
    judged: dict[str, list[str]] = {}
    for one in standing:
        for rival in one.behind:
            of_rival = judged.setdefault(rival.label, [])
            if one.judged(rival) != "no difference that matters":
                of_rival.append(one.judged(rival))
    beyond = {label: [one == "beyond noise" for one in found] for label, found in judged.items()}
    small = [label for label, clear in beyond.items() if not clear]
    never = [label for label, clear in beyond.items() if clear and not any(clear)]
    partly = [label for label, clear in beyond.items() if any(clear) and not all(clear)]
    rest = len(beyond) - len(small) - len(never) - len(partly)
    sentences = []
    if small:
        sentences.append(joined("The lead over ", enumerated(small), " is too small to matter."))
    if never or partly:
        parts = [
            joined("over ", enumerated(labels), f" by {which}")
            for labels, which in ((never, "every metric"), (partly, "some metrics"))
            if labels
        ]
        end = "; over the others it is significant." if rest else "."
        sentences.append(joined("Noise may explain the lead ", joined(parts, by=", and "), end))
    elif rest:
        whom = "the others" if small else "every other system"
        sentences.append(joined(f"The lead over {whom} is significant."))
    return joined(sentences, by=" ")


def _how_often(standing: Sequence[Standing]) -> str:
    """Return by which metrics the best system is significantly ahead of all others."""
    clear = [
        one.metric
        for one in standing
        if all(one.judged(rival) == "beyond noise" for rival in one.behind)
    ]
    if len(clear) == len(standing):
        return "Its lead over every other system is significant by each of these metrics."
    if not clear:
        return "The lead over all others is not significant by any metric."
    return f"The lead over all others is significant only by {_named(clear)}."


def for_whom(found: Backtest) -> str:
    """Return for which players a verdict holds."""
    many = counted(found.participations, "participation", "participations")
    return f"This holds for {found.for_whom} ({many})."


def by_experience(found: Backtest) -> Iterator[Markup]:
    """Yield a verdict on every other group of players by earlier matches."""
    for group in found.groups:
        name = players_with(group.first, group.last)
        if name == found.for_whom:
            continue
        many = counted(group.participations, "participation", "participations")
        said = lead(standings(found, group), no_verdict(found, group.differences))
        yield joined(f"{name[0].upper()}{name[1:]} ({many}): ", said)


def against_baseline(found: Backtest) -> Iterator[Markup]:
    """Yield whether predictions of the scored players are better than predictions without ratings.

    Then yield a sentence for every other group of players in which a system is behind the baseline.
    """
    keys = [metric.key for metric in shown_metrics(found)]
    short = _short_of_baseline(found.over_baseline, keys, found.least_differences)
    if short:
        yield joined(f"For {found.for_whom}: ", joined(short, by="; "), ".")
    else:
        one, *others = found.over_baseline
        who = joined("every system" if others else given(one.first), " is better than the baseline")
        unknown = no_verdict(found, found.over_baseline)
        sure = f". {unknown}" if unknown else ", and the difference is significant."
        text = f", which has no ratings, by every metric{sure}"
        yield joined(f"For {found.for_whom}, ", who, text)
    for group in found.groups:
        name = players_with(group.first, group.last)
        if name == found.for_whom:
            continue
        behind = _short_of_baseline(
            group.over_baseline, GROUP_METRICS, found.least_differences, ahead=False
        )
        if behind:
            yield joined(f"For {name}: ", joined(behind, by="; "), ".")


def _short_of_baseline(
    differences: Sequence[Difference],
    keys: Sequence[str],
    least: Mapping[str, float],
    ahead: bool = True,
) -> list[Markup]:
    """Return the metrics by which systems are behind the baseline; the same are said once.

    ahead : also name metrics by which they are level, or ahead by a difference that does not matter
      or that noise may explain
    """
    #: What is said -> the systems that it is said of.
    said: dict[tuple[str, str, str], list[str]] = {}

    def say(label: str, one: str, many: str, rest: str) -> None:
        said.setdefault((one, many, rest), []).append(label)

    noise = ", which noise may explain"
    for one in differences:
        worse: list[str] = []
        perhaps: list[str] = []
        level: list[str] = []
        unsure: list[str] = []
        for key in keys:
            change = one.metrics[key]
            if math.isnan(change):
                continue
            judged = judge(change, one.intervals.get(key, UNKNOWN), least[key])
            better = (change > 0) == (key in HIGHER_IS_BETTER)
            if judged == "not known" and better:
                continue
            if judged in ("level", "no difference that matters"):
                level.append(key)
            elif judged in ("within noise", "not known"):
                (unsure if better else perhaps).append(key)
            elif not better:
                worse.append(key)
        if worse:
            say(one.first, "is", "are", f"worse than the baseline by {_named(worse)}")
        if perhaps:
            say(one.first, "is", "are", f"behind the baseline by {_named(perhaps)}{noise}")
        if level and ahead:
            rest = f"not differ from the baseline by {_named(level)} in a way that matters"
            say(one.first, "does", "do", rest)
        if unsure and ahead:
            say(one.first, "is", "are", f"ahead of the baseline by {_named(unsure)}{noise}")
    return [
        joined(enumerated(labels), f" {singular if len(labels) == 1 else plural} {rest}")
        for (singular, plural, rest), labels in said.items()
    ]


def scoring(found: Backtest, seed: int) -> Iterator[str]:
    """Yield sentences on how the predictions were scored."""
    yield (
        "Each match was predicted from the ratings before it, then scored, and only then used for "
        "learning. So no prediction used its own result, and every system was scored on the same "
        "matches."
    )
    if found.learned:
        first = counted(found.learned, "match was", "matches were")
        yield f"The first {first} used only for learning."
    if found.min_total is not None:
        fewer = counted(found.min_total, "match", "matches")
        yield (
            f"Participations of players with fewer than {fewer} in the complete history, including "
            f"later ones, were not scored."
        )
    elif found.min_history:
        fewer = counted(found.min_history, "earlier match", "earlier matches")
        yield f"Participations of players with fewer than {fewer} were not scored."
    if found.groups:
        yield (
            "The table by earlier matches scores all players: pairs by the less experienced of the "
            "two, rank deviation by player, with places counted in the complete field. For players "
            "with five or more earlier matches, places are counted only among these players."
        )
    least = found.least_differences
    if dict(least) == dict(LEAST_DIFFERENCE):
        small = "0.05 of a metric in percent and 0.0005 of any other"
    else:
        small = ", ".join(f"{METRIC[name].inside} {value:g}" for name, value in least.items())
    yield f"A difference below these limits counts as no difference that matters: {small}."
    yield (
        "Every metric is a mean over participations: a match of a hundred counts ten times as much "
        "as one of ten."
    )
    yield (
        "The ratings give the predicted order. "
        + (
            "A pair with equal predictions counts as right, as the authors of Elo-MMR count it."
            if found.ties_as_authors
            else "A pair with equal predictions counts one half, unless it tied."
        )
    )
    if found.undecided:
        left = counted(found.undecided, "scored match was", "scored matches were")
        yield (
            f"{left} left with one tie: such a match says nothing about order and counts only for "
            f"log loss, Brier score and calibration."
        )
    yield (
        "The baseline predicts without ratings: it assumes that all players are equally strong. If "
        "one of two players is at home, it expects the mean score of home players so far."
    )
    yield _noise(found, seed)


def _noise(found: Backtest, seed: int) -> str:
    """Return a description of the intervals, or that there are none."""
    if not found.resamples:
        return "Nothing was resampled (--resamples 0), so there are no intervals."
    return (
        f"Intervals are as wide as {100 * found.confidence:g}{_SPACE}% of {found.resamples:,} "
        f"resamples of the matches (seed {seed}), and wider if the scores of a player in different "
        f"matches are alike. All systems share the resamples, so luck that they had in common "
        f"cancels in a difference. A difference is significant (beyond noise, in the tables) if "
        f"its interval excludes 0. With fewer than {LEAST_MATCHES} matches it has no interval."
    )
