"""The folder for temporary files of a rating in blocks, which may take many gigabytes.

It is removed when the work ends or is stopped. A process that is killed (SIGKILL, or a machine
without memory left) removes nothing. So every folder has a file that its process keeps locked, and
the next process removes the folders of this user whose file is locked by nobody.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

#: Beginning of the names of these folders.
PREFIX = "equipoise-blocks-"
#: The file that is locked while the folder is in use.
_LOCK = "in-use"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a new folder, which is removed afterwards; those of killed processes are removed first.

    It is in the folder for temporary files (`TMPDIR`).
    """
    parent = Path(tempfile.gettempdir())
    remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    lock = -1
    try:
        if sys.platform != "win32":
            # Locked before it has its name: nobody can find it without its lock.
            made = folder / "new"
            lock = os.open(made, os.O_CREAT | os.O_RDWR, 0o600)
            with suppress(OSError):  # some network file systems have no locks
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                made.rename(folder / _LOCK)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock >= 0:
            os.close(lock)


def remove_abandoned(parent: Path) -> list[Path]:
    """Remove the folders of processes that were killed, and return them."""
    removed: list[Path] = []
    if sys.platform == "win32":
        return removed
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder)
            finally:
                os.close(lock)
    return removed
