"""Simulated contests and matches of teams: seeded, of the stated sizes, and the sample.

Statistics of teams follow skill.
"""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import InvalidParameterError
from equipoise.evaluate.synthetic import (
    ROLES,
    STATISTICS,
    ContestModel,
    TeamMatch,
    TeamModel,
    contests,
    simulate_contests,
    simulate_teams,
    team_matches,
)
from equipoise.formats import read_history, write_history

#: A study of many replays: `make test` has the tests of its parts.
pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_sizes_and_spreads_are_those_of_the_model() -> None:
    """READINGS B10; tolerances are four standard errors."""
    model = ContestModel(players=2500, contests=3, drift_deviation=0)
    history, skills = simulate_contests(model, rng=np.random.default_rng(1))
    assert (history.matches, history.participations) == (3, 7500)
    assert skills[:2500].std() == pytest.approx(300, abs=4 * 300 / np.sqrt(5000))
    assert skills[:2500].mean() == pytest.approx(1500, abs=4 * 300 / 50)
    assert history.distinct_ranks().tolist() == [2500] * 3


def test_attendance_of_nobody_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="attendance"):
        simulate_contests(
            ContestModel(players=1, contests=1, attendance=1e-9), rng=np.random.default_rng(0)
        )


def test_contests_one_by_one_are_those_of_the_history() -> None:
    """Numbered without gaps, though some are attended by nobody."""
    model = ContestModel(players=2, contests=40, attendance=0.3)
    history, skills = simulate_contests(model, rng=np.random.default_rng(6))
    found = list(contests(model, rng=np.random.default_rng(6)))
    assert history.matches == len(found) < 40
    assert [one.number for one in found] == history.match_ids.tolist()
    assert [one.time * 1_000_000 for one in found] == history.time.tolist()  # type: ignore[union-attr]
    np.testing.assert_array_equal(np.concatenate([one.player for one in found]), history.player)
    np.testing.assert_array_equal(np.concatenate([one.rank for one in found]), history.rank)
    np.testing.assert_array_equal(np.concatenate([one.skill for one in found]), skills)
    for one in found:
        np.testing.assert_array_equal(one.skills[one.player], one.skill)


def test_the_numbers_of_a_seed_never_change() -> None:
    """As drawn since the first version: files made from a seed can be made again."""
    history, skills = simulate_contests(
        ContestModel(players=5, contests=2, attendance=0.8, score_step=150),
        rng=np.random.default_rng(42),
    )
    assert history.player.tolist() == [2, 3, 1, 4, 2, 0, 1]
    assert history.rank.tolist() == [0, 1, 2, 3, 0, 1, 2]
    np.testing.assert_allclose(
        skills[:3], [1725.1353587419371, 1782.169414917364, 1188.0047681278513]
    )


def test_the_sample_is_what_its_script_makes(tmp_path: Path) -> None:
    """Neither copy is ever edited by hand, and the package's is that of the repository."""
    script = runpy.run_path(str(EXAMPLES / "make_contests.py"))
    write_history(script["season"](), tmp_path / "contests.csv")
    for place in script["PLACES"]:
        assert place.read_bytes() == (tmp_path / "contests.csv").read_bytes()
    assert read_history(EXAMPLES / "contests.csv").matches == 40


def test_score_steps_make_ties() -> None:
    model = ContestModel(players=500, contests=1, score_step=100)
    history, _ = simulate_contests(model, rng=np.random.default_rng(3))
    assert history.distinct_ranks()[0] < 30


# --- teams -------------------------------------------------------------------------------------


MODEL = TeamModel(players=40, matches=60, sizes=((2, 2), (3, 2)))


def made(model: TeamModel, seed: int = 1) -> list[TeamMatch]:
    return list(team_matches(model, rng=np.random.default_rng(seed)))


def joined(found: list[TeamMatch], name: str) -> np.ndarray:  # type: ignore[type-arg]
    return np.concatenate([getattr(one, name) for one in found])


def test_matches_one_by_one_are_those_of_the_history() -> None:
    model = replace(MODEL, leavers=0.2, roles=True, draw_margin=60)
    history, skills = simulate_teams(model, rng=np.random.default_rng(6))
    found = made(model, 6)
    assert [one.number for one in found] == history.match_ids.tolist()
    assert [one.time * 1_000_000 for one in found] == history.time.tolist()
    for name in ("player", "team", "rank", "share"):
        np.testing.assert_array_equal(joined(found, name), getattr(history, name))
    for name in STATISTICS:
        np.testing.assert_array_equal(joined(found, name), history.statistics[name])
    np.testing.assert_array_equal(joined(found, "skill"), skills)


def test_teams_have_the_sizes_asked_for_and_nobody_plays_twice() -> None:
    """Both sizes come about equally often; 0.2 is three standard errors."""
    found = made(MODEL)
    sizes = [tuple(np.bincount(one.team).tolist()) for one in found]
    assert set(sizes) == {(2, 2), (3, 2)}
    assert sizes.count((2, 2)) / len(sizes) == pytest.approx(0.5, abs=0.2)
    assert all(len(set(one.player.tolist())) == len(one.player) for one in found)
    assert all(np.all(np.diff(one.team) >= 0) for one in found)


