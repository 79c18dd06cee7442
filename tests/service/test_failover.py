"""The primary of the database dies and its standby takes over; see benchmarks/failover.py."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from equipoise.errors import UnconfirmedError
from equipoise.store.connection import Store, accepts_writes, open_store
from equipoise.store.keys import create_key, list_keys
from trials import vanished
from trials.failover import failover_trial
from trials.standby import ABSENT, PostgresProcess, programs, standby_pair

pytest.importorskip("uvicorn")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason=ABSENT),
]


@pytest.mark.parametrize(
    ("services", "moves"),
    [(1, False), *(pytest.param(2, moves, marks=pytest.mark.nightly) for moves in (False, True))],
)
def test_nothing_acknowledged_is_lost_when_the_standby_takes_over(
    services: int, moves: bool, tmp_path: Path
) -> None:
    """No service is started again: the same processes post to the new primary."""
    result = failover_trial(tmp_path, matches=1500, services=services, moves=moves)
    assert 0 < result.before < 1500
    assert not result.lost
    assert not result.missing
    assert not result.twice
    assert not result.different
    assert result.voided == 1
    assert result.interrupted > 0
    assert result.processes[0] == result.processes[1]


@pytest.mark.nightly
def test_an_old_primary_that_comes_back_takes_connections_but_confirms_nothing() -> None:
    """So it must be fenced. Once it is a standby of the new one, the address leads there again."""
    with standby_pair() as pair:
        pair.primary.query("CREATE DATABASE trial")
        old, new = pair.primary, pair.standby
        address = f"postgresql+psycopg://postgres@127.0.0.1:{old.port},127.0.0.1:{new.port}/trial"
        with _opened(address, old):
            old.kill()
        new.promote()
        with _opened(address, new) as store:
            _create_key(store, "new")

        old.start()
        with _opened(address, old) as store, ThreadPoolExecutor(1) as thread:
            done = thread.submit(_create_key, store, "old")
            pair.wait_for_commit()
            assert not done.done()
            old.kill()
            with pytest.raises(UnconfirmedError):
                done.result(60)

        pair.rejoin()
        with _opened(address, new) as store:
            _create_key(store, "after")
            assert [key.name for key in list_keys(store)] == ["after", "new"]


@pytest.mark.nightly
def test_a_primary_that_vanishes_without_a_word_is_given_up() -> None:
    """In a network of its own, in which its packets are dropped; this needs root on Linux."""
    alone = ["unshare", "--net"]
    try:
        for command in ([*alone, "ip", "link"], [*alone, "iptables", "--list"]):
            subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network of its own here: {error}")
    trial = Path(vanished.__file__)
    done = subprocess.run(
        [*alone, sys.executable, str(trial)], check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    assert found["answer"] == "unconfirmed"
    assert 5 < found["seconds"] < 60
    assert found["after"] == "confirmed"
    assert found["again"] < 30
    assert "after" in found["keys"]


@contextmanager
def _opened(address: str, server: PostgresProcess) -> Iterator[Store]:
    """Open a database, and check to which server the address leads."""
    store = open_store(address)
    try:
        with store.read() as connection:
            assert accepts_writes(connection)
            port = connection.exec_driver_sql("SELECT inet_server_port()").scalar()
            assert port == server.port
        yield store
    finally:
        store.close()


def _create_key(store: Store, name: str) -> None:
    create_key(store, name, "admin", None, None, 0)
