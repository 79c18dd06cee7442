"""What answers say of results: chances beforehand, summaries, meetings, records, overviews."""

from __future__ import annotations

from collections import Counter
from statistics import fmean, median_low, pstdev
from typing import Any

import pytest

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.messages.matches import (
    MatchRequest,
    MeetingsRecord,
    MostMatches,
    ParticipationRequest,
    RecordsMessage,
    TeamRequest,
)
from equipoise.messages.pools import PoolRequest
from equipoise.messages.questions import PredictRequest
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.reading.matches import match, matches
from equipoise.pools.reading.overview import highlights, overview, pool_overview, records
from equipoise.pools.reading.players import leaderboard, player_history, rating_timeline
from equipoise.pools.reading.questions import chances_now, predict_in_pool
from equipoise.pools.reading.summaries import against, player_summary
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial, duel

DAY = 86_400


def game(
    name: str, first: str, second: str, goals: tuple[float, float], time: int, **home: bool
) -> MatchRequest:
    """Return a match with scores; home : whether the first is at home."""
    side = ParticipationRequest(first, **home, statistics={"shots": 7.0}, side=None)  # type: ignore[arg-type]
    return MatchRequest(
        name, [TeamRequest([side], score=goals[0]), TeamRequest([second], score=goals[1])], time
    )


SYSTEMS: list[tuple[str, dict[str, Any]]] = [
    ("elo", {}),
    ("elo-mmr", {}),
    ("glicko", {}),
    ("glicko2", {}),
    ("glicko2", {"home_advantage": 60.0}),
    ("team-glicko2", {}),
    ("trueskill", {}),
    ("bradley-terry", {}),
    ("thurstone-mosteller", {}),
    ("uscf", {}),
    ("topcoder", {}),
]


@pytest.mark.parametrize(
    ("system", "parameters", "bound"),
    [
        *((system, parameters, 1e-12) for system, parameters in SYSTEMS),
        # Its changes have the deviation before with what the match itself adds to it.
        ("stephenson", {}, 1e-4),
    ],
)
def test_chances_are_those_that_predict_gave_before(
    sqlite_store: Store, system: str, parameters: dict[str, Any], bound: float
) -> None:
    """After an absence too, when a deviation has grown."""
    store = sqlite_store
    pool = Trial(store, system=system, parameters=parameters)
    home = {"at_home": True} if parameters else {}
    for at in range(6):
        pool.post(game(f"m{at}", "ada", "bob" if at % 2 else "cyd", (at % 3, 1), at * DAY, **home))
    time = 400 * DAY
    wanted = PredictRequest([["ada"], ["bob"]], at=time, home=0 if home else None)
    before = predict_in_pool(store, pool.name, wanted)
    pool.post(game("last", "ada", "bob", (2, 3), time, **home))
    teams = match(store, pool.name, "last").teams
    expected = [team.expected for team in before.teams]
    assert [team.chance for team in teams] == pytest.approx(expected, abs=bound)
    assert [side.chance for side in matches(store, pool.name).matches[0].sides] == [
        team.chance for team in teams
    ]
    line = player_history(store, pool.name, "ada", limit=1).matches[0]
    assert line.chance == teams[0].chance
    assert (line.result, line.score, line.opponent_score) == ("loss", 2.0, 3.0)
    assert line.at_home == (True if home else None)
    (opponent,) = line.opponents
    assert opponent.player == "bob"
    assert opponent.rating_before == teams[1].players[0].rating_before


def test_answers_return_what_was_posted_of_players(store: Store) -> None:
    pool = Trial(store)
    pool.post(game("a", "ada", "bob", (2, 0), 1))
    found = match(store, pool.name, "a")
    assert [team.score for team in found.teams] == [2.0, 0.0]
    assert found.teams[0].players[0].statistics == {"shots": 7.0}
    assert found.teams[1].players[0].statistics == {}
    assert not found.upset


