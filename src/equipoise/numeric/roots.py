"""Bounded, bracketed Newton iteration for monotone functions.

A kernel cannot cheaply take a function as an argument, so what is shared is one step: the kernel
evaluates its own function, calls `newton_step`, and stops at `MAX_ITERATIONS`. Bisection steps
in whenever Newton would leave the bracket, and at every other step once Newton had its chance, so
that the bracket is exhausted in any case.
"""

from __future__ import annotations

from equipoise._jit import inner_kernel

#: Leaves 58 steps of bisection between those of Newton: whatever the function is like, the last
#: bracket is 2^-58 of the first.
MAX_ITERATIONS = 128

_PATIENCE = 10


@inner_kernel
def newton_step(
    x: float, value: float, slope: float, low: float, high: float, iteration: int
) -> tuple[float, float, float]:
    """Return (next x, low, high) of an increasing function with a zero in [low, high].

    value, slope : the function and its derivative at x
    iteration : number of this step, from 0
    """
    if value > 0.0:
        high = min(high, x)
    else:
        low = max(low, x)
    # A slope of 0 or NaN leads to bisection, and so does a step to infinity.
    if slope > 0.0 and (iteration <= _PATIENCE or iteration % 2 == 1):
        following = x - value / slope
        if low <= following <= high:
            return following, low, high
    return 0.5 * (low + high), low, high
