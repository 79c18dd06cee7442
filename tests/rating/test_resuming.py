"""Going on from a saved state: changed and missing matches are named, others are not refused."""

from __future__ import annotations

from dataclasses import replace as changed
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from drawing import examples
from equipoise.data.history import OF_MATCHES, History
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError
from equipoise.rating.match_digest import digests_of
from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import replay
from equipoise.rating.state import DRAWS
from equipoise.rating.system import RatingSystem

#: Files that the code before version 2 of the state has written, with the histories they are of.
OLD = Path(__file__).parent / "states_version_1"
#: How many matches of each history the state has rated.
RATED = {"contests": 8, "duels": 9, "teams": 6}

#: Every column that some system uses.
EVERY = frozenset({*OF_MATCHES, "performance", "share", "role", "at_home"})


def table(name: str) -> pl.DataFrame:
    return pl.read_csv(OLD / f"{name}.csv")


def without(frame: pl.DataFrame, *matches: object) -> History:
    return eq.read_history(frame.filter(~pl.col("match").is_in(matches)))


def with_value(frame: pl.DataFrame, row: int, column: str, value: object) -> History:
    """Return the history with one cell replaced."""
    values = frame[column].to_list()
    values[row] = value
    return eq.read_history(frame.with_columns(pl.Series(column, values)))


def saved(name: str = "contests", system: RatingSystem | None = None) -> PoolState:
    """Return a state of the first part of a history."""
    history = eq.read_history(table(name)).slice(0, RATED[name])
    return replay(system or eq.EloMMR(rho=0.5), history).state


# What a digest is of.


@examples(30)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_and_the_numbers_of_players_do_not_matter(seed: int) -> None:
    """Within a match; players and teams are who they are, not where they stand."""
    rng = np.random.default_rng(seed)
    frame = table("teams").with_columns(share=pl.Series(rng.random(40)))
    order = np.concatenate([4 * match + rng.permutation(4) for match in range(10)])
    before, after = eq.read_history(frame), eq.read_history(frame[order])
    assert digests_of(before, EVERY).tolist() == digests_of(after, EVERY).tolist()
    names = rng.permutation(before.players)
    renumbered = before.with_players(before.player_ids[np.argsort(names)], names[before.player])
    assert digests_of(renumbered, EVERY).tolist() == digests_of(before, EVERY).tolist()


@pytest.mark.parametrize("name", ["contests", "duels", "teams"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_every_format_gives_the_same_digests(tmp_path: Path, name: str, suffix: str) -> None:
    history = eq.read_history(OLD / f"{name}.csv")
    eq.write_history(history, tmp_path / f"again.{suffix}")
    again = eq.read_history(tmp_path / f"again.{suffix}")
    assert digests_of(again, EVERY).tolist() == digests_of(history, EVERY).tolist()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("time", "2024-02-03T00:00:01"),
        ("player", "zoe"),
        ("weight", 2.0),
        ("performance_ceiling", 2000.0),
        ("beta", 120.0),
        ("gamma", 0.0),
        ("performance", 9.99),
        ("performance", None),
        ("share", 0.5),
        ("role", "healer"),
        ("at_home", True),
        ("team", "blue"),
    ],
)
def test_every_value_that_is_read_changes_its_match_alone(column: str, value: object) -> None:
    frame = table("teams").with_columns(
        time=pl.col("time") + "T00:00:00",
        weight=pl.lit(1.0),
        performance_ceiling=pl.lit(1900.0),
        beta=pl.lit(200.0),
        gamma=pl.lit(30.0),
        share=pl.lit(1.0),
        at_home=pl.lit(False),
    )
    rows = range(8, 12) if column in ("time", *OF_MATCHES) else (8,)
    values = frame[column].to_list()
    for row in rows:
        values[row] = value
    altered = frame.with_columns(pl.Series(column, values))
    if column == "team":
        # Two change sides, and every side keeps its place.
        values[10] = "red"
        place = pl.when(pl.col("team") == "red").then(1).otherwise(0)
        altered = frame.with_columns(pl.Series(column, values)).with_columns(
            rank=pl.when(pl.col("match") == "t02").then(place).otherwise("rank")
        )
    after = eq.read_history(altered)
    differ = digests_of(eq.read_history(frame), EVERY) != digests_of(after, EVERY)
    assert differ.tolist() == [match == 2 for match in range(10)]


def test_a_result_turned_round_is_another_match() -> None:
    frame = table("duels")
    ranks = frame["rank"].to_list()
    ranks[0:2] = ranks[1::-1]
    after = eq.read_history(frame.with_columns(pl.Series("rank", ranks)))
    differ = digests_of(eq.read_history(frame), EVERY) != digests_of(after, EVERY)
    assert np.flatnonzero(differ).tolist() == [0]


