"""`equipoise rate --by`: many pools of one data set, each rated alone."""

from __future__ import annotations

import multiprocessing
import re
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest

from cli.command_line import Cli
from equipoise.analysis.rate.computation import RateRequest
from equipoise.analysis.rate.partitions import places_of, rate_by
from equipoise.analysis.reading import HistoryRequest
from equipoise.cli import run
from equipoise.errors import InvalidParameterError
from equipoise.formats.joining import MISSING, folder_name, partition_files, values_of
from equipoise.rating.registry import make_system
from formats.test_many_files import Answers, let_s3_be

MODES, REGIONS = ("ranked", "casual"), ("eu", "na")


def matches(seed: int, count: int = 30, players: int = 9) -> pl.DataFrame:
    """Return duels; most players of different pools have the same names."""
    rows = []
    for match in range(count):
        one = (match * 7 + seed) % players
        other = (one + 1 + (match * 3 + seed) % (players - 1)) % players
        for player, rank in ((one, 1), (other, 1 + (match + seed) % 2)):
            rows.append({"match": match, "player": f"p{player + seed % 3}", "rank": rank})
    return pl.DataFrame(rows)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a data set in folders of mode and region, with a file that is no table."""
    root = tmp_path / "data"
    for number, (mode, region) in enumerate((m, r) for m in MODES for r in REGIONS):
        folder = root / f"mode={mode}" / f"region={region}"
        folder.mkdir(parents=True)
        matches(number).write_parquet(folder / "part-0.parquet")
    (root / "_SUCCESS").touch()
    (root / "mode=ranked" / "region=eu" / ".part-0.parquet.crc").write_bytes(b"crc")
    return root


Message = Callable[..., dict[str, Any]]


@pytest.fixture
def message(cli: Cli) -> Message:
    """Give what rates pools and returns the JSON message."""

    def rated(*words: str | Path, status: int = 0, columns: str = "mode,region") -> Any:
        return cli.json("rate", *words, "--by", columns, "-s", "elo", status=status)

    return rated


def by(*arguments: str | Path, columns: str = "mode,region") -> int:
    return run(["rate", *map(str, arguments), "--by", columns, "-s", "elo"])


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files."""
    return {
        str(one.relative_to(folder)): one.read_bytes()
        for one in sorted(folder.rglob("*"))
        if one.is_file()
    }


def test_each_pool_is_rated_as_alone(data: Path, tmp_path: Path, message: Message) -> None:
    out = tmp_path / "out"
    found = message(data, "--output", f"{out}/ratings.csv", "--save", f"{out}/")
    assert [(one["values"]["mode"], one["values"]["region"]) for one in found["pools"]] == [
        ("casual", "eu"),
        ("casual", "na"),
        ("ranked", "eu"),
        ("ranked", "na"),
    ]
    assert (found["rated"], found["failed"]) == (4, 0)
    assert found["matches"] == 120
    for mode in MODES:
        for region in REGIONS:
            below = Path(f"mode={mode}", f"region={region}")
            alone = tmp_path / "alone.csv"
            state = tmp_path / "alone.npz"
            file = str(data / below / "part-0.parquet")
            run(["rate", file, "-s", "elo", "--output", str(alone), "--save", str(state)])
            assert (out / below / "ratings.csv").read_bytes() == alone.read_bytes()
            assert (out / below / "state.npz").read_bytes() == state.read_bytes()


def test_columns_give_the_same_as_folders(data: Path, tmp_path: Path) -> None:
    assert by(data, "--output", f"{tmp_path}/folders/ratings.csv") == 0
    files = partition_files(str(data))
    table = pl.concat(
        pl.read_parquet(one.path).with_columns(
            # A match has one id in one table.
            (pl.col("match") + 100 * number).alias("match"),
            *(pl.lit(value).alias(name) for name, value in one.values.items()),
        )
        for number, one in enumerate(files)
    )
    table.write_csv(tmp_path / "all.csv")
    assert by(tmp_path / "all.csv", "--output", f"{tmp_path}/columns/ratings.csv") == 0
    assert contents(tmp_path / "columns") == contents(tmp_path / "folders")
    # One in the names of folders, the other a column of the files.
    for mode in MODES:
        part = tmp_path / "mixed" / f"mode={mode}"
        part.mkdir(parents=True)
        table.filter(pl.col("mode") == mode).drop("mode").write_parquet(part / "0.parquet")
    assert by(tmp_path / "mixed", "--output", f"{tmp_path}/both/ratings.csv") == 0
    assert contents(tmp_path / "both") == contents(tmp_path / "folders")


