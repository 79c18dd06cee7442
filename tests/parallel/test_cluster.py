"""Work on a Dask cluster: who may be reached how, with which code, and what happens to it."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.errors import (
    ConflictError,
    InvalidParameterError,
    NotFoundError,
    UnavailableError,
)
from equipoise.parallel import cluster
from equipoise.parallel.cluster import Certificates, connect
from equipoise.parallel.shared import FOLDER_VARIABLE, share
from trials.machines import LONG, Machines, free_port, wait_for_worker

distributed = pytest.importorskip("distributed", reason="needs the extra cluster")

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
        assert executor.workers == 2
        assert executor.is_here()


def test_equal_calls_are_made_again(inside: str, tmp_path: Path) -> None:
    """Dask answers a call with an earlier result if it takes it for the same."""
    mark = _Mark(tmp_path)
    with connect(inside) as executor:
        for future in [executor.submit(mark) for _ in range(2)]:
            future.result(LONG)
    assert len(list(tmp_path.iterdir())) == 2


def test_one_worker_of_each_machine_prepares(inside: str, tmp_path: Path) -> None:
    with connect(inside) as executor:
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
    "host", ["10.0.0.7", "0.0.0.0", "[::ffff:127.0.0.1]", "[fe80::1]", "169.254.169.254"]
)
def test_a_scheduler_elsewhere_needs_tls(host: str) -> None:
    with (
        pytest.raises(InvalidParameterError, match="must be tls:// with certificates"),
        connect(f"tcp://{host}:8786"),
    ):
        pass


def test_a_name_on_loopback_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever answers for the name could give another number the second time."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [_answer("127.0.0.1")])
    assert cluster._target("tcp://changing.example:8786", False) == "tcp://127.0.0.1:8786"
    assert cluster._target("tls://changing.example", False) == "tls://changing.example:8786"
    both = [_answer("127.0.0.1"), _answer("10.0.0.7")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
    with pytest.raises(InvalidParameterError, match="not on this machine"):
        cluster._target("tcp://both.example:8786", False)
    assert cluster._target("tcp://both.example:1", True) == "tcp://both.example:1"


def _answer(number: str) -> tuple[Any, ...]:
    return socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, 8786)


def test_certificates_are_checked_before_anything_is_sent(tmp_path: Path) -> None:
    address = "tls://127.0.0.1:8786"
    with pytest.raises(InvalidParameterError, match="needs certificates"), connect(address):
        pass
    no_file = Certificates(ca=tmp_path / "none.pem", cert=tmp_path / "none.pem")
    with pytest.raises(InvalidParameterError, match="--cluster-ca must be a file"):
        cluster._security(address, no_file)
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    with pytest.raises(InvalidParameterError, match="certificates for the cluster cannot be used"):
        cluster._security(address, Certificates(ca=empty, cert=empty))


def test_a_scheduler_that_is_not_there_is_given_up() -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    with (
        pytest.raises(UnavailableError, match=r"no scheduler answers at .* within 0\.5 s"),
        connect(address, seconds=0.5),
    ):
        pass


def test_other_versions_are_named(inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = cluster.code_of_this_process()
    versions = tuple((n, "9.9" if n == "equipoise" else v) for n, v in here.versions)
    monkeypatch.setattr(cluster, "code_of_this_process", lambda: replace(here, versions=versions))
    with (
        pytest.raises(
            ConflictError, match=r"^worker inproc://\S+ has equipoise .* machine has 9\.9"
        ),
        connect(inside),
    ):
        pass
    other = replace(here, sources="0123456789abcdef")
    monkeypatch.setattr(cluster, "code_of_this_process", lambda: other)
    with pytest.raises(ConflictError, match="has other source files of equipoise"), connect(inside):
        pass


def test_a_worker_that_comes_later_is_checked_too(inside: str) -> None:
    with connect(inside) as executor:
        executor._expected = replace(executor._expected, sources="0123456789abcdef")
        with pytest.raises(ConflictError, match=r"^worker inproc://\S+ has other source files"):
            executor.submit(square, 2).result(LONG)


def test_arguments_are_not_written_into_logs() -> None:
    call = cluster._Call(cluster.code_of_this_process(), square, ("postgresql://u:secret@h/d",))
    assert repr(call) == "<call of square>"


@pytest.mark.slow
def test_a_plain_scheduler_that_others_reach_is_refused(tmp_path: Path) -> None:
    """Dask's scheduler listens on all addresses by default, also when it is used on loopback."""
    with Machines(tmp_path / "log", "tcp://0.0.0.0") as machines:
        port = machines.address.rpartition(":")[2]
        address = f"tcp://127.0.0.1:{port}"
        machines.work(address=address)
        with (
            pytest.raises(InvalidParameterError, match=r"listens at \S+ without TLS"),
            connect(address, seconds=LONG),
        ):
            pass
        deadline = time.monotonic() + LONG
        while True:
            try:
                with connect(address, insecure=True, seconds=LONG) as executor:
                    assert executor.submit(pow, 2, 10).result(LONG) == 1024
                    break
            except UnavailableError as error:
                if "has no workers" not in str(error) or time.monotonic() > deadline:
                    raise


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


def of(folder: Path, name: str, authority: str = "own") -> Certificates:
    return Certificates(
        ca=folder / f"{authority}.pem", cert=folder / f"{name}.pem", key=folder / f"{name}.key"
    )


