"""How long does one match in one call take, beside the libraries that are made for that?

Every call gets the ratings of its players as values and returns new ones, or changes its players in
place where a peer works that way. The same matches in the same order for both: a round of ours,
then a round of the peer's, and so on, in one process. The table has medians of the processor time
of a call over all rounds, and the median of the ratios of neighbouring rounds. Kernels are compiled
and loaded before. Where the formulas are the same, the column "agree" has the largest difference of
a rating or deviation, in points, after all matches of a round; ratings begin at 1500.

First calls are in `first_match.md`.

5v5: random lobbies of 200 players; a duel: 40 players; a contest: 100 of 200 players. The package
trueskill is left out of contests: a call with 100 newcomers took 26 s.

The peers are openskill as its compiled wheel and as plain Python (the same files without the
compiled ones), trueskill, glicko2 and elote. river has no rating system any more. Those that are
not installed beside Equipoise are taken from another environment:

    python -m venv PEERS && PEERS/bin/pip install openskill trueskill glicko2 elote
    python benchmarks/one_match.py --peers PEERS/lib/python3.11/site-packages
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import equipoise as eq
from report import Part, pace, report_parts

#: Rating points of ours that are one of openskill's and trueskill's.
UNIT = 60.0

#: Rounds of each side, and about how many seconds a round takes.
ROUNDS, SECONDS = 9, 0.03

#: Matches that both sides rate one after another; the results are compared.
COMPARED = 60

#: Processes for each first call.
STARTS = 5

#: Parameters of ours that are the peers' defaults.
WENG_LIN: dict[str, Any] = {
    "initial_rating": 25 * UNIT,
    "initial_deviation": 25 / 3 * UNIT,
    "beta": 25 / 6 * UNIT,
    "drift": 25 / 300 * UNIT,
}

#: One match: rows of the players of each team, the winners first.
Match = list[list[int]]


@dataclass(frozen=True, slots=True)
class Side:
    """A library: its name, how it makes players and rates a match, and how a player is read.

    rate : rate(players of each team); returns them anew, or None where it changes them
    numbers : (rating, deviation) of a player, in our points; None where the formula differs
    """

    name: str
    newcomer: Callable[[], Any]
    rate: Callable[[list[list[Any]]], Any]
    numbers: Callable[[Any], tuple[float, float]] | None = None


def ours(name: str, **parameters: Any) -> Side:
    """Return a system of ours."""
    system: Any = eq.make_system(name, parameters)
    return Side(
        name, system.rating, system.rate, lambda one: (one.rating, one.deviation or float("nan"))
    )


def our_duel(name: str, **parameters: Any) -> Side:
    """Return a system of ours that rates two players without lists around them."""
    system: Any = eq.make_system(name, parameters)
    return Side(
        name,
        system.rating,
        lambda teams: [[one] for one in system.rate([teams[0][0], teams[1][0]])],
        lambda one: (one.rating, one.deviation or float("nan")),
    )


def plain_openskill() -> Any:
    """Return openskill's models as plain Python, imported from a copy without compiled files."""
    place = Path(str(importlib.import_module("openskill").__file__)).parent
    ours_before = {name: sys.modules.pop(name) for name in list(sys.modules) if _of_openskill(name)}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            place,
            Path(folder) / "openskill",
            ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"),
        )
        sys.path.insert(0, folder)
        found = importlib.import_module("openskill.models")
        sys.path.remove(folder)
    for name in list(sys.modules):
        if _of_openskill(name):
            del sys.modules[name]
    sys.modules.update(ours_before)
    return found


def _of_openskill(name: str) -> bool:
    return name.partition(".")[0] == "openskill"


def openskill_sides(model: str) -> list[Side]:
    """Return openskill's compiled model and the plain one."""
    sides = []
    for name, models in (
        ("openskill, compiled", importlib.import_module("openskill.models")),
        ("openskill, plain Python", plain_openskill()),
    ):
        system = getattr(models, model)()
        sides.append(Side(name, system.rating, system.rate, _of_mu_sigma))
    return sides


def _of_mu_sigma(player: Any) -> tuple[float, float]:
    return UNIT * player.mu, UNIT * player.sigma


