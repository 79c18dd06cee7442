"""Posting matches: what is recorded, what is refused, and why."""

from __future__ import annotations

import math
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.errors import ConflictError, ConvergenceError, InvalidDataError, Problem
from equipoise.messages.matches import (
    MatchRequest,
    ParticipationRequest,
    PostedMessage,
    TeamRequest,
)
from equipoise.messages.pools import PoolMessage, PoolRequest
from equipoise.pools.pool.pools import create_pool, pool_message
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.posting import posting
from equipoise.pools.posting.posting import Answer, Post, post_matches
from equipoise.pools.posting.rating import (
    LastChanges,
    LoggedMatch,
    chances_of,
    history_of,
    object_array,
    places_of,
    players_of,
)
from equipoise.pools.reading.matches import match
from equipoise.pools.reading.players import player as read_player
from equipoise.rating.registry import SYSTEMS
from equipoise.rating.systems.elo import Elo
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, Trial, duel, rated_alone


def test_the_same_again_changes_nothing_and_gets_the_same_answer(store: Store) -> None:
    """In another post, in the same one, and with ids and times written in another way."""
    pool = Trial(store)
    first = duel("1", "7", "8", 1_600_000_000)
    (seen,) = pool.post(first)
    same = MatchRequest(
        match=1,
        time="2020-09-13T12:26:40Z",
        teams=[TeamRequest([7], 0), TeamRequest([ParticipationRequest(player=8)], 1)],
    )
    assert pool.post(same, first, same) == [seen, seen, seen]
    told = pool.answer(same, duel("2", "7", "8", 1_600_000_001), detailed=False)
    assert told == PostedMessage(new=1, known=1, seq=2)
    assert pool_message(store, pool.name).last_seq == 2
    pool.post(duel("3", "7", "9", 1_600_000_001), duel("3", "7", "9", 1_600_000_001))
    assert pool_message(store, pool.name).matches == 3
    assert pool.is_sound()


def test_what_is_known_comes_back_as_it_counts_now(store: Store) -> None:
    """Void, or corrected; the answer to a post is what asking for the match gives."""
    pool = Trial(store)
    first, second = duel("first", "ada", "bob", 1), duel("second", "ada", "bob", 2)
    pool.post(first, second)
    pool.void("first")
    pool.correct(duel("second", "bob", "ada", 2))
    pool.settle()
    again = pool.post(first, second)
    assert [one.status for one in again] == ["void", "rated"]
    assert [one.corrected for one in again] == [None, 4]
    assert again == [match(store, pool.name, name) for name in ("first", "second")]
    assert isinstance(pool.refused(duel("second", "bob", "ada", 2)), ConflictError)


@pytest.mark.parametrize(
    "other",
    [
        duel("first", "bob", "ada", 1),
        duel("first", "ada", "bob", 2),
        duel("first", "ada", "bob", None),
        duel("first", "ada", "bob", 1, weight=2.0),
        duel("first", "ada", "bob", 1, rated=False),
        duel("first", "ada", "bob ", 1),
    ],
)
def test_other_content_under_the_same_id_is_a_conflict(
    sqlite_store: Store, other: MatchRequest
) -> None:
    """It is named, and nothing of the post is recorded."""
    pool = Trial(sqlite_store)
    pool.post(duel("first", "ada", "bob", 1))
    refused = pool.refused(duel("new", "ada", "bob", 3), other)
    assert isinstance(refused, ConflictError)
    assert "first" in str(refused)
    assert pool_message(sqlite_store, pool.name).matches == 1


def test_a_post_that_is_refused_leaves_the_others_alone(store: Store) -> None:
    """Posts of one transaction are taken in turn, each whole or not at all."""
    pool = Trial(store)
    good, bad = duel("a", "ada", "bob", 5), duel("b", "ada", "ada", 6)
    posts = [
        Post([good]),
        Post([duel("c", "ada", "cyd", 7), bad], first_line=11),
        Post([duel("a", "cyd", "bob", 5)]),
        Post([duel("c", "cyd", "ada", 8), good], detailed=False),
        Post([duel("d", "bob", "ada", 6)]),
        Post([]),
    ]
    answers = post_matches(store, pool.name, posts, NOW)
    assert [type(one) for one in answers] == [
        list,
        InvalidDataError,
        ConflictError,
        PostedMessage,
        InvalidDataError,
        list,
    ]
    assert answers[3] == PostedMessage(new=1, known=1, seq=2)
    (problem,) = answers[1].problems  # type: ignore[union-attr]
    assert (problem.line, problem.field, problem.got) == (12, "player", "ada")
    assert pool.ratings() == rated_alone(store, [good, duel("c", "cyd", "ada", 8)])
    assert pool.is_sound()