def test_what_is_absent_is_what_it_counts_as() -> None:
    """A weight or share of 1, no performance, no ceiling; -0 is 0."""
    history = eq.read_history(table("duels"))
    rows, matches = history.participations, history.matches
    filled = changed(
        history,
        weight=np.ones(matches),
        share=np.ones(rows),
        performance=np.full(rows, np.nan),
        performance_ceiling=np.full(matches, -np.nan),
        beta=np.full(matches, np.nan),
        gamma=np.full(matches, -np.nan),
    )
    assert digests_of(filled, EVERY).tolist() == digests_of(history, EVERY).tolist()
    zero, minus = (changed(history, performance=np.full(rows, x)) for x in (0.0, -0.0))
    assert digests_of(zero, EVERY).tolist() == digests_of(minus, EVERY).tolist()


def test_texts_that_look_alike_have_digests_of_their_own() -> None:
    """Also where one text goes on into the next, and outside ASCII."""
    columns = {"match": [1, 1, 2, 2, 3, 3, 4, 4], "rank": [0, 1] * 4}
    names = ["ab", "c", "a", "bc", "\u00e4b", "c", "a\u0308b", "c"]
    history = eq.read_history({**columns, "player": names})
    assert len(set(digests_of(history, EVERY).tolist())) == 4


def test_a_digest_stays_what_it_is() -> None:
    """Saved states hold digests: another algorithm needs another version."""
    history = eq.read_history(table("teams")).slice(0, 2)
    numbers = eq.read_history(table("duels")).slice(0, 2)
    assert digests_of(history, EVERY).tolist() == [0x74778F7BEB2FCEC5, 0x3C474CF748E0E8C]
    assert digests_of(numbers, EVERY).tolist() == [0x987F6BB96BECAF5B, 0xED470E74335EB4DD]


# What is refused, and what is not.


def test_a_changed_match_is_named() -> None:
    state = saved()
    frame = table("contests")
    with pytest.raises(ConflictError, match=r"^match c03 has changed .* restart=True"):
        replay(state.system, with_value(frame, 15, "rank", 0), state=state)
    with pytest.raises(ConflictError, match=r"match c03 .* without player new: .* restart=True"):
        replay(state.system, with_value(frame, 15, "player", "new"), state=state)


def test_more_changed_matches_are_counted() -> None:
    """The first five are named. A column that the system does not use may change."""
    state, frame = saved(), table("contests")
    heavier = eq.read_history(frame.with_columns(weight=pl.col("weight") + 1))
    with pytest.raises(ConflictError, match=r"matches c00, c01, c02, c03, c04 and 3 more have"):
        replay(state.system, heavier, state=state)
    other = eq.read_history(frame.with_columns(share=pl.lit(0.5), performance=pl.lit(3.0)))
    assert replay(state.system, other, state=state).known_matches == 8


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        (["c03"], "match c03 is missing"),
        (["c07"], "match c07 is missing"),
        (["c01", "c05"], "matches c01, c05 are missing"),
        (["c06", "c07"], "matches c06, c07 are missing"),
    ],
)
def test_missing_matches_are_named(left_out: list[str], message: str) -> None:
    """Between known ones, and between the last known one and new ones."""
    state = saved()
    with pytest.raises(ConflictError, match=message):
        replay(state.system, without(table("contests"), *left_out), state=state)


def test_a_history_may_begin_later_and_end_earlier() -> None:
    """It is an excerpt then, such as the last month; what is in it is compared all the same."""
    state, whole = saved(), eq.read_history(table("contests"))
    straight = replay(state.system, whole)
    for first in (0, 3, 7, 8):
        done = replay(state.system, whole.slice(first, 12), state=state)
        assert (done.known_matches, done.rated_matches, done.later_matches) == (8 - first, 4, 0)
        np.testing.assert_array_equal(
            np.sort(done.ratings.rating), np.sort(straight.ratings.rating)
        )
    early = replay(state.system, whole.slice(1, 5), state=state)
    assert (early.known_matches, early.later_matches) == (4, 3)


def test_without_times_the_order_counts() -> None:
    """With equal times it does not: the digests tell nothing of it, as nothing has changed."""
    state = saved("duels", eq.Glicko2())
    frame = table("duels")
    swapped = frame.with_columns(
        match=pl.col("match").replace({2: 3, 3: 2}), rank=pl.Series(frame["rank"].to_list())
    )
    moved = frame[[0, 1, 4, 5, 2, 3, *range(6, 28)]]
    for history in (swapped, moved):
        with pytest.raises(ConflictError, match="changed"):
            replay(state.system, eq.read_history(history), state=state)
    day = pl.lit("2024-01-01")
    same_day = replay(state.system, eq.read_history(frame.with_columns(time=day)).slice(0, 9))
    again = eq.read_history(moved.with_columns(time=day))
    assert replay(state.system, again, state=same_day.state).known_matches == 9


