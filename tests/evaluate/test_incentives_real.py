"""Incentives in real contests: the published exploit of TopCoder, and Theorem 5.5."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.history import History
from equipoise.evaluate.incentives import Effort, incentives, throwing
from equipoise.rating.registry import make_system
from rating.histories import needs_jit, shared_file

#: A study of many replays: `make test` has the tests of its parts.
pytestmark = pytest.mark.nightly

#: tourist, and Looksery Cup 2015.
TOURIST, LOOKSERY = 75, 549


@pytest.fixture(scope="module")
def contests() -> History:
    """Return the contests of Codeforces up to Looksery Cup 2015."""
    path = shared_file("data", "codeforces.parquet")
    history = eq.read_history(str(path))
    last = int(np.flatnonzero(history.match_ids == LOOKSERY)[0])
    return history.slice(0, last + 1)


def published(history: History) -> tuple[list[int], float]:
    """Return the contests that tourist throws by the published rule, and the last rating.

    Source: [EML]_. 45 rounds honestly; in the next 45 last whenever the rating is above 2975; then
    15 honestly. One replay, in which the others respond.
    """
    system, row = make_system("topcoder"), history.player_row(TOURIST)
    at = np.flatnonzero(history.player == row)
    matches = history.match_rows()[at]
    state, done, thrown = system.initial(history.players), 0, []
    for number, (match, here) in enumerate(zip(matches.tolist(), at.tolist(), strict=True)):
        system.run(state, history, done, match)
        one = history.slice(match, match + 1)
        if 45 <= number < 90 and state.column("rating")[row] > 2975:
            rank = one.rank.copy()
            rank[here - history.offsets[match]] = rank.max() + 1
            dense = np.unique(rank, return_inverse=True)[1].astype(np.int64)
            one = replace(one, rank=dense)
            thrown.append(int(history.match_ids[match]))
        system.run(state, one, 0, 1)
        done = match + 1
    return thrown, float(state.column("rating")[row])


@needs_jit
@pytest.mark.slow
def test_tourist_reaches_3807_instead_of_3284_in_topcoder(contests: History) -> None:
    """Both numbers are those that the authors published [EML]_, for the same contests."""
    thrown, last = published(contests)
    assert (len(thrown), round(last)) == (17, 3807)
    found = throwing(make_system("topcoder"), contests, TOURIST, thrown)
    assert round(found.honest[-1]) == 3284


@needs_jit
@pytest.mark.slow
def test_the_search_finds_more_than_was_published(contests: History) -> None:
    """A plan of its own for the same last 60 contests, with the others frozen."""
    effort = Effort(matches=60, budget=200)
    (found,) = incentives(make_system("topcoder"), contests, [TOURIST], effort=effort, threads=2)
    assert found.gain > 3807 - 3284


@needs_jit
@pytest.mark.parametrize("name", ["elo-mmr", "elo-mmx"])
def test_nobody_gains_in_elo_mmr(contests: History, name: str) -> None:
    """Theorem 5.5 for contests of hundreds with many ties, to 1e-6 points."""
    history = contests.slice(0, 40)
    for found in incentives(
        make_system(name), history, effort=Effort(matches=8, budget=40), threads=2
    ):
        assert found.gain == 0
        assert found.honest[-1] != found.before