def test_the_better_team_wins_and_close_matches_are_draws() -> None:
    """With performances that are the skills themselves."""
    for one in made(replace(MODEL, performance_deviation=0, draw_margin=50)):
        mean = [one.skill[one.team == t].mean() for t in (0, 1)]
        ranks = [int(one.rank[one.team == t][0]) for t in (0, 1)]
        apart = mean[0] - mean[1]
        assert ranks == ([0, 0] if abs(apart) <= 50 else [0, 1] if apart > 0 else [1, 0])


def test_roles_have_profiles_of_their_own_and_stay_with_their_players() -> None:
    found = made(replace(MODEL, roles=True, matches=300))
    role, kills = joined(found, "role"), joined(found, "kills")
    mean = [kills[role == number].mean() for number in range(len(ROLES))]
    order = sorted(range(len(ROLES)), key=lambda number: ROLES[number].kills)
    assert order == sorted(range(len(ROLES)), key=lambda number: mean[number])
    pairs = set(zip(joined(found, "player").tolist(), role.tolist(), strict=True))
    assert len(pairs) == len({player for player, _ in pairs})
    history, _ = simulate_teams(replace(MODEL, roles=True), rng=np.random.default_rng(1))
    assert set(history.attributes["role"]) == {one.name for one in ROLES}


def test_leavers_play_a_part_and_count_for_it() -> None:
    found = made(replace(MODEL, leavers=0.3, matches=300))
    share, damage = joined(found, "share"), joined(found, "damage")
    assert np.mean(share < 1) == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / len(share)))
    assert share.min() >= 0.1
    assert damage[share < 0.4].mean() < 0.5 * damage[share == 1].mean()
    assert np.all(joined(made(MODEL), "share") == 1)


def test_newcomers_arrive_evenly() -> None:
    """Nobody plays before the own time has come; numbers are in order of arrival."""
    model = replace(MODEL, newcomers=0.5, activity_deviation=0, matches=400)
    assert [model.present(match) for match in (0, 200, 400)] == [20, 30, 40]
    for match, one in enumerate(made(model)):
        assert one.player.max() < model.present(match)
    assert all(one.player.max() < 40 for one in made(replace(MODEL, newcomers=0)))


def test_newcomers_may_be_weaker() -> None:
    """By exactly as much as the same players would be stronger without a gap."""
    model = replace(MODEL, newcomers=0.5, drift_deviation=0)
    same, weaker = (made(replace(model, newcomer_gap=gap))[-1].skills for gap in (0, 150))
    np.testing.assert_allclose(same - weaker, [0] * 20 + [150] * 20, atol=1e-9)


def test_matchmade_lobbies_are_close_and_balanced() -> None:
    model = TeamModel(players=200, matches=200)

    def gaps(matchmade: bool) -> tuple[float, float]:
        found = made(replace(model, matchmade=matchmade))
        within = np.mean([one.skill.std() for one in found])
        between = np.mean(
            [
                abs(one.skill[one.team == 0].mean() - one.skill[one.team == 1].mean())
                for one in found
            ]
        )
        return float(within), float(between)

    (close, fair), (wide, unfair) = gaps(True), gaps(False)
    assert close < 0.6 * wide
    assert fair < 0.2 * unfair


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("players", 0, "players must be at least 1"),
        ("players", 9, "who are not newcomers"),
        ("matches", 0, "matches must be at least 1"),
        ("interval", 0, "interval must be at least 1"),
        ("sizes", (), "sizes must be pairs"),
        ("sizes", ((5, 0),), "sizes must be pairs"),
        ("newcomers", 1.5, r"newcomers must be in \[0, 1\]"),
        ("leavers", -0.1, r"leavers must be in \[0, 1\]"),
        ("activity_deviation", -1, "activity_deviation must be at least 0"),
        ("skill_deviation", float("nan"), "skill_deviation must be at least 0"),
        ("mean_skill", float("inf"), "mean_skill must be finite"),
        ("draw_margin", -1, "draw_margin must be at least 0"),
        ("mean_kills", -1, "mean_kills must be at least 0"),
        ("statistics_scale", 0, "statistics_scale must be positive"),
    ],
)
def test_parameters_outside_their_range_are_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        TeamModel(**{name: value})  # type: ignore[arg-type]


def test_the_teams_of_a_seed_never_change() -> None:
    """As drawn since the first version: files made from a seed can be made again."""
    model = TeamModel(
        players=9, matches=2, sizes=((2, 2),), draw_margin=30, roles=True, leavers=0.4
    )
    found = made(model, 42)
    assert [one.player.tolist() for one in found] == [[0, 4, 1, 6], [6, 7, 0, 4]]
    assert [one.rank.tolist() for one in found] == [[0, 0, 1, 1], [0, 0, 0, 0]]
    assert [one.damage.tolist() for one in found] == [
        [6440, 487, 3245, 2007],
        [3414, 1513, 4536, 1657],
    ]
