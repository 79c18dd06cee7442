"""Work on a Dask cluster: who may be reached how, with which code, and what happens to it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.errors import (
    ConflictError,
    EquipoiseError,
    InvalidParameterError,
    UnavailableError,
)
from equipoise.parallel.tasks import run_tasks
from parallel import tiny

distributed = pytest.importorskip("distributed", reason="needs the extra cluster")

import dask.config  # noqa: E402  # after the check that it is there

from equipoise.parallel import cluster  # noqa: E402
from equipoise.parallel.cluster import connect  # noqa: E402
from trials.machines import LONG, Machines, free_port, wait_for_worker  # noqa: E402

# Dask leaves sockets and loops to the garbage collector when it is closed.
pytestmark = [
    pytest.mark.no_kernel,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.fixture(scope="module")
def inside() -> Iterator[str]:
    """Return the address of a scheduler within this process, with two workers."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as running:
        yield running.scheduler_address


def square(number: int) -> int:
    return number * number


def test_calls_give_results_errors_and_may_be_cancelled(inside: str) -> None:
    with connect(inside) as executor:
        futures = [executor.submit(square, number) for number in range(20)]
        assert [future.result(LONG) for future in futures] == [n * n for n in range(20)]
        assert list(executor.map(square, [3, 3])) == [9, 9]
        with pytest.raises(ValueError, match="invalid literal"):
            executor.submit(int, "x").result(LONG)
        late: Future[Any] = executor.submit(time.sleep, 0.2)
        assert late.cancel() or late.done()
        assert executor.submit(int, "11", base=2).result(LONG) == 3


def test_equal_calls_are_made_again(inside: str, tmp_path: Path) -> None:
    """Dask answers a call with an earlier result if it takes it for the same."""
    mark = _Mark(tmp_path)
    with connect(inside) as executor:
        for future in [executor.submit(mark) for _ in range(2)]:
            future.result(LONG)
    assert len(list(tmp_path.iterdir())) == 2


def test_one_worker_of_each_machine_prepares(inside: str, tmp_path: Path) -> None:
    with connect(inside) as executor:
        assert executor.is_here()
        executor.prepare(_Mark(tmp_path))
    assert len(list(tmp_path.iterdir())) == 1


class _Mark:
    """Makes a file of a new name with each call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self) -> None:
        (self.folder / str(time.monotonic_ns())).touch()


@pytest.mark.parametrize(
    "address",
    [
        *("", "127.0.0.1:8786", "http://127.0.0.1:8786", "ucx://127.0.0.1:8786", "tcp://"),
        *("ws://127.0.0.1:8786", "tcp://user:word@127.0.0.1", "tcp://127.0.0.1:99999"),
        *("tcp://[::1", "tcp://127.0.0.1:1/x", "tls://two words:1", "tls://a:1?b"),
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with (
        pytest.raises(InvalidParameterError, match="the address of a cluster must be tls://"),
        connect(address),
    ):
        pass


@pytest.mark.parametrize(
    "host", ["10.0.0.7", "0.0.0.0", "[fe80::1]", "169.254.169.254", "localhost.example"]
)
def test_a_scheduler_elsewhere_needs_tls(host: str) -> None:
    with (
        pytest.raises(InvalidParameterError, match="must be tls:// with certificates"),
        connect(f"tcp://{host}:8786"),
    ):
        pass


def test_dask_may_be_told_to_do_without_encryption() -> None:
    with dask.config.set({"distributed.comm.require-encryption": False}):
        assert cluster._target("tcp://10.0.0.7") == "tcp://10.0.0.7:8786"
    assert cluster._target("tcp://localhost:1/") == "tcp://localhost:1"
    assert cluster._target("tcp://[::1]") == "tcp://[::1]:8786"


def test_certificates_are_those_of_dask(tmp_path: Path) -> None:
    address = "tls://127.0.0.1:8786"
    with pytest.raises(InvalidParameterError, match="needs certificates"), connect(address):
        pass
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    with (
        certificates(empty, empty, empty),
        pytest.raises(UnavailableError, match=r"no connection to a scheduler at tls://"),
        connect(address),
    ):
        pass


def certificates(ca: Path, cert: Path, key: Path) -> Any:
    """Return a block in which Dask's configuration names these files."""
    names = {"ca-file": ca, "client.cert": cert, "client.key": key}
    return dask.config.set(
        {f"distributed.comm.tls.{name}": str(one) for name, one in names.items()}
    )


def test_a_scheduler_that_is_not_there_is_given_up() -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    with (
        pytest.raises(UnavailableError, match=r"no connection to a scheduler at .* within 0\.5 s"),
        connect(address, seconds=0.5),
    ):
        pass


def test_other_versions_are_named(inside: str) -> None:
    other = {**cluster.code_of_this_process(), "equipoise": "9.9"}
    with connect(inside) as executor:
        with pytest.raises(ConflictError) as raised:
            cluster._check_code(executor._client, other)
        assert "has equipoise" in str(raised.value)
        assert "this machine has 9.9: install the same version" in str(raised.value)
        assert str(raised.value).endswith("; and 1 more")


