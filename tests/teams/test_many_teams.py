"""More than two teams: against brute force where that is possible, and what a search promises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.lobby import Lobby
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.teams import split_search
from equipoise.teams.exact_splits import lower_bound
from equipoise.teams.lobby_split import balance
from equipoise.teams.lobby_task import Task, centred, parts_of, units_of
from equipoise.teams.split_search import search
from reference.balance import (
    Player,
    all_splits,
    candidates,
    ids,
    is_kept,
    objective,
    top_in_smaller,
    top_two_apart,
)
from teams.lobbies import lobby_of, plain_lobby, players


def party_lobby(count: int, sizes: tuple[int, ...], seed: int) -> Lobby:
    """Return a lobby whose first players come in parties of these sizes."""
    rng = np.random.default_rng(seed)
    party = [f"p{number}" for number, size in enumerate(sizes) for _ in range(size)]
    party += [""] * (count - len(party))
    return Lobby(
        player_ids=np.arange(count),
        rating=np.round(rng.normal(1500, 300, count)),
        deviation=rng.uniform(40, 350, count),
        party=np.array(party, dtype=object),
    )


@examples(15)
@given(players(smallest=3, largest=7), st.integers(3, 4))
def test_small_lobbies_are_split_exactly(found: list[Player], teams: int) -> None:
    """The least of all splits is found and known to be the least."""
    if len(found) < teams:
        return
    kept = [split for split in all_splits(found, teams) if is_kept(split)]
    if not kept:
        with pytest.raises(InvalidDataError):
            balance(lobby_of(found), teams)
        return
    result = balance(lobby_of(found), teams, top_two=False, uneven=False)
    least = min(objective(split, 0.8) for split in kept)
    assert result.objective == pytest.approx(least, abs=1e-8)
    assert result.gap == pytest.approx(0, abs=1e-8)
    assert set(map(frozenset, result.teams)) in [set(map(frozenset, ids(s))) for s in kept]


@examples(15)
@given(players(smallest=4, largest=7, bound=False))
def test_the_rules_for_top_players_hold_for_three_teams(found: list[Player]) -> None:
    splits, rules = candidates(found, 3)
    result = balance(lobby_of(found), 3)
    assert rules == (True, True)
    assert result.objective == pytest.approx(
        min(objective(split, 0.8) for split in splits), abs=1e-8
    )
    by_id = {p.id: p for p in found}
    teams = [[by_id[one] for one in team] for team in result.teams]  # type: ignore[index]
    assert top_two_apart(teams)
    assert top_in_smaller(teams)


@examples(40)
@given(players(smallest=4, largest=8), st.integers(2, 4))
def test_no_split_is_below_the_bound(found: list[Player], teams: int) -> None:
    lobby = lobby_of([Player(p.id, p.rating, p.deviation, p.effective, p.party) for p in found])
    task = task_of(lobby, teams)
    units = units_of(task)
    assert units is not None
    bound = lower_bound(task, units)
    parties_kept = [Player(p.id, p.rating, p.deviation, p.effective, p.party) for p in found]
    for split in all_splits(parties_kept, teams):
        if is_kept(split):
            assert objective(split, 0.8) >= bound - 1e-9


def task_of(lobby: Lobby, teams: int, weight: float = 0.8) -> Task:
    """Return the task of a lobby with parties, without the rules that may give way."""
    order = lobby.order()
    party = [] if lobby.party is None else lobby.party[order].tolist()
    labels = sorted({label for label in party if label is not None})
    return Task(
        strength=centred(lobby.strength[order]),
        rating=centred(lobby.rating[order]),
        square=lobby.deviation[order] ** 2,
        id_rank=np.arange(lobby.players),
        teams=teams,
        weight=weight,
        parties=tuple(
            tuple(row for row, one in enumerate(party) if one == label) for label in labels
        ),
        top=False,
        uneven=False,
    )


@pytest.mark.parametrize("seed", [7, 8])
def test_sixty_players_in_ten_teams_come_close_to_the_bound(seed: int) -> None:
    """Parties of 5, 4, 4, 3, 3, 2, 2, 2, 2; the largest difference of sums: 1 % or a point."""
    lobby = party_lobby(60, (5, 4, 4, 3, 3, 2, 2, 2, 2), seed)
    result = balance(lobby, 10, objective="sum", top_two=False, costs=False)
    assert result.gap <= max(1.0, 0.01 * result.bound)
    sums = [sum(lobby.strength[list(team)]) for team in result.teams]  # type: ignore[index]
    assert result.objective == max(sums) - min(sums)
    assert sorted(one for team in result.teams for one in team) == list(range(60))
    assert {len(team) for team in result.teams} == {6}
    team_of = {one: number for number, team in enumerate(result.teams) for one in team}
    for label in {one for one in lobby.party.tolist() if one is not None}:
        assert len({team_of[one] for one in np.flatnonzero(lobby.party == label).tolist()}) == 1


def test_the_same_seed_gives_the_same_teams() -> None:
    lobby = party_lobby(30, (4, 3, 2), 1)
    first, again = (balance(lobby, 5, steps=200, seed=3) for _ in range(2))
    assert first == again


def test_a_search_keeps_avoid_pairs_and_sizes() -> None:
    plain = plain_lobby(26)
    avoid = tuple((one, one + 5) for one in range(20))
    lobby = Lobby(
        player_ids=plain.player_ids,
        rating=plain.rating,
        deviation=plain.deviation,
        team=np.array(["red"] * 2 + ["blue"] * 2 + [None] * 22, dtype=object),
        avoid=avoid,
    )
    result = balance(lobby, 4, steps=300)
    team_of = {one: number for number, team in enumerate(result.teams) for one in team}
    assert all(team_of[one] != team_of[other] for one, other in avoid)
    assert team_of[0] == team_of[1] != team_of[2] == team_of[3]
    assert sorted(len(team) for team in result.teams) == [6, 6, 7, 7]
    assert len(result.teams[0]) == 6
    top = lobby.player_ids[lobby.order()[:4]].tolist()
    assert len({team_of[one] for one in top}) == 4


def test_a_large_lobby_in_two_teams_is_searched_and_says_so() -> None:
    """Forty free players are too many to compare all; the split is still almost even."""
    result = balance(plain_lobby(40), costs=False, steps=300)
    assert result.compared is None
    assert result.objective < 1.0
    assert result.gap == result.objective - result.bound
    assert len(result.alternatives) == 5


def test_a_time_limit_ends_a_search_and_is_reported() -> None:
    result = balance(plain_lobby(60), 10, time_limit=0.0)
    assert result.stopped
    assert sorted(one for team in result.teams for one in team) == list(range(60))
    assert {one.objective_without for one in result.constraints} == {None}


def test_the_largest_over_pairs_is_the_larger_of_two_ranges() -> None:
    """J of many teams in linear time equals all pairs compared."""
    rng = np.random.default_rng(0)
    strength, square = rng.normal(0, 100, 30), rng.uniform(0, 350, 30) ** 2
    teams = [list(range(5 * i, 5 * i + 5)) for i in range(6)]
    pairs = [
        parts_of(strength, square, [one, other], 0.8).objective
        for one, other in itertools.combinations(teams, 2)
    ]
    whole = parts_of(strength, square, teams, 0.8)
    assert whole.objective == pytest.approx(max(pairs), abs=1e-12)
    assert whole.objective == whole.rating_difference + 0.8 * whole.deviation_difference
    assert parts_of(strength, square, teams[::-1], 0.8).objective == whole.objective


def test_a_search_of_two_teams_agrees_with_the_exact_answer() -> None:
    lobby = plain_lobby(14, seed=2)
    task = task_of(lobby, 2)
    units = units_of(task)
    assert units is not None
    found = search(task, units, rng=np.random.default_rng(0), keep=1, steps=400, enough=0.0)
    exact = balance(lobby, top_two=False).objective
    assert found.objective == pytest.approx(exact, abs=1e-9)


def test_a_search_goes_on_from_the_best_split_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it begins anew, which it never does here."""
    perturb, bases = split_search._perturb, []

    def noted(assignment: split_search.Assignment, rng: np.random.Generator) -> None:
        bases.append(assignment.objective())
        perturb(assignment, rng)

    monkeypatch.setattr(split_search, "_perturb", noted)
    monkeypatch.setattr(split_search, "_FAILED_PERTURBATIONS", 10**9)
    task = task_of(plain_lobby(40, seed=3), 8)
    units = units_of(task)
    assert units is not None
    search(task, units, rng=np.random.default_rng(0), keep=1, steps=600, enough=0.0)
    assert len(bases) > 5
    assert bases[-1] < bases[0]
    assert np.all(np.diff(bases) <= 1e-9)


def test_sums_are_for_teams_of_equal_size() -> None:
    why = "objective must be 'mean', without a system and as 7 players do not make 2 equal teams"
    for kind in ("sum", "chance"):
        with pytest.raises(InvalidParameterError, match=why):
            balance(plain_lobby(7), objective=kind)
    lobby = plain_lobby(8)
    by_sum = balance(lobby, objective="sum")
    assert by_sum.objective == pytest.approx(4 * balance(lobby, uncertainty_weight=0).objective)
    assert math.isclose(by_sum.bound, by_sum.objective)
