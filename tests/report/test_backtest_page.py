"""What the page on a backtest says, of backtests made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from equipoise import Elo, EloMMR, backtest
from equipoise.analysis.backtest.report import backtest_page
from equipoise.data.backtest import METRICS, Group, GroupScores
from equipoise.evaluate.synthetic import ContestModel, simulate_contests
from evaluate.backtest_by_hand import NAN, backtest_by_hand
from report.report_by_hand import FAIR, GOOD, history, part, problem, report, rows, tree, words

pytestmark = pytest.mark.usefixtures("undrawn")


def lead(page: str) -> str:
    """Return the first sentences of the verdict."""
    return words(next(one for one in tree(page).iter("p") if one.get("class") == "lead"))


def only(page: str, tag: str) -> ElementTree.Element:
    """Return the one element of a kind."""
    (found,) = tree(page).iter(tag)
    return found


def charts(page: str, section: str) -> list[str]:
    """Return the first words of the descriptions of the charts in a section."""
    found = part(page, section).iter("img")
    return [(one.get("alt") or "").partition(". ")[0] for one in found]


def _apart(first: str, second: str, *names: str) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Return intervals around 0 for these metrics: noise may explain the lead."""
    return {(first, second, name): (-1.0, 1.0) for name in names}


#: Metrics of systems, what noise may explain, and the verdict.
VERDICTS = [
    (
        {"a": GOOD, "b": FAIR},
        {},
        "a predicts best by all 5 metrics. The lead over every other system is significant.",
    ),
    (
        {"a": GOOD, "b": FAIR, "c": FAIR, "d": FAIR},
        _apart("a", "b", *GOOD) | _apart("a", "c", "brier"),
        "a predicts best by all 5 metrics. Noise may explain the lead over b by every metric, and "
        "over c by some metrics; over the others it is significant.",
    ),
    (
        {
            "a": {**GOOD, "brier": 0.3},
            "b": {**GOOD, "pair_inversion": 80.0, "brier": 0.2},
            "c": {**FAIR, "brier": 0.25},
        },
        _apart("a", "c", "rank_deviation", "ndcg", "log_loss"),
        "Best by rank deviation, NDCG and log loss: a and b, tied; by pair inversion: a; by Brier "
        "score: b. The lead over all others is significant only by pair inversion and Brier score.",
    ),
    (
        {"a": {"brier": 0.2, "log_loss": 0.5}, "b": {"brier": 0.2, "log_loss": 0.6}},
        {},
        "Best by log loss: a; by Brier score: a and b, tied. The lead over all others is "
        "significant only by log loss.",
    ),
    ({"a": {"brier": 0.2}, "b": {"brier": 0.2}}, {}, "a and b are tied by the only metric."),
]


@pytest.mark.parametrize(("values", "apart", "verdict"), VERDICTS)
def test_the_verdict_names_who_is_best(values: Any, apart: Any, verdict: str) -> None:
    page = backtest_page(report(found=backtest_by_hand(values, apart=apart)))
    assert lead(page) == verdict


def test_one_system_is_held_against_the_baseline_and_several_against_each_other() -> None:
    page = backtest_page(report("alone"))
    assert words(part(page, "verdict")).endswith(
        "For players with 5 or more earlier matches, alone is better than the baseline, which has "
        "no ratings, by every metric, and the difference is significant."
    )
    assert list(rows(page, "verdict-table"))[:2] == [
        ["metric", "alone", "baseline"],
        ["Pair inversion, % | higher is better", "83.000", "50.000"],
    ]
    assert words(only(page, "h1")) == ("How well does alone predict season.csv?")
    assert 'id="differences"' not in page
    assert "top 100" not in page
    page = backtest_page(report("a", "b", "c"))
    head, first, *others = rows(page, "verdict-table")
    assert (head[-2:], len(others)) == (["that is", "indistinguishable from"], 4)
    assert first[:4] == ["Pair inversion, % | higher is better", "a", "83.000", "b"]
    assert first[4:] == ["1.000 | 1.000 to 1.000", "beyond noise", "\N{EN DASH}"]
    assert len(charts(page, "differences")) == 5
    assert charts(page, "calibration") == ["Calibration of a, b, c"]


