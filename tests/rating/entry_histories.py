"""Histories and parameters for tests of a learned entry and a held level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from equipoise.data.history import History
from equipoise.rating.newcomers import ENTRY
from equipoise.rating.registry import SYSTEMS, make_system

DAY = 86_400_000_000

_OF_A_FAMILY = ("bradley-terry", "elo-mmx", "thurstone-mosteller", "trueskill-spb")

#: Systems that support a learned entry and a held level, which are turned off.
LEARNERS = [name for name in SYSTEMS if "entry_clip" in make_system(name).capabilities.idle]


def by_family(names: Sequence[str]) -> list[Any]:
    """Return parameters of tests: systems that share a loop with another one are for the night."""
    return [
        pytest.param(name, marks=[pytest.mark.nightly] if name in _OF_A_FAMILY else [])
        for name in names
    ]


LEARNED: dict[str, object] = {"entry": "learned", "entry_half_life": 30, "entry_weight": 4}
#: Both, with numbers that a short history feels.
BOTH: dict[str, object] = {
    **LEARNED,
    "hold_level": 0.3,
    "hold_level_matches": 6,
    "level_experienced": 2,
    "level_memory": 40,
}


def history_of(name: str, seed: int, matches: int = 40, players: int = 25) -> History:
    """Return matches of teams as the system can rate them; some are of one team, or all tie."""
    rng = np.random.default_rng(seed)
    able = make_system(name).capabilities
    teams, ranks, rows, sizes, times = [], [], [], [], []
    day = 0.0
    for _ in range(matches):
        day += float(rng.choice([0.0, 0.4, 1.0, 5.0]))
        count = int(rng.integers(2, (able.max_teams or 5) + 1))
        members = rng.integers(1, 4, count) if able.max_team_size is None else np.ones(count, int)
        if rng.random() < 0.1 and not able.max_teams:
            count, members = 1, members[:1]
        # Low numbers play more often, so newcomers keep coming.
        reach = min(players, 8 + 2 * len(sizes))
        who = rng.permutation(reach)[: members.sum()]
        members = np.bincount(np.repeat(np.arange(count), members)[: len(who)])
        place = np.unique(rng.integers(0, len(members), len(members)), return_inverse=True)[1]
        rows += who.tolist()
        teams += np.repeat(np.arange(len(members)), members).tolist()
        ranks += np.repeat(place, members).tolist()
        sizes.append(len(who))
        times.append(int(day * DAY))
    return History(
        match_ids=np.arange(matches),
        player_ids=np.arange(players),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        player=np.array(rows, np.int64),
        team=np.array(teams, np.int64),
        rank=np.array(ranks, np.int64),
        time=np.array(times, np.int64),
        time_kind="datetime",
        weight=rng.choice([0.5, 1.0, 1.0, 2.0], matches),
    )


def numbers_of(state: Any) -> Any:
    return state.shared[ENTRY]


def entry_parameters(*, learned: bool | None = None) -> st.SearchStrategy[dict[str, object]]:
    """Draw parameters of the entry and of the level; learned: None for both kinds of entry."""
    kinds = ("fixed", "learned") if learned is None else ("learned",) if learned else ("fixed",)
    return st.fixed_dictionaries(
        {
            "entry": st.sampled_from(kinds),
            "entry_half_life": st.sampled_from([0.5, 3.0, 30.0, 1000.0]),
            "entry_weight": st.sampled_from([0.1, 1.0, 4.0, 10.0]),
            "entry_clip": st.sampled_from([0.1, 0.5, 1.0, 5.0]),
            "hold_level": st.sampled_from([0.05, 0.3, 1.0]),
            "hold_level_matches": st.integers(1, 12),
            "level_experienced": st.integers(1, 4),
            "level_memory": st.sampled_from([1.0, 20.0, 2000.0]),
            "level_step": st.sampled_from([0.001, 0.057, 1.0]),
        }
    )