def trueskill_side() -> Side:
    """Return the package trueskill."""
    env = importlib.import_module("trueskill").TrueSkill(draw_probability=0.1)
    return Side("trueskill", env.create_rating, env.rate, _of_mu_sigma)


def glicko2_side() -> Side:
    """Return the package glicko2, whose players are changed one after the other."""
    player = importlib.import_module("glicko2").Player

    def rate(teams: list[list[Any]]) -> None:
        (first,), (second,) = teams
        before = first.rating, first.rd
        first.update_player([second.rating], [second.rd], [1.0])
        second.update_player([before[0]], [before[1]], [0.0])

    return Side("glicko2", player, rate, lambda one: (one.rating, one.rd))


def elote_side(kind: str) -> Side:
    """Return a system of elote, whose competitors are changed."""
    made = getattr(importlib.import_module("elote"), kind)
    return Side(
        f"elote, {kind}",
        lambda: made(initial_rating=1500.0),
        lambda teams: teams[0][0].beat(teams[1][0]),
        (lambda one: (one.rating, float("nan"))) if kind == "EloCompetitor" else None,
    )


def matches_of(kind: str) -> tuple[int, list[Match]]:
    """Return (number of players, matches)."""
    players, teams, size = {"5v5": (200, 2, 5), "duel": (40, 2, 1), "contest": (200, 100, 1)}[kind]
    generator = random.Random(20)
    found = []
    for _ in range(COMPARED):
        rows = generator.sample(range(players), teams * size)
        found.append([rows[size * t : size * (t + 1)] for t in range(teams)])
    return players, found


def season(side: Side, players: int, matches: Sequence[Match]) -> list[Any]:
    """Return the players after all matches."""
    known = [side.newcomer() for _ in range(players)]
    for match in matches:
        after = side.rate([[known[row] for row in team] for team in match])
        if after is not None:
            for rows, team in zip(match, after, strict=True):
                for row, one in zip(rows, team, strict=True):
                    known[row] = one
    return known


def looped(side: Side, players: int, matches: Sequence[Match], calls: int) -> float:
    """Return the processor seconds of a call, many in a loop, so that the clock costs nothing.

    All matches are between newcomers, made before; a peer that changes its players goes on.
    """
    made = [
        [[side.newcomer() for _ in team] for team in matches[k % len(matches)]]
        for k in range(min(calls, 200))
    ]
    rate, several = side.rate, -(-calls // len(made))
    start = time.process_time()
    for _ in range(several):
        for teams in made:
            rate(teams)
    return (time.process_time() - start) / (several * len(made))


def agreement(first: Side, second: Side, kind: str) -> str:
    """Return the largest difference of a rating or deviation after all matches."""
    if first.numbers is None or second.numbers is None:
        return ""
    players, matches = matches_of(kind)
    mine = season(first, players, matches)
    try:
        theirs = season(second, players, matches)
    except ArithmeticError as error:
        return f"the peer stops: {type(error).__name__}"
    apart = 0.0
    for one, other in zip(mine, theirs, strict=True):
        for a, b in zip(first.numbers(one), second.numbers(other), strict=True):
            if a == a and b == b:
                apart = max(apart, abs(a - b))
    return f"{apart:.1g}"


def compared(kind: str, first: Side, second: Side, *, same: bool) -> tuple[str, ...]:
    """Return a row: both sides in turns."""
    players, matches = matches_of(kind)
    calls = []
    for side in (first, second):
        once = looped(side, players, matches, 3)
        if once < SECONDS:
            once = looped(side, players, matches, 20)
        calls.append(max(2, int(SECONDS / max(once, 1e-6))))
    times = [
        (looped(first, players, matches, calls[0]), looped(second, players, matches, calls[1]))
        for _ in range(ROUNDS)
    ]
    mine, theirs = (median(one) for one in zip(*times, strict=True))
    ratio = median(b / a for a, b in times)
    row = (
        kind,
        f"`{first.name}`",
        second.name,
        f"{1e6 * mine:.1f}",
        f"{1e6 * theirs:.1f}",
        f"{ratio:.2f}",
        agreement(first, second, kind) if same else "",
    )
    print(*row, sep="  ", flush=True)
    return row


def rating() -> Part:
    """Return the table of `system.rate`."""
    rows: list[tuple[str, ...]] = []
    luce = openskill_sides("PlackettLuce")
    pairs = openskill_sides("BradleyTerryFull")
    skill = trueskill_side()
    for kind in ("5v5", "duel", "contest"):
        make = our_duel if kind == "duel" else ours
        for peer in luce:
            rows.append(compared(kind, make("plackett-luce", **WENG_LIN), peer, same=True))
        trueskill = make("trueskill", **WENG_LIN, draw_probability=0.1)
        if kind != "contest":
            rows.append(compared(kind, trueskill, skill, same=True))
        rows.append(compared(kind, trueskill, luce[0], same=False))
        if kind != "contest":
            for peer in luce:
                rows.append(compared(kind, make("team-glicko2"), peer, same=False))
        rows.append(compared(kind, make("bradley-terry", **WENG_LIN), pairs[0], same=True))
    for name, peer in (
        ("glicko2", glicko2_side()),
        ("glicko2", elote_side("Glicko2Competitor")),
        ("glicko2", luce[0]),
        ("glicko", elote_side("GlickoCompetitor")),
        ("elo", elote_side("EloCompetitor")),
        ("elo-mmr", luce[0]),
        ("elo-mmx", luce[0]),
        ("codeforces", luce[0]),
        ("topcoder", luce[0]),
        ("trueskill-spb", luce[0]),
    ):
        # The package glicko2 and elote's Elo have our formulas.
        same = peer.name in ("glicko2", "elote, EloCompetitor")
        rows.append(compared("duel", our_duel(name), peer, same=same))
    columns = ("match", "Equipoise", "peer", "ours, us", "peer's, us", "ratio", "agree, points")
    note = "Ratio: how many times longer the peer takes; above 1 Equipoise is faster."
    return Part("One match, one call", columns, rows, note)


def of_call(work: Callable[[], object]) -> float:
    """Return the processor seconds of a call."""
    work()
    start = time.process_time()
    for _ in range(20):
        work()
    calls = max(3, int(SECONDS / max((time.process_time() - start) / 20, 1e-6)))
    start = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - start) / calls


