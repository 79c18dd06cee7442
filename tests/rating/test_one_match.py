"""Players as plain numbers; `one_call/test_rate.py` compares their matches with a replay."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.rating.one_match import OneMatch, PlayerNumbers, numbers_of, rate_match, state_of
from rating.one_call.matches import VARIANTS, system_of


def bits(numbers: list[PlayerNumbers]) -> list[tuple[bytes, bytes]]:
    """Return the numbers as bytes, which tell NaN and -0 apart."""
    return [(np.array(row).tobytes(), np.array(kept).tobytes()) for row, kept in numbers]


@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_a_state_is_its_numbers(name: str, parameters: dict[str, object]) -> None:
    """`state_of` and `numbers_of` are inverse to each other."""
    system = system_of(name, parameters)
    known = numbers_of(system.initial(3))
    for _ in range(6):
        match = OneMatch((1, 1), (0, 1), time=MICROSECONDS_PER_DAY, at_home=[True, False])
        known[:2] = rate_match(system, known[:2], match)
    assert bits(numbers_of(state_of(system, known))) == bits(known)
