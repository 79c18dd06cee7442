"""How a benchmark tells what it measured: machine, versions, a table, a file in results/."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple, TypeVar

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
DATA = ROOT.parent / "shared" / "data"

LIBRARIES = (
    "equipoise",
    "numpy",
    "numba",
    "polars",
    "elo-mmr-py",
    "openskill",
    "trueskill",
    "glicko2",
    "elote",
    "ortools",
    "choix",
    "pyamg",
)


def machine() -> str:
    """Return processor, cores, Python and the versions of the libraries measured."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        processor = names[0].partition(": ")[2] if names else processor
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{processor}, {cores} cores; Python {platform.python_version()}; {', '.join(found)}"


def pace() -> float:
    """Return the milliseconds that a loop of 2,000,000 steps takes here: how fast the machine is.

    Processors that are shared with others may be half as fast a minute later.
    """

    def once() -> float:
        started, total = time.perf_counter(), 0
        for number in range(2_000_000):
            total += number * number % 7
        return 1000.0 * (time.perf_counter() - started)

    return min(once() for _ in range(3))


_Result = TypeVar("_Result")


def timed(work: Callable[[], _Result]) -> tuple[float, _Result]:
    """Return the seconds that `work` takes, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that `work` takes."""
    return timed(work)[0]


class Part(NamedTuple):
    """A table with a heading and a word after it; either may be empty."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def report(name: str, question: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table and keep it as results/NAME.md."""
    report_parts(name, question, [Part("", columns, rows)])


def report_parts(name: str, question: str, parts: Sequence[Part]) -> None:
    """Print several tables and keep them as results/NAME.md."""
    paragraphs = [f"# {name}", question, machine()]
    for part in parts:
        heading = f"## {part.heading}" if part.heading else ""
        paragraphs += [heading, lines_of(part.columns, part.rows), part.note]
    text = "\n\n".join(one for one in paragraphs if one) + "\n"
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text)


def lines_of(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, its columns aligned."""
    widths = [max(len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    rule = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join([line(columns), rule, *(line(row) for row in rows)])


def keep_numbers(name: str, numbers: object) -> None:
    """Keep numbers that a chart of the documentation is drawn from, as results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(numbers, indent=1) + "\n")


def needs(path: Path) -> Path:
    """Return a data file, or end with a clear word where it is absent."""
    if not path.exists():
        raise SystemExit(f"this benchmark reads {path.name}, which is not here: nothing measured")
    return path
