"""Independent work on the workers of a Dask scheduler.

A scheduler and its workers execute what they are sent, so whoever reaches them owns them; and what
they answer is unpickled here. So the connection is TLS with certificates of both sides, unless
nothing leaves this machine. All machines must have the same code, on which the bits of a result
depend.
"""

from __future__ import annotations

import ipaddress
import os
import platform
import re
import socket
import ssl
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from equipoise.errors import (
    ConflictError,
    EquipoiseError,
    InvalidParameterError,
    UnavailableError,
    require,
)
from equipoise.parallel.processes import WorkerLostError
from equipoise.parallel.shared import NotSharedError, Shared
from equipoise.wording import counted, how_to_install

if TYPE_CHECKING:
    import distributed

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

#: Where a Dask scheduler listens by default.
_PORT = 8786
#: Seconds until a scheduler that does not answer is given up.
SECONDS = 15.0
#: Seconds for closing a connection; a lost scheduler never confirms it.
_CLOSING = 3.0
#: Packages whose version may change a result, or the form in which work travels.
_PACKAGES = ("equipoise", "distributed", "numba", "numpy")
#: Machines that are named in an error; the others are counted.
_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """Files with which this machine and a scheduler know each other, all in PEM.

    ca : certificate of the authority that signed those of all machines of the cluster. Whoever it
        has signed may send work, so it should sign for nothing else
    cert, key : certificate and key of this machine; without `key` it is in the file of `cert`
    None : what Dask's configuration says, `distributed.comm.tls`
    """

    ca: str | os.PathLike[str] | None = None
    cert: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None


@contextmanager
def connect(
    address: str,
    *,
    certificates: Certificates | None = None,
    insecure: bool = False,
    seconds: float = SECONDS,
) -> Iterator[Cluster]:
    """Connect to a Dask scheduler; its workers are an executor until the block ends.

    address : tls://HOST:PORT, or tcp://HOST:PORT if the host is this machine
    insecure : allow connections that anybody in the network can read and change
    seconds : to wait for the scheduler
    Raises : InvalidParameterError; UnavailableError if there is no scheduler or it has no workers;
        ConflictError if a machine of the cluster has other code
    """
    if find_spec("distributed") is None:
        raise InvalidParameterError(
            f"a cluster needs the library distributed: {how_to_install('cluster')}"
        )
    require(seconds > 0, "seconds", "positive", seconds)
    target = _target(address, insecure)
    client = _connected(target, _security(target, certificates or Certificates()), seconds)
    try:
        cluster = Cluster(client, target)
        if not insecure:
            _check_encrypted(client, target)
        _check_workers(client, target)
        _check_code(client)
        yield cluster
    finally:
        cluster_is_gone = client.status != "running"
        # That nobody confirms it in time must not hide the error that ended the block.
        with suppress(Exception):
            client.close(timeout=0.1 if cluster_is_gone else _CLOSING)


def silence() -> None:
    """Keep Dask from writing to standard error: what matters is raised. Before `connect` only."""
    if find_spec("dask") is None:
        return
    import dask.config

    names = ("distributed", "distributed.client", "tornado", "tornado.application")
    dask.config.set(logging=dict.fromkeys(names, "critical"))


