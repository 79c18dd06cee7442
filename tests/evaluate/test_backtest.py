"""Backtests of whole systems: against the slow definitions, the authors, and the paper."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise import Elo, EloMMR, Glicko2
from equipoise.data.backtest import LEAST_DIFFERENCE, ORDER_METRICS, SCORE_METRICS, judge
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.evaluate import backtest as module
from equipoise.evaluate.backtest import Scoring, SystemPredictor, backtest
from equipoise.evaluate.scoring.tally import SUMS, Scored
from equipoise.evaluate.synthetic import ContestModel, simulate_contests
from equipoise.formats import read_history
from equipoise.numeric.workers import Workers
from equipoise.rating import one_match
from equipoise.rating.one_match import OneMatch
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem
from evaluate.histories import contests
from evaluate.predictions import history_of, predicted_matches
from rating.histories import needs_jit, shared_file
from reference import metrics as slow
from reference.metrics import Team


def duels(scores: list[float], attributes: dict[str, np.ndarray] | None = None) -> History:
    """Return matches of player 0, listed first, who made these scores against player 1."""
    ranks = [(0, 0) if score == 0.5 else (int(score < 1), int(score > 0)) for score in scores]
    history = one_match.history_of([OneMatch((1, 1), one) for one in ranks], [[0, 1]] * len(ranks))
    return dataclasses.replace(history, attributes=attributes or {})


def before(system: RatingSystem, history: History) -> Outlook:
    """Return what one replay knew before each match."""
    trace = replay(system, history, trace=True).trace
    return system.outlook(
        trace.columns["rating_before"], trace.columns["deviation_before"], history
    )


def as_teams(history: History, outlook: Outlook) -> list[list[Team]]:
    """Return the matches of a history of single players, as they were predicted."""
    columns = (outlook.centre, outlook.scale**2, history.rank, history.player)
    teams = [
        Team(float(centre), float(variance), int(rank), [int(player)])
        for centre, variance, rank, player in zip(*columns, strict=True)
    ]
    return [teams[low:high] for low, high in pairwise(history.offsets.tolist())]


@pytest.mark.parametrize("system", [Elo(), EloMMR(rho=0.04)])
@pytest.mark.parametrize("as_authors", [False, True])
def test_a_system_is_scored_on_what_it_knew_before_each_match(
    system: RatingSystem, as_authors: bool
) -> None:
    """Predictions from the trace of a plain replay, metrics from the slow definitions."""
    history = contests()
    found = backtest(
        {"it": system}, history, min_history=2, first=3, ties_as_authors=as_authors
    ).of("it")
    teams = as_teams(history, before(system, history))
    wanted = slow.Backtest(teams, 2, 3, as_authors).run()
    for name in (*ORDER_METRICS, *SCORE_METRICS):
        assert found.metrics[name] == pytest.approx(wanted.means[name].mean, abs=1e-8), name


@given(matches=predicted_matches(), min_history=st.integers(0, 2))
@examples(25)
def test_teams_are_predicted_as_a_whole(matches: list[list[Team]], min_history: int) -> None:
    """Elo plays teams at their mean; of a team with newcomers the others are scored."""
    history = history_of(matches)
    outlook = before(Elo(), history)
    row = 0
    for match in matches:
        for team in match:
            members = slice(row, row + len(team.players))
            team.centre = float(np.sum(outlook.centre[members])) / len(team.players)
            team.variance = float(np.mean(outlook.scale[members] ** 2))
            row = members.stop
    wanted = slow.Backtest(matches, min_history, 0, False).run()
    if not wanted.participations:
        with pytest.raises(InvalidDataError, match="nothing to score"):
            backtest({"elo": Elo()}, history, min_history=min_history)
        return
    found = backtest({"elo": Elo()}, history, min_history=min_history)
    assert found.participations == wanted.participations
    for name in (*ORDER_METRICS, *SCORE_METRICS):
        mean = wanted.means[name].mean
        assert found.of("elo").metrics[name] == pytest.approx(mean, abs=1e-8, nan_ok=True), name


def test_the_result_of_a_match_never_reaches_its_prediction() -> None:
    """Turning the last result round turns the score of its prediction, and nothing else."""
    history = duels([1, 1, 1, 0])
    turned = duels([1, 1, 1, 1])
    lost, won = (
        backtest({"elo": Elo()}, one, min_history=0, first=3).of("elo").metrics
        for one in (history, turned)
    )
    p = math.exp(-won["log_loss"])
    assert p > 0.5
    assert lost["log_loss"] == pytest.approx(-math.log(1 - p), abs=1e-12)


@needs_jit
def test_pieces_and_threads_change_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, whatever is rated and scored together."""
    history = contests(30, 80)
    systems = {"mmr": EloMMR(), "elo": Elo()}
    whole = backtest(systems, history, all_pairs=10)
    threaded = backtest(systems, history, all_pairs=10, threads=3)
    assert repr(threaded) == repr(whole)
    monkeypatch.setattr(module, "Scoring", partial(Scoring, piece=150))
    in_pieces = backtest(systems, history, all_pairs=10, threads=2)
    for one, other in zip(in_pieces.systems, whole.systems, strict=True):
        assert one.metrics == other.metrics
        assert one.intervals == other.intervals


