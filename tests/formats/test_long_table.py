"""The rules of the long table: what is read from good rows, what is told about bad ones."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest

from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.formats import read_history, scan_history
from equipoise.formats.tables.meanings import PLACES
from formats.comparing import told

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

WHOLE = "must be a whole number from 0"


@pytest.fixture
def problems_of(tmp_path):
    """Give the problems of a CSV file with some text, as (line, field, rule, got)."""

    def scan(text, **options):
        path = tmp_path / "table.csv"
        path.write_text(text)
        reading = scan_history(path, **options)
        assert (reading.history is None) == bool(reading.problems)
        return told(reading.problems)

    return scan


def columns(*names, rows):
    """Return a mapping of columns from rows."""
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def test_ranks_are_dense_from_zero_within_a_match():
    """Ranks 1, 1, 4 of a match become 0, 0, 1 whatever the order of its rows."""
    history = read_history(
        {"match": [1, 1, 1, 2, 2], "player": [1, 2, 3, 1, 2], "rank": [4, 1, 1, 9, 5]}
    )
    assert history.rank.tolist() == [1, 0, 0, 1, 0]


@pytest.mark.parametrize("high", [7, 10_000, 10**12, 2**60])
def test_dense_ranks_do_not_depend_on_how_large_ranks_are(high):
    """A few ranks far apart are numbered like near ones."""
    history = read_history({"match": [1] * 4, "player": [1, 2, 3, 4], "rank": [high, 3, high, 0]})
    assert history.rank.tolist() == [2, 1, 2, 0]


def test_players_are_numbered_in_order_of_their_ids():
    """Whole numbers sort by value, text by code point, and row numbers do not depend on order."""
    numbers = read_history({"match": [1] * 3, "player": [10, 9, -3], "rank": [0, 1, 2]})
    assert numbers.player_ids.tolist() == [-3, 9, 10]
    assert numbers.player.tolist() == [2, 1, 0]
    text = read_history({"match": [1] * 4, "player": ["b", "10", "é", "9"], "rank": [0, 1, 2, 3]})
    assert text.player_ids.tolist() == ["10", "9", "b", "é"]
    assert text.player_ids.dtype == object


def test_ids_far_apart_are_numbered_like_near_ones():
    """Ids as large as those of chat services are kept exactly."""
    ids = [2**62, 5, 2**62 + 1, -(2**62)]
    history = read_history({"match": [1] * 4, "player": ids, "rank": [0, 1, 2, 3]})
    assert history.player_ids.tolist() == sorted(ids)
    assert history.player_ids[history.player].tolist() == ids


def test_teams_are_numbered_by_first_appearance():
    """The first team named in a match is team 0; labels stay as they came."""
    history = read_history(
        columns(
            "match",
            "player",
            "team",
            "rank",
            rows=[
                (1, 1, "Red", 1),
                (1, 2, "Blue", 0),
                (1, 3, "Red", 1),
                (2, 1, "Blue", 0),
                (2, 2, "Red", 1),
            ],
        )
    )
    assert history.team.tolist() == [0, 1, 0, 0, 1]
    assert history.team_labels.tolist() == ["Red", "Blue", "Red", "Blue", "Red"]


def test_without_teams_every_player_is_alone():
    """No column, or nothing in it, makes teams of one."""
    table = {"match": [1, 1, 1, 2], "player": [1, 2, 3, 1], "rank": [0, 1, 2, 0]}
    for more in ({}, {"team": [None] * 4}, {"team": [""] * 4}):
        history = read_history(table | more)
        assert history.team.tolist() == [0, 1, 2, 0]
        assert history.team_labels is None


def test_a_match_without_any_team_is_one_of_lone_players():
    """Teams may be empty throughout a match while other matches have some."""
    history = read_history(
        columns(
            "match",
            "player",
            "team",
            "rank",
            rows=[(1, 1, "A", 0), (1, 2, "A", 0), (1, 3, "B", 1), (2, 1, None, 0), (2, 2, None, 0)],
        )
    )
    assert history.team.tolist() == [0, 0, 1, 0, 1]
    assert history.team_labels.tolist() == ["A", "A", "B", None, None]


def test_a_winner_decides_instead_of_ranks():
    """The winning team's label stands for ranks 0 and 1; an empty one is a draw."""
    history = read_history(
        columns(
            "match",
            "player",
            "team",
            "winner",
            rows=[
                (1, 1, "A", "B"),
                (1, 2, "B", "B"),
                (2, 1, "A", None),
                (2, 2, "B", None),
                (3, 1, "A", "A"),
                (3, 2, "B", "A"),
            ],
        )
    )
    assert history.rank.tolist() == [1, 0, 0, 0, 0, 1]