def test_the_winner_with_a_low_chance_is_an_upset(store: Store) -> None:
    """As it was corrected, too; a voided match has no chance, and is not in summaries."""
    pool = Trial(store, system="elo", late="replay")
    pool.post(*(duel(f"m{at}", "ada", "bob", at) for at in range(30)))
    pool.post(duel("upset", "bob", "ada", 50))
    assert match(store, pool.name, "upset").upset
    assert [one.upset for one in matches(store, pool.name, limit=2).matches] == [True, False]
    pool.correct(duel("upset", "ada", "bob", 50))
    pool.settle()
    assert not match(store, pool.name, "upset").upset
    assert player_summary(store, pool.name, "bob").won == 0
    pool.void("upset")
    pool.settle()
    assert match(store, pool.name, "upset").teams[0].chance is None
    assert player_summary(store, pool.name, "ada").won == 30


def test_lines_of_many_teams_have_places_and_ten_opponents(store: Store) -> None:
    pool = Trial(store, system="elo-mmr")
    names = [f"p{number:02d}" for number in range(15)]
    teams = [TeamRequest([name], rank) for rank, name in enumerate(names)]
    pool.post(MatchRequest("contest", teams[::-1], 1))
    line = player_history(store, pool.name, "p03").matches[0]
    assert (line.result, line.rank, line.teams, line.opponent_score) == (None, 4, 15, None)
    assert [one.player for one in line.opponents] == [n for n in names if n != "p03"][:10]
    (shown,) = matches(store, pool.name).matches
    assert [side.players for side in shown.sides] == [["p00"], ["p01"], ["p02"]]
    found = player_summary(store, pool.name, "p03")
    assert (found.places.median, found.places.top3, found.places.top10) == (4, 0, 1)
    assert found.streak is None
    assert [one.match for one in found.best_performances] == ["contest"]


def test_a_summary_counts_results_streaks_and_rivals(store: Store) -> None:
    """Mates in a team are no rivals, and draws end no series without a loss."""
    pool = Trial(store, system="glicko2", placement_matches=2)
    sides = [TeamRequest(["ada", "bob"], rank=1), TeamRequest(["cyd", "dan"], rank=1)]
    pool.post(
        duel("first", "bob", "ada", 0),
        game("second", "ada", "bob", (1, 1), DAY),
        game("third", "ada", "cyd", (3, 1), 2 * DAY),
        duel("fourth", "ada", "bob", 500 * DAY),
    )
    found = player_summary(store, pool.name, "ada")
    assert (found.won, found.drawn, found.lost, found.covered) == (2, 1, 1, 4)
    assert (found.streak.result, found.streak.matches) == ("win", 2)
    assert (found.streak.unbeaten, found.streak.most_unbeaten) == (3, 3)
    assert [(one.player, one.won, one.drawn, one.lost) for one in found.most_played] == [
        ("bob", 1, 1, 1),
        ("cyd", 1, 0, 0),
    ]
    history = player_history(store, pool.name, "ada").matches
    assert found.last == history
    assert found.best_win == history[0]
    assert found.peak.rating == max(one.rating for one in history[:-1])
    assert found.change == history[0].rating - history[1].rating
    team = Trial(store, "teams", system="team-glicko2")
    team.post(MatchRequest("draw", sides, 1))
    rivals = player_summary(store, "teams", "ada").most_played
    assert [(one.player, one.drawn) for one in rivals] == [("cyd", 1), ("dan", 1)]


def draw(match: str, first: list[str], second: list[str], time: int) -> MatchRequest:
    return MatchRequest(match, [TeamRequest(first, rank=1), TeamRequest(second, rank=1)], time)


