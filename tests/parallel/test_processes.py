"""Worker processes: those that die, refuse, or outlive the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.parallel.tasks import Processes, WorkerLostError, run_tasks
from equipoise.wording import are_options_named, options_named
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


def test_a_deadly_task_is_named_after_three_attempts(tmp_path: Path) -> None:
    """The tasks beside it are never blamed, nor repeated."""
    file = tmp_path / "calls"
    counts = tiny.Counts(file, deadly=5)
    with pytest.raises(
        EquipoiseError,
        match="ladder 5 was given up after it lost its worker 3 times: its process was killed, "
        "maybe because there was too little memory",
    ):
        list(run_tasks(counts, None, range(40), workers=3, names="ladder {}".format))
    calls = Counter(file.read_text().split())
    assert calls.pop("5") == 3
    assert set(calls.values()) == {1}


def test_a_worker_killed_while_idle_is_replaced() -> None:
    found = run_tasks(tiny.own_id, None, range(2), workers=2, under_way=2)
    own = next(found)
    with Processes(1) as processes:
        pid = processes.submit(tiny.own_id, None, 0).result()
        os.kill(pid, signal.SIGKILL)
        assert ends(pid)
        assert processes.submit(tiny.own_id, None, 0).result() not in (pid, own)
    found.close()  # type: ignore[attr-defined]  # it is a generator
    assert ends(own)


def test_a_process_that_ends_itself_is_explained() -> None:
    with Processes(1) as processes:
        future = processes.submit(os._exit, 3)
        with pytest.raises(WorkerLostError, match="its process ended with exit code 3"):
            future.result()


def test_processes_get_the_shared_value_with_its_flags() -> None:
    """Kernels are compiled by which arrays may be written."""
    arrays = [np.arange(3), np.arange(3)]
    arrays[1].setflags(write=False)
    assert list(run_tasks(tiny.writable, arrays, range(3), workers=2)) == [[True, False]] * 3


def test_messages_name_options_where_they_do_in_this_process() -> None:
    for named in (True, False):
        with options_named(named), Processes(1) as processes:
            assert processes.submit(are_options_named).result() is named


def test_errors_come_back_as_they_are() -> None:
    with Processes(1) as processes:
        with pytest.raises(ValueError, match="3 is refused") as raised:
            processes.submit(tiny.refuse, None, 3).result()
        assert "tiny.py" in str(raised.value.__cause__)  # the traceback of the worker
        with pytest.raises(BrokenProcessPool) as broken:
            processes.submit(tiny.stubborn, None, 1).result()
        assert "StubbornError" in str(broken.value.__cause__)
        with pytest.raises(AttributeError, match="pickle"):
            processes.submit(lambda: 1).result()
        assert processes.submit(tiny.square, None, 3).result() == 9
    with pytest.raises(RuntimeError, match="shutdown"):
        processes.submit(tiny.square, None, 3)


def test_processes_end_at_once_after_an_error(tmp_path: Path) -> None:
    pids = []
    # Earlier tests of this process may have left children that are not ours to end.
    others = {child.pid for child in multiprocessing.active_children()}

    def failing() -> None:
        with Processes(2) as processes:
            slow = processes.submit(tiny.Hangs(tmp_path, 1), None, 1)
            pids.append(processes.submit(tiny.own_id, None, 0).result())
            pids.extend(child.pid for child in multiprocessing.active_children())
            assert not slow.done()
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        failing()
    assert time.monotonic() - start < 20
    assert all(ends(pid) for pid in pids if pid is not None and pid not in others)


_ENDLESS = """
import sys
from pathlib import Path
from equipoise.parallel.tasks import run_tasks
from parallel import tiny

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for pid in run_tasks(tiny.own_id, None, range(8), workers=2):
        print(pid, flush=True)
    pending = run_tasks(tiny.Hangs(folder, 3), None, range(9), workers=2)
    for result in pending:
        print("result", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
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
        "print(list(run_tasks(max, 1, range(3), workers=2)))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode != 0
    assert "A script must be importable" in done.stderr
