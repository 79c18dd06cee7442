"""When a printed number counts as reproduced."""

from __future__ import annotations

import math

import pytest
from papers.lines import Line, agrees, compared, dropped, holds, largest, never


@pytest.mark.parametrize(
    ("line", "outcome", "ours"),
    [
        (compared("x", "78.5", 78.467), "reproduced", "78.47"),
        (compared("x", "78.5", 78.45), "reproduced", "78.45"),
        (compared("x", "78.5", 78.449, reason="other data"), "differs", "78.45"),
        (compared("x", "2,999", 2999.5), "reproduced", "2,999.5"),
        (compared("x", "1e3", 1501.0), "differs", "1,501"),
        (agrees("x", 1e-10, 1e-9, 1000), "reproduced", "within 1e-09 in 1,000 cases"),
        (agrees("x", 2e-9, 1e-9, 1000), "differs", ""),
        (agrees("x", largest(1.0, math.nan), 1e-9, 1), "differs", ""),
        (agrees("x", largest(math.nan, 1.0), 1e-9, 1), "differs", ""),
        (never("x", 0, 20, of="match"), "reproduced", "0 in 20 matches"),
        (never("x", 1, 20), "differs", ""),
        (dropped("x", 7, 20, of="lobby"), "beyond", "7 in 20 lobbies"),
    ],
)
def test_lines_say_whether_a_number_is_reproduced(line: Line, outcome: str, ours: str) -> None:
    """A number is, if it rounds to what is printed; one that is not a number never is."""
    assert line.outcome == outcome
    assert ours in line.ours


def test_a_stored_number_says_so_even_if_it_is_reproduced() -> None:
    stored = "Stored: commit 1234."
    assert compared("x", "78.5", 78.467, reason="other data", source=stored).reason == stored
    assert compared("x", "78.5", 78.4, reason="Other.", source=stored).reason == f"Other. {stored}"
    assert holds("x", "ahead", "+1", True, source=stored).reason == stored
