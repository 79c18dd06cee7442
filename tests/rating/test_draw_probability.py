"""Draw probabilities of trueskill: none, by a named rule, and of one match by a number or function.

And draw rates that are given to systems without a model of draws.

Facts of the package trueskill are from trueskilltest.py of sublee/trueskill (commit 3ff78b26c837),
and from running version 0.4.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError
from equipoise.rating.state import DRAWS
from equipoise.rating.system import models_draws
from equipoise.rating.systems.trueskill_match import margin_between

SCALE: dict[str, float] = {
    "initial_rating": 25,
    "initial_deviation": 25 / 3,
    "beta": 25 / 6,
    "drift": 25 / 300,
}
NEW = (25.0, 25 / 3)
Pairs = list[list[tuple[float, float]]]

TIES: list[tuple[Pairs, list[int], list[tuple[float, float]]]] = [
    ([[NEW], [NEW]], [0, 0], [(25.000, 6.458)] * 2),
    ([[NEW] * 2, [NEW] * 2], [0, 0], [(25.000, 7.455)] * 4),
    ([[NEW], [NEW] * 2], [0, 0], [(31.660, 7.138), (18.340, 7.138), (18.340, 7.138)]),
    ([[NEW], [NEW] * 3], [0, 0], [(34.990, 7.455), *[(15.010, 7.455)] * 3]),
    ([[NEW], [(50, 12.5)]], [0, 0], [(31.662, 7.137), (35.010, 7.910)]),
    ([[NEW]] * 3, [0, 0, 0], [(25.000, 5.698), (25.000, 5.695), (25.000, 5.698)]),
    (
        [[NEW]] * 8,
        [0] * 8,
        [(25.0, one) for one in (4.592, 4.583, 4.576, 4.573, 4.573, 4.576, 4.583, 4.592)],
    ),
    (
        [[(40, 4), (45, 3)], [(20, 7), (19, 6), (30, 9), (10, 4)], [(50, 5), (30, 2)]],
        [0, 1, 1],
        [
            *[(40.877, 3.840), (45.493, 2.934), (19.609, 6.396), (18.712, 5.625)],
            *[(29.353, 7.673), (9.872, 3.891), (48.830, 4.590), (29.813, 1.976)],
        ],
    ),
]


def rated(system: Any, teams: Pairs, ranks: list[int], **more: Any) -> list[tuple[float, float]]:
    sides = [[system.rating(*one) for one in team] for team in teams]
    return [
        (p.rating, p.deviation) for team in system.rate(sides, ranks=ranks, **more) for p in team
    ]


@pytest.mark.parametrize(("teams", "ranks", "after"), TIES)
def test_the_package_rates_ties_the_same(
    teams: Pairs, ranks: list[int], after: list[tuple[float, float]]
) -> None:
    """All matches of its tests in which teams tie, to a unit of its third decimal."""
    found = rated(eq.TrueSkill(**SCALE), teams, ranks)
    np.testing.assert_allclose(found, after, rtol=0, atol=1.5e-3)


#: Ratings before, whether they tie, and after: of the package's test of dynamic draw
#: probabilities, rated by version 0.4.5 with the quality of the two performances.
DYNAMIC = [
    ((100, 25 / 3), (10, 25 / 3), False, (100.0, 8.33374999), (10.0, 8.33374999)),
    ((10, 25 / 3), (100, 25 / 3), False, (46.74239964, 6.49617583), (63.25760036, 6.49617583)),
    ((10, 25 / 3), (100, 25 / 3), True, (46.00072300, 6.45524324), (63.99927700, 6.45524324)),
    (NEW, NEW, False, (30.04184719, 7.09959887), (19.95815281, 7.09959887)),
    (NEW, NEW, True, (25.0, 6.49606077), (25.0, 6.49606077)),
    ((25, 10), (25, 0.1), False, (33.63230945, 6.94312411), (24.99853740, 0.13016512)),
]


def quality_of_performances(first: tuple[Any, ...], second: tuple[Any, ...]) -> float:
    """Return what the package asks for: the quality of two ratings as wide as performances."""
    (one,), (other,) = first, second
    noise = SCALE["drift"] ** 2 + SCALE["beta"] ** 2
    certain = 2 * SCALE["beta"] ** 2
    wide = certain + one.deviation**2 + other.deviation**2 + 2 * noise
    apart = one.rating - other.rating
    return math.sqrt(certain / wide) * math.exp(-0.5 * apart**2 / wide)


@pytest.mark.parametrize(("first", "second", "tied", "after", "other"), DYNAMIC)
def test_a_function_of_the_teams_is_that_of_the_package(
    first: Any, second: Any, tied: bool, after: Any, other: Any
) -> None:
    """One match, one function. Where it returns less than 1e-9 we have 1e-9."""
    system = eq.TrueSkill(**SCALE)
    ranks = [0, 0] if tied else [0, 1]
    more = {"draw_probability": quality_of_performances}
    found = rated(system, [[first], [second]], ranks, **more)
    np.testing.assert_allclose(found, [after, other], rtol=0, atol=2e-4)


def test_a_number_for_one_match_is_that_of_the_system() -> None:
    """Bit for bit, for any number of teams; the ratings stay those of the system."""
    usual, often = eq.TrueSkill(), eq.TrueSkill(draw_probability=0.4)
    for teams, ranks in (
        ([[(1600, 90)], [NEW], [(1400, 60), NEW]], [0, 1, 1]),
        ([[NEW]] * 2, [0, 0]),
    ):
        assert rated(usual, teams, ranks, draw_probability=0.4) == rated(often, teams, ranks)
    pair = [usual.rating(1600, 90), usual.rating(1500, 60)]
    of_pair = lambda one, two: 0.4 if (*one, *two) == tuple(pair) else 2.0  # noqa: E731
    a, _ = usual.rate(pair, draw_probability=of_pair)
    assert (a.system, a.matches) == (usual, 1)
    found = usual.predict(pair, draw_probability=0.4)
    same = often.predict([often.rating(1600, 90), often.rating(1500, 60)])
    assert (found.win, found.draw, found.draw_by) == (same.win, same.draw, "trueskill")


def test_a_function_of_far_teams_gives_the_least_probability_or_none() -> None:
    """The package's has 1e-9 at least; 0 stays a match without draws."""
    pair = [TS.rating(1600), TS.rating(1500)]
    for found, counts in ((1e-12, 1e-9), (0, 0)):
        by_function = TS.rate(pair, draw_probability=lambda one, two, found=found: found)
        assert by_function == TS.rate(pair, draw_probability=counts)