def test_worse_than_no_ratings_is_said() -> None:
    """Also where noise may explain it, and where what is better is too little, or may be noise."""
    values = {**FAIR, "pair_inversion": 50.04, "log_loss": 3.0, "brier": 0.31}
    apart = {("b", "baseline", "brier"): (-0.1, 0.2), ("a", "baseline", "ndcg"): (-0.1, 0.4)}
    found = backtest_by_hand({"a": GOOD, "b": values}, apart=apart)
    assert (
        "For players with 5 or more earlier matches: a is ahead of the baseline by NDCG, which "
        "noise may explain; b is worse than the baseline by log loss; b is behind the baseline by "
        "Brier score, which noise may explain; b does not differ from the baseline by pair "
        "inversion in a way that matters."
    ) in words(tree(backtest_page(report(found=found))))


def test_it_is_said_of_which_other_players_a_system_is_worse_than_no_ratings() -> None:
    """Only of groups where it is, and without those who were scored."""
    found = backtest_by_hand({"a": GOOD, "b": FAIR})
    guessed = {"pair_inversion": 40.0, "rank_deviation": 55.0, "log_loss": 0.6, "brier": 0.2}
    new = backtest_by_hand({"a": GOOD, "b": guessed})
    groups = tuple(
        Group(
            first=first,
            last=last,
            participations=7,
            systems=tuple(
                GroupScores(label=one.label, metrics=one.metrics, intervals=one.intervals)
                for one in of.systems
            ),
            differences=of.differences,
            over_baseline=of.over_baseline,
        )
        for first, last, of in ((0, 0, new), (1, 4, found), (5, None, new), (0, None, found))
    )
    said = words(part(backtest_page(report(found=replace(found, groups=groups))), "verdict"))
    assert said.endswith(
        "For players with 5 or more earlier matches, every system is better than the baseline, "
        "which has no ratings, by every metric, and the difference is significant. For players "
        "without an earlier "
        "match: b is worse than the baseline by pair inversion and rank deviation."
    )


def test_every_system_and_the_baseline_have_their_metrics() -> None:
    """With intervals below them; the best of the systems is marked."""
    page = backtest_page(report())
    head, one, other, baseline = rows(page, "metrics-table")
    assert head == [
        "system",
        *("Pair inversion, %", "Rank deviation, %", "Log loss", "Brier score", "NDCG"),
        "Calibration error",
    ]
    assert one[:2] == ["one", "83.000 | 82.990 to 83.010"]
    assert (other[0], baseline[0], baseline[-1]) == ("other", "baseline", "0.12500")
    table = part(page, "metrics")
    best = [
        words(cell).split()[0] for cell in table.iter("td") if "best" in (cell.get("class") or "")
    ]
    assert best == ["83.000", "12.000", "0.40000", "0.12000", "0.96000"]


def test_differences_keep_their_signs() -> None:
    """First less second, bold where the interval excludes 0, and 0 without a sign."""
    apart = {("one", "other", "ndcg"): (-0.1, 0.2)}
    found = backtest_by_hand({"one": GOOD, "other": {**FAIR, "brier": 0.12}}, apart=apart)
    page = backtest_page(report(found=found))
    _, row = rows(page, "all-differences")
    minus = "\N{MINUS SIGN}"
    assert row[:2] == ["one", "other"]
    assert row[2] == "+1.000 | +1.000 to +1.000"
    assert row[4].startswith(f"{minus}0.10000")
    assert row[5] == "0.00000 | 0.00000 to 0.00000"
    assert row[6] == f"+0.01000 | {minus}0.10000 to +0.20000"
    table = part(page, "differences")
    _, *marked = [cell.get("class") for cell in table.iter("td")]
    assert marked == ["number best", "number best", "number best", "number", "number"]


def test_what_is_not_known_is_a_dash() -> None:
    """A history of draws says nothing of orders; one system may know less than another."""
    values = {"a": {"log_loss": 0.6, "brier": 0.2}, "b": {"log_loss": 0.5, "brier": NAN}}
    found = backtest_by_hand(values)
    baseline = found.systems[-1]
    nothing = dict.fromkeys(("pair_inversion", "rank_deviation", "ndcg"), NAN)
    unknown = {**baseline.metrics, **nothing, "pair_inversion_top100": NAN}
    unknown["rank_deviation_top100"] = NAN
    found = replace(found, systems=(*found.systems[:-1], replace(baseline, metrics=unknown)))
    page = backtest_page(report(found=found))
    head, *_ = rows(page, "metrics-table")
    assert head[1:3] == ["Log loss", "Brier score"]
    assert list(rows(page, "metrics-table"))[2][2] == "\N{EN DASH}"
    assert "nan" not in page.lower().replace("beyond", "")