def test_every_problem_of_a_post_is_told(sqlite_store: Store) -> None:
    """By line, field, rule and what came."""
    pool = Trial(sqlite_store, system="glicko2")
    refused = pool.refused(
        duel("fine", "ada", "bob", 1),
        duel("", "ada", "bob\n", "soon"),
        MatchRequest(match="x" * 201, time=10**12, weight=math.nan, teams=[]),
        MatchRequest(
            match="y",
            time=1,
            weight=-1.0,
            performance_ceiling=math.inf,
            teams=[
                TeamRequest(["ada", "bob"], -1),
                TeamRequest([], 2**40),
                TeamRequest([ParticipationRequest("cyd", share=2.0, performance=math.nan)], 2),
            ],
        ),
    )
    assert isinstance(refused, InvalidDataError)
    told = {(one.line, one.field) for one in refused.problems}
    assert told == {
        *((2, field) for field in ("match", "player", "time")),
        *((3, field) for field in ("match", "weight", "teams", "time")),
        *((4, field) for field in ("weight", "performance_ceiling", "rank", "players", "teams")),
        *((4, field) for field in ("share", "performance")),
    }
    assert all(one.rule for one in refused.problems)
    assert pool_message(sqlite_store, pool.name).last_seq == 0


def of_ana(**more: Any) -> MatchRequest:
    """Return a duel in which more is told of the first player."""
    teams = [TeamRequest([ParticipationRequest("ana", **more)], 0), TeamRequest(["ben"], 1)]
    return MatchRequest("odd", teams, time=5)


def with_attribute(name: str, *values: object) -> list[MatchRequest]:
    """Return duels in which an attribute of the first player has each of these values."""
    return [of_ana(attributes={name: value}) for value in values]


def with_field(name: str, *values: object) -> list[MatchRequest]:
    """Return duels in which a field of the match has each of these values."""
    return [duel("odd", "ana", "ben", 5, **{name: value}) for value in values]


_TEXT, _YEARS = "x" * 501, (1990.5, True, "nan", 10**30, "9" * 5000, -0.5, "x" * 100_000, 94)
_LINKS = ("http://example.org", "https://", "https://a b", "https://user:secret@example.org")


@pytest.mark.parametrize(
    ("field", "wrong", "settings"),
    [
        ("title", with_field("title", "", "x" * 201, "line\nbreak"), {}),
        ("link", with_field("link", *_LINKS, f"https://example.org/{_TEXT}"), {}),
        (
            "attributes",
            with_field("attributes", dict.fromkeys(map(str, range(21)), 1), {"": 1})
            + with_field("attributes", {"note": _TEXT}, {"note": math.inf}),
            {},
        ),
        # What the system reads, or has no use for.
        ("beta", with_field("beta", 0.0, -1.0, math.inf, math.nan, 1e7), {"system": "elo-mmr"}),
        ("gamma", with_field("gamma", -1.0), {"system": "elo-mmr"}),
        ("beta", with_field("beta", 300.0), {"system": "glicko2"}),
        ("gamma", with_field("gamma", 0.0), {"system": "glicko2"}),
        ("context", with_field("context", " "), {"parameters": {"context_deviation": 60.0}}),
        ("side", [of_ana(side="red")], {"parameters": {"learn_home_advantage": True}}),
        (
            "attributes.score",
            with_attribute("score", 10**400, "many", "inf", 1e308, True),
            {"parameters": {"margin_rule": "world-football"}},
        ),
        ("attributes.birth_year", with_attribute("birth_year", *_YEARS), {"system": "uscf"}),
        ("attributes.games_before", with_attribute("games_before", "many"), {"system": "fide"}),
    ],
)
def test_what_cannot_be_rated_is_refused_with_its_field(
    sqlite_store: Store, field: str, wrong: list[MatchRequest], settings: dict[str, Any]
) -> None:
    """Late, and as a correction, too: a replay would void the match that had been accepted."""
    pool = Trial(sqlite_store, late="replay", **settings)
    pool.post(duel("fine", "ana", "ben", 10))
    for one in wrong:
        refused = pool.refused(one)
        with pytest.raises(InvalidDataError) as corrected:
            pool.correct(msgspec.structs.replace(one, match="fine"))
        for error in (refused, corrected.value):
            assert isinstance(error, InvalidDataError)
            assert error.problems[0].field.startswith(field)
            assert len(error.problems[0].got) < 300
    assert pool_message(sqlite_store, pool.name).last_seq == 1


