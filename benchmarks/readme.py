"""What does the README's table say: Equipoise beside the programs that do the same?

Each row is the same task, done by both programs on this machine, one after the other; times are
wall times. Compiling kernels is excluded.

contests: the whole Codeforces history on two threads, in process, reading excluded, against the
authors' program (elo-mmr-py, Rust) in its fast mode, which looks at about 100 opponents; ours looks
at all. The 40 late contests, where both look at all, are in `elo_mmr.md`.

teams: 100,000 matches of 5v5 among 20,000 players, in process, on one thread, with the same system
and parameters on both sides. Then the same matches one after another, each rated from the ratings
that the ones before left, as a game server would; ours by `system.rate`, which gives the bits of
the whole replay. The peer is called for one match at a time anyway; more is in `one_match.md`.

performance: 1,000 players and 101,000 decided games, from a PGN file to a CSV file, each program a
process of its own. Ours always computes error bars. Ordo (GPL; compile it yourself) computes them
with -s, by simulation; it is told that there are no draws, and the Elo curve to all digits. Then
the ratings alone, from games in memory, ours in process and Ordo's by its own log (to 0.01 s).
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from equipoise.data.games import Games
from equipoise.data.history import History
from equipoise.formats import read_history
from equipoise.rating.elo_mmr.elo_mmr import EloMMR
from equipoise.rating.replay import Replay, replay
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.trueskill import TrueSkill
from equipoise.rating.systems.weng_lin import PlackettLuce
from equipoise.tournament.equilibrium import performance_equilibrium
from report import (
    DATA,
    RESULTS,
    ROOT,
    Part,
    keep_numbers,
    lines_of,
    machine,
    pace,
    report_parts,
    seconds,
)

THREADS = 2

#: Rating points of ours that are one of openskill's and trueskill's.
UNIT = 60.0

#: Ordo's scale is the difference with an expected score of 0.76. Its default, 202, is rounded.
ORDO_SCALE = 400.0 * math.log10(0.76 / 0.24)
SIMULATIONS = 100

COLUMNS = ("task", "Equipoise", "other program", "Equipoise is")
BEGIN = "<!-- figures: benchmarks/readme.py --readme writes this table -->\n"
END = "<!-- end of figures -->\n"
README = ROOT / "README.md"


@dataclass(frozen=True, slots=True)
class Row:
    """A task and what both programs take for it, seconds; a note says what one does besides."""

    task: str
    ours: float
    our_note: str
    peer: str
    theirs: float
    their_note: str

    def cells(self) -> tuple[str, str, str, str]:
        """Return the cells of the table."""
        ours = ", ".join(one for one in (shown(self.ours), self.our_note) if one)
        theirs = ", ".join(one for one in (shown(self.theirs), self.peer, self.their_note) if one)
        return self.task, ours, theirs, faster(self.theirs / self.ours)


def shown(seconds: float) -> str:
    """Return seconds with a unit and at least two digits."""
    value, unit = (seconds, "s") if seconds >= 1.0 else (1000.0 * seconds, "ms")
    digits = 0 if value >= 100.0 else 1 if value >= 1.0 else 3
    return f"{value:.{digits}f} {unit}"


def faster(ratio: float) -> str:
    """Return how many times faster or slower, without rounding either up to nothing."""
    times, word = (ratio, "faster") if ratio >= 1.0 else (1.0 / ratio, "slower")
    return f"{times:.{1 if times < 10 else 0}f}x {word}"


def contests() -> tuple[list[Row], str]:
    """Rate the whole Codeforces history by both programs."""
    os.environ["RAYON_NUM_THREADS"] = str(THREADS)
    from elo_mmr import contests_of
    from elo_mmr_py import EloMmrConfig, rate_latest

    history = read_history(DATA / "codeforces.parquet")
    ours = EloMMR(weight_limit=0.23, sigma_limit=54, rho=1.0)
    replay(ours, history.slice(0, 3), threads=THREADS)
    replay(ours, history.slice(history.matches - 2, history.matches), threads=THREADS)

    def rate() -> None:
        replay(ours, history, threads=THREADS)

    theirs = contests_of(history)
    fast = EloMmrConfig("mmr-fast", weight_limit=0.23, sig_limit=54)
    times = [seconds(rate) for _ in range(3)]
    taken = seconds(lambda: rate_latest(theirs, fast))
    times += [seconds(rate) for _ in range(2)]
    row = Row(
        f"{history.matches:,} Codeforces contests, {history.participations:,} participations, "
        "`elo-mmr`",
        median(times),
        "all opponents",
        "Elo-MMR's own program",
        taken,
        "about 100 opponents",
    )
    return [row], f"Ours is a median of {len(times)}, the peer's a single run."


class Pair(NamedTuple):
    """A system of ours, and how the peer rates a match by the same system and makes a newcomer."""

    system: RatingSystem
    peer: str
    rate: Callable[..., Any]
    newcomer: Callable[[], Any]


def pairs() -> list[Pair]:
    """Return both programs of each system, with the peers' defaults."""
    from openskill.models import PlackettLuce as OpenSkill
    from trueskill import TrueSkill as Package

    openskill, package = OpenSkill(), Package(draw_probability=0.1)
    newcomer: dict[str, Any] = {"initial_rating": 25 * UNIT, "initial_deviation": 25 / 3 * UNIT}
    known: dict[str, Any] = {**newcomer, "beta": 25 / 6 * UNIT, "drift": 25 / 300 * UNIT}
    trueskill = TrueSkill(**known, draw_probability=0.1)
    return [
        Pair(PlackettLuce(**known), "openskill", openskill.rate, openskill.rating),
        Pair(trueskill, "trueskill", package.rate, package.create_rating),
    ]


