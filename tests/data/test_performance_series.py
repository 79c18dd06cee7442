"""What charts of performances are made from."""

from __future__ import annotations

import numpy as np
import pytest

from charts.test_performance_chart import performances
from equipoise.errors import InvalidParameterError


def test_a_series_needs_players_and_one_of_everything_for_each() -> None:
    with pytest.raises(InvalidParameterError, match="players must be at least one"):
        performances([])
    with pytest.raises(InvalidParameterError, match="tpr must be of shape"):
        performances([1500.0, 1600.0], tpr=np.array([1500.0]))
