"""The rules of the long table: what is read from good rows, what is told about bad ones."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from equipoise.data.history import TRUTH
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.formats import read_history, scan_history, write_history
from equipoise.formats.long_table import (
    ADJACENT,
    NAMES_NONE,
    NO_TEAM,
    SAME,
    SCORE_IN_TEAM,
    SHARE,
    TWO_TEAMS,
)
from equipoise.formats.meanings import ONE_DECIDES, PLACES
from equipoise.formats.values import FINITE, NOT_EMPTY, NUMBER, WHOLE
from formats.comparing import assert_same_history, of_text, real_data, results_of, told

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

SCORES = "match,player,score\n1,a,70\n1,b,71\n1,c,70.0\n2,a,1e3\n2,c,-5\n"


def problems_of(text, **options):
    """Return the problems of a CSV file, as (line, field, rule, got)."""
    reading = of_text(text, **options)
    assert (reading.history is None) == bool(reading.problems)
    return told(reading.problems)


@pytest.mark.parametrize("high", [7, 10_000, 10**12, 2**60])
def test_ranks_are_dense_from_zero_within_a_match_however_large_they_are(high):
    ranks = {"match": [1] * 4 + [2] * 2, "player": [1, 2, 3, 4, 1, 2]}
    history = read_history(ranks | {"rank": [high, 3, high, 0, 9, 5]})
    assert history.rank.tolist() == [2, 1, 2, 0, 1, 0]


def test_players_are_numbered_in_order_of_their_ids():
    """Whole numbers sort by value, text by code point, and row numbers do not depend on order."""
    numbers = read_history({"match": [1] * 3, "player": [10, 9, -3], "rank": [0, 1, 2]})
    assert numbers.player_ids.tolist() == [-3, 9, 10]
    assert numbers.player.tolist() == [2, 1, 0]
    text = read_history({"match": [1] * 4, "player": ["b", "10", "é", "9"], "rank": [0, 1, 2, 3]})
    assert text.player_ids.tolist() == ["10", "9", "b", "é"]
    assert text.player_ids.dtype == object
    ids = [2**62, 5, 2**62 + 1, -(2**62)]
    history = read_history({"match": [1] * 4, "player": ids, "rank": [0, 1, 2, 3]})
    assert history.player_ids.tolist() == sorted(ids)
    assert history.player_ids[history.player].tolist() == ids


def test_teams_are_numbered_by_first_appearance_and_lone_players_are_teams():
    rows = "1,1,Red,1\n1,2,Blue,0\n1,3,Red,1\n2,1,Blue,0\n2,2,Red,1\n"
    history = of_text(f"match,player,team,rank\n{rows}").history
    assert history.team.tolist() == [0, 1, 0, 0, 1]
    assert history.team_labels.tolist() == ["Red", "Blue", "Red", "Blue", "Red"]
    table = {"match": [1, 1, 1, 2], "player": [1, 2, 3, 1], "rank": [0, 1, 2, 0]}
    for more in ({}, {"team": [None] * 4}, {"team": [""] * 4}):
        history = read_history(table | more)
        assert history.team.tolist() == [0, 1, 2, 0]
        assert history.team_labels is None
    rows = "1,1,A,0\n1,2,A,0\n1,3,B,1\n2,1,,0\n2,2,,0\n"
    history = of_text(f"match,player,team,rank\n{rows}").history
    assert history.team.tolist() == [0, 0, 1, 0, 1]
    assert history.team_labels.tolist() == ["A", "A", "B", None, None]


@pytest.mark.parametrize(
    ("text", "results"),
    [
        (
            "match,player,team,winner\n1,1,A,B\n1,2,B,B\n2,1,A,\n2,2,B,\n3,1,A,A\n3,2,B,A\n",
            "2>1; 1=2; 1>2",
        ),
        # A player alone is a team whose label is the player's id.
        ("match,player,winner\n1,7,8\n1,8,8\n", "8>7"),
        ("match,player,score\n1,1,-0.0\n1,2,0.0\n", "1=2"),
        (SCORES, "b>a=c; a>c"),
    ],
)
def test_a_winner_or_a_score_decides_instead_of_ranks(text, results):
    assert results_of(of_text(text).history) == results


def test_matches_are_in_order_of_time_and_winners_are_found_by_any_label():
    """The sort is stable, rows of a match keep their order, and need not be adjacent."""
    rows = "3,50,2,0,a\n3,50,1,1,b\n1,20,1,0,c\n2,50,4,0,d\n3,50,9,2,e\n2,50,3,1,f\n"
    history = of_text(f"match,time,player,rank,role\n{rows}").history
    assert history.match_ids.tolist() == [1, 3, 2]
    assert history.player_ids[history.player].tolist() == [1, 2, 1, 9, 4, 3]
    assert history.attributes["role"].tolist() == ["c", "a", "b", "e", "d", "f"]
    assert history.offsets.tolist() == [0, 1, 4, 6]
    table = {"match": [1, 1, 2, 2], "player": [1, 2, 1, 2], "team": ["1", "2", "1", "2"]}
    history = read_history(table | {"winner": [2.0, 2.0, np.nan, np.nan]})
    assert history.rank.tolist() == [1, 0, 0, 0]


def test_values_of_matches_and_rows_are_kept_and_scores_make_places():
    """Weights, ceilings, shares, performances, statistics and attributes follow their rows."""
    history = read_history(
        {
            "match": [2, 2, 1],
            "time": [9, 9, 3],
            "player": [1, 2, 1],
            "rank": [0, 1, 0],
            "weight": [2.0, 2.0, 0.5],
            "performance_ceiling": [1900, 1900, None],
            "share": [1.0, None, 0.25],
            "performance": [None, 3, 4],
            "kills": [5, 6, None],
            "side": ["home", "away", None],
        },
        statistics=["kills"],
    )
    assert history.weight.tolist() == [0.5, 2.0]
    assert np.array_equal(history.performance_ceiling, [np.nan, 1900], equal_nan=True)
    assert history.share.tolist() == [0.25, 1.0, 1.0]
    assert np.array_equal(history.performance, [4, np.nan, 3], equal_nan=True)
    assert np.array_equal(history.statistics["kills"], [np.nan, 5, 6], equal_nan=True)
    assert history.attributes["side"].tolist() == [None, "home", "away"]
    names = ["weight", "performance_ceiling", "share", "performance", "time"]
    nothing = {name: [None] for name in names}
    history = read_history({"match": [1], "player": [1], "rank": [0]} | nothing)
    assert history.weight is None
    assert history.performance_ceiling is None
    assert history.share is None
    assert history.performance is None
    assert history.time is None
    reading = of_text(SCORES)
    assert reading.history.attributes["score"].tolist() == [70, 71, 70, 1000, -5]
    assert reading.notes == ("the column score decides the places: the highest is first",)
    reading = of_text(SCORES, lower_score_is_better=True)
    assert results_of(reading.history) == "a=c>b; c>a"
    assert reading.notes == ("the column score decides the places: the lowest is first",)
    rows = "1,a,x,3\n1,b,x,3\n1,c,y,2.5\n1,d,y,2.5\n"
    history = of_text(f"match,player,team,score\n{rows}").history
    assert history.rank.tolist() == [0, 0, 1, 1]
    assert read_history(history.to_polars()).to_polars().equals(history.to_polars())
    table = {"match": [1, 1], "player": ["a", "b"], "score": [1, 2]}
    (problem,) = scan_history(table, statistics=["score"]).problems
    assert (problem.field, problem.rule) == ("rank", PLACES)
    assert ", of which score is a statistic (--stat)" in problem.got
    told_lower = {"match": [1], "player": [1], "rank": [0], "score": [1]}
    with pytest.raises(InvalidParameterError, match="True or False"):
        scan_history(told_lower, lower_score_is_better="yes")


@pytest.mark.parametrize("lower", [False, True])
def test_places_of_scores_are_those_of_ranks(lower):
    """A history by scores equals the one whose ranks are the order of the scores."""
    rng = np.random.default_rng(3)
    score = rng.integers(-5, 5, 400) / 2.0
    table = {"match": np.repeat(np.arange(50), 8), "player": np.tile(np.arange(8), 50)}
    by_score = read_history({**table, "score": score}, lower_score_is_better=lower)
    rank = (score * (1 if lower else -1) * 2 + 20).astype(np.int64)
    assert np.array_equal(by_score.rank, read_history({**table, "rank": rank}).rank)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, str])
def test_large_whole_scores_do_not_tie(kind):
    score = np.array([2**53, 2**53 + 1]).astype(kind)
    table = pl.DataFrame({"match": ["m", "m"], "player": ["a", "b"], "score": score})
    assert of_text(table.write_csv()).history.rank.tolist() == [1, 0]
    if kind is not str:
        assert read_history(table).rank.tolist() == [1, 0]


@pytest.mark.parametrize("deciding", ["rank", "winner"])
def test_beside_rank_or_winner_a_score_is_a_column_like_any_other(deciding):
    place = {"rank": [1, 1, 0], "winner": ["y"] * 3}[deciding]
    table = {
        "match": [1] * 3,
        "player": ["a", "b", "c"],
        "team": ["x", "x", "y"],
        deciding: place,
        "score": [10, 20, 5],
    }
    reading = scan_history(table)
    assert reading.history.rank.tolist() == [1, 1, 0]
    assert reading.history.attributes["score"].tolist() == [10, 20, 5]
    assert reading.notes == ()
    with pytest.raises(InvalidParameterError, match=f"here {deciding} decides them"):
        scan_history(table, lower_score_is_better=True)


ONE_TEAM = "must be the same for all players of a team"
ONCE = "must appear once in a match"
CEILINGS = "match,player,rank,performance_ceiling\n1,a,0,\n1,b,1,\n2,a,0,5\n2,b,1,\n"
NAME_IT = "columns player, town; --column {0}=NAME says which column it is"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("match,player,rank\n", [(None, "", "must have at least one row", "none")]),
        (
            "player,town\n1,2\n",
            [
                (None, "match", "must be a column of the table", NAME_IT.format("match")),
                (None, "rank", PLACES, NAME_IT.format("rank")),
            ],
        ),
        ("match,player,rank\n1,a,0\n1,b,1\n1,a,2\n2,a,0\n", [(4, "player", ONCE, "'a'")]),
        (
            "match,player,team,rank\n1,a,X,0\n1,b,Y,1\n1,c,X,1\n1,d,Y,1\n",
            [(4, "rank", ONE_TEAM, "'1', while line 2 has '0'")],
        ),
        (
            "match,player,team,score\n1,a,x,3\n1,b,x,4\n1,c,y,2\n",
            [(3, "score", SCORE_IN_TEAM, "'4', while line 2 has '3'")],
        ),
        (
            "match,player,team,rank\n1,a,X,0\n1,b,,1\n2,a,,0\n2,b,,1\n",
            [(3, "team", NO_TEAM, "nothing")],
        ),
        # Without times nothing tells whether an id was used twice, and a match has one time.
        ("match,player,rank\n1,a,0\n2,a,0\n1,b,1\n3,a,0\n", [(4, "match", ADJACENT, "'1'")]),
        (
            "match,time,player,rank\n1,5,a,0\n2,5,a,0\n1,6,b,1\n",
            [(4, "time", SAME, "'6', while line 2 has '5'")],
        ),
        # Absent is a value like others here; two absent ones are no contradiction.
        (CEILINGS, [(5, "performance_ceiling", SAME, "nothing, while line 4 has '5'")]),
        (
            "match,player,rank,share\n,a,0,1\n1,,0,1\n1,b,x,2\n2,c,0,1\n2,c,1,1\n3,d,0,0.5\n",
            [
                (2, "match", NOT_EMPTY, "nothing"),
                (3, "player", NOT_EMPTY, "nothing"),
                (4, "rank", WHOLE, "'x'"),
                (4, "share", SHARE, "'2'"),
                (6, "player", ONCE, "'c'"),
            ],
        ),
        *(
            (f"match,player,rank\n1,a,0\n1,b,{rank}\n", [(3, "rank", WHOLE, repr(rank))])
            for rank in ("x", "-1", "1.5", "nan", "inf", "1e400")
        ),
        ("match,player,rank\n1,a,0\n1,b,\n", [(3, "rank", WHOLE, "nothing")]),
        *(
            (f"match,player,score\n1,a,1\n1,b,{score}\n", [(3, "score", rule, got)])
            for score, rule, got in (
                ("x", NUMBER, "'x'"),
                ("", NUMBER, "nothing"),
                ("nan", NUMBER, "'nan'"),
                ("inf", FINITE, "'inf'"),
            )
        ),
    ],
)
def test_every_problem_has_its_line_its_field_its_rule_and_its_value(text, problems):
    assert problems_of(text) == problems


def test_rules_of_a_winner():
    (problem,) = problems_of("match,player,rank,winner\n1,a,0,a\n")
    assert problem[1:3] == ("winner", ONE_DECIDES)
    text = (
        "match,player,team,winner\n1,a,X,Z\n1,b,Y,Z\n2,a,X,X\n3,a,X,X\n3,b,Y,X\n3,c,Z,X\n"
        "4,a,X,X\n4,b,Y,Y\n5,a,X,Y\n"
    )
    assert problems_of(text) == [
        (2, "winner", NAMES_NONE, "'Z', not 'X' and 'Y'"),
        (4, "team", TWO_TEAMS, "1: 'X'"),
        (5, "team", TWO_TEAMS, "3: 'X' and 'Y' and 'Z'"),
        (9, "winner", SAME, "'Y', while line 8 has 'X'"),
        (10, "team", TWO_TEAMS, "1: 'X'"),
        (10, "winner", NAMES_NONE, "'Y', not 'X'"),
    ]


def test_a_problem_reads_as_a_sentence_and_statistics_are_numbers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("match,player,rank\n1,a,x\n")
    sentence = f"{path}, line 2, rank: {WHOLE}; got 'x'"
    with pytest.raises(InvalidDataError, match=re.escape(sentence)) as caught:
        read_history(path)
    assert str(caught.value.problems[0]) == sentence
    reading = scan_history(
        {"match": [1] * 3, "player": [1, 2, 3], "rank": [0] * 3, "kills": ["3", "many", "inf"]},
        statistics=["kills"],
    )
    assert told(reading.problems) == [
        (2, "kills", "must be a number", "'many'"),
        (3, "kills", "must be a finite number", "'inf'"),
    ]


@pytest.mark.parametrize(
    ("field", "rule", "values"),
    [
        ("weight", "must be a positive number", ["0", "-1"]),
        ("weight", "must be at most 1e9, so that later matches can still be rated", ["1e300"]),
        ("weight", "must be a finite number", ["nan", "inf"]),
        ("weight", "must be a number", ["x"]),
        ("share", "must be a number from 0 to 1", ["-0.1", "1.5"]),
        ("share", "must be a number", ["all"]),
        ("performance", "must be a finite number", ["inf"]),
        ("performance", "must be a number", ["1,5"]),
        ("performance_ceiling", "must be a number", ["high"]),
        ("rated", "must be true or false", ["maybe", "2"]),
    ],
)
def test_optional_columns_have_rules(field, rule, values):
    for value in values:
        text = f'match,player,rank,{field}\n1,a,0,1\n2,b,0,"{value}"\n'
        assert problems_of(text) == [(3, field, rule, repr(value))]


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("weight", "1", "2"),
        ("performance_ceiling", "1900", "2000"),
        ("rated", "true", "false"),
        ("time", "5", "6"),
    ],
)
def test_what_holds_for_a_match_is_the_same_on_all_its_rows(field, one, other):
    """The first row that differs is told with the line of the one it differs from."""
    text = f"match,player,rank,{field}\n1,a,0,{one}\n1,b,1,{one}\n1,c,2,{other}\n2,a,0,{one}\n"
    assert problems_of(text) == [(4, field, SAME, f"{other!r}, while line 2 has {one!r}")]


def test_many_problems_are_told_once_or_summed_up():
    count = 300
    reading = scan_history(
        {
            "match": list(range(count)),
            "time": [1_700_000_000_000 + at for at in range(count)],
            "player": [1] * count,
            "rank": [0] * count,
        }
    )
    rule = "must be seconds since 1970, at most 100000000000 (milliseconds?)"
    got = "1700000000000, and the same on all 300 rows"
    assert told(reading.problems) == [(1, "time", rule, got)]
    count = 60
    table = {"match": list(range(count)), "player": [1] * count}
    ranks = ["x" if at % 2 else "0" for at in range(count)]
    with pytest.raises(InvalidDataError, match=rf"30 problems .*30 x rank: {WHOLE}"):
        read_history(table | {"rank": ranks})
    players = np.arange(70_000).repeat(2)
    matches = np.tile(np.arange(70_000), (2, 1)).T.ravel()
    reading = scan_history({"match": matches, "player": players, "rank": np.zeros(140_000, int)})
    assert len(reading.problems) == 70_000
    assert told(reading.problems[:1]) == [(2, "player", "must appear once in a match", "0")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"statistics": ["kils"]},
        {"statistics": ["rank"]},
        {"statistics": "kills"},
        {"columns": {"player": "nobody"}},
        {"columns": {"player": ""}},
        {"columns": ["player"]},
        {"where": {"nothing": 1}},
        {"where": "kills"},
        {"where": [1]},
        {"where": {1: 2}},
        {"skip_bad": "all"},
        {"skip_bad": True},
        {"since": 5},
        {"until": "2020-01-01"},
        {"format": "word"},
    ],
)
def test_wrong_usage_is_told_apart_from_bad_data(wrong):
    """The caller's mistakes raise InvalidParameterError, also from scan_history."""
    table = {"match": [1, 1], "player": [1, 2], "rank": [0, 1], "kills": [1, 2]}
    with pytest.raises(InvalidParameterError):
        scan_history(table, **wrong)


