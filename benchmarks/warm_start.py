"""How much longer does a command take than the imports that it cannot avoid, with cached kernels?

Processor time of a whole process, user and system, in turns: the imports alone, then the command;
median of each, and of the ratios of neighbours. Every command needs Typer, which loads pydantic
when it reads the first option, msgspec, NumPy, and Polars for tables; `rate` also needs Numba to
run compiled code. The second column names them. The argument is the number of turns, 9 by default.
"""

from __future__ import annotations

import os
import sys
import tempfile
from statistics import median

from report import ROOT, report

EXAMPLES = ROOT / "examples"

#: pydantic loads nothing before one of its names is used, and Typer uses these.
_TABLES = "import typer._adapters, msgspec, numpy, polars"
_COMPILED = f"{_TABLES}, numba"

#: What the command needs, and its arguments.
COMMANDS = {
    "rate, to a file": (_COMPILED, ["rate", "contests.csv", "--output", "{folder}/ratings.csv"]),
    "rate, to a pipe": (_COMPILED, ["rate", "contests.csv"]),
    "balance": (_TABLES, ["balance", "lobby.csv", "--size", "5"]),
    "performance": (_TABLES, ["performance", "interzonal1970.csv"]),
}


def processor_time(arguments: list[str], environment: dict[str, str]) -> float:
    """Return the processor seconds of a run of Python."""
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    process = os.posix_spawn(
        sys.executable, [sys.executable, *arguments], environment, file_actions=quiet
    )
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"python {' '.join(arguments)} ended with status {status}")
    return usage.ru_utime + usage.ru_stime


def measured(
    name: str, turns: int, folder: str, environment: dict[str, str]
) -> tuple[str, str, str, str, str]:
    """Return a line of the table."""
    imports, words = COMMANDS[name]
    command = ["-m", "equipoise", *(word.format(folder=folder) for word in words)]
    command = [str(EXAMPLES / one) if (EXAMPLES / one).is_file() else one for one in command]
    least, whole = [], []
    for turn in range(turns + 1):
        one = processor_time(["-c", imports], environment)
        two = processor_time(command, environment)
        if turn:  # the first compiles kernels and byte code, if that is still to be done
            least.append(one)
            whole.append(two)
    ratio = median(two / one for one, two in zip(least, whole, strict=True))
    return (
        name,
        imports.removeprefix("import "),
        f"{median(least):.3f}",
        f"{median(whole):.3f}",
        f"{ratio:.2f}",
    )


def main() -> None:
    """Measure and report."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    # With it, Python compiles every source anew.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for name in COMMANDS:
            rows.append(measured(name, turns, folder, environment))
            print(*rows[-1], flush=True)
    columns = ("command", "imports", "imports, CPU s", "command, CPU s", "ratio")
    report("warm_start", __doc__ or "", columns, rows)


if __name__ == "__main__":
    main()