def test_every_system_is_scored_on_the_same_participations() -> None:
    """A contest in which all tie is no match to be scored or counted, whoever rates it."""
    history = contests()
    tied = history.match_rows() == 4
    history = dataclasses.replace(history, rank=np.where(tied, 0, history.rank))
    elo = backtest({"elo": Elo()}, history, min_history=1)
    both = backtest({"mmr": EloMMR(), "elo": Elo()}, history, min_history=1)
    assert (elo.matches, elo.participations) == (both.matches, both.participations)
    assert elo.of("elo").metrics == both.of("elo").metrics
    assert elo.matches == history.matches - 2  # nobody has played before the first


def test_scores_are_given_by_experience() -> None:
    """Newcomers, few matches, five or more as asked for by default, and everybody."""
    history, systems = contests(14), {"mmr": EloMMR(), "elo": Elo()}
    found = backtest(systems, history)
    spans = [(0, 0), (1, 4), (5, None), (0, None)]
    assert [(one.first, one.last) for one in found.groups] == spans
    new, few, experienced, everybody = (one.participations for one in found.groups)
    # Of a match that is left with one experienced player that player is in no group.
    assert 0 <= everybody - (new + few + experienced) < history.matches
    assert (found.participations, everybody) == (experienced, history.participations)
    every = backtest(systems, history, min_history=0)
    for label in ("mmr", "elo", "baseline"):
        of_group = found.group(5, None).of(label)
        assert all(
            value == found.of(label).metrics[name] for name, value in of_group.metrics.items()
        )
        for name, bounds in of_group.intervals.items():
            assert bounds == found.of(label).intervals[name]
        for one in (found, every):
            of_all = one.group(0, None).of(label).metrics
            assert all(value == every.of(label).metrics[name] for name, value in of_all.items())
        assert every.group(5, None).of(label).metrics == of_group.metrics
    for group in found.groups:
        (difference,) = group.differences
        for name, (lower, upper) in difference.intervals.items():
            one, other = (group.of(label).metrics[name] for label in ("mmr", "elo"))
            assert difference.metrics[name] == one - other
            # Fewer than twenty contests have no interval.
            assert lower <= upper or math.isnan(lower)


def test_a_group_of_nobody_is_left_out() -> None:
    """In a season of three nobody has five earlier matches."""
    found = backtest({"elo": Elo()}, contests(3), min_history=1)
    assert [(one.first, one.last) for one in found.groups] == [(0, 0), (1, 4), (0, None)]
    with pytest.raises(NotFoundError, match="players with 5 or more earlier matches"):
        found.group(5, None)
    with pytest.raises(NotFoundError, match="the labels are elo, baseline"):
        found.group(0, None).of("eloo")


def test_matches_in_all_can_be_counted_instead_of_earlier_ones() -> None:
    """[EM] sec. 6.3 to the letter: the first matches of those who stay are scored, too."""
    history = contests(14)
    found = backtest({"elo": Elo()}, history, min_total=5)
    often = np.bincount(history.player)[history.player] >= 5
    assert found.participations == often.sum()
    assert (found.min_total, found.for_whom) == (5, "players with 5 or more matches in all")
    plain = backtest({"elo": Elo()}, history)
    for one, other in zip(found.groups, plain.groups, strict=True):
        assert one.of("elo").metrics == other.of("elo").metrics
    everybody = backtest({"elo": Elo()}, history, min_total=0)
    assert everybody.of("elo").metrics == (
        backtest({"elo": Elo()}, history, min_history=0).of("elo").metrics
    )


@pytest.mark.parametrize(
    ("change", "bounds", "judged"),
    [
        (0.0, (0.0, 0.0), "level"),
        (-0.0004, (-0.0005, -0.0003), "no difference that matters"),
        (0.0004, (-0.1, 0.1), "no difference that matters"),
        (0.0005, (0.0001, 0.0009), "beyond noise"),
        (-0.1, (-0.2, -0.01), "beyond noise"),
        (0.1, (-0.01, 0.2), "within noise"),
        (0.1, (math.nan, math.nan), "not known"),
    ],
)
def test_a_difference_is_judged_by_its_size_and_its_interval(
    change: float, bounds: tuple[float, float], judged: str
) -> None:
    assert judge(change, bounds, LEAST_DIFFERENCE["log_loss"]) == judged


