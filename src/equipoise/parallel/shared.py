"""Large values that several processes read: written once, mapped into the memory of each.

A value is pickled with its arrays apart (PEP 574). The arrays go to a file of a folder that is
named after a hash of the content. Every process maps this file, so that all of them together have
the arrays in memory once. Arrays that were read-only stay so, and a process that changes another
array changes only its own copy of a page: kernels are compiled by these flags, and find the same.
Arrays of objects, such as ids as text, stay in the pickle, and each process has its own.

Who deletes a folder: every process that shares it holds a lock, which ends with the process however
it ends. Who shares last deletes the folder. If that process was killed, the next process that
shares anything deletes all folders that nobody holds.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import pickle
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from equipoise.errors import EquipoiseError, NotFoundError

#: Environment variable with the folder in which values are shared, such as one of a file system
#: that several machines see.
FOLDER_VARIABLE = "EQUIPOISE_SHARED_FOLDER"

#: Bytes to which arrays are aligned: a line of the processor's cache.
_ALIGNED = 64
_VALUE, _ARRAYS, _LAYOUT = "value", "arrays", "layout"
_LOCK = ".lock"
#: Names of folders with values: a hash. The folder of all may be one that has other files as well.
_NAME = re.compile(r"[0-9a-f]{40}")


class NotSharedError(NotFoundError):
    """A machine does not see the folder of a shared value.

    folder : of the value
    """

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"shared values must be in a folder that every process sees; got {folder}, which is "
            f"not there ({FOLDER_VARIABLE} names another folder)"
        )
        self.folder = folder


@dataclass(frozen=True, slots=True)
class Shared:
    """A value in a folder, small enough to be passed to any process.

    folder : of the files, which exist as long as the block of `share`
    """

    folder: str

    def load(self) -> Any:
        """Return the value, whose arrays are those of the file.

        Raises : NotSharedError   this machine does not have the folder
            EquipoiseError   others could change it
        """
        folder = _COPIES.get(Path(self.folder).name, Path(self.folder))
        try:
            # On another machine, anybody may have made a folder of this name before.
            for one in (folder.parent, folder):
                if not _is_own(one):
                    raise _not_own(one)
            layout = pickle.loads((folder / _LAYOUT).read_bytes())
            content = (folder / _VALUE).read_bytes()
            buffers = _mapped(folder / _ARRAYS, layout)
        except FileNotFoundError:
            raise NotSharedError(self.folder) from None
        return pickle.loads(content, buffers=buffers)

    def is_visible(self) -> bool:
        """Return whether this process can read the files."""
        try:
            (Path(self.folder) / _LAYOUT).read_bytes()
        except OSError:
            return False
        return True

    def files(self) -> Files:
        """Return the content of the files, for a machine that does not see them."""
        folder = Path(self.folder)
        contents = {name: (folder / name).read_bytes() for name in (_VALUE, _LAYOUT, _ARRAYS)}
        return Files(folder.name, contents)


@dataclass(frozen=True, slots=True, repr=False)
class Files:
    """The files of a shared value, to be sent to another machine.

    name : of the folder, a hash of the content; contents : by name of the file
    """

    name: str
    contents: dict[str, bytes]

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Write the files to the folder of this machine: `load` finds them there in the block.

        Processes of a machine write the same folder, so they map the same file.
        Raises : EquipoiseError   nothing can be written there
        """
        root = _root(None)
        delete_unused(root)
        lock = _held(root / f"{self.name}{_LOCK}")
        try:
            if not (root / self.name).is_dir():
                _write_files(root, self.name, self.contents)
            _COPIES[self.name] = root / self.name
            yield
        finally:
            _COPIES.pop(self.name, None)
            _release(root, self.name, lock)


#: Folders of values that another machine sent to this process, by name.
_COPIES: dict[str, Path] = {}

#: Where an array is in the file, its bytes, and whether it was read-only.
_Place = tuple[int, int, bool]


def _mapped(path: Path, layout: list[_Place]) -> list[memoryview]:
    """Return the mapped arrays of a file; those that were writable are copied when changed."""
    if not any(size for _, size, _ in layout):
        return [memoryview(b"" if fixed else bytearray()) for _, _, fixed in layout]
    with path.open("rb") as file:
        fixed_view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        copied_view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return [
        (fixed_view if fixed else copied_view)[start : start + size]
        for start, size, fixed in layout
    ]


@contextmanager
def share(
    value: object,
    folder: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
) -> Iterator[Shared]:
    """Write a value for other processes, and yield where it is.

    folder : of all shared values; None for that of the environment, or one of this user among the
        temporary files
    executor : of the tasks that read the value. If it has a method `sent(shared)`, this sends the
        value to machines that do not see the folder, for as long as the block
    Raises : EquipoiseError   nothing can be written there, or others could change it
    """
    root = _root(folder)
    delete_unused(root)
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    layout = _layout(raw)
    name = _name(content, layout, raw)
    try:
        lock = _held(root / f"{name}{_LOCK}")
    except OSError as error:  # a full disk, or a file system without locks
        raise _unwritable(root, error) from None
    try:
        if not (root / name).is_dir():
            _write(root, name, content, layout, raw)
        shared = Shared(str(root / name))
        send = getattr(executor, "sent", None)
        with nullcontext() if send is None else send(shared):
            yield shared
    finally:
        _release(root, name, lock)


