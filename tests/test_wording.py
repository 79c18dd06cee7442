"""Counts with their nouns, and text that a terminal shows and does not obey."""

from __future__ import annotations

import json
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InvalidDataError, NoEquilibriumError, Problem, Sweep
from equipoise.wording import counted, printable, printable_json


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 matches"), (1, "1 match"), (2, "2 matches"), (12_345, "12,345 matches")],
)
def test_a_count_has_its_noun(count: int, words: str) -> None:
    assert counted(count, "match", "matches") == words
    assert counted(count, "player") == words.replace("matches", "players").replace(
        "match", "player"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Zoë O'Brien 李超 (GM)", "Zoë O'Brien 李超 (GM)"),
        ("C:\\new\\table.csv", "C:\\new\\table.csv"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("a\x9b31mb\x7f", "a\\x9b31mb\\x7f"),
        ("user\u202egpj.exe", "user\\u202egpj.exe"),
        ("\u2066a\u2069\u061c\u200f", "\\u2066a\\u2069\\u061c\\u200f"),
        ("zero\u200bwidth\ufeff\u2060", "zero\\u200bwidth\\ufeff\\u2060"),
        ("\u3164", "\\u3164"),
        ("\U000e0041", "\\U000e0041"),
        ("half \udcff", "half \\udcff"),
    ],
)
def test_what_a_terminal_obeys_or_hides_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


@given(st.text())
def test_no_control_or_format_character_is_left(text: str) -> None:
    """By Unicode's own categories, but for marks that are seen, as the Arabic sign of a number."""
    seen = {*"\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"}
    for letter in printable(text):
        category = unicodedata.category(letter)
        above = ord(letter) > 0xFFFF
        assert category not in ("Cc", "Zl", "Zp", "Cs")
        assert category != "Cf" or letter in seen or above
    assert "\n" not in printable(text)


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_json_that_is_safe_to_print_holds_the_exact_text(text: str) -> None:
    encoded = printable_json(msgspec.json.encode({"name": text}).decode())
    assert json.loads(encoded) == {"name": text}
    assert printable(encoded) == encoded


def test_errors_are_safe_to_print_and_their_problems_exact() -> None:
    """A newline in the name of a file or a player adds no line."""
    problem = Problem("a\nb.csv", 3, "x\x1b[2J", "must be a number", "'z'")
    error = InvalidDataError([problem])
    assert str(error).split("\n") == [
        "1 problem in the input:",
        "  a\\nb.csv, line 3, x\\x1b[2J: must be a number; got 'z'",
    ]
    assert error.problems[0].file == "a\nb.csv"
    swept = NoEquilibriumError([Sweep(("ann\n",), ("bob\u202e",), 1.0)])
    assert str(swept).split("\n")[1:] == ["  ann\\n took every point of bob\\u202e (1 game)"]


def test_a_rule_that_says_it_all_needs_no_value() -> None:
    problem = Problem("no.csv", None, "", "no such file or directory", "")
    assert str(problem) == "no.csv: no such file or directory"
