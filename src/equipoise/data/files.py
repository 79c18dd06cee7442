"""Output files that are written completely or not at all, and TOML files of users."""

from __future__ import annotations

import errno
import os
import re
import secrets
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from equipoise.errors import InvalidParameterError, require


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a path at which no file can be written. Raises : InvalidParameterError."""
    place = Path(path).resolve()
    if not place.parent.is_dir():
        raise InvalidParameterError(f"the directory of an output must exist; got {place.parent}")
    require(not place.is_dir(), "path", "the name of a file, not of a directory", str(place))
    if place.exists() and not place.is_file():
        return  # a pipe or a device is written to directly
    try:
        # Permissions, quotas and special folders show only in an attempt. On Linux the file has no
        # name, so that a process that is killed here leaves none.
        TemporaryFile(dir=place.parent).close()
    except OSError as error:
        raise InvalidParameterError(f"cannot write in {place.parent}: {error.strerror}") from None


#: Two of these may be the same file, because both are only read.
_READ = frozenset({"HISTORY", "--initial"})


def check_distinct(paths: Mapping[str, str | os.PathLike[str] | None]) -> None:
    """Refuse outputs that would overwrite an input or one another.

    paths : by the name of the option; None for those that are not given
    Raises : InvalidParameterError
    """
    taken: dict[Path, str] = {}
    for name, path in paths.items():
        if path is None:
            continue
        place = Path(path).resolve()
        if place in taken and {taken[place], name} <= _READ:
            continue
        if place in taken and (place.is_file() or not place.exists()):
            raise InvalidParameterError(f"{taken[place]} and {name} name the same file, {path}")
        taken[place] = name


@contextmanager
def replaced_files(paths: Mapping[str, Path]) -> Iterator[dict[str, str]]:
    """Yield a path to write to for each of several files; they are replaced if the block succeeds.

    All are beside the files, with their endings. Pipes and devices are written to directly.
    """
    drafts: dict[Path, Path] = {}
    paths_given: dict[str, str] = {}
    try:
        for name, path in paths.items():
            check_place(path)
            place = path.resolve()
            if not place.exists() or place.is_file():
                drafts[place] = place.with_name(f".{secrets.token_hex(4)}.{place.name}")
            paths_given[name] = str(drafts.get(place, place))
        yield paths_given
        for place, draft in drafts.items():
            if place.exists():
                draft.chmod(place.stat().st_mode & 0o777)
            draft.replace(place)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file next to `path`; it replaces `path` if the block succeeds.

    Raises : OSError with the name of the file if it becomes too large for the disk
    """
    try:
        with replaced_files({"": Path(path)}) as drafts, open(drafts[""], "wb") as file:
            yield file
            file.flush()
            if Path(drafts[""]).is_file():  # not a pipe or a device
                os.fsync(file.fileno())
    except BaseException as error:
        if (number := _full_disk(error)) is not None:
            raise OSError(number, os.strerror(number), str(Path(path).resolve())) from error
        raise


#: Errors of a file that is written: no space, a quota, the largest size of a file.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _full_disk(error: BaseException) -> int | None:
    """Return the number of an error that says that the disk is full, but not for which file.

    Errors of Polars have the number in their text, and for some formats a class of their own.
    """
    if isinstance(error, OSError) and (error.filename is not None or error.errno is not None):
        return error.errno if error.filename is None and error.errno in _FULL else None
    if not isinstance(error, OSError) and not type(error).__module__.startswith("polars"):
        return None
    error_match = re.search(r"\(os error (\d+)\)", str(error))
    number = None if error_match is None else int(error_match[1])
    return number if number in _FULL else None


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raises : OSError, ValueError   it is not TOML in UTF-8."""
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
