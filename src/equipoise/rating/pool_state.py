"""The state of a pool with its ids, and its file: what is needed to go on rating, bit for bit."""

from __future__ import annotations

import difflib
import io
import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from equipoise.arrays import Flags, Ids, Ints
from equipoise.data.files import whole_file
from equipoise.data.history import History, TimeKind
from equipoise.errors import ConflictError, InvalidDataError, NotFoundError, Problem
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.state import Runs, State
from equipoise.rating.system import RatingSystem

#: Version of the file; a reader refuses versions it does not know.
SCHEMA = 1

#: Unknown players named in an error; the rest is only counted.
_NAMED = 20


@dataclass(slots=True, eq=False, kw_only=True)
class PoolState:
    """A system, its players and what it knows of them.

    system : the system with its parameters
    player_ids : shape (P,), int64 or object (str)
    state : of those players, in that order
    rated : shape (matches seen,), their ids, those that changed nothing included
    last_time : microseconds since 1970 of the last of them, None without times
    """

    system: RatingSystem
    player_ids: Ids
    state: State
    rated: Ids
    last_time: int | None = None
    time_kind: TimeKind = "seconds"

    @classmethod
    def new(cls, system: RatingSystem) -> PoolState:
        """Return the state of a pool without players."""
        empty = np.zeros(0, np.int64)
        return cls(system=system, player_ids=empty, state=system.initial(0), rated=empty)

    def rows(self, players: list[object]) -> Ints:
        """Return the rows of these players; ids may come as text. Raises : NotFoundError."""
        known = {str(player): row for row, player in enumerate(self.player_ids.tolist())}
        missing = [str(player) for player in players if str(player) not in known]
        if missing:
            raise NotFoundError(_unknown(missing, list(known)))
        return np.array([known[str(player)] for player in players], dtype=np.int64)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to one .npz file, whole or not at all."""
        with whole_file(path) as file:
            self._write(file)

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        file = io.BytesIO()
        self._write(file)
        return file.getvalue()

    def _write(self, file: IO[bytes]) -> None:
        # NumPy types savez for arrays alone; **parts is just that.
        np.savez(file, **self._parts())  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PoolState:
        """Return a saved state. Raises : InvalidDataError, NotFoundError."""
        if not Path(path).is_file():
            raise NotFoundError(f"no saved state at {path}")
        with open(path, "rb") as opened:
            return cls._read(opened, path)

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> PoolState:
        """Return what `to_bytes` gave; `name` is for errors. Raises : InvalidDataError."""
        return cls._read(io.BytesIO(content), name)

    @classmethod
    def _read(cls, opened: IO[bytes], path: str | os.PathLike[str]) -> PoolState:
        try:
            with np.load(opened, allow_pickle=False) as file:
                parts = {name: file[name] for name in file.files}
            header = json.loads(parts.pop("header").tobytes())
            if header["schema"] != SCHEMA:
                raise _unreadable(path, f"schema {header['schema']}")
            return cls._from_parts(header, parts)
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, InvalidDataError):
                raise
            raise _unreadable(path, _what_is_wrong(error)) from error

    def _parts(self) -> dict[str, Ids]:
        header = {
            "schema": SCHEMA,
            "system": self.system.name,
            "parameters": {
                name: str(value) if value == float("inf") else value
                for name, value in parameters_of(self.system).items()
            },
            "last_time": self.last_time,
            "time_kind": self.time_kind,
            "columns": list(self.state.initial),
            "shared": {name: values.tolist() for name, values in self.state.shared.items()},
        }
        parts: dict[str, Ids] = {
            "header": _bytes(header),
            "players": _ids_out(self.player_ids),
            "rated": _ids_out(self.rated),
            "table": self.state.table,
        }
        runs = self.state.runs
        if runs is not None:
            packed = runs.take(np.arange(self.state.players))
            parts["run_spans"], parts["run_values"] = packed.spans, packed.values
        return parts

    @classmethod
    def _from_parts(cls, header: Mapping[str, Any], parts: Mapping[str, Ids]) -> PoolState:
        system = make_system(header["system"], header["parameters"])
        state = system.initial(0)
        if header["columns"] != list(state.initial):
            raise ValueError(f"columns {header['columns']}")
        players = _ids_in(parts["players"])
        state.table = np.ascontiguousarray(parts["table"], dtype=np.float64)
        if state.table.shape != (len(players), len(state.initial)):
            raise ValueError(f"a table of shape {state.table.shape} for {len(players)} players")
        state.shared = {
            name: np.array(values, dtype=np.float64)
            for name, values in header.get("shared", {}).items()
        }
        if state.runs is not None:
            values = np.ascontiguousarray(parts["run_values"], dtype=np.float64)
            spans = np.ascontiguousarray(parts["run_spans"], dtype=np.int64)
            state.runs = Runs(spans, values, state.runs.fields, used=len(values))
            if not state.runs.is_sound(len(players)):
                raise ValueError("remembered performances outside their memory")
        return cls(
            system=system,
            player_ids=players,
            state=state,
            rated=_ids_in(parts["rated"]),
            last_time=header["last_time"],
            time_kind=header["time_kind"],
        )


def did_you_mean(wanted: str, known: Iterable[object]) -> str:
    """Return a question after the ids most like this one, to end a sentence; empty for none."""
    by_lower = {str(one).casefold(): str(one) for one in known}
    near = difflib.get_close_matches(wanted.casefold(), by_lower, n=3)
    *others, last = [by_lower[one] for one in near] or [""]
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if last else ""


def _unknown(missing: list[str], known: list[str]) -> str:
    """Return a sentence on players that are not known; like ids are looked up for one alone."""
    named = ", ".join(missing[:_NAMED])
    more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
    hint = did_you_mean(missing[0], known) if len(missing) == 1 else ""
    return f"not among the {len(known)} rated players: {named}{more}{hint}"


def with_known_rows(history: History, known: Ids) -> tuple[History, Ids]:
    """Return the history with players numbered as in `known`, new ones after, and all ids.

    Raises : ConflictError where one has numbers for ids and the other text.
    """
    if not len(known):
        return history, history.player_ids
    if known.dtype != history.player_ids.dtype:
        raise ConflictError(
            "player ids of the saved state and of the history differ in kind: one has numbers, "
            f"the other text (for example {known[0]!r} and {history.player_ids[:1].tolist()})"
        )
    row_of = {player: row for row, player in enumerate(known.tolist())}
    new = [player for player in history.player_ids.tolist() if player not in row_of]
    row_of.update({player: len(known) + i for i, player in enumerate(new)})
    rows = np.array([row_of[player] for player in history.player_ids.tolist()], dtype=np.int64)
    ids = np.concatenate([known, np.array(new, dtype=known.dtype)])
    return history.with_players(ids, rows[history.player]), ids


def matches_to_rate(pool: PoolState, history: History) -> tuple[int, int]:
    """Return (start, skipped): the first match that the pool has not seen, and how many it has.

    Raises : ConflictError where a match that it has not seen lies before one that it has, or
    before the time up to which it was rated.
    """
    if not len(pool.rated):
        return 0, 0
    seen: Flags = np.isin(history.match_ids.astype(str), pool.rated.astype(str))
    skipped = int(seen.sum())
    unknown = ~seen
    unknown[skipped:] = False
    if history.time is not None and pool.last_time is not None:
        unknown |= ~seen & (history.time < pool.last_time)
    if unknown.any():
        first = history.match_ids[np.flatnonzero(unknown)[0]]
        raise ConflictError(
            f"{int(unknown.sum())} matches are older than what the saved state was rated up to "
            f"and not known to it, the first of them {first}: rate the whole history anew"
        )
    _check_same_players(pool, history, skipped)
    return skipped, skipped


def _check_same_players(pool: PoolState, history: History, known: int) -> None:
    """Refuse matches that have a rated one's id and unknown players: another history's.

    Raises : ConflictError
    """
    rows = np.unique(history.player[: history.offsets[known]])
    strange = rows[~np.isin(history.player_ids[rows].astype(str), pool.player_ids.astype(str))]
    if len(strange):
        first = int(np.flatnonzero(np.isin(history.player, strange))[0])
        match = history.match_ids[np.searchsorted(history.offsets, first, side="right") - 1]
        raise ConflictError(
            f"match {match} was rated before by its id, but without player "
            f"{history.player_ids[strange[0]]}: this is not the history of the saved state"
        )


def _bytes(value: object) -> Ids:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def _ids_out(ids: Ids) -> Ids:
    """Return ids as an array without Python objects: text as JSON in bytes."""
    return ids if ids.dtype != object else _bytes(ids.tolist())


def _ids_in(array: Ids) -> Ids:
    if array.dtype != np.uint8:
        return array
    return np.array(json.loads(array.tobytes()), dtype=object)


def _what_is_wrong(error: Exception) -> str:
    """Return in the user's words why a file is no saved state; NumPy speaks of pickles."""
    ours = isinstance(error, ValueError | KeyError) and "pickle" not in str(error)
    return f"{type(error).__name__}: {error}" if ours else "another kind of file, or a damaged one"


def _unreadable(path: str | os.PathLike[str], got: str) -> InvalidDataError:
    rule = f"must be a state saved by equipoise (schema {SCHEMA})"
    return InvalidDataError([Problem(str(path), None, "", rule, got)])