def test_numbers_and_text_for_matches_are_the_same_ids() -> None:
    state = saved("duels", eq.Glicko2())
    whole = eq.read_history(table("duels"))
    as_text = changed(whole, match_ids=whole.match_ids.astype(str).astype(object))
    assert replay(state.system, as_text, state=state).known_matches == 9


# A restart.


def test_a_restart_gives_what_rating_without_the_state_gives() -> None:
    state, frame = saved(), table("contests")
    history = with_value(frame, 15, "rank", 0)
    done = replay(state.system, history, state=state, restart=True)
    straight = replay(state.system, history)
    assert done.state.to_bytes() == straight.state.to_bytes()
    assert (done.known_matches, done.rated_matches) == (0, 12)
    assert replay(state.system, history, restart=True).rated_matches == 12


def test_a_restart_needs_every_match() -> None:
    state = saved()
    history = without(table("contests"), "c00", "c02")
    with pytest.raises(ConflictError, match=r"a restart needs all .* matches c00, c02 are not in"):
        replay(state.system, history, state=state, restart=True)


def test_a_restart_does_not_lose_ratings_that_came_without_matches() -> None:
    seeded = saved()
    seeded = changed(seeded, rated=seeded.rated[:0], digests=seeded.digests[:0])
    with pytest.raises(InvalidParameterError, match="began with ratings"):
        replay(seeded.system, eq.read_history(table("contests")), state=seeded, restart=True)


def test_explaining_takes_the_same_care() -> None:
    state, frame = saved(), table("contests")
    history = with_value(frame, 15, "rank", 0)
    player = str(frame["player"][57])
    with pytest.raises(ConflictError, match="match c03 has changed"):
        eq.explain(state.system, history, player, "c11", state=state)
    again = eq.explain(state.system, history, player, "c11", state=state, restart=True)
    straight = eq.explain(state.system, history, player, "c11")
    assert (again.rating, again.rating_before) == (straight.rating, straight.rating_before)


# Files of version 1, and of versions to come.


@pytest.mark.parametrize("name", list(RATED))
def test_version_1_goes_on_to_the_same_bits(name: str) -> None:
    """Its matches stay unchecked; those that come after are compared from then on."""
    old = PoolState.load(OLD / f"{name}.npz")
    whole = eq.read_history(OLD / f"{name}.csv")
    assert not old.comparable
    done, straight = replay(old.system, whole, state=old), replay(old.system, whole)
    assert done.unchecked_matches == done.known_matches == RATED[name]
    assert done.state.player_ids.tolist() == straight.state.player_ids.tolist()
    np.testing.assert_array_equal(done.state.state.table, straight.state.state.table)
    for key, values in straight.state.state.shared.items():
        if key == DRAWS:
            continue  # states of version 1 count from the next match on
        np.testing.assert_array_equal(done.state.state.shared[key], values)
    again = PoolState.from_bytes(done.state.to_bytes(), "again")
    assert again.comparable
    assert np.flatnonzero(again.digests).tolist() == list(range(RATED[name], whole.matches))


def test_matches_of_version_1_are_not_compared() -> None:
    """Neither a change nor a gap among them is seen; after them both are."""
    old, frame = PoolState.load(OLD / "contests.npz"), table("contests")
    history = with_value(frame.filter(pl.col("match") != "c05"), 3, "rank", 4)
    state = replay(old.system, history, state=old).state
    assert replay(old.system, history, state=state).unchecked_matches == 7
    with pytest.raises(ConflictError, match="match c10 has changed"):
        replay(old.system, with_value(frame, 50, "rank", 5), state=state)
    with pytest.raises(ConflictError, match="match c09 is missing"):
        replay(old.system, without(frame, "c09"), state=state)


def test_digests_of_other_columns_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version of a system may read more: its states of today still load."""
    content = saved().to_bytes()
    monkeypatch.setattr("equipoise.rating.match_digest.VERSION", 2)
    state = PoolState.from_bytes(content, "state")
    assert not state.comparable
    assert not state.digests.any()


def test_what_a_later_version_requires_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that does not know a field that counts must not go on without it."""
    state = saved()
    import json

    real = json.dumps
    monkeypatch.setattr(
        "equipoise.rating.pool_state.json.dumps",
        lambda value: real({**value, "requires": ["moon_phase"]} if "schema" in value else value),
    )
    content = state.to_bytes()
    with pytest.raises(InvalidDataError, match="a later version, with moon_phase"):
        PoolState.from_bytes(content, "state")
