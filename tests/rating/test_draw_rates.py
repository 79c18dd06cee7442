"""Draw rates that are given: where they count, are refused, and how answers name their source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import InvalidParameterError
from equipoise.rating.state import DRAWS
from equipoise.rating.system import models_draws


@pytest.mark.parametrize("name", ["elo", "elo-mmr", "trueskill"])
def test_a_duel_has_win_draw_and_loss(name: str) -> None:
    """By its model, or by the rate that is given: draw = 4 r E (1 - E), and win = E - draw/2."""
    system: Any = eq.make_system(name)
    duel = [system.rating(1620), system.rating(1500)]
    if models_draws(system):
        assert system.predict(duel).draw_by == name
        with pytest.raises(InvalidParameterError, match="draw_rate must be left out, because"):
            system.predict(duel, draw_rate=0.3)
        return
    found = system.predict(duel, draw_rate=0.3)
    first, second = found.expected
    assert found.draw_by == "draw_rate"
    assert found.draw == pytest.approx(4 * 0.3 * first * second, rel=1e-12)
    assert found.win == pytest.approx((first - found.draw / 2, second - found.draw / 2), abs=1e-15)
    assert sum(found.win) + found.draw == pytest.approx(1, abs=1e-15)
    assert "draw_rate" in repr(found)
    assert "draws estimated from the given draw rate" in found._repr_html_()
    none = system.predict(duel)
    assert none.win is none.draw is none.draw_by is None
    assert none.draw_note.startswith(f"no win and draw probability: {name} does not model draws")
    assert "draw_rate" in none.draw_note
    assert system.predict(duel, draw_rate=0).draw == 0.0


def test_a_pool_counts_and_a_rate_that_is_given_comes_first() -> None:
    """One pool, its state and its replay have the same estimate, from 50 matches on."""
    pool = eq.Pool(eq.Elo())
    for number in range(50):
        assert pool.draw_rate is None
        note = pool.predict(["a", "b"]).draw_note
        assert f"so far {number})" in note
        pool.rate(["a", "b"], ranks=[1, 1 if number % 3 == 0 else 2])
    rate = pool.draw_rate
    assert rate is not None
    assert rate == pool.state.draw_rate
    counted, draws, spread = pool.state.state.shared[DRAWS].tolist()
    assert (counted, draws, rate) == (50, 17, min(17 / spread, 1.0))
    usual, given = pool.predict(["a", "b"]), pool.predict(["a", "b"], draw_rate=0.1)
    assert (usual.draw_by, usual.draw_note) == ("estimate", "")
    assert "(estimate)" in repr(usual)
    assert "draws estimated from earlier draws" in usual._repr_html_()
    a, b = pool["a"], pool["b"]
    assert eq.Elo().predict([a, b], draw_rate=rate).draw == usual.draw
    assert given.draw_by == "draw_rate"
    assert given.draw == pytest.approx(0.4 * np.prod(given.expected), rel=1e-12)
    of_state = eq.predict(eq.Elo(), pool.state, [["a"], ["b"]], draw_rate=0.1)
    assert (of_state.draw, of_state.draw_by) == (given.draw, "draw_rate")
    assert of_state._notes() == ("draws estimated from the given draw rate",)


ELO = eq.Elo()
E = ELO.rating()


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        (lambda: ELO.predict([E, E], draw_rate=1.1), "draw_rate must be a probability from 0 to 1"),
        (lambda: ELO.predict([E, E], draw_rate=lambda a, b: 0.3), "draw_rate must be a probab"),
        (lambda: ELO.predict([E] * 3, draw_rate=0.2), "must be left out for more than two teams"),
    ],
)
def test_what_is_no_draw_rate_gets_a_sentence(attempt: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        attempt()
