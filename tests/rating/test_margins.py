"""Margins of victory: the rules of Elo, and scores in calls, pools and replays."""

from __future__ import annotations

import math

import numpy as np
import pytest

import equipoise as eq
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay

#: (rule, scores of the winner and loser) -> factor between equals.
FACTORS = [
    ("world-football", (1, 0), 1.0),
    ("world-football", (3, 1), 1.5),
    ("world-football", (3, 0), 1.75),
    ("world-football", (5, 0), 2.0),
    ("square-root", (1, 0), 1.0),
    ("square-root", (5, 1), 2.0),
    ("fivethirtyeight", (24, 17), math.log(8)),
    ("fivethirtyeight", (1, 0), math.log(2)),
]


@pytest.mark.parametrize(("rule", "scores", "factor"), FACTORS)
def test_a_rule_multiplies_k(rule: str, scores: tuple[int, int], factor: float) -> None:
    """eloratings.net and clubelo.com by goals, fivethirtyeight's between equals."""
    system = make_system("elo", {"margin_rule": rule, "k": 20})
    winner, loser = system.rate([system.rating(), system.rating()], scores=scores)
    assert winner.rating == pytest.approx(1500 + 10 * factor, rel=1e-13)
    assert loser.rating == pytest.approx(1500 - 10 * factor, rel=1e-13)


def test_fivethirtyeight_gives_a_favourite_less_and_counts_the_home_advantage() -> None:
    """By 2.2/(2.2 + 0.001 d); 65 points at home are part of d."""
    system = eq.Elo(margin_rule="fivethirtyeight", k=20, home_advantage=65)
    home, away = system.rate([system.rating(1600), system.rating(1500)], scores=[10, 3], home=0)
    expected = 1 / (1 + 10 ** (-165 / 400))
    factor = math.log(8) * 2.2 / (2.2 + 0.165)
    assert home.rating == pytest.approx(1600 + 20 * factor * (1 - expected), rel=1e-13)
    assert home.rating + away.rating == pytest.approx(3100, rel=1e-13)


def test_an_unknown_score_and_a_match_of_three_count_as_without_a_rule() -> None:
    plain, system = eq.Elo(), eq.Elo(margin_rule="square-root")
    for ranks in ([0, 1], [0, 1, 2]):
        one = [each.rating for each in system.rate([system.rating() for _ in ranks], ranks=ranks)]
        other = [each.rating for each in plain.rate([plain.rating() for _ in ranks], ranks=ranks)]
        assert one == other
    scores = [9, 4, 1]
    one = [each.rating for each in system.rate([system.rating() for _ in scores], scores=scores)]
    assert one == other


def test_an_explanation_has_the_factor() -> None:
    system = eq.Elo(margin_rule="world-football")
    history = eq.read_history({"match": [1, 1], "player": ["a", "b"], "score": [5, 0]})
    found = eq.explain(system, history, match=1, player="a")
    assert sum(one.change for one in found.contributions) == pytest.approx(32.0)


@pytest.mark.parametrize(
    ("name", "margin"),
    [
        ("bradley-terry", {"margin": 1.5}),
        ("plackett-luce", {"margin": 1.5}),
        ("thurstone-mosteller", {"margin": 1.5}),
        ("elo", {"margin_rule": "fivethirtyeight"}),
    ],
)
def test_scores_give_the_same_bits_in_a_call_a_pool_and_a_replay(
    name: str, margin: dict[str, object]
) -> None:
    """Also where a later match has ranks alone, or is rated from a saved state."""
    system = make_system(name, margin)
    scores = [[5, 1], [0, 2], [3, 3], [9, 2]]
    table = {
        "match": np.repeat(np.arange(4), 2).tolist(),
        "player": ["a", "b", "b", "c", "a", "c", "c", "b"],
        "score": [one for match in scores for one in match],
    }
    history = eq.read_history(table)
    whole = replay(system, history)
    pool, alone = eq.Pool(system), {one: system.rating() for one in "abc"}
    for m, pair in enumerate(scores):
        names = table["player"][2 * m : 2 * m + 2]
        pool.rate(names, scores=pair)
        alone |= system.rate({one: alone[one] for one in names}, scores=pair)
    begun = replay(system, history.slice(0, 2)).state
    rest = replay(system, history.slice(2, 4), state=begun)
    for row, one in enumerate(whole.ratings.player_ids.tolist()):
        wanted = whole.ratings.rating[row]
        again = rest.ratings.player_ids.tolist().index(one)
        assert pool[one].rating == alone[one].rating == rest.ratings.rating[again] == wanted
    pool.rate(["a", "b"])
    plain = make_system(name)
    assert whole.ratings.rating[0] != replay(plain, history).ratings.rating[0]


@pytest.mark.parametrize("value", ["1e308", "inf", "many", "9" * 400])
def test_what_is_no_score_is_refused(value: str) -> None:
    """It would give a rating that is no number, or be left out without a word."""
    table = {"match": [7, 7], "player": ["a", "b"], "rank": [0, 1], "score": [value, "0"]}
    history = eq.read_history(table)
    for system in (eq.Elo(margin_rule="square-root"), eq.PlackettLuce(margin=1.0)):
        with pytest.raises(eq.InvalidDataError, match=r"score: must be a number .* in match 7"):
            eq.replay(system, history)
    assert eq.replay(eq.Elo(), history).ratings.rating.tolist() == [1516.0, 1484.0]