def test_without_draws_nobody_draws() -> None:
    """draw_probability and eps 0: no margin, and the same ratings from both systems."""
    places: Any = eq.TrueSkillSPb(eps=0, sigma_drift=3.5, convergence_eps=1e-9)
    chain = eq.TrueSkill(draw_probability=0)
    for system in (places, chain):
        assert not system.capabilities.draws
        found = system.predict([system.rating(1600, 80), system.rating(1500, 80)])
        assert found.draw == 0.0
        assert found.win == found.expected
    teams: Pairs = [[(1500 + 20 * k, 100.0 + k)] for k in range(6)]
    ranks = [3, 0, 5, 1, 2, 4]
    expected = rated(chain, teams, ranks)
    np.testing.assert_allclose(rated(places, teams, ranks), expected, rtol=0, atol=1e-6)
    # Nearly no margin is nearly the same; the package has (30.509, 2.892) for this one.
    near = rated(eq.TrueSkill(draw_probability=1e-9), teams, ranks)
    np.testing.assert_allclose(near, expected, rtol=0, atol=1e-4)
    one, other = rated(eq.TrueSkill(**SCALE, draw_probability=0), [[(30, 3)], [(25, 4)]], [0, 1])
    np.testing.assert_allclose([one, other], [(30.509, 2.892), (24.096, 3.739)], rtol=0, atol=1e-3)


