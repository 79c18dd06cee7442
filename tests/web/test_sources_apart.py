"""No request makes the service open a file or an address: bodies are content, never a source."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import equipoise
from equipoise.formats import contents, sources
from web.conftest import Served

SOURCE = Path(equipoise.__file__).parent
#: What the text of a source may be.
TABLE = "white,black,result\nann-of-the-file,ben-of-the-file,1-0\n"


class Trap(BaseHTTPRequestHandler):
    """Counts requests."""

    def do_GET(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(TABLE.encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def trap() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Trap) as server:
        server.seen = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_body_is_never_a_source(
    served: Served, trap: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths, patterns and addresses are text that is no table, in every endpoint and format."""
    path = tmp_path / "games.csv"
    path.write_text(TABLE)
    opened: list[object] = []
    for module, name in ((sources, "_of_path"), (sources, "download"), (contents, "_from_web")):
        monkeypatch.setattr(module, name, lambda *given: opened.append(given))
    pool = served.pool(system="glicko")
    address = f"http://127.0.0.1:{trap.server_port}/games.csv"
    for text in (str(path), f"{tmp_path}/*.csv", address):
        for body in (text, f'"{text}"', f'{{"source": "{text}"}}'):
            asked = [
                *(f"/v1/performance?format={one}" for one in ("csv", "json", "pgn", "trf")),
                "/v1/strengths?format=csv",
                f"/v1/pools/{pool}/matches",
                "/v1/rebalance",
            ]
            for place in asked:
                answer = served.ask("POST", place, content=body.encode())
                assert 400 <= answer.status_code < 500, (place, body, answer.text)
                assert "of-the-file" not in answer.text
            headers = {"Content-Type": "text/csv"}
            known = f"/v1/pools/{pool}/initial-ratings"
            answer = served.ask("PUT", known, content=body.encode(), headers=headers)
            assert 400 <= answer.status_code < 500
    assert opened == []
    assert trap.seen == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("format", ["excel", "s3"])
def test_only_formats_of_text_are_taken(served: Served, format: str) -> None:
    answer = served.ask("POST", f"/v1/performance?format={format}", content=TABLE.encode())
    assert answer.status_code == 422


def test_readers_get_only_content_from_the_service() -> None:
    """Every source that the service passes on is made of bytes where it is passed on."""
    found = 0
    for file in (SOURCE / "web").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            given = {one.arg: ast.unparse(one.value) for one in node.keywords if one.arg}
            if name in ("PerformanceRequest", "HistoryRequest"):
                source = given.get("games", given.get("source", ""))
                assert source.startswith("io.BytesIO("), (file, source)
                found += 1
                assert "synonyms" not in given, file
    assert found >= 4


def test_the_service_does_not_know_how_sources_are_opened() -> None:
    for folder in ("web", "messages", "store"):
        for file in (SOURCE / folder).rglob("*.py"):
            assert "formats.contents" not in file.read_text(encoding="utf-8"), file