HEAVY = (2, "weight", NUMBER)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "match,time,player,rank\n1,2024-01-01,a,x\n1,2024-01-02,b,1\n",
            [(2, "rank", WHOLE), (3, "time", SAME)],
        ),
        (
            "match,player,rank,weight\n1,a,x,1\n1,b,0,heavy\n1,c,1,2\n",
            [(2, "rank", WHOLE), (3, "weight", NUMBER), (4, "weight", SAME)],
        ),
        ("match,player,rank\n1,a,x\n1,a,1\n1,b,2\n", [(2, "rank", WHOLE), (3, "player", ONCE)]),
        (
            "match,player,team,rank,weight\n1,a,t,0,heavy\n1,b,t,1,1\n1,c,u,2,1\n",
            [HEAVY, (3, "rank", ONE_TEAM)],
        ),
        ("match,player,winner,weight\n1,a,c,heavy\n1,b,c,1\n", [HEAVY, (2, "winner", NAMES_NONE)]),
        (
            "match,player,winner,weight\n1,a,a,heavy\n1,b,a,1\n1,c,a,1\n",
            [HEAVY, (2, "player", TWO_TEAMS)],
        ),
        ("match,player,winner,weight\n1,a,a,heavy\n1,b,b,1\n", [HEAVY, (3, "winner", SAME)]),
        # Without a player's name, nobody knows how many teams there are or who of them won.
        ("match,player,winner\n1,a,a\n1,,a\n1,c,a\n", [(3, "player", NOT_EMPTY)]),
        ("match,player,winner,weight\n1,a,z,1\n1,,z,1\n", [(3, "player", NOT_EMPTY)]),
        ("match,player,team,winner\n1,a,t,t\n1,b,,t\n", [(3, "team", NO_TEAM)]),
        (
            "match,player,winner\n1,a,z\n1,b,z,more\n",
            [(3, "", "must have 3 fields like the header")],
        ),
    ],
)
def test_a_bad_cell_hides_nothing_else_of_its_match_except_what_it_leaves_open(text, found):
    good = "2,2024-02-01,a,0\n2,2024-02-01,b,1\n" if "time" in text else ""
    assert [problem[:3] for problem in problems_of(text + good)] == found


