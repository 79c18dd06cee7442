"""Voids, corrections and disqualifications: what they change, from where on, and for whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.messages.matches import Effect, MatchRequest, ReasonRequest, TeamRequest
from equipoise.messages.pools import SeasonRequest
from equipoise.pools import amending
from equipoise.pools.erasing import erase_player
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.posting.rating import without
from equipoise.pools.reading.matches import match
from equipoise.pools.reading.players import leaderboard, player
from equipoise.pools.reading.questions import explain_player
from equipoise.pools.replay.replaying import rerate
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.store import log
from equipoise.store.connection import Store, open_store
from equipoise.store.log import LoggedAs
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, Trial, duel, import_file, rated_alone
from trials.saved_database import restore


@pytest.mark.parametrize(
    ("since", "status", "counted"),
    [(50, "pending", False), (100, "pending", False), (101, "done", True)],
)
def test_a_disqualification_holds_from_its_time_on(
    store: Store, since: int, status: str, counted: bool
) -> None:
    """Where no match was posted with so late a time, too: a correction may have moved one.

    One behind all matches is done at once, and holds for what is posted from then on.
    """
    pool = Trial(store)
    pool.post(duel("first", "ada", "bob", 10), duel("second", "ada", "cyd", 20))
    pool.correct(duel("first", "ada", "bob", 100))
    pool.settle()
    before = pool.ratings()
    assert pool.disqualify("bob", since=since).status == status
    pool.check()
    assert (pool.ratings() == before) == counted
    assert (pool.ratings()["bob"] == 1500.0) == (not counted)
    (seen,) = pool.post(duel("third", "ada", "bob", 101))
    assert [one.players[0].counted for one in seen.teams] == [False, False]


def test_imported_records_of_earlier_versions_are_kept_as_they_are(store: Store) -> None:
    """Those had no records of descriptions alone, and no effects."""
    pool = Trial(store, system="trueskill")
    teams = [TeamRequest(["ada", "bob"], 1), TeamRequest(["cyd", "dan"], 2)]
    pool.post(MatchRequest("first", teams, time=10))
    titled = MatchRequest("first", teams, time=10, title="Final")
    assert pool.correct(titled, logged=LoggedAs(NOW)).kind == "correct"
    assert pool.disqualify("ada", 0, logged=LoggedAs(NOW)).effect == "without"
    pool.check()


@pytest.mark.parametrize(
    ("name", "amends"),
    [
        ("read_matches", lambda pool: pool.correct(duel("first", "bob", "ada", 10))),
        ("_matches_of", lambda pool: pool.disqualify("ada", 0)),
    ],
)
def test_the_pool_is_not_locked_while_a_body_is_checked(
    sqlite_store: Store, name: str, amends: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, calls = Trial(sqlite_store), []
    pool.post(duel("first", "ada", "bob", 10))

    def note_calls(function: str) -> None:
        before = getattr(amending, function)

        def called(*args: Any, **more: Any) -> Any:
            calls.append(function)
            return before(*args, **more)

        monkeypatch.setattr(amending, function, called)

    note_calls(name)
    note_calls("record_change")
    amends(pool)
    assert calls == [name, "record_change"]


def test_a_disqualification_from_a_void_match_is_done_at_once(store: Store) -> None:
    """And holds when the match is restored."""
    pool = Trial(store)
    pool.post(duel("first", "ada", "bob", 10), duel("second", "cyd", "bob", 20))
    pool.void("first")
    pool.settle()
    before = pool.ratings()
    assert pool.disqualify("ada", None, match="first").status == "done"
    assert pool.ratings() == before
    pool.restore("first")
    pool.check()
    told = match(store, pool.name, "first")
    assert [one.players[0].counted for one in told.teams] == [False, False]


def test_a_correction_to_before_the_epoch_leaves_the_last_time(store: Store) -> None:
    """A pool whose last match took place at second 0 does not forget that."""
    pool = Trial(store, late="replay")
    pool.post(duel("first", "ada", "bob", 0), duel("second", "ada", "cyd", 0))
    pool.correct(duel("first", "ada", "bob", -5))
    assert pool_message(store, "trial").last_time == 0
    (seen,) = pool.post(duel("third", "bob", "cyd", -3))
    assert seen.status == "pending"
    pool.check()
    order = [("first", "ada", "bob"), ("third", "bob", "cyd"), ("second", "ada", "cyd")]
    same = [duel(*one, time) for time, one in enumerate(order)]
    assert pool.ratings() == rated_alone(store, same)


def test_a_player_is_disqualified_from_one_match_alone(store: Store) -> None:
    """That match counts without the player, all others with, whatever holds from a time on."""
    pool = Trial(store, late="replay")

    def three(match: str, time: int) -> MatchRequest:
        teams = [TeamRequest([name], rank) for rank, name in enumerate(["ada", "bob", "cyd"])]
        return MatchRequest(match=match, teams=teams, time=time)

    first, second = three("first", 10), three("second", 20)
    pool.post(first, second)
    before = pool.ratings()
    seen = pool.disqualify("ada", None, match="first")
    assert (seen.match, seen.player, seen.status) == ("first", "ada", "pending")
    assert match(store, pool.name, "first").status == "pending"
    pool.check()
    without = [duel("first", "bob", "cyd", 10), second]
    alone = rated_alone(store, without)
    assert pool.ratings() == alone
    told = match(store, pool.name, "first")
    assert [one.players[0].counted for one in told.teams] == [False, True, True]
    row = next(one for one in leaderboard(store, pool.name).players if one.player == "ada")
    assert (row.disqualified, row.place) == (False, 1)
    assert player(store, pool.name, "ada").disqualified is None
    # A ban and its end leave it as it is, and so does an import.
    pool.disqualify("ada", 15)
    pool.settle()
    pool.reinstate("ada", 15)
    pool.settle()
    assert pool.ratings() == alone
    pool.reinstate("ada", None, match="first")
    pool.check()
    assert pool.ratings() == before


def test_a_disqualification_from_one_match_needs_that_match(store: Store) -> None:
    pool = Trial(store)
    pool.post(duel("first", "ada", "bob", 10), duel("second", "cyd", "bob", 20))
    with pytest.raises(NotFoundError, match="no match 'third'"):
        pool.disqualify("ada", None, match="third")
    with pytest.raises(NotFoundError, match="'ada' did not take part in match 'second'"):
        pool.disqualify("ada", None, match="second")
    with pytest.raises(InvalidParameterError, match="since cannot be combined with match"):
        pool.disqualify("ada", 5, match="first")
    with pytest.raises(ConflictError, match="not disqualified from match 'first' alone"):
        pool.reinstate("ada", None, match="first")
    assert pool.disqualify("ada", None, match="first", preview=True).kind == "preview"
    pool.disqualify("ada", None, match="first")
    with pytest.raises(ConflictError, match="already disqualified from match 'first' alone"):
        pool.disqualify("ada", None, match="first")


def test_amendments_are_listed_through_a_record(sqlite_store: Store) -> None:
    """That one included, and none that came after it: a webhook is told what a replay was for."""
    pool = Trial(sqlite_store)
    pool.post(duel("a", "ana", "ben", 1), duel("b", "ben", "ana", 2))
    pool.void("a")
    pool.void("b")
    with sqlite_store.read() as connection:
        number = get_pool(connection, pool.name).id
        listed = [
            [one.seq for one in log.amendments(connection, number, through=through)]
            for through in (2, 3, 4, None)
        ]
    assert listed == [[], [3], [3, 4], [3, 4]]


SYSTEM = "bradley-terry"
#: Everybody but the cheat.
NAMES = ["ana", "ben", "cyd", "dee", "eve"]


def team_match(number: int) -> MatchRequest:
    """Return a match of teams: of three with the cheat, or of two."""
    names = NAMES[number % 5 :] + NAMES[: number % 5]
    cheats = ["cheat"] if number % 2 else []
    teams = [TeamRequest(names[:3] if cheats else names[:2], 1), TeamRequest([*names[3:], *cheats])]
    teams[1] = TeamRequest(teams[1].players, 0 if number % 3 else 1)
    return MatchRequest(match=f"m{number}", teams=teams, time=10 * number)


def left_of(request: MatchRequest, players: set[str]) -> list[MatchRequest]:
    """Return a match without some players, if anybody is left."""
    rest = without(request, players)
    return [] if rest is None else [msgspec.structs.replace(rest, time=request.time)]


def rated_as(effect: Effect, request: MatchRequest) -> list[MatchRequest]:
    """Return what is left of a match of the cheat under an effect, from its definition."""
    plays = any("cheat" in team.players for team in request.teams)
    if effect == "keep" or not plays:
        return [request]
    return [] if effect == "void" else left_of(request, {"cheat"})


@pytest.mark.parametrize("effect", ["without", "keep", "void"])
def test_an_effect_decides_how_matches_count(store: Store, effect: Effect) -> None:
    """From a time on, also for matches posted later; the page and the entry always exist."""
    matches = [team_match(number) for number in range(12)]
    pool = Trial(store, system=SYSTEM, late="replay")
    pool.post(*matches[:8])
    before = pool.ratings()
    foreseen = pool.disqualify("cheat", 0, effect=effect, preview=True)
    done = pool.disqualify("cheat", 0, effect=effect)
    assert (foreseen.effect, done.effect) == (effect, effect)
    pool.check()
    after = pool.ratings()
    moved = {name: abs(after[name] - before[name]) for name in NAMES}
    assert foreseen.others.changed == sum(size > 0 for size in moved.values())
    if effect == "keep":
        assert (after, foreseen.others.mean) == (before, None)
    else:
        assert foreseen.others.mean == pytest.approx(sum(moved.values()) / len(moved))
        assert foreseen.others.largest == max(moved.values())
    pool.post(*matches[8:])
    assert pool.is_sound()
    alone = rated_alone(
        store, [one for played in matches for one in rated_as(effect, played)], system=SYSTEM
    )
    shown = pool.ratings()
    assert {name: shown[name] for name in NAMES} == {name: alone[name] for name in NAMES}
    assert shown["cheat"] == alone.get("cheat", 1500.0)
    page, (*_, row) = player(store, pool.name, "cheat"), leaderboard(store, pool.name).players
    assert (page.place, row.player, row.place, row.disqualified) == (None, "cheat", None, True)
    assert page.matches == row.matches == (6 if effect == "keep" else 0)
    seen = match(store, pool.name, "m11")
    counted = {one.player: one.counted for team in seen.teams for one in team.players}
    marked = {one.player for team in seen.teams for one in team.players if one.disqualified}
    assert marked == {"cheat"}
    assert counted.pop("cheat") == (effect == "keep")
    assert set(counted.values()) == {effect != "void"}
    if effect == "void":
        with pytest.raises(
            InvalidDataError, match="cheat was disqualified, and the match does not"
        ):
            explain_player(store, pool.name, "ana", "m11")
    pool.reinstate("cheat", 0)
    pool.check()
    assert pool.ratings() == rated_alone(store, matches, "again", system=SYSTEM)


def test_the_default_effect_depends_on_teams(store: Store) -> None:
    """Of the match if one is given, else of all matches of the player, counted or not."""
    pool = Trial(store, system=SYSTEM, late="replay")
    pool.post(duel("a", "ana", "ben", 1), duel("c", "dee", "ana", 2), team_match(3))
    assert pool.disqualify("ana", match="a").effect == "without"
    assert pool.disqualify("ana", 1, preview=True).effect == "keep"
    assert pool.disqualify("ana", match="m3").effect == "keep"
    assert pool.disqualify("dee", 1, effect="void").effect == "void"
    pool.settle()
    pool.reinstate("dee")
    # None of the matches of dee counts now; one was of teams.
    assert pool.disqualify("dee").effect == "keep"
    single = Trial(store, "single", system=SYSTEM)
    single.post(duel("a", "ana", "ben", 1))
    assert single.disqualify("ana").effect == "without"
    with store.read() as connection:
        number = get_pool(connection, "single").id
        (record,) = log.amendments(connection, number)
    assert json.loads(record.content) == {"reason": "", "effect": "without"}


def test_all_matches_are_voided_also_in_a_pool_without_times(store: Store) -> None:
    pool = Trial(store, times="none", late="replay")
    pool.post(duel("a", "ana", "bo", None), duel("b", "bo", "cy", None))
    alone = Trial(store, "alone", times="none")
    alone.post(duel("b", "bo", "cy", None))
    with pytest.raises(InvalidParameterError, match="0 for all matches"):
        pool.disqualify("ana", since=1)
    assert pool.disqualify("ana", since=0, effect="void").since is None
    pool.settle()
    assert pool.ratings() | alone.ratings() == pool.ratings()
    assert pool.is_sound()
    pool.reinstate("ana", since=0)
    pool.settle()
    assert pool.ratings()["ana"] > pool.ratings()["cy"]


def test_the_effect_of_one_match_goes_before_that_of_a_time(store: Store) -> None:
    """`void` from a time on, and one match as it was played."""
    matches = [team_match(number) for number in range(6)]
    pool = Trial(store, system=SYSTEM)
    pool.post(*matches)
    pool.disqualify("cheat", 0, effect="void")
    pool.disqualify("cheat", match="m3", effect="keep")
    pool.check()
    left = [one for one in matches if one.match in ("m0", "m2", "m3", "m4")]
    assert pool.ratings() == rated_alone(store, left, system=SYSTEM)


def test_effects_are_exported_and_carried_into_a_season(store: Store, tmp_path: Path) -> None:
    """With the same head; the erasure of a player called "void" leaves the effect."""
    pool = Trial(store, system=SYSTEM)
    pool.post(*[team_match(number) for number in range(6)], duel("v", "void", "ana", 100))
    pool.disqualify("cheat", 0, effect="void")
    pool.disqualify("ben", match="m3", effect="keep")
    pool.disqualify("ana", match="v")
    pool.reinstate("ana", match="v")
    pool.settle()
    erased = erase_player(store, pool.name, "void", ReasonRequest(), key=None, now=NOW)
    path = tmp_path / "log.ndjson"
    export_file(store, pool.name, "log", str(path))
    assert json.loads(path.read_text().splitlines()[0])["equipoise_log"] == 5
    done = import_file(store, "copy", path)
    assert done.same_head
    assert import_file(store, "copy", path).known_amendments == done.amendments == 5
    assert verify_pool(store, "copy").identical
    copy = leaderboard(store, "copy").players
    assert {row.player: row.rating for row in copy} == pool.ratings()
    assert str(erased.player) in pool.ratings()
    end_season(store, pool.name, SeasonRequest(season="one"), key=None, now=NOW)
    (kept,) = amending.amendments(store, pool.name).amendments
    assert (kept.player, kept.effect) == ("cheat", "void")


def test_an_unknown_effect_in_a_log_is_refused(store: Store, tmp_path: Path) -> None:
    pool = Trial(store)
    pool.post(duel("a", "ana", "ben", 1))
    pool.disqualify("ana")
    path = tmp_path / "log.ndjson"
    export_file(store, pool.name, "log", str(path))
    path.write_text(path.read_text().replace('"effect":"without"', '"effect":"maybe"'))
    with pytest.raises(InvalidDataError, match="must be a valid record"):
        import_file(store, "copy", path)


def _old_ratings(store: Store) -> dict[str, float]:
    """Return the ratings of the saved pool by the meaning of its time.

    Teams play short without a disqualified player, and who is in no rated match is nowhere.
    """
    path = Path(__file__).parents[1] / "trials" / "log_3.ndjson"
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    matches = []
    for line in lines:
        if line["kind"] != "match":
            continue
        seq, time = line["seq"], line["time"]
        out = {"gus"} if time >= 15000 else set()
        out |= {"ana"} if time >= 2000 and seq < 17 else set()
        out |= {"cyd"} if seq > 14 else set()
        out |= {"ben"} if line["match"] == "m1" else set()
        teams = [TeamRequest(**team) for team in line["content"]["teams"]]
        matches += left_of(MatchRequest(line["match"], teams, time=time), out)
    return rated_alone(store, matches, system=SYSTEM)


def test_logs_without_effects_keep_their_meaning(store: Store, tmp_path: Path) -> None:
    """A log and a database of the version before effects: the same ratings, also rated again."""
    path = Path(__file__).parents[1] / "trials" / "log_3.ndjson"
    assert import_file(store, "teams", path).same_head
    expected = _old_ratings(store)
    url = f"sqlite:///{tmp_path / 'old.db'}"
    restore(url, "0013", tmp_path)
    saved = open_store(url)
    for one in (store, saved):
        assert verify_pool(one, "teams").identical
        pool = Trial.existing(one, "teams")
        assert pool.ratings() == expected
        rerate(one, "teams")
        pool.check()
        assert pool.ratings() == expected
        effects = {row.effect for row in amending.amendments(one, "teams").amendments}
        assert effects == {"without", None}
    export_file(saved, "teams", "log", str(tmp_path / "log.ndjson"))
    assert (tmp_path / "log.ndjson").read_bytes() == path.read_bytes()
    saved.close()
