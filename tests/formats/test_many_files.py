"""Several files read as one history: their order, their columns, and matches with the same id."""

from __future__ import annotations

import gzip
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest

from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats import contents, joining, read_history, scan_history
from equipoise.formats.games import read_games, scan_games
from equipoise.formats.names import read_synonyms
from formats.comparing import assert_same_history
from formats.test_opening import FILES, FRAME

HEAD = "match,time,player,rank\n"


def written(folder: Path, **files: str) -> Path:
    """Write files by their stems, and return their folder."""
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def duel(match: object, time: str, first: str, second: str) -> str:
    return f"{match},{time},{first},1\n{match},{time},{second},2\n"


def problem_of(source, **options):
    """Return the name of the file, the line and the rule of the only problem."""
    (problem,) = scan_history(source, **options).problems
    return Path(problem.file).name, problem.line, problem.rule


def with_columns(text: str, names: str) -> str:
    """Return a table with more columns, each with the number of the line."""
    lines = text.splitlines()
    cells = [f",{row}" * len(names.split(",")) for row in range(1, len(lines))]
    more = [f",{names}", *cells]
    return "".join(f"{line}{cell}\n" for line, cell in zip(lines, more, strict=True))


ONE = HEAD + duel(1, "2024-01-01", "ann", "ben") + duel(2, "2024-01-02", "ben", "cid")
TWO = HEAD + duel(3, "2024-02-01", "cid", "ann")


def test_many_files_are_one_history(tmp_path):
    written(tmp_path, one=ONE, two=TWO)
    expected = read_history((ONE + TWO.removeprefix(HEAD)).encode())
    paths = [tmp_path / "one.csv", str(tmp_path / "two.csv")]
    for source in (paths, tuple(paths), tmp_path, str(tmp_path / "*.csv")):
        assert_same_history(read_history(source), expected)
    frame = pl.read_csv(tmp_path / "two.csv", try_parse_dates=True)
    frame.write_parquet(tmp_path / "two.parquet")
    frame.write_ndjson(tmp_path / "two.jsonl")
    for suffix in ("parquet", "jsonl"):
        mixed = [tmp_path / "one.csv", tmp_path / f"two.{suffix}"]
        assert_same_history(read_history(mixed), expected)


def test_problems_of_all_files_are_told_at_once_with_file_and_line(tmp_path):
    written(tmp_path, one=ONE, two=TWO.replace("ann", ""))
    assert problem_of(tmp_path)[:2] == ("two.csv", 3)
    written(tmp_path, one="match,player\n\x00,1", two="", three=ONE)
    reading = scan_history([str(tmp_path / f"{one}.csv") for one in ("one", "two", "three")])
    assert {Path(one.file).name for one in reading.problems} == {"one.csv", "two.csv"}


def test_without_times_the_order_is_that_of_the_files_and_said(tmp_path):
    for number in (10, 9):
        written(tmp_path, **{f"r{number}": f"match,player,rank\nm{number},a,1\nm{number},b,2\n"})
    for source in (tmp_path, str(tmp_path / "r*.csv")):
        reading = scan_history(source)
        assert reading.history.match_ids.tolist() == ["m9", "m10"]
        assert "without times, matches are in the order of the files" in reading.notes[-1]
    given = [tmp_path / "r10.csv", tmp_path / "r9.csv"]
    assert read_history(given).match_ids.tolist() == ["m10", "m9"]


def test_a_match_that_was_exported_twice_counts_once_or_is_a_problem(tmp_path):
    """Its rows are equal, dates included; the order of the rows does not matter."""
    lines = ONE.splitlines(keepends=True)
    again = "".join([lines[0], lines[4], lines[3], *TWO.splitlines(keepends=True)[1:]])
    reading = scan_history(written(tmp_path, a=ONE, b=again))
    assert reading.history.match_ids.tolist() == [1, 2, 3]
    assert reading.notes[0] == "1 match is in several files with the same rows, and counted once"
    other = HEAD + duel(1, "2024-01-01", "ben", "ann")
    (problem,) = scan_history(written(tmp_path, a=ONE, b=other)).problems
    assert problem.rule == joining.CONTRADICTION
    assert (Path(problem.file).name, problem.line) == ("b.csv", 2)
    assert problem.got.endswith("a.csv:2")


def test_without_dates_equal_matches_are_not_guessed(tmp_path):
    head = "match,player,rank\n"
    first = head + "1,a,1\n1,b,2\n2,b,1\n2,c,2\n"
    assert problem_of(written(tmp_path, a=first, b=head + "1,a,1\n1,b,2\n"))[2] == joining.TWICE
    written(tmp_path, b=head + "1,a,1\n1,b,2\n2,c,1\n2,b,2\n")
    reading = scan_history(tmp_path)
    assert reading.history.match_ids.tolist() == ["a:1", "a:2", "b:1", "b:2"]