def predicting() -> Part:
    """Return the table of `system.predict` for a 5v5 between newcomers."""
    openskill = importlib.import_module("openskill.models").PlackettLuce()
    trueskill = importlib.import_module("trueskill").TrueSkill()
    theirs = {
        "openskill, predict_win": (openskill.rating, openskill.predict_win),
        "trueskill, quality": (trueskill.create_rating, trueskill.quality),
    }
    rows = []
    for name, peer in (
        ("plackett-luce", "openskill, predict_win"),
        ("trueskill", "trueskill, quality"),
        ("team-glicko2", "openskill, predict_win"),
    ):
        system: Any = eq.make_system(name)
        newcomer, predict = theirs[peer]
        mine = [[system.rating() for _ in range(5)] for _ in range(2)]
        their = [[newcomer() for _ in range(5)] for _ in range(2)]
        times = [
            (of_call(lambda: system.predict(mine)), of_call(lambda: predict(their)))  # noqa: B023
            for _ in range(ROUNDS)
        ]
        a, b = (median(one) for one in zip(*times, strict=True))
        ratio = median(after / before for before, after in times)
        rows.append((f"`{name}`", peer, f"{1e6 * a:.0f}", f"{1e6 * b:.0f}", f"{ratio:.2f}"))
    columns = ("Equipoise, predict", "peer", "ours, us", "peer's, us", "ratio")
    note = "Ours has expected scores, wins and draws, and match quality; the peers' one of these."
    return Part("One prediction of a 5v5", columns, rows, note)


