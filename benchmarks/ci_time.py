"""How much processor time do the tests of CI take, by part and folder, before and after a change?

    for part in test test-slow test-jit-off test-bounds; do
        COSTS=$PWD/costs/$part.jsonl PYTHONPATH=tests PYTEST_ADDOPTS="-p trials.cost" make $part
    done
    python benchmarks/ci_time.py before=FOLDER after=costs

The tests write their costs with the plugin of `tests/trials/cost.py`, in as many processes as the
machine has cores. A folder has one file for each part, or for a piece of one, such as
`test-slow.pools.jsonl`. Only files that are in both folders are compared, so a piece that was
measured once does not look like a saving. Processor time is that of the tests and of the
processes that they started; compiling is that of kernels in the processes of the tests.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from report import report

OTHER = "(imports, collection)"


@dataclass(slots=True)
class Cost:
    """Sums over tests.

    seconds, compiling : of processor time
    """

    tests: int = 0
    seconds: float = 0.0
    compiling: float = 0.0


def folder_of(test: str) -> str:
    """Return the folder below `tests` of a test, or its file where it is directly there."""
    return "/".join(test.partition("::")[0].split("/")[:2]) if test else OTHER


def read_costs(folder: Path, names: set[str]) -> dict[tuple[str, str], Cost]:
    """Return the cost of each folder of each file, and of the file, whose folder is empty."""
    found: dict[tuple[str, str], Cost] = defaultdict(Cost)
    for name in sorted(names):
        part = name.removesuffix(".jsonl")
        for line in (folder / name).read_text().splitlines():
            cost = json.loads(line)
            for key in ((part, ""), (part, folder_of(cost["test"]))):
                found[key].tests += bool(cost["test"])
                found[key].seconds += cost["seconds"]
                found[key].compiling += cost.get("compiling", 0.0)
    return found


def main() -> None:
    """Compare two folders of costs."""
    folders = {}
    for argument in sys.argv[1:]:
        name, _, path = argument.partition("=")
        folders[name] = Path(path)
    if set(folders) != {"before", "after"} or not all(one.is_dir() for one in folders.values()):
        raise SystemExit("usage: python benchmarks/ci_time.py before=FOLDER after=FOLDER")
    files = [{one.name for one in folder.glob("*.jsonl")} for folder in folders.values()]
    names = files[0] & files[1]
    if not names:
        raise SystemExit("no file of costs is in both folders: nothing to compare")
    before, after = (read_costs(folders[name], names) for name in ("before", "after"))
    rows = []
    for part, folder in sorted(before.keys() | after.keys()):
        one, other = before[part, folder], after[part, folder]
        change = 100 * (other.seconds / one.seconds - 1) if one.seconds else 0.0
        rows.append(
            (
                part if not folder else "",
                folder or "all",
                f"{one.tests:,}",
                f"{one.seconds:.0f}",
                f"{other.tests:,}",
                f"{other.seconds:.0f}",
                f"{other.compiling:.0f}",
                f"{change:+.0f} %",
            )
        )
    report(
        "ci_time",
        "Processor seconds of the tests, by part of `make test-all` and folder, before and after a "
        "change. What stands after the dot is the piece of the part that was measured.",
        ("part", "folder", "tests", "before", "tests", "after", "compiling", "change"),
        rows,
    )


if __name__ == "__main__":
    main()