def test_a_record_of_duels_has_results_lines_and_chances(store: Store) -> None:
    """Each player's view is the other's turned round, and a voided match does not count."""
    pool = Trial(store, system="glicko2", late="replay")
    pool.post(
        duel("a", "ada", "bob", 1),
        duel("b", "bob", "ada", 2),
        draw("c", ["ada"], ["bob"], 3),
        duel("d", "ada", "cyd", 4),
        duel("e", "ada", "bob", 5),
        duel("void", "bob", "ada", 6),
    )
    pool.void("void")
    pool.settle()
    found = against(store, pool.name, "ada", "bob")
    assert (found.matches, found.won, found.drawn, found.lost) == (4, 2, 1, 1)
    assert (found.duels, found.together) == (4, 0)
    assert [(one.line.match, one.result) for one in found.meetings] == [
        ("e", "win"),
        ("c", "draw"),
        ("b", "loss"),
        ("a", "win"),
    ]
    lines = {one.match: one for one in player_history(store, pool.name, "ada").matches}
    theirs = {one.match: one for one in player_history(store, pool.name, "bob").matches}
    for one in found.meetings:
        assert one.line == lines[one.line.match]
        other = theirs[one.line.match]
        assert (one.rank, one.rating_before, one.rating) == (
            other.rank,
            other.rating_before,
            other.rating,
        )
    predicted = predict_in_pool(store, pool.name, PredictRequest([["ada"], ["bob"]]))
    assert [found.chance, found.other_chance] == [team.expected for team in predicted.teams]
    turned = against(store, pool.name, "bob", "ada")
    assert (turned.won, turned.drawn, turned.lost) == (1, 1, 2)


@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("elo", {"home_advantage": 50.0}),
        ("glicko", {"learn_home_advantage": True}),
        ("glicko2", {}),
        ("trueskill", {}),
        ("elo-mmr", {"drift_per_day": 2.0}),
        ("egf", {}),
        ("codeforces", {}),
    ],
)
def test_chances_now_are_those_of_a_prediction(
    sqlite_store: Store, system: str, parameters: dict[str, Any]
) -> None:
    """At the same time, to the last bit."""
    pool = Trial(sqlite_store, system=system, parameters=parameters)
    for at, two in enumerate([("ada", "bob"), ("ada", "cyd"), ("cyd", "bob"), ("bob", "ada")]):
        pool.post(duel(str(at), *two, 1_000 * at))
    found = chances_now(sqlite_store, pool.name, "ada", ["bob", "cyd"], now=NOW)
    asked = [PredictRequest([["ada"], [other]]) for other in ("bob", "cyd")]
    predicted = [predict_in_pool(sqlite_store, pool.name, one, now=NOW).teams for one in asked]
    assert found == [(one.expected, other.expected) for one, other in predicted]


def test_mates_do_not_meet_and_many_teams_tell_who_placed_above(store: Store) -> None:
    """Equal ranks are a draw of two teams, and nothing within one, also with 101 teams."""
    pool = Trial(store, system="bradley-terry")
    crowd = [TeamRequest([f"p{at:03}"], rank=at + 3) for at in range(99)]
    pool.post(
        draw("mates", ["ada", "bob"], ["cyd", "dan"], 1),
        MatchRequest(
            "cup",
            [TeamRequest(["cyd"], rank=1), TeamRequest(["bob"], rank=2), TeamRequest(["ada"], 3)],
            2,
        ),
        MatchRequest("tie", [TeamRequest(["ada"], 1), TeamRequest(["bob"], 1), *crowd], 3),
        MatchRequest("pair", [TeamRequest(["ada", "bob"], 1), TeamRequest(["x"], 2), *crowd], 4),
    )
    found = against(store, pool.name, "ada", "bob")
    assert [(one.line.match, one.result, one.rank) for one in found.meetings] == [
        ("tie", "draw", 1),
        ("cup", "loss", 2),
    ]
    assert (found.duels, found.together) == (0, 2)
    assert against(store, pool.name, "ada", "dan").duels == 1


def test_meetings_are_read_page_by_page(store: Store) -> None:
    pool = Trial(store)
    pool.post(*(duel(f"m{at}", "ada", "bob", at) for at in range(5)))
    names: list[str] = []
    cursor = None
    for _ in range(3):
        page = against(store, pool.name, "ada", "bob", cursor=cursor, limit=2)
        assert page.matches == 5
        names += [one.line.match for one in page.meetings]
        cursor = page.next
    assert cursor is None
    assert names == ["m4", "m3", "m2", "m1", "m0"]
    with pytest.raises(InvalidParameterError, match="two different ones"):
        against(store, pool.name, "ada", "ada")
    with pytest.raises(NotFoundError, match="nobody"):
        against(store, pool.name, "ada", "nobody")