class Cluster(Executor):
    """The workers of a Dask scheduler as an executor; made by `connect`.

    A worker that dies costs only what it was doing: the scheduler gives it to another.
    address : of the scheduler
    """

    def __init__(self, client: distributed.Client, address: str) -> None:
        self._client = client
        self.address = address
        self._expected = code_of_this_process()
        #: Shared values of open blocks, by folder.
        self._values: dict[str, _Value] = {}

    def submit(
        self, fn: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Future[_Result]:
        """Return the future result of a call on any worker.

        Raises from the future : what the call raises; UnavailableError if the scheduler is lost;
            WorkerLostError if every worker that began the call died
        """
        return self._sent(_Call(self._expected, fn, args, kwargs))

    def prepare(self, function: Callable[[], object]) -> None:
        """Call a function on one worker of each machine, and wait until all are done.

        Workers of a machine share its files, so kernels are compiled once.
        """
        machines: dict[str, str] = {}
        for worker, machine in self._of_workers(machine_of_this_process).items():
            machines.setdefault(machine, worker)
        call = _Call(self._expected, function, (), {})
        for future in [self._sent(call, worker) for worker in machines.values()]:
            future.result()

    @contextmanager
    def sent(self, shared: Shared) -> Iterator[None]:
        """Send a shared value once to every worker, unless all see its folder.

        A worker that comes later and does not see it gets the value with its first task.
        """
        value = self._values[shared.folder] = _Value(self._client, shared)
        try:
            if not all(self._of_workers(shared.is_visible).values()):
                with self._answering():
                    value.send()
            yield
        finally:
            del self._values[shared.folder]
            value.let_go()

    def is_here(self) -> bool:
        """Return whether all workers run on this machine and so see its files."""
        found = self._of_workers(machine_of_this_process)
        return set(found.values()) == {machine_of_this_process()}

    @property
    def workers(self) -> int:
        """How many calls the workers carry out at the same time."""
        with self._answering():
            return sum(self._client.nthreads().values())

    def _of_workers(self, function: Callable[[], _Result]) -> dict[str, _Result]:
        """Return what a function returns on each worker; one that ends just now is left out."""
        with self._answering():
            found: dict[str, _Result] = self._client.run(function, on_error="ignore")
            return found

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Raise UnavailableError in the block if the scheduler does not answer."""
        try:
            yield
        except EquipoiseError:
            raise
        except (OSError, RuntimeError, TimeoutError) as error:  # also those of Dask's connections
            raise self._lost() from error

    def _sent(self, call: _Call, worker: str | None = None) -> Future[Any]:
        """Return the future result of a call, on a certain worker or on any."""
        own: Future[Any] = Future()
        self._carry_out(call, worker, own)
        return own

    def _carry_out(
        self, call: _Call, worker: str | None, own: Future[Any], again: bool = False
    ) -> None:
        """Let a call be carried out for a future of the caller. Raises : UnavailableError.

        again : it failed before for want of a shared value, which all workers have now
        """
        # A key of its own: Dask would answer an equal call with an earlier result.
        key = f"equipoise-{uuid.uuid4().hex}"
        try:
            theirs = self._client.submit(call, key=key, pure=False, workers=worker)
        except Exception as error:
            raise self._lost() from error

        def cancel(future: Future[Any]) -> None:
            if future.cancelled() and not theirs.done():
                theirs.cancel()

        def settle(done: distributed.Future[Any]) -> None:
            value = None if again or own.cancelled() else self._missing(done)
            if value is None:
                self._settle(done, own)
                return
            # Dask calls this in a thread of its own, which may wait for the scheduler.
            try:
                value.send()
                self._carry_out(call, worker, own, again=True)
            except Exception as error:  # noqa: BLE001  # the caller gets it
                if own.set_running_or_notify_cancel():
                    own.set_exception(error)

        own.add_done_callback(cancel)
        theirs.add_done_callback(settle)

    def _missing(self, done: distributed.Future[Any]) -> _Value | None:
        """Return the shared value for want of which a call failed."""
        error = done.exception() if done.status == "error" else None
        return self._values.get(error.folder) if isinstance(error, NotSharedError) else None

    def _settle(self, theirs: distributed.Future[Any], own: Future[Any]) -> None:
        """Give the outcome of a call on the cluster to the future of the caller."""
        if not own.set_running_or_notify_cancel():
            return
        try:
            result = theirs.result()
        except BaseException as error:  # noqa: BLE001  # whatever it is, the caller gets it
            outcome = self._translated(theirs, error)
            theirs.release()
            own.set_exception(outcome)
        else:
            # A result that the cluster keeps would be made again when its worker dies.
            theirs.release()
            own.set_result(result)

    def _translated(self, theirs: distributed.Future[Any], error: BaseException) -> BaseException:
        """Return an error of Dask as one of ours; others as they are."""
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            # The scheduler has repeated the task already.
            losses, last = error.allowed_failures + 1, error.last_worker.address
            return WorkerLostError(f"the last was {last}; maybe there is too little memory", losses)
        if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("equipoise"):
            return ConflictError(
                "a worker that came later has no equipoise: install the version of this machine "
                f"there ({version('equipoise')})"
            )
        # A call that has a result, which could not be fetched, did not fail itself.
        unfetched = theirs.status != "error" and isinstance(error, OSError)
        if unfetched or theirs.status in ("cancelled", "lost"):
            lost = self._lost()
            lost.__cause__ = error
            return lost
        return error

    def _lost(self) -> UnavailableError:
        return UnavailableError(
            f"the connection to the scheduler at {self.address} was lost; when it is back, run the "
            "same again"
        )


class _Value:
    """A shared value, sent to the workers as soon as one of them does not see its folder."""

    def __init__(self, client: distributed.Client, shared: Shared) -> None:
        self._client = client
        self._shared = shared
        self._lock = threading.Lock()
        self._name = f"equipoise-{uuid.uuid4().hex}"
        self._is_sent = self._is_let_go = False

    def send(self) -> None:
        """Send the value to all workers, also later ones, unless this was done."""
        from equipoise.parallel.deliveries import Delivery

        with self._lock:
            if not self._is_sent and not self._is_let_go:
                self._client.register_plugin(Delivery(self._shared.files()), name=self._name)
                self._is_sent = True

    def let_go(self) -> None:
        """Let workers delete the value; it is not sent any more."""
        with self._lock:
            self._is_let_go = True
            if self._is_sent and self._client.status == "running":
                with suppress(Exception):  # workers that end let the value go themselves
                    self._client.unregister_worker_plugin(self._name)


@dataclass(frozen=True, slots=True, repr=False)
class _Call:
    """A call as it is sent: it refuses to run where the code differs.

    Workers come and go while work is done, and only the first are checked beforehand.
    """

    expected: Code
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: Mapping[str, Any] = field(default_factory=dict)
    folder: str = field(default_factory=os.getcwd)

    def __call__(self) -> Any:
        here = code_of_this_process()
        if here != self.expected:
            from distributed import get_worker

            raise ConflictError(_differs(f"worker {get_worker().address}", here, self.expected))
        if os.getcwd() != self.folder:
            # Relative paths mean the same as here, where the folder exists.
            with suppress(OSError):
                os.chdir(self.folder)
        return self.function(*self.arguments, **self.named)

    def __repr__(self) -> str:
        # Dask writes calls that fail into its log; arguments may be an address with a password.
        return f"<call of {getattr(self.function, '__qualname__', 'a function')}>"


@dataclass(frozen=True, slots=True)
class Code:
    """What a process runs.

    versions : of Python (without the patch level) and of packages that matter
    sources : hash of the files of equipoise: its version says nothing about a clone
    """

    versions: tuple[tuple[str, str], ...]
    sources: str


@lru_cache(maxsize=1)
def code_of_this_process() -> Code:
    """Return versions and sources of this process."""
    python = ".".join(platform.python_version_tuple()[:2])
    versions = [("Python", python), *((name, version(name)) for name in _PACKAGES)]
    return Code(tuple(versions), hash_of_sources())


@lru_cache(maxsize=1)
def hash_of_sources() -> str:
    """Return a hash of all source files of the package, 16 hex digits."""
    package = Path(__file__).parent.parent
    digest = sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def machine_of_this_process() -> str:
    """Return a name that processes share if they see the same files, also in containers."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    number = boot.read_text().strip() if boot.exists() else hex(uuid.getnode())
    return f"{platform.node()} {number}"


def _differs(who: str, there: Code, here: Code) -> str:
    """Return a sentence on how the code of a process differs from ours."""
    for (name, found), (_, wanted) in zip(there.versions, here.versions, strict=True):
        if found != wanted:
            return _other_version(who, name, found, wanted)
    return (
        f"{who} has other source files of equipoise {version('equipoise')} than this machine: "
        "install the same commit there, and restart the worker"
    )


def _other_version(who: str, name: str, found: str, wanted: str) -> str:
    return (
        f"{who} has {name} {found} and this machine has {wanted}: install the same version, and "
        "restart the worker"
    )


def _target(address: str, insecure: bool) -> str:
    """Return the address to connect to, checked.

    A name on loopback becomes its number: it may lead elsewhere when it is looked up again.
    Raises : InvalidParameterError, UnavailableError
    """
    if address.startswith("inproc://"):
        return address  # a scheduler within this process
    form = "tls://HOST:PORT, or tcp://127.0.0.1:PORT for a scheduler on this machine"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        parts, host, port = urlsplit(""), None, _PORT
    plain = re.fullmatch(r"(tls|tcp)://[^/?#@\s]+/?", address) is not None
    require(plain and host is not None, "the address of a cluster", form, address)
    assert host is not None
    numbers = _numbers_of(host, port)
    if parts.scheme == "tls" or insecure:
        return f"{parts.scheme}://{_in_brackets(host)}:{port}"
    if not all(ipaddress.ip_address(one).is_loopback for one in numbers):
        raise InvalidParameterError(
            f"the scheduler at {address} is not on this machine, and what it is sent it executes: "
            "a cluster beyond this machine must be tls:// with certificates of both sides "
            "(--cluster-ca, --cluster-cert, --cluster-key), unless --insecure-cluster is given"
        )
    return f"tcp://{_in_brackets(numbers[0])}:{port}"


def _numbers_of(host: str, port: int) -> list[str]:
    """Return the numeric addresses of a host. Raises : UnavailableError if it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnavailableError(f"no machine has the name {host!r}") from error
    # A scope, as in fe80::1%eth0, is no part of the number.
    return [str(one[4][0]).partition("%")[0] for one in found]


def _in_brackets(host: str) -> str:
    """Return a host as addresses have it."""
    return f"[{host}]" if ":" in host else host


def _security(target: str, given: Certificates) -> distributed.Security:
    """Return how to encrypt a connection. Raises : InvalidParameterError."""
    from distributed import Security

    if not target.startswith("tls://"):
        return Security(require_encryption=False)
    for name, path in (("ca", given.ca), ("cert", given.cert), ("key", given.key)):
        if path is not None and not Path(path).is_file():
            raise InvalidParameterError(f"--cluster-{name} must be a file; no file {str(path)!r}")
    named = {"tls_ca_file": given.ca, "tls_client_cert": given.cert, "tls_client_key": given.key}
    chosen = {name: os.fspath(path) for name, path in named.items() if path is not None}
    if "tls_client_cert" in chosen:
        # The key of Dask's configuration belongs to its certificate, not to this one.
        chosen.setdefault("tls_client_key", chosen["tls_client_cert"])
    security = Security(**chosen, require_encryption=True)
    if not security.tls_ca_file or not security.tls_client_cert:
        raise InvalidParameterError(
            f"the cluster at {target} needs certificates: give --cluster-ca, --cluster-cert and "
            "--cluster-key, or set distributed.comm.tls in Dask's configuration"
        )
    try:
        security.get_connection_args("client")
    except (OSError, ValueError) as error:  # SSLError is an OSError
        raise InvalidParameterError(
            f"the certificates for the cluster cannot be used ({_reason(error)}): the authority is "
            f"{security.tls_ca_file}, the certificate {security.tls_client_cert}, the key "
            f"{security.tls_client_key}"
        ) from error
    _check_accepted(security)
    return security


def _check_accepted(security: distributed.Security) -> None:
    """Refuse a certificate of this machine that its own authority does not vouch for now.

    A scheduler of the same authority would only close the connection. Here a handshake within this
    process says why. Raises : InvalidParameterError
    """
    asked = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(security.tls_ca_file))
    asked.verify_mode = ssl.CERT_REQUIRED
    asked.verify_flags &= ~ssl.VERIFY_X509_STRICT
    shows = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    shows.check_hostname = False
    shows.verify_mode = ssl.CERT_NONE  # what is tested is the certificate of the other side
    for context in (asked, shows):
        context.load_cert_chain(str(security.tls_client_cert), security.tls_client_key)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = shows.wrap_bio(to_client, to_server)
    server = asked.wrap_bio(to_server, to_client, server_side=True)
    try:
        for _ in range(4):  # messages go back and forth twice
            for side in (client, server):
                with suppress(ssl.SSLWantReadError):
                    side.do_handshake()
    except ssl.SSLCertVerificationError as error:
        raise InvalidParameterError(
            f"the certificate {security.tls_client_cert} is not accepted by the authority "
            f"{security.tls_ca_file}: {error.verify_message}"
        ) from error


def _connected(target: str, security: distributed.Security, seconds: float) -> distributed.Client:
    """Return a client of the scheduler. Raises : UnavailableError."""
    from distributed import Client

    try:
        return Client(target, security=security, timeout=seconds, set_as_default=False)
    except Exception as error:
        raise UnavailableError(_not_connected(target, error, seconds)) from error


def _not_connected(target: str, error: BaseException, seconds: float) -> str:
    """Return a sentence on why there is no connection."""
    causes: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in causes:
        causes.append(at)
        at = at.__cause__ or at.__context__
    text = " ".join(f"{type(one).__name__} {one}" for one in causes)
    if "CERTIFICATE_VERIFY_FAILED" in text or "SSLCertVerificationError" in text:
        found = re.search(r"certificate verify failed: ([^(\n]+?) *\(", text)
        return (
            f"the certificate of the scheduler at {target} is not accepted "
            f"({found[1] if found else 'certificate verify failed'}): is --cluster-ca the "
            "authority that signed it?"
        )
    refused = re.search(r"alert ([a-z ]+)|ALERT_([A-Z_]+)", text)
    if refused is not None:
        reason = (refused[1] or refused[2]).strip().lower().replace("_", " ")
        return (
            f"the scheduler at {target} does not accept the certificate of this machine ({reason})"
        )
    if "WRONG_VERSION_NUMBER" in text:
        return f"the scheduler at {target} does not speak TLS"
    if "Timed out" in text or "TimeoutError" in text:
        return f"no scheduler answers at {target} within {seconds:g} s"
    if target.startswith("tls://"):
        # Whether the reason arrives before the connection is closed is a matter of chance.
        return (
            f"the scheduler at {target} ended the connection: it does not accept the certificate "
            "of this machine, or does not speak TLS"
        )
    return (
        f"what answers at {target} is no Dask scheduler without TLS; the address of one with TLS "
        "begins with tls://"
    )


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    if isinstance(error, ssl.SSLError):
        return "not PEM, or without a key"
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)


def _check_encrypted(client: distributed.Client, target: str) -> None:
    """Refuse a cluster whose machines also talk without TLS beyond this one.

    A scheduler that is reached on loopback may listen on all addresses, as Dask's does by default.
    Raises : InvalidParameterError
    """
    info = client.scheduler_info(n_workers=-1)
    named = {"the scheduler": str(info["address"])}
    named.update({f"worker {one}": str(one) for one in info["workers"]})
    for who, address in named.items():
        if address.startswith(("tls://", "inproc://")):
            continue
        host = urlsplit(address).hostname or ""
        if not _is_loopback(host):
            raise InvalidParameterError(
                f"{who} of the cluster at {target} listens at {address} without TLS, and executes "
                "what anybody in its network sends: start it with --host 127.0.0.1 or with "
                "certificates, unless --insecure-cluster is given"
            )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_workers(client: distributed.Client, target: str) -> None:
    """Wait a moment for a worker. Raises : UnavailableError if there is none."""
    try:
        client.wait_for_workers(1, timeout=_CLOSING)
    except TimeoutError as error:
        raise UnavailableError(
            f"the scheduler at {target} has no workers: start some with `dask worker {target}`"
        ) from error


def _check_code(client: distributed.Client) -> None:
    """Refuse machines with other code than this one.

    First by functions of the standard library, which need nothing on the other side.
    Raises : ConflictError, which names them
    """
    here = code_of_this_process()
    wanted = dict(here.versions)
    faults: dict[str, str] = {}
    for name, expected in wanted.items():
        if name == "Python":
            found = _asked(client, platform.python_version)
            there = {who: ".".join(str(one).split(".")[:2]) for who, one in found.items()}
        else:
            there = _asked(client, version, name)
        for who, one in there.items():
            if isinstance(one, BaseException):
                faults.setdefault(who, f"{who} has no {name}: install {name} {expected} there")
            elif one != expected:
                faults.setdefault(who, _other_version(who, name, one, expected))
    if not faults:
        for who, one in _asked(client, hash_of_sources).items():
            if isinstance(one, BaseException):
                faults[who] = (
                    f"{who} cannot import equipoise ({one}): install {wanted['equipoise']}"
                )
            elif one != here.sources:
                faults[who] = _differs(who, Code(here.versions, one), here)
    if faults:
        shown = list(faults.values())[:_SHOWN]
        if len(faults) > _SHOWN:
            shown.append(f"and {counted(len(faults) - _SHOWN, 'more machine')}")
        raise ConflictError("; ".join(shown))


def _asked(client: distributed.Client, function: Callable[..., str], *given: str) -> dict[str, Any]:
    """Return what a function returns on the scheduler and on every worker, or the error."""
    found = client.run(function, *given, on_error="return")
    answers = {f"worker {who}": answer for who, answer in found.items()}
    try:
        # The scheduler unpickles the tasks, too, and so needs what they name.
        answers["the scheduler"] = client.run_on_scheduler(function, *given)
    except Exception as error:  # noqa: BLE001  # what it is depends on what is missing there
        answers["the scheduler"] = error
    return answers
