"""Bounded, bracketed Newton iteration for monotone functions.

A kernel cannot cheaply take a function as an argument, so only the step is shared: the kernel
evaluates its own function, calls `newton_step`, and stops at `MAX_ITERATIONS`. A step bisects if
Newton's step would leave the bracket, and after the first steps every other one does, so that the
bracket becomes narrow for every function.
"""

from __future__ import annotations

from equipoise._jit import inner_kernel

#: It includes 58 steps of bisection, so that the last bracket is 2^-58 of the first for every
#: function.
MAX_ITERATIONS = 128

#: Steps before every other one bisects.
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