def test_records_are_those_of_all_matches_also_before_1970(store: Store) -> None:
    """Ada wins seven times and loses at last; a draw ends no series without a loss."""
    pool = Trial(store, system="elo", placement_matches=3, parameters={"k": 100})
    draw = MatchRequest("draw", [TeamRequest(["bob"], 1), TeamRequest(["ada"], 1)], -500)
    wins = [duel(f"win {at}", "ada", "bob", at - 1000) for at in range(7)]
    pool.post(*wins, draw, duel("upset", "bob", "ada", 900), duel("new", "cyd", "dan", 1000))
    whole = pool_overview(store, pool.name)
    assert whole.overview == overview(store, pool.name)
    assert whole.highlights == highlights(store, pool.name)
    found = whole.records
    best = max(player_history(store, pool.name, "ada").matches, key=lambda one: one.rating)
    assert (found.highest.player, found.highest.rating) == ("ada", best.rating)
    assert (found.unbeaten.player, found.unbeaten.matches) == ("ada", 8)
    assert found.upset.match == "upset"
    assert found.most_matches == MostMatches("ada", 9)
    assert found.most_met == MeetingsRecord(["ada", "bob"], 9)
    assert found.results == 20


def test_newcomers_and_contests_set_few_records(store: Store) -> None:
    """No record of ratings by newcomers, no series in contests, none at all in an empty pool."""
    pool = Trial(store, system="elo", placement_matches=3)
    pool.post(duel("a", "ada", "bob", 1), duel("b", "ada", "bob", 2))
    found = records(store, pool.name)
    assert (found.highest, found.upset) == (None, None)
    contests = Trial(store, "contests", system="elo-mmr")
    assert records(store, "contests") == RecordsMessage(None, None, None)
    teams = [TeamRequest([name], rank) for rank, name in enumerate("abc")]
    contests.post(MatchRequest("cup", teams, 1))
    found = records(store, "contests")
    assert (found.unbeaten, found.upset, found.most_met) == (None, None, None)
    assert found.highest is not None


def test_the_first_of_equal_records_counts_by_the_time_of_the_match(store: Store) -> None:
    pool = Trial(store, system="elo", placement_matches=1, late="replay")
    pool.post(duel("cyd", "cyd", "dan", 20), duel("eve", "eve", "fay", 30))
    pool.post(duel("ada", "ada", "bob", 10))
    pool.replay()
    found = records(store, pool.name)
    assert (found.highest.player, found.highest.match) == ("ada", "ada")
    assert found.unbeaten.player == "ada"
    assert found.upset is None
    assert found.most_met == MeetingsRecord(["ada", "bob"], 1)
    assert found.largest.match == "ada"


