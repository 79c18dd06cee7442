"""Lines of a reproduction: what a document prints, what is computed, and how they compare.

A printed number is reproduced if ours rounds to it: the difference is at most half of its last
printed digit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from equipoise.wording import counted

#: What became of a statement.
#: reproduced : ours is what is printed
#: differs : ours is something else, and the reason says why
#: beyond : the document says nothing of it; mostly a case in which an assumption is dropped
#: stated : an assumption or a name; nothing is computed by it alone
#: not done : the reason says why
Outcome: TypeAlias = Literal["reproduced", "differs", "beyond", "stated", "not done"]

#: Plurals of what is counted, where they are not made by an s.
_PLURALS = {"lobby": "lobbies", "match": "matches", "thrown match": "thrown matches"}

#: For rounding of numbers that were printed in decimal.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One number, formula or count of a document, and ours.

    printed, ours : as they are shown
    difference : ours less printed; of formulas the largest found; None where there is no number
    reason : of a difference, or why it is not done; of what is not computed, where it comes from
    """

    what: str
    printed: str = ""
    ours: str = ""
    difference: float | None = None
    outcome: Outcome
    reason: str = ""


def half_unit(printed: str) -> float:
    """Return half of the last printed digit of a number: 0.05 for "14.9", 5 for "1,23e2"."""
    digits, _, exponent = printed.replace(",", "").lower().partition("e")
    decimals = len(digits.partition(".")[2])
    return float(0.5 * 10.0 ** (int(exponent or 0) - decimals))


def largest(*values: float) -> float:
    """Return the largest value, NaN if one is: `max` may pass over it, and hide a failure."""
    return math.nan if any(map(math.isnan, values)) else max(values)


def compared(
    what: str,
    printed: str,
    ours: float,
    *,
    reason: str = "",
    source: str = "",
    digits: int | None = None,
) -> Line:
    """Return a line on a printed number.

    printed : as printed, such as "78.6" or "2,999"
    digits : decimals of ours that are shown, one more than printed by default
    reason : why ours differs; shown if it does
    source : where ours comes from if it is stored, not computed; always shown
    """
    value, half = float(printed.replace(",", "")), half_unit(printed)
    if digits is None:
        digits = max(len(printed.partition(".")[2]) + 1, 1)
        if ours == round(ours) and "." not in printed:
            digits = 0
    difference = float(ours - value)
    same = abs(difference) <= half + _ROUNDING * max(1.0, abs(value))
    return Line(
        what=what,
        outcome="reproduced" if same else "differs",
        printed=printed,
        ours=f"{ours:,.{digits}f}",
        difference=difference,
        reason=_both("" if same else reason, source),
    )


def _both(reason: str, source: str) -> str:
    return " ".join(one for one in (reason, source) if one)


def agrees(
    what: str, difference: float, bound: float, cases: int, *, reason: str = "", of: str = "case"
) -> Line:
    """Return a line on a formula that was computed twice: as printed, and by the package.

    difference : the largest found; bound : the largest that rounding explains
    """
    same = difference <= bound and not math.isnan(difference)
    within = f"{bound:g}" if same else f"{difference:.3g}"
    return Line(
        what=what,
        outcome="reproduced" if same else "differs",
        printed="the formula",
        ours=f"within {within} in {counted(cases, of, _PLURALS.get(of))}",
        difference=float(difference),
        reason="" if same else reason,
    )


def never(what: str, violations: int, cases: int, *, reason: str = "", of: str = "case") -> Line:
    """Return a line on a theorem: it says that there is no violation."""
    return Line(
        what=what,
        outcome="reproduced" if violations == 0 else "differs",
        printed="0 violations",
        ours=f"{violations:,} in {counted(cases, of, _PLURALS.get(of))}",
        difference=float(violations),
        reason="" if violations == 0 else reason,
    )


def dropped(what: str, violations: int, cases: int, *, reason: str = "", of: str = "case") -> Line:
    """Return a line on a theorem without one of its assumptions, of which it says nothing."""
    return Line(
        what=what,
        outcome="beyond",
        ours=f"{violations:,} in {counted(cases, of, _PLURALS.get(of))}",
        reason=reason,
    )


def holds(
    what: str, printed: str, ours: str, truth: bool, *, reason: str = "", source: str = ""
) -> Line:
    """Return a line on a statement that is true or false; reason, source : see `compared`."""
    return Line(
        what=what,
        outcome="reproduced" if truth else "differs",
        printed=printed,
        ours=ours,
        reason=_both("" if truth else reason, source),
    )


def beyond(what: str, ours: str, *, reason: str = "") -> Line:
    """Return a line on something that the document does not have."""
    return Line(what=what, outcome="beyond", ours=ours, reason=reason)


def stated(what: str, reason: str = "") -> Line:
    """Return a line on an assumption or a name, by which alone nothing is computed."""
    return Line(what=what, outcome="stated", reason=reason)


def not_done(what: str, reason: str, *, printed: str = "") -> Line:
    """Return a line on something that is not done, and why."""
    return Line(what=what, outcome="not done", printed=printed, reason=reason)
