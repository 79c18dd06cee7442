"""Files of synonyms: chains, circles, and what is wrong with which line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.formats import read_history
from equipoise.formats.names import CIRCLE, COLUMNS, NAMES, OTHER_NAME, read_synonyms
from equipoise.formats.tables.long_table import ONCE_BY_SYNONYMS
from formats.comparing import of_text


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


def test_a_mapping_does_as_well_as_a_file() -> None:
    assert read_synonyms({"a": "b", 7: 8}) == {"a": "b", "7": "8"}
    with pytest.raises(InvalidParameterError, match="a path or a mapping of names; got list"):
        read_synonyms(["a"])


def test_chains_are_followed_to_their_end() -> None:
    chain = {"c": "d", "a": "b", "b": "c", "x": "b"}
    assert read_synonyms(chain) == dict.fromkeys("cabx", "d")
    long = {str(at): str(at + 1) for at in range(5_000)}
    assert set(read_synonyms(long).values()) == {"5000"}


def test_a_circle_is_one_problem_at_its_first_line(tmp_path: Path) -> None:
    path = written(tmp_path, "name,same_as\nx,a\na,b\nb,c\nc,a\np,q\nq,p\n")
    assert problems(path) == [
        f"3 name: {CIRCLE}; a -> b -> c -> a",
        f"6 name: {CIRCLE}; p -> q -> p",
    ]


def test_contradictions_and_empty_names_are_listed(tmp_path: Path) -> None:
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


def test_a_file_that_is_not_there_or_not_json_is_a_problem(tmp_path: Path) -> None:
    assert "no such file or directory" in problems(tmp_path / "none.csv")[0]
    assert "no such file or directory" in problems(tmp_path / "none.json")[0]
    assert "must be JSON" in problems(written(tmp_path, "{", "s.json"))[0]


@given(
    step=st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from("abcdefgh"), min_size=1),
)
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


def test_spaces_around_a_name_in_a_file_are_part_of_it(tmp_path: Path) -> None:
    assert read_synonyms(written(tmp_path, "name,same_as\n ann,ann\nbobby , bob\n")) == {
        " ann": "ann",
        "bobby ": "bob",
        "bobby": "bob",
    }
    assert read_synonyms(written(tmp_path, '{" ann": "ann"}', "s.json")) == {" ann": "ann"}


HISTORY = "match,player,rank\n1,ann,0\n1,bob,1\n2, ann,1\n2,bob,0\n3,BOB,0\n3,cid,1\n"


def test_names_of_a_history_stand_for_their_players(tmp_path: Path) -> None:
    assert of_text(HISTORY).history.players == 5
    found = written(tmp_path, "name,same_as\n ann,ann\nBOB,bob\n")
    reading = of_text(HISTORY, synonyms=found)
    assert reading.history.player_ids.tolist() == ["ann", "bob", "cid"]
    assert reading.history.player.tolist() == [0, 1, 0, 1, 1, 2]
    assert reading.notes == ()
    reading = of_text(HISTORY, synonyms={"dan": "bob", "BOB": "bob"})
    assert "names in the synonyms that do not occur: 'dan'" in reading.notes


def test_two_names_of_one_player_in_a_match_are_a_problem() -> None:
    text = "match,player,rank\n1,ann,0\n1, ann,1\n"
    [problem] = of_text(text, synonyms={" ann": "ann"}).problems
    assert (problem.line, problem.rule, problem.got) == (3, ONCE_BY_SYNONYMS, "' ann'")


def test_a_winner_is_named_as_players_are() -> None:
    text = "match,player,winner\n1,ann,BOB\n1,bob,BOB\n"
    assert "must name one of" in of_text(text).problems[0].rule
    assert of_text(text, synonyms={"BOB": "bob"}).history.rank.tolist() == [1, 0]


@pytest.mark.parametrize(("to", "ids"), [("7", [2, 7]), ("seven", ["2", "seven"])])
def test_whole_numbers_stay_numbers_where_all_of_them_are(to: str, ids: list[object]) -> None:
    history = read_history({"match": [1, 1], "player": [1, 2], "rank": [0, 1]}, synonyms={"1": to})
    assert history.player_ids.tolist() == ids


def test_what_is_wrong_with_synonyms_is_told_by_the_reader_of_histories() -> None:
    reading = of_text(HISTORY, synonyms={"a": "b", "b": "a"})
    assert reading.history is None
    assert [problem.rule for problem in reading.problems] == [CIRCLE]
