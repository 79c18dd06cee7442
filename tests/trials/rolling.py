"""Trial: one version of the service replaces another on the same database, under posts.

The old program serves and gets posts. The new one is started beside it and migrates the database
when it starts. Then both get posts, until the old one is stopped. Nothing may be refused or lost,
and both programs verify what both have written.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from equipoise.client import Client
from equipoise.messages.matches import MatchRequest
from equipoise.messages.pools import PoolRequest
from trials.crash import POOL, Poster
from trials.matches import differences, duels, logged, replayed, stored
from trials.server import Server, make_key, new_pool

SYSTEM = "elo"
#: Matches that must be acknowledged in each stage of the trial.
_ENOUGH = 100
_PATIENCE = 300.0


@dataclass(slots=True)
class RollingResult:
    """What the trial found; all lists are empty where nothing is wrong.

    counts : matches acknowledged by the old program alone, by both while both ran, by the new alone
    refused : requests without an acknowledgement
    lost, twice : of the matches acknowledged
    different : players whose rating is not that of the library
    verdicts : of `equipoise verify` of the old and the new program: exit status and message
    """

    counts: list[int] = field(default_factory=list)
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    verdicts: dict[str, tuple[int, str]] = field(default_factory=dict)


class _Stream:
    """Matches for a client until it is told to end."""

    def __init__(self, matches: Sequence[MatchRequest]) -> None:
        self._matches = matches
        self.end = threading.Event()

    def __iter__(self) -> Iterator[MatchRequest]:
        for match in self._matches:
            if self.end.is_set():
                return
            yield match


def rolling_trial(database: str, folder: Path, old: Path, new: Path) -> RollingResult:
    """Run the trial and return what it found.

    old, new : folders from which the two programs are imported
    """
    content = duels(60_000, 50, random.Random(1))
    result = RollingResult()
    programs = {"old": old, "new": new}
    servers = {
        name: Server(database, folder / f"{name}.log", settings=_environment(path))
        for name, path in programs.items()
    }
    streams = {
        "old": [_Stream(content[place::4]) for place in range(2)],
        "new": [_Stream(content[place::4]) for place in range(2, 4)],
    }
    posters: dict[str, list[Poster]] = {"old": [], "new": []}
    try:
        servers["old"].start()
        key = make_key(database, "admin")
        with servers["old"].client(key) as client:
            new_pool(client, POOL, PoolRequest(system=SYSTEM, late="append"))
        with _posting(servers, streams, posters, key) as begin:
            begin("old")
            _wait_for(posters["old"], _ENOUGH)
            before = _count(posters["old"])
            servers["new"].start()
            begin("new")
            during = _count(posters["old"])
            _wait_for(posters["old"], during + _ENOUGH)
            _wait_for(posters["new"], _ENOUGH)
            _finish(streams["old"], posters["old"])
            together = _count(posters["old"]) + _count(posters["new"]) - before
            servers["old"].stop()
            after = _count(posters["new"])
            _wait_for(posters["new"], after + _ENOUGH)
            _finish(streams["new"], posters["new"])
            result.counts = [before, together, _count(posters["new"]) - after]
        everybody = [*posters["old"], *posters["new"]]
        result.refused = sum(poster.interrupted for poster in everybody)
        acknowledged = [name for poster in everybody for name in poster.acknowledged]
        with servers["new"].client(key) as client:
            _compare(client, content, acknowledged, result)
        servers["new"].stop()
        result.verdicts = {name: _verified(database, path) for name, path in programs.items()}
    finally:
        for server in servers.values():
            server.kill_rest()
    return result


def _environment(program: Path) -> dict[str, str]:
    """Return the variables with which another program is imported; its kernels are not compiled."""
    paths = [str(program), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "NUMBA_DISABLE_JIT": "1"}


@contextmanager
def _posting(
    servers: dict[str, Server],
    streams: dict[str, list[_Stream]],
    posters: dict[str, list[Poster]],
    key: str,
) -> Iterator[Callable[[str], None]]:
    """Give a function that lets clients post to a server; at the end all clients are ended."""

    def begin(name: str) -> None:
        for stream in streams[name]:
            poster = Poster(servers[name], key, stream)  # type: ignore[arg-type]
            posters[name].append(poster)
            poster.thread.start()

    try:
        yield begin
    finally:
        for name, found in posters.items():
            for stream in streams[name]:
                stream.end.set()
            for poster in found:
                poster.thread.join(_PATIENCE)


def _count(posters: Sequence[Poster]) -> int:
    return sum(len(poster.acknowledged) for poster in posters)


def _wait_for(posters: Sequence[Poster], count: int) -> None:
    """Wait until so many matches are acknowledged."""
    until = time.monotonic() + _PATIENCE
    while _count(posters) < count:
        for poster in posters:
            if poster.error is not None:
                raise poster.error
        if time.monotonic() > until:
            raise RuntimeError(f"{_count(posters)} of {count} matches after {_PATIENCE:.0f} s")
        time.sleep(0.01)


def _finish(streams: Sequence[_Stream], posters: Sequence[Poster]) -> None:
    """Let the clients of a server end."""
    for stream in streams:
        stream.end.set()
    for poster in posters:
        poster.thread.join(_PATIENCE)
        if poster.error is not None:
            raise poster.error


def _compare(
    client: Client,
    content: Sequence[MatchRequest],
    acknowledged: Sequence[str],
    result: RollingResult,
) -> None:
    """Compare the log and the ratings with what was acknowledged, and with the library."""
    names = [str(line.match) for line in logged(client, POOL)]
    result.lost = sorted(set(acknowledged) - set(names))
    result.twice = sorted({name for name in names if names.count(name) > 1})
    by_id = {str(match.match): match for match in content}
    expected = replayed([by_id[name] for name in names], SYSTEM)
    result.different = [name for name, _, _ in differences(stored(client, POOL), expected)]


def _verified(database: str, program: Path) -> tuple[int, str]:
    """Return the exit status of `equipoise verify` of a program, and what it says."""
    command = [sys.executable, "-m", "equipoise", "verify", "--database", database, "--json"]
    environment = {**os.environ, **_environment(program)}
    done = subprocess.run(command, capture_output=True, check=False, text=True, env=environment)
    if done.returncode:
        return done.returncode, done.stdout + done.stderr
    (pool,) = json.loads(done.stdout)["pools"]
    return 0, str(pool["head"])
