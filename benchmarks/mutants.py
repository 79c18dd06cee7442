"""Which small faults do the tests find that stand nearest to them?

Run: python benchmarks/mutants.py [NUMBER ...] [--limit SECONDS]

Each fault of mutants.toml is put into a copy of the package, one at a time, and the tests of its
own layer are run until the first one fails. A fault is a text that stands once in the package, so
it is found wherever its file is moved. For what escapes, strengthen a test near the code by what
the code promises, not by the fault. With numbers, only these faults are tried, and
results/mutants.md keeps what it says of the others.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

from report import RESULTS, ROOT, report

FAULTS = Path(__file__).with_suffix(".toml")
COLUMNS = ["", "what is wrong", "tests", "result", "seconds", "found by"]
#: Compiled kernels, where they are kept if nobody says otherwise.
KERNELS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise"
#: All that CI runs of them, but what watches a clock or looks at pages.
MARKS = "not alone and not browser and not nightly"


class Fault(NamedTuple):
    """What is wrong, the text that becomes another, and the paths of the tests that are near."""

    what: str
    old: str
    new: str
    tests: str


def faults() -> list[Fault]:
    """Return the faults in the order of their numbers."""
    return [Fault(**one) for one in tomllib.loads(FAULTS.read_text())["fault"]]


def put(fault: Fault, package: Path) -> None:
    """Put a fault into the one file of the package that has its text."""
    texts = {path: path.read_text() for path in package.rglob("*.py")}
    found = {path: text for path, text in texts.items() if fault.old in text}
    if sum(text.count(fault.old) for text in found.values()) != 1:
        raise SystemExit(f"{fault.what}: its text must stand once in the package; got {[*found]}")
    for path, text in found.items():
        path.write_text(text.replace(fault.old, fault.new))


def tried(number: int, fault: Fault, limit: float) -> list[str]:
    """Return a row of the result: the tests of a fault are run until one fails."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(shutil.copytree(ROOT / "src", Path(folder) / "src"))
        put(fault, source)
        # Kernels that the fault changes are compiled where nobody else looks for them.
        shutil.copytree(KERNELS, Path(folder) / KERNELS.name)
        paths = {"PYTHONPATH": str(source), "XDG_CACHE_HOME": folder}
        arguments = ["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-profile", "quarter"]
        begun = time.monotonic()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *arguments, "-m", MARKS, *fault.tests.split()],
                cwd=ROOT,
                env={**os.environ, **paths},
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            result, by = f"not in {limit:.0f} s", ""
        else:
            result = {0: "escaped", 1: "found"}.get(done.returncode, "error")
            failed = re.search(r"^(?:FAILED|ERROR) \S+?::(\w+)", done.stdout, re.MULTILINE)
            by = f"`{failed[1]}`" if failed else ""
        seconds = f"{time.monotonic() - begun:.0f}"
    return [str(number), fault.what, fault.tests, result, seconds, by]


def kept(known: list[Fault]) -> dict[int, list[str]]:
    """Return the rows of the last result by number, as far as they are of the same faults."""
    path = RESULTS / "mutants.md"
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    numbered = {int(row[0]): row for row in rows if len(row) == 6 and row[0].isdecimal()}
    return {
        k: row for k, row in numbered.items() if k <= len(known) and row[1] == known[k - 1].what
    }


def main() -> None:
    """Try the faults that are asked for, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", nargs="*", type=int, help="from 1; all if none is given")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each fault")
    given = parser.parse_args()
    known = faults()
    rows = kept(known)
    for number in given.numbers or range(1, 1 + len(known)):
        rows[number] = tried(number, known[number - 1], given.limit)
        print(" | ".join(rows[number]), flush=True)
    counts = {word: sum(row[3] == word for row in rows.values()) for word in ("found", "escaped")}
    question = (
        "Which small faults do the tests of their own layer find? Each is put into a copy of the "
        f"package alone (`benchmarks/mutants.toml`): {counts['found']} of {len(rows)} were found, "
        f"{counts['escaped']} escaped. Seconds are those until the first test failed, "
        "beside other work."
    )
    report("mutants", question, COLUMNS, [rows[number] for number in sorted(rows)])


if __name__ == "__main__":
    main()
