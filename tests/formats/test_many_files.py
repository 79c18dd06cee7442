"""Several files read as one history: their order, their columns, and matches with the same id."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from equipoise.formats import joining, read_history, scan_history
from equipoise.formats.games import read_games, scan_games
from formats.comparing import assert_same_history

HEAD = "match,time,player,rank\n"


def written(folder: Path, **files: str) -> Path:
    """Write files by their stems, and return their folder."""
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def duel(match: object, time: str, first: str, second: str) -> str:
    return f"{match},{time},{first},1\n{match},{time},{second},2\n"


def problem_of(source, **options):
    """Return the name of the file, the line and the rule of the only problem."""
    (problem,) = scan_history(source, **options).problems
    return Path(problem.file).name, problem.line, problem.rule


def with_columns(text: str, names: str) -> str:
    """Return a table with more columns, each with the number of the line."""
    lines = text.splitlines()
    cells = [f",{row}" * len(names.split(",")) for row in range(1, len(lines))]
    more = [f",{names}", *cells]
    return "".join(f"{line}{cell}\n" for line, cell in zip(lines, more, strict=True))


ONE = HEAD + duel(1, "2024-01-01", "ann", "ben") + duel(2, "2024-01-02", "ben", "cid")
TWO = HEAD + duel(3, "2024-02-01", "cid", "ann")


def test_many_files_are_one_history(tmp_path):
    written(tmp_path, one=ONE, two=TWO)
    expected = read_history((ONE + TWO.removeprefix(HEAD)).encode())
    paths = [tmp_path / "one.csv", str(tmp_path / "two.csv")]
    for source in (paths, tuple(paths), tmp_path, str(tmp_path / "*.csv")):
        assert_same_history(read_history(source), expected)
    frame = pl.read_csv(tmp_path / "two.csv", try_parse_dates=True)
    frame.write_parquet(tmp_path / "two.parquet")
    frame.write_ndjson(tmp_path / "two.jsonl")
    for suffix in ("parquet", "jsonl"):
        mixed = [tmp_path / "one.csv", tmp_path / f"two.{suffix}"]
        assert_same_history(read_history(mixed), expected)


def test_problems_name_file_and_line(tmp_path):
    written(tmp_path, one=ONE, two=TWO.replace("ann", ""))
    assert problem_of(tmp_path)[:2] == ("two.csv", 3)


def test_problems_of_all_files_are_told_at_once(tmp_path):
    written(tmp_path, one="match,player\n\x00,1", two="", three=ONE)
    reading = scan_history([str(tmp_path / f"{one}.csv") for one in ("one", "two", "three")])
    assert {Path(one.file).name for one in reading.problems} == {"one.csv", "two.csv"}


def test_without_times_the_order_is_that_of_the_files_and_said(tmp_path):
    for number in (10, 9):
        written(tmp_path, **{f"r{number}": f"match,player,rank\nm{number},a,1\nm{number},b,2\n"})
    for source in (tmp_path, str(tmp_path / "r*.csv")):
        reading = scan_history(source)
        assert reading.history.match_ids.tolist() == ["m9", "m10"]
        assert "without times, matches are in the order of the files" in reading.notes[-1]
    given = [tmp_path / "r10.csv", tmp_path / "r9.csv"]
    assert read_history(given).match_ids.tolist() == ["m10", "m9"]


def test_seasons_that_count_from_one_keep_their_matches_apart(tmp_path):
    second = HEAD + duel(1, "2025-01-01", "ann", "ben") + duel(2, "2025-01-02", "cid", "ben")
    reading = scan_history(written(tmp_path, y2024=ONE, y2025=second))
    assert reading.history.match_ids.tolist() == ["y2024:1", "y2024:2", "y2025:1", "y2025:2"]
    assert "2 match ids are in several files for different matches" in reading.notes[0]


def test_a_match_that_was_exported_twice_counts_once(tmp_path):
    """Its rows are equal, dates included; the order of the rows does not matter."""
    lines = ONE.splitlines(keepends=True)
    again = "".join([lines[0], lines[4], lines[3], *TWO.splitlines(keepends=True)[1:]])
    reading = scan_history(written(tmp_path, a=ONE, b=again))
    assert reading.history.match_ids.tolist() == [1, 2, 3]
    assert reading.notes[0] == "1 match is in several files with the same rows, and counted once"


def test_a_match_with_two_results_is_a_problem(tmp_path):
    other = HEAD + duel(1, "2024-01-01", "ben", "ann")
    (problem,) = scan_history(written(tmp_path, a=ONE, b=other)).problems
    assert problem.rule == joining.CONTRADICTION
    assert (Path(problem.file).name, problem.line) == ("b.csv", 2)
    assert problem.got.endswith("a.csv:2")


def test_without_dates_equal_matches_are_not_guessed(tmp_path):
    head = "match,player,rank\n"
    first = head + "1,a,1\n1,b,2\n2,b,1\n2,c,2\n"
    assert problem_of(written(tmp_path, a=first, b=head + "1,a,1\n1,b,2\n"))[2] == joining.TWICE
    written(tmp_path, b=head + "1,a,1\n1,b,2\n2,c,1\n2,b,2\n")
    reading = scan_history(tmp_path)
    assert reading.history.match_ids.tolist() == ["a:1", "a:2", "b:1", "b:2"]


def test_the_same_file_twice_is_refused(tmp_path):
    written(tmp_path, a=ONE, b=ONE)
    assert problem_of(tmp_path)[2] == joining.DIFFERENT_FILES
    assert problem_of([str(tmp_path / "a.csv")] * 2)[2] == "must be given only once"


def test_rounds_must_count_on(tmp_path):
    head = "round,white,black,result\n"
    written(tmp_path, a=head + "1,a,b,1-0\n2,b,a,1-0\n", b=head + "1,c,d,1-0\n")
    assert problem_of(tmp_path) == ("b.csv", 2, joining.COUNTS_ON)
    written(tmp_path, b=head + "3,c,d,1-0\n")
    assert read_history(tmp_path).matches == 3


@pytest.mark.parametrize("lacking", ["player", "rank", "time", "weight"])
def test_columns_that_decide_must_be_in_every_file(lacking, tmp_path):
    whole = "match,time,player,rank,weight\n1,2024-01-01,a,1,2\n1,2024-01-01,b,2,2\n"
    written(tmp_path, a=whole)
    frame = pl.read_csv(tmp_path / "a.csv", infer_schema=False).drop(lacking)
    written(tmp_path, b=frame.with_columns(match=pl.lit("2")).write_csv())
    (problem,) = scan_history(tmp_path).problems
    assert (problem.field, problem.rule) == (lacking, joining.IN_EVERY_FILE)


def test_other_columns_may_be_missing_and_are_noted(tmp_path):
    written(tmp_path, a=ONE, b="match,time,player,rank,map\n3,2024-02-01,a,1,x\n3,2024-02-01,b,2,x")
    reading = scan_history(tmp_path)
    assert reading.history.attributes["map"].tolist() == [None] * 4 + ["x", "x"]
    assert "map (not in" in reading.notes[0]


def test_a_column_that_an_option_names_must_be_in_every_file(tmp_path):
    written(tmp_path, a=ONE.replace("player", "who"), b=TWO)
    (problem, *_) = scan_history(tmp_path, columns={"player": "who"}).problems
    assert problem.rule == joining.IN_EVERY_FILE


def test_columns_are_the_same_without_capitals(tmp_path):
    written(tmp_path, a=ONE, b=TWO.replace("match,time,player", "Match,TIME,Player"))
    assert read_history(tmp_path).matches == 3
    # Two columns of a file that differ in capitals alone are two.
    written(tmp_path, a=with_columns(ONE, "note"), b=with_columns(TWO, "Note,NOTE"))
    assert read_history(tmp_path).matches == 3


def test_types_that_differ_become_one(tmp_path):
    typed = {"match": [1, 1], "player": [7, 8], "rank": [1, 2]}
    pl.DataFrame(typed).write_parquet(tmp_path / "a.parquet")
    text = {"match": [2.0, 2.0], "player": ["x", "8"], "rank": [1.0, 2.0]}
    pl.DataFrame(text).write_parquet(tmp_path / "b.parquet")
    history = read_history(tmp_path)
    assert history.match_ids.tolist() == [1, 2]
    assert history.player_ids.tolist() == ["7", "8", "x"]


def test_games_of_many_files(tmp_path):
    head, row = "date,white,black,result\n", "2024-05-04,ann,ben,1-0\n"
    written(tmp_path, a=head + row, b=head + row + "2024-05-05,ann,ben,1-0\n")
    assert read_games(tmp_path).rows == 3
    reading = scan_history(tmp_path)
    assert reading.history.matches == 3
    assert any(note.startswith("1 game is in several files") for note in reading.notes)
    written(tmp_path, b=head + row.replace("1-0", "soon"))
    (problem,) = scan_games(tmp_path).problems
    assert (Path(problem.file).name, problem.line) == ("b.csv", 2)


def test_reports_and_games_are_not_mixed_with_tables(tmp_path):
    (tmp_path / "a.pgn").write_text('[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1. e4 1-0\n')
    (tmp_path / "b.csv").write_text("white,black,result\nb,a,1-0\n")
    for scan in (scan_history, scan_games):
        (problem,) = scan([tmp_path / "a.pgn", tmp_path / "b.csv"]).problems
        assert problem.rule.startswith("must have the format of the other files")
    (tmp_path / "c.txt").write_text((tmp_path / "a.pgn").read_text())
    assert read_games([tmp_path / "a.pgn", tmp_path / "c.txt"]).rows == 2


def test_patterns_without_files_and_folders_of_several_kinds_are_refused(tmp_path):
    assert problem_of(str(tmp_path / "2024-*.csv"))[2] == "no file has a name of this pattern"
    written(tmp_path, a=ONE)
    (tmp_path / "b.json").write_text("{}")
    (problem,) = scan_history(tmp_path).problems
    assert f"'{tmp_path}/*.csv'" in problem.got