@pytest.mark.parametrize(
    ("values", "home"),
    [
        (["yes ", "No", None, "1"], [True, False, False, True]),
        (["1.0", "0.0", "1", "true"], [True, False, True, True]),
        ([1, 0, 1, None], [True, False, True, False]),
        ([1.0, 0.0, None, 1.0], [True, False, False, True]),
        ([True, False, None, True], [True, False, False, True]),
        (["yes", "maybe", "yes", "yes"], None),
        (["yes", "2", "yes", "yes"], None),
        ([1.0, 0.5, 1.0, 1.0], None),
    ],
)
def test_at_home_is_true_or_false(values, home):
    columns = {"match": [1, 1, 2, 2], "player": ["a", "b"] * 2, "rank": [0, 1] * 2}
    reading = scan_history(pl.DataFrame({**columns, "at_home": values}))
    if home is not None:
        assert reading.history.at_home().tolist() == home
        return
    (problem,) = reading.problems
    assert (problem.line, problem.field, problem.rule) == (2, "at_home", TRUTH)


# The readers on real data, where it is at hand.


def test_codeforces_is_read_as_it_is():
    """1,062 contests; players, ranks and offsets against plain Polars."""
    path = real_data("codeforces.parquet")
    history = read_history(path)
    frame = pl.read_parquet(path)
    assert (history.matches, history.players, history.participations) == (1_062, 274_337, 2_993_221)
    assert np.array_equal(history.player_ids[history.player], frame["player"].to_numpy())
    assert np.array_equal(history.match_ids, frame["match"].unique(maintain_order=True).to_numpy())
    dense = frame.select(pl.col("rank").rank("dense").over("match") - 1).to_series()
    assert np.array_equal(history.rank, dense.to_numpy())
    assert np.array_equal(np.repeat(history.times(), history.sizes()), frame["time"].to_numpy())
    assert history.team[history.offsets[1:] - 1].tolist() == (history.sizes() - 1).tolist()


