"""Newcomers are told from players of the pool, and similar names are named."""

from __future__ import annotations

import pytest

from equipoise.pools.reading.searching import similar


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
