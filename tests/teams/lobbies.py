"""Lobbies for the tests of balancing: drawn by hypothesis, or from players of the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from equipoise.data.lobby import Lobby
from reference.balance import Player

#: Round ratings tie often, others never.
RATINGS = st.one_of(st.sampled_from([1300.0, 1400.0, 1500.0]), st.floats(800, 2200))
DEVIATIONS = st.one_of(st.sampled_from([0.0, 60.0, 350.0]), st.floats(0, 350))


@st.composite
def players(
    draw: st.DrawFn, smallest: int = 2, largest: int = 9, *, bound: bool = True
) -> list[Player]:
    """Return players; if `bound`, some in parties, locked, or avoiding one another."""
    count = draw(st.integers(smallest, largest))
    ids = draw(st.permutations(range(count)))
    found = []
    for at, one in enumerate(ids):
        rating = draw(RATINGS)
        same = draw(st.booleans())
        party = draw(st.sampled_from([None, None, "p", "q"])) if bound else None
        lock = draw(st.sampled_from([None, None, None, "red", "blue"])) if bound else None
        avoid = ()
        if bound and at and draw(st.integers(0, 4)) == 0:
            avoid = (ids[draw(st.integers(0, at - 1))],)
        effective = rating if same else draw(RATINGS)
        found.append(Player(one, rating, draw(DEVIATIONS), effective, party, lock, avoid))
    return found


def lobby_of(found: Sequence[Player]) -> Lobby:
    """Return the lobby of players of the reference."""
    return Lobby(
        player_ids=np.array([p.id for p in found]),
        rating=np.array([p.rating for p in found]),
        deviation=np.array([p.deviation for p in found]),
        effective_rating=np.array([p.effective for p in found]),
        party=np.array([p.party for p in found], dtype=object),
        team=np.array([p.lock for p in found], dtype=object),
        avoid=tuple((p.id, other) for p in found for other in p.avoid),
    )


def plain_lobby(count: int, seed: int = 0) -> Lobby:
    """Return a lobby of players without ties, parties, locks or avoid pairs."""
    rng = np.random.default_rng(seed)
    return Lobby(
        player_ids=np.arange(count),
        rating=rng.normal(1500, 300, count),
        deviation=rng.uniform(40, 350, count),
        effective_rating=rng.normal(1500, 300, count),
    )
