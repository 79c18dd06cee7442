"""Synonyms: chains, circles, what is wrong with which line; and names that may be one player."""

from __future__ import annotations

import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.formats import read_history, scan_history
from equipoise.formats.long_table import ONCE_BY_SYNONYMS
from equipoise.formats.names import (
    CIRCLE,
    COLUMNS,
    LISTED,
    MERGING,
    MOST,
    NAMES,
    OTHER_NAME,
    describe_doubles,
    describe_newcomers,
    describe_spellings,
    likely_doubles,
    read_synonyms,
    same_but_for_form,
)
from equipoise.wording import HIDDEN_CHARACTERS
from formats.comparing import of_text, real_data


def written(folder: Path, text: str, name: str = "synonyms.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def problems(source: Any) -> list[str]:
    with pytest.raises(InvalidDataError) as caught:
        read_synonyms(source)
    return [f"{one.line} {one.field}: {one.rule}; {one.got}" for one in caught.value.problems]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.csv", "name,same_as\nLi Chao2,Li Chao\n"),
        ("s.csv", "Note,Same As,Name\nx,Li Chao,Li Chao2\n"),
        ("s.tsv", "name\tsame_as\nLi Chao2\tLi Chao\n"),
        ("s.json", '{"Li Chao2": "Li Chao"}'),
        ("s.jsonl", '{"name": "Li Chao2", "same_as": "Li Chao"}\n'),
    ],
)
def test_a_name_stands_for_another(tmp_path: Path, name: str, text: str) -> None:
    assert read_synonyms(written(tmp_path, text, name)) == {"Li Chao2": "Li Chao"}
    assert read_synonyms(str(written(tmp_path, text, name))) == {"Li Chao2": "Li Chao"}


def test_chains_are_followed_and_spaces_are_part_of_a_name(tmp_path: Path) -> None:
    assert read_synonyms({"a": "b", 7: 8}) == {"a": "b", "7": "8"}
    with pytest.raises(InvalidParameterError, match="a path or a mapping of names; got list"):
        read_synonyms(["a"])
    chain = {"c": "d", "a": "b", "b": "c", "x": "b"}
    assert read_synonyms(chain) == dict.fromkeys("cabx", "d")
    long = {str(at): str(at + 1) for at in range(5_000)}
    assert set(read_synonyms(long).values()) == {"5000"}
    assert read_synonyms(written(tmp_path, "name,same_as\n ann,ann\nbobby , bob\n")) == {
        " ann": "ann",
        "bobby ": "bob",
        "bobby": "bob",
    }
    assert read_synonyms(written(tmp_path, '{" ann": "ann"}', "s.json")) == {" ann": "ann"}


def test_what_is_wrong_with_synonyms_is_listed(tmp_path: Path) -> None:
    path = written(tmp_path, "name,same_as\nx,a\na,b\nb,c\nc,a\np,q\nq,p\n")
    assert problems(path) == [
        f"3 name: {CIRCLE}; a -> b -> c -> a",
        f"6 name: {CIRCLE}; p -> q -> p",
    ]
    text = "name,same_as\na,b\na,c\na,b\nd,d\n"
    assert problems(written(tmp_path, text)) == [
        "3 name: must be named once; 'a' again, as 'b' and as 'c'",
        f"5 name: {OTHER_NAME}; 'd'",
    ]
    assert problems(written(tmp_path, "name,same_as\n,b\n\nc,\n")) == [
        "2 name: must not be empty; nothing",
        "4 same_as: must not be empty; nothing",
    ]
    assert problems(written(tmp_path, "player,alias\na,b\n")) == [
        f"None : {COLUMNS}; columns player, alias"
    ]
    assert "no such file or directory" in problems(tmp_path / "none.csv")[0]
    assert "no such file or directory" in problems(tmp_path / "none.json")[0]
    assert "must be JSON" in problems(written(tmp_path, "{", "s.json"))[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", f"None : {NAMES}; [1]"),
        ('{"a": ["b"]}', f"1 : {NAMES}; 'a': ['b']"),
        ('{"a": "b", "": "c"}', f"2 : {NAMES}; nothing: 'c'"),
        ('{"a": "b", "a": "c"}', "2 name: must be named once; 'a' again, as 'b' and as 'c'"),
    ],
)
def test_json_must_be_an_object_of_names(tmp_path: Path, text: str, problem: str) -> None:
    assert problems(written(tmp_path, text, "s.json")) == [problem]


