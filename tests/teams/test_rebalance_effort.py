"""How much is looked at, what is said of the rest, and how long it takes (READINGS D9)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, get_args

import pytest

from equipoise.data.rebalancing import Method
from equipoise.teams import party_placing
from equipoise.teams.rebalance import rebalance
from teams.matches import in_words, large, request, solo
from trials.pace import stopwatch

METHODS: tuple[Method, ...] = get_args(Method)


def test_the_list_ends_where_it_is_told_and_says_so() -> None:
    found = rebalance(request((2, 2, 1, 6), [], solo(8)), candidates=True, max_sequences=100)
    assert (len(found.candidates), found.sequences, found.truncated) == (100, 100, True)
    assert "the list ends after 100 sequences: there are more" in found.notes
    # The answer does not come from the list.
    assert found.best == rebalance(request((2, 2, 1, 6), [], solo(8))).best


def test_sequences_that_strand_somebody_are_counted_and_not_listed() -> None:
    """Two of three into teams of three: if the single players come first, the pair has no room."""
    asked = request((2, 2, 2, 3), [], ["A1 B1", "C1", "D1", "E1 F1"])
    found = rebalance(asked, candidates=True)
    assert found.sequences == 24
    stranded = 24 - len(found.candidates)
    assert stranded > 0
    assert any(f"{stranded} sequences leave a party without a place" in one for one in found.notes)


def test_of_two_searches_that_are_cut_off_the_more_even_one_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first looks for the most even teams; the second tries a single sequence here."""
    whole = party_placing.search

    def cut(placing: Any, chosen: int, **more: Any) -> party_placing.Found:
        found = whole(placing, chosen if "targets" in more else placing.parties, **more)
        return replace(found, complete=False)

    asked = large(10, 2)
    best = rebalance(asked, method="optimal")
    monkeypatch.setattr(party_placing, "search", cut)
    found = rebalance(asked, method="permutation")
    assert found.truncated
    assert (found.member_count_difference, found.distance) == (
        best.member_count_difference,
        best.distance,
    )


@pytest.mark.slow
def test_optimal_proves_or_says_how_far_it_may_be() -> None:
    exact = rebalance(large(20, 4), method="optimal")
    assert exact.optimum.proved
    assert not exact.truncated
    cut = rebalance(large(20, 4), method="optimal", nodes=1)
    assert not cut.optimum.proved
    assert cut.truncated
    assert cut.optimum.bound_distance <= exact.distance <= cut.distance
    assert cut.optimum.bound_difference == exact.member_count_difference == 0


@pytest.mark.slow
def test_a_time_limit_ends_the_search_with_what_it_has() -> None:
    with stopwatch() as watch:
        found = rebalance(large(40, 4), method="optimal", nodes=10**9, time_limit=0.05)
    assert watch.seconds < 5
    assert found.truncated
    assert not found.optimum.proved


def test_equal_players_have_more_ties_than_are_kept_and_still_the_last_is_found() -> None:
    """Of 12 equal players every filling is as good: the last one of 924 is the answer."""
    asked = request((2, 2, 6, 6), [], solo(12, values=[7]))
    found = rebalance(asked, candidates=True)
    assert found.best == found.candidates[-1]
    six = rebalance(request((6, 6, 2, 2), [], solo(12, values=[7])))
    assert not six.truncated
    assert in_words(six.teams) == ["{K} {L}", "{I} {J}", "{G} {H}", "{E} {F}", "{C} {D}", "{A} {B}"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("players", "teams"), [(300, 30), (2000, 2)])
def test_large_matches_end_in_bounded_time(method: Method, players: int, teams: int) -> None:
    """With an answer: parties of one to three leave room for one another."""
    with stopwatch(time.process_time) as watch:
        found = rebalance(large(players, teams, sizes=(1, 2, 3)), method=method)
    assert sum(len(party) for team in found.teams for party in team) == players
    assert watch.seconds < 15