def test_a_late_match_is_refused_where_the_pool_says_so(store: Store) -> None:
    """With the time of the last one; one that was there before is not late."""
    pool = Trial(store, late="reject")
    early = duel("early", "ada", "bob", 1)
    pool.post(early, duel("last", "ada", "bob", 5))
    refused = pool.refused(duel("late", "ada", "bob", 4), duel("later", "ada", "bob", 3))
    assert isinstance(refused, InvalidDataError)
    assert [(one.line, one.field, one.got) for one in refused.problems] == [
        (1, "time", "4"),
        (2, "time", "3"),
    ]
    assert "5" in refused.problems[0].rule
    pool.post(early)
    # In one post, too, order counts.
    assert isinstance(
        pool.refused(duel("x", "ada", "bob", 9), duel("y", "ada", "bob", 8)), InvalidDataError
    )
    assert pool_message(store, pool.name).matches == 2


def test_a_match_without_a_time_took_place_when_it_was_received(store: Store) -> None:
    """Or with the last one, where that is said to be later still."""
    pool = Trial(store)
    assert pool.post(duel("first", "ada", "bob", None))[0].time == NOW // 1_000_000
    pool.post(duel("ahead", "ada", "bob", 1_900_086_400))
    assert pool.post(duel("next", "ada", "bob", None))[0].time == 1_900_086_400
    assert pool.is_sound()