def test_in_a_duel_without_teams_the_winner_is_a_player():
    """A player alone is a team whose label is the player's id."""
    history = read_history({"match": [1, 1], "player": [7, 8], "winner": [8, 8]})
    assert history.rank.tolist() == [1, 0]


def test_a_winner_is_found_whether_labels_are_numbers_or_text():
    """A column of winners with a gap is one of floats in pandas."""
    table = {"match": [1, 1, 2, 2], "player": [1, 2, 1, 2], "team": ["1", "2", "1", "2"]}
    history = read_history(table | {"winner": [2.0, 2.0, np.nan, np.nan]})
    assert history.rank.tolist() == [1, 0, 0, 0]


def test_matches_are_in_order_of_time_and_equal_times_in_order_of_the_file():
    """The sort is stable; rows of a match keep their order."""
    history = read_history(
        {
            "match": [3, 3, 1, 2, 2],
            "time": [50, 50, 20, 50, 50],
            "player": [2, 1, 1, 4, 3],
            "rank": [0, 1, 0, 0, 1],
        }
    )
    assert history.match_ids.tolist() == [1, 3, 2]
    assert history.player_ids[history.player].tolist() == [1, 2, 1, 4, 3]
    assert history.offsets.tolist() == [0, 1, 3, 5]


def test_scattered_rows_of_one_time_are_one_match():
    """Rows that are not adjacent belong together if they share a time."""
    history = read_history(
        {
            "match": [1, 2, 1, 2],
            "time": [5, 5, 5, 5],
            "player": [1, 2, 3, 4],
            "rank": [0, 0, 1, 1],
            "role": ["a", "b", "c", "d"],
        }
    )
    assert history.match_ids.tolist() == [1, 2]
    assert history.player_ids[history.player].tolist() == [1, 3, 2, 4]
    assert history.attributes["role"].tolist() == ["a", "c", "b", "d"]


def test_values_of_matches_and_rows_are_kept():
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


def test_empty_optional_columns_are_absent():
    """A column with nothing in it is as if it were not there."""
    names = ["weight", "performance_ceiling", "share", "performance", "time"]
    nothing = {name: [None] for name in names}
    history = read_history({"match": [1], "player": [1], "rank": [0]} | nothing)
    assert history.weight is None
    assert history.performance_ceiling is None
    assert history.share is None
    assert history.performance is None
    assert history.time is None


def test_missing_columns_are_all_told(problems_of):
    """What is required and what is there stand in the message."""
    assert problems_of("player,town\n1,2\n") == [
        (
            None,
            "match",
            "must be a column of the table",
            "columns player, town; --column match=NAME says which column it is",
        ),
        (None, "rank", PLACES, "columns player, town; --column rank=NAME says which column it is"),
    ]


SCORES = "match,player,score\n1,a,70\n1,b,71\n1,c,70.0\n2,a,1e3\n2,c,-5\n"


def test_scores_make_places():
    """The highest is first, equal ones tie; a note says so, and the column is kept."""
    reading = scan_history(io.BytesIO(SCORES.encode()), format="csv")
    assert reading.history.rank.tolist() == [1, 0, 1, 0, 1]
    assert reading.history.attributes["score"].tolist() == [70, 71, 70, 1000, -5]
    assert reading.notes == ("the column score decides the places: the highest is first",)


def test_lower_scores_may_be_better():
    reading = scan_history(io.BytesIO(SCORES.encode()), format="csv", lower_score_is_better=True)
    assert reading.history.rank.tolist() == [0, 1, 0, 1, 0]
    assert reading.notes == ("the column score decides the places: the lowest is first",)


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
    """2^53 and the next whole number are one float64."""
    score = np.array([2**53, 2**53 + 1]).astype(kind)
    table = pl.DataFrame({"match": ["m", "m"], "player": ["a", "b"], "score": score})
    source = io.BytesIO(table.write_csv().encode())
    assert read_history(source, format="csv").rank.tolist() == [1, 0]
    if kind is not str:
        assert read_history(table).rank.tolist() == [1, 0]


def test_zeros_tie_whatever_their_sign():
    history = read_history({"match": [1, 1], "player": [1, 2], "score": [-0.0, 0.0]})
    assert history.rank.tolist() == [0, 0]


