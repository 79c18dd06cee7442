"""The Python client against a service in this process: its guide, and every call once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import equipoise as eq
from equipoise.client import Client
from equipoise.errors import EquipoiseError
from equipoise.messages.matches import MatchRequest
from equipoise.messages.pools import InitialRequest, SeasonRequest
from equipoise.web.api.calculations import _REBALANCE
from test_docs import blocks
from trials.calls import EVERYTHING
from trials.calls import duel as duel_of_client
from web.conftest import Serve, Served, duel

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "python-client.md"


class InProcess(httpx.BaseTransport):
    """Passes requests to the application. The first answer to each post may get lost."""

    def __init__(self, served: Served, loses: bool = True) -> None:
        self.served, self.loses = served, loses
        self.lost: set[tuple[str, bytes]] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path, content = request.url.raw_path.decode(), request.read()
        answer = self.served.running.request(
            request.method, path, headers=dict(request.headers), content=content
        )
        if self.loses and request.method != "GET" and (path, content) not in self.lost:
            self.lost.add((path, content))
            raise httpx.ReadError("the connection broke")
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


def ratings_of(*winners_and_losers: str) -> eq.Ratings:
    """Return the ratings after duels on successive days, by the library."""
    rows: dict[str, list[Any]] = {"match": [], "time": [], "player": [], "rank": []}
    for number, (winner, loser) in enumerate(pair.split() for pair in winners_and_losers):
        for player, rank in ((winner, 1), (loser, 2)):
            values = (number, 1_767_225_600 + 86_400 * number, player, rank)
            for column, value in zip(rows.values(), values, strict=True):
                column.append(value)
    return eq.replay(eq.Glicko2(), eq.read_history(rows)).ratings


@pytest.fixture
def program(served: Served, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the program, and a service that it can reach."""
    monkeypatch.setenv("EQUIPOISE_KEY", served.admin)
    monkeypatch.setattr("equipoise.client.Client", partial(Client, transport=InProcess(served)))
    return blocks(GUIDE.read_text(encoding="utf-8"), "python")[0]


def test_guide_retries(program: str, served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    """It prints the ratings of the corrected matches; a second run changes nothing."""
    compiled = compile(program, str(GUIDE), "exec")
    exec(compiled, {"__name__": "__main__"})
    first, again, refused, *ratings, last = capsys.readouterr().out.splitlines()
    assert (first, again) == ("0 new, 4 known", "0 new, 4 known")
    assert refused.startswith("refused: ")
    found = ratings_of("ann ben", "ben cid", "ann cid", "ann cid")
    expected = [
        (name, *map(found.of(name).get, ("rating", "deviation"))) for name in ("ann", "ben", "cid")
    ]
    shown = [
        f"{place} {name} {rating:.1f} +- {deviation:.1f}"
        for place, (name, rating, deviation) in enumerate(expected, 1)
    ]
    assert ratings == shown
    assert last == f"ann has {found.of('ann')['rating']:.1f} after 3 matches"
    log = served.get("/v1/pools/ladder").json()["last_seq"]
    assert log == 5  # four matches and one correction, although its answer was lost
    exec(compiled, {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines()[3:] == [*ratings, last]
    assert served.get("/v1/pools/ladder").json()["last_seq"] == log


#: Calls that `EVERYTHING` makes with what cannot be, as they can be.
POSSIBLE: list[Callable[[Client], Any]] = [
    lambda client: client.correct_match("p", "m", MatchRequest("m", duel_of_client(1).teams, 2)),
    lambda client: client.set_initial_ratings("r", InitialRequest(pool="q")),
    lambda client: client.preview_season("q", SeasonRequest(season="1")),
    lambda client: client.performance(b"white,black,result\na,b,1-0\nb,a,1-0\n", "csv"),
    lambda client: client.strengths(b"match,player,rank\n1,a,1\n1,b,2\n2,b,1\n2,a,2\n", "csv"),
    lambda client: client.rebalance(_REBALANCE, method="greedy"),
]


def test_every_call_has_an_answer_of_its_shape(serve: Serve) -> None:
    """Of a pool with two matches; it refuses a few calls with errors that the client knows."""
    served = serve()
    client = Client("http://service", served.admin, transport=InProcess(served, loses=False))
    for pool in "pqr":
        served.put(f"/v1/pools/{pool}", {"system": "elo", "placement_matches": 0})
        if pool != "r":
            served.post(f"/v1/pools/{pool}/matches", [duel("m", time=1), duel("7", time=5)])
    for ask in POSSIBLE:
        assert ask(client)
    refused = Counter()
    for ask, _ in EVERYTHING:
        try:
            ask(client)
        except EquipoiseError as error:
            refused[error.code] += 1
    assert refused == {"conflict": 5, "invalid-data": 5, "not-found": 6}
