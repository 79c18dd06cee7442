"""Team Glicko-2 against another program, and against a slow, obvious reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from drawing import examples
from equipoise.formats import read_history
from equipoise.rating.replay import Replay, predict, replay
from equipoise.rating.systems.team_glicko2 import TeamGlicko2
from rating.histories import Trace, needs_jit, rate, shared_file
from rating.team_matches import PLAYERS, every_option, history_of_teams, system_of, team_matches
from reference.team_glicko2 import (
    MICROSECONDS_PER_DAY,
    Match,
    Options,
    Row,
    SlowTeamGlicko2,
)

# Rating points. Both solve the same equations, the volatility to 1e-12 or finer; what is left is
# rounding.
TOLERANCE = 1e-9

# Internal units of the golden file's largest change, in rating points (`golden/README.md`).
GOLDEN_LARGEST_CHANGE = 1.73 * 173.7178

# Rating points. The golden program adds 1e-6 to s_T in z and solves the volatility to 1e-6
# (`golden/README.md`); after 800 matches that comes to 1.2e-4.
GOLDEN_TOLERANCE = 1e-3


@pytest.fixture(scope="module")
def golden() -> pl.DataFrame:
    """What another program says of every participation of the first 800 matches of UT4."""
    return pl.read_csv(shared_file("golden", "team_glicko2_ut4_first800.csv"))


@pytest.fixture(scope="module")
def replayed(golden: pl.DataFrame) -> Replay:
    """Our ratings of the same matches, with what every match did."""
    table = pl.read_parquet(shared_file("data", "ut4.parquet"))
    first = table.filter(pl.col("match").is_in(golden["match"].unique().implode()))
    # A kill counts 1, a death -1, damage 1/220 (`golden/README.md`).
    performance = pl.col("kills") - pl.col("deaths") + pl.col("damage") / 220
    history = read_history(first.with_columns(performance=performance))
    return replay(TeamGlicko2(max_change=GOLDEN_LARGEST_CHANGE), history, trace=True)


@needs_jit
@pytest.mark.parametrize(
    ("ours", "theirs", "tolerance"),
    [
        ("rating_before", "rating_before", GOLDEN_TOLERANCE),
        ("rating", "rating_after", GOLDEN_TOLERANCE),
        ("deviation_before", "rd_before", GOLDEN_TOLERANCE),
        ("deviation", "rd_after", GOLDEN_TOLERANCE),
        # The volatility is solved there to 1e-6 in ln(sigma^2): 3e-8 of 0.06.
        ("volatility", "sigma_after", 1e-7),
        # 1e-6 of s_T, which is at least 0.1 here, and z at most 2.
        ("z", "z", 1e-5),
        # The moving mean uses z without that 1e-6.
        ("form", "perf_ema_after", TOLERANCE),
        ("form_matches", "perf_games_after", 0.0),
    ],
)
def test_every_match_does_what_another_program_says(
    golden: pl.DataFrame, replayed: Replay, ours: str, theirs: str, tolerance: float
) -> None:
    """All 5,175 participations of `team_glicko2_ut4_first800.csv`."""
    both = golden.join(replayed.trace.to_polars(), on=["match", "player"], suffix="_ours")
    assert both.height == golden.height
    left = both[f"{ours}_ours" if ours in golden.columns else ours]
    np.testing.assert_allclose(left, both[theirs], rtol=0, atol=tolerance)


def test_deviations_grow_as_another_program_says() -> None:
    """The 128 cases of `decay_sample.csv`, to 1e-9; its window holds whatever is played in it."""
    sample = pl.read_csv(shared_file("golden", "decay_sample.csv"))
    system = TeamGlicko2(activity_window=1e6)
    state = system.initial(sample.height)
    state.column("deviation")[:] = sample["rd0"]
    state.column("volatility")[:] = sample["sigma"]
    state.column("last_time")[:] = 100.0 - sample["days"].to_numpy()
    for k in range(1, 4):
        active = sample["rounds_in_past"].to_numpy() >= k
        state.column(f"recent_{k}")[:] = np.where(active, 0.0, np.nan)
    found = system.at(state, np.arange(sample.height), 100.0)["deviation"]
    np.testing.assert_allclose(found, sample["rd_after"], rtol=0, atol=1e-9)


def rate_slowly(slow: SlowTeamGlicko2, matches: Sequence[Match]) -> list[Row]:
    """Rate matches by the reference; return what they did, a row a participation."""
    return [row for match in matches for row in slow.rate(match)]


def assert_same_trace(trace: Trace, rows: Sequence[Row]) -> None:
    """Compare everything that matches did."""
    # Where there is no change to speak of, its sign is one of rounding.
    signed = np.array([abs(row.change) > 1e-12 for row in rows])
    for name, fast in trace.items():
        slow = np.array([getattr(row, name) for row in rows])
        kept = signed if name == "factor" else np.full(len(rows), True)
        np.testing.assert_allclose(fast[kept], slow[kept], rtol=0, atol=TOLERANCE, err_msg=name)


@examples(150)
@given(matches=team_matches(), options=every_option, later=st.integers(0, 100))
def test_everything_equals_the_slow_reference(
    matches: list[Match], options: Options, later: int
) -> None:
    """Sections 4-12 with draws, uneven teams, weights, shares, roles and every parameter."""
    note(f"{options}")
    slow = SlowTeamGlicko2(options)
    rows = rate_slowly(slow, matches)
    system, history = system_of(options), history_of_teams(matches)
    state = system.initial(history.players)
    assert_same_trace(rate(system, state, history), rows)
    last = matches[-1].time
    time = None if last is None else last + later * MICROSECONDS_PER_DAY
    now = system.at(state, np.arange(PLAYERS), None if time is None else time / 86.4e9)
    for row in range(PLAYERS):
        player = slow.player(row)
        assert now["rating"][row] == pytest.approx(player.rating, abs=TOLERANCE)
        assert now["deviation"][row] == pytest.approx(slow.deviation(row, time), abs=TOLERANCE)
        assert now["volatility"][row] == pytest.approx(player.volatility, abs=1e-12)
        assert now["form"][row] == pytest.approx(player.form, abs=TOLERANCE)
        assert now["form_matches"][row] == player.form_matches
        assert now["matches"][row] == player.matches
        effective = slow.effective_rating(row, time)
        assert now["effective_rating"][row] == pytest.approx(effective, abs=TOLERANCE)


@examples(40)
@given(
    matches=team_matches(plain=True),
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    order=st.permutations(range(PLAYERS)),
)
def test_predictions_are_those_of_the_formula(
    matches: list[Match], sizes: tuple[int, int], order: list[int]
) -> None:
    """READINGS A15 with phi_T of (12), teams of any two sizes; both sides sum to 1."""
    options = Options()
    slow = SlowTeamGlicko2(options)
    rate_slowly(slow, matches)
    system = system_of(options)
    result = replay(system, history_of_teams(matches))
    first, second = order[: sizes[0]], order[sizes[0] : sum(sizes)]
    last = matches[-1].time
    at = None if last is None else last / 86.4e9 + 50
    later = None if last is None else last + 50 * MICROSECONDS_PER_DAY
    expected = predict(system, result.state, [first, second], at=at).expected
    assert expected[0] == pytest.approx(slow.predict(first, second, later), abs=1e-12)
    assert sum(expected) == pytest.approx(1.0, abs=1e-15)
