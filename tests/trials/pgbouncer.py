"""A PgBouncer in front of a PostgreSQL server, on this machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from trials.server import free_port
from trials.standby import _unprivileged

#: What is said where it is not installed.
ABSENT = "PgBouncer is not here: install the package pgbouncer of the system"
#: Seconds for it to start.
_PATIENCE = 60.0


def is_installed() -> bool:
    """Tell whether the program is here."""
    return shutil.which("pgbouncer") is not None


@contextmanager
def pgbouncer(
    server: int, mode: Literal["session", "transaction"], connections: int = 20
) -> Iterator[int]:
    """Give the port of a PgBouncer for the server on another port of this machine.

    connections : to the server, for each database
    """
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="eq-bouncer-") as folder:
        root = Path(folder)
        (root / "users.txt").write_text('"postgres" ""\n')
        (root / "pgbouncer.ini").write_text(
            f"""[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {root}/users.txt
logfile = {root}/pgbouncer.log
pool_mode = {mode}
default_pool_size = {connections}
max_client_conn = 200
server_login_retry = 1
"""
        )
        command = ["pgbouncer", "-q", str(root / "pgbouncer.ini")]
        if os.geteuid() == 0:  # it does not run as root
            user, group = _unprivileged()
            for path in (root, *root.iterdir()):
                shutil.chown(path, user, group)
            command = ["setpriv", "--reuid", user, "--regid", group, "--clear-groups", *command]
        process = subprocess.Popen(command)
        try:
            _wait(port, process)
            yield port
        finally:
            process.kill()
            process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until connections are accepted."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            if time.monotonic() > until or process.poll() is not None:
                raise RuntimeError("PgBouncer did not start") from None
            time.sleep(0.05)
        else:
            return