def test_a_match_that_cannot_be_rated_is_refused_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its post with it; the posts before and after it are rated as if it had not come."""
    run = Elo.run

    def failing(
        self: Elo, state: object, history: eq.History, start: int, stop: int, *more: object
    ) -> None:
        run(self, state, history, start, stop, *more)  # type: ignore[arg-type]
        names = set(history.match_ids[start:stop].tolist())
        if "hard1" in names:
            raise ConvergenceError("the rating of this match", 100, 0.5)
        if "hard2" in names:
            raise InvalidDataError([Problem("", None, "handicap", "must be whole", "-2")])

    monkeypatch.setattr(Elo, "run", failing)
    pool = Trial(store)
    good = [duel(f"good{number}", "ada", "bob", number) for number in range(4)]
    posts = [
        Post(good[:1]),
        Post([good[1], duel("hard1", "ada", "bob", 5)], first_line=7),
        Post([duel("hard2", "ada", "bob", 6)]),
        Post(good[2:]),
    ]
    answers = post_matches(store, pool.name, posts, NOW)
    assert [isinstance(one, InvalidDataError) for one in answers] == [False, True, True, False]
    (problem,) = answers[1].problems  # type: ignore[union-attr]
    assert (problem.line, problem.field, problem.got) == (8, "match", "hard1")
    assert "hard1 cannot be rated: " in str(answers[1])
    # What the system names is told with the line of the post.
    (problem,) = answers[2].problems  # type: ignore[union-attr]
    assert (problem.line, problem.field, problem.got) == (1, "handicap", "-2")
    assert pool_message(store, pool.name).last_seq == 3
    assert pool.ratings() == rated_alone(store, [good[0], *good[2:]])
    assert pool.is_sound()


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_no_weight_breaks_a_pool(sqlite_store: Store, name: str) -> None:
    """It is rated, or refused in a sentence; what is shown are numbers."""
    for number, weight in enumerate([5e-324, 1.7e308]):
        pool = Trial(sqlite_store, f"pool{number}", system=name, display_deviations=2.0)
        for day in range(3):
            answer = pool.answer(duel(f"m{day}", "ada", "bob", 86_400 * day, weight=weight))
            assert isinstance(answer, list | InvalidDataError)
        assert all(math.isfinite(rating) for rating in pool.ratings().values())
        for player in pool.ratings():
            shown = read_player(sqlite_store, pool.name, player, at=10_000_000)
            assert math.isfinite(shown.display)
        assert pool.is_sound()


def test_minus_zero_is_zero(store: Store) -> None:
    """SQLite keeps no sign of a zero, and both databases are to say the same."""
    pool = Trial(store, system="team-glicko2")
    teams = [TeamRequest([ParticipationRequest(name, performance=-0.0)], 0) for name in ("a", "b")]
    (seen,) = pool.post(MatchRequest(match="first", time=1, teams=teams))
    (again,) = pool.post(MatchRequest(match="first", time=1, teams=teams))
    assert [str(team.players[0].performance) for team in seen.teams] == ["0.0", "0.0"]
    assert again == seen
    assert pool.is_sound()


def scored(match: str, time: int, *scores: float, **more: object) -> MatchRequest:
    """Return a match of players a, b, c, ... by their scores."""
    teams = [
        TeamRequest([name], score=score) for name, score in zip("abcdef", scores, strict=False)
    ]
    return MatchRequest(match=match, teams=teams, time=time, **more)  # type: ignore[arg-type]


def ranked(match: str, time: int, *ranks: int) -> MatchRequest:
    """Return a match of players a, b, c, ... by their ranks."""
    teams = [TeamRequest([name], rank) for name, rank in zip("abcdef", ranks, strict=False)]
    return MatchRequest(match=match, teams=teams, time=time)


def test_scores_make_the_places(store: Store) -> None:
    """The highest is first, and equal ones tie; ratings are those of the same places by rank."""
    pool = Trial(store, late="replay")
    posted = [scored("1", 10, 7, 9.5, 7, -2), scored("3", 30, 0, -0.0), ranked("4", 40, 2, 1, 2)]
    seen = pool.post(*posted)
    assert [[team.rank for team in one.teams] for one in seen] == [[2, 1, 2, 4], [1, 1], [2, 1, 2]]
    pool.post(scored("2", 20, 1, 2, 3))
    pool.check()
    same = [ranked("1", 10, 2, 1, 2, 3), ranked("2", 20, 3, 2, 1), ranked("3", 30, 1, 1), posted[2]]
    assert pool.ratings() == rated_alone(store, same)


def test_the_same_scores_again_change_nothing(store: Store) -> None:
    """Scores are kept as they were posted: other scores in the same order are other content."""
    pool = Trial(store)
    (seen,) = pool.post(scored("1", 10, 3, 1, 0))
    assert pool.post(scored("1", 10, 3.0, 1.0, -0.0)) == [seen]
    for other in (scored("1", 10, 4, 1, 0), ranked("1", 10, 1, 2, 3)):
        assert isinstance(pool.refused(other), ConflictError)
    pool.correct(scored("1", 10, 1, 3, 0))
    pool.settle()
    assert [team.rank for team in match(store, pool.name, "1").teams] == [2, 1, 3]
    pool.disqualify("b")
    pool.check()


def test_the_answer_to_a_post_marks_disqualified_players(store: Store) -> None:
    """As the answer to the same post again does, and GET."""
    pool = Trial(store)
    pool.post(duel("1", "a", "b", 0))
    pool.disqualify("b")
    (answer,) = pool.post(duel("2", "a", "b", 10))
    assert [one.disqualified for team in answer.teams for one in team.players] == [False, True]
    assert pool.post(duel("2", "a", "b", 10)) == [answer]


_BOTH, _ALL = "cannot be combined with rank", "must be given for all teams of a match"


@pytest.mark.parametrize(
    ("ranks", "scores", "told"),
    [
        ([1, 2], [2.0, 1.0], [(_BOTH, "score 2 and rank 1"), (_BOTH, "score 1 and rank 2")]),
        ([1, None], [None, 1.0], [(f"{_ALL} or for none", "a team with a rank")]),
        ([None, None], [2.0, None], [(_ALL, "1 of 2 teams with a score")]),
        ([1, None], [None, None], [("or score for all of them", "a team without a rank")]),
        (
            [None, None],
            [math.inf, 2.0**54],
            [("from -2^53 to 2^53", "inf"), ("from -2^53", str(2.0**54))],
        ),
    ],
)
def test_all_teams_have_a_rank_or_all_a_score(
    sqlite_store: Store, ranks: list[Any], scores: list[Any], told: list[tuple[str, str]]
) -> None:
    teams = [
        TeamRequest([name], rank, score=score)
        for name, rank, score in zip("ab", ranks, scores, strict=True)
    ]
    refused = Trial(sqlite_store).refused(MatchRequest("m", teams, time=1))
    assert isinstance(refused, InvalidDataError)
    for problem, (rule, got) in zip(refused.problems, told, strict=True):
        assert (problem.field, problem.got) == ("rank" if "or score" in rule else "score", got)
        assert rule in problem.rule


def test_what_the_system_does_not_use_of_a_match_is_told(store: Store) -> None:
    """With every answer about the match, in the order of the columns."""
    pool = Trial(store, system="glicko")
    teams = [
        TeamRequest(
            [ParticipationRequest("a", share=0.5, side="home", statistics={"kills": 3})], 0
        ),
        TeamRequest([ParticipationRequest("b", performance=2.0)], 1),
    ]
    odd = MatchRequest("odd", teams, time=1, weight=2.0, performance_ceiling=1500.0)
    (seen,) = pool.post(odd)
    unused = ["performance_ceiling", "performance", "share", "side", "statistics"]
    assert seen.unused == unused
    assert match(store, pool.name, "odd").unused == unused
    plain = duel("plain", "a", "b", 2)
    assert pool.answer(odd, plain, detailed=False) == PostedMessage(1, 1, 2, unused)
    (seen,) = pool.post(plain)
    assert seen.unused == []
    assert b"unused" not in msgspec.json.encode(seen)


_TEAMS = {"statistics": {"kills": 1.0}, "parameters": {"roles": True}}


@pytest.mark.parametrize(
    ("system", "settings", "unused"),
    [
        ("elo", {}, "performance_ceiling performance share role side at_home context statistics"),
        (
            "elo",
            {"parameters": {"home_advantage": 50}, "statistics": {"kills": 1.0}},
            "performance_ceiling performance share role context statistics",
        ),
        (
            "elo-mmx",
            {"parameters": {"rho": 0.5}},
            "performance share role side at_home context statistics parameters.rho",
        ),
        ("team-glicko2", _TEAMS, "performance_ceiling side at_home context"),
    ],
)
def test_a_pool_says_what_it_does_not_use(
    sqlite_store: Store, system: str, settings: dict[str, object], unused: str
) -> None:
    pool = Trial(sqlite_store, system=system, **settings)
    assert pool_message(sqlite_store, pool.name).unused == unused.split()


def test_posts_that_join_are_received_when_the_pool_is_locked(store: Store) -> None:
    """A match at its present may join a commit that has waited for the lock since before that."""
    pool = Trial(store)
    second = 1_000_000
    present = NOW // second + 5

    def arrived() -> tuple[list[Post], int]:
        return [Post([duel("2", "ada", "bob", present)])], NOW + 5 * second

    first = Post([duel("1", "ada", "bob", None)])
    answers = post_matches(store, pool.name, [first], NOW, future_seconds=0.0, arrived=arrived)
    assert [type(answer) for answer in answers] == [list, list]
    assert match(store, pool.name, "1").time == match(store, pool.name, "2").time


def test_chances_are_computed_after_the_commit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So other writers of the pool do not wait for them."""
    pool = Trial(store)
    written = []

    def chances(rules: PoolRules, *given: Any) -> list[float | None]:
        with store.write(patience=1.0) as connection:
            written.append(get_pool(connection, pool.name, lock=True).matches)
        return chances_of(rules, *given)

    monkeypatch.setattr(posting, "chances_of", chances)
    (answer,) = pool.post(duel("m", "ana", "ben", 0))
    assert written == [1]
    assert [team.chance for team in answer.teams] == [0.5, 0.5]