def _root(folder: str | os.PathLike[str] | None) -> Path:
    """Return the folder of all shared values, which only this user can change.

    Raises : EquipoiseError
    """
    given = folder or os.environ.get(FOLDER_VARIABLE)
    user = os.getuid() if hasattr(os, "getuid") else None
    if given:
        root = Path(given).resolve()
    else:
        root = Path(tempfile.gettempdir(), f"equipoise-shared-{'' if user is None else user}")
    try:
        root.mkdir(mode=0o700, parents=bool(given), exist_ok=True)
        own = _is_own(root)
    except OSError as error:
        raise _unwritable(root, error) from None
    if not own:
        raise _not_own(root)
    return root


def _is_own(folder: Path) -> bool:
    """Return whether a folder is this user's and nobody else can write there. Raises : OSError.

    Whoever could write there could make this process run anything.
    """
    if not hasattr(os, "getuid"):
        return True
    found = folder.lstat()
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not others


def _not_own(folder: Path) -> EquipoiseError:
    return EquipoiseError(
        f"the folder of shared values must belong to this user and be writable by nobody else; "
        f"got {folder} ({FOLDER_VARIABLE} names another folder)"
    )


def _unwritable(root: Path, error: OSError) -> EquipoiseError:
    return EquipoiseError(
        f"cannot share values in {root}: {error.strerror or error} ({FOLDER_VARIABLE} names "
        "another folder)"
    )


def _layout(raw: list[memoryview]) -> list[_Place]:
    """Return where arrays are in a file, each at the start of a line of the cache."""
    layout, start = [], 0
    for one in raw:
        layout.append((start, one.nbytes, one.readonly))
        start += -(-one.nbytes // _ALIGNED) * _ALIGNED
    return layout


def _name(content: bytes, layout: list[_Place], raw: list[memoryview]) -> str:
    digest = hashlib.blake2b(content, digest_size=20)
    digest.update(repr(layout).encode())
    for one in raw:
        digest.update(one)
    return digest.hexdigest()


def _write(
    root: Path, name: str, content: bytes, layout: list[_Place], raw: list[memoryview]
) -> None:
    """Write the files of a value into a folder that appears completely or not at all."""
    with _appearing(root, name) as beside:
        (beside / _VALUE).write_bytes(content)
        (beside / _LAYOUT).write_bytes(pickle.dumps(layout))
        with (beside / _ARRAYS).open("wb") as file:
            for (start, _, _), one in zip(layout, raw, strict=True):
                file.seek(start)
                file.write(one)


def _write_files(root: Path, name: str, contents: dict[str, bytes]) -> None:
    """Write files that were sent into a folder that appears completely or not at all."""
    with _appearing(root, name) as beside:
        for file, content in contents.items():
            (beside / file).write_bytes(content)


@contextmanager
def _appearing(root: Path, name: str) -> Iterator[Path]:
    """Yield a new folder, which gets its name when the block ends."""
    beside = root / f"{name}.{secrets.token_hex(4)}.tmp"
    try:
        beside.mkdir(mode=0o700)
        yield beside
        with suppress(OSError):  # another process was faster, with the same content
            beside.rename(root / name)
        if not (root / name).is_dir():
            raise OSError("the folder could not be renamed")
    except OSError as error:
        raise _unwritable(root, error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _held(path: Path) -> int | None:
    """Return the descriptor of a lock that this process shares; None where there are no locks."""
    if (fcntl := _fcntl()) is None:
        return None
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH)
        # Who deletes a folder deletes its lock as well, perhaps after this process has opened it.
        if _same_file(lock, path):
            return lock
        os.close(lock)


def _release(root: Path, name: str, lock: int | None) -> None:
    """Let a value go, and delete its folder if no other process shares it."""
    if lock is None:
        shutil.rmtree(root / name, ignore_errors=True)
        return
    try:
        _delete_if_unused(root, name, lock)
    finally:
        os.close(lock)


def delete_unused(root: Path) -> None:
    """Delete the folders of processes that were killed, and nothing else."""
    if _fcntl() is None:
        return
    for path in root.glob(f"*{_LOCK}"):
        name = path.name.removesuffix(_LOCK)
        if _NAME.fullmatch(name) is None or path.is_symlink():
            continue
        with suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDWR)
            try:
                _delete_if_unused(root, name, lock)
            finally:
                os.close(lock)


def _delete_if_unused(root: Path, name: str, lock: int) -> None:
    """Delete the folder of a value, what is half written, and the lock, unless it is held."""
    fcntl = _fcntl()
    path = root / f"{name}{_LOCK}"
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    if not _same_file(lock, path):
        return
    shutil.rmtree(root / name, ignore_errors=True)
    for half in root.glob(f"{name}.*.tmp"):
        shutil.rmtree(half, ignore_errors=True)
    with suppress(FileNotFoundError):
        path.unlink()


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _fcntl() -> Any:
    """Return the module of locks; None on systems without it, where nothing else is locked."""
    try:
        import fcntl
    except ImportError:
        return None
    return cast("Any", fcntl)