def test_a_table_by_score_reads_back_equal():
    """What is written has ranks, beside which a score is a column like any other."""
    teams = "match,player,team,score\n1,a,x,3\n1,b,x,3\n1,c,y,2.5\n1,d,y,2.5\n"
    history = read_history(io.BytesIO(teams.encode()), format="csv")
    assert history.rank.tolist() == [0, 0, 1, 1]
    again = read_history(history.to_polars())
    assert again.to_polars().equals(history.to_polars())


def test_a_score_is_one_for_all_players_of_a_team(problems_of):
    """Else it is a player's statistic, for which there is --stat."""
    (problem,) = problems_of("match,player,team,score\n1,a,x,3\n1,b,x,4\n1,c,y,2\n")
    line, name, rule, got = problem
    assert (line, name, got) == (3, "score", "'4', while line 2 has '3'")
    assert rule.startswith("must be the same for all players of a team")
    assert "--stat score=WEIGHT" in rule


@pytest.mark.parametrize("score", ["x", "inf", "", "nan"])
def test_a_score_that_makes_places_is_a_number(problems_of, score):
    (problem,) = problems_of(f"match,player,score\n1,a,1\n1,b,{score}\n")
    assert problem[:2] == (3, "score")
    assert problem[2] in ("must be a number", "must be a finite number")


@pytest.mark.parametrize("deciding", ["rank", "winner"])
def test_beside_rank_or_winner_a_score_is_a_column_like_any_other(deciding):
    """Of the UT4 matches it is a player's own."""
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


def test_a_score_that_is_a_statistic_makes_no_places():
    table = {"match": [1, 1], "player": ["a", "b"], "score": [1, 2]}
    (problem,) = scan_history(table, statistics=["score"]).problems
    assert (problem.field, problem.rule) == ("rank", PLACES)
    assert ", of which score is a statistic (--stat)" in problem.got
    told_lower = {"match": [1], "player": [1], "rank": [0], "score": [1]}
    with pytest.raises(InvalidParameterError, match="True or False"):
        scan_history(told_lower, lower_score_is_better="yes")


def test_rank_and_winner_exclude_each_other(problems_of):
    """Two columns that decide a match could contradict each other."""
    (problem,) = problems_of("match,player,rank,winner\n1,a,0,a\n")
    assert problem[1:3] == (
        "winner",
        "cannot be combined with rank: only one of the two can decide a match",
    )


@pytest.mark.parametrize("text", ["match,player,rank\n", "match,player,rank\n\n\n"])
def test_a_table_needs_rows(problems_of, text):
    """A header alone is no history."""
    assert problems_of(text) == [(None, "", "must have at least one row", "none")]


@pytest.mark.parametrize("rank", ["x", "-1", "1.5", "nan", "inf", "", "1e400"])
def test_a_rank_is_a_whole_number_from_zero(problems_of, rank):
    """Anything else is told with its line."""
    got = repr(rank) if rank else "nothing"
    assert problems_of(f"match,player,rank\n1,a,0\n1,b,{rank}\n") == [(3, "rank", WHOLE, got)]


def test_a_problem_reads_as_a_sentence(tmp_path):
    """File, line, field, rule and what came."""
    path = tmp_path / "table.csv"
    path.write_text("match,player,rank\n1,a,x\n")
    with pytest.raises(InvalidDataError) as caught:
        read_history(path)
    sentence = f"{path}, line 2, rank: {WHOLE}; got 'x'"
    assert str(caught.value.problems[0]) == sentence
    assert sentence in str(caught.value)


def test_nan_ranks_of_frames_are_told():
    """NaN is no rank, nor is a missing one."""
    reading = scan_history({"match": [1, 1], "player": [1, 2], "rank": [np.nan, 0.0]})
    assert told(reading.problems) == [(1, "rank", WHOLE, "nan")]


def test_all_problems_are_listed_in_the_order_of_lines(problems_of):
    """Not only the first one, and those of one line together."""
    found = problems_of(
        "match,player,rank,share\n,a,0,1\n1,,0,1\n1,b,x,2\n2,c,0,1\n2,c,1,1\n3,d,0,0.5\n"
    )
    assert [(line, field) for line, field, _, _ in found] == [
        (2, "match"),
        (3, "player"),
        (4, "rank"),
        (4, "share"),
        (6, "player"),
    ]


def test_a_player_appears_once_in_a_match(problems_of):
    """The second appearance is the bad row."""
    assert problems_of("match,player,rank\n1,a,0\n1,b,1\n1,a,2\n2,a,0\n") == [
        (4, "player", "must appear once in a match", "'a'")
    ]


