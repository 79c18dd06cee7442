"""equipoise rate as its users run it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import polars as pl
import pytest

from equipoise.cli import run

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "examples" / "contests.csv")


def rate(*arguments: str) -> int:
    return run(["rate", *arguments])


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_the_table_is_printed_plain_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    """Sorted by rating, one line a player; the summary goes to standard error."""
    assert rate(SAMPLE) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["player", "rating", "deviation", "matches", "last_time"]
    assert len(lines) == 121
    ratings = [float(line.split()[1]) for line in lines[1:]]
    assert ratings == sorted(ratings, reverse=True)
    assert "elo-mmr: 40 matches, 2,189 participations, 120 players" in err
    assert "participations/s" in err


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json", "jsonl", "tsv"])
def test_ratings_are_written_by_suffix(tmp_path: Path, suffix: str) -> None:
    """Every format holds the same table, floats in full."""
    target = tmp_path / f"ratings.{suffix}"
    assert rate(SAMPLE, "--output", str(target)) == 0
    readers = {
        "csv": pl.read_csv,
        "tsv": lambda path: pl.read_csv(path, separator="\t"),
        "parquet": pl.read_parquet,
        "json": pl.read_json,
        "jsonl": pl.read_ndjson,
    }
    table = readers[suffix](target)
    assert table.columns == ["player", "rating", "deviation", "matches", "last_time"]
    assert rate(SAMPLE, "--output", str(tmp_path / "again.parquet")) == 0
    again = pl.read_parquet(tmp_path / "again.parquet")
    assert table["rating"].to_list() == again["rating"].to_list()
    assert table["last_time"].dtype == pl.Int64


def test_json_has_the_summary_and_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """One object on standard output; missing deviations are null."""
    assert rate(SAMPLE, "--system", "elo", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["summary"]["system"] == "elo"
    assert answer["summary"]["participations"] == 2189
    assert len(answer["ratings"]) == 120
    assert answer["ratings"][0]["deviation"] is None
    assert set(answer["summary"]["seconds"]) == {"read", "rate", "write"}


def test_the_trace_has_a_row_a_participation(tmp_path: Path) -> None:
    trace = tmp_path / "trace.parquet"
    assert rate(SAMPLE, "--trace", str(trace), "--output", str(tmp_path / "r.csv")) == 0
    table = pl.read_parquet(trace)
    assert table.columns == [
        *("match", "time", "player", "team", "rank", "expected", "rating_before"),
        *("deviation_before", "rating", "deviation", "performance"),
    ]
    assert len(table) == 2189
    assert table["rating"].null_count() == 0


def test_saving_and_resuming_gives_the_same_bits(tmp_path: Path) -> None:
    """With the whole history, and with its continuation alone."""
    half = "2020-05-01"
    state, straight = str(tmp_path / "state.npz"), str(tmp_path / "straight.parquet")
    assert rate(SAMPLE, "--output", straight) == 0
    assert rate(SAMPLE, "--until", half, "--save", state, "--output", str(tmp_path / "x.csv")) == 0
    whole, rest = str(tmp_path / "whole.parquet"), str(tmp_path / "rest.parquet")
    assert rate(SAMPLE, "--resume", state, "--output", whole) == 0
    assert rate(SAMPLE, "--resume", state, "--from", half, "--output", rest) == 0
    tables = [pl.read_parquet(path).sort("player") for path in (straight, whole, rest)]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_resuming_takes_the_system_of_the_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only another system or other parameters are refused, and what differs is told."""
    state, target = str(tmp_path / "state.npz"), str(tmp_path / "r.csv")
    assert (
        rate(SAMPLE, "--system", "elo", "--set", "k=20", "--save", state, "--output", target) == 0
    )
    assert rate(SAMPLE, "--resume", state, "--output", target) == 0
    assert "elo: 0 matches" in capsys.readouterr().err
    assert rate(SAMPLE, "--resume", state, "--system", "elo", "--set", "k=21") == 2
    assert "k was 20.0, not 21.0" in capsys.readouterr().err
    assert rate(SAMPLE, "--resume", state, "--system", "elo-mmr") == 2
    assert "the state is of elo, not elo-mmr" in capsys.readouterr().err