def test_links_in_the_output_are_followed_and_stay(data, tmp_path, message):
    folder = tmp_path / "out" / "mode=ranked" / "region=eu"
    folder.mkdir(parents=True)
    (tmp_path / "elsewhere.csv").write_text("old")
    (folder / "ratings.csv").symlink_to(tmp_path / "elsewhere.csv")
    message(data, "--output", f"{tmp_path}/out/ratings.csv")
    assert (folder / "ratings.csv").is_symlink()
    assert (tmp_path / "elsewhere.csv").read_text() != "old"


def test_a_name_that_is_too_long_fails_its_pool_alone(tmp_path: Path, message: Message) -> None:
    table = pl.concat(
        matches(0, 4).with_columns((pl.col("match") + 10 * at).alias("match"), mode=pl.lit(value))
        for at, value in enumerate(("ok", 300 * "x"))
    )
    table.write_parquet(tmp_path / "all.parquet")
    given = [tmp_path / "all.parquet", "--output", f"{tmp_path}/out/"]
    found = message(*given, columns="mode", status=1)
    assert [one["status"] for one in found["pools"]] == ["rated", "failed"]
    assert "too long" in found["pools"][1]["error"]


def test_a_bad_file_fails_its_pool_alone(data, tmp_path, capsys, message):
    bad = data / "mode=ranked" / "region=eu" / "part-0.csv"
    bad.with_name("part-0.parquet").unlink()
    bad.write_text("match,player,rank\n1,ann,1\n1,ben,x\n")
    found = message(data, "--output", f"{tmp_path}/out/", status=1)
    assert [one["status"] for one in found["pools"]] == ["rated", "rated", "failed", "rated"]
    (problem,) = found["pools"][2]["problems"]
    assert (problem["file"], problem["line"], problem["field"]) == (str(bad), 3, "rank")
    assert not (tmp_path / "out" / "mode=ranked" / "region=eu" / "ratings.parquet").exists()
    assert by(data, "--output", f"{tmp_path}/out/") == 1
    error = capsys.readouterr().err
    assert "mode=ranked, region=eu failed: 1 problem in" in error
    assert f"{bad}, line 3, rank" in error
    assert "3 rated, 1 failed" in error


def test_values_that_no_path_can_have(tmp_path: Path, message: Message) -> None:
    values = ["../x", "a/b", "a=b", "", None, MISSING, "100%", "..", "50%2F"]
    table = pl.concat(
        matches(0, 4).with_columns(
            (pl.col("match") + 10 * number).alias("match"), pl.lit(value, pl.String).alias("mode")
        )
        for number, value in enumerate(values)
    )
    table.write_parquet(tmp_path / "all.parquet")
    out = tmp_path / "deep" / "out"
    found = message(tmp_path / "all.parquet", "--output", f"{out}/", columns="mode")
    # The empty and the missing value are one pool.
    assert len(found["pools"]) == len(values) - 1
    written = sorted(one.parent.name for one in out.rglob("ratings.parquet"))
    assert written == sorted(folder_name("mode", one or None) for one in {*values} - {""})
    assert {one.name for one in tmp_path.iterdir()} == {"all.parquet", "deep"}
    assert {one.parent for one in out.iterdir()} == {out}
    read = {values_of(str(one))["mode"] for one in out.rglob("ratings.parquet")}
    assert read == {*values} - {""}


def test_where_selects_folders(data: Path, tmp_path: Path, message: Message) -> None:
    found = message(data, "--output", f"{tmp_path}/out/", "--where", "mode=ranked")
    assert [one["values"]["region"] for one in found["pools"]] == ["eu", "na"]


def test_several_files_of_a_pool_are_read_together(tmp_path: Path, message: Message) -> None:
    folder = tmp_path / "data" / "mode=ranked"
    folder.mkdir(parents=True)
    table = matches(1)
    table.head(30).write_csv(folder / "1.csv")
    table.tail(30).write_csv(folder / "2.csv")
    pattern = str(tmp_path / "data" / "*" / "*.csv")
    found = message(pattern, "--output", f"{tmp_path}/out/", columns="mode")
    assert [one["matches"] for one in found["pools"]] == [30]


@pytest.mark.parametrize(
    ("arguments", "columns", "said"),
    [
        ([], "mode,region", "--by needs --output DIR/"),
        (["--output", "{out}/"], "mode,mode", "--by must be different columns"),
        (["--output", "{out}/"], "mode,", "--by must be names of columns"),
        (["--output", "{out}/"], "mode,level", "--by must name a column of the history"),
        (["--output", "{out}/", "--state", "x.npz"], "mode", "--state cannot be combined"),
        (["--output", "{out}/", "--dry-run"], "mode", "--dry-run cannot be combined"),
        (["--output", "{data}/out/"], "mode", "outside of the folder that is read"),
        (["--output", "{out}/x.docx"], "mode", "must end in"),
        (["--output", "{out}/", "--where", "mode=none"], "mode", "some folder has"),
    ],
)
def test_wrong_usage_is_named(data, tmp_path, capsys, arguments, columns, said):
    given = [one.format(out=tmp_path / "out", data=data) for one in arguments]
    assert by(data, *given, columns=columns) in (1, 2)
    assert said in capsys.readouterr().err