def test_without_draws_a_tie_is_refused_everywhere() -> None:
    """The package rates it: two newcomers who tie end less certain than they began (9.588)."""
    for system, need in (
        (eq.TrueSkill(draw_probability=0), "ties need draw_probability above 0"),
        (eq.TrueSkillSPb(eps=0), "ties need eps above 0"),
    ):
        with pytest.raises(InvalidParameterError, match=need):
            system.rate([system.rating(), system.rating()], ranks=[1, 1])
        with pytest.raises(InvalidParameterError, match=need):
            eq.Pool(system).rate(["a", "b"], ranks=[1, 1])
        tie = eq.read_history({"match": [1, 1], "player": ["a", "b"], "rank": [1, 1]})
        with pytest.raises(InvalidDataError, match=r"ties \(1 match; they need .* above 0\)"):
            eq.replay(system, tie)
    usual = eq.TrueSkill()
    with pytest.raises(InvalidParameterError, match="ranks must differ"):
        usual.rate([usual.rating(), usual.rating()], ranks=[1, 1], draw_probability=0)


def test_rules_change_the_log_odds_in_equal_steps() -> None:
    """Per 100 points of the mean rating, or each time the number of players doubles."""
    by_rating = eq.TrueSkill(
        draw_probability=0.3, draw_rule="rating", draw_slope=0.2, draw_rating=1600
    )
    by_players = eq.TrueSkill(draw_probability=0.3, draw_rule="players", draw_slope=-0.5)
    odds = math.log(0.3 / 0.7)
    for step in (-3, 0, 1, 8):
        found = by_rating.draw_probability_of(1600 + 100 * step)
        assert math.log(found / (1 - found)) == pytest.approx(odds + 0.2 * step, abs=1e-9)
        assert by_rating.draw_probability_of(1600 + 100 * step, 10) == pytest.approx(found)
    for doublings in range(4):
        found = by_players.draw_probability_of(1234, 2 * 2**doublings)
        assert math.log(found / (1 - found)) == pytest.approx(odds - 0.5 * doublings, abs=1e-9)
    extreme = eq.TrueSkill(draw_rule="rating", draw_slope=10)
    assert extreme.draw_probability_of(1e6) == pytest.approx(1 - 1e-9, abs=1e-11)
    assert extreme.draw_probability_of(-1e6) == pytest.approx(1e-9, rel=0.01)


@pytest.mark.parametrize("rule", ["rating", "players"])
@pytest.mark.parametrize("ranks", [[0, 0], [0, 1], [1, 0]])
def test_a_rule_rates_and_predicts_as_its_draw_probability_does(
    rule: Any, ranks: list[int]
) -> None:
    """The same numbers as a system whose draw probability is what the rule says of the match."""
    system = eq.TrueSkill(draw_probability=0.2, draw_rule=rule, draw_slope=0.4)
    teams: Pairs = [[(1700, 80), (1900, 60)], [(1800, 70)]]
    plain = eq.TrueSkill(draw_probability=system.draw_probability_of(1800, 3))
    found, expected = rated(system, teams, ranks), rated(plain, teams, ranks)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    predicted = [
        one.predict([[one.rating(*pair) for pair in team] for team in teams]).draw
        for one in (system, plain)
    ]
    assert predicted[0] == pytest.approx(predicted[1], rel=1e-9)
    assert predicted[0] != pytest.approx(eq.TrueSkill(draw_probability=0.2).draw_margin(3))


def test_of_three_teams_each_pair_of_neighbours_has_its_margin() -> None:
    """The margins are those of the rule for the mean rating of the two."""
    system = eq.TrueSkill(draw_rule="rating", draw_slope=0.5)
    settings = system.settings()
    margins = [system.draw_margin(2, mean) for mean in (1400, 1600)]
    assert margins[0] < margins[1]
    for mean, margin in zip((1400, 1600), margins, strict=True):
        assert margin_between(2.0 * mean, 2.0, settings) == margin
    # The tie of the strong ones says less than that of the weak ones: it was to be expected.
    strong, _, weak = (
        rated(system, [[(mean, 100.0)]] * 3, [0, 0, 0])[0][1] for mean in (2200, 1500, 800)
    )
    assert strong > weak


