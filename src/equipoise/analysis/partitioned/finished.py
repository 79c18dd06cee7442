"""What is done already: a record beside the ratings of each pool says what they were made from.

The record is written last, after everything else. It has a hash of all that the ratings depend on,
and of every file written. Ratings are kept if all of these are as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from equipoise.data.files import whole_file
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError
from equipoise.messages.histories import RateSummary

#: Name of a record. Readers of partitioned data sets pass files by that begin with _.
RECORD = "_equipoise.json"

#: Written into every record; records of another form are not read.
_FORM = 1


class _Record(msgspec.Struct, frozen=True):
    """What was made, and from what.

    made_from : hash of the input, the parameters and the version
    outputs : name of the option -> hash of the file
    """

    form: int
    version: str
    made_from: str
    outputs: dict[str, str]
    summary: RateSummary


def content_hash(parts: Iterable[object]) -> str:
    """Return a hash of values whose `repr` says everything."""
    digest = hashlib.blake2b(digest_size=20)
    for one in parts:
        text = repr(one).encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(text))
        digest.update(text)
    return digest.hexdigest()


def file_hash(path: str | Path) -> str:
    """Return a hash of the content of a file. Raises : OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=20)).hexdigest()


def files_hash(paths: Sequence[str]) -> str:
    """Return a hash of the contents of files, whatever their names. Raises : OSError."""
    return content_hash(file_hash(one) for one in paths)


def history_hash(history: History) -> str:
    """Return a hash of all columns of a history."""
    return content_hash(
        part for one in fields(history) for part in (one.name, *_plain(getattr(history, one.name)))
    )


def _plain(value: Any) -> list[object]:
    """Return a column as values whose `repr` is complete."""
    if isinstance(value, Mapping):
        return [part for name in value for part in (name, *_plain(value[name]))]
    if not hasattr(value, "dtype"):
        return [value]
    if value.dtype == object:
        return [value.tolist()]
    return [str(value.dtype), hashlib.blake2b(value.tobytes(), digest_size=20).hexdigest()]


def kept(folder: Path, made_from: str, outputs: Mapping[str, Path]) -> RateSummary | None:
    """Return the summary of ratings that can be kept; None if they must be made.

    outputs : path by the name of the option
    """
    files = [folder / RECORD, *outputs.values()]
    try:
        if not all(path.is_file() for path in files):  # a pipe would be waited for
            return None
        record = msgspec.json.decode((folder / RECORD).read_bytes(), type=_Record)
        same = (
            record.form == _FORM
            and record.made_from == made_from
            and record.outputs == {name: file_hash(path) for name, path in outputs.items()}
        )
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None
    return record.summary if same else None


def record(
    folder: Path, version: str, made_from: str, hashes: Mapping[str, str], summary: RateSummary
) -> None:
    """Write down that ratings are finished.

    hashes : of the files that were written, by the name of the option
    """
    path = folder / RECORD
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise InvalidParameterError(f"{path} must be a file; it is something else")
    found = _Record(_FORM, version, made_from, dict(hashes), summary)
    with whole_file(path) as file:
        file.write(msgspec.json.encode(found))
