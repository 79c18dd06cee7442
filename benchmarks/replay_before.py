"""How long does a replay take, beside the same replay by an earlier commit?

    python benchmarks/replay_before.py REVISION

Both versions rate the same random histories: 50,000 duels, 20,000 matches of 5 against 5, and 200
contests of 300, whatever a system takes. Two processes take turns on one core, so that both have
the same machine: where others use it too, two cores differ by half. The table has medians of the
processor time of a replay by this version, and the median, lowest and highest ratio of neighbouring
turns, this version over the earlier one.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from equipoise.errors import EquipoiseError
from equipoise.rating.registry import SYSTEMS, make_system, system_class
from report import ROOT, report

#: Turns of both versions that count; one before them compiles.
TURNS = 9
#: A match starts this many seconds after the one before.
PACE = 600

#: What one version does: it reads a line of JSON, and answers with the seconds of a replay.
WORKER = """
import json, sys, time, warnings
import equipoise as eq
warnings.simplefilter("ignore")
histories = {}
for line in sys.stdin:
    file, name, parameters, trace = json.loads(line)
    try:
        if file not in histories:
            histories[file] = eq.read_history(file, time_format="s")
        system = eq.make_system(name, parameters)
        started = time.process_time()
        eq.replay(system, histories[file], trace=trace)
        print(time.process_time() - started, flush=True)
    except Exception as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0], flush=True)
"""


def history(matches: int, sizes: list[int], players: int, seed: int) -> pl.DataFrame:
    """Return random matches of teams, in which strength decides and the first team is at home."""
    rng = np.random.default_rng(seed)
    rows = sum(sizes)
    member = np.concatenate([rng.choice(players, rows, replace=False) for _ in range(matches)])
    team = np.tile(np.repeat(np.arange(len(sizes)), sizes), matches)
    match = np.repeat(np.arange(matches), rows)
    strength = rng.normal(0.0, 1.0, players)[member] + rng.normal(0.0, 1.0, len(member))
    total = np.zeros((matches, len(sizes)))
    np.add.at(total, (match, team), strength)
    rank = 1 + np.argsort(np.argsort(-total, axis=1), axis=1)
    return pl.DataFrame(
        {
            "match": match,
            "time": 1_600_000_000 + PACE * match,
            "player": member,
            "team": team,
            "rank": rank[match, team],
            "side": np.where(team == 0, "home", "away"),
            "event": match // 20,
            "birth_year": 1950 + member % 50,
        }
    )


class Version:
    """A process that replays histories with one version of the package."""

    def __init__(self, source: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def seconds(self, *task: Any) -> float:
        """Return the processor time of a replay. Raises : RuntimeError if it cannot be made."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        try:
            return float(answer)
        except ValueError:
            raise RuntimeError(answer or "the process ended") from None


def tasks(files: dict[str, str]) -> list[tuple[str, str, str, dict[str, Any], bool]]:
    """Return (label, file, system, parameters, traced) of every replay that is measured."""
    found = []
    for name in SYSTEMS:
        able = system_class(name)().capabilities
        known = {one.name for one in fields(system_class(name))}
        kinds = []
        if able.max_teams is None and name in ("elo-mmr", "elo-mmx", "codeforces", "topcoder"):
            kinds.append("contests")
        else:
            kinds.append("duels")
            if able.max_team_size is None:
                kinds.append("5v5")
        for kind in kinds:
            variants: list[tuple[str, dict[str, Any], bool]] = [("", {}, False)]
            if kind == kinds[0]:
                variants.append(("traced", {}, True))
                if "learn_home_advantage" in known:
                    variants.append(("learned home", {"learn_home_advantage": True}, False))
                with suppress(EquipoiseError):
                    make_system(name, {"entry": "learned"})
                    variants.append(("learned entry", {"entry": "learned"}, False))
            found += [
                (f"{name}, {kind}{', ' if what else ''}{what}", files[kind], name, more, trace)
                for what, more, trace in variants
            ]
    return found


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("revision")
    revision = parser.parse_args().revision
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["git", "archive", revision, "src"], cwd=ROOT, capture_output=True, check=True
        )
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
        files = {}
        for kind, of in {
            "duels": (50_000, [1, 1], 2000),
            "5v5": (20_000, [5, 5], 2000),
            "contests": (200, [1] * 300, 3000),
        }.items():
            files[kind] = str(Path(folder) / f"{kind}.parquet")
            history(*of, seed=1).write_parquet(files[kind])
        now, before = Version(ROOT / "src"), Version(Path(folder) / "src")
        for label, *task in tasks(files):
            now.seconds(*task)
            before.seconds(*task)
            turns = [(now.seconds(*task), before.seconds(*task)) for _ in range(TURNS)]
            ratios = [one / other for one, other in turns]
            ours = median(one for one, _ in turns)
            shown = [f"{1000 * ours:.0f}"]
            shown += [f"{of(ratios):.2f}" for of in (median, min, max)]
            rows.append((label, *shown))
            print(label, *shown, flush=True)
    report(
        "replay_before",
        f"{__doc__.strip().partition(chr(10))[0]} (against {revision})",
        ("replay", "ms", "median ratio", "lowest", "highest"),
        rows,
    )


if __name__ == "__main__":
    main()
