"""What a page on a backtest says in words: metrics, who is best, how it was scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.charts.markup import Markup, joined
from equipoise.data.backtest import HIGHER_IS_BETTER, Backtest, SystemScores
from equipoise.evaluate.standings import Rival, Standing
from equipoise.pages.backtest_metrics import METRIC, shown_metrics
from equipoise.pages.document import given

_SPACE = "\N{NO-BREAK SPACE}"


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many}"


def enumerated(labels: Sequence[str]) -> Markup:
    """Return labels as they stand in a sentence."""
    *others, last = map(given, labels)
    return joined(joined(others, by=", "), " and ", last) if others else last


def lead(found: Backtest, standing: Sequence[Standing]) -> Markup:
    """Return in a sentence or two who is best, and how sure that is."""
    if not standing:
        return joined("Nothing could be scored by order or by expected score.")
    if not any(one.rivals for one in standing):
        only = given(standing[0].best)
        return joined(only, " is the only system here. It is held against the baseline.")
    metrics: dict[tuple[str, ...], list[str]] = {}
    for one in standing:
        metrics.setdefault(one.leaders, []).append(one.metric)
    if len(metrics) == 1:
        return joined(_leading(standing), ". ", _over_whom(found, standing))
    # Sorting is stable: of those who lead as often, the first metric decides.
    most = sorted(metrics.items(), key=lambda entry: -len(entry[1]))
    parts = (joined(_named(keys), ": ", _level(labels)) for labels, keys in most)
    return joined("Best by ", joined(parts, by="; by "), ". ", _how_often(found, standing))


def _leading(standing: Sequence[Standing]) -> Markup:
    """Return who is best by every metric."""
    labels, count = standing[0].leaders, len(standing)
    metrics = {1: "the one metric there is", 2: "both metrics"}.get(count, f"all {count} metrics")
    if len(labels) == 1:
        return joined(given(labels[0]), f" predicts best by {metrics}")
    if len(labels) == 1 + len(standing[0].rivals):
        return joined(enumerated(labels), f" are level by {metrics}")
    return joined(enumerated(labels), f" predict best by {metrics}, and are level")


def _level(labels: Sequence[str]) -> Markup:
    return joined(enumerated(labels), ", level" if len(labels) > 1 else "")


def _named(metrics: Sequence[str]) -> str:
    """Return metrics as they stand in a sentence."""
    *others, last = (METRIC[key].inside for key in metrics)
    return f"{', '.join(others)} and {last}" if others else last


_NO_INTERVALS = "Nothing was resampled, so noise may explain any lead."


def _over_whom(found: Backtest, standing: Sequence[Standing]) -> Markup:
    """Return over which systems the lead of one, which leads by every metric, is beyond noise."""
    if not found.resamples:
        return joined(_NO_INTERVALS)
    clear: dict[str, list[bool]] = {}
    for one in standing:
        for rival in one.behind:
            clear.setdefault(rival.label, []).append(rival.beyond_noise is True)
    never = [label for label, beyond in clear.items() if not any(beyond)]
    partly = [label for label, beyond in clear.items() if any(beyond) and not all(beyond)]
    if not clear:
        return Markup("")
    if not never and not partly:
        return joined("The lead over every other system is beyond noise.")
    parts = [
        joined("over ", enumerated(labels), f" by {which}")
        for labels, which in ((never, "every metric"), (partly, "some metrics"))
        if labels
    ]
    rest = len(clear) - len(never) - len(partly)
    end = "; over the others it is beyond noise." if rest else "."
    return joined("Noise may explain the lead ", joined(parts, by=", and "), end)


def _how_often(found: Backtest, standing: Sequence[Standing]) -> str:
    """Return by which metrics the best is ahead of all others beyond noise."""
    if not found.resamples:
        return _NO_INTERVALS
    clear = [one.metric for one in standing if all(rival.beyond_noise for rival in one.behind)]
    if len(clear) == len(standing):
        return "Every lead over every other system is beyond noise."
    if not clear:
        return "By no metric is the lead over all others beyond noise."
    return f"The lead over all others is beyond noise by {_named(clear)} only."


def judged(rival: Rival) -> str:
    """Return in words whether a rival is really behind."""
    known = rival.beyond_noise
    if rival.behind == 0:
        return "level"
    if known is None:
        return "not known"
    return "beyond noise" if known else "within noise"


def against_baseline(found: Backtest) -> list[Markup]:
    """Return sentences on which systems are better than no ratings at all, and which are not."""
    *systems, baseline = found.systems
    shown = shown_metrics(found)
    sentences = []
    for one in systems:
        worse = [metric.key for metric in shown if _worse(one, baseline, metric.key)]
        if worse:
            text = f" is no better than the baseline by {_named(worse)}."
            sentences.append(joined(given(one.label), text))
    if sentences:
        return sentences
    who = "Every system is" if len(systems) > 1 else "It is"
    return [joined(f"{who} better than the baseline, which has no ratings, by every metric.")]


def _worse(one: SystemScores, baseline: SystemScores, key: str) -> bool:
    sign = 1 if key in HIGHER_IS_BETTER else -1
    # A comparison with NaN is false.
    return sign * one.metrics[key] <= sign * baseline.metrics[key]


def scoring(found: Backtest, seed: int) -> Iterator[str]:
    """Yield how it was scored, a sentence or two each."""
    yield (
        "Each match was predicted from the ratings before it, then scored, and only then learned "
        "from. So no prediction knew its own result, and every system was scored on the same "
        "matches."
    )
    if found.learned:
        first = counted(found.learned, "match was", "matches were")
        yield f"The first {first} only learned from."
    if found.min_history:
        fewer = counted(found.min_history, "earlier match", "earlier matches")
        yield f"Participations of players with fewer than {fewer} were not scored."
    yield (
        "Every metric is a mean over participations: a match of a hundred counts ten times as much "
        "as one of ten."
    )
    yield (
        "Orders are those of the ratings. "
        + (
            "Pairs that were predicted equal count as right, as the authors of Elo-MMR count them."
            if found.ties_as_authors
            else "A pair that was predicted equal counts one half, unless it tied."
        )
    )
    if found.undecided:
        left = counted(found.undecided, "scored match was", "scored matches were")
        yield (
            f"{left} left with one tie: such a match says nothing of orders, and counts for log "
            "loss, Brier score and calibration only."
        )
    yield (
        "The baseline predicts without ratings: nobody is stronger than anybody, and where one of "
        "two is at home, it expects the mean score of those at home so far."
    )
    yield _noise(found, seed)


def _noise(found: Backtest, seed: int) -> str:
    """Return what intervals are, or that there are none."""
    if not found.resamples:
        return "Nothing was resampled (--resamples 0), so there are no intervals."
    return (
        f"Intervals hold {100 * found.confidence:g}{_SPACE}% of {found.resamples:,} resamples of "
        f"the matches (seed {seed}). All systems are drawn together, so luck that they shared "
        "cancels in a difference. A difference is called beyond noise if its interval excludes 0."
    )