def test_a_pool_and_its_matches_may_come_from_several_at_once(store: Store) -> None:
    """All get the same answer, and each match is recorded and rated once."""
    matches = [duel(f"m{number}", "ada", "bob", number) for number in range(5)]
    ready = threading.Barrier(4)

    def make_and_post(_: int) -> tuple[PoolMessage, Answer]:
        made = create_pool(store, "new", PoolRequest(system="elo"), NOW)
        ready.wait()
        return made, Trial.existing(store, "new").post(*matches)

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(make_and_post, range(4)))
    assert all(one == answers[0] for one in answers)
    assert pool_message(store, "new").matches == 5
    assert Trial.existing(store, "new").ratings() == rated_alone(store, matches)


#: Of every match, the rank and the number of players of every team.
_MATCHES = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=6), max_size=5
)


@given(_MATCHES)
def test_a_place_is_the_number_of_teams_that_came_before(
    drawn: list[list[tuple[int, int]]],
) -> None:
    """Against counting them, with ties, teams of several and matches of one team."""
    matches, expected = [], []
    for number, teams in enumerate(drawn, 1):
        named = [
            TeamRequest([f"{number}-{t}-{one}" for one in range(size)], rank)
            for t, (rank, size) in enumerate(teams)
        ]
        matches.append(LoggedMatch(number, number, MatchRequest(str(number), named)))
        for rank, size in teams:
            expected += [sum(other < rank for other, _ in teams)] * size
    players = [player for match in matches for player in players_of(match.request)]
    rows = {player: row for row, player in enumerate(players)}
    rules = PoolRules(PoolRequest(system="trueskill"))
    history = history_of(matches, rows, object_array(players), rules)
    assert np.array_equal(places_of(history, history.match_rows()), expected)