def test_a_repeated_player_is_found_among_ids_far_apart():
    """The check does not depend on how many players and matches there are."""
    players = np.arange(70_000).repeat(2)
    matches = np.tile(np.arange(70_000), (2, 1)).T.ravel()
    reading = scan_history({"match": matches, "player": players, "rank": np.zeros(140_000, int)})
    assert len(reading.problems) == 70_000
    assert told(reading.problems[:1]) == [(2, "player", "must appear once in a match", "0")]


def test_a_team_has_one_rank(problems_of):
    """The first player of a team who differs is told."""
    assert problems_of("match,player,team,rank\n1,a,X,0\n1,b,Y,1\n1,c,X,1\n1,d,Y,1\n") == [
        (4, "rank", "must be the same for all players of a team", "'1', while line 2 has '0'")
    ]


def test_a_team_may_not_be_missing_where_others_have_one(problems_of):
    """An empty team beside named ones is a bad row."""
    rule = "must not be empty if other rows of the match have a team"
    assert problems_of("match,player,team,rank\n1,a,X,0\n1,b,,1\n2,a,,0\n2,b,,1\n") == [
        (3, "team", rule, "nothing")
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
def test_optional_columns_have_rules(problems_of, field, rule, values):
    """Every value that breaks the rule of its column is told."""
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
def test_what_holds_for_a_match_is_the_same_on_all_its_rows(problems_of, field, one, other):
    """The first row that differs is told with the line of the one it differs from."""
    text = f"match,player,rank,{field}\n1,a,0,{one}\n1,b,1,{one}\n1,c,2,{other}\n2,a,0,{one}\n"
    rule = "must be the same on all rows of a match"
    assert problems_of(text) == [(4, field, rule, f"{other!r}, while line 2 has {one!r}")]


def test_empty_ceilings_agree_with_each_other_but_not_with_a_number(problems_of):
    """Absent is a value like others here; two absent ones are no contradiction."""
    rows = "1,a,0,\n1,b,1,\n2,a,0,5\n2,b,1,\n"
    found = problems_of(f"match,player,rank,performance_ceiling\n{rows}")
    assert [(line, field, got) for line, field, _, got in found] == [
        (5, "performance_ceiling", "nothing, while line 4 has '5'")
    ]


def test_scattered_rows_without_times_are_an_error(problems_of):
    """Without times nothing tells whether an id was used twice."""
    (problem,) = problems_of("match,player,rank\n1,a,0\n2,a,0\n1,b,1\n3,a,0\n")
    assert problem[:2] == (4, "match")
    assert problem[2].startswith("must be on adjacent rows if there are no times")


def test_scattered_rows_of_different_times_are_an_error(problems_of):
    """One match has one time."""
    (problem,) = problems_of("match,time,player,rank\n1,5,a,0\n2,5,a,0\n1,6,b,1\n")
    assert problem[:2] == (4, "time")


def test_rules_of_a_winner(problems_of):
    """Two teams, and the winner one of them or nobody."""
    text = (
        "match,player,team,winner\n1,a,X,Z\n1,b,Y,Z\n2,a,X,X\n3,a,X,X\n3,b,Y,X\n3,c,Z,X\n"
        "4,a,X,X\n4,b,Y,Y\n5,a,X,Y\n"
    )
    two_teams = "must have exactly two teams if a winner is given"
    names_none = "must name one of the match's teams, or be empty for a draw"
    assert problems_of(text) == [
        (2, "winner", names_none, "'Z', not 'X' and 'Y'"),
        (4, "team", two_teams, "1: 'X'"),
        (5, "team", two_teams, "3: 'X' and 'Y' and 'Z'"),
        (9, "winner", "must be the same on all rows of a match", "'Y', while line 8 has 'X'"),
        (10, "team", two_teams, "1: 'X'"),
        (10, "winner", names_none, "'Y', not 'X'"),
    ]


def test_the_same_mistake_on_every_row_is_told_once():
    """Three million equal sentences help nobody."""
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


def test_many_problems_are_summed_up_by_rule():
    """A long report starts with how many there are of each kind."""
    count = 60
    table = {"match": list(range(count)), "player": [1] * count}
    ranks = ["x" if at % 2 else "0" for at in range(count)]
    with pytest.raises(InvalidDataError, match=rf"30 problems .*30 x rank: {WHOLE}"):
        read_history(table | {"rank": ranks})


def test_statistics_are_numbers():
    """Text and infinity are refused, nothing is absent."""
    reading = scan_history(
        {"match": [1] * 3, "player": [1, 2, 3], "rank": [0] * 3, "kills": ["3", "many", "inf"]},
        statistics=["kills"],
    )
    assert told(reading.problems) == [
        (2, "kills", "must be a number", "'many'"),
        (3, "kills", "must be a finite number", "'inf'"),
    ]


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


SAME = "must be the same on all rows of a match"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "match,time,player,rank\n1,2024-01-01,a,x\n1,2024-01-02,b,1\n",
            [(2, "rank", WHOLE), (3, "time", SAME)],
        ),
        (
            "match,player,rank,weight\n1,a,x,1\n1,b,0,heavy\n1,c,1,2\n",
            [(2, "rank", WHOLE), (3, "weight", "must be a number"), (4, "weight", SAME)],
        ),
        (
            "match,player,rank\n1,a,x\n1,a,1\n1,b,2\n",
            [(2, "rank", WHOLE), (3, "player", "must appear once in a match")],
        ),
        (
            "match,player,team,rank,weight\n1,a,t,0,heavy\n1,b,t,1,1\n1,c,u,2,1\n",
            [
                (2, "weight", "must be a number"),
                (3, "rank", "must be the same for all players of a team"),
            ],
        ),
        (
            "match,player,winner,weight\n1,a,c,heavy\n1,b,c,1\n",
            [
                (2, "weight", "must be a number"),
                (2, "winner", "must name one of the match's teams, or be empty for a draw"),
            ],
        ),
        (
            "match,player,winner,weight\n1,a,a,heavy\n1,b,a,1\n1,c,a,1\n",
            [
                (2, "weight", "must be a number"),
                (2, "player", "must have exactly two teams if a winner is given"),
            ],
        ),
        (
            "match,player,winner,weight\n1,a,a,heavy\n1,b,b,1\n",
            [(2, "weight", "must be a number"), (3, "winner", SAME)],
        ),
    ],
)
def test_a_bad_cell_does_not_hide_what_else_is_wrong_with_its_match(problems_of, text, found):
    """Also not on its own row; the match is dropped whole all the same where that is asked for."""
    good = "2,2024-02-01,a,0\n2,2024-02-01,b,1\n" if "time" in text else ""
    assert [one[:3] for one in problems_of(text + good)] == found


