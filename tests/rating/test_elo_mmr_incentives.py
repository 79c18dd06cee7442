"""Aligned incentives: section 5.1 of the Elo-MMR paper, as properties of the fast code."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers.elo_mmr.fields import Belief

from drawing import examples
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.state import State
from rating.histories import (
    RHOS,
    Contest,
    Entrants,
    contests,
    entrants,
    every_model,
    history_of,
    newcomers,
    one_contest,
    parameters,
    performances,
    places,
    rate,
    systems,
)

#: Theorems and invariants with many examples: long, where the reference has already been met.
pytestmark = pytest.mark.slow

Model = type[EloMMRParameters]

#: These tests ask for strict inequalities. Players 1,800 points apart tell of each other by
#: e^(-1800/scale), which float64 can tell from nothing (1e-16 of the sum) while the scale is
#: above 50 points: performances spread by 90 or more.
#:
#: Normal performances tell of an opponent who was expected to lose by the density, which falls
#: much faster: who performs 1,000 points above everybody, the best of wide fields, is 2,800 above
#: the last; at a spread of 400 that is a density of 1e-11, which one of 12 players still sees move
#: the performance by 400/12 of it, 3e-10 points, a thousand times a rating's rounding.
VISIBLE: dict[Model, float] = {EloMMR: 100.0, EloMMX: 400.0}

#: A tie that becomes a loss or a win, and one's own rating, tell more: hazard(z) - z is 1/z far out
#: instead of e^(-z^2/2), and -z itself is a tie's term. Where nothing but these change, normal
#: performances of any spread show it.
VISIBLE_TIES: dict[Model, float] = {EloMMR: 100.0, EloMMX: 20.0}


@every_model
@examples(100)
@given(st.data(), entrants())
def test_who_beats_another_performs_better(
    model: Model, data: st.DataObject, field: Entrants
) -> None:
    """Theorem 5.2: if i beats j then p_i > p_j; who tie perform alike, to the bit."""
    system = data.draw(systems(model, least_beta=VISIBLE_TIES[model]), label="system")
    found = performances(system, field)
    order = np.argsort(field.ranks, kind="stable")
    steps, drops = np.diff(np.array(field.ranks)[order]), -np.diff(found[order])
    assert np.all(drops[steps > 0] > 0)
    assert np.all(drops[steps == 0] == 0)


@every_model
@examples(60)
@given(st.data(), entrants(max_players=11), st.floats(800, 2600), st.floats(30, 350))
def test_a_win_more_raises_and_a_loss_more_lowers_the_performance(
    model: Model, data: st.DataObject, field: Entrants, rating: float, deviation: float
) -> None:
    """Lemma 5.1: adding a win term increases the zero of Q_i, adding a loss term decreases it."""
    system = data.draw(systems(model, least_beta=VISIBLE[model]), label="system")
    before = performances(system, field)
    ratings, deviations = [*field.ratings, rating], [*field.deviations, deviation]
    last, first = max(field.ranks) + 1, -1
    won = performances(system, Entrants(ratings, deviations, [*field.ranks, last]))
    lost = performances(system, Entrants(ratings, deviations, [*field.ranks, first]))
    assert np.all(won[:-1] > before)
    assert np.all(lost[:-1] < before)


@every_model
@examples(60)
@given(entrants(), st.data())
def test_a_tie_turned_into_a_win_raises_one_and_lowers_the_other(
    model: Model, field: Entrants, data: st.DataObject
) -> None:
    """Lemma 5.1: replacing a tie term by a win term increases the zero of Q_i, and conversely.

    Player j drops just below those j tied with; nothing else changes for anybody.
    """
    system = data.draw(systems(model, least_beta=VISIBLE_TIES[model]), label="system")
    j = data.draw(st.integers(0, len(field.ranks) - 1), label="j")
    ranks = [2 * rank for rank in field.ranks]
    ranks[j] += 1
    before = performances(system, field)
    after = performances(system, field._replace(ranks=ranks))
    tied = np.array(field.ranks) == field.ranks[j]
    tied[j] = False
    elsewhere = np.array(field.ranks) != field.ranks[j]
    assert np.all(after[tied] > before[tied])
    assert after[j] < before[j] or not tied.any()
    # The same equations, their terms added up in another order.
    np.testing.assert_allclose(after[elsewhere], before[elsewhere], rtol=0, atol=1e-9)


@every_model
@examples(60)
@given(entrants(), st.data())
def test_a_higher_rating_before_the_round_raises_the_performance(
    model: Model, field: Entrants, data: st.DataObject
) -> None:
    """Lemma 5.3: p_i is monotonic in the pre-round rating; the lower it, the lower p_i.

    A player's own term has the derivative sech^2(d/2)/2 at a distance of d scales from the
    logistic root, so that beyond 10 scales half of the least step moves a root among 50 players by
    less than the 1e-9 to which roots are found. There it may stay where it is.
    """
    system = data.draw(systems(model, least_beta=VISIBLE_TIES[model]), label="system")
    i = data.draw(st.integers(0, len(field.ranks) - 1), label="i")
    higher = list(field.ratings)
    higher[i] += data.draw(st.floats(0.01, 500), label="higher by")
    before = performances(system, field)[i]
    after = performances(system, field._replace(ratings=higher))[i]
    weight, sigma = system.limits()
    beta = math.inf if system.gaussian else sigma * math.sqrt(1 + 1 / weight)
    scale = math.sqrt(3) / math.pi * beta
    if abs(before - field.ratings[i]) < 10 * scale:
        assert after > before
    else:
        assert after >= before - 1e-9


def placements(ranks: Sequence[int], i: int) -> list[list[int]]:
    """Return the ranks for every place of i among the others, worst first, ties included."""
    others = np.unique([2 * rank for j, rank in enumerate(ranks) if j != i])
    spots = sorted({*others.tolist(), *(others + 1).tolist(), int(others[0]) - 1}, reverse=True)
    return [[spot if j == i else 2 * rank for j, rank in enumerate(ranks)] for spot in spots]


@every_model
@examples(40)
@given(entrants(), st.data())
def test_a_better_place_raises_the_performance(
    model: Model, field: Entrants, data: st.DataObject
) -> None:
    """Lemma 5.3: from below all to above all, through every tie, p_i rises at each step."""
    system = data.draw(systems(model, least_beta=VISIBLE_TIES[model]), label="system")
    i = data.draw(st.integers(0, len(field.ranks) - 1), label="i")
    found = [
        performances(system, field._replace(ranks=ranks))[i] for ranks in placements(field.ranks, i)
    ]
    assert len(found) >= 3
    assert np.all(np.diff(found) > 0)


pasts = st.lists(st.floats(1000, 2000), min_size=1, max_size=8)


@every_model
@examples(100)
@given(pasts, st.none() | st.integers(1, 3), st.data())
def test_the_rating_rises_with_every_past_performance(
    model: Model, past: list[float], remembered: int | None, data: st.DataObject
) -> None:
    """Lemma 5.4, also where only some performances stay logistic (READINGS B6)."""
    system = data.draw(systems(model, least_beta=VISIBLE_TIES[model]), label="system")
    chosen = model(beta=system.beta, gamma=system.gamma, rho=system.rho, remembered=remembered)
    k = data.draw(st.integers(0, len(past) - 1), label="k")
    better = list(past)
    better[k] += data.draw(st.floats(1, 500), label="better by")
    rating = Belief(chosen).play(past).rating
    improved = Belief(chosen).play(better).rating
    if k == len(past) - 1:
        assert improved > rating
    # What an early performance still adds may be less than the rounding of a rating.
    assert improved >= rating - 1e-10


@every_model
@examples(100)
@given(
    contests(smallest=2, max_players=8, timed=True, weighted=True, capped=True),
    parameters(),
    st.data(),
)
def test_doing_better_in_a_past_contest_never_lowers_the_rating(
    model: Model, played: list[Contest], chosen: dict[str, float], data: st.DataObject
) -> None:
    """Theorem 5.5, aligned incentives: the others' ratings and ranking held fixed (READINGS B13).

    One place of one player in one past contest is better; before every contest all others are
    put back to the state they had there. Contests in which all tie are rated: leaving them out
    would change in which contests the player has participated.
    """
    system = model(**{**chosen, "rate_all_ties": True})
    m = data.draw(st.integers(0, len(played) - 1), label="contest")
    row = data.draw(st.integers(0, len(played[m].players) - 1), label="row")
    player = played[m].players[row]
    options = placements(played[m].ranks, row)
    low = data.draw(st.integers(0, len(options) - 2), label="worse place")
    high = data.draw(st.integers(low + 1, len(options) - 1), label="better place")
    pool = max(max(contest.players) for contest in played) + 1
    worse, better = list(played), list(played)
    worse[m] = played[m]._replace(ranks=tuple(options[low]))
    better[m] = played[m]._replace(ranks=tuple(options[high]))
    recorded = states_before(system, worse, pool)
    rating = with_others_frozen(system, worse, player, recorded)
    improved = with_others_frozen(system, better, player, recorded)
    assert improved[m] > rating[m] or played[m].ceiling is not None
    # An early result may by now weigh less than the rounding of a rating.
    assert np.all(np.array(improved[m:]) >= np.array(rating[m:]) - 1e-10)


def states_before(system: EloMMRParameters, played: list[Contest], pool: int) -> list[State]:
    """Return everybody's state before every contest."""
    history, state = history_of(played, pool), system.initial(pool)
    states = []
    for m in range(len(played)):
        states.append(state.copy())
        system.run(state, history, m, m + 1)
    return states


