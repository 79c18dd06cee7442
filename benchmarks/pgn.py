"""How fast is PGN read, and in how much memory?

Games are made up: tags as large sites write them; moves with clocks and evaluations, bare, or
absent; files of 200 MB, plain and compressed. Legal moves do not matter to the reader. Times are
of the processor, unpacking included; peak memory is of the whole process with its libraries.
"""

from __future__ import annotations

import bz2
import gzip
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from report import report

SIZE = 200_000_000
PLAYERS = 20_000


def tags(rng: random.Random, result: str) -> str:
    """Return the tags of a game of a large site."""
    values = {
        "Event": "Rated Blitz game",
        "Site": f"https://example.org/{rng.randrange(16**8):08x}",
        "Date": "2024.01.01",
        "Round": "-",
        "White": f"player{rng.randrange(PLAYERS)}",
        "Black": f"player{rng.randrange(PLAYERS)}",
        "Result": result,
        "UTCDate": "2024.01.01",
        "UTCTime": f"{rng.randrange(24):02}:{rng.randrange(60):02}:00",
        "WhiteElo": str(rng.randrange(800, 2800)),
        "BlackElo": str(rng.randrange(800, 2800)),
        "WhiteRatingDiff": "+5",
        "BlackRatingDiff": "-5",
        "ECO": "C00",
        "Opening": "French Defense: Knight Variation",
        "TimeControl": "300+0",
        "Termination": "Normal",
    }
    return "".join(f'[{tag} "{value}"]\n' for tag, value in values.items()) + "\n"


def annotated(rng: random.Random) -> str:
    """Return moves with an evaluation and a clock each."""
    moves = []
    for move in range(1, rng.randrange(20, 60)):
        for dots, san in ((".", "Nf3"), ("...", "exd5")):
            note = f"[%eval {rng.uniform(-3, 3):.2f}] [%clk 0:04:{rng.randrange(60):02}]"
            moves.append(f"{move}{dots} {san} {{ {note} }}")
    return " ".join(moves) + " "


def bare(rng: random.Random) -> str:
    """Return moves alone, in lines."""
    moves = [f"{move}. Nf3 exd5" for move in range(1, rng.randrange(20, 60))]
    lines = (" ".join(moves[at : at + 6]) for at in range(0, len(moves), 6))
    return "\n".join(lines) + " "


KINDS: dict[str, Callable[[random.Random], str] | None] = {
    "clocks and evaluations": annotated,
    "moves alone": bare,
    "tags alone": None,
}


def write(path: Path, kind: str) -> None:
    """Write a file of games. The first ten thousand are made, and come again and again."""
    rng, moves = random.Random(17), KINDS[kind]
    games = []
    for _ in range(10_000):
        result = rng.choice(["1-0", "0-1", "1/2-1/2"])
        games.append(tags(rng, result) + (moves(rng) + result + "\n\n" if moves else ""))
    block = "".join(games).encode()
    with path.open("wb") as file:
        for _ in range(max(1, SIZE // len(block))):
            file.write(block)


def measure(path: Path) -> tuple[int, float, float]:
    """Return games, seconds of processor and peak memory in MB of a process that reads a file."""
    command = [sys.executable, __file__, str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(found[0]), float(found[1]), float(found[2])


def read(path: Path) -> None:
    """Read a file and print what it took."""
    from equipoise.formats.pgn.games import read_pgn
    from equipoise.formats.table import Content

    before = time.process_time()
    games = read_pgn([Content(str(path), "pgn", path)])
    seconds = time.process_time() - before
    print(len(games.white), seconds, peak_memory())


def peak_memory() -> float:
    """Return the most memory this process has had, in MB."""
    # Unlike ru_maxrss, which begins with that of the process it was forked from.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main() -> None:
    """Measure every kind of file."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "games.pgn")
        for kind in KINDS:
            write(path, kind)
            size = path.stat().st_size / 1e6
            files = [("plain", path)]
            if kind == "clocks and evaluations":
                packed = Path(folder, "games.pgn.gz"), Path(folder, "games.pgn.bz2")
                packed[0].write_bytes(gzip.compress(path.read_bytes(), 6))
                packed[1].write_bytes(bz2.compress(path.read_bytes(), 9))
                files += [("gzip", packed[0]), ("bzip2", packed[1])]
            for packing, one in files:
                games, seconds, peak = measure(one)
                numbers = f"{size:.0f}", f"{games:,}", f"{seconds:.2f}", f"{size / seconds:.0f}"
                rows.append([kind, packing, *numbers, f"{games / seconds:,.0f}", f"{peak:.0f}"])
    columns = [
        "games of",
        "packed",
        "MB",
        "games",
        "processor s",
        "MB/s",
        "games/s",
        "peak memory, MB",
    ]
    report("pgn", (__doc__ or "").strip(), columns, rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        read(Path(sys.argv[1]))
    else:
        main()
