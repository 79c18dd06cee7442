"""Names that may be one player: what is pointed out, and above all what is not."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.formats import scan_history
from equipoise.formats.names import (
    LISTED,
    MERGING,
    MOST,
    describe_doubles,
    describe_newcomers,
    describe_spellings,
    likely_doubles,
    same_but_for_form,
)
from equipoise.wording import HIDDEN_CHARACTERS
from formats.comparing import real_data


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Carlsen", "CARLSEN"),
        ("de Vries", "DeVries"),
        ("Smith-Jones, A", "Smith Jones,A."),
        ("M\u00fcller", "Muller"),
        ("H\u00fcbner, Robert", "Huebner, Robert"),
        ("\u0141\u00f3d\u017a", "Lodz"),
        ("Carlsen, Magnus", "Carlsen,Magnus"),
        ("Carlsen, Magnus", "Magnus Carlsen"),
        ("Carlsen, Magnus", "Carlsen,M"),
        ("Carlsen, Magnus", "Carlsen, M."),
        ("Carlsen, Magnus", "M. Carlsen"),
        ("Magnus Carlsen", "M Carlsen"),
        ("Nakamura, Hikaru", "Nakamura,Hi"),
        ("Fischer, Robert James", "Fischer, Robert"),
        ("Fischer, Robert James", "Fischer, R J"),
        ("Nepomniachtchi, Ian", "Nepomniachtchi"),
        ("Ding Liren", "Ding, Liren"),
        ("Li Chao", "Li Chao2"),
        ("Li Chao b", "Li Chao"),
        ("Li, Chao2", "Li Chao"),
        ("gpt-4", "GPT4"),
        ("Stockfish 16", "stockfish-16"),
        ("Stockfish 16.1", "Stockfish 16,1"),
    ],
)
def test_these_may_be_one_player(one: str, other: str) -> None:
    assert likely_doubles([one, other]) == [(one, other)]
    assert likely_doubles([other, "Somebody Else", one]) == [(other, one)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Stockfish 15", "Stockfish 16"),
        ("Stockfish 15", "Stockfish 1.5"),
        ("Stockfish 1 5", "Stockfish 15"),
        ("Stockfish", "Stockfish 16"),
        ("Stockfish 16 dev", "Stockfish 16"),
        ("gpt-4", "gpt-4o"),
        ("gpt", "gpt-4"),
        ("llama-2-7b", "llama-27b"),
        ("alex", "alex7"),
        ("Li Chao2", "Li Chao3"),
        ("Li Chao12", "Li Chao"),
        ("C", "C++"),
        ("C#", "C++"),
        ("Carlsen, Magnus", "Carlsen, Henrik"),
        ("Carlsen, M", "Carlsen, H"),
        ("Polgar, Judit", "Polgar, Susan"),
        ("Magnus Carlsen", "Magnus Larsen"),
        ("Deep Blue", "Deep Blue Junior"),
        ("Komodo Dragon", "Komodo Dragon Aggressive"),
        ("Ireland", "Northern Ireland"),
        ("Niger", "Nigeria"),
        ("Li", "Li Chao"),
        ("", "!"),
    ],
)
def test_these_are_two(one: str, other: str) -> None:
    assert likely_doubles([one, other]) == []
    assert likely_doubles([other, one]) == []


def test_a_surname_that_two_have_stands_for_neither() -> None:
    assert likely_doubles(["Polgar", "Polgar, Judit", "Polgar, Susan"]) == []


def test_every_name_is_told_once_with_the_first_that_it_may_be() -> None:
    names = ["Carlsen, Magnus", "Carlsen,M", "Magnus Carlsen", "CARLSEN MAGNUS"]
    assert likely_doubles(names) == [(names[0], other) for other in names[1:]]


def test_versions_of_engines_do_not_flood_the_notes() -> None:
    engines = [
        f"{name} {major}.{minor}{suffix}"
        for name in ("Stockfish", "Komodo", "Lc0", "Houdini", "Rybka")
        for major in range(1, 17)
        for minor in range(10)
        for suffix in ("", " x64", " bmi2")
    ]
    assert describe_doubles(engines) == ()


def test_only_some_are_listed_and_the_others_counted() -> None:
    names = [spelled for at in range(40) for spelled in (f"p{at}", f"P{at}")]
    notes = describe_doubles(names)
    assert len(notes) == LISTED + 1
    assert notes[0] == "'p0' and 'P0' may be one player"
    assert notes[-1] == "30 more names may be other spellings of a player"


def test_only_the_form_is_compared_among_very_many_names() -> None:
    names = [f"n{at}" for at in range(MOST + 1)]
    rest = "for 20,001 names, only white space, case and Unicode form were compared"
    assert describe_doubles(names) == (rest,)
    names[-1] = "N7"
    assert describe_doubles(names) == ("'n7' and 'N7' may be one player", rest)


def test_a_family_of_many_is_not_compared_member_by_member() -> None:
    """Beyond fifty of one surname and initial, nobody tells a shortened name from another."""
    names = [f"Smith, J{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(60)]
    assert likely_doubles([*names[:40], "Smith, J"]) != []
    assert likely_doubles([*names, "Smith, J"]) == []


def test_real_names_are_different() -> None:
    """337 national teams, and the 24 and 18 players of two tournaments: no two may be one."""
    teams = pl.read_parquet(real_data("football.parquet"))["player"].unique().sort().to_list()
    assert likely_doubles(teams) == []
    for event in ("1970_interzonal", "2017_grandprix"):
        table = pl.read_csv(real_data(f"chess_palma{event}.csv"))
        names = sorted({*table["white"], *table["black"]})
        assert likely_doubles(names) == []


@given(st.lists(st.text(max_size=12), unique=True, max_size=12))
def test_any_text_is_a_name(names: list[str]) -> None:
    """Pairs are of different names, in their order, and no name is told twice."""
    place = {name: at for at, name in enumerate(names)}
    pairs = likely_doubles(names)
    assert all(place[one] < place[other] for one, other in pairs)
    assert all(one[1] != other[1] for one, other in pairwise(sorted(pairs, key=lambda p: p[1])))


@pytest.mark.usefixtures("options_in_messages")
@pytest.mark.parametrize(
    ("one", "other", "names", "form"),
    [
        (" ann", "ann", "' ann' and 'ann'", "white space"),
        ("a  b", "a b", "'a  b' and 'a b'", "white space"),
        ("a\u200bb", "ab", "'a\\u200bb' and 'ab'", "white space"),
        ("\ufb01x", "fix", "'\ufb01x' and 'fix'", "Unicode form"),
        ("BOB", "bob", "'BOB' and 'bob'", "case"),
        ("STRASSE", "straße", "'STRASSE' and 'straße'", "case"),
        ("Jos\u00e9", "Jose\u0301", "'Jos\\xe9' and 'Jose\\u0301'", "Unicode form"),
        (
            "JOSE\u0301",
            "jos\u00e9 ",
            "'JOSE\u0301' and 'jos\u00e9 '",
            "Unicode form and case and white space",
        ),
    ],
)
def test_players_of_a_history_who_differ_only_in_form_are_pointed_out(
    one: str, other: str, names: str, form: str
) -> None:
    reading = scan_history({"match": [1, 1], "player": [one, other], "rank": [0, 1]})
    assert reading.history.players == 2
    # Players of a history are in the order of their ids.
    assert reading.notes == spellings(sorted([one, other]))
    note = f"{names} may be one player: they differ only in {form}"
    assert spellings([one, other]) == (note, MERGING)


@pytest.mark.parametrize("names", [["ann", "anne"], ["a1", "a2"], ["Eva Lee", "Ava Lee"]])
def test_names_that_differ_in_more_are_different_players(names: list[str]) -> None:
    assert spellings(names) == ()
    assert spellings(names, 1, 9) == ()


@pytest.mark.parametrize(
    ("one", "other"), [("a b", "ab"), ("é", "e"), ("Díaz, Carla", "Carla Diaz")]
)
def test_histories_have_the_rule_of_games(one: str, other: str) -> None:
    assert spellings([one, other]) == (f"{one!r} and {other!r} may be one player", MERGING)
    assert describe_spellings(np.arange(5), np.full(5, 1)) == ()


def test_a_player_of_one_match_may_be_a_misspelt_regular() -> None:
    pair = ["Eva Fischer", "Eva Fisher"]
    note = "'Eva Fischer' and 'Eva Fisher' may be one player"
    assert spellings(pair, 9, 1) == (note, MERGING)
    assert spellings(pair[::-1], 1, 9) == (note, MERGING)
    assert spellings(pair, 9, 2) == spellings(pair, 2, 1) == ()
    assert spellings(["Eva Fischer", "Eva Visher"], 9, 1) == ()


def test_newcomers_are_compared_with_the_players_of_a_state() -> None:
    known = ids(["Ben Cole", "Carla Díaz", "Eva Fischer", "eva fischer"])
    new = ["Ben Cole", "Carla Diaz", "Eva Fisher", "ben  cole", "Dan Moss"]
    notes = describe_newcomers(known, ids(new), np.full(5, 2))
    assert notes == (
        "'Carla Diaz' is new, and may be 'Carla Díaz' of the saved state",
        "'Eva Fisher' is new, and may be 'Eva Fischer' of the saved state",
        MERGING,
    )
    assert describe_newcomers(known, ids(new[3:]), np.full(2, 2)) == (
        "'ben  cole' is new, and may be 'Ben Cole' of the saved state: they differ only in case "
        "and white space",
        MERGING,
    )
    assert describe_newcomers(known, known, np.full(4, 2)) == ()
    assert describe_newcomers(np.arange(3), ids(new), np.full(5, 2)) == ()


@given(st.lists(st.text(max_size=6), unique=True, max_size=8))
def test_forms_are_compared_as_python_compares_them(names: list[str]) -> None:
    """Two names are alike exactly where Python's own tables bring them to one form."""

    def form(name: str) -> str:
        folded = name if name.isascii() else unicodedata.normalize("NFKC", name).upper()
        folded = unicodedata.normalize("NFKC", folded)
        spaced = re.sub(HIDDEN_CHARACTERS, "", re.sub(r"[\s]+", " ", folded))
        return spaced.strip().lower()

    pairs = same_but_for_form([name for name in names if name.isprintable()])
    shown = [name for name in names if name.isprintable()]
    first: dict[str, str] = {}
    expected = [(first[form(one)], one) for one in shown if first.setdefault(form(one), one) != one]
    assert pairs == expected


def ids(names: list[str]) -> np.ndarray:
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return found


def spellings(names: list[str], *played: int) -> tuple[str, ...]:
    """Return the notes on players of a history, who all played often if nothing else is said."""
    return describe_spellings(ids(names), np.array(played or (9,) * len(names)))