def test_parameters_of_a_rule_are_idle_without_one_and_left_out_of_ratings() -> None:
    """Earlier versions do not know them."""
    assert "draw_rule" not in eq.TrueSkill().rating().to_dict()["parameters"]
    assert eq.TrueSkill().capabilities.idle >= {"draw_slope", "draw_rating"}
    system = eq.TrueSkill(draw_rule="rating", draw_slope=0.3, draw_rating=1400)
    assert not {"draw_slope", "draw_rating"} & system.capabilities.idle
    rating = system.rating()
    assert eq.Rating.from_json(rating.to_json()) == rating


def test_partial_play_in_predictions_is_that_of_the_package() -> None:
    """The two qualities with weights of trueskilltest.py; a share of 1 changes no bit."""
    for name in ("trueskill", "trueskill-spb"):
        more = SCALE if name == "trueskill" else {"beta": 25 / 6, "eps": 0.1}
        system: Any = eq.make_system(name, more)
        new = system.rating(*NEW)
        teams = [[new], [new, new], [new]]
        for share, quality in (([0.25, 0.75], 0.2), ([0.8, 0.9], 0.0809)):
            found = system.predict(teams, share=[[1], share, [1]])
            assert found.quality == pytest.approx(quality, abs=5e-4)
        assert system.predict(teams, share=[[1], [1, None], [1]]) == system.predict(teams)
        # Who does not play at all is as if they were not there, but for the number of players.
        alone = system.predict([[new], [new]])
        absent = system.predict([[new], [new, new]], share=[[1], [1, 0]])
        assert absent.quality == pytest.approx(alone.quality, rel=1e-12)
        assert absent.outlook.expected().tolist() == alone.outlook.expected().tolist()


def test_a_head_start_counts_in_the_mean_rating_of_a_rule_in_ratings_and_predictions() -> None:
    """Both take the draw probability of equals that the mean with head starts has."""
    rule = eq.TrueSkill(
        draw_probability=0.3, draw_rule="rating", draw_slope=0.4, home_advantage=200.0
    )
    chance = rule.draw_probability_of(1600)
    plain = eq.TrueSkill(draw_probability=chance, home_advantage=200.0)
    assert chance > 0.35
    found, other = (
        one.predict([one.rating(1500, 80), one.rating(1500, 80)], home=0) for one in (rule, plain)
    )
    assert found.draw == pytest.approx(other.draw, rel=1e-9)
    found_ratings, other_ratings = (
        one.rate([one.rating(1500, 80), one.rating(1500, 80)], ranks=[0, 0], home=0)
        for one in (rule, plain)
    )
    for mine, theirs in zip(found_ratings, other_ratings, strict=True):
        assert mine.rating == pytest.approx(theirs.rating, rel=1e-12)
        assert mine.deviation == pytest.approx(theirs.deviation, rel=1e-12)


# --- draw rates that are given, for systems without a model of draws -----------------------------


@pytest.mark.parametrize("name", ["elo", "elo-mmr", "trueskill"])
def test_a_duel_has_win_draw_and_loss(name: str) -> None:
    """By its model, or by the rate that is given: draw = 4 r E (1 - E), and win = E - draw/2."""
    system: Any = eq.make_system(name)
    duel = [system.rating(1620), system.rating(1500)]
    if models_draws(system):
        assert system.predict(duel).draw_by == name
        with pytest.raises(InvalidParameterError, match="draw_rate must be left out, because"):
            system.predict(duel, draw_rate=0.3)
        return
    found = system.predict(duel, draw_rate=0.3)
    first, second = found.expected
    assert found.draw_by == "draw_rate"
    assert found.draw == pytest.approx(4 * 0.3 * first * second, rel=1e-12)
    assert found.win == pytest.approx((first - found.draw / 2, second - found.draw / 2), abs=1e-15)
    assert sum(found.win) + found.draw == pytest.approx(1, abs=1e-15)
    assert "draw_rate" in repr(found)
    assert "draws estimated from the given draw rate" in found._repr_html_()
    none = system.predict(duel)
    assert none.win is none.draw is none.draw_by is None
    assert none.draw_note.startswith(f"no win and draw probability: {name} does not model draws")
    assert "draw_rate" in none.draw_note
    assert system.predict(duel, draw_rate=0).draw == 0.0