def test_players_of_a_large_pool_are_settled_by_matches_before_its_newest_results(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Trial(store, system="elo", placement_matches=3)
    pool.post(*(duel(f"{at}", "ada", f"p{at}", at) for at in range(1, 5)))
    whole = records(store, pool.name)
    monkeypatch.setattr("equipoise.pools.reading.overview.MOST_RESULTS", 2)
    found = records(store, pool.name)
    assert found.results == 2
    assert found.highest == whole.highest
    assert found.most_matches == MostMatches("ada", 4)
    assert found.unbeaten.matches == 1


#: A Monday, at noon.
START = 4 * DAY + 2_800 * 7 * DAY + DAY // 2
LATER = 2_000_000_000_000_000


def duels(count: int, every: int, timed: bool = True) -> list[MatchRequest]:
    """Return duels of 12 players, one every so many seconds."""
    return [
        MatchRequest(
            f"d{at}",
            [
                TeamRequest([f"p{at % 12}"], rank=1),
                TeamRequest([f"p{(at * 5 + 1 + at // 12) % 12 if at % 12 else 11}"], rank=2),
            ],
            time=START + every * at if timed else None,
        )
        for at in range(count)
        if at % 12 != (at * 5 + 1 + at // 12) % 12 or at % 12 == 0
    ]


def filled(store: Store, matches: list[MatchRequest], **settings: object) -> None:
    create_pool(store, "pool", PoolRequest(system="glicko", **settings), LATER)  # type: ignore[arg-type]
    post_matches(store, "pool", [Post(matches, detailed=False)], LATER)


def test_empty_pools_and_equal_ratings_have_an_overview(store: Store) -> None:
    """Nothing is divided by nothing, nor by a range of no width."""
    filled(store, [])
    found = overview(store, "pool")
    assert (found.activity, found.ratings, found.drift) == ([], [], [])
    assert (found.median, found.mean, found.covered) == (None, None, 0)
    with pytest.raises(NotFoundError):
        overview(store, "other")
    post_matches(store, "pool", [Post([draw("d", ["a"], ["b"], START)])], LATER)
    found = overview(store, "pool")
    assert [one.players for one in found.ratings] == [2]
    assert found.median == pytest.approx(1500, abs=1)


@pytest.mark.parametrize(("every", "unit", "width"), [(DAY // 3, "day", 1), (DAY, "week", 7)])
def test_matches_are_counted_by_day_or_week(
    store: Store, every: int, unit: str, width: int
) -> None:
    """The first bin begins at midnight, of a Monday for weeks; empty ones are told too."""
    matches = [one for one in duels(150, every) if one.time != START + 6 * every]
    filled(store, matches)
    found = overview(store, "pool")
    assert found.unit == unit
    counted = Counter((int(one.time or 0) - START // DAY * DAY) // (width * DAY) for one in matches)
    assert [one.matches for one in found.activity] == [
        counted[at] for at in range(max(counted) + 1)
    ]
    assert found.activity[0].start == START // DAY * DAY
    assert found.covered == len(matches)


def test_ratings_are_told_by_bins_with_their_mean_and_median(store: Store) -> None:
    """Every player is in one bin; the median is that of the ratings shown, to a fine bin."""
    filled(store, duels(100, DAY // 3), display_deviations=1.0, placement_matches=16)
    found = overview(store, "pool")
    rows = leaderboard(store, "pool", provisional=True).players
    shown = [row.display for row in rows]
    assert sum(one.players for one in found.ratings) == 12
    for one in found.ratings:
        assert one.players == sum(one.low <= value < one.high for value in shown)
    width = found.ratings[0].high - found.ratings[0].low
    assert found.mean == pytest.approx(fmean(shown))
    assert found.median == pytest.approx(median_low(shown), abs=width / 20)
    assert found.provisional == sum(row.provisional for row in rows)


def test_drift_is_the_mean_of_ratings_after_matches(store: Store) -> None:
    """With a standard deviation to each side, week by week."""
    filled(store, duels(150, DAY))
    found = overview(store, "pool")
    weeks: dict[int, list[float]] = {}
    for player in range(12):
        timeline = rating_timeline(store, "pool", f"p{player}", most=1000)
        assert timeline.times is not None
        for time, rating in zip(timeline.times, timeline.ratings, strict=True):
            weeks.setdefault(int(time - START // DAY * DAY) // (7 * DAY), []).append(rating)
    assert len(found.drift) == len(weeks)
    for point, (week, values) in zip(found.drift, sorted(weeks.items()), strict=True):
        assert point.start == START // DAY * DAY + week * 7 * DAY
        assert point.participations == len(values)
        assert point.mean == pytest.approx(fmean(values))
        assert point.upper - point.mean == pytest.approx(pstdev(values), abs=1e-6)
        assert point.mean - point.lower == pytest.approx(pstdev(values), abs=1e-6)


def test_pools_without_times_are_told_by_matches(store: Store) -> None:
    """Activity needs times; drift goes by the numbers of the log."""
    filled(store, duels(120, 1, timed=False), times="none")
    found = overview(store, "pool")
    assert found.unit == "matches"
    assert found.activity == []
    assert [one.start for one in found.drift] == [None] * len(found.drift)
    assert sum(one.participations for one in found.drift) == 2 * found.covered
    assert [one.match for one in found.drift] == sorted(one.match for one in found.drift)


def test_long_logs_and_large_pools_are_told_of_in_part(store: Store) -> None:
    """Of the newest matches, and of players evenly drawn."""
    matches = duels(150, DAY)
    filled(store, matches)
    found = overview(store, "pool", most_matches=30, most_players=4)
    assert found.covered == 30
    # The day of the thirtieth match is told of from its beginning.
    assert 30 <= sum(one.matches for one in found.activity) <= 31
    assert 0 < sum(one.participations for one in found.drift) < 60
