"""Names looked up: the search over pools, and newcomers with similar names."""

from __future__ import annotations

import pytest

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import ProfileRequest, ProfilesRequest
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.profiles import set_profiles
from equipoise.pools.reading.overview import search, similar
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial, duel


def found_in(store: Store, text: str, name: str = "trial") -> tuple[list[str], list[str]]:
    """Return the players and the matches that a search finds."""
    result = search(store, [pool_message(store, name)], text)
    every = result.found
    return (
        [row.player for one in every for row in one.players],
        [line.match for one in every for line in one.matches],
    )


def test_titles_are_found_after_thousands_of_players_and_as_corrected(store: Store) -> None:
    """Only the end of a long content is read, and the last title counts."""
    pool = Trial(store, system="elo-mmr", late="replay")
    crowd = [TeamRequest([f"player-{at:04}"], at) for at in range(600)]
    pool.post(MatchRequest("big", crowd, 10, title="Grand Final 100 %"))
    pool.post(duel("small", "ada", "bob", 20, title="Semi_final"))
    assert found_in(store, "grand final") == ([], ["big"])
    assert found_in(store, "100 %") == ([], ["big"])
    assert found_in(store, "FINAL") == ([], ["small", "big"])
    # The signs of patterns stand for themselves.
    assert found_in(store, "semi_") == ([], ["small"])
    assert found_in(store, "semi%") == ([], [])
    assert found_in(store, 'x\\"y') == ([], [])
    pool.correct(duel("small", "ada", "bob", 20, title='The "last" \\ Zoë'))
    assert found_in(store, "semi") == ([], [])
    assert found_in(store, '"last" \\ zo') == ([], ["small"])


def test_ids_and_names_are_found(store: Store) -> None:
    pool = Trial(store)
    pool.post(duel("Cup 1", "ada", "bob", 1), duel("cup 2", "ada", "cyd", 2))
    profile = ProfilesRequest([ProfileRequest("cyd", "José Álvarez")])
    set_profiles(store, "trial", profile, key=None, now=NOW)
    assert found_in(store, "jose al") == (["cyd"], [])
    assert found_in(store, "AD") == (["ada"], [])
    # Ids of matches are found as they are written, from their beginning.
    assert found_in(store, "Cup") == ([], ["Cup 1"])
    assert found_in(store, "up 1") == ([], [])


@pytest.mark.parametrize(
    ("name", "player"),
    [
        ("ada fox", "Ada Fox"),
        ("Ada-Fox", "ada fox"),
        ("José", "Jose"),
        ("Adda Fox", "Ada Fox"),
        ("Ada Fo", "Ada Fox"),
        ("Ida Fox", "Ada Fox"),
    ],
)
def test_case_accents_and_one_letter_are_similar(name: str, player: str) -> None:
    """Whichever of the two is the newcomer."""
    assert similar([name], [player]) == {name: player}
    assert similar([player], [name]) == {player: name}


@pytest.mark.parametrize(
    ("name", "player"),
    [("player 7", "player 8"), ("Bo", "Cy"), ("Ana", "Ada"), ("Ada Fox", "Ida Fix")],
)
def test_digits_short_names_and_two_letters_differ(name: str, player: str) -> None:
    """They are different players more often than misspelled ones."""
    assert similar([name], [player]) == {}


def test_the_later_of_two_similar_newcomers_is_named() -> None:
    """And a name is never similar to itself."""
    assert similar(["Ada Fox", "Adda Fox"], ["Ada Fox", "Adda Fox"]) == {"Adda Fox": "Ada Fox"}
