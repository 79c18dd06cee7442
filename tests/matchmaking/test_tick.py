"""The tick against brute force, its order, its bounds and its reasons."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.rebalancing import MatchedPlayer
from equipoise.matchmaking import (
    Alliance,
    AllianceFlexing,
    Flexing,
    MatchingRule,
    MatchOption,
    MatchRuleset,
    Session,
    Tick,
    Ticket,
    tick,
)
from matchmaking.queues import ruleset
from matchmaking.small_pools import (
    NOW,
    BruteForce,
    legal_teams,
    random_ruleset,
    random_session,
    random_tickets,
)

pytestmark = pytest.mark.no_kernel
DUEL = ruleset(1, 100.0)


def solo(name: str, mmr: float = 1500.0, waited: float = 10.0, **others: Any) -> Ticket:
    player = MatchedPlayer(player=name, attributes={"mmr": mmr})
    return Ticket(ticket=name, created_at=NOW - waited, players=(player,), **others)


def compare(seed: int, score: Callable[[Ticket, Ticket], float] | None = None) -> int:
    """Compare a tick with brute force; return the number of matches of several tickets."""
    draw = random.Random(seed)
    rules = random_ruleset(draw)
    tickets = random_tickets(draw, rules, draw.randrange(3, 9))
    answer = tick(tickets, [], rules, NOW, score=score)
    known = {ticket.ticket: ticket for ticket in tickets}
    assert all(match.proved for match in answer.matches)
    matches = [(frozenset(x.tickets), round(x.cost * 1e9), x.region) for x in answer.matches]
    force = BruteForce(tickets, rules, score=score)
    assert matches == force.matches([names for names, *_ in matches]), seed
    for match in answer.matches:
        assert legal_teams([known[name] for name in match.tickets], match.teams, rules), seed
    waiting = {ticket.ticket for ticket in answer.waiting}
    matched = {name for match in answer.matches for name in match.tickets}
    assert waiting | matched == set(known)
    assert not waiting & matched
    assert all(ticket.reasons for ticket in answer.waiting)
    return sum(len(match.tickets) > 1 for match in answer.matches)


@pytest.mark.parametrize(
    "seeds", [range(300), pytest.param(range(300, 2000), marks=pytest.mark.nightly)]
)
def test_small_pools_are_matched_as_by_brute_force(seeds: range) -> None:
    """Every rule is in play; the brute force shares no code with the search."""
    assert sum(map(compare, seeds)) > len(seeds) // 3


def test_an_own_score_decides_which_match_is_best() -> None:
    """Younger tickets first, and those of the same number of players."""

    def score(pivot: Ticket, ticket: Ticket) -> float:
        return (NOW - ticket.created_at) / 100 + abs(len(pivot.players) - len(ticket.players))

    assert sum(compare(seed, score) for seed in range(100)) > 30
    for bad in (-1.0, math.nan, "1"):
        with pytest.raises(eq.InvalidParameterError, match="score must be a function"):
            tick([solo("a"), solo("b")], [], DUEL, NOW, score=lambda pivot, ticket, bad=bad: bad)
    with pytest.raises(eq.InvalidParameterError, match="score must be left out"):
        tick([solo("a")], [], DUEL, NOW, objective="fair", score=score)


def compare_backfill(seed: int) -> bool:
    draw = random.Random(seed)
    rules = random_ruleset(draw)
    session = random_session(draw, rules)
    tickets = random_tickets(draw, rules, draw.randrange(2, 7))
    member = session.teams[0][0]
    most = rules.alliance_at(NOW - session.created_at).player_max_number
    if len(member.players) > most:
        return False
    answer = tick(tickets, [replace(session, teams=session.teams[:1])], rules, NOW)
    force = BruteForce(tickets, rules, [member])
    best = force.backfill(session)
    if not best:
        assert not answer.backfills, seed
        return False
    (backfill,) = answer.backfills
    sizes = {ticket.ticket: len(ticket.players) for ticket in tickets}
    assert sum(sizes[name] for name in backfill.tickets) == sum(len(x.players) for x in best), seed
    ranks = sum(force.rank[name] for name in backfill.tickets)
    assert ranks == sum(force.rank[ticket.ticket] for ticket in best), seed
    assert backfill.teams[0][0] == member.ticket
    return True


def test_sessions_get_the_tickets_that_brute_force_finds() -> None:
    assert sum(map(compare_backfill, range(300))) > 50


def first_fit(tickets: list[Ticket], rules: MatchRuleset) -> tuple[int, int]:
    """Return (players, -cost) of the first match by taking the nearest that still fits."""
    force = BruteForce(tickets, rules)
    pivot, *others = force.queue
    near = [ticket for ticket in others if force.meets(pivot, ticket, None)]
    near.sort(key=lambda ticket: force.score(pivot, ticket, None))
    chosen, best = [pivot], (0, 0)
    for ticket in (None, *near):
        if ticket is not None and force.legal([*chosen, ticket]):
            chosen.append(ticket)
        if force.legal(chosen):
            cost = sum(force.score(pivot, other, None) for other in chosen[1:])
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
    rules = ruleset(2)
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


def test_a_fairer_set_that_shares_no_value_is_not_taken() -> None:
    ratings = {"a": 1500, "b": 1400, "c": 1600, "d": 1900, "e": 1500}
    queue = [
        solo(name, mmr, attributes={"map": {"a": ["x", "y"], "e": "y"}.get(name, "x")})
        for name, mmr in ratings.items()
    ]
    rules = ruleset(2, 1000.0, match_options=(MatchOption("map", "any"),))
    answer = tick(queue, [], rules, NOW, objective="fair")
    assert answer.matches[0].tickets == ("a", "b", "c", "d")


def test_a_duration_is_active_only_after_it() -> None:
    """The spread of a match limits what is flexed, too."""
    flexing_rule = (Flexing("mmr", 10, 200),)
    rule = MatchingRule(attribute="mmr", reference=100, max_spread=180)
    rules = replace(DUEL, rules=(rule,), flexing_rule=flexing_rule)
    queue = [solo("a"), solo("b", 1650)]
    answer = tick(queue, [], rules, NOW)
    assert answer.matches == ()
    assert answer.waiting[0].next_change_at == NOW
    assert dict(answer.waiting[0].reasons[0]) == {
        "reason": "distance",
        "attribute": "mmr",
        "count": 1,
        "nearest": 150.0,
        "tolerance": 100.0,
        "next_tolerance": 180.0,
        "next_at": NOW,
    }
    assert len(tick(queue, [], rules, NOW + 1e-6).matches) == 1
    one = Alliance(1, 1, 1, 1)
    flexed = replace(DUEL, alliance_flexing_rule=(AllianceFlexing(10, one),))
    assert [flexed.alliance_at(waited) for waited in (10.0, 10.1)] == [DUEL.alliance, one]


def test_expired_tickets_are_returned_and_not_matched() -> None:
    answer = tick([solo("a", waited=300.5), solo("b")], [], DUEL, NOW, expires_after=300)
    assert answer.expired == ("a",)
    assert [ticket.ticket for ticket in answer.waiting] == ["b"]


def test_the_price_withholds_an_uneven_match_until_it_is_ripe() -> None:
    queue = [solo("a", waited=20.0), solo("b", 1700.0, waited=10.0)]
    price: dict[str, Any] = {"objective": "fair", "waiting_price": 0.001}
    held = tick(queue, [], ruleset(1, 500.0), NOW, **price)
    assert held.matches == ()
    reason = held.waiting[0].reasons[0]
    assert reason["reason"] == "price"
    assert held.waiting[0].next_change_at == reason["accepted_at"]
    for later, matches in ((-0.001, 0), (0.001, 1)):
        answer = tick(queue, [], ruleset(1, 500.0), reason["accepted_at"] + later, **price)
        assert len(answer.matches) == matches


def test_a_price_that_withholds_every_match_ends_at_the_node_limit() -> None:
    """Every ticket has a turn and evaluates sets: 160 of 60 nodes of the tick, which has 10,000."""
    draw = random.Random(4)
    queue = [solo(f"t{at:03}", draw.gauss(1500, 30), 200.0 - at) for at in range(150)]
    price = {"objective": "fair", "waiting_price": 1e-12, "node_limit": 200}
    answer = tick(queue, [], ruleset(4, 100.0), NOW, **price)
    assert answer.matches == ()
    assert "had no turn" in answer.notes[-1]
    assert answer.waiting[0].reasons[0]["reason"] == "price"
    assert answer.waiting[-1].reasons[0]["reason"] == "node_limit"


def test_a_pivot_without_a_match_remains_a_candidate() -> None:
    """In age order: a is too far from c only after b took nobody."""
    queue = [
        solo("a", 1400.0, 30.0, attributes={"mode": "x"}),
        solo("b", 1450.0, 20.0, attributes={"mode": "y"}),
        solo("c", 1480.0, 10.0, attributes={"mode": ["x", "y"]}),
    ]
    rules = replace(DUEL, match_options=(MatchOption("mode", "any"),))
    assert tick(queue, [], rules, NOW).matches[0].tickets == ("a", "c")


def everyone_blocks(count: int) -> Tick:
    everyone = frozenset(f"t{at}" for at in range(count))
    blocks = {"blocked_players": everyone}
    queue = [solo(f"t{at}", waited=float(at % 100), attributes=blocks) for at in range(count)]
    return tick(queue, [], DUEL, NOW, node_limit=200)


def test_a_pool_where_everyone_blocks_everyone_has_no_match() -> None:
    answer = everyone_blocks(400)
    assert answer.matches == ()
    assert answer.waiting[0].reasons[0]["reason"] in ("blocked_players", "node_limit")


def test_too_many_blocks_and_values_are_refused() -> None:
    with pytest.raises(eq.InvalidDataError, match="must block at most 2000000 players in all"):
        everyone_blocks(10_000)
    values = [f"m{at}" for at in range(20_001)]
    queue = [solo(f"t{at}", attributes={"map": "m0"}) for at in range(9_999)]
    rules = replace(DUEL, match_options=(MatchOption("map", "any"),))
    with pytest.raises(eq.InvalidDataError, match=r"10000 tickets and 20001 values"):
        tick([*queue, solo("x", attributes={"map": values})], [], rules, NOW)


def test_players_who_block_many_others_are_kept_apart_at_once() -> None:
    """Sets that cannot be divided are given up before they are complete."""
    draw = random.Random(1)
    names = [f"t{at}" for at in range(120)]
    queue = [solo(name, attributes={"blocked_players": draw.sample(names, 20)}) for name in names]
    rules = ruleset(5, 100.0, blocked_player_option="blockedPlayerCanMatchOnDifferentTeam")
    answer = tick(queue, [], rules, NOW)
    assert len(answer.matches) >= 11
    assert all(match.proved for match in answer.matches)
    known = {ticket.ticket: ticket for ticket in queue}
    for match in answer.matches:
        assert legal_teams([known[name] for name in match.tickets], match.teams, rules)


def test_many_parties_for_many_teams_end_within_the_node_limit() -> None:
    """Placements count as nodes, so 600 parties of up to 29 in 50 teams take no longer."""
    draw = random.Random(1)
    queue = []
    for at in range(600):
        names = [f"{at}.{place}" for place in range(draw.randrange(1, 30))]
        players = tuple(MatchedPlayer(player=name) for name in names)
        queue.append(Ticket(ticket=f"t{at}", created_at=0.0, players=players))
    rules = replace(ruleset(60), min_number=50, max_number=50)
    answer = tick(queue, [], rules, NOW, node_limit=1000)
    matched = sum(len(match.tickets) for match in answer.matches)
    assert matched + len(answer.waiting) == len(queue)
    assert any("node limit" in note for note in answer.notes) or answer.matches


def test_many_duos_do_not_fill_teams_of_an_odd_number() -> None:
    """More parties than those whose every placement is tried."""
    names = [(f"{at}.0", f"{at}.1") for at in range(61)]
    duos = [tuple(MatchedPlayer(player=player) for player in pair) for pair in names]
    queue = [Ticket(ticket=pair[0].player, created_at=0.0, players=pair) for pair in duos]
    assert tick(queue, [], ruleset(61), NOW).matches == ()
    assert len(tick(queue[:60], [], ruleset(60), NOW).matches) == 1


HEROES = (MatchOption("hero", "unique"),)


@pytest.mark.slow
def test_a_hundred_thousand_tickets_that_cannot_meet_end_at_the_node_limit() -> None:
    queue = [solo(f"t{at}", waited=1.0, attributes={"hero": "same"}) for at in range(100_000)]
    answer = tick(queue, [], ruleset(match_options=HEROES), NOW, node_limit=100)
    assert answer.matches == ()
    assert any("node limit" in note for note in answer.notes)


def test_a_search_that_ends_early_states_the_gap() -> None:
    """Many tickets with three values each of a unique option: a set of most players is hard."""
    draw = random.Random(3)
    heroes = [draw.sample("abcdefghijkl", 3) for _ in range(60)]
    queue = [solo(f"t{at}", 0.0, at, attributes={"hero": x}) for at, x in enumerate(heroes)]
    rules = ruleset(5, least=1, match_options=HEROES)
    answer = tick(queue, [], rules, NOW, node_limit=50)
    assert not all(match.proved for match in answer.matches)
    assert any("not proved" in note for note in answer.notes)


def test_no_search_goes_beyond_the_number_of_unique_values() -> None:
    """Five heroes are five players at most, which 50 nodes prove."""
    queue = [solo(f"t{at}", attributes={"hero": "abcde"[at % 5]}) for at in range(30)]
    answer = tick(queue, [], ruleset(5, least=1, match_options=HEROES), NOW, node_limit=50)
    assert [len(match.tickets) for match in answer.matches] == [5] * 6
    assert all(match.proved for match in answer.matches)


def test_huge_alliances_and_numbers_are_answered() -> None:
    rule = MatchingRule(attribute="mmr", reference=1e300, weight=1000)
    rules = replace(ruleset(2**31 - 1, least=1), min_number=1, max_number=2**31 - 1, rules=(rule,))
    answer = tick([solo(f"t{at}", 1e9 * (-1) ** at) for at in range(9)], [], rules, NOW)
    assert len(answer.matches[0].tickets) == 9


def test_attributes_whose_names_are_no_text_are_compared() -> None:
    queue = [solo("a", attributes={1: "x", "map": "y"}), solo("b", attributes={"map": "z"})]
    reasons = tick(queue, [], DUEL, NOW).waiting[0].reasons
    assert [(one["reason"], one["count"]) for one in reasons[:1]] == [(1, 1)]


def test_a_session_needs_auto_backfill() -> None:
    session = Session(session="s", created_at=0.0, teams=((solo("m"),),))
    with pytest.raises(eq.InvalidDataError, match="auto_backfill"):
        tick([solo("a")], [session], DUEL, NOW)
