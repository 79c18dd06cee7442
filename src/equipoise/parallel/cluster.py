"""Independent work on the workers of a Dask scheduler.

A scheduler and its workers execute what they are sent, so whoever reaches them owns them; and what
they answer is unpickled here. So a connection beyond this machine is TLS with certificates of both
sides, which Dask's configuration names. All machines must have the same code, on which the bits of
a result depend.
"""

from __future__ import annotations

import logging
import os
import pickle
import platform
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from hashlib import sha256
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

import dask.config
import distributed

from equipoise.errors import ConflictError, InvalidParameterError, UnavailableError, require
from equipoise.parallel.tasks import WorkerLostError

_Result = TypeVar("_Result")

#: Where a Dask scheduler listens by default.
_PORT = 8786
#: Seconds until a scheduler that does not answer is given up.
SECONDS = 15.0
#: Seconds to wait for a first worker, and for closing a connection.
_MOMENT = 3.0
#: Packages whose version may change a result, or the form in which work travels.
_PACKAGES = ("equipoise", "distributed", "numba", "numpy")
_ADDRESS = re.compile(r"(tls|tcp)://(\[[0-9a-fA-F:.]+\]|[^\[\]/?#@:\s]+)(?::(\d+))?/?")


@contextmanager
def connect(address: str, *, seconds: float = SECONDS) -> Iterator[Cluster]:
    """Connect to a Dask scheduler; its workers are an executor until the block ends.

    address : tls://HOST:PORT, or tcp://127.0.0.1:PORT if the scheduler is on this machine
    seconds : to wait for the scheduler
    Raises : InvalidParameterError; UnavailableError if there is no scheduler or it has no workers;
        ConflictError if a worker has other code
    """
    require(seconds > 0, "seconds", "positive", seconds)
    target = address if address.startswith("inproc://") else _target(address)
    security = distributed.Security(require_encryption=target.startswith("tls://"))
    if security.require_encryption and not (security.tls_ca_file and security.tls_client_cert):
        raise InvalidParameterError(
            f"the cluster at {target} needs certificates: set distributed.comm.tls in Dask's "
            "configuration, or DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ..._TLS__CLIENT__CERT and "
            "..._TLS__CLIENT__KEY"
        )
    try:
        client = distributed.Client(
            target, security=security, timeout=seconds, set_as_default=False
        )
    except Exception as error:
        raise UnavailableError(
            f"no connection to a scheduler at {target} within {seconds:g} s: {_reason(error)}"
        ) from error
    try:
        try:
            client.wait_for_workers(1, timeout=_MOMENT)
        except TimeoutError as error:
            raise UnavailableError(
                f"the scheduler at {target} has no workers: start some with `dask worker {target}`"
            ) from error
        _check_code(client, code_of_this_process())
        yield Cluster(client, target)
    finally:
        if client.status != "running":
            # Whoever lost the connection was told so by an error. Dask still tries to connect, and
            # would log with a traceback that closing ends that.
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        # That nobody confirms it in time must not hide the error that ended the block.
        with suppress(Exception):
            client.close(timeout=_MOMENT if client.status == "running" else 0.1)


