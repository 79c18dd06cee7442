"""Metrics against slow definitions, written from section 6.2 of [EM]."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.backtest import ORDER_METRICS, SCORE_METRICS
from equipoise.data.outlook import Curve
from equipoise.errors import InvalidDataError
from equipoise.evaluate.scoring.metrics import Rule, score_teams
from equipoise.evaluate.scoring.order import GROUP_RATIOS, GROUPS
from equipoise.evaluate.scoring.tally import Scored, Tally
from evaluate.predictions import VARIANCES, history_of, outlook_of, predicted_matches
from reference import metrics as slow
from reference.metrics import Team


def tally(
    matches: list[list[Team]],
    *,
    min_history: int = 0,
    first: int = 0,
    as_authors: bool = False,
    curve: Curve = "logistic",
    all_pairs: int = 32,
    by_experience: bool = False,
) -> Tally:
    """Score predictions that are given."""
    history = history_of(matches)
    scored = Scored.of(history, min_history=min_history, first=first)
    field = scored.predicted_teams(0, history.matches, outlook_of(matches, curve))
    rule = Rule(as_authors, curve == "normal", all_pairs)
    found = Tally(scored, by_experience)
    members = scored.members(0, history.matches) if by_experience else None
    found.add(0, history.matches, field, score_teams(field, 0, rule, members))
    return found


@given(
    matches=predicted_matches(),
    first=st.integers(0, 2),
    as_authors=st.booleans(),
    curve=st.sampled_from(["logistic", "normal"]),
    all_pairs=st.sampled_from([32, 2]),
)
@examples(80)
def test_groups_by_experience_are_what_their_definition_says(
    matches: list[list[Team]], first: int, as_authors: bool, curve: Curve, all_pairs: int
) -> None:
    """Pairs by the less experienced of the two, distances by player: every one, one by one.

    Seven times the same matches, so that some players have five earlier ones.
    """
    matches = 7 * matches
    wanted = slow.Groups(matches, first, as_authors)
    wanted.normal, wanted.all_pairs = curve == "normal", all_pairs
    wanted.run()
    try:
        found = tally(
            matches,
            first=first,
            as_authors=as_authors,
            curve=curve,
            all_pairs=all_pairs,
            by_experience=True,
        )
    except InvalidDataError:
        assert sum(wanted.players) == 0
        return
    for group in range(GROUPS):
        assert found.participations(group) == wanted.players[group]
        for name, value in found.metrics(group).items():
            mean = wanted.means[group][name].mean
            assert value == pytest.approx(mean, abs=1e-9, nan_ok=True), (group, name)
    # All groups together are the score over all, the last one being what is left of it.
    for name in GROUP_RATIOS:
        parts = [one[name] for one in wanted.means]
        weight = sum(part.weight for part in parts)
        mean = sum(part.sum for part in parts) / weight if weight else math.nan
        assert found.metrics()[name] == pytest.approx(mean, abs=1e-9, nan_ok=True), name


@given(
    matches=predicted_matches(),
    min_history=st.integers(0, 3),
    first=st.integers(0, 2),
    as_authors=st.booleans(),
    curve=st.sampled_from(["logistic", "normal"]),
    all_pairs=st.sampled_from([32, 2]),
)
@examples(80)
def test_every_metric_is_what_its_definition_says(
    matches: list[list[Team]],
    min_history: int,
    first: int,
    as_authors: bool,
    curve: Curve,
    all_pairs: int,
) -> None:
    """With ties, newcomers, equal predictions and teams; 1e-9 is a thousand times the rounding."""
    wanted = slow.Backtest(matches, min_history, min(first, len(matches)), as_authors)
    wanted.normal, wanted.all_pairs = curve == "normal", all_pairs
    wanted.run()
    try:
        found = tally(
            matches,
            min_history=min_history,
            first=min(first, len(matches)),
            as_authors=as_authors,
            curve=curve,
            all_pairs=all_pairs,
        )
    except InvalidDataError:
        assert wanted.participations == 0
        return
    for name in (*ORDER_METRICS, *SCORE_METRICS):
        mean = wanted.means[name].mean
        assert found.metrics()[name] == pytest.approx(mean, abs=1e-9, nan_ok=True), name
    bins = found.calibrated()
    # A pair of even teams is seen in the bin above one half from both of its sides.
    np.testing.assert_allclose(bins.participations, [row[0] for row in wanted.bins], atol=1e-9)
    np.testing.assert_allclose(
        np.nan_to_num(bins.expected * bins.participations),
        [row[1] for row in wanted.bins],
        atol=1e-9,
    )
    np.testing.assert_allclose(
        np.nan_to_num(bins.observed * bins.participations),
        [row[2] for row in wanted.bins],
        atol=1e-9,
    )


def duel(centre: float, rank: int) -> list[Team]:
    return [Team(centre, 1.0, rank, [0]), Team(1500.0, 1.0, 1 - rank, [1])]


def test_a_favourite_who_wins_and_one_who_loses() -> None:
    """[EM] sec. 6.2 by hand: all right, all wrong."""
    right, wrong = tally([duel(1501, 0)]).metrics(), tally([duel(1501, 1)]).metrics()
    assert (right["pair_inversion"], right["rank_deviation"]) == (100, 0)
    assert (wrong["pair_inversion"], wrong["rank_deviation"]) == (0, 100)
    p = 1 / (1 + math.exp(-1 / math.sqrt(2)))
    assert right["log_loss"] == pytest.approx(-math.log(p), abs=1e-12)
    assert wrong["brier"] == pytest.approx(p * p, abs=1e-12)


def test_equal_predictions_count_one_half_or_all() -> None:
    """READINGS B9: and their places are shared, or taken in the order of the result."""
    plain = tally([duel(1500, 1)]).metrics()
    authors = tally([duel(1500, 1)], as_authors=True).metrics()
    assert (plain["pair_inversion"], plain["rank_deviation"]) == (50, 50)
    assert (authors["pair_inversion"], authors["rank_deviation"]) == (100, 0)


def test_the_closest_place_of_a_tie_counts() -> None:
    """Three tie for places 0 to 2: nobody predicted there is off; the last was predicted first."""
    teams = [
        Team(centre, 1.0, rank, [k])
        for k, (centre, rank) in enumerate([(1400.0, 0), (1500.0, 0), (1300.0, 0), (1600.0, 1)])
    ]
    # Predicted places 2, 1, 3, 0 of actual 0-2, 0-2, 0-2, 3.
    assert tally([teams]).metrics()["rank_deviation"] == pytest.approx((0 + 0 + 100 / 3 + 100) / 4)


def test_the_top_is_decided_before_anyone_is_left_out() -> None:
    """The first 100 of the whole match, of whom the newcomers are then removed."""
    veterans = list(range(5))
    warm_up = [Team(1500.0, 1.0, rank, [rank]) for rank in veterans]
    field = [Team(1500.0 - k, 1.0, k, [100 + k]) for k in range(98)]
    late = [Team(1300.0 - k, 1.0, 98 + k, [k]) for k in veterans]
    found = tally([warm_up, [*field, *late]], min_history=1)
    top = found.sums.blocks.sum(axis=0)
    assert (top[0], top[2]) == (5, 2)


def test_a_sample_of_pairs_is_close_to_all_of_them() -> None:
    """96,000 of 1.8 million pairs; their losses spread by 0.5 and 0.2: three standard errors."""
    rng = np.random.default_rng(3)
    matches = []
    for _ in range(40):
        centre = rng.normal(1500, 300, 300)
        place = np.argsort(np.argsort(-(centre + rng.normal(0, 200, 300))))
        matches.append(
            [
                Team(float(centre[k]), VARIANCES[0], int(place[k]) // 7, [k])
                for k in range(len(centre))
            ]
        )
    sample, whole = tally(matches), tally(matches, all_pairs=300)
    for name, spread in (("log_loss", 0.5), ("brier", 0.2)):
        error = 3 * spread / math.sqrt(96_000)
        assert sample.metrics()[name] == pytest.approx(whole.metrics()[name], abs=error)
    np.testing.assert_allclose(sample.calibrated().observed, whole.calibrated().observed, atol=0.02)


def test_draws_count_for_expected_scores_alone() -> None:
    """READINGS B9 drops a match left with one tie; its expected score was still right or wrong."""
    drawn = [Team(1500.0, 1.0, 0, [0]), Team(1502.0, 1.0, 0, [1])]
    found = tally([drawn]).metrics()
    assert math.isnan(found["pair_inversion"])
    assert math.isnan(found["ndcg"])
    assert found["brier"] == pytest.approx((0.5 - 1 / (1 + math.exp(math.sqrt(2)))) ** 2)
