"""What rebalancing promises, whatever the method (READINGS D); worked by hand or drawn."""

from __future__ import annotations

import math
from typing import Any, get_args

import pytest
from hypothesis import given

from drawing import examples
from equipoise.data.rebalancing import (
    MatchedParty,
    MatchedPlayer,
    Method,
    Rebalance,
    RebalanceRequest,
    Rule,
    Ruleset,
)
from equipoise.errors import (
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
)
from equipoise.teams import party_search
from equipoise.teams.rebalance import rebalance
from teams.matches import (
    BACKFILL,
    COMBINED,
    MMR,
    PARTITIONED,
    in_words,
    large,
    request,
    requests,
    solo,
)

METHODS: tuple[Method, ...] = get_args(Method)


def duel(rules: tuple[Rule, ...]) -> Ruleset:
    return Ruleset(
        min_number=2, max_number=2, player_min_number=1, player_max_number=1, rules=rules
    )


# What holds for every method.


@examples(50)
@given(requests(most_parties=6))
def test_every_player_is_there_once_parties_are_whole_and_capacities_kept(
    asked: RebalanceRequest,
) -> None:
    rules = asked.ruleset
    for method in METHODS:
        try:
            found = rebalance(asked, method=method)
        except EquipoiseError:
            continue
        placed = [party for team in found.teams for party in team]
        assert sorted(map(str, placed)) == sorted(str(one.ids) for _, one in asked.everyone())
        sizes = [sum(len(party) for party in team) for team in found.teams]
        assert rules.min_number <= len(sizes) <= rules.max_number
        assert max(sizes) <= rules.player_max_number
        assert min(sizes) >= rules.player_min_number or asked.backfill
        assert found.member_count_difference == max(sizes) - min(sizes)
        for at, team in enumerate(asked.session):
            members = [one.ids for one in team]
            assert not members or list(found.teams[at][: len(members)]) == members


def evenness(found: Rebalance) -> tuple[int, float]:
    return found.member_count_difference, found.distance


@examples(60)
@given(requests(most_parties=6, sessions=False))
def test_the_order_of_arrival_decides_only_between_equals(asked: RebalanceRequest) -> None:
    """All sequences are looked at, in whatever order parties came."""
    turned = RebalanceRequest(ruleset=asked.ruleset, parties=asked.parties[::-1])
    for method in ("permutation", "combination", "optimal"):
        try:
            first = rebalance(asked, method=method)
        except InvalidDataError:
            continue
        again = rebalance(turned, method=method)
        assert again.method == first.method
        if first.method == method:
            assert evenness(again) == pytest.approx(evenness(first), abs=1e-9)


# The choice of the method (D5).


@pytest.mark.parametrize(
    ("asked", "method", "reason"),
    [
        (request(*BACKFILL), "permutation", "a session of 1 player is filled"),
        (request(*COMBINED), "combination", "strict, 2 x 3 players: 6 in all, not more than 12"),
        (request(*PARTITIONED), "greedy", "strict, 2 x 7 players: 14 in all, more than 12"),
        (request((2, 2, 6, 6), [], solo(12)), "combination", "12 in all, not more than 12"),
        (request((1, 2, 3, 3), [], solo(6)), "permutation", "min_number is 1, max_number is 2"),
        (request((2, 2, 1, 3), [], solo(6)), "permutation", "player_min_number is 1, player_max"),
        (request((2, 2, 3, 3), [[], []], solo(6)), "combination", "6 in all"),
        (
            request((2, 2, 3, 3), ["A1", []], ["B1", "C1", "D1", "E1", "F1"]),
            "permutation",
            "session",
        ),
        (
            request((2, 2, 3, 3), [], solo(6), rebalance_enable=False),
            "vertical",
            "rebalance_enable is false",
        ),
    ],
)
def test_the_ruleset_chooses_the_method(asked: RebalanceRequest, method: str, reason: str) -> None:
    found = rebalance(asked)
    assert found.method == method
    assert reason in found.reason


def test_a_method_asked_for_wins() -> None:
    found = rebalance(request(*COMBINED), method="greedy")
    assert (found.method, found.reason) == ("greedy", "requested")
    off = request((2, 2, 3, 3), [], solo(6), rebalance_enable=False)
    assert rebalance(off, method="combination").method == "combination"


def test_without_rebalancing_teams_are_filled_in_the_order_of_arrival() -> None:
    asked = request((2, 2, 3, 3), [], ["A1", "B2 C3", "D4 E5", "F6"], rebalance_enable=False)
    assert in_words(rebalance(asked).teams) == ["{A} {B,C}", "{D,E} {F}"]
    # A pair of three finds no room in the first team: the next that fits goes there.
    asked = request((2, 2, 3, 3), [], ["A1 B2", "C4 D5", "E6", "F7"], rebalance_enable=False)
    assert in_words(rebalance(asked).teams) == ["{A,B} {E}", "{C,D} {F}"]


# Team counts (D8).


def test_the_most_teams_that_all_reach_the_minimum_are_made() -> None:
    found = rebalance(request((2, 4, 2, 4), [], solo(7)))
    assert len(found.teams) == 3
    assert any("3 of at most 4 teams" in note for note in found.notes)
    assert len(rebalance(request((2, 4, 1, 4), [], solo(7))).teams) == 4


def test_a_team_that_has_members_is_never_left_out() -> None:
    found = rebalance(request((1, 3, 1, 4), [[], "A10"], ["B20"]))
    assert in_words(found.teams) == ["{B}", "{A}"]


def test_empty_teams_count_in_the_member_difference_but_not_in_the_distance() -> None:
    found = rebalance(request((2, 2, 0, 3), [], ["A70 B10"]))
    assert (found.member_count_difference, found.distance) == (2, 0)