class Cluster(Executor):
    """The workers of a Dask scheduler as an executor; made by `connect`.

    A worker that dies costs only what it was doing: the scheduler gives it to another.
    """

    def __init__(self, client: distributed.Client, address: str) -> None:
        self._client = client
        self._address = address
        self._expected = code_of_this_process()
        self._last_suspect: Future[Any] = Future()
        self._last_suspect.set_result(None)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return the future result of a call on any worker.

        Raises from the future : what the call raises; UnavailableError if the scheduler is lost;
            WorkerLostError if the call, alone, lost every worker that began it
        """
        return self._submitted(partial(fn, **kwargs) if kwargs else fn, args)

    def send(self, value: object) -> distributed.Future[Any]:
        """Send a value to the workers once, and return what stands for it in calls.

        Workers pass it on to those that come later. If all that have it die, the scheduler sends it
        again, which it would not do with a value that was scattered.
        """
        limit = {"distributed.admin.large-graph-warning-threshold": "1TB"}
        with self._answering(), dask.config.set(limit):
            return self._client.submit(pickle.loads, pickle.dumps(value, protocol=5), pure=False)

    def prepare(self, function: Callable[..., object], *args: object) -> None:
        """Call a function on one worker of each machine, and wait until all are done.

        Workers of a machine share its files, so kernels are compiled once.
        """
        machines = {info["host"]: address for address, info in self._workers().items()}
        for future in [self._submitted(function, args, machine) for machine in machines.values()]:
            future.result()

    def is_here(self) -> bool:
        """Return whether all workers run on this machine and so see its files."""
        return self._address.startswith("inproc:") or all(
            _is_loopback(info["host"]) for info in self._workers().values()
        )

    def _workers(self) -> dict[str, dict[str, Any]]:
        """Return what is known of each worker, by address."""
        with self._answering():
            return dict(self._client.scheduler_info(n_workers=-1)["workers"])

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Raise UnavailableError in the block if the scheduler does not answer."""
        if self._client.status != "running":
            raise self._lost()
        try:
            yield
        except Exception as error:
            raise self._lost() from error

    def _submitted(
        self, function: Callable[..., Any], args: tuple[Any, ...], worker: str | None = None
    ) -> Future[Any]:
        """Return the future result of a call, on a certain worker or on any."""
        own: Future[Any] = Future()
        call = (_checked, self._expected, os.getcwd(), function, *args)
        submit = partial(self._client.submit, *call, pure=False, workers=worker)
        with self._answering():
            # A call for a certain worker is not made again, because that worker is gone.
            self._follow(own, submit(), submit if worker is None else None)
        return own

    def _follow(
        self,
        own: Future[Any],
        theirs: distributed.Future[Any],
        again: Callable[[], distributed.Future[Any]] | None,
    ) -> None:
        """Settle a future by one of Dask, or by the call made `again` if its workers died.

        Not by one of `Client.get_executor`: if the scheduler ends after a call is done and before
        its result was fetched, that one never ends.
        """

        def cancel(future: Future[Any]) -> None:
            if future.cancelled() and not theirs.done() and self._client.status == "running":
                with suppress(Exception):  # the scheduler may be gone just now
                    theirs.cancel()

        def settle(_: object) -> None:
            try:
                result = theirs.result()
            except BaseException as error:  # noqa: BLE001  # whatever it is, the caller gets it
                blamed = isinstance(error, distributed.KilledWorker)
                if blamed and again is not None and not own.cancelled():
                    self._suspect(own, again)
                    return
                end = partial(own.set_exception, self._translated(theirs, error))
            else:
                end = partial(own.set_result, result)
            if own.set_running_or_notify_cancel():
                end()
            # A result that the cluster keeps would be made again when its worker dies.
            theirs.release()

        own.add_done_callback(cancel)
        theirs.add_done_callback(settle)

    def _suspect(self, own: Future[Any], again: Callable[[], distributed.Future[Any]]) -> None:
        """Make a call again, after all others whose workers died are settled.

        Dask blames a lost worker on every call that waited there. The guilty one kills its workers
        also when it comes alone.
        """

        def submit(_: object) -> None:
            if own.cancelled():
                own.set_running_or_notify_cancel()
                return
            try:
                with self._answering():
                    self._follow(own, again(), None)
            except UnavailableError as error:
                if own.set_running_or_notify_cancel():
                    own.set_exception(error)

        before, self._last_suspect = self._last_suspect, own
        before.add_done_callback(submit)

    def _translated(self, theirs: distributed.Future[Any], error: BaseException) -> BaseException:
        """Return an error of Dask as one of ours; others as they are."""
        if isinstance(error, distributed.KilledWorker):
            # The scheduler has repeated the task already.
            losses, last = error.allowed_failures + 1, error.last_worker.address
            return WorkerLostError(
                f"lost its worker {losses} times: the last was {last}; maybe there was too little "
                "memory"
            )
        if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("equipoise"):
            return ConflictError(
                "a worker that came later has no equipoise: install the version of this machine "
                f"there ({version('equipoise')})"
            )
        if theirs.status != "error":
            # It did not fail itself: it was lost, or its result could not be fetched.
            lost = self._lost()
            lost.__cause__ = error
            return lost
        return error

    def _lost(self) -> UnavailableError:
        return UnavailableError(
            f"the connection to the scheduler at {self._address} was lost; when it is back, run "
            "the same again"
        )


def _checked(
    expected: dict[str, str], folder: str, function: Callable[..., _Result], *args: Any
) -> _Result:
    """Carry out a call on a worker, which may have come later than the others were checked."""
    if code_of_this_process() != expected:
        worker = distributed.get_worker().address
        raise ConflictError(_difference(worker, code_of_this_process(), expected))
    if os.getcwd() != folder:
        # Relative paths mean the same as in the main process, where the folder exists.
        with suppress(OSError):
            os.chdir(folder)
    return function(*args)


@lru_cache(maxsize=1)
def code_of_this_process() -> dict[str, str]:
    """Return what this process runs, by name: versions, and a hash of all sources of the package.

    The version of the package says nothing about a clone, and patch levels of Python change
    nothing.
    """
    package = Path(__file__).parent.parent
    digest = sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(sha256(path.read_bytes()).digest())
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in _PACKAGES},
        "sources of equipoise": digest.hexdigest()[:16],
    }


def _check_code(client: distributed.Client, expected: dict[str, str]) -> None:
    """Refuse workers with other code than this process. Raises : ConflictError."""
    faults = []
    for worker, code in client.run(code_of_this_process, on_error="return").items():
        if isinstance(code, BaseException):
            faults.append(f"worker {worker} cannot import equipoise {version('equipoise')}: {code}")
        elif code != expected:
            faults.append(_difference(worker, code, expected))
    if faults:
        more = f"; and {len(faults) - 1:,} more" if len(faults) > 1 else ""
        raise ConflictError(faults[0] + more)


def _difference(worker: str, code: dict[str, str], expected: dict[str, str]) -> str:
    """Return a sentence on the first difference between a worker and this machine."""
    name = next(name for name in expected if code.get(name) != expected[name])
    return (
        f"worker {worker} has {name} {code.get(name)} and this machine has {expected[name]}: "
        "install the same version there, and restart the worker"
    )


def _target(address: str) -> str:
    """Return the address to connect to, checked. Raises : InvalidParameterError."""
    parts = _ADDRESS.fullmatch(address)
    if parts is None or int(parts[3] or _PORT) > 65535:
        raise InvalidParameterError(
            "the address of a cluster must be tls://HOST:PORT, or tcp://127.0.0.1:PORT for a "
            f"scheduler on this machine; got {address!r}"
        )
    scheme, host, port = parts.groups()
    allowed = dask.config.get("distributed.comm.require-encryption") is False
    if scheme == "tcp" and not allowed and not _is_loopback(host.strip("[]")):
        raise InvalidParameterError(
            f"the scheduler at {address} is not on this machine, and it executes what it is sent: "
            "a cluster beyond this machine must be tls:// with certificates of both sides, unless "
            "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=False allows everybody in the network to "
            "run programs on its machines, and on this one"
        )
    return f"{scheme}://{host}:{port or _PORT}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(error: BaseException) -> str:
    """Return what the first of a chain of errors says."""
    while (earlier := error.__cause__ or error.__context__) is not None:
        error = earlier
    return str(error) or type(error).__name__