@given(step=st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from("abcdefgh"), min_size=1))
def test_every_name_ends_where_following_it_by_hand_ends(step: dict[str, str]) -> None:
    """One step after another, at most as many as there are names; else it is a circle."""

    def end(name: str) -> str | None:
        for _ in range(len(step) + 1):
            if name not in step:
                return name
            name = step[name]
        return None

    expected = {name: end(name) for name in step}
    if None in expected.values():
        with pytest.raises(InvalidDataError):
            read_synonyms(step)
    else:
        assert read_synonyms(step) == expected
    assert json.dumps(step)


HISTORY = "match,player,rank\n1,ann,0\n1,bob,1\n2, ann,1\n2,bob,0\n3,BOB,0\n3,cid,1\n"


def test_names_of_a_history_and_its_winners_stand_for_their_players(tmp_path: Path) -> None:
    assert of_text(HISTORY).history.players == 5
    found = written(tmp_path, "name,same_as\n ann,ann\nBOB,bob\n")
    reading = of_text(HISTORY, synonyms=found)
    assert reading.history.player_ids.tolist() == ["ann", "bob", "cid"]
    assert reading.history.player.tolist() == [0, 1, 0, 1, 1, 2]
    assert reading.notes == ()
    reading = of_text(HISTORY, synonyms={"dan": "bob", "BOB": "bob"})
    assert "names in the synonyms that do not occur: 'dan'" in reading.notes
    text = "match,player,rank\n1,ann,0\n1, ann,1\n"
    [problem] = of_text(text, synonyms={" ann": "ann"}).problems
    assert (problem.line, problem.rule, problem.got) == (3, ONCE_BY_SYNONYMS, "' ann'")
    text = "match,player,winner\n1,ann,BOB\n1,bob,BOB\n"
    assert "must name one of" in of_text(text).problems[0].rule
    assert of_text(text, synonyms={"BOB": "bob"}).history.rank.tolist() == [1, 0]
    reading = of_text(HISTORY, synonyms={"a": "b", "b": "a"})
    assert reading.history is None
    assert [problem.rule for problem in reading.problems] == [CIRCLE]


@pytest.mark.parametrize(("to", "ids"), [("7", [2, 7]), ("seven", ["2", "seven"])])
def test_whole_numbers_stay_numbers_where_all_of_them_are(to: str, ids: list[object]) -> None:
    history = read_history({"match": [1, 1], "player": [1, 2], "rank": [0, 1]}, synonyms={"1": to})
    assert history.player_ids.tolist() == ids