PLAYERS = 6
MOMENTS = st.integers(-(2**62), 2**62)

#: Pieces of changes, each a player and a time; numbers are counted.
PIECES = st.lists(
    st.lists(st.tuples(st.integers(0, PLAYERS - 1), MOMENTS), max_size=12), max_size=5
)


def arrays(changes: list[tuple[int, int]], first: int) -> tuple[np.ndarray, ...]:
    """Return players, times and numbers of changes."""
    players = np.array([player for player, _ in changes], np.int64)
    times = np.array([time for _, time in changes], np.int64)
    return players, times, np.arange(first, first + len(changes), dtype=np.int64)


@given(PIECES)
def test_each_change_says_where_the_one_before_it_stands(
    pieces: list[list[tuple[int, int]]],
) -> None:
    """Within a piece and from one to the next; 0 where there is none."""
    last_changes, last, seq = LastChanges.empty(PLAYERS), {}, 0
    for piece in pieces:
        players, times, seqs = arrays(piece, seq + 1)
        found = last_changes.follow(players, times, seqs)
        expected = []
        for player, time in piece:
            seq += 1
            expected.append(last.get(player, (0, 0)))
            last[player] = (time, seq)
        assert list(zip(*(one.tolist() for one in found), strict=True)) == expected
        kept = list(zip(last_changes.time.tolist(), last_changes.seq.tolist(), strict=True))
        assert kept == [last.get(player, (0, 0)) for player in range(PLAYERS)]


@pytest.mark.parametrize(
    "content",
    [
        b"no trail",
        LastChanges.empty(3).to_bytes()[:-2],
        LastChanges.empty(2).to_bytes(),
        LastChanges.empty(4).to_bytes(),
        zlib.compress(b"\x00" * 47),
        zlib.compress(b""),
    ],
)
def test_damaged_bytes_are_refused(content: bytes) -> None:
    """Cut off, or of another number of players. No bytes are players without a change."""
    with pytest.raises(InvalidDataError, match="checkpoint"):
        LastChanges.from_bytes(content, 3)
    empty = LastChanges.from_bytes(b"", 3)
    assert empty.time.tolist() == empty.seq.tolist() == [0, 0, 0]
