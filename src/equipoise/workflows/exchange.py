"""A pool as a file: its log, its ratings, what every match changed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Literal, TypeAlias, get_args

import polars as pl
from sqlalchemy import Connection

from equipoise.data.files import whole_file
from equipoise.errors import InvalidParameterError, require
from equipoise.store import log, replays
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, get_pool
from equipoise.workflows.amended_log import amendments_of
from equipoise.workflows.log_lines import entry_line, head_line
from equipoise.workflows.log_table import LogTable
from equipoise.workflows.logged_seeds import seed_of
from equipoise.workflows.pool_settings import settings_at_first
from equipoise.workflows.pool_tables import change_frames, rating_frames
from equipoise.workflows.pools import rules_of

#: What there is to export: all that was posted and amended; the rating table; every change.
What: TypeAlias = Literal["log", "ratings", "changes"]
Format: TypeAlias = Literal["csv", "parquet", "ndjson"]

#: Formats by the endings of names.
ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
}

_Progress: TypeAlias = Callable[[int, int], None]

#: Bytes that are given at a time, about.
_CHUNK = 2**18


def export_file(
    store: Store, pool: str, what: What, path: str, progress: _Progress | None = None
) -> None:
    """Write a pool's log, ratings or changes to a file, whole or not at all.

    The log as .ndjson loses nothing and can be imported; as .csv or .parquet it is a history of
    the matches as they count now, which `equipoise rate` reads.

    path : its ending says the format
    progress : called with (entries or players done, in all)
    Raises : NotFoundError, InvalidParameterError
    """
    format = format_of(path)
    with whole_file(path) as file:
        for chunk in export_bytes(store, pool, what, format, progress):
            file.write(chunk)


def export_bytes(
    store: Store, pool: str, what: What, format: Format, progress: _Progress | None = None
) -> Iterator[bytes]:
    """Return the bytes of what `export_file` writes, some at a time, all of one moment.

    Raises : NotFoundError, InvalidParameterError; at once, not when the first byte is asked for
    """
    require(what in get_args(What), "what", f"one of {', '.join(get_args(What))}", what)
    formats = get_args(Format)
    require(format in formats, "format", f"one of {', '.join(formats)}", format)
    with store.read() as connection:
        get_pool(connection, pool)
    return _in_chunks(_bytes(store, pool, what, format, progress or (lambda done, total: None)))


def format_of(path: str) -> Format:
    """Return the format that a name's ending tells. Raises : InvalidParameterError."""
    for ending, format in ENDINGS.items():
        if path.lower().endswith(ending):
            return format
    raise InvalidParameterError(
        f"the name of a file must end in {', '.join(ENDINGS)}; got {path!r}"
    )


def _bytes(
    store: Store, pool: str, what: What, format: Format, progress: _Progress
) -> Iterator[bytes]:
    with store.read() as connection:
        record = get_pool(connection, pool)
        if what == "log" and format == "ndjson":
            yield from _log_lines(connection, record, progress)
            return
        frames = _frames(connection, record, what, progress)
        if format == "parquet":
            yield from _parquet(frames)
        else:
            for number, frame in enumerate(frames):
                yield _text(frame, format, head=number == 0)


def _log_lines(connection: Connection, pool: PoolRecord, progress: _Progress) -> Iterator[bytes]:
    settings = settings_at_first(connection, pool)
    yield head_line(pool, settings, seed_of(connection, pool))
    for entry in log.whole_log(connection, pool.id):
        yield entry_line(entry)
        if entry.seq % 2_000 == 0:
            progress(entry.seq, pool.last_seq)


def _frames(
    connection: Connection, pool: PoolRecord, what: What, progress: _Progress
) -> Iterator[pl.DataFrame]:
    """Give the tables of an export; at least one, so that there are always columns."""
    rules, total = rules_of(pool.settings), pool.matches
    if what == "ratings":
        found, total = rating_frames(connection, pool, rules), pool.players
    elif what == "changes":
        # While a replay is waited for, what is stored is that of the last one.
        through = replays.last_through(connection, pool.id) if pool.dirty is not None else None
        amendments = amendments_of(connection, pool, through)
        found = change_frames(connection, pool, rules, amendments)
    else:
        table = LogTable(connection, pool, rules, amendments_of(connection, pool))
        yield pl.DataFrame(schema=table.schema)
        found = table.frames()
    done = 0
    for frame, count in found:
        yield frame
        done += count
        progress(done, total)


def _text(frame: pl.DataFrame, format: Format, head: bool) -> bytes:
    if format == "csv":
        return frame.write_csv(include_header=head).encode()
    return frame.write_ndjson().encode()


def _parquet(frames: Iterator[pl.DataFrame]) -> Iterator[bytes]:
    """Give one Parquet file, made of a file for every piece so that memory stays bounded."""
    with tempfile.TemporaryDirectory(prefix="equipoise-export-") as folder:
        parts = []
        for number, frame in enumerate(frames):
            parts.append(Path(folder) / f"{number}.parquet")
            frame.write_parquet(parts[-1], compression="zstd", compression_level=1)
        whole = Path(folder) / "whole.parquet"
        pl.scan_parquet(parts).sink_parquet(whole, compression="zstd", compression_level=1)
        with whole.open("rb") as file:
            yield from _chunks_of(file)


def _chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _in_chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Give small pieces together, so that each is worth sending."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)