def test_parameters_that_were_set_stand_out() -> None:
    page = backtest_page(report(parameters={"one": {"k": 48.0, "on": True, "limit": None}}))
    section = part(page, "systems")
    assert [words(one) for one in section.iter("strong")] == ["k 48.0"]
    assert words(section).endswith("one elo k 48.0 on true limit not set other elo \N{EN DASH}")


def test_the_history_is_told_with_what_was_left_out() -> None:
    read = history(
        unrated=2,
        filtered=1500,
        dropped_matches=[f"m{number}" for number in range(25)],
        problems=[problem("must be a number", str(number)) for number in range(30)],
        notes=["columns are separated by ';', not by a comma"],
    )
    section = words(part(backtest_page(report(history=read)), "history"))
    assert "period 2020-01-01 to 2020-09-30" in section
    assert "matches filtered out 1,500" in section
    assert "Matches that were dropped: m0, m1," in section
    assert "m19 and 5 more." in section
    assert "the first 20; there are 10 more" in section
    assert "season.csv 7 rank must be a number 19" in section
    assert "separated by ';'" in section
    assert "without times" in words(part(backtest_page(report(period=None)), "history"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"learned": 1}, "The first 1 match was used only for learning."),
        ({"min_history": 5}, "fewer than 5 earlier matches were not scored"),
        ({"undecided": 3}, "3 scored matches were left with one tie"),
        ({"ties_as_authors": True}, "as the authors of Elo-MMR count it"),
        ({"ties_as_authors": False}, "counts one half, unless it tied"),
        (
            {"confidence": 0.9},
            "as wide as 90 % of 100 resamples of the matches (seed 3), and wider if",
        ),
    ],
)
def test_how_it_was_scored_is_told_in_words(change: dict[str, object], sentence: str) -> None:
    found = replace(report().found, **change)  # type: ignore[arg-type]
    assert sentence in words(part(backtest_page(report(found=found)), "scoring"))


def test_every_group_of_players_has_a_verdict_and_its_scores() -> None:
    """Who is best among newcomers need not be best among others."""
    systems = {"elo": Elo(), "mmr": EloMMR()}
    model = ContestModel(players=20, contests=14, attendance=0.7)
    history, _ = simulate_contests(model, rng=np.random.default_rng(1))
    found = backtest(systems, history, rng=np.random.default_rng(0))
    page = backtest_page(report(found=found))
    verdict = words(part(page, "verdict"))
    for name in ("Players without an earlier match", "Players with 1 to 4 earlier matches"):
        assert f"{name} (" in verdict
    assert "All players (" in verdict
    assert "Players with 5 or more earlier matches (" not in verdict
    shown = [row[2:4] for row in rows(page, "by-experience")]
    wanted = found.group(1, 4).of("mmr").metrics["pair_inversion"]
    assert any(row[0] == "mmr" and row[1].startswith(f"{wanted:.3f} |") for row in shown)


def test_a_lead_too_small_to_matter_is_said_to_be() -> None:
    near = {name: value * (1 + 1e-5) for name, value in GOOD.items()}
    found = backtest_by_hand({"a": GOOD, "b": near, "c": FAIR})
    page = backtest_page(
        report(found=replace(found, least_differences=dict.fromkeys(METRICS, 0.01)))
    )
    assert "no difference that matters" in words(part(page, "verdict"))
    assert "pair inversion 0.01" in words(part(page, "scoring"))


def test_metrics_of_the_top_are_shown_where_they_differ() -> None:
    assert "top 100" not in backtest_page(report())
    found = report().found
    first = found.systems[0]
    higher = replace(first, metrics={**first.metrics, "pair_inversion_top100": 90.0})
    changed = replace(found, systems=(higher, *found.systems[1:]))
    assert "Pair inversion, top 100, %" in words(tree(backtest_page(report(found=changed))))