def test_a_pool_counts_and_a_rate_that_is_given_comes_first() -> None:
    """One pool, its state and its replay have the same estimate, from 50 matches on."""
    pool = eq.Pool(eq.Elo())
    for number in range(50):
        assert pool.draw_rate is None
        note = pool.predict(["a", "b"]).draw_note
        assert f"so far {number})" in note
        pool.rate(["a", "b"], ranks=[1, 1 if number % 3 == 0 else 2])
    rate = pool.draw_rate
    assert rate is not None
    assert rate == pool.state.draw_rate
    counted, draws, spread = pool.state.state.shared[DRAWS].tolist()
    assert (counted, draws, rate) == (50, 17, min(17 / spread, 1.0))
    usual, given = pool.predict(["a", "b"]), pool.predict(["a", "b"], draw_rate=0.1)
    assert (usual.draw_by, usual.draw_note) == ("estimate", "")
    assert "(estimate)" in repr(usual)
    assert "draws estimated from earlier draws" in usual._repr_html_()
    a, b = pool["a"], pool["b"]
    assert eq.Elo().predict([a, b], draw_rate=rate).draw == usual.draw
    assert given.draw_by == "draw_rate"
    assert given.draw == pytest.approx(0.4 * np.prod(given.expected), rel=1e-12)
    of_state = eq.predict(eq.Elo(), pool.state, [["a"], ["b"]], draw_rate=0.1)
    assert (of_state.draw, of_state.draw_by) == (given.draw, "draw_rate")
    assert of_state._notes() == ("draws estimated from the given draw rate",)


TS = eq.TrueSkill()
T = TS.rating()
ELO = eq.Elo()
E = ELO.rating()


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        (lambda: eq.TrueSkill(draw_probability=lambda a, b: 0.1), "cannot be saved, so it is for"),
        (lambda: TS.rate([T, T], draw_probability=True), "draw_probability must be 0, or from"),
        (
            lambda: TS.rate([T, T], draw_probability=lambda a, b: "x"),
            "the result of draw_probability must be a number from 0 to below 1",
        ),
        (
            lambda: TS.rate([T, T, T], draw_probability=lambda a, b: 0.2),
            "a function of two teams, and the match has 3: give a number, or use a named rule",
        ),
        (lambda: TS.predict([T, T, T], draw_probability=0.2), "left out for more than two teams"),
        (
            lambda: ELO.rate([E, E], draw_probability=0.2),
            "draw_probability must be left out, because elo does not use it",
        ),
        (
            lambda: eq.TrueSkillSPb().rate([eq.TrueSkillSPb().rating()] * 2, draw_probability=0.2),
            "its eps says how often teams draw",
        ),
        (
            lambda: eq.Pool(TS).rate(["a", "b"], draw_probability=lambda a, b: 0.2),
            "left out in a pool, because a replay of its matches would not know it",
        ),
        (lambda: ELO.predict([E, E], draw_rate=1.1), "draw_rate must be a probability from 0 to 1"),
        (lambda: ELO.predict([E, E], draw_rate=lambda a, b: 0.3), "draw_rate must be a probab"),
        (lambda: ELO.predict([E] * 3, draw_rate=0.2), "must be left out for more than two teams"),
        (
            lambda: ELO.predict([E, E], share=[1, 1]),
            "share must be left out, because predictions of elo do not use it",
        ),
        (lambda: TS.predict([T, T], share=[1, 0]), "share must be above 0 for a player of every"),
    ],
)
def test_what_cannot_be_gets_a_sentence(attempt: Callable[[], Any], sentence: str) -> None:
    with pytest.raises((InvalidParameterError, ConflictError), match=sentence):
        attempt()
