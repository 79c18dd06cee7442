"""The verdict of a backtest in sentences: who is best, by what, for whom, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from equipoise.data.backtest import (
    BASELINE,
    GROUP_METRICS,
    HIGHER_IS_BETTER,
    LEAST_MATCHES,
    Backtest,
    Difference,
    judge,
    players_with,
)
from equipoise.evaluate.standings import UNKNOWN, Standing, standings
from equipoise.markup import element, joined
from equipoise.report.backtest_tables import METRIC, Noted, Table, shown_metrics
from equipoise.wording import counted


def given(text: str) -> Markup:
    """Return text of a user for use in a sentence, isolated from its direction of writing."""
    return element("bdi", text)


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
        if one.behind and all(one.judged(rival) == "beyond noise" for rival in one.behind)
    ]
    if len(clear) == len(standing):
        return "Its lead over every other system is significant by each of these metrics."
    if not clear:
        return "The lead over all others is not significant by any metric."
    return f"The lead over all others is significant only by {_named(clear)}."


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


def verdict_table(found: Backtest, standing: Sequence[Standing]) -> Table:
    """Return the best system by every metric and its lead; a single system leads the baseline."""
    if not any(one.rivals for one in standing):
        values = [(METRIC[one.metric], one.value) for one in standing]
        baseline = found.of(BASELINE).metrics
        return Table(
            "Compared with the baseline",
            {"metric": "", found.systems[0].label: ">", BASELINE: ">"},
            [
                [
                    Noted(one.heading, one.better),
                    *(one.number(x) for x in (value, baseline[one.key])),
                ]
                for one, value in values
            ],
        )
    columns = {"metric": "", "best": "", "value": ">", "next best": "", "behind by": ">"}
    columns |= {"that is": "", "indistinguishable from": ""} if found.resamples else {}
    rows = [_verdict(one)[: len(columns)] for one in standing]
    return Table("Who is best", columns, rows)


def _verdict(one: Standing) -> list[object]:
    metric = METRIC[one.metric]
    row = [Noted(metric.heading, metric.better), enumerated(one.leaders), metric.number(one.value)]
    if not one.behind:
        return [*row, None, None, None, None]
    nearest = one.behind[0]
    behind = Noted(metric.number(nearest.behind), metric.interval(nearest.lower, nearest.upper))
    alike = enumerated(one.not_told_apart) if one.not_told_apart else None
    return [*row, nearest.label, behind, one.judged(nearest), alike]
