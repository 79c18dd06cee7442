"""Commands that let other processes and machines do the work: the same answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from equipoise.cli import run

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture
def pools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this folder the current one, with a database of three pools."""
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second", "third"):
        source = str(EXAMPLES / "contests.csv")
        assert run(["import", source, "--pool", name, "--create", "--system", "elo"]) == 0
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def without_seconds(found: Any) -> Any:
    return [{**one, "seconds": 0.0} for one in found["pools"]]


@pytest.fixture
def scheduler() -> Iterator[str]:
    """Return the address of a scheduler with two workers in processes of their own."""
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as running:
        yield running.scheduler_address


@pytest.mark.slow
def test_pools_are_verified_at_the_same_time(
    pools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = answer(capsys, "verify")
    assert without_seconds(answer(capsys, "verify", "--workers", "2")) == without_seconds(alone)
    assert run(["verify", "nobody", "--workers", "2"]) == 1
    assert "no pool 'nobody'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_cluster_gives_the_same_answers(
    pools: Path, scheduler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = answer(capsys, "verify")
    there = answer(capsys, "verify", "--cluster", scheduler)
    assert without_seconds(there) == without_seconds(alone)


@pytest.mark.no_kernel
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--insecure-cluster"], "--insecure-cluster needs --cluster"),
        (["--workers", "2", "--cluster", "tcp://127.0.0.1"], "cannot be combined"),
        (["--cluster", "10.0.0.7:8786"], "the address of a cluster must be tls://"),
        (["--cluster", "tcp://10.0.0.7:8786"], "must be tls:// with certificates of both sides"),
        (["--cluster", "tls://127.0.0.1:8786", "--cluster-ca", "none.pem"], "no file 'none.pem'"),
    ],
)
def test_wrong_options_are_explained(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    monkeypatch.chdir(tmp_path)
    assert run(["verify", *options]) == 2
    assert said in capsys.readouterr().err
