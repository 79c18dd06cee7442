"""The tick against brute force, its order, its bounds and its reasons."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.rebalancing import MatchedPlayer
from equipoise.matchmaking import (
    Flexing,
    MatchingRule,
    MatchOption,
    MatchRuleset,
    Session,
    Tick,
    Ticket,
    tick,
)
from matchmaking.small_pools import (
    NOW,
    BruteForce,
    best_backfill,
    legal_teams,
    random_ruleset,
    random_session,
    random_tickets,
)

pytestmark = pytest.mark.no_kernel


def solo(name: str, mmr: float = 1500.0, waited: float = 10.0, **others: Any) -> Ticket:
    player = MatchedPlayer(player=name, attributes={"mmr": mmr})
    return Ticket(ticket=name, created_at=NOW - waited, players=(player,), **others)


def duel(**others: Any) -> MatchRuleset:
    rule = MatchingRule(attribute="mmr", reference=100)
    sizes = {"min_number": 2, "max_number": 2, "player_min_number": 1, "player_max_number": 1}
    return MatchRuleset(**{"rules": (rule,), **sizes, **others})


def compare(seed: int) -> int:
    """Compare a tick with brute force; return the number of matches of several tickets."""
    draw = random.Random(seed)
    rules = random_ruleset(draw)
    tickets = random_tickets(draw, rules, draw.randrange(3, 9))
    answer = tick(tickets, [], rules, NOW)
    known = {one.ticket: one for one in tickets}
    assert all(one.proved for one in answer.matches)
    found = [(frozenset(one.tickets), round(one.cost * 1e9), one.region) for one in answer.matches]
    assert found == BruteForce(tickets, rules, [one[0] for one in found]).matches, seed
    for match in answer.matches:
        everyone = [known[one] for one in match.tickets]
        assert legal_teams(everyone, match.teams, rules), seed
    waiting = {one.ticket for one in answer.waiting}
    matched = {ticket for one in answer.matches for ticket in one.tickets}
    assert waiting | matched == set(known)
    assert not waiting & matched
    assert all(one.reasons for one in answer.waiting)
    return sum(len(one.tickets) > 1 for one in answer.matches)


def test_small_pools_are_matched_as_by_brute_force() -> None:
    """Every rule is in play; the brute force shares no code with the search."""
    assert sum(compare(seed) for seed in range(300)) > 100


@pytest.mark.nightly
def test_more_small_pools_are_matched_as_by_brute_force() -> None:
    assert sum(compare(seed) for seed in range(300, 2000)) > 500


def compare_backfill(seed: int) -> bool:
    draw = random.Random(seed)
    rules = random_ruleset(draw)
    session = random_session(draw, rules)
    tickets = random_tickets(draw, rules, draw.randrange(2, 7))
    rank = sorted(tickets, key=lambda one: (-one.priority, one.created_at, one.ticket))
    ranks = {one.ticket: at for at, one in enumerate(rank)}
    sizes = {one.ticket: len(one.players) for one in tickets}
    most = rules.alliance_at(NOW - session.created_at).player_max_number
    if len(session.teams[0][0].players) > most:
        return False
    answer = tick(tickets, [replace(session, teams=session.teams[:1])], rules, NOW)
    best = best_backfill(tickets, session, rules)
    if best is None:
        assert not answer.backfills, seed
        return False
    (made,) = answer.backfills
    assert sum(sizes[one] for one in made.tickets) == best[0], seed
    assert sum(ranks[one] for one in made.tickets) == best[2], seed
    assert made.teams[0][0] == session.teams[0][0].ticket
    return True


def test_sessions_get_the_tickets_that_brute_force_finds() -> None:
    assert sum(compare_backfill(seed) for seed in range(300)) > 50


def first_fit(tickets: list[Ticket], rules: MatchRuleset) -> tuple[int, int]:
    """Return (players, -cost) of the first match by taking the nearest that still fits."""
    force = BruteForce([], rules)
    force.regions = []
    pivot, *others = sorted(tickets, key=lambda one: (-one.priority, one.created_at, one.ticket))
    near = sorted(
        (one for one in others if force._meets(pivot, one, None)),
        key=lambda one: force._score(pivot, one, None),
    )
    chosen, best = [pivot], (0, 0)
    for one in (None, *near):
        if one is not None and force.legal([*chosen, one]):
            chosen.append(one)
        if force.legal(chosen):
            cost = sum(force._score(pivot, other, None) for other in chosen[1:])
            best = (sum(len(other.players) for other in chosen), -cost)
    return best


@pytest.mark.parametrize("node_limit", [1, 30, 20_000])
def test_greedy_is_never_better(node_limit: int) -> None:
    """Also where the search ends at once: it starts from the greedy set."""
    for seed in range(150):
        draw = random.Random(seed)
        rules = replace(random_ruleset(draw), match_options=(), player_min_number=1, min_number=1)
        tickets = [
            replace(one, latencies={}, attributes={})
            for one in random_tickets(draw, rules, draw.randrange(3, 9))
        ]
        own = tick(tickets, [], rules, NOW, node_limit=node_limit).matches
        by_greedy = first_fit(tickets, rules)
        if by_greedy[0]:
            sizes = {one.ticket: len(one.players) for one in tickets}
            players = sum(sizes[one] for one in own[0].tickets)
            assert (players, -round(own[0].cost * 1e9)) >= by_greedy, seed


def test_the_order_of_the_input_does_not_matter() -> None:
    for seed in range(60):
        draw = random.Random(seed)
        rules = random_ruleset(draw)
        sessions = [random_session(draw, rules)] if seed % 2 else []
        tickets = random_tickets(draw, rules, 8)
        answer = tick(tickets, sessions, rules, NOW)
        draw.shuffle(tickets)
        assert tick(tickets, sessions, rules, NOW) == answer, seed


def test_fair_matches_are_the_most_even_of_all_sets() -> None:
    """By `predict` of the system for every set of most players and every even division."""
    system = eq.TeamGlicko2()
    rules = MatchRuleset(min_number=2, max_number=2, player_min_number=2, player_max_number=2)
    for seed in range(25):
        draw = random.Random(seed)
        names = [f"p{at}" for at in range(7)]
        ratings = {name: (draw.gauss(1500, 300), draw.choice([50.0, 200.0])) for name in names}
        tickets = [solo(name, waited=50.0 - at) for at, name in enumerate(names)]
        answer = tick(tickets, [], rules, NOW, objective="fair", system=system, ratings=ratings)
        best = 1.0
        for others in itertools.combinations(names[1:], 3):
            for mate in others:
                rest = [one for one in others if one != mate]
                rows = np.array([ratings[one] for one in (names[0], mate, *rest)])
                outlook = system.outlook(rows[:, 0], rows[:, 1])
                expected = outlook.of_teams(np.array([0, 0, 1, 1]), 2).expected()
                best = min(best, abs(float(expected[0]) - 0.5))
        assert answer.matches[0].cost == pytest.approx(best, abs=2e-9), seed
        assert answer.matches[0].proved


def test_an_alliance_flexes_by_the_pivots_wait() -> None:
    answer = tick([solo("a"), solo("b", 1650)], [], duel(), NOW)
    assert answer.matches == ()
    flexed = duel(flexing_rule=(Flexing("mmr", 5, 200),))
    assert len(tick([solo("a"), solo("b", 1650)], [], flexed, NOW).matches) == 1


def test_a_duration_is_active_only_after_it() -> None:
    flexed = duel(flexing_rule=(Flexing("mmr", 10, 200),))
    answer = tick([solo("a"), solo("b", 1650)], [], flexed, NOW)
    assert answer.matches == ()
    assert answer.waiting[0].next_change_at == NOW
    assert dict(answer.waiting[0].reasons[0]) == {
        "reason": "distance",
        "attribute": "mmr",
        "count": 1,
        "nearest": 150.0,
        "tolerance": 100.0,
        "next_tolerance": 200.0,
        "next_at": NOW,
    }


def test_expired_tickets_are_returned_and_not_matched() -> None:
    answer = tick([solo("a", waited=300.5), solo("b")], [], duel(), NOW, expires_after=300)
    assert answer.expired == ("a",)
    assert [one.ticket for one in answer.waiting] == ["b"]


def test_the_price_withholds_an_uneven_match_until_it_is_ripe() -> None:
    rules = duel(rules=(MatchingRule(attribute="mmr", reference=500),))
    queue = [solo("a", waited=20.0), solo("b", 1700.0, waited=10.0)]
    held = tick(queue, [], rules, NOW, objective="fair", waiting_price=0.001)
    assert held.matches == ()
    reason = held.waiting[0].reasons[0]
    assert reason["reason"] == "price"
    assert held.waiting[0].next_change_at == reason["accepted_at"]
    later = reason["accepted_at"] + 0.001
    made = tick(queue, [], rules, later, objective="fair", waiting_price=0.001)
    assert len(made.matches) == 1


def test_a_price_that_withholds_every_match_ends_at_the_node_limit() -> None:
    """Every ticket has a turn and evaluates sets: 160 of 60 nodes of the tick, which has 10,000."""
    draw = random.Random(4)
    queue = [solo(f"t{at:03}", draw.gauss(1500, 30), 200.0 - at) for at in range(150)]
    sizes = {"min_number": 2, "max_number": 2, "player_min_number": 4, "player_max_number": 4}
    price = {"objective": "fair", "waiting_price": 1e-12, "node_limit": 200}
    answer = tick(queue, [], duel(**sizes), NOW, **price)
    assert answer.matches == ()
    assert "had no turn" in answer.notes[-1]
    assert answer.waiting[0].reasons[0]["reason"] == "price"
    assert answer.waiting[-1].reasons[0]["reason"] == "node_limit"


def test_a_pivot_without_a_match_remains_a_candidate() -> None:
    """In age order: a is too far from c only after b took nobody."""
    rules = duel(match_options=(MatchOption("mode", "any"),))
    queue = [
        solo("a", 1400.0, 30.0, attributes={"mode": "x"}),
        solo("b", 1450.0, 20.0, attributes={"mode": "y"}),
        solo("c", 1480.0, 10.0, attributes={"mode": ["x", "y"]}),
    ]
    assert tick(queue, [], rules, NOW).matches[0].tickets == ("a", "c")


def everyone_blocks(count: int) -> Tick:
    everyone = frozenset(f"t{at}" for at in range(count))
    queue = [
        solo(f"t{at}", waited=float(at % 100), attributes={"blocked_players": everyone})
        for at in range(count)
    ]
    return tick(queue, [], duel(), NOW, node_limit=200)


def test_a_pool_where_everyone_blocks_everyone_has_no_match() -> None:
    answer = everyone_blocks(400)
    assert answer.matches == ()
    assert answer.waiting[0].reasons[0]["reason"] in ("blocked_players", "node_limit")


def test_ten_thousand_tickets_that_all_block_each_other_are_too_many() -> None:
    with pytest.raises(eq.InvalidDataError, match="must block at most 2000000 players in all"):
        everyone_blocks(10_000)


def test_too_many_values_of_an_option_are_refused() -> None:
    values = [f"m{at}" for at in range(20_001)]
    queue = [solo(f"t{at}", attributes={"map": "m0"}) for at in range(9_999)]
    rules = duel(match_options=(MatchOption("map", "any"),))
    with pytest.raises(eq.InvalidDataError, match=r"10000 tickets and 20001 values"):
        tick([*queue, solo("x", attributes={"map": values})], [], rules, NOW)


def test_players_who_block_many_others_are_kept_apart_at_once() -> None:
    """Sets that cannot be divided are given up before they are complete."""
    draw = random.Random(1)
    names = [f"t{at}" for at in range(120)]
    queue = [solo(name, attributes={"blocked_players": draw.sample(names, 20)}) for name in names]
    sizes = {"min_number": 2, "max_number": 2, "player_min_number": 5, "player_max_number": 5}
    rules = duel(blocked_player_option="blockedPlayerCanMatchOnDifferentTeam", **sizes)
    answer = tick(queue, [], rules, NOW)
    assert len(answer.matches) >= 11
    assert all(one.proved for one in answer.matches)
    known = {one.ticket: one for one in queue}
    for match in answer.matches:
        assert legal_teams([known[one] for one in match.tickets], match.teams, rules)


def test_many_parties_for_many_teams_end_within_the_node_limit() -> None:
    """Placements count as nodes, so 600 parties of up to 29 in 50 teams take no longer."""
    draw = random.Random(1)
    sizes = [draw.randrange(1, 30) for _ in range(600)]
    queue = [
        Ticket(
            ticket=f"t{at}",
            created_at=0.0,
            players=tuple(MatchedPlayer(player=f"{at}.{place}") for place in range(size)),
        )
        for at, size in enumerate(sizes)
    ]
    rules = MatchRuleset(min_number=50, max_number=50, player_min_number=60, player_max_number=60)
    answer = tick(queue, [], rules, NOW, node_limit=1000)
    matched = sum(len(match.tickets) for match in answer.matches)
    assert matched + len(answer.waiting) == len(queue)
    assert any("node limit" in note for note in answer.notes) or answer.matches


@pytest.mark.slow
def test_a_hundred_thousand_tickets_that_cannot_meet_end_at_the_node_limit() -> None:
    rules = MatchRuleset(
        min_number=2,
        max_number=2,
        player_min_number=1,
        player_max_number=1,
        match_options=(MatchOption("hero", "unique"),),
    )
    queue = [solo(f"t{at}", waited=1.0, attributes={"hero": "same"}) for at in range(100_000)]
    answer = tick(queue, [], rules, NOW, node_limit=100)
    assert answer.matches == ()
    assert any("node limit" in note for note in answer.notes)


def test_a_search_that_ends_early_states_the_gap() -> None:
    """Many tickets with three values each of a unique option: a set of most players is hard."""
    draw = random.Random(3)
    rules = MatchRuleset(
        min_number=2,
        max_number=2,
        player_min_number=1,
        player_max_number=5,
        match_options=(MatchOption("hero", "unique"),),
    )
    queue = [
        solo(f"t{at}", waited=float(at), attributes={"hero": draw.sample("abcdefghijkl", 3)})
        for at in range(60)
    ]
    answer = tick(queue, [], rules, NOW, node_limit=50)
    unproved = [one for one in answer.matches if not one.proved]
    assert unproved
    assert any("not proved" in note for note in answer.notes)


def test_huge_alliances_and_numbers_are_answered() -> None:
    rules = MatchRuleset(
        min_number=1,
        max_number=2**31 - 1,
        player_min_number=1,
        player_max_number=2**31 - 1,
        rules=(MatchingRule(attribute="mmr", reference=1e300, weight=1000),),
    )
    answer = tick([solo(f"t{at}", 1e9 * (-1) ** at) for at in range(9)], [], rules, NOW)
    assert len(answer.matches[0].tickets) == 9


def test_bad_tickets_are_refused_with_their_paths() -> None:
    bad = Ticket(ticket="x", created_at=float("nan"), players=(MatchedPlayer(player="x"),))
    with pytest.raises(eq.InvalidDataError) as caught:
        tick([solo("a"), bad], [], duel(), NOW)
    fields = {one.field for one in caught.value.problems}
    assert fields == {"tickets[1].created_at", "tickets[1].players[0].attributes.mmr"}


def test_a_session_needs_auto_backfill() -> None:
    session = Session(session="s", created_at=0.0, teams=((solo("m"),),))
    with pytest.raises(eq.InvalidDataError, match="auto_backfill"):
        tick([solo("a")], [session], duel(), NOW)
