"""The same history gives the same bits, whichever way it comes in."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

import equipoise
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.rating.registry import make_system
from service.serving import Service
from trials.matches import Standing, stored

EXAMPLES = Path(__file__).parents[2] / "examples"
TIMES = {"contests": "seconds", "league": "datetime"}
LEARNED = {"entry": "learned", "hold_level": 0.05}
CASES: list[Any] = [
    ("contests", "elo-mmr", LEARNED),
    pytest.param("league", "glicko2", {}, marks=pytest.mark.nightly),
    pytest.param("contests", "elo-mmr", {}, marks=pytest.mark.nightly),
    pytest.param("league", "elo-mmr", {}, marks=pytest.mark.nightly),
]


def by_command_line(name: str, system: str, parameters: dict[str, Any]) -> dict[str, Standing]:
    """Return the ratings of `equipoise rate`."""
    command = [sys.executable, "-m", "equipoise", "rate", str(EXAMPLES / f"{name}.csv")]
    for key, value in parameters.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(
        [*command, "--system", system, "--json"], capture_output=True, check=True, text=True
    )
    rows = json.loads(done.stdout)["ratings"]
    return {str(row["player"]): standing(row["rating"], row["deviation"]) for row in rows}


def match_by_match(name: str, system: str, parameters: dict[str, Any]) -> dict[str, Standing]:
    """Return the ratings of the library, called for every match anew."""
    history = equipoise.read_history(EXAMPLES / f"{name}.csv")
    chosen = make_system(system, parameters)
    done = equipoise.replay(chosen, history.slice(0, 1))
    for number in range(1, history.matches):
        done = equipoise.replay(chosen, history.slice(number, number + 1), state=done.state)
    rows = done.ratings.to_polars().select("player", "rating", "deviation").iter_rows()
    return {player: standing(rating, deviation) for player, rating, deviation in rows}


def posted(name: str) -> list[MatchRequest]:
    """Return the history as it is posted."""
    with (EXAMPLES / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = []
    for match, entries in groupby(rows, key=lambda row: row["match"]):
        listed = list(entries)
        time = listed[0]["time"]
        teams = [TeamRequest([row["player"]], int(row["rank"])) for row in listed]
        found.append(MatchRequest(match, teams, int(time) if time.isdecimal() else time))
    return found


def standing(rating: float, deviation: float | None) -> Standing:
    """Return numbers so that they are equal only where every bit is."""
    return Standing(rating.hex(), "" if deviation is None else deviation.hex())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "system", "parameters"), CASES)
def test_command_line_library_and_service_agree_to_the_bit(
    service: Service, name: str, system: str, parameters: dict[str, Any]
) -> None:
    """Rated at once, match by match, posted singly and as a stream: the same ratings."""
    settings = {"system": system, "times": TIMES[name], "parameters": parameters}
    singly, streamed, corrected = (service.new_pool(late="replay", **settings) for _ in range(3))
    while service.admin.pool(singly).kernels == "compiling":
        time.sleep(0.1)  # Only those of default parameters are there.
    matches = posted(name)
    for match in matches:
        service.admin.post_match(singly, match)
    for _ in service.admin.stream_matches(streamed, matches, batch=100):
        pass
    # The matches of the first time are posted last, because those of one time are rated as they
    # come. The one after them is posted with another result, which is corrected.
    early = [one for one in matches if one.time == matches[0].time]
    after, *others = matches[len(early) :]
    wrong = [msgspec.structs.replace(team, rank=rank) for rank, team in enumerate(after.teams)]
    service.admin.post_match(corrected, msgspec.structs.replace(after, teams=wrong))
    service.admin.post_matches(corrected, others)
    service.admin.correct_match(corrected, after.match, after, wait=60.0)
    service.admin.post_matches(corrected, early)
    while service.admin.pool(corrected).pending:
        time.sleep(0.05)
    expected = by_command_line(name, system, parameters)
    assert len(expected) > 5
    assert match_by_match(name, system, parameters) == expected
    assert stored(service.admin, singly) == expected
    assert stored(service.admin, streamed) == expected
    assert stored(service.admin, corrected) == expected