def test_raw_games_are_refused_with_every_problem_or_read_as_the_clean_ones():
    """7 rows without a team, 218 matches with an empty side, 40 of which it is said to have won."""
    reading = scan_history(real_data("ut4_raw.csv.gz"))
    assert reading.history is None
    kinds = pl.Series([f"{one.field}: {one.rule}" for one in reading.problems]).value_counts()
    assert dict(kinds.iter_rows()) == {
        "team: must have exactly two teams if a winner is given": 218,
        "winner: must name one of the match's teams, or be empty for a draw": 40,
        "team: must not be empty if other rows of the match have a team": 7,
    }
    lines = [one.line for one in reading.problems if "not be empty" in one.rule]
    assert lines == [28, 40, 51, 61, 69, 11_039, 11_448]
    statistics = ["kills", "deaths", "damage", "score"]
    raw, clean = real_data("ut4_raw.csv.gz"), real_data("ut4.parquet")
    reading = scan_history(raw, statistics=statistics, skip_bad="rows")
    expected = read_history(clean, statistics=statistics)
    assert (expected.matches, expected.participations, expected.players) == (3_578, 18_020, 497)
    assert (len(reading.dropped_matches), reading.dropped_rows) == (218, 7)
    found = reading.history.to_polars().drop("ping")
    assert found.equals(expected.to_polars())
    assert found["team"].equals(pl.read_parquet(clean)["team"])


def test_internationals_keep_dates_and_attributes(tmp_path):
    path = real_data("football.parquet")
    history = read_history(path, statistics=["goals"])
    assert (history.matches, history.players, history.time_kind) == (49_520, 337, "date")
    assert str(history.times()[0]) == "1872-11-30"
    assert int((history.distinct_ranks() == 1).sum()) == 11_258
    for suffix in ("csv", "parquet"):
        write_history(history, tmp_path / f"football.{suffix}")
        again = read_history(tmp_path / f"football.{suffix}", statistics=["goals"])
        assert_same_history(again, history)
