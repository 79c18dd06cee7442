"""The performance function f: from ratings of opponents and a score to a performance rating.

Source: [PRE]_ Lemma 1, equation (1). f_i(x) is the rating at which player i would have been
expected to score what i scored, if the opponents were rated x. With ratings from before the
tournament it is the TPR (its Def. 4); its fixed point is the equilibrium. `plain_roots` and, for
large tournaments, `compiled_roots` solve (1).
"""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Floats
from equipoise.errors import require
from equipoise.tournament.curves import Curve
from equipoise.tournament.equilibrium.newton import LIMITS, Limits
from equipoise.tournament.equilibrium.plain_roots import PlainRoots, Roots
from equipoise.tournament.equilibrium.solving import check_scale
from equipoise.tournament.pairs import Pairs

#: A root is found when the next step is at most this long, rating points over the scale.
TOLERANCE = 1e-9


class PerformanceFunction:
    """The function f of one tournament, to be evaluated many times.

    advantage : rating points added to the first of every pair
    """

    def __init__(
        self,
        pairs: Pairs,
        players: int,
        *,
        curve: Curve,
        scale: float = 1.0,
        advantage: float = 0.0,
        threads: int = 1,
        limits: Limits = LIMITS,
    ) -> None:
        check_scale(scale)
        self._scale = scale
        self._plays = pairs.played(players) > 0
        scored = pairs.scored(players)
        lost = pairs.summed(pairs.weight - pairs.points, pairs.points, players)
        self._defined = (scored > 0) & (lost > 0)
        self._roots: Roots = PlainRoots(pairs, curve, advantage / scale)
        if np.count_nonzero(self._plays) > limits.dense_players:
            # Small tournaments do not load the compiler.
            from equipoise.tournament.equilibrium.compiled_roots import compiled_roots

            compiled = compiled_roots(
                pairs, players, curve, advantage / scale, threads, limits.chunk
            )
            self._roots = compiled or self._roots

    def __call__(
        self, ratings: Floats, tolerance: float = TOLERANCE, start: Floats | None = None
    ) -> Floats:
        """Return f(ratings), shape (N,); NaN for players without games, and with 0 % or 100 %.

        ratings : shape (N,), finite for all players with games
        tolerance : length of the last step, rating points over the scale
        start : start of the search; None: `ratings`
        Raises : ConvergenceError
        """
        known = bool(np.all(np.isfinite(ratings[self._plays])))
        require(known, "ratings", "numbers for all players with games", "NaN or infinity")
        middle = float(np.mean(ratings[self._plays])) if np.any(self._plays) else 0.0
        x = np.where(self._plays, ratings - middle, 0.0) / self._scale
        begin = x if start is None else (start - middle) / self._scale
        roots = self._roots(x, np.where(self._defined, begin, 0.0), self._defined, tolerance)
        return np.where(self._defined, self._scale * roots + middle, np.nan)
