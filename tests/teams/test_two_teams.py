"""Two teams: what comes out is the best there is, by brute force and by published examples."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.lobby import Balance, Lobby, constraint_in_words
from equipoise.errors import InvalidDataError
from equipoise.teams.lobby_split import balance
from reference.balance import Player, best, candidates, ids, objective
from teams.lobbies import lobby_of, plain_lobby, players

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "balance_lobbies_first50.csv"


def team_sets(result: Balance) -> list[set[object]]:
    return [set(team) for team in result.teams]


def constraints_of(result: Balance) -> dict[str, str]:
    return {one.name: one.status for one in result.constraints}


def balanced_or_none(found: list[Player], **options: bool) -> Balance | None:
    """Return the split; None where the lobby contradicts itself."""
    try:
        return balance(lobby_of(found), **options)
    except InvalidDataError:
        return None


def test_the_lobbies_of_another_program_come_out_as_there() -> None:
    """J and its parts to 1e-6, and the same teams unless two splits tie."""
    if not GOLDEN.exists():
        pytest.skip("../shared/golden is not here")
    different = 0
    with GOLDEN.open() as file:
        for row in csv.DictReader(file):
            numbers = {
                name: np.array([float(one) for one in row[name].split(";")])
                for name in ("rating", "rd", "effective")
            }
            result = balance(
                Lobby(
                    player_ids=np.array([int(one) for one in row["players"].split(";")]),
                    rating=numbers["rating"],
                    deviation=numbers["rd"],
                    effective_rating=numbers["effective"],
                )
            )
            assert result.objective == pytest.approx(float(row["J"]), abs=1e-6)
            assert result.rating_difference == pytest.approx(float(row["strength_diff"]), abs=1e-6)
            assert result.deviation_difference == pytest.approx(
                float(row["uncertainty_diff"]), abs=1e-6
            )
            wanted = {
                frozenset(int(one) for one in row[team].split(";")) for team in ("team0", "team1")
            }
            if {frozenset(team) for team in result.teams} != wanted:
                different += 1
                assert result.alternatives[0].objective - result.objective < 1e-9
    assert different <= 1


@examples(150)
@given(players(), st.booleans(), st.booleans())
def test_no_better_split_exists(found: list[Player], top_two: bool, uneven: bool) -> None:
    """Brute force gives the same teams, ties included, and the same rules are waived."""
    splits, rules = candidates(found, top_two=top_two, uneven=uneven)
    result = balanced_or_none(found, top_two=top_two, uneven=uneven)
    if not splits:
        assert result is None
        return
    wanted = best(splits)
    assert team_sets(result) == ids(wanted)
    assert result.objective == pytest.approx(objective(wanted, 0.8), abs=1e-9)
    assert result.gap == 0
    held = constraints_of(result)
    if top_two:
        assert held["top-two"] == ("held" if rules[0] else "waived")
    if uneven and len(found) % 2:
        assert held["uneven"] == ("held" if rules[1] else "waived")


@examples(50)
@given(players(smallest=4, largest=8))
def test_alternatives_are_the_next_best_splits(found: list[Player]) -> None:
    splits, _ = candidates(found)
    assume(splits)
    result = balance(lobby_of(found))
    wanted = sorted(objective(split, 0.8) for split in splits)
    shown = [result.best, *result.alternatives]
    assert len(shown) == min(len(splits), 6)
    for one, value in zip(shown, wanted, strict=False):
        assert one.objective == pytest.approx(value, abs=3e-9)
    assert len({frozenset(one.teams[0]) for one in shown}) == len(shown)


@examples(50)
@given(players(), st.randoms(use_true_random=False))
def test_the_order_of_players_is_irrelevant(found: list[Player], random: object) -> None:
    """The same teams in the same order, and the same bits."""
    result = balanced_or_none(found)
    mixed = list(found)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    again = balanced_or_none(mixed)
    assert (result is None) == (again is None)
    if result is not None and again is not None:
        assert result.best == again.best
        assert result.alternatives == again.alternatives


def test_what_a_constraint_cost_is_the_objective_without_it() -> None:
    found = [Player(i, 1500 + 37.0 * i * i, 80, 1500 + 37.0 * i * i) for i in range(8)]
    bound = [
        Player(p.id, p.rating, p.deviation, p.effective, "p" if p.id < 2 else None) for p in found
    ]
    bound[2] = Player(2, bound[2].rating, 80, bound[2].effective, None, None, (3,))
    without = {one.name: one.objective_without for one in balance(lobby_of(bound)).constraints}
    assert set(without) == {"top-two", "party:p", "avoid:3;2"}
    no_party = [Player(p.id, p.rating, 80, p.effective, None, None, p.avoid) for p in bound]
    assert without["party:p"] == balance(lobby_of(no_party)).objective
    no_avoid = [Player(p.id, p.rating, 80, p.effective, p.party) for p in bound]
    assert without["avoid:3;2"] == balance(lobby_of(no_avoid)).objective
    assert without["top-two"] == balance(lobby_of(bound), top_two=False).objective


def test_constraints_say_who_they_are_about_whatever_their_names() -> None:
    """Ids may contain what separates them in `name`: `kind`, `players` and `label` are exact."""
    names = ["a;b", "c", "party:x", "lock", "e:f", "g"]
    lobby = Lobby(
        player_ids=np.array(names, dtype=object),
        rating=np.array([1600.0, 1590.0, 1500.0, 1490.0, 1400.0, 1390.0]),
        deviation=np.full(6, 60.0),
        party=np.array([None, None, "p;q", None, "p;q", None], dtype=object),
        team=np.array([None, None, None, "red", None, None], dtype=object),
        avoid=(("c", "a;b"),),
    )
    result = balance(lobby, 2)
    found = [(one.kind, one.players, one.label) for one in result.constraints]
    assert found == [
        ("top-two", ("a;b", "c"), None),
        ("party", ("party:x", "e:f"), "p;q"),
        ("lock", ("lock",), "red"),
        ("avoid", ("a;b", "c"), None),
    ]
    assert [one.name for one in result.constraints] == [
        "top-two",
        "party:p;q",
        "lock:lock",
        "avoid:a;b;c",
    ]
    written = [text for text, by_user in constraint_in_words(*found[3], 2) if by_user]
    assert written == ["a;b", "c"]


def test_of_two_rules_that_exclude_each_other_that_of_the_top_two_is_waived() -> None:
    """0 may be in the pair with 1 alone, or else in the three with the party of 2 and 3."""
    found = [
        Player(i, 2000 - 50.0 * i, 80, 2000 - 50.0 * i, "p" if i in (2, 3) else None, None, avoid)
        for i, avoid in enumerate([(4,), (), (), (), ()])
    ]
    result = balance(lobby_of(found))
    assert team_sets(result)[0] == {0, 1}
    held = constraints_of(result)
    assert (held["top-two"], held["uneven"]) == ("waived", "held")
    assert candidates(found)[1] == (False, True)


def test_the_rule_for_uneven_teams_is_about_the_top_player() -> None:
    lobby = plain_lobby(7)
    top = lobby.player_ids[lobby.order()[:2]].tolist()
    found = {one.kind: one.players for one in balance(lobby).constraints}
    assert found == {"top-two": tuple(top), "uneven": (top[0],)}


@pytest.mark.parametrize("count", [16, 17, 20, 24])
def test_meeting_in_the_middle_finds_what_all_splits_have(count: int) -> None:
    """The least J over all splits, by sums of bits over every subset."""
    lobby = plain_lobby(count, seed=count)
    order = lobby.order()
    strength, square = lobby.strength[order], lobby.deviation[order] ** 2
    masks = np.arange(1 << (count - 1), dtype=np.int64)[:, None] * 2 + 1
    least = math.inf
    for part in np.array_split(masks.ravel(), 64):
        bits = (part[:, None] >> np.arange(count)) & 1
        part_ok = (bits.sum(axis=1) == count // 2) & (bits[:, 1] == 0)
        bits = bits[part_ok].astype(float)
        n, m = count // 2, count - count // 2
        mean = bits @ strength / n - (strength.sum() - bits @ strength) / m
        spread = np.sqrt(bits @ square / n) - np.sqrt((square.sum() - bits @ square) / m)
        if len(bits):
            least = min(least, float((np.abs(mean) + 0.8 * np.abs(spread)).min()))
    assert balance(lobby, costs=False).objective == pytest.approx(least, abs=1e-9)


def test_twenty_four_equal_players_are_split_by_their_ids() -> None:
    """All 705,432 splits tie: the smallest list of ids is taken."""
    lobby = Lobby(
        player_ids=np.arange(24), rating=np.full(24, 1400.0), deviation=np.full(24, 350.0)
    )
    result = balance(lobby, costs=False, alternatives=0)
    assert result.teams[0] == (0, *range(2, 13))
    assert result.compared == 705_432


def test_a_team_of_certain_players_is_not_lost_in_rounding() -> None:
    """The uncertainty of few is summed, not taken as a difference of large sums."""
    deviation = np.array([350.0, 350.0, 350.0, 1e-7, 1e-7, 1e-7])
    lobby = Lobby(
        player_ids=np.arange(6),
        rating=np.array([1500.0, 1400.0, 1300.0, 1500.0, 1400.0, 1300.0]),
        deviation=deviation,
        party=np.array(["p"] * 3 + ["q"] * 3),
    )
    result = balance(lobby)
    assert result.deviation_difference == pytest.approx(350.0 - 1e-7, abs=1e-12)
    assert result.gap == 0


def test_ids_that_are_text_are_compared_as_text() -> None:
    names = ["b", "a", "d", "c"]
    lobby = Lobby(
        player_ids=np.array(names, dtype=object), rating=np.full(4, 1500.0), deviation=np.zeros(4)
    )
    assert balance(lobby).teams == (("a", "c"), ("b", "d"))


def test_teams_of_large_parties_are_split_exactly_too() -> None:
    """Eighty players in twenty parties of four: 92,378 splits of parties."""
    rng = np.random.default_rng(0)
    lobby = Lobby(
        player_ids=np.arange(80),
        rating=rng.normal(1500, 300, 80),
        deviation=rng.uniform(50, 350, 80),
        party=np.repeat([f"p{i}" for i in range(20)], 4),
    )
    result = balance(lobby, costs=False)
    assert result.gap == 0
    assert result.compared is not None
    assert result.compared <= 92_378
