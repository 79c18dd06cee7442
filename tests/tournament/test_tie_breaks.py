"""Tie-breaks and FIDE's rating change: by hand, by slow exact reference, and at the limits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.tournament.formulas import percent_expected
from equipoise.tournament.tie_breaks import NEED_ROUNDS, TIE_BREAKS, unplayed_note

RATINGS = {"A": 1500.0, "B": 1600.0, "C": 1550.0, "D": 1450.0, "E": 1650.0}
#: Everyone plays everyone: A 2.5, B 1.5, C 2, D 2.5, E 1.5.
ROUND_ROBIN = (
    *(("A", "B", 1.0), ("A", "C", 0.5), ("A", "D", 0.0), ("A", "E", 1.0), ("B", "C", 1.0)),
    *(("B", "D", 0.5), ("B", "E", 0.0), ("C", "D", 1.0), ("C", "E", 0.5), ("D", "E", 1.0)),
)


def games_of(results: Any, rating: dict[str, float] | None = None) -> eq.Games:
    white, black, points = zip(*results, strict=True)
    return eq.Games.from_arrays(white, black, points, rating=rating)


def by_player(games: eq.Games, values: Any) -> dict[Any, float]:
    return dict(zip(games.player_ids.tolist(), values.tolist(), strict=True))


def random_games(seed: int) -> eq.Games:
    """Return a tournament of 12 players and 5 rounds, in which everyone plays every round."""
    rng = np.random.default_rng(seed)
    results = []
    for _ in range(5):
        order = rng.permutation(12).tolist()
        results += [
            (f"p{white}", f"p{black}", float(rng.choice([0.0, 0.5, 1.0])))
            for white, black in zip(order[::2], order[1::2], strict=True)
        ]
    rating = {f"p{one}": float(rng.integers(1400, 2700)) for one in range(12)}
    return games_of(results, rating)


def test_a_round_robin_by_hand() -> None:
    """A met 1.5, 2, 2.5, 1.5: Buchholz 7.5, without the lowest 6, without the highest too 3.5."""
    games = games_of(ROUND_ROBIN, RATINGS)
    found = {name: by_player(games, one) for name, one in eq.tie_breaks(games).items()}
    assert found["buchholz"] == {"A": 7.5, "B": 8.5, "C": 8.0, "D": 7.5, "E": 8.5}
    assert found["buchholz-cut1"]["A"] == 6.0
    assert found["buchholz-median"]["A"] == 3.5
    # A: 1.5 of B, half of 2 of C, nothing of D, 1.5 of E.
    assert found["sonneborn-berger"]["A"] == 4.0
    # D: 2.5 of A, half of 1.5 of B, nothing of C, 1.5 of E.
    assert found["sonneborn-berger"]["D"] == 4.75
    assert found["wins"] == {"A": 2, "B": 1, "C": 1, "D": 2, "E": 1}
    # A: (1600 + 1550 + 1450 + 1650) / 4 = 1562.5, which is rounded up; without 1450: 1600.
    assert found["aro"]["A"] == 1563
    assert found["aro-cut1"]["A"] == 1600


def test_the_interzonal_of_1970() -> None:
    """Published: the wins of all players, and the order, by points and then Sonneborn-Berger.

    https://www.chessgames.com/perl/chess.pl?tid=79415
    """
    published = {
        **{"Fischer": 15, "Larsen": 9, "Geller": 8, "Huebner": 10, "Taimanov": 8, "Uhlmann": 10},
        **{"Portisch": 7, "Smyslov": 7, "Polugaevsky": 5, "Gligoric": 7, "Panno": 6, "Mecking": 7},
        **{"Hort": 5, "Ivkov": 2, "Suttles": 4, "Minic": 5, "Reshevsky": 3, "Matulovic": 2},
        **{"Addison": 3, "Filip": 1, "Naranja": 5, "Ujtumen": 5, "Rubinetti": 2, "Jimenez": 2},
    }
    games = eq.read_games("examples/interzonal1970.csv")
    found = eq.tie_breaks(games, ["wins", "sonneborn-berger"])
    assert by_player(games, found["wins"]) == published
    order = np.lexsort([-found["sonneborn-berger"], -games.scored()])
    assert games.player_ids[order].tolist() == list(published)


def test_direct_encounter_is_a_place_among_tied_players() -> None:
    """D beat A, E beat B, and C is tied with nobody."""
    games = games_of(ROUND_ROBIN)
    found = by_player(games, eq.tie_breaks(games, ["direct-encounter"])["direct-encounter"])
    assert np.isnan(found.pop("C"))
    assert found == {"A": 2, "B": 2, "D": 1, "E": 1}
    # Sonneborn-Berger separates them first.
    later = eq.tie_breaks(games, ["sonneborn-berger", "direct-encounter"])["direct-encounter"]
    assert np.isnan(later).all()


def test_direct_encounter_without_all_encounters() -> None:
    """A, B, C and D have 2 points each. A beat B and C, so nobody can pass A; the others share."""
    results = [
        *(("A", "B", 1.0), ("A", "C", 1.0), ("X", "A", 1.0), ("B", "X", 1.0), ("B", "Y", 1.0)),
        *(("C", "Y", 1.0), ("C", "Z", 1.0), ("D", "Z", 1.0), ("D", "X", 1.0), ("Y", "D", 1.0)),
    ]
    games = games_of(results)
    values = eq.tie_breaks(games, ["direct-encounter"], unplayed="ignore")["direct-encounter"]
    found = by_player(games, values)
    assert {name: found[name] for name in "ABCD"} == {"A": 1, "B": 1, "C": 1, "D": 1}
    # D has not met the three others, so D could have 3. If D lost to A, A is first.
    decided = games_of([*results, ("A", "D", 1.0), ("D", "Z", 1.0), ("Y", "A", 1.0)])
    points = by_player(decided, decided.scored())
    assert (points["A"], points["D"]) == (3.0, 3.0)
    values = eq.tie_breaks(decided, ["direct-encounter"], unplayed="ignore")["direct-encounter"]
    assert by_player(decided, values)["A"] == 1
    assert by_player(decided, values)["D"] == 2


def test_a_player_met_twice_counts_by_the_average() -> None:
    """A has 1.5 of 2 against B, which counts as 0.75."""
    games = games_of([("A", "B", 1.0), ("B", "A", 0.5), ("C", "A", 1.0), ("B", "C", 1.0)])
    found = by_player(
        games, eq.tie_breaks(games, ["direct-encounter"], unplayed="ignore")["direct-encounter"]
    )
    assert found["A"] == 1
    assert found["B"] == 2


@pytest.mark.parametrize("seed", range(5))
def test_the_ptp_is_the_lowest_rating_that_expects_the_score(seed: int) -> None:
    """Every whole rating is tried, in whole hundredths; APPO is the mean over opponents."""
    games = random_games(seed)
    opponents: list[list[int]] = [[] for _ in range(games.players)]
    for white, black in zip(games.white.tolist(), games.black.tolist(), strict=True):
        opponents[white].append(black)
        opponents[black].append(white)
    score, rating = games.scored().tolist(), games.initial.tolist()
    table = [int(one) for one in percent_expected(np.arange(-4000.0, 4000.0))]
    slow = []
    for row, others in enumerate(opponents):
        levels = [int(rating[other]) for other in others]
        at = min(levels) - 800
        while score[row] and sum(table[4000 + at - level] for level in levels) < 100 * score[row]:
            at += 1
        slow.append(at)
    found = eq.tie_breaks(games)
    assert found["ptp"].tolist() == slow
    means = [Fraction(sum(slow[other] for other in others), 5) for others in opponents]
    assert found["appo"].tolist() == [(mean + Fraction(1, 2)).__floor__() for mean in means]
    fide = eq.fide_performance(games).tolist()
    means = [Fraction(int(sum(fide[other] for other in others)), 5) for others in opponents]
    assert found["apro"].tolist() == [(mean + Fraction(1, 2)).__floor__() for mean in means]
    lowest = [min(score[other] for other in others) for others in opponents]
    sums = [sum(score[other] for other in others) for others in opponents]
    np.testing.assert_array_equal(found["buchholz"], sums)
    np.testing.assert_array_equal(found["buchholz-cut1"], np.subtract(sums, lowest))


def test_the_ptp_of_all_and_nothing() -> None:
    """All points: 736 above the best opponent. No points: 800 below the worst."""
    games = games_of(
        [("A", "B", 1.0), ("A", "C", 1.0), ("B", "C", 1.0)], {"A": 2000, "B": 1900, "C": 1800}
    )
    found = by_player(games, eq.tie_breaks(games, ["ptp"])["ptp"])
    assert found["A"] == 1900 + 736
    assert found["C"] == 1900 - 800


def test_the_table_of_expected_scores() -> None:
    """Both ends of some lines of table 8.1b; it is symmetric."""
    ends = {0: 50, 3: 50, 4: 51, 10: 51, 150: 70, 154: 71, 344: 88, 345: 89, 391: 91, 392: 92}
    ends |= {411: 92, 412: 93, 619: 98, 620: 99, 735: 99, 736: 100, 3000: 100}
    for difference, percent in ends.items():
        both = percent_expected(np.array([difference, -difference]))
        assert both.tolist() == [percent, 100 - percent] or difference == 0


def test_unplayed_rounds_are_not_guessed() -> None:
    """E has one game fewer, so no number of E's or of E's opponents that needs it is known."""
    results = [("A", "B", 1.0), ("C", "D", 0.5), ("A", "C", 1.0), ("B", "D", 0.5)]
    more = [("E", "F", 1.0), ("G", "F", 1.0), ("G", "H", 0.5), ("H", "I", 0.5), ("I", "J", 1.0)]
    games = games_of([*results, *more], None)
    unknown, ignored = eq.tie_breaks(games), eq.tie_breaks(games, unplayed="ignore")
    known = by_player(games, ~np.isnan(unknown["buchholz"]))
    # E and J have one game; F and I met them.
    assert [name for name, one in known.items() if not one] == ["E", "F", "I", "J"]
    assert not np.isnan(ignored["buchholz"]).any()
    assert np.isnan(unknown["direct-encounter"]).all()
    for name in set(TIE_BREAKS) - NEED_ROUNDS:
        np.testing.assert_array_equal(unknown[name], ignored[name])
    assert "2 players have fewer games" in unplayed_note(games, ["buchholz"], "unknown")
    assert unplayed_note(games, ["wins", "ptp"], "unknown") == ""
    assert unplayed_note(games_of(ROUND_ROBIN), ["buchholz"], "unknown") == ""


def test_unrated_opponents_are_left_out() -> None:
    games = games_of(ROUND_ROBIN, {"B": 1600.0, "C": 1550.0})
    found = eq.tie_breaks(games)
    assert by_player(games, found["aro"]) == {"A": 1575, "B": 1550, "C": 1600, "D": 1575, "E": 1575}
    unrated = eq.tie_breaks(games_of(ROUND_ROBIN))
    for name in ("aro", "aro-cut1", "ptp", "apro", "appo"):
        assert np.isnan(unrated[name]).all()


def test_a_pairing_of_several_games_in_one_row() -> None:
    """Ten games in a row: the wins are known only if the draws are."""
    games = eq.Games.from_arrays(["A"], ["B"], [6.5], weight=[10.0])
    found = eq.tie_breaks(games, ["wins", "buchholz", "buchholz-cut1", "sonneborn-berger"])
    assert np.isnan(found["wins"]).all()
    assert found["buchholz"].tolist() == [35.0, 65.0]
    assert found["buchholz-cut1"].tolist() == [31.5, 58.5]
    assert found["sonneborn-berger"].tolist() == [6.5 * 3.5] * 2
    with pytest.raises(InvalidParameterError, match="tie_breaks must be of whole games"):
        eq.tie_breaks(eq.Games.from_arrays(["A"], ["B"], [0.5], weight=[1.5]))


def test_wrong_names() -> None:
    games = games_of(ROUND_ROBIN)
    with pytest.raises(InvalidParameterError, match="one of buchholz, buchholz-cut1"):
        eq.tie_breaks(games, ["bucholz"])  # type: ignore[list-item]
    with pytest.raises(InvalidParameterError, match="one of fide, absent, ignore"):
        eq.tie_breaks(games, unplayed="zero")  # type: ignore[arg-type]
    assert eq.tie_breaks(games, []) == {}


@pytest.mark.parametrize(
    ("own", "other", "points", "rules", "change"),
    [
        (1500, 1500, 1.0, "2025-10", 5.0),
        (1500, 1600, 0.5, "2025-10", 1.4),  # 36 per cent
        (1500, 2900, 1.0, "2025-10", 9.2),  # as 400: 8 per cent
        (2000, 1000, 0.0, "2024-03", -9.2),
        (2000, 1000, 0.0, "2022-01", -9.2),
        (2649, 1800, 1.0, "2025-10", 0.8),
        (2650, 1800, 1.0, "2025-10", 0.0),
        (2650, 1800, 1.0, "2024-03", 0.8),
        (2650, 2200, 1.0, "2025-10", 0.6),  # 450: 94 per cent
    ],
)
def test_the_rating_change_of_a_game(
    own: float, other: float, points: float, rules: Any, change: float
) -> None:
    games = games_of([("A", "B", points)], {"A": own, "B": other})
    found = by_player(games, eq.fide_rating_change(games, 10, rules=rules))
    assert found["A"] == pytest.approx(change, abs=1e-12)


def test_in_2022_only_one_large_difference_was_cut() -> None:
    """A, 2600, beats 1800 and 2100. 800 counts as 400 (0.08), 500 as itself (0.04)."""
    rating = {"A": 2600.0, "B": 1800.0, "C": 2100.0}
    games = games_of([("A", "B", 1.0), ("A", "C", 1.0)], rating)
    for rules, change in (("2022-01", 1.2), ("2024-03", 1.6), ("2025-10", 1.6)):
        found = eq.fide_rating_change(games, 10, rules=rules)  # type: ignore[arg-type]
        assert by_player(games, found)["A"] == pytest.approx(change, abs=1e-12)
        # The weaker side is always cut.
        assert by_player(games, found)["B"] == pytest.approx(-0.8, abs=1e-12)


def test_the_rating_change_by_player() -> None:
    rating = {"A": 2000.0, "B": 2000.0}
    games = games_of([("A", "B", 1.0), ("A", "C", 1.0)], rating)
    found = by_player(games, eq.fide_rating_change(games, {"A": 40, "C": 20}))
    assert found["A"] == 20.0
    assert np.isnan(found["B"])
    assert np.isnan(found["C"])
    with pytest.raises(NotFoundError, match="k_factor names 'Z'"):
        eq.fide_rating_change(games, {"Z": 10})
    with pytest.raises(InvalidParameterError, match="k_factor must be above 0"):
        eq.fide_rating_change(games, 0)
    with pytest.raises(InvalidParameterError, match="one of 2022-01, 2024-03, 2025-10"):
        eq.fide_rating_change(games, 10, rules="2020")  # type: ignore[arg-type]


def test_the_table_of_a_tournament_has_them_as_columns() -> None:
    games = games_of(ROUND_ROBIN, RATINGS)
    found = eq.performance(games, tie_breaks=["sonneborn-berger", "ptp"], k_factor=20)
    assert {"sonneborn_berger", "ptp", "fide_change"} <= set(found.table.columns)
    best = found.table.row(0, named=True)
    alone = by_player(games, eq.tie_breaks(games)["sonneborn-berger"])
    assert best["sonneborn_berger"] == alone[best["player"]]
    # D beat A, and E beat B; the lower number of a direct encounter is the better one.
    direct = eq.performance(games, tie_breaks=["direct-encounter"], by_points=True)
    assert direct.table["player"].to_list() == ["D", "A", "C", "E", "B"]
    assert direct.table["place"].to_list() == [1, 2, 3, 4, 5]