def test_known_matches_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = str(tmp_path / "state.npz")
    assert rate(SAMPLE, "--save", state, "--output", str(tmp_path / "a.csv")) == 0
    capsys.readouterr()
    assert rate(SAMPLE, "--resume", state, "--output", str(tmp_path / "b.csv")) == 0
    assert "40 matches were rated before and skipped" in capsys.readouterr().err
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_standard_input_needs_a_format(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Piped:
        buffer = io.BytesIO(Path(SAMPLE).read_bytes())

    monkeypatch.setattr(sys, "stdin", Piped())
    assert rate("-", "--format", "csv", "--system", "elo") == 0
    assert len(capsys.readouterr().out.splitlines()) == 121
    monkeypatch.setattr(sys, "stdin", Piped())
    assert rate("-", "--system", "elo") == 2
    assert "format" in capsys.readouterr().err


def test_columns_are_renamed_and_matches_filtered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path / "h.csv",
        "contest,who,rank,cup\n1,a,0,yes\n1,b,1,yes\n2,a,1,no\n2,b,0,no\n",
    )
    arguments = ["--column", "match=contest", "--column", "player=who", "--system", "elo"]
    assert rate(path, *arguments, "--where", "cup=yes") == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split()[:2] == ["a", "1516.00"]
    assert "1 matches were filtered out" in err