def whole_season(pair: Pair, history: History, lobbies: Sequence[Any]) -> tuple[Row, float]:
    """Return the row of all matches, and the largest difference of the final ratings."""
    from team_glicko2 import rate_by_peer

    def rate() -> Replay:
        return replay(pair.system, history)

    replay(pair.system, history.slice(0, 3))
    times = [seconds(rate) for _ in range(5)]
    start = time.perf_counter()
    theirs = rate_by_peer(pair.rate, pair.newcomer, lobbies)
    taken = time.perf_counter() - start
    times += [seconds(rate) for _ in range(5)]
    task = f"{history.matches:,} matches of 5v5, `{pair.system.name}`"
    ours = rate().ratings
    mu = UNIT * np.array([theirs[player].mu for player in ours.player_ids.tolist()])
    row = Row(task, median(times), "", pair.peer, taken, "")
    return row, float(np.max(np.abs(mu - ours.rating)))


def one_by_one(system: RatingSystem, history: History, lobbies: Sequence[Any]) -> float:
    """Return the seconds of a match, rated in one call after another like the peer's."""
    from team_glicko2 import rate_by_peer

    calls: Any = system
    rate_by_peer(calls.rate, calls.rating, lobbies[:10])
    start = time.perf_counter()
    found = rate_by_peer(calls.rate, calls.rating, lobbies)
    taken = time.perf_counter() - start
    whole = replay(system, history).ratings
    if [found[row].rating for row in whole.player_ids.tolist()] != whole.rating.tolist():
        raise SystemExit(f"{system.name}: single calls and a replay give different ratings")
    return taken / history.matches


def teams() -> tuple[list[Row], str]:
    """Rate matches of 5v5 by openskill and trueskill and by the same systems of ours."""
    from team_glicko2 import PLAYERS, lobbies_of, season

    history = season(np.random.default_rng(4))
    lobbies = lobbies_of(history, history.matches)
    whole, singly, differences = [], [], []
    for pair in pairs():
        row, off = whole_season(pair, history, lobbies)
        whole.append(row)
        differences.append(f"{off:.1g} points from {pair.peer}'s")
        task = f"one match of 5v5 after another, `{pair.system.name}`, {PLAYERS:,} players"
        ours, theirs = one_by_one(pair.system, history, lobbies), row.theirs / history.matches
        singly.append(Row(task, ours, "`system.rate`", pair.peer, theirs, ""))
    note = (
        "Ours are medians of ten, and one run where matches come one after another; the peers' one "
        "run of all matches. The final ratings are at most "
        f"{' and '.join(differences)} (1500 at first)."
    )
    return whole + singly, note


def write_pgn(path: Path, games: Games) -> None:
    """Write games without moves."""
    results = {1.0: "1-0", 0.0: "0-1", 0.5: "1/2-1/2"}
    columns = (games.white.tolist(), games.black.tolist(), games.points.tolist())
    with path.open("w") as file:
        for white, black, points in zip(*columns, strict=True):
            result = results[points]
            tags = f'[White "p{white}"]\n[Black "p{black}"]\n[Result "{result}"]\n'
            file.write(f"{tags}\n{result}\n\n")


def run(command: list[str]) -> tuple[float, str]:
    """Return how long a program takes, and what it prints."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-300:]}")
    return taken, done.stdout


def columns_of(path: Path, player: str, *names: str) -> dict[str, list[float]]:
    """Return numbers of a table of ratings by player."""
    with path.open() as file:
        return {row[player]: [float(row[name]) for name in names] for row in csv.DictReader(file)}


def computing(log: str) -> float:
    """Return the seconds from games to ratings, of Ordo's --timelog."""
    lines = [line.partition("|") for line in log.splitlines() if "|" in line]
    at = {what.strip(): float(clock) for clock, _, what in lines if clock.strip()}
    return at["done with rating calculation."] - at["done with input"]