def test_differences_are_paired() -> None:
    """Of a system and itself nothing is left; the order of naming is the sign."""
    history = contests(24)
    systems = {"a": EloMMR(), "b": EloMMR(), "c": Elo()}
    found = backtest(systems, history, min_history=1)
    assert [(one.first, one.second) for one in found.differences] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    same, other = found.differences[0], found.differences[1]
    for name in (*ORDER_METRICS, *SCORE_METRICS):
        assert same.metrics[name] == 0
        assert same.intervals[name] == (0, 0)
        apart = found.of("a").metrics[name] - found.of("c").metrics[name]
        assert other.metrics[name] == apart
        lower, upper = other.intervals[name]
        assert lower <= apart <= upper
        a, c = found.of("a").intervals[name], found.of("c").intervals[name]
        assert upper - lower < (a[1] - a[0]) + (c[1] - c[0])
    bare = backtest(systems, history, min_history=1, resamples=0)
    assert bare.of("a").intervals == bare.differences[0].intervals == {}
    assert "brier_lower" not in bare.to_polars().columns


def test_a_difference_needs_twenty_matches() -> None:
    systems = {"slow": Elo(k=10), "fast": Elo(k=60)}
    for matches, known in ((19, False), (20, True)):
        history = duels(([1, 0, 1, 1] * 5)[:matches])
        found = backtest(systems, history, min_history=0)
        (one,) = found.differences
        assert found.matches == matches
        judged = judge(one.metrics["brier"], one.intervals["brier"], 0.0005)
        assert (judged != "not known") == known
        assert not math.isnan(found.of("slow").intervals["brier"][0])


def test_the_part_of_a_player_is_that_of_the_matches_played() -> None:
    """In a duel, both players share every score, so a player's part is the sum of the matches."""
    pairs = np.argsort(np.random.default_rng(0).random((60, 12)), axis=1)[:, :2]
    history = dataclasses.replace(
        duels([1.0, 0.0, 0.5] * 20), player_ids=np.arange(12), player=pairs.ravel()
    )
    scored = Scored.of(history, min_history=0, first=0)
    scoring = Scoring(scored, False, 32, 1)
    with Workers() as workers:
        (tally,) = scoring.of_one(SystemPredictor(Elo(), history, workers), False)
    blocks, players, cells = tally.sums
    expected = np.zeros((12, SUMS))
    np.add.at(expected, history.player, np.repeat(blocks, 2, axis=0))
    np.testing.assert_allclose(players[:12], expected, atol=1e-9)
    assert not players[12:].any()
    np.testing.assert_allclose(cells.sum(axis=0), 2 * blocks.sum(axis=0), atol=1e-9)


def test_the_baseline_knows_nobody() -> None:
    """Half of the pairs that did not tie, a loss of ln 2, no error of calibration."""
    found = backtest({"elo": Elo()}, contests(), ties_as_authors=True)
    baseline = found.of("baseline")
    assert baseline.system == "constant-rate"
    assert baseline.metrics["log_loss"] == pytest.approx(math.log(2), abs=1e-12)
    assert 50 < baseline.metrics["pair_inversion"] < 60
    assert baseline.calibration.error == 0
    assert found.systems[-1] is baseline


def test_the_baseline_learns_what_home_is_worth() -> None:
    """(1 + points)/(2 + matches) so far, from home's side: 1/2, 2/3, 3/4 and 3.5/5."""
    home = {"at_home": np.tile([False, True], 4)}
    found = backtest({"elo": Elo()}, duels([0, 0, 0.5, 1], home), min_history=0)
    assert (found.matches, found.undecided, found.participations) == (4, 1, 8)
    rates = [1 / 2, 2 / 3, 3 / 4, 3.5 / 5]
    scores = [1, 1, 0.5, 0]
    wanted = np.mean([(s - p) ** 2 for s, p in zip(scores, rates, strict=True)])
    assert found.of("baseline").metrics["brier"] == pytest.approx(wanted, abs=1e-12)
    # Of the three that were decided: even, right, wrong.
    assert found.of("baseline").metrics["pair_inversion"] == pytest.approx(50, abs=1e-12)