def pooling() -> Part:
    """Return the table of `Pool.rate`, in pools of two sizes."""
    rows = []
    for name in ("plackett-luce", "trueskill", "team-glicko2"):
        times = []
        for players in (1_000, 20_000):
            pool: Any = eq.Pool(eq.make_system(name))
            generator, ids = random.Random(5), [f"p{k}" for k in range(players)]
            for start in range(0, players, 10):
                ten = ids[start : start + 10]
                pool.rate([ten[:5], ten[5:]])
            lobbies = [generator.sample(ids, 10) for _ in range(2_000)]
            teams = [[ten[:5], ten[5:]] for ten in lobbies]
            begun = time.process_time()
            for one in teams:
                pool.rate(one)
            times.append((time.process_time() - begun) / len(teams))
        rows.append((f"`{name}`", *(f"{1e6 * one:.1f}" for one in times)))
        print(*rows[-1], sep="  ", flush=True)
    columns = ("a 5v5 by Pool.rate", "1,000 players, us", "20,000 players, us")
    return Part("One match after another in a pool", columns, rows)


#: First calls: programs that print the processor and the wall time from the import to the result.
STARTS_OF = {
    "equipoise, {}": "import equipoise as eq; s = eq.make_system('{}'); "
    "s.rate([s.rating(), s.rating()])",
    "openskill, compiled": "from openskill.models import PlackettLuce; s = PlackettLuce(); "
    "s.rate([[s.rating()], [s.rating()]])",
    "trueskill": "import trueskill; s = trueskill.TrueSkill(); "
    "s.rate([[s.create_rating()], [s.create_rating()]])",
    "import numba": "import numba",
    "import numpy": "import numpy",
}


def first_call(code: str, environment: dict[str, str]) -> tuple[float, float]:
    """Return (processor, wall) seconds of a program, without the start of Python."""
    program = (
        "import time; a, b = time.process_time(), time.perf_counter(); "
        f"{code}; print(time.process_time() - a, time.perf_counter() - b)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    processor, wall = done.stdout.split()
    return float(processor), float(wall)


def starting(peers: str | None) -> Part:
    """Return the table of first calls in fresh processes."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    if peers is not None:
        environment["PYTHONPATH"] = peers
    systems = ("elo", "glicko2", "plackett-luce", "trueskill", "team-glicko2", "elo-mmr")
    mine = [(f"equipoise, {name}", name) for name in systems]
    codes = {label: STARTS_OF["equipoise, {}"].format(name) for label, name in mine}
    codes |= {label: code for label, code in STARTS_OF.items() if "{}" not in label}
    ours_only = {k: v for k, v in environment.items() if k != "PYTHONPATH"}
    times: dict[str, list[tuple[float, float]]] = {label: [] for label in codes}
    for turn in range(STARTS + 1):
        for label, code in codes.items():
            once = first_call(code, environment if label in STARTS_OF else ours_only)
            if turn:  # the first compiles kernels and byte code, if that is still to be done
                times[label].append(once)
    rows = []
    for label, taken in times.items():
        cold = ""
        if label not in STARTS_OF:
            with tempfile.TemporaryDirectory() as folder:
                empty = {**ours_only, "NUMBA_CACHE_DIR": folder}
                cold = f"{first_call(codes[label], empty)[0]:.1f}"
        processor, wall = (median(one) for one in zip(*taken, strict=True))
        rows.append((label, f"{processor:.3f}", f"{wall:.3f}", cold))
        print(*rows[-1], sep="  ", flush=True)
    columns = ("import and first duel", "processor, s", "wall, s", "nothing compiled yet, s")
    note = f"Medians of {STARTS} fresh processes, Python's own start excluded."
    return Part("The first call", columns, rows, note)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peers", help="site-packages of an environment with the peers")
    parser.add_argument(
        "--only", action="append", choices=("rate", "predict", "pool", "start"), default=None
    )
    asked = parser.parse_args()
    if asked.peers:
        sys.path.append(asked.peers)
    parts: dict[str, Callable[[], Part]] = {
        "rate": rating,
        "predict": predicting,
        "pool": pooling,
        "start": lambda: starting(asked.peers),
    }
    names = asked.only or list(parts)
    for file, wanted in (("one_match", ("rate", "predict", "pool")), ("first_match", ("start",))):
        before = pace()
        found = [parts[name]() for name in wanted if name in names]
        if not found:
            continue
        speed = f"A loop of 2,000,000 steps took {before:.0f} ms before and {pace():.0f} after."
        found[-1] = found[-1]._replace(note=" ".join([found[-1].note, speed]).strip())
        report_parts(file, (__doc__ or "").strip(), found)


if __name__ == "__main__":
    main()
