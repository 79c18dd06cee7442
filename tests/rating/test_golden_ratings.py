"""Systems against the programs of Elo-MMR's authors, on the first hundred contests of Codeforces.

`golden/README.md` says how the files were made: initial 1500 +- 350, all opponents, all history;
logistic ties as a win plus a loss, Gaussian ones as themselves. They promise 1e-6.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from equipoise.data.history import History
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMX
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.codeforces import Codeforces
from equipoise.rating.systems.topcoder import TopCoder
from rating.histories import first_real_contests, needs_jit, shared_file


@pytest.fixture(scope="module")
def first_contests() -> History:
    return first_real_contests(100)


@needs_jit
@pytest.mark.parametrize(
    ("name", "system", "tolerance"),
    # Rating points. Topcoder's program takes the normal distribution from a library good to fewer
    # digits, which makes 3e-8; with another one's, 4e-12 are left. The others differ by 4e-11.
    [
        ("elo_mmr", EloMMR(weight_limit=0.23, sigma_limit=54.0, rho=0.04), 1e-9),
        ("elo_mmx", EloMMX(weight_limit=0.16, sigma_limit=74.0), 1e-9),
        ("codeforces", Codeforces(beta=65.0, weight=0.631), 1e-9),
        ("topcoder", TopCoder(weight_noob=0.905, weight_limit=0.18), 1e-6),
    ],
)
def test_ratings_equal_those_of_the_authors_program(
    name: str, system: RatingSystem, tolerance: float, first_contests: History
) -> None:
    """Every player's rating, deviation and number of contests."""
    theirs = pl.read_csv(shared_file("golden", f"{name}_codeforces_first100.csv"))
    ours = replay(system, first_contests).ratings.to_polars()
    both = theirs.join(
        ours.cast({"player": theirs.schema["player"]}), on="player", how="full", suffix="_ours"
    )
    assert len(both) == len(theirs) == len(ours)
    assert both["player_ours"].null_count() == 0, "not the same players"
    for their, column in (("mu", "rating"), ("sigma", "deviation"), ("n_contests", "matches")):
        np.testing.assert_allclose(
            both[column], both[their], rtol=0, atol=tolerance, err_msg=column
        )
