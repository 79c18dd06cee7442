"""Honest but unusual files: each is read rightly, or refused with advice that is true.

`hostile` has the files. A file that is read has its format, its results (`>` won, `=` drew) and
part of a note. One that is refused has the line and column of its first problem, and part of what
it says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import equipoise as eq
from equipoise.formats.players import read_lobby_noting
from formats.comparing import results_of

# Advice is given as on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

FILES = Path(__file__).parent / "hostile"


class Refused(NamedTuple):
    """The line and column of the first problem, and part of it."""

    where: str
    said: str


ROUND = "ann>bo; bo>cid; cid>ann"
PAIR = "ann>bo; bo>ann"
GAMES = "Doe, Jane>Li, Ann; Li, Ann=Ray, Bo; Doe, Jane>Ray, Bo"
REPORT = "Doe, Jane>Li, Ann; Ray, Bo=Doe, Jane; Li, Ann>Ray, Bo"
CONTEST = "ann>bo=cid"
CONTESTS = "ann>bo=cid; ann>bo=cid"
LOBBY = "ann 1500; bo 1400; cid 1300; dee 1200"

EXPECTED: dict[str, tuple[str, ...] | Refused] = {
    "c01_title_line_no_ext": ("csv", ROUND, "the header is line 2"),
    "c02_hash_header.csv": ("csv", ROUND),
    "c03_hash_on_header.csv": Refused(":match", "--column 'match=#match'"),
    "c04_cp1252.csv": ("csv", "Jörg>bo; bo>cid; cid>Jörg", "read as Windows-1252"),
    "c05_utf16_nobom.csv": ("csv", ROUND, "text in UTF-16"),
    "c06_mixed_newlines.csv": ("csv", ROUND),
    "c07_unquoted_quote.csv": ("csv", 'Robert "Bob" Smith>bo; bo>cid; cid>Robert "Bob" Smith'),
    "c08_starts_with_bracket.csv": Refused(":match", "--column 'match=[match]'"),
    "c09_space_after_comma_quotes.csv": ("csv", "Doe, Jane>Li, Ann; Li, Ann>Doe, Jane"),
    "c10_na_player.csv": ("csv", "NA>bo; bo>cid; cid>NA"),
    "c11_leading_zero_ids.csv": ("csv", "007>7; 7>012"),
    "c12_semicolon_decimal.csv": ("csv", "ann>bo; bo>cid", "read '1,5' as 1.5"),
    "c13_thousands.csv": Refused("2:score", "1,234 can be 1.234 or 1234"),
    "c14_dates_dmy.csv": Refused("2:time", "--time-format %d/%m/%Y"),
    "c15_trailing_total.csv": Refused("8:player", "must not be empty"),
    "c16_pipe_table.md": Refused("2:rank", "'---'"),
    "c17_apostrophe_name.csv": ("csv", "-x>bo; bo>cid; cid>-x"),
    "c18_space_separated.txt": Refused("1:", "must have commas, semicolons, tabs or bars"),
    "c19_first_line_number_header.csv": Refused(":match", "columns 012, player, rank"),
    "c20_backslash_escaped_quote.csv": ("csv", 'Bo "X" Li>ann; ann>bo', "escaped by backslashes"),
    "c21_tab_as_csv.csv": ("csv", ROUND),
    "c22_txt.txt": ("csv", ROUND, "is read as CSV"),
    "c23_dat.dat": ("csv", ROUND),
    "c24_sep_line.csv": ("csv", ROUND, "as line 1 says"),
    "c25_index_column.csv": ("csv", PAIR),
    "c26_rank_words.csv": ("csv", "ann>bo; bo=ann", "read '1st' as 1"),
    "c27_dup_header.csv": Refused("1:note", "name of only one column"),
    "c28_nbsp_header.csv": ("csv", ROUND),
    "c29_bom_semicolon_quoted.csv": ("csv", ROUND),
    "c30_trailing_comma.csv": ("csv", ROUND),
    "g01_dash.csv": ("csv", "ann>bo; bo=cid; ann>cid"),
    "g02_score.csv": ("csv", "ann>bo; bo=cid; ann>cid"),
    "g03_penalties.csv": Refused("2:home_score", "'2 (4)'"),
    "g04_quoted_equals.csv": Refused("2:result", "must be a result"),
    "g05_result_date.csv": Refused("2:result", "'01-Jan'"),
    "g06_player1_winner.csv": Refused("3:winner", "must be a result"),
    "g07_sets.csv": ("csv", "ann>bo; bo>cid"),
    "g08_elo_table.csv": Refused("2:Date", "--time-format %Y.%m.%d"),
    "j01_list.json": ("json", PAIR),
    "j02_wrapped.json": ("json", PAIR, "the rows of matches"),
    "j03_data_wrapped.json": ("json", PAIR, "without meta"),
    "j04_columns.json": Refused(":", "must be a list of rows"),
    "j05_nested_players.json": Refused(":player", "columns match"),
    "j06_nan.json": ("json", PAIR),
    "j07_lines_crlf.jsonl": ("jsonl", PAIR),
    "j08_lines_pretty.jsonl": Refused("1:", "one JSON object; got '{'"),
    "j09_lines_trailing_comma.jsonl": Refused("1:", '"rank": 1},\''),
    "j10_bom.json": ("json", PAIR),
    "j11_utf16.json": ("json", PAIR, "text in UTF-16"),
    "j12_string_numbers.json": ("json", PAIR),
    "j13_lines_in_json.json": ("jsonl", PAIR),
    "j14_split_orient.json": Refused(":", "must be a list of rows"),
    "j15_one_game_lines.json": Refused(":", "must be a list of rows"),
    "k01_contest.json": ("contests", CONTEST),
    "k02_list.json": ("contests", CONTESTS),
    "k03_lines.jsonl": ("contests", CONTESTS),
    "k04_dict_standings.json": Refused("1:standings", "list of player, lowest and highest rank"),
    "k05_float_time.json": ("contests", CONTEST),
    "k06_iso_time.json": ("contests", CONTEST),
    "k07_cf_failed.json": Refused(":status", "contestId: not found"),
    "k08_cf_pretty.json": ("codeforces", "ann>bo"),
    "k09_cf_gz.json.gz": ("codeforces", "ann>bo"),
    "k10_two_same_name.jsonl": ("contests", CONTESTS),
    "l01_comma_decimal.csv": ("lobby", "ann 1500.5; bo 1400.25; cid 1300; dee 1200", "'1500,5' as"),
    "l02_avoid_comma.csv": Refused("2:avoid", "semicolons separate ids"),
    "l03_thousands.csv": Refused("2:rating", "1,234 can be 1.234 or 1234"),
    "l04_elo_header.tsv": ("lobby", LOBBY, "Elo was read as rating"),
    "l05_title.csv": ("lobby", LOBBY, "the header is line 2"),
    "l06_provisional.csv": ("lobby", LOBBY, "marked as provisional"),
    "l07_players_object.json": ("lobby", "ann 1500; bo 1400", "read the rows of lobby"),
    "l08_txt.txt": ("lobby", LOBBY),
    "p01_semicolon_comment_first.pgn": ("pgn", GAMES),
    "p02_brace_comment_first.pgn": ("pgn", GAMES),
    "p03_latin1.pgn": ("pgn", GAMES.replace("Doe, Jane", "Müller, Jörg"), "Windows-1252"),
    "p04_bom_crlf.pgn": ("pgn", GAMES),
    "p05_txt.txt": ("pgn", GAMES, "is read as PGN"),
    "p06_no_space_tag.pgn": ("pgn", GAMES),
    "p07_utf16.pgn": ("pgn", GAMES),
    "p08_tag_in_comment.pgn": ("pgn", GAMES),
    "p09_escaped_quote.pgn": ("pgn", GAMES.replace("Doe", 'Doe "The Rook"')),
    "p10_result_only_in_moves.pgn": ("pgn", GAMES),
    "p11_tags_one_line.pgn": ("pgn", GAMES),
    "p12_escape_line.pgn": ("pgn", GAMES),
    "p13_half_unicode.pgn": ("pgn", GAMES),
    "p14_semicolon_comment.txt": ("pgn", GAMES),
    "p15_cr_only.pgn": ("pgn", GAMES),
    "p16_trailing_nul.pgn": ("pgn", GAMES),
    "p17_ctrl_z.pgn": ("pgn", GAMES),
    "p18_lower_tags.pgn": ("pgn", GAMES),
    "q01_categorical.parquet": ("parquet", PAIR),
    "q02_decimal_ids.parquet": ("parquet", PAIR),
    "q03_float_ids.parquet": ("parquet", PAIR),
    "q04_uint64.parquet": ("parquet", "9223372036854775809>2; 2>9223372036854775809"),
    "q05_tz.parquet": ("parquet", PAIR),
    "q06_list_column.parquet": Refused(":player", "columns match, players, rank"),
    "q07_binary_names.parquet": ("parquet", PAIR),
    "q08_duration.parquet": Refused("1:time", "must be whole seconds"),
    "q09_struct_player.parquet": Refused("1:player", "must be text or a whole number"),
    "q10_ns_time.parquet": ("parquet", PAIR),
    "q11_feather.feather": ("arrow", PAIR),
    "q12_arrow_named_parquet.parquet": ("arrow", PAIR, "is read as Arrow"),
    "q13_stream.arrows": ("arrow", PAIR),
    "q14_parquet_named_csv.csv": ("parquet", PAIR, "is read as Parquet"),
    "t01_title_comma.trf": ("trf", REPORT),
    "t02_title_tab.trf": ("trf", REPORT),
    "t03_players_first.trf": ("trf", REPORT),
    "t04_comment_first.trf": ("trf", REPORT),
    "t05_title_comma.txt": ("trf", REPORT, "is read as a FIDE report"),
    "t06_latin1.trf": ("trf", REPORT.replace("Doe, Jane", "Müller, Jörg"), "Windows-1252"),
    "t07_bom_crlf.trf": ("trf", REPORT),
    "t08_cr_only_comma.trf": ("trf", REPORT),
    "t09_title_bar.trf": ("trf", REPORT),
    "t10_title_semicolon.trf": ("trf", REPORT),
    "t11_title_bracket.trf": ("trf", REPORT),
    "t12_title_comma.trf.gz": ("trf", REPORT),
    "t13_empty_title.trf": ("trf", REPORT),
    "t14_lower_tournament_federation_first.trf": ("trf", REPORT),
    "t15_title_long_with_quote.trf": ("trf", REPORT),
    "t16_cr_only_no_comma_in_title.trf": ("trf", REPORT),
    "t17_semicolon_names_cr.trf": ("trf", "Doe Jane>Li Ann; Ray Bo=Doe Jane; Li Ann>Ray Bo"),
    "v01_commas_in_names.tsv": ("tsv", "Doe, Ann>bo; bo>Doe, Ann"),
    "v02_quotes.tsv": ("tsv", '5" Ann>bo; bo>5" Ann'),
    "v03_header_comma.tsv": Refused(":player", "--column 'player=player, full name'"),
    "v04_csv_in_tsv.tsv": ("tsv", PAIR, "separated by ','"),
    "v05_spaces.tsv": Refused("1:", "must have commas, semicolons, tabs or bars"),
    "v06_trailing_tabs.tsv": ("tsv", PAIR),
    "v07_title.tsv": ("tsv", PAIR, "the header is line 2"),
    "v08_txt_title.txt": ("csv", PAIR),
    "v09_unclosed_quote.tsv": Refused("2:", "well-formed quotation marks"),
    "v10_cr.tsv": ("tsv", PAIR),
    "w01_plain.xlsx": ("excel", PAIR),
    "w02_title_merged.xlsx": ("excel", PAIR, "the header is row 3"),
    "w03_total_row.xlsx": Refused("6:player", "must not be empty"),
    "w04_two_tables.xlsx": Refused("8:rank", "must be a whole number"),
    "w05_blank_column_a.xlsx": ("excel", PAIR),
    "w06_two_sheets.xlsx": Refused(":", "--sheet Games"),
    "w07_text_dates.xlsx": Refused("2:time", "--time-format %d/%m/%Y or --time-format %m/%d/%Y"),
    "w08_result_as_date.xlsx": Refused("2:result", "'2024-01-01'"),
    "w09_formula.xlsx": Refused("2:rank", "must be a whole number"),
    "w10_csv_name.csv": ("excel", PAIR, "is read as a workbook"),
    "w11_bool_strings.xlsx": ("excel", PAIR),
    "x01_comma_half.csv": ("csv", "ann=bo; ann>cid; cid>bo"),
    "x02_blank_diag.csv": ("csv", "ann>bo; ann=cid; bo>cid"),
    "x03_x_diag.tsv": ("tsv", "ann>bo; ann=cid; bo>cid"),
    "z01_csv_and_readme.zip": ("csv", ROUND, "README.txt"),
    "z02_two_formats.zip": Refused(":", "--format csv"),
    "z03_trf_comma.zip": ("trf", REPORT),
    "z04_pgn_and_csv.zip": Refused(":", "--format pgn"),
    "z05_csv_named_gz.csv.gz": ("csv", ROUND, "is not compressed"),
    "z06_gz_without_suffix.csv": ("csv", ROUND),
}
#: What the refusals advise, tried.
ADVICE: dict[str, dict[str, Any]] = {
    "c03_hash_on_header.csv": {"columns": {"match": "#match"}},
    "c08_starts_with_bracket.csv": {"columns": {"match": "[match]"}},
    "c14_dates_dmy.csv": {"time_format": "%d/%m/%Y"},
    "c19_first_line_number_header.csv": {"columns": {"match": "012"}},
    "g08_elo_table.csv": {"time_format": "%Y.%m.%d"},
    "v03_header_comma.tsv": {"columns": {"player": "player, full name"}},
    "w06_two_sheets.xlsx": {"sheet": "Games"},
    "w07_text_dates.xlsx": {"time_format": "%m/%d/%Y"},
    "z02_two_formats.zip": {"format": "csv"},
    "z04_pgn_and_csv.zip": {"format": "pgn"},
}


def read(name: str, **options: Any) -> tuple[str, str, tuple[str, ...]]:
    """Return the format, the results or ratings, and the notes of a file, or raise its problems."""
    path = str(FILES / name)
    if name.startswith("l"):
        lobby, notes = read_lobby_noting(path)
        players = zip(lobby.player_ids, lobby.rating, strict=True)
        return "lobby", "; ".join(f"{one} {rating:g}" for one, rating in players), notes
    reading = eq.scan_history(path, **options)
    if reading.history is None:
        raise eq.InvalidDataError(reading.problems)
    return reading.format, results_of(reading.history), reading.notes


def test_every_file_is_expected() -> None:
    assert sorted(EXPECTED) == sorted(one.name for one in FILES.iterdir())
    assert len(EXPECTED) == 150


@pytest.mark.no_kernel
@pytest.mark.parametrize("name", list(EXPECTED))
def test_reads_rightly_or_refuses_with_the_reason(name: str) -> None:
    expected = EXPECTED[name]
    if isinstance(expected, Refused):
        with pytest.raises(eq.InvalidDataError) as raised:
            read(name)
        problem = raised.value.problems[0]
        assert f"{problem.line or ''}:{problem.field}" == expected.where
        assert expected.said in f"{problem.rule}; got {problem.got}"
        return
    format, results, notes = read(name)
    assert (format, results) == expected[:2]
    assert all(any(part in note for note in notes) for part in expected[2:])


@pytest.mark.no_kernel
@pytest.mark.parametrize("name", list(ADVICE))
def test_advice_works(name: str) -> None:
    assert read(name, **ADVICE[name])[1]