def performance(ordo: str) -> tuple[list[Row], str]:
    """Rate the performances of one tournament by both programs."""
    from equilibrium import tournament

    games = tournament("decided", 1_000, 100_000)
    task = f"performance ratings, {games.players:,} players, {games.rows:,} games"
    performance_equilibrium(games)
    memory = median(seconds(lambda: performance_equilibrium(games)) for _ in range(15))
    with tempfile.TemporaryDirectory() as folder:
        source, ours, theirs = (Path(folder) / name for name in ("g.pgn", "ours.csv", "theirs.csv"))
        write_pgn(source, games)
        equipoise = [sys.executable, "-m", "equipoise", "performance", str(source)]
        equipoise += ["--output", str(ours)]
        peer = [ordo, "-q", "-a", "0", "-z", repr(ORDO_SCALE), "-d", "0", "-N", "8"]
        peer += ["-p", str(source), "-c", str(theirs)]
        version = run([ordo, "--version"])[1].strip()
        run(equipoise)
        our_times = [run(equipoise)[0] for _ in range(3)]
        plain = [run(peer)[0] for _ in range(5)]
        log = median(computing(run([*peer, "--timelog"])[1]) for _ in range(5))
        simulated, _ = run([*peer, "-s", str(SIMULATIONS), "-n", str(THREADS)])
        our_times += [run(equipoise)[0] for _ in range(2)]
        found = columns_of(ours, "player", "ppr", "error")
        expected = columns_of(theirs, "PLAYER", "RATING", "ERROR")
    rows = np.array([[*found[player], *expected[player]] for player in expected])
    apart = (rows[:, 2] - rows[:, 2].mean()) - (rows[:, 0] - rows[:, 0].mean())
    low, middle, high = np.quantile(rows[:, 3] / rows[:, 1], [0.05, 0.5, 0.95])
    wall = median(our_times)
    by = f"error bars of {SIMULATIONS} simulations"
    note = (
        f"Ordo is {version}. Ratings differ by at most {np.max(np.abs(apart)):.1g} points. Ordo's "
        f"error bars are {middle:.2f} times ours (90 % of players: {low:.2f} to {high:.2f}; "
        f"{SIMULATIONS} simulations leave them 7 % uncertain). Medians of five and, in memory, of "
        "fifteen; Ordo with simulations a single run."
    )
    return [
        Row(f"{task}, PGN to CSV", wall, "with error bars", "Ordo", median(plain), "without them"),
        Row("the same, both with error bars", wall, "by a formula", "Ordo", simulated, by),
        Row("the same, ratings alone, games in memory", memory, "", "Ordo", log, ""),
    ], note


def arguments() -> argparse.Namespace:
    """Return what is to be measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ordo", default="ordo", help="path of the compiled program")
    parser.add_argument("--only", action="append", choices=("contests", "teams", "performance"))
    parser.add_argument("--readme", action="store_true", help="also write the table to README.md")
    return parser.parse_args()


def absent(name: str, ordo: str) -> str:
    """Return why a part cannot be measured here; empty if it can."""
    if name == "contests" and not (DATA / "codeforces.parquet").exists():
        return f"{DATA / 'codeforces.parquet'} does not exist"
    if name == "performance" and shutil.which(ordo) is None:
        return f"{ordo} is not a program: compile github.com/michiguel/Ordo and pass --ordo PATH"
    return ""


def kept_before() -> dict[str, Any]:
    """Return what runs on such a machine, with these versions, kept before."""
    path = RESULTS / "readme.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return {name: part for name, part in kept.items() if part.get("machine") == machine()}


def into_readme(table: str) -> None:
    """Replace the table of README.md."""
    text = README.read_text()
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise SystemExit(f"README.md must have {BEGIN.strip()} and {END.strip()} once")
    README.write_text(pattern.sub(lambda _: f"{BEGIN}{table}\n{END}", text))


def main() -> None:
    """Measure and report; what is not measured now is kept from the last run."""
    asked = arguments()
    work: Mapping[str, Callable[[], tuple[list[Row], str]]] = {
        "contests": contests,
        "teams": teams,
        "performance": lambda: performance(asked.ordo),
    }
    kept = kept_before()
    for name in asked.only or work:
        reason = absent(name, asked.ordo)
        if reason:
            print(f"{name} is not measured: {reason}", file=sys.stderr)
            continue
        before = pace()
        rows, note = work[name]()
        speed = f"A loop of 2,000,000 steps took {before:.0f} ms before and {pace():.0f} after."
        kept[name] = {
            "machine": machine(),
            "rows": [asdict(row) for row in rows],
            "note": f"{note} {speed}",
        }
        print(name, *(row.cells() for row in rows), sep="\n", file=sys.stderr)
    keep_numbers("readme", kept)
    cells = [Row(**row).cells() for name in work if name in kept for row in kept[name]["rows"]]
    notes = "\n\n".join(f"{name}: {kept[name]['note']}" for name in work if name in kept)
    report_parts("readme", (__doc__ or "").strip(), [Part("", COLUMNS, cells, notes)])
    if asked.readme:
        into_readme(lines_of(COLUMNS, cells))


if __name__ == "__main__":
    main()