def test_seasons_that_count_from_one_keep_their_matches_apart(tmp_path):
    second = HEAD + duel(1, "2025-01-01", "ann", "ben") + duel(2, "2025-01-02", "cid", "ben")
    reading = scan_history(written(tmp_path, y2024=ONE, y2025=second))
    assert reading.history.match_ids.tolist() == ["y2024:1", "y2024:2", "y2025:1", "y2025:2"]
    assert "2 match ids are in several files for different matches" in reading.notes[0]


def test_the_same_file_twice_is_refused_and_rounds_must_count_on(tmp_path):
    written(tmp_path, a=ONE, b=ONE)
    assert problem_of(tmp_path)[2] == joining.DIFFERENT_FILES
    assert problem_of([str(tmp_path / "a.csv")] * 2)[2] == "must be given only once"
    head = "round,white,black,result\n"
    written(tmp_path, a=head + "1,a,b,1-0\n2,b,a,1-0\n", b=head + "1,c,d,1-0\n")
    assert problem_of(tmp_path) == ("b.csv", 2, joining.COUNTS_ON)
    written(tmp_path, b=head + "3,c,d,1-0\n")
    assert read_history(tmp_path).matches == 3


@pytest.mark.parametrize("lacking", ["player", "rank", "time", "weight"])
def test_columns_that_decide_must_be_in_every_file(lacking, tmp_path):
    whole = "match,time,player,rank,weight\n1,2024-01-01,a,1,2\n1,2024-01-01,b,2,2\n"
    written(tmp_path, a=whole)
    frame = pl.read_csv(tmp_path / "a.csv", infer_schema=False).drop(lacking)
    written(tmp_path, b=frame.with_columns(match=pl.lit("2")).write_csv())
    (problem,) = scan_history(tmp_path).problems
    assert (problem.field, problem.rule) == (lacking, joining.IN_EVERY_FILE)


def test_other_columns_may_be_missing_unless_an_option_names_them(tmp_path):
    written(tmp_path, a=ONE, b="match,time,player,rank,map\n3,2024-02-01,a,1,x\n3,2024-02-01,b,2,x")
    reading = scan_history(tmp_path)
    assert reading.history.attributes["map"].tolist() == [None] * 4 + ["x", "x"]
    assert "map (not in" in reading.notes[0]
    written(tmp_path, a=ONE.replace("player", "who"), b=TWO)
    (problem, *_) = scan_history(tmp_path, columns={"player": "who"}).problems
    assert problem.rule == joining.IN_EVERY_FILE


def test_columns_of_other_spelling_are_the_same(tmp_path):
    written(tmp_path, a=ONE, b=TWO.replace("match,time,player", "Match,TIME,Player"))
    assert read_history(tmp_path).matches == 3
    # Two columns of a file that differ in capitals alone are two.
    written(tmp_path, a=with_columns(ONE, "note"), b=with_columns(TWO, "Note,NOTE"))
    assert read_history(tmp_path).matches == 3
    typed = {"match": [1, 1], "player": [7, 8], "rank": [1, 2]}
    folder = tmp_path / "typed"
    folder.mkdir()
    pl.DataFrame(typed).write_parquet(folder / "a.parquet")
    text = {"match": [2.0, 2.0], "player": ["x", "8"], "rank": [1.0, 2.0]}
    pl.DataFrame(text).write_parquet(folder / "b.parquet")
    history = read_history(folder)
    assert history.match_ids.tolist() == [1, 2]
    assert history.player_ids.tolist() == ["7", "8", "x"]


def test_games_of_many_files(tmp_path):
    head, row = "date,white,black,result\n", "2024-05-04,ann,ben,1-0\n"
    written(tmp_path, a=head + row, b=head + row + "2024-05-05,ann,ben,1-0\n")
    assert read_games(tmp_path).rows == 3
    reading = scan_history(tmp_path)
    assert reading.history.matches == 3
    assert any(note.startswith("1 game is in several files") for note in reading.notes)
    written(tmp_path, b=head + row.replace("1-0", "soon"))
    (problem,) = scan_games(tmp_path).problems
    assert (Path(problem.file).name, problem.line) == ("b.csv", 2)


def test_reports_and_games_are_not_mixed_with_tables(tmp_path):
    (tmp_path / "a.pgn").write_text('[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1. e4 1-0\n')
    (tmp_path / "b.csv").write_text("white,black,result\nb,a,1-0\n")
    for scan in (scan_history, scan_games):
        (problem,) = scan([tmp_path / "a.pgn", tmp_path / "b.csv"]).problems
        assert problem.rule.startswith("must have the format of the other files")
    (tmp_path / "c.txt").write_text((tmp_path / "a.pgn").read_text())
    assert read_games([tmp_path / "a.pgn", tmp_path / "c.txt"]).rows == 2


