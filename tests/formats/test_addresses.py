"""Files from addresses, by a server on this machine; and addresses that are refused."""

from __future__ import annotations

import gzip
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats import contents, read_history, scan_history
from equipoise.formats.games import read_games
from equipoise.formats.names import read_synonyms
from formats.comparing import assert_same_history
from formats.test_opening import FILES, FRAME

CONTENT = {f"/history.{name}": data for name, data in FILES.items()} | {
    "/history.csv.bz2": gzip.compress(FILES["csv"]),
    "/export": FILES["csv"],
    "/a b.csv": FILES["csv"],
    "/games.csv": b"white,black,result\nann,ben,1-0\n",
    "/page": b"<!doctype html><html></html>",
    "/synonyms.csv": b"name,same_as\nann,ben\n",
}


class Answers(BaseHTTPRequestHandler):
    """Answers as a web server and, for paths below /bucket, as S3 does."""

    protocol_version = "HTTP/1.1"
    timeout = 2.0  # Clients keep connections; their threads are to end with this file.

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        path = self.path.partition("?")[0].replace("%20", " ").removeprefix("/bucket")
        if path.startswith("/to="):
            self.send_response(302)
            self.send_header("Location", path.removeprefix("/to="))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path.startswith("/size="):
            self.send_response(200)
            self.send_header("Content-Length", path.removeprefix("/size="))
            self.end_headers()
            self.close_connection = True
            return
        if path == "/silence":
            time.sleep(1.0)
            return
        data = CONTENT.get(path)
        self.send_response(404 if data is None else 206 if "Range" in self.headers else 200)
        data = data or b""
        if "Range" in self.headers:
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            size = len(data)
            if not first:
                first, last = max(0, size - int(last)), size - 1
            first, last = int(first), min(int(last or size - 1), size - 1)
            data = data[first : last + 1]
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.send_header("ETag", '"one"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    do_HEAD = do_GET  # noqa: N815  # the name that the library calls

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as running:
        running.daemon_threads = True
        running.seen = []
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture
def web(server):
    server.seen.clear()
    return f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def s3(web, monkeypatch):
    """Let S3 be this server."""
    for name, value in {
        "AWS_ENDPOINT_URL": web,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return "s3://bucket"


def problem_of(address: str):
    (problem,) = scan_history(address).problems
    return problem


@pytest.mark.parametrize(
    "name",
    ["history.csv", "history.parquet", "history.jsonl", "history.csv.bz2", "export", "a b.csv"],
)
def test_a_file_of_the_web_is_read(name, web):
    reading = scan_history(f"{web}/{name}", time_format="s")
    assert_same_history(reading.history, read_history(FRAME, time_format="s"))
    assert any(note.startswith(f"{web}/{name}: ") for note in reading.notes)


def test_games_and_synonyms_are_read_too(web):
    assert read_games(f"{web}/games.csv").rows == 1
    assert read_synonyms(f"{web}/synonyms.csv") == {"ann": "ben"}


def test_files_here_and_there_are_joined(web, tmp_path):
    path = tmp_path / "more.csv"
    path.write_text("white,black,result\nben,cid,1-0\n")
    assert read_games([f"{web}/games.csv", path]).rows == 2


def test_what_follows_a_question_mark_is_not_shown(web):
    """It may be a key."""
    problem = problem_of(f"{web}/page?key=secret")
    assert "web page" in problem.got
    assert problem.file == f"{web}/page"


def test_an_answer_that_is_an_error_is_a_problem(web):
    problem = problem_of(f"{web}/none.csv")
    assert (problem.rule, problem.got) == (contents.READABLE_THERE, "the answer 404 Not Found")
    assert problem_of("http://127.0.0.1:1/x.csv").rule == contents.READABLE_THERE


def test_redirects_stay_here_or_go_to_encrypted_addresses(web, server):
    assert read_history(f"{web}/to={web}/history.csv", time_format="s").matches == 2
    for target in ("http://example.org/x.csv", "file:///etc/passwd", "ftp://example.org/x"):
        assert problem_of(f"{web}/to={target}").rule in (contents.SECURE, contents.READABLE_THERE)
    server.seen.clear()
    assert problem_of(f"{web}/to=/to=/to=/to=/to=/to=/to=/export").rule == contents.READABLE_THERE


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("http://example.org/x.csv", contents.SECURE),
        ("http://10.0.0.1/x.csv", contents.SECURE),
        ("http://localhost.example.org/x.csv", contents.SECURE),
        ("https:///x.csv", contents.SECURE),
        ("https://[example.org/x.csv", contents.READABLE_THERE),
        ("https://user:sesame@example.org/x.csv", contents.NO_PASSWORD),
    ],
)
def test_other_addresses_are_refused_without_a_request(address, rule, monkeypatch):
    monkeypatch.setattr(contents, "_from_web", lambda *_: pytest.fail("a request was made"))
    problem = problem_of(address)
    assert problem.rule == rule
    assert "sesame" not in str(problem)


def test_what_is_too_large_is_refused(web, monkeypatch):
    assert problem_of(f"{web}/size=9999999999").rule == contents.DOWNLOADED
    monkeypatch.setattr(contents, "MOST_DOWNLOADED", 50)
    assert problem_of(f"{web}/history.csv").rule == contents.DOWNLOADED
    with pytest.raises(InvalidDataError, match="must have at most"):  # without a length
        list(contents._blocks(iter([b"x" * 60]), "x.csv"))


def test_what_ends_early_or_takes_too_long_is_refused(web, monkeypatch):
    assert problem_of(f"{web}/size=100").rule == contents.READABLE_THERE
    monkeypatch.setattr(contents, "LONGEST", -1)
    assert problem_of(f"{web}/history.csv").rule == contents.IN_TIME


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_an_object_of_s3_is_read(format, s3, server):
    """As Polars reads it."""
    history = read_history(f"{s3}/history.{format}", time_format="s")
    assert_same_history(history, read_history(FRAME, time_format="s"))
    assert f"/bucket/history.{format}" in server.seen


def test_objects_that_polars_does_not_read_are_refused_with_a_way_out(s3):
    assert problem_of(f"{s3}/history.csv.gz").rule == contents.OBJECT
    assert problem_of(f"{s3}/export").rule == contents.OBJECT
    assert problem_of(f"{s3}/*.csv").rule == contents.ONE_OBJECT
    assert problem_of(f"{s3}/none.csv").rule == contents.READABLE_THERE


def test_a_server_that_does_not_answer_is_left(web, monkeypatch):
    monkeypatch.setattr(contents, "TIMEOUT", 0.2)
    assert problem_of(f"{web}/silence").rule == contents.ANSWER


def test_a_proxy_that_cannot_be_used_is_a_problem(web, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "foo://127.0.0.1:1")
    assert problem_of(f"{web}/history.csv").rule == contents.READABLE_THERE


def test_without_the_library_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(EquipoiseError, match=r"pip install '\.\[client\]'"):
        scan_history("https://example.org/x.csv")


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_an_object_that_is_too_large_is_refused(format, s3, monkeypatch):
    monkeypatch.setattr(contents, "MOST_DOWNLOADED", 50)
    assert problem_of(f"{s3}/history.{format}").rule == contents.DOWNLOADED
