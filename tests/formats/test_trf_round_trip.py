"""Reports drawn at random: what is written comes back, what is damaged is read or refused."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from equipoise.formats.trf import read_trf
from formats.reading_games import named
from formats.trf_writing import player_line, report

#: A report, its games, what is left out, its start numbers.
Drawn: TypeAlias = tuple[bytes, list[tuple[Any, ...]], dict[str, int], list[str]]

PLAYED = [("1", "0", 1.0), ("0", "1", 0.0), ("=", "=", 0.5)]
PLAYED += [("W", "L", 1.0), ("l", "w", 0.0), ("D", "d", 0.5)]
UNPLAYED = [("+", "-", "forfeit"), ("-", "-", "forfeit"), ("0", "0", "lost by both")]
ALONE = [*(f"0000 - {letter}" for letter in "HFUZhfuz"), "0000 - +", "     - -", "        "]
NAMES = st.text(alphabet="abcXYZ ,.-éüøß", min_size=1, max_size=9)


@st.composite
def tournaments(draw: st.DrawFn) -> Drawn:
    """Return a report with its games, what is left out, and its start numbers as names."""
    numbers = draw(st.lists(st.integers(1, 9999), min_size=2, max_size=9, unique=True))
    cells: dict[int, list[str]] = {number: [] for number in numbers}
    games: list[tuple[Any, ...]] = []
    left_out: Counter[str] = Counter()
    for at in range(draw(st.integers(0, 5))):
        order = draw(st.permutations(numbers))
        pairs = draw(st.integers(0, len(order) // 2))
        for white, black in zip(order[:pairs], order[pairs : 2 * pairs], strict=True):
            mine, theirs, outcome = draw(st.sampled_from([*PLAYED, *UNPLAYED]))
            colours = draw(st.sampled_from(["wb", "WB"]))
            cells[white].append(f"{black:>4} {colours[0]} {mine}")
            cells[black].append(f"{white:04} {colours[1]} {theirs}")
            if isinstance(outcome, str):
                left_out[outcome] += 1
            else:
                games.append((at + 1, white, black, outcome))
        for number in order[2 * pairs :]:
            cells[number].append(draw(st.sampled_from(ALONE)))
            left_out["bye"] += cells[number][-1].strip() != ""
    in_bytes = draw(st.booleans())
    lines = [
        player_line(
            number,
            rounds,
            name=f"{number} {draw(NAMES)}",
            rating=str(draw(st.integers(1000, 2900))),
            points="0.0",
            in_bytes=in_bytes,
        )
        for number, rounds in cells.items()
    ]
    lines = ["012 Test", "XXS W=3", *lines, "XXR 9"]
    lines = [line.rstrip() if draw(st.booleans()) else line for line in lines]
    ends = [draw(st.sampled_from(["\r", "\n", "\r\n", "\r\n\r\n"])) for _ in lines]
    text = "".join(line + end for line, end in zip(lines, ends, strict=True))
    encoding = "utf-8" if in_bytes else draw(st.sampled_from(["utf-8", "utf-8-sig", "cp1252"]))
    return text.encode(encoding), games, dict(+left_out), [str(number) for number in numbers]


@given(tournaments())
def test_a_random_tournament_comes_back(
    drawn: Drawn,
) -> None:
    """Whatever its line ends, encoding, way to count columns and blanks at the ends of lines."""
    data, games, left_out, numbers = drawn
    columns = read_trf(data, "")
    assert columns.problems == ()
    assert columns.round is not None
    found = [
        (at, int(white.split()[0]), int(black.split()[0]), points)
        for at, white, black, points in zip(
            columns.round, *named(columns)[:2], columns.points, strict=True
        )
    ]
    assert sorted(found) == sorted(games)
    assert [at for at, *_ in found] == sorted(at for at, *_ in games)
    assert columns.left_out == left_out
    assert columns.others is not None
    assert [one.split()[0] for one in columns.players[columns.others]] == numbers


def test_a_line_with_very_many_rounds_costs_no_more_than_its_length() -> None:
    lines = [player_line(number) for number in range(1, 2000)]
    lines[0] += " " * 1_000_000 + "  0000 - Z"
    columns = read_trf(report(*lines).encode(), "")
    assert (columns.problems, columns.left_out) == ((), {"bye": 1})