def test_a_worker_that_comes_later_is_checked_too(inside: str) -> None:
    with connect(inside) as executor:
        executor._expected = {**executor._expected, "sources of equipoise": "0123456789abcdef"}
        with pytest.raises(ConflictError, match=r"^worker inproc://\S+ has sources of equipoise"):
            executor.submit(square, 2).result(LONG)


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two authorities, and certificates that they signed."""
    folder = tmp_path_factory.mktemp("papers")
    try:
        for name in ("own", "other"):
            _openssl(folder, f"req -x509 -nodes -keyout {name}.key -out {name}.pem -days 9", name)
        for name, signer, days in (
            ("node", "own", 9),
            ("user", "own", 9),
            ("expired", "own", -1),
            ("stranger", "other", 9),
        ):
            _openssl(folder, f"req -nodes -keyout {name}.key -out {name}.csr", name)
            _openssl(
                folder,
                f"x509 -req -in {name}.csr -CA {signer}.pem -CAkey {signer}.key -CAcreateserial "
                f"-days {days} -out {name}.pem",
            )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"openssl made no certificates: {error}")
    return folder


def _openssl(folder: Path, words: str, name: str = "") -> None:
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", f"/CN={name}"]
    command = ["openssl", *words.split(), *(new if name else [])]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def of(folder: Path, name: str, authority: str = "own") -> Any:
    """Return a block in which Dask's configuration names files of an authority."""
    return certificates(folder / f"{authority}.pem", folder / f"{name}.pem", folder / f"{name}.key")


@pytest.mark.slow
def test_both_sides_show_certificates(papers: Path, tmp_path: Path) -> None:
    options = [
        *("--tls-ca-file", str(papers / "own.pem"), "--tls-cert", str(papers / "node.pem")),
        *("--tls-key", str(papers / "node.key")),
    ]
    with Machines(tmp_path / "log", "tls://127.0.0.1", *options) as machines:
        machines.work()
        address = machines.address
        with of(papers, "user"):
            wait_for_worker(address)
            with connect(address, seconds=LONG) as executor:
                assert executor.submit(pow, 2, 10).result(LONG) == 1024
        for name, authority in (("stranger", "own"), ("expired", "own"), ("stranger", "other")):
            with (
                of(papers, name, authority),
                pytest.raises(UnavailableError, match="no connection to a scheduler"),
                connect(address, seconds=2.0),
            ):
                pass
        plain = address.replace("tls://", "tcp://")
        with pytest.raises(UnavailableError, match="no connection"), connect(plain, seconds=2.0):
            pass


@pytest.mark.slow
def test_a_worker_without_equipoise_is_named(tmp_path: Path) -> None:
    with Machines(tmp_path / "log", "tcp://127.0.0.1") as machines:
        hide = tmp_path / "hide.py"
        hide.write_text("import sys\nsys.modules['equipoise'] = None\n")
        machines.work("--preload", str(hide))
        with (
            pytest.raises(ConflictError, match=r"worker tcp://\S+ cannot import equipoise"),
            connect(machines.address, seconds=LONG),
        ):
            wait_for_worker(machines.address)


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_work_with_a_sentence(tmp_path: Path) -> None:
    with Machines(tmp_path / "log", "tcp://127.0.0.1") as machines:
        machines.work()
        wait_for_worker(machines.address)
        with connect(machines.address) as executor:
            future = executor.submit(time.sleep, LONG)
            machines.scheduler.kill()
            with pytest.raises(
                UnavailableError, match=r"connection to the scheduler at .* was lost"
            ):
                future.result(LONG)
            with pytest.raises(UnavailableError, match="was lost"):
                executor.submit(square, 2).result(LONG)


def test_a_result_that_cannot_be_fetched_is_a_lost_scheduler(
    inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler may end after a call is done and before its result was fetched."""

    def cut_off(self: object) -> None:
        raise distributed.comm.CommClosedError("Stream is closed")

    with connect(inside) as executor, monkeypatch.context() as patched:
        patched.setattr(distributed.Future, "result", cut_off)
        future = executor.submit(square, 3)
        with pytest.raises(UnavailableError, match="was lost; when it is back"):
            future.result(LONG)
    with connect(inside) as executor:
        failing = executor.submit(Path("/nowhere/at all").read_bytes)
        with pytest.raises(FileNotFoundError):
            failing.result(LONG)


@pytest.mark.slow
def test_a_shared_value_survives_the_workers_that_have_it(tmp_path: Path) -> None:
    """Workers that come later get it, and it keeps which arrays may be written."""
    arrays = [np.arange(1000), np.arange(1000)]
    arrays[1].setflags(write=False)
    with Machines(tmp_path / "log", "tcp://127.0.0.1") as machines:
        first = machines.work("--no-nanny")
        wait_for_worker(machines.address)
        with connect(machines.address, seconds=LONG) as executor:
            found = run_tasks(tiny.writable, arrays, range(9), executor=executor, under_way=1)
            assert next(found) == [True, False]
            machines.work()
            assert next(found) == [True, False]
            first.kill()
            first.wait()
            assert list(found) == [[True, False]] * 7


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [0, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_task_that_kills_its_workers_is_named(tmp_path: Path, deadly: int) -> None:
    """Dask also blames the tasks that waited on the same worker; they get their results."""
    with Machines(tmp_path / "log", "tcp://127.0.0.1") as machines:
        machines.work()
        wait_for_worker(machines.address)
        with connect(machines.address, seconds=LONG) as executor:
            lost: list[str] = []

            def give_up(task: int, error: EquipoiseError) -> int:
                lost.append(str(error))
                return -1

            results = run_tasks(
                tiny.Counts(tmp_path / "calls", deadly=deadly),
                None,
                range(3),
                executor=executor,
                names="pool {}".format,
                given_up=give_up,
            )
            assert list(results) == [-1 if task == deadly else task**2 for task in range(3)]
            assert len(lost) == 1
            assert f"pool {deadly} was given up after it lost its worker 4 times" in lost[0]