def test_a_session_may_stay_below_the_minimum_but_a_new_match_may_not() -> None:
    """A session runs already; whoever comes is better than nobody."""
    found = rebalance(request((2, 2, 5, 5), ["A10", "B20"], ["C30"]))
    assert found.method == "permutation"
    assert any("not reached by teams 1, 2: the session stays open" in one for one in found.notes)
    with pytest.raises(InvalidDataError, match="3 players for 2 x 5 places"):
        request((2, 2, 5, 5), [], ["A10", "B20", "C30"])


# What cannot be placed (D6).


def test_a_stranded_party_is_told_and_the_next_method_is_used() -> None:
    """3, 3, 2 and 2, 2, 2 into two teams of seven: greedy strands somebody."""
    parties = ["A90 B90 C90", "D10 E10 F10", "G80 H80", "I70 J70", "K60 L60", "M50 N50"]
    found = rebalance(request((2, 2, 7, 7), [], parties))
    assert found.method == "combination"
    assert "greedy finds no place for Party" in found.reason
    assert found.reason.endswith("combination does")
    assert [sum(map(len, team)) for team in found.teams] == [7, 7]


def test_parties_that_fit_into_no_teams_are_told() -> None:
    """The document's own kind of case: 3, 3 and 2 into two fours."""
    with pytest.raises(InvalidDataError) as caught:
        rebalance(request((2, 2, 4, 4), [], ["A1 B1 C1", "D1 E1 F1", "G1 H1"]))
    [problem] = caught.value.problems
    assert problem.field == "parties"
    assert problem.got == "parties of 2 x 3, 1 x 2 players for 2 teams of 4"


def test_what_may_exist_but_was_not_found_is_another_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = large(60, 5, sizes=(2, 3))
    assert rebalance(asked, method="combination").method == "combination"
    monkeypatch.setattr(party_search, "_smallest_first", lambda placing: None)
    monkeypatch.setattr(party_search, "_MOST_TRIED", 1)
    with pytest.raises(ConvergenceError, match="arranging parties into teams"):
        rebalance(asked, method="combination", nodes=1)


# Attributes (D7).


def test_one_attribute_counts_as_it_is_and_several_by_their_maximum() -> None:
    rules = (
        Rule(attribute="mmr", max=3000),
        Rule(attribute="kills", max=10),
        Rule(attribute="age"),
    )
    parties = tuple(
        MatchedParty(
            players=(MatchedPlayer(player=name, attributes={"mmr": mmr, "kills": kills, "age": 1}),)
        )
        for name, mmr, kills in (("a", 1500, 5), ("b", 3000, 10))
    )
    found = rebalance(RebalanceRequest(ruleset=duel(rules), parties=parties))
    assert found.distance == pytest.approx((3000 - 1500) / 3000 + (10 - 5) / 10)
    assert "the distance is computed from the sum of mmr / 3000, kills / 10, age" in found.notes


def test_without_a_rule_only_sizes_count() -> None:
    asked = request((2, 2, 7, 7), [], PARTITIONED[2], rules=())
    found = rebalance(asked)
    assert (found.method, found.distance) == ("greedy", 0)
    # Greedy by party size: 3, 3, 2, 2, 1, 1, 1, 1.
    assert [step.total for step in found.steps] == [3, 3, 2, 2, 1, 1, 1, 1]
    assert (
        "no matching rule: only the number of members counts, and the distance is 0" in found.notes
    )
    assert "attributes without a matching rule do not count: mmr" in found.notes
    assert rebalance(request(*COMBINED[:2], COMBINED[2], rules=())).distance == 0


def test_a_result_beyond_the_reference_is_reported_and_not_refused() -> None:
    found = rebalance(request((2, 2, 1, 1), [], ["A70", "B500"]))
    assert (
        "the distance of the teams in mmr is 430.00, which is more than the reference of 100"
        in found.notes
    )
    assert not rebalance(request((2, 2, 1, 1), [], ["A70", "B170"])).notes


def test_a_default_stands_for_a_missing_attribute_and_is_told() -> None:
    parties = (
        MatchedParty(players=(MatchedPlayer(player=1, attributes={"mmr": 1000}),)),
        MatchedParty(players=(MatchedPlayer(player=2),)),
    )
    rules = duel(MMR)
    with pytest.raises(InvalidDataError, match=r"parties\[1\].players\[0\].attributes.mmr"):
        RebalanceRequest(ruleset=rules, parties=parties)
    asked = RebalanceRequest(ruleset=rules, parties=parties, default_attributes={"mmr": 1500})
    found = rebalance(asked)
    assert found.distance == 500
    assert (
        "1 player without mmr: the default of 1500 from default_attributes is used" in found.notes
    )


def test_sums_are_exact_so_equal_teams_are_equal() -> None:
    """0.1 + 0.2 against 0.3 is no tie in floats; the mean of the same players always is."""
    asked = request((2, 2, 3, 3), [], ["A0.1", "B0.2", "C0.3", "D0.3", "E0.2", "F0.1"])
    found = rebalance(asked, candidates=True)
    assert found.best.distance == 0
    zero = [one for one in found.candidates if one.distance == 0]
    assert found.best == zero[-1]


# Arguments.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "magic"}, "method must be one of permutation"),
        ({"max_sequences": 0}, "max_sequences must be from 1"),
        ({"nodes": 0}, "nodes must be at least 1"),
        ({"time_limit": -1}, "time_limit must be at least 0"),
        ({"time_limit": math.nan}, "time_limit must be at least 0"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        rebalance(request(*BACKFILL), **arguments)
    with pytest.raises(InvalidParameterError, match="request must be a RebalanceRequest"):
        rebalance({}, **arguments)  # type: ignore[arg-type]