def test_the_order_in_which_sides_are_listed_teaches_the_baseline_nothing() -> None:
    """Files often list the winner first."""
    found = backtest({"elo": Elo()}, duels([1, 1, 1, 1]), min_history=0)
    assert found.of("baseline").metrics["brier"] == pytest.approx(0.25, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"min_history": 99}, InvalidDataError, "99 or more earlier matches"),
        ({"min_history": -1}, InvalidParameterError, "min_history must be at least 0"),
        ({"first": 99}, InvalidParameterError, "first must be from 0 to 12"),
        ({"first": 12}, InvalidDataError, "nothing to score"),
        ({"confidence": 1.0}, InvalidParameterError, r"confidence must be in \(0, 1\)"),
        ({"resamples": -1}, InvalidParameterError, "resamples"),
        ({"seed": -1}, InvalidParameterError, "seed"),
        ({"all_pairs": 1}, InvalidParameterError, "all_pairs"),
        ({"min_total": -1}, InvalidParameterError, "min_total must be at least 0"),
        ({"min_total": 99}, InvalidDataError, "99 or more matches in all"),
        ({"least_differences": {"luck": 1}}, InvalidParameterError, "'luck'"),
        ({"least_differences": {"brier": -1}}, InvalidParameterError, "of brier must be at least"),
        ({"systems": {}}, InvalidParameterError, "at least one"),
        ({"systems": {"baseline": Elo()}}, InvalidParameterError, "'baseline' is reserved"),
        ({"systems": {"g": Glicko2()}}, InvalidDataError, "glicko2 cannot rate matches of"),
    ],
)
def test_what_cannot_be_done_is_refused(
    change: dict[str, object], error: type[Exception], message: str
) -> None:
    arguments = {"systems": {"elo": Elo()}, "history": contests(), **change}
    with pytest.raises(error, match=message):
        backtest(**arguments)  # type: ignore[arg-type]


def test_a_system_that_says_nothing_of_a_match_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than scored on the others only."""
    monkeypatch.setattr(Elo, "run", lambda *arguments: None)
    with pytest.raises(InvalidDataError, match="elo predicts nothing for match 2"):
        backtest({"elo": Elo()}, contests(), min_history=1)


def test_progress_covers_all_systems() -> None:
    history, seen, done = contests(), [], []
    backtest(
        {"a": Elo(), "b": Elo()},
        history,
        progress=lambda *of: seen.append(of),
        timed=lambda label, seconds: done.append(label),
    )
    total = 2 * history.participations
    assert seen[-1] == (total, total)
    assert done == ["a", "b"]


def of_synthetic(system: RatingSystem) -> dict[str, float]:
    history, _ = simulate_contests(ContestModel(), rng=np.random.default_rng(1))
    return dict(backtest({"it": system}, history, resamples=0).of("it").metrics)


@needs_jit
def test_synthetic_contests_give_what_the_paper_prints() -> None:
    """[EM] Table 2, last row: 81.7 and 12.8 (READINGS B10); 0.3 is the spread between seeds."""
    found = of_synthetic(EloMMR())
    assert found["pair_inversion"] == pytest.approx(81.7, abs=0.3)
    assert found["rank_deviation"] == pytest.approx(12.8, abs=0.3)


@needs_jit
@pytest.mark.slow
def test_codeforces_gives_what_the_authors_program_prints() -> None:
    """Its exact mode: 78.385 and 14.904 with these parameters, on the last nine tenths."""
    history = read_history(shared_file("data", "codeforces.parquet"))
    system = EloMMR(weight_limit=0.23, sigma_limit=54, rho=0.04)
    found = backtest(
        {"it": system},
        history,
        first=history.matches // 10,
        ties_as_authors=True,
        threads=2,
    )
    metrics = found.of("it").metrics
    assert round(metrics["pair_inversion"], 3) == 78.385
    assert round(metrics["rank_deviation"], 3) == 14.904


def test_blocks_join_matches_beyond_a_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The intervals of 2,500 duels come from blocks of three, whatever the pieces."""
    scores = np.random.default_rng(1).integers(0, 2, 2500).astype(float).tolist()
    found = backtest({"elo": Elo()}, duels(scores), min_history=0, resamples=200)
    lower, upper = found.of("elo").intervals["pair_inversion"]
    half = 100 * 1.96 * 0.5 / math.sqrt(2500)
    assert upper - lower == pytest.approx(2 * half, rel=0.25)
    found = []
    for piece in (74, 10**9):
        monkeypatch.setattr(module, "Scoring", partial(Scoring, piece=piece))
        found.append(backtest({"elo": Elo()}, duels(scores), min_history=20, resamples=200))
    assert repr(found[0].of("elo").intervals) == repr(found[1].of("elo").intervals)
