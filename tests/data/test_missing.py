"""Numbers that are not known, in arrays and in messages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.arrays import nullable, or_nan
from equipoise.messages.conversion import json_value


@pytest.mark.parametrize("values", [[], [1.5, -0.0], [None, None], [None, 2.0, None, math.inf]])
def test_none_and_nan_stand_for_one_another(values: list[float | None]) -> None:
    array = or_nan(values)
    assert array.dtype == np.float64
    assert nullable(array) == [json_value(value) for value in array.tolist()] == values