@pytest.mark.parametrize(
    ("name", "reason"), [("expired", "has expired"), ("stranger", "unable to get local issuer")]
)
def test_the_own_certificate_is_checked_first(papers: Path, name: str, reason: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"is not accepted by the authority .*{reason}"):
        cluster._security("tls://127.0.0.1:8786", of(papers, name))


def test_a_certificate_of_the_authority_is_accepted(papers: Path) -> None:
    assert cluster._security("tls://127.0.0.1:8786", of(papers, "user")).require_encryption


@pytest.mark.slow
def test_both_sides_show_certificates(papers: Path, tmp_path: Path) -> None:
    options = [
        *("--tls-ca-file", str(papers / "own.pem"), "--tls-cert", str(papers / "node.pem")),
        *("--tls-key", str(papers / "node.key")),
    ]
    with Machines(tmp_path / "log", "tls://127.0.0.1", *options) as machines:
        machines.work()
        address = machines.address
        wait_for_worker(address, certificates=of(papers, "user"))
        with connect(address, certificates=of(papers, "user"), seconds=LONG) as executor:
            assert executor.submit(pow, 2, 10).result(LONG) == 1024
        # The scheduler refuses them, too, if somebody leaves out our own check.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cluster, "_check_accepted", lambda security: None)
            for name in ("stranger", "expired"):
                with (
                    pytest.raises(UnavailableError, match="does not accept the certificate"),
                    connect(address, certificates=of(papers, name), seconds=LONG),
                ):
                    pass
        with (
            pytest.raises(UnavailableError, match="is --cluster-ca the authority that signed it"),
            connect(address, certificates=of(papers, "stranger", "other"), seconds=LONG),
        ):
            pass
        plain = address.replace("tls://", "tcp://")
        with pytest.raises(UnavailableError, match="no Dask scheduler"), connect(plain):
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


#: Runs in a worker: files of the folder in which the main process shares cannot be opened.
_HIDES = """
import sys
def hide(event, given):
    if event == "open" and str(given[0]).startswith({folder!r}):
        raise FileNotFoundError(given[0])
sys.addaudithook(hide)
"""


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
def test_a_shared_value_is_sent_to_workers_that_do_not_see_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on another machine: to those that are there and to those that come later."""
    own, theirs = tmp_path / "own", tmp_path / "theirs"
    (tmp_path / "hide.py").write_text(_HIDES.format(folder=str(own)))
    preload = ("--preload", str(tmp_path / "hide.py"))
    with Machines(tmp_path / "log", "tcp://127.0.0.1") as machines:
        monkeypatch.setenv(FOLDER_VARIABLE, str(theirs))
        machines.work(*preload)
        wait_for_worker(machines.address)
        with connect(machines.address, seconds=LONG) as executor:
            value = {"numbers": np.arange(1000)}
            with share(value, own, executor) as shared:
                for _ in range(2):
                    found = executor.submit(shared.load).result(LONG)
                    assert found["numbers"].tolist() == list(range(1000))
                    assert not executor.submit(shared.is_visible).result(LONG)
                    first = machines.work(*preload)
                    _wait_for_workers(executor, 2)
                    for place in list(executor._client.nthreads()):
                        call = cluster._Call(executor._expected, shared.load, ())
                        assert executor._sent(call, place).result(LONG)["numbers"].sum() == 499500
                    first.terminate()
                    first.wait(LONG)
                assert len([one for one in theirs.iterdir() if one.is_dir()]) == 1
            assert list(theirs.iterdir()) == []
            assert list(own.iterdir()) == []


@pytest.mark.slow
def test_a_late_worker_on_another_machine_gets_what_all_others_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, theirs = tmp_path / "own", tmp_path / "theirs"
    (tmp_path / "hide.py").write_text(_HIDES.format(folder=str(own)))
    with Machines(tmp_path / "log", "tcp://127.0.0.1") as machines:
        machines.work()
        wait_for_worker(machines.address)
        with connect(machines.address, seconds=LONG) as executor:
            with share({"numbers": np.arange(1000)}, own, executor) as shared:
                assert executor.submit(shared.load).result(LONG)["numbers"].sum() == 499500
                assert not theirs.exists()
                monkeypatch.setenv(FOLDER_VARIABLE, str(theirs))
                machines.work("--preload", str(tmp_path / "hide.py"))
                _wait_for_workers(executor, 2)
                # Several calls fail for want of it before the first of them is made again.
                calls = [
                    executor._sent(cluster._Call(executor._expected, shared.load, ()), place)
                    for place in list(executor._client.nthreads())
                    for _ in range(3)
                ]
                assert [one.result(LONG)["numbers"].sum() for one in calls] == [499500] * 6
                assert len([one for one in theirs.iterdir() if one.is_dir()]) == 1
            assert list(theirs.iterdir()) == []
            assert list(own.iterdir()) == []
            # What nobody shares any more is missing.
            with pytest.raises(NotFoundError, match="shared values must be in a folder"):
                executor.submit(shared.load).result(LONG)


def _wait_for_workers(executor: cluster.Cluster, count: int) -> None:
    deadline = time.monotonic() + LONG
    while executor.workers < count and time.monotonic() < deadline:
        time.sleep(0.05)
    assert executor.workers >= count
