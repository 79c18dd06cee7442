"""Tournaments for tests of performance ratings: published ones, and any that hypothesis draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from equipoise.data.games import Games

#: [PRE]_ Table 1: rating and points of A, B and C, who met once each; the results follow from it.
TABLE_1 = {
    1: (
        {"C": 2000.0, "B": 2200.0, "A": 2450.0},
        [("C", "B", 0.5), ("C", "A", 1.0), ("B", "A", 0.5)],
    ),
    2: (
        {"A": 2450.0, "C": 2000.0, "B": 2200.0},
        [("A", "C", 0.5), ("A", "B", 1.0), ("C", "B", 0.5)],
    ),
}

#: [PRE]_ Table 2, Palma de Mallorca 2017: TPR as printed.
PALMA_TPR = {
    "Aronian,L": 2821,
    "Jakovenko,D": 2824,
    "Nakamura,Hi": 2788,
    "Svidler,P": 2779,
    "Tomashevsky,E": 2788,
    "Harikrishna,P": 2764,
    "Ding Liren": 2768,
    "Rapport,R": 2758,
    "Radjabov,T": 2760,
    "Vachier Lagrave,M": 2741,
    "Eljanov,P": 2724,
    "Inarkiev,E": 2735,
    "Giri,A": 2696,
    "Vallejo Pons,F": 2682,
    "Li Chao2": 2660,
    "Riazantsev,A": 2641,
    "Hammer,J": 2590,
    "Gelfand,B": 2582,
}

#: Matches of four players of 2500; in the third and fourth column games and points of the first.
#: Player a is clearly the strongest, d the weakest, and the two have not met.
UNMET = [
    ("a", "b", 2.0, 1.5),
    ("a", "c", 2.0, 2.0),
    ("b", "c", 2.0, 1.0),
    ("b", "d", 2.0, 1.5),
    ("c", "d", 2.0, 2.0),
]


def table_1(number: int) -> Games:
    """Return one of the two tournaments of [PRE]_ Table 1."""
    rating, results = TABLE_1[number]
    white, black, points = zip(*results, strict=True)
    return Games.from_arrays(white, black, points, rating=rating)


def matches(results: list[tuple[str, str, float, float]], rating: float = 2500.0) -> Games:
    """Return matches of players who all have one rating."""
    white, black, games, points = zip(*results, strict=True)
    everybody = dict.fromkeys([*white, *black], rating)
    return Games.from_arrays(white, black, points, weight=games, rating=everybody)


def palma_2017() -> Games:
    """Return the Grand Prix of Palma de Mallorca 2017, or skip where the data is absent."""
    path = Path(__file__).parents[3] / "shared" / "data" / "chess_palma2017_grandprix.csv"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    frame = pl.read_csv(path)
    rating: dict[str, float] = {}
    for side in ("white", "black"):
        rating |= dict(zip(frame[side], frame[f"{side}_elo"].cast(pl.Float64), strict=True))
    points = [{"1-0": 1.0, "0-1": 0.0}.get(result, 0.5) for result in frame["result"]]
    return Games.from_arrays(
        frame["white"].to_list(), frame["black"].to_list(), points, rating=rating
    )


@st.composite
def tournaments(draw: st.DrawFn, *, rated: bool = True, most: int = 8) -> Games:
    """Draw up to 8 players, games of any weight between any of them, wins, draws and shares."""
    players = draw(st.integers(2, most))
    rows = draw(st.integers(1, 16))
    white = draw(st.lists(st.integers(0, players - 1), min_size=rows, max_size=rows))
    step = draw(st.lists(st.integers(1, players - 1), min_size=rows, max_size=rows))
    weight = draw(st.lists(st.sampled_from([1.0, 1.0, 2.0, 0.25]), min_size=rows, max_size=rows))
    share = draw(st.lists(st.sampled_from([0, 0.5, 1, 0.25]), min_size=rows, max_size=rows))
    ratings = st.integers(800, 2800).map(float)
    if not rated:
        ratings = ratings | st.just(np.nan)
    rating = draw(st.lists(ratings, min_size=players, max_size=players))
    return Games(
        player_ids=np.arange(players),
        white=np.array(white),
        black=(np.array(white) + np.array(step)) % players,
        points=np.array(weight) * np.array(share),
        weight=np.array(weight),
        rating=np.array(rating),
    )