def test_patterns_without_files_and_folders_of_several_kinds_are_refused(tmp_path):
    assert problem_of(str(tmp_path / "2024-*.csv"))[2] == "no file has a name of this pattern"
    written(tmp_path, a=ONE)
    (tmp_path / "b.json").write_text("{}")
    (problem,) = scan_history(tmp_path).problems
    assert f"'{tmp_path}/*.csv'" in problem.got


# Files from addresses, by a server on this machine; and addresses that are refused.


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
        path = unquote(self.path.partition("?")[0]).removeprefix("/bucket")
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
        data = self.content(path)
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

    def content(self, path: str) -> bytes | None:
        """Return what is at a path."""
        return CONTENT.get(path)

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


def let_s3_be(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let S3 be a server of this machine."""
    for name, value in {
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def s3(web, monkeypatch):
    let_s3_be(web, monkeypatch)
    return "s3://bucket"


def only_problem(address: str):
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


def test_games_and_synonyms_are_read_too_and_joined_with_files_here(web, tmp_path):
    assert read_games(f"{web}/games.csv").rows == 1
    assert read_synonyms(f"{web}/synonyms.csv") == {"ann": "ben"}
    path = tmp_path / "more.csv"
    path.write_text("white,black,result\nben,cid,1-0\n")
    assert read_games([f"{web}/games.csv", path]).rows == 2


def test_keys_in_addresses_are_not_shown_and_a_proxy_must_be_usable(web, monkeypatch):
    """It may be a key."""
    problem = only_problem(f"{web}/page?key=secret")
    assert "web page" in problem.got
    assert problem.file == f"{web}/page"
    monkeypatch.setenv("ALL_PROXY", "foo://127.0.0.1:1")
    assert only_problem(f"{web}/history.csv").rule == contents.READABLE_THERE


def test_redirects_stay_here_or_go_to_encrypted_addresses(web, server):
    assert read_history(f"{web}/to={web}/history.csv", time_format="s").matches == 2
    for target in ("http://example.org/x.csv", "file:///etc/passwd", "ftp://example.org/x"):
        assert only_problem(f"{web}/to={target}").rule in (contents.SECURE, contents.READABLE_THERE)
    server.seen.clear()
    assert only_problem(f"{web}/to=/to=/to=/to=/to=/to=/to=/export").rule == contents.READABLE_THERE


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
    problem = only_problem(address)
    assert problem.rule == rule
    assert "sesame" not in str(problem)


@pytest.mark.parametrize(
    ("path", "limits", "rule"),
    [
        ("/none.csv", {}, contents.READABLE_THERE),
        ("/size=100", {}, contents.READABLE_THERE),  # ends early
        ("/size=9999999999", {}, contents.DOWNLOADED),
        ("/history.csv", {"MOST_DOWNLOADED": 50}, contents.DOWNLOADED),
        ("/history.csv", {"LONGEST": -1}, contents.IN_TIME),
        ("/silence", {"TIMEOUT": 0.2}, contents.ANSWER),
    ],
)
def test_what_fails_is_too_large_or_takes_too_long_is_refused(path, limits, rule, web, monkeypatch):
    for name, value in limits.items():
        monkeypatch.setattr(contents, name, value)
    problem = only_problem(f"{web}{path}")
    assert problem.rule == rule
    if path == "/none.csv":
        assert problem.got == "the answer 404 Not Found"
        assert only_problem("http://127.0.0.1:1/x.csv").rule == rule
    if "MOST_DOWNLOADED" in limits:
        with pytest.raises(InvalidDataError, match="must have at most"):  # without a length
            list(contents._blocks(iter([b"x" * 60]), "x.csv"))


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_an_object_of_s3_is_read(format, s3, server):
    """As Polars reads it."""
    history = read_history(f"{s3}/history.{format}", time_format="s")
    assert_same_history(history, read_history(FRAME, time_format="s"))
    assert f"/bucket/history.{format}" in server.seen


def test_objects_that_polars_does_not_read_are_refused_with_a_way_out(s3):
    assert only_problem(f"{s3}/history.csv.gz").rule == contents.OBJECT
    assert only_problem(f"{s3}/export").rule == contents.OBJECT
    assert only_problem(f"{s3}/*.csv").rule == contents.ONE_OBJECT
    assert only_problem(f"{s3}/none.csv").rule == contents.READABLE_THERE


def test_without_the_library_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(EquipoiseError, match=r"pip install '\.\[client\]'"):
        scan_history("https://example.org/x.csv")


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_an_object_that_is_too_large_is_refused(format, s3, monkeypatch):
    monkeypatch.setattr(contents, "MOST_DOWNLOADED", 50)
    assert only_problem(f"{s3}/history.{format}").rule == contents.DOWNLOADED
