"""The pool of processes: workers that die, hang, refuse or outlive the one that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import wait
from pathlib import Path

import pytest

from equipoise.errors import EquipoiseError, InvalidParameterError
from equipoise.parallel.processes import ProcessPool, WorkerLostError
from equipoise.parallel.tasks import run_tasks
from parallel import tiny

#: Each test starts processes.
pytestmark = pytest.mark.slow


def is_running(pid: int) -> bool:
    """Return whether a thread of a process runs: the first may have ended before the others."""
    try:
        states = [one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # one ended just now
        return Path(f"/proc/{pid}").exists()
    return any(text.rpartition(")")[2].split()[0] not in "ZX" for text in states)


def ends(pid: int, seconds: float = 10.0) -> bool:
    """Return whether a process ends in time."""
    limit = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < limit:
        time.sleep(0.05)
    return not is_running(pid)


def test_only_the_task_of_a_dead_worker_is_lost(tmp_path: Path) -> None:
    """All others, of the same worker too, are carried out once."""
    file = tmp_path / "calls"
    with ProcessPool(2) as pool:
        counts = tiny.Counts(file, deadly=4)
        futures = [pool.submit(counts, number) for number in range(10)]
        wait(futures)
        with pytest.raises(WorkerLostError, match="ended by SIGKILL, maybe because"):
            futures[4].result()
        assert [one.result() for one in futures if one is not futures[4]] == [
            number * number for number in range(10) if number != 4
        ]
    assert Counter(file.read_text().split()) == Counter(str(number) for number in range(10))


def test_a_deadly_task_is_named_after_three_attempts(tmp_path: Path) -> None:
    """The tasks beside it are never blamed, nor repeated."""
    file = tmp_path / "calls"
    counts = tiny.Counts(file, deadly=5)
    with pytest.raises(EquipoiseError, match="ladder 5 was given up after it lost its worker 3"):
        list(run_tasks(counts, range(40), workers=3, names="ladder {}".format))
    calls = Counter(file.read_text().split())
    assert calls.pop("5") == 3
    assert set(calls.values()) == {1}


def test_a_worker_that_hangs_is_killed_and_its_task_repeated(tmp_path: Path) -> None:
    start = time.monotonic()
    found = run_tasks(tiny.HangsOnce(tmp_path, 1), range(4), workers=2, seconds=1.0)
    assert list(found) == [0, 1, 4, 9]
    assert time.monotonic() - start < 30


def test_a_worker_that_stops_in_the_middle_of_its_answer_is_killed(tmp_path: Path) -> None:
    found = run_tasks(tiny.StopsOnce(tmp_path / "mark"), range(4), workers=2, seconds=2.0)
    assert list(found) == [0, 1, 4, 9]


def test_a_worker_that_stops_before_it_has_its_arguments_is_killed() -> None:
    """The pipe is full then, and the pool waits in the middle of sending."""
    with ProcessPool(1, seconds=2.0) as pool:
        pid = pool.submit(tiny.own_id, 0).result()
        os.kill(pid, signal.SIGSTOP)
        large = bytes(10_000_000)
        with pytest.raises(WorkerLostError, match="it took longer than 2 seconds"):
            pool.submit(len, large).result(timeout=30)
        assert pool.submit(len, large).result(timeout=60) == len(large)


def test_a_worker_killed_while_idle_is_replaced() -> None:
    with ProcessPool(1) as pool:
        pid = pool.submit(tiny.own_id, 0).result()
        assert pool.pids() == [pid]
        os.kill(pid, signal.SIGKILL)
        assert ends(pid)
        assert pool.submit(tiny.own_id, 0).result() != pid


def test_errors_come_back_as_they_are() -> None:
    with ProcessPool(1) as pool:
        with pytest.raises(ValueError, match="3 is refused") as raised:
            pool.submit(tiny.refuse, 3).result()
        assert "Traceback" in raised.value.__notes__[0]  # that of the worker
        with pytest.raises(EquipoiseError, match="StubbornError: this and that"):
            pool.submit(tiny.stubborn, 1).result()
        with pytest.raises(EquipoiseError, match="a task must be picklable"):
            pool.submit(lambda: 1)
        assert pool.submit(tiny.square, 3).result() == 9
    with pytest.raises(RuntimeError, match="was shut down"):
        pool.submit(tiny.square, 3)
    with pytest.raises(InvalidParameterError, match="workers"):
        ProcessPool(0)


def test_processes_end_with_the_pool_at_once_after_an_error(tmp_path: Path) -> None:
    pids = []

    def failing() -> None:
        with ProcessPool(2) as pool:
            pids.append(pool.submit(tiny.own_id, 0).result())
            slow = pool.submit(tiny.HangsOnce(tmp_path, 1), 1)
            pids.extend(pool.pids())
            assert not slow.done()
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        failing()
    assert time.monotonic() - start < 20
    assert all(ends(pid) for pid in pids)


_ENDLESS = """
import sys
from pathlib import Path
from equipoise.parallel.tasks import run_tasks
from parallel import tiny

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for pid in run_tasks(tiny.own_id, range(8), workers=2):
        print(pid, flush=True)
    pending = run_tasks(tiny.HangsOnce(folder, 3), range(9), workers=2)
    for result in pending:
        print("result", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_process_that_started_them(
    tmp_path: Path, how: signal.Signals
) -> None:
    """Killed or interrupted while a worker is at work: it is gone within seconds."""
    script = tmp_path / "endless.py"
    script.write_text(_ENDLESS)
    paths = [str(Path(__file__).parents[1]), *sys.path]
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        limit = time.monotonic() + 60
        while not (tmp_path / "3").exists() and time.monotonic() < limit:
            time.sleep(0.05)
        assert (tmp_path / "3").exists()
        children = [
            int(pid)
            for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        ] + [
            int(pid)
            for thread in Path(f"/proc/{process.pid}/task").iterdir()
            for pid in (thread / "children").read_text().split()
        ]
        assert len(set(children)) >= 2
        process.send_signal(how)
        process.wait(20)
        assert all(ends(pid) for pid in set(children))
    finally:
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
        if process.stdout is not None:
            process.stdout.close()


def test_a_script_that_cannot_be_imported_is_explained(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from equipoise.parallel.tasks import run_tasks\n"
        "print(list(run_tasks(abs, range(3), workers=2)))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode != 0
    assert "A script must be importable" in done.stderr
