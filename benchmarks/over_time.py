"""How do the figures of the benchmarks change from day to day?

Run: python benchmarks/over_time.py FOLDER [DAY [FILE]] (or `make bench-chart RESULTS=... DAY=...`)
FOLDER has a folder for each day, named like 2027-01-31, with the tables of benchmarks/results of
that day. With DAY, the tables that are in benchmarks/results now are kept there first, with FILE
only those that are newer than this file. Then a chart is drawn for each benchmark, as
FOLDER/NAME.svg, and FOLDER/index.html shows all of them. Machines that are shared are not equally
fast every day: look at lines that stay higher or lower.
"""

from __future__ import annotations

import html
import re
import shutil
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

#: A cell with a number: "3.53", "20.6x", "1,412 (10.8, 18.4 ms)", "+0.3 %", "3.39 to 3.60".
_NUMBER = re.compile(r"([+-]?\d[\d,]*(?:\.\d+)?)\s?(?:x|s|ms|%|kB|MB|GB|/s)?(?: (?:\(|to ).*)?")
#: Lines that one chart shows; the rows of a larger table that come later are left out.
_MOST = 12
_WIDTH, _HEIGHT = 9.0, 3.2

#: Where benchmarks write.
RESULTS = Path(__file__).parent / "results"


class Point(NamedTuple):
    """One figure of one day.

    chart : heading and column of the table; line : what the row is about
    """

    chart: str
    line: str
    day: date
    value: float


def keep(folder: Path, day: date, results: Path = RESULTS, *, since: Path | None = None) -> None:
    """Keep the tables of the last run under a day.

    since : a file that was written when the run began; older tables are of another run
    """
    place = folder / day.isoformat()
    place.mkdir(parents=True, exist_ok=True)
    for path in sorted(results.glob("*.md")):
        if since is None or path.stat().st_mtime_ns > since.stat().st_mtime_ns:
            shutil.copyfile(path, place / path.name)


def days_of(folder: Path) -> list[date]:
    """Return the days that a folder has, earliest first."""
    found = []
    for path in folder.iterdir():
        if re.fullmatch(r"\d{4}-\d\d-\d\d", path.name) and path.is_dir():
            found.append(date.fromisoformat(path.name))
    return sorted(found)


def points_of(text: str, day: date) -> Iterator[Point]:
    """Yield the figures of a file of results; columns without numbers name the row."""
    heading, rows = "", list[list[str]]()
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            continue
        if len(rows) > 2:
            yield from _points_of_table(heading, rows[0], rows[2:], day)
        rows = []
        if line.startswith("## "):
            heading = line[3:].strip()


def _points_of_table(
    heading: str, head: list[str], body: list[list[str]], day: date
) -> Iterator[Point]:
    """Yield the figures of one table. The first column always names the row."""
    body = [row for row in body if len(row) == len(head)]
    numbers = [
        at
        for at in range(1, len(head))
        if any(row[at] for row in body)
        and all(_NUMBER.fullmatch(row[at]) for row in body if row[at])
    ]
    for row in body:
        name = ", ".join(row[at] for at in range(len(head)) if at not in numbers and row[at])
        for at in numbers:
            found = _NUMBER.fullmatch(row[at])
            if found is not None:
                chart = f"{heading}: {head[at]}" if heading else head[at]
                yield Point(chart, name, day, float(found[1].replace(",", "")))


def draw(name: str, points: list[Point], path: Path) -> int:
    """Draw the figures of one benchmark into a file; return how many charts it has."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    charts: dict[str, dict[str, list[Point]]] = {}
    for point in points:
        charts.setdefault(point.chart, {}).setdefault(point.line, []).append(point)
    # The same figures give the same file.
    with mpl.rc_context({"svg.hashsalt": "equipoise", "svg.fonttype": "none"}):
        figure, axes = plt.subplots(
            len(charts), 1, figsize=(_WIDTH, _HEIGHT * len(charts)), squeeze=False
        )
        for (chart, lines), place in zip(charts.items(), axes[:, 0], strict=True):
            for line, of_line in list(lines.items())[:_MOST]:
                days = [point.day for point in of_line]
                place.plot(days, [point.value for point in of_line], marker="o", label=line)
            place.set_title(f"{name}: {chart}", loc="left", fontsize=9)
            place.set_ylim(bottom=min(0.0, place.get_ylim()[0]))
            place.tick_params(labelsize=7)
            place.legend(fontsize=6, loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.autofmt_xdate()
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
    return len(charts)


def build(folder: Path) -> list[Path]:
    """Draw the charts of all benchmarks, and write the page that shows them; return all files."""
    points: dict[str, list[Point]] = {}
    days = days_of(folder)
    for day in days:
        for path in sorted((folder / day.isoformat()).glob("*.md")):
            found = list(points_of(path.read_text(encoding="utf-8"), day))
            if found:
                points.setdefault(path.stem, []).extend(found)
    if not points:
        raise SystemExit(f"over_time: no results of any day in {folder}")
    files = []
    shown = ""
    for name, of_name in sorted(points.items()):
        files.append(folder / f"{name}.svg")
        draw(name, of_name, files[-1])
        shown += f'<h2>{html.escape(name)}</h2>\n<img src="{html.escape(name)}.svg" alt="">\n'
    page = folder / "index.html"
    page.write_text(
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        "<title>Benchmarks over time</title>\n<h1>Benchmarks over time</h1>\n"
        f"<p>{len(days)} days, from {days[0]} to {days[-1]}.</p>\n{shown}</html>\n",
        encoding="utf-8",
    )
    return [*files, page]


def main() -> None:
    """Keep the results of a day if one is given, and draw."""
    if not 2 <= len(sys.argv) <= 4:
        raise SystemExit("over_time: give the folder of results, and a day to keep them under")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 2:
        since = Path(sys.argv[3]) if len(sys.argv) > 3 else None
        keep(folder, date.fromisoformat(sys.argv[2]), since=since)
    print(*build(folder), sep="\n")


if __name__ == "__main__":
    main()