@pytest.mark.parametrize(
    "text",
    [
        "match,player,winner\n1,a,a\n1,,a\n1,c,a\n",  # perhaps a again, or a third player
        "match,player,winner,weight\n1,a,z,1\n1,,z,1\n",  # perhaps the winner
        "match,player,team,winner\n1,a,t,t\n1,b,,t\n",
        "match,player,winner\n1,a,z\n1,b,z,more\n",
    ],
)
def test_nothing_is_told_that_a_bad_cell_leaves_open(problems_of, text):
    """Without a player's name, nobody knows how many teams there are or who of them won."""
    assert len(problems_of(text)) == 1


def test_dropping_bad_rows_keeps_what_is_good_without_them():
    """A player's bad row is no reason to drop the good one, as it was."""
    table = {"match": [1, 1, 1], "player": ["a", "a", "b"], "rank": [-1, 0, 1]}
    reading = scan_history(table, skip_bad="rows")
    assert reading.history.participations == 2
    assert reading.dropped_rows == 1


def test_at_home_is_true_or_false():
    """Every known word, and absent cells; another one would be read as false."""
    for values in (
        ["yes ", "No", None, "1"],
        ["1.0", "0.0", "1", "true"],
        [1, 0, 1, None],
        [1.0, 0.0, None, 1.0],
        [True, False, None, True],
    ):
        columns = {"match": [1, 1, 2, 2], "player": ["a", "b"] * 2, "rank": [0, 1] * 2}
        reading = scan_history(pl.DataFrame({**columns, "at_home": values}))
        assert reading.problems == ()
        home = [str(one).strip() in ("yes", "1", "1.0", "True", "true") for one in values]
        assert reading.history.at_home().tolist() == home
    for value in ("maybe", "2", 0.5):
        columns = {"match": [1, 1], "player": ["a", "b"], "rank": [0, 1]}
        known = "yes" if isinstance(value, str) else 1.0
        (problem,) = scan_history(pl.DataFrame({**columns, "at_home": [known, value]})).problems
        assert (problem.line, problem.field, problem.rule) == (
            2,
            "at_home",
            "must be true or false",
        )
