"""The effective rating: the long-term rating, nudged by recent form.

Source: [TG2]_ section 11, (36)-(41), with READINGS A9 and A13. It is for matchmaking and
balancing, computed when it is read and never stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from equipoise.arguments import check_fields
from equipoise.arrays import Floats
from equipoise.errors import require


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveRating:
    """Parameters of the effective rating.

    form_points : rating points that a unit of form is worth (36)
    form_cap, form_cap_deviations : bounds of that, in points and in deviations (37)
    deviation_scale : deviation at which form has half its weight, rating points (39)
    blend : the largest weight of form (40)
    """

    form_points: float = 80.0
    form_cap: float = 200.0
    form_cap_deviations: float = 2.0
    deviation_scale: float = 80.0
    blend: float = 0.5

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        for field in fields(self):
            value = getattr(self, field.name)
            require(math.isfinite(value), field.name, "a finite number", value)

    def weight(self, deviation: Floats) -> Floats:
        """Return how much recent form counts, w of (39)-(40)."""
        squared = deviation * deviation
        return self.blend * squared / (squared + self.deviation_scale**2)

    def boost(self, deviation: Floats, form: Floats) -> Floats:
        """Return what form adds to the recent rating, rating points (37)-(38)."""
        most = np.minimum(self.form_cap_deviations * deviation, self.form_cap)
        return np.clip(self.form_points * form, -most, most)

    def rating(self, rating: Floats, deviation: Floats, form: Floats) -> Floats:
        """Return R_eff of (41), rating points; all of one shape."""
        return rating + self.weight(deviation) * self.boost(deviation, form)