# --- names that may be one player ---


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("Carlsen", "CARLSEN"), ("de Vries", "DeVries"), ("Smith-Jones, A", "Smith Jones,A.")),
        *(("M\u00fcller", "Muller"), ("H\u00fcbner, Robert", "Huebner, Robert")),
        *(("\u0141\u00f3d\u017a", "Lodz"), ("Carlsen, Magnus", "Carlsen,Magnus")),
        *(("Carlsen, Magnus", "Magnus Carlsen"), ("Carlsen, Magnus", "Carlsen,M")),
        *(("Carlsen, Magnus", "Carlsen, M."), ("Carlsen, Magnus", "M. Carlsen")),
        *(("Magnus Carlsen", "M Carlsen"), ("Nakamura, Hikaru", "Nakamura,Hi")),
        *(("Fischer, Robert James", "Fischer, Robert"), ("Fischer, Robert James", "Fischer, R J")),
        ("Nepomniachtchi, Ian", "Nepomniachtchi"),
        *(("Ding Liren", "Ding, Liren"), ("Li Chao", "Li Chao2"), ("Li Chao b", "Li Chao")),
        *(("Li, Chao2", "Li Chao"), ("gpt-4", "GPT4"), ("Stockfish 16", "stockfish-16")),
        ("Stockfish 16.1", "Stockfish 16,1"),
    ],
)
def test_these_may_be_one_player(one: str, other: str) -> None:
    assert likely_doubles([one, other]) == [(one, other)]
    assert likely_doubles([other, "Somebody Else", one]) == [(other, one)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("Stockfish 15", "Stockfish 16"), ("Stockfish 15", "Stockfish 1.5")),
        *(("Stockfish 1 5", "Stockfish 15"), ("Stockfish", "Stockfish 16")),
        *(("Stockfish 16 dev", "Stockfish 16"), ("gpt-4", "gpt-4o"), ("gpt", "gpt-4")),
        *(("llama-2-7b", "llama-27b"), ("alex", "alex7"), ("Li Chao2", "Li Chao3")),
        *(("Li Chao12", "Li Chao"), ("C", "C++"), ("C#", "C++")),
        *(("Carlsen, Magnus", "Carlsen, Henrik"), ("Carlsen, M", "Carlsen, H")),
        *(("Polgar, Judit", "Polgar, Susan"), ("Magnus Carlsen", "Magnus Larsen")),
        *(("Deep Blue", "Deep Blue Junior"), ("Komodo Dragon", "Komodo Dragon Aggressive")),
        *(("Ireland", "Northern Ireland"), ("Niger", "Nigeria"), ("Li", "Li Chao"), ("", "!")),
    ],
)
def test_these_are_two(one: str, other: str) -> None:
    assert likely_doubles([one, other]) == []
    assert likely_doubles([other, one]) == []


def test_likely_doubles_of_many_names() -> None:
    assert likely_doubles(["Polgar", "Polgar, Judit", "Polgar, Susan"]) == []
    names = ["Carlsen, Magnus", "Carlsen,M", "Magnus Carlsen", "CARLSEN MAGNUS"]
    assert likely_doubles(names) == [(names[0], other) for other in names[1:]]
    names = [spelled for at in range(40) for spelled in (f"p{at}", f"P{at}")]
    notes = describe_doubles(names)
    assert len(notes) == LISTED + 1
    assert notes[0] == "'p0' and 'P0' may be one player"
    assert notes[-1] == "30 more names may be other spellings of a player"
    names = [f"n{at}" for at in range(MOST + 1)]
    rest = "for 20,001 names, only white space, case and Unicode form were compared"
    assert describe_doubles(names) == (rest,)
    names[-2:] = ["n-8", "N7"]  # "n-8" is not "n8" in another form
    assert describe_doubles(names) == ("'n7' and 'N7' may be one player", rest)
    names = [f"Smith, J{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(60)]
    assert likely_doubles([*names[:40], "Smith, J"]) != []
    assert likely_doubles([*names, "Smith, J"]) == []
    engines = [
        f"{name} {major}.{minor}{suffix}"
        for name in ("Stockfish", "Komodo", "Lc0", "Houdini", "Rybka")
        for major in range(1, 17)
        for minor in range(10)
        for suffix in ("", " x64", " bmi2")
    ]
    assert describe_doubles(engines) == ()


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
def test_players_of_a_history_who_differ_only_in_form_are_pointed_out(one, other, names, form):
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


def test_misspelt_regulars_and_newcomers_are_pointed_out() -> None:
    pair = ["Eva Fischer", "Eva Fisher"]
    note = "'Eva Fischer' and 'Eva Fisher' may be one player"
    assert spellings(pair, 9, 1) == (note, MERGING)
    assert spellings(pair[::-1], 1, 9) == (note, MERGING)
    assert spellings(pair, 9, 2) == spellings(pair, 2, 1) == ()
    assert spellings(["Eva Fischer", "Eva Visher"], 9, 1) == ()
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