def with_others_frozen(
    system: EloMMRParameters, played: list[Contest], player: int, recorded: list[State]
) -> list[float]:
    """Return the player's rating after every contest, the others' states being those recorded."""
    pool = recorded[0].players
    history, state = history_of(played, pool), system.initial(pool)
    others = np.delete(np.arange(pool), player)
    ratings = []
    for m, before in enumerate(recorded):
        state.put(others, before.take(others))
        system.run(state, history, m, m + 1)
        ratings.append(float(state.column("rating")[player]))
    return ratings


@every_model
@examples(100)
@given(entrants(), st.floats(0, 500), st.data())
def test_without_memory_the_winner_ends_higher_and_the_weaker_winner_gains_more(
    model: Model, field: Entrants, gap: float, data: st.DataObject
) -> None:
    """Theorem 5.6 for Elo-MMR(inf) and for Elo-MMR-chi.

    Players 0 and 1 have equal deviations, 0 the higher rating.
    """
    rhos = [math.inf] if model is EloMMR else RHOS
    least_beta = VISIBLE_TIES[model]
    system = data.draw(systems(model, rhos=rhos, least_beta=least_beta), label="system")
    ranks = list(field.ranks)
    ranks[1] = ranks[0]
    ratings, deviations = list(field.ratings), list(field.deviations)
    ratings[0] = ratings[1] + gap
    deviations[0] = deviations[1]
    won, lost = [2 * rank for rank in ranks], [2 * rank for rank in ranks]
    won[0] -= 1
    lost[1] -= 1
    for places_, zero_wins in ((won, True), (lost, False)):
        state = newcomers(system, ratings, deviations)
        trace = rate(system, state, one_contest(places_))
        after, change = trace["rating"], trace["rating"] - trace["rating_before"]
        assert trace["deviation"][0] == trace["deviation"][1]
        if zero_wins:
            assert after[0] > after[1]
        else:
            assert change[1] > change[0]
    # The same for two places that are not next to each other.
    apart = data.draw(places(len(ranks), ties=False), label="places")
    state = newcomers(system, ratings, deviations)
    trace = rate(system, state, one_contest(apart))
    if apart[0] < apart[1]:
        assert trace["rating"][0] > trace["rating"][1]
    else:
        change = trace["rating"] - trace["rating_before"]
        assert change[1] > change[0]