def test_parameters_come_from_a_file_and_set_wins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "p.toml", 'system = "elo"\n[parameters]\nk = 10\nscale = 300\n')
    assert rate(SAMPLE, "--parameters", path, "--set", "k=12", "--json") == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["system"] == "elo"
    assert (summary["parameters"]["k"], summary["parameters"]["scale"]) == (12, 300)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("system = 3", "system: must be text; got 3"),
        ("speed = 3", "speed: must be one of system, parameters, statistics"),
        ("system = ", "must be TOML"),
        ('system = "elo"\n[parameters]\nkk = 1', "no parameter 'kk'"),
    ],
)
def test_a_wrong_parameter_file_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = write(tmp_path / "p.toml", text)
    assert rate(SAMPLE, "--parameters", path) in (1, 2)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--set", "rho"], 2, "--set takes NAME=VALUE; got 'rho'"),
        (["--set", "rho=1", "--set", "rho=2"], 2, "names 'rho' twice"),
        (["--system", "elo-mr"], 1, "did you mean elo-mmr?"),
        (["--system", "glicko2"], 1, "glicko2 cannot rate matches of"),
        (["--skip-bad=some"], 2, "--skip-bad stands alone or as --skip-bad=rows"),
        (["--from", "yesterday"], 2, "yesterday"),
        (["--threads", "0"], 2, "threads"),
        (["--resume", "nowhere.npz"], 1, "no saved state at nowhere.npz"),
        (["--output", "ratings.xlsx"], 2, ".parquet"),
        (["--trace", "trace.doc", "--output", "never.csv"], 2, ".parquet"),
        (["--trace", "trace.csv", "--output", "never.doc"], 2, ".parquet"),
        (["--output", "r.csv", "--save", "state.pickle"], 2, "--save must be a file that ends in"),
        (["--output", "r.csv", "--save", "nowhere/state.npz"], 2, "directory of an output"),
        (["--colour", "red"], 2, "--colour"),
    ],
)
def test_wrong_usage_is_refused_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert rate(SAMPLE, *arguments) == status
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("h.csv", "match,player\n1,a\n", "rank"),
        ("h.csv", "match,player,rank\n", "row"),
        ("h.csv", "match,player,rank\n1,a,first\n1,b,1\n", "line 2, rank"),
        ("h.csv", "match,player,rank\n1,a,nan\n1,b,1\n", "line 2, rank"),
        ("h.csv", "match,player,rank\n1,a,0\n1,b,-1\n", "line 3, rank"),
        ("h.csv", "match,player,rank\n1,a,0\n1,a,1\n", "line 3, player"),
        ("h.csv", "match,time,player,rank\n1,5,a,0\n1,6,b,1\n", "line 3, time"),
        ("h.csv", "match,player,rank\n1,a,0\n2,b,0\n1,c,1\n", "match"),
        ("h.csv", "match,player,rank\n1,,0\n1,b,1\n", "line 2, player"),
        ("h.csv", b"match,player,rank\n1,\xff\xfe,0\n1,b,1\n", "UTF-8"),
        ("h.csv.gz", b"\x1f\x8b\x08\x00truncated", "gzip"),
        ("h.parquet", "match,player,rank\n1,a,0\n", "Parquet"),
        ("h.csv", "match,time,player,rank\n1,1600000000000,a,0\n", "milliseconds"),
        ("h.csv", "match,time,player,rank\n1,5,a,0\n2,,b,0\n", "time"),
        ("h.csv", "match,player,rank,weight\n1,a,0,0\n1,b,1,0\n", "weight"),
        ("h.csv", "match,player,rank,weight\n1,a,0,-2\n1,b,1,-2\n", "weight"),
    ],
)
def test_a_bad_history_is_refused_with_its_place_and_nothing_is_written(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str | bytes,
    message: str,
) -> None:
    """Every kind of bad input: exit 1, file and place named, no output; JSON has the same."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out, trace, save = (str(tmp_path / f) for f in ("r.csv", "t.csv", "s.npz"))
    arguments = [str(path), "--output", out, "--trace", trace, "--save", save]
    assert rate(*arguments) == 1
    text = capsys.readouterr().err
    assert message in text
    assert name in text
    assert [found.name for found in tmp_path.iterdir()] == [name]
    assert rate(*arguments, "--json") == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "invalid-data"
    assert error["problems"]
    assert set(error["problems"][0]) == {"file", "line", "field", "rule", "got"}
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_twenty_problems_are_shown_and_the_rest_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{m},a,{'x' if m % 2 else 0}\n{m},b,-{m}\n" for m in range(1, 20))
    path = write(tmp_path / "h.csv", "match,player,rank\n" + rows)
    assert rate(path) == 1
    err = capsys.readouterr().err
    assert err.count("rank: must") == 20 + err.splitlines()[0].count("rank: must")
    assert "... and 9 more" in err


def test_bad_matches_are_dropped_on_request_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "h.csv", "match,player,rank\n1,a,0\n1,b,1\n2,a,zero\n2,b,0\n2,c,1\n")
    assert rate(path, "--skip-bad", "--system", "elo") == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3
    assert "1 bad matches were dropped" in err
    assert "line 4" in err
    assert rate(path, "--skip-bad=rows", "--system", "elo") == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 4
    assert "1 bad rows were dropped from matches that stayed" in err


def test_times_that_are_missing_make_some_options_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """INTERFACES: without times nothing decays, and nothing can be selected by time."""
    path = write(tmp_path / "h.csv", "match,player,rank\n1,a,0\n1,b,1\n")
    for arguments in (
        ["--at", "2020-01-01"],
        ["--from", "2020-01-01"],
        ["--until", "2020-01-01"],
        ["--set", "drift_per_day=1"],
    ):
        assert rate(path, *arguments) == 2
        assert "time" in capsys.readouterr().err
    assert rate(path) == 0


def test_ratings_as_of_a_later_time_are_less_certain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "h.csv", "match,time,player,rank\n1,2020-01-01,a,0\n1,2020-01-01,b,1\n")
    arguments = [path, "--set", "drift_per_day=10", "--json"]
    assert rate(*arguments) == 0
    now = json.loads(capsys.readouterr().out)["ratings"][0]
    assert rate(*arguments, "--at", "2020-01-11") == 0
    later = json.loads(capsys.readouterr().out)["ratings"][0]
    assert later["deviation"] ** 2 - now["deviation"] ** 2 == pytest.approx(100, abs=1e-6)
    assert later["last_time"] == "2020-01-01"


def test_statistics_become_the_performance(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", "match,player,rank,kills\n1,a,0,3\n1,b,1,many\n")
    assert rate(path, "--stat", "kills=1") == 1
    assert rate(path, "--stat", "kills=much") == 2
    assert rate(path) == 0


def test_outputs_must_not_overwrite_the_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "h.csv"
    history.write_text("match,player,rank\n1,a,0\n1,b,1\n")
    before = history.read_bytes()
    assert run(["rate", str(history), "--output", str(history)]) == 2
    assert "HISTORY and --output name the same file" in capsys.readouterr().err
    assert history.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "h.csv"
    history.write_text("match,player,rank\n1,a,0\n1,b,1\n")
    full = tmp_path / "full.csv"
    full.symlink_to("/dev/full")
    assert run(["rate", str(history), "--output", str(full), "--json"]) == 1
    error = json.loads(capsys.readouterr().err.splitlines()[-1])["error"]
    assert error["code"] == "system"
    assert "No space left on device" in error["message"]