def test_matches_files_and_options_that_do_not_fit_are_named(tmp_path, capsys, data, cli):
    (tmp_path / "all.csv").write_text(
        "match,player,rank,mode\n1,ann,1,a\n1,ben,2,b\n2,ann,1,a\n2,ben,2,a\n"
    )
    assert by(tmp_path / "all.csv", "--output", f"{tmp_path}/out/", columns="mode") == 2
    assert "mode has 'a' and 'b' in match 1" in capsys.readouterr().err
    matches(3).write_csv(data / "stray.csv")
    assert by(data, "--output", f"{tmp_path}/out/") == 1
    assert "stray.csv, mode: must be in a folder mode=VALUE" in capsys.readouterr().err
    assert "--workers needs --by" in cli("rate", str(data), "--workers", "2", status=2).err


class Bucket(Answers):
    """Answers as S3 does: also lists objects."""

    root: Path

    def do_GET(self) -> None:  # noqa: N802  # the name that the library calls
        asked = parse_qs(urlsplit(self.path).query)
        if "list-type" not in asked:
            super().do_GET()
            return
        (prefix,) = asked.get("prefix", [""])
        keys = {one.relative_to(self.root).as_posix(): one for one in self.root.rglob("*.parquet")}
        rows = "".join(
            f"<Contents><Key>{key}</Key><Size>{keys[key].stat().st_size}</Size><ETag>1</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key in sorted(keys)
            if key.startswith(prefix)
        )
        text = f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def content(self, path: str) -> bytes | None:
        file = self.root / path.removeprefix("/")
        return file.read_bytes() if file.is_file() else None

    do_HEAD = do_GET  # noqa: N815


@pytest.mark.slow
def test_objects_of_a_cloud(data, tmp_path, message, monkeypatch):
    handler = type("Here", (Bucket,), {"root": tmp_path})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.seen = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        let_s3_be(f"http://127.0.0.1:{server.server_port}", monkeypatch)
        try:
            arguments = ["s3://bucket/data/", "--output", f"{tmp_path}/cloud/ratings.csv"]
            assert message(*arguments)["rated"] == 4
            pattern = "s3://bucket/data/mode=ranked/**/*.parquet"
            assert message(pattern, *arguments[1:])["rated"] == 2
        finally:
            server.shutdown()
    assert by(data, "--output", f"{tmp_path}/here/ratings.csv") == 0
    assert contents(tmp_path / "cloud") == contents(tmp_path / "here")


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(data: Path, tmp_path: Path) -> None:
    """Two processes, of which one dies under way, give what one process gives."""
    for number in range(20):
        folder = data / f"mode=m{number}" / "region=eu"
        folder.mkdir(parents=True)
        matches(number, 400, 50).write_parquet(folder / "0.parquet")
    assert by(data, "--output", f"{tmp_path}/one/ratings.csv") == 0
    request = RateRequest(
        history=HistoryRequest(source=str(data)), output=f"{tmp_path}/two/ratings.csv"
    )
    killed = []

    def kill(done: int, total: int, *_: object) -> None:
        if not killed:
            worker = multiprocessing.active_children()[0]
            killed.append(worker.pid)
            worker.kill()

    answer = rate_by(make_system("elo"), request, ("mode", "region"), 2, kill)
    assert killed
    assert answer.failed == 0
    # A killed process cannot remove its drafts (`replaced_files`).
    found = contents(tmp_path / "two")
    drafts = {path for path in found if re.match(r"\.[0-9a-f]{8}\.", Path(path).name)}
    assert {path: found[path] for path in found.keys() - drafts} == contents(tmp_path / "one")


@pytest.mark.usefixtures("options_in_messages")
@pytest.mark.parametrize("option", ["--output", "--save", "--trace"])
def test_a_new_folder_without_a_slash_is_named(tmp_path: Path, option: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"{option} must be a folder, .*\(.*new/\)"):
        places_of({option: str(tmp_path / "new")}, str(tmp_path / "data"))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ["rate", "leaderboard"])
@pytest.mark.parametrize("column", ["matches", "players", "elo"])
def test_a_column_may_have_the_name_of_one_of_the_table(
    tmp_path: Path, cli: Cli, command: str, column: str
) -> None:
    path = tmp_path / "all.csv"
    path.write_text(f"match,player,rank,{column}\n1,ann,1,x\n1,ben,2,x\n")
    output = ("--output", f"{tmp_path}/out/") if command == "rate" else ()
    lines = cli(command, str(path), "--system", "elo", "--by", column, *output).out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == [column, "x"]
