"""The state of a pool with its ids, and its file.

`seeded_state` makes the state of players who begin with given ratings, and `known_state` that of
players with known ratings. `soft_reset` computes ratings from those at the end of a season.

The file is an .npz archive: a header in JSON and arrays. Version 2 added `digests`, version 3 the
parameters of `rating.newcomers`; versions 1 and 2 are still read. Additions need no new version:

- Numbers about the ratings of all players, such as sums over matches, go into `State.shared` under
  a new name. They are saved, loaded and copied with the rest, and are absent from older files.
- Values of the pool become fields of `PoolState` with a default. They are written to the header if
  they differ from the default, and read with `header.get(name, default)`.
- If a program that does not know a field would compute wrong results, the name of the field is also
  added to `requires` in the header and to `_KNOWN`. A reader refuses a name that it does not know.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.files import whole_file
from equipoise.data.history import TimeKind
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.data.times import MICROSECONDS_PER_DAY, day_in_words, utc
from equipoise.display import Displayed
from equipoise.errors import (
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
    require,
)
from equipoise.rating import match_digest
from equipoise.rating.calibration_curve import CALIBRATION, STORED
from equipoise.rating.contexts import SHARE
from equipoise.rating.federation_columns import KNOWN
from equipoise.rating.head_start import ADVANTAGE
from equipoise.rating.match_digest import NOT_KNOWN, Digests
from equipoise.rating.newcomers import (
    ENTRY,
    ENTRY_DEFAULTS,
    ENTRY_PARAMETERS,
    LEVEL,
    MU,
    SEEDED,
    TARGET,
    WEIGHT,
    EntryParameters,
)
from equipoise.rating.registry import (
    absent,
    check_name,
    is_later_default,
    make_system,
    parameters_of,
    requirement_of,
    without_removed,
)
from equipoise.rating.state import Runs, State
from equipoise.rating.state import draw_rate as draw_rate_of
from equipoise.rating.system import OF_ROUNDS, RatingSystem
from equipoise.wording import counted, did_you_mean

#: Version of the file, and the versions that are read. A state in which newcomers enter at the
#: initial rating, and no level is held, is written as version 2, which earlier programs read.
SCHEMA = 3
_WITHOUT_ENTRY = 2
_READ = (1, 2, 3)

#: Largest number of unknown players in an error; the others are only counted.
_NAMED = 20
#: Longest id in an error about a number.
_SHOWN = 100

#: Parameters that say where the ratings of a system are, and what a difference of them means.
_OF_SCALE = ("initial_rating", "initial_deviation", "beta", "scale")


def seeded_state(system: RatingSystem, rating: Floats, deviation: Floats) -> State:
    """Return the state of players with these ratings who have not played.

    Where newcomers do not enter at the initial rating, the state says that these are none, and the
    level to hold is their mean.

    deviation : positive; ignored by systems without a deviation of each player
    Raises : InvalidParameterError
    """
    if not np.isfinite(rating).all():
        raise InvalidParameterError("every rating must be a finite number")
    state = system.initial(len(rating))
    state.column("rating")[:] = rating
    if "deviation" in state.initial:
        if not (np.isfinite(deviation) & (deviation > 0)).all():
            raise InvalidParameterError("every deviation must be a positive number")
        state.column("deviation")[:] = deviation
    if "rated" in state.initial:
        state.column("rated")[:] = KNOWN
    if "gaussian_weight" in state.initial:
        _set_gaussian(state, rating, deviation)
    if SEEDED in state.initial:
        state.column(SEEDED)[:] = 1.0
        if len(rating):
            # The exact sum does not depend on the order of the players.
            state.shared[ENTRY][[LEVEL, TARGET]] = math.fsum(rating.tolist()) / len(rating)
    return state


def known_state(system: RatingSystem, known: InitialRatings | Ratings) -> State:
    """Return the state of players who begin with known ratings, in their order.

    A player without a known deviation has that of newcomers.
    Raises : InvalidParameterError
    """
    # A system without deviations ignores the number.
    usual = float(getattr(system, "initial_deviation", 1.0))
    deviation = np.where(np.isnan(known.deviation), usual, known.deviation)
    return seeded_state(system, known.rating, deviation)


def carry_entry(
    seeded: State, before: State, was: EntryParameters, *, centre: float = 0.0, keep: float = 1.0
) -> None:
    """Give the state of seeded players the numbers of the pool that they come from.

    Entry, level and target move as ratings do in a soft reset; what is known of newcomers is kept.
    What the pool before did not learn or hold stays as `seeded_state` made it.

    What a pool has learned of its home advantage, and of contexts, is kept as well.

    was : parameters of the pool before; centre, keep : as in `soft_reset`
    """
    for name in (ADVANTAGE, SHARE):
        if name in seeded.shared and name in before.shared:
            seeded.shared[name][:] = before.shared[name]
    if ENTRY not in seeded.shared or ENTRY not in before.shared:
        return
    old, new = before.shared[ENTRY], seeded.shared[ENTRY]
    moved = centre + keep * (old - centre) if keep != 1.0 else old
    if was.learns_entry:
        new[MU], new[WEIGHT] = moved[MU], old[WEIGHT]
    if was.holds_level:
        new[[LEVEL, TARGET]] = moved[[LEVEL, TARGET]]


def soft_reset(
    rating: Floats, deviation: Floats, *, centre: float, keep: float, widen: float, most: float
) -> tuple[Floats, Floats]:
    """Return ratings moved towards a centre, and larger deviations.

    keep : share of the distance to the centre that remains
    widen : added to a deviation as independent errors are added, sqrt(deviation^2 + widen^2)
    most : the largest deviation; players without one get it
    """
    moved = centre + keep * (rating - centre)
    grown = np.minimum(most, np.hypot(deviation, widen))
    return moved, np.where(np.isnan(grown), most, grown)


def _set_gaussian(state: State, rating: Floats, deviation: Floats) -> None:
    """Set the players' beliefs under Elo-MMR to one Gaussian, as before the first match."""
    weight = 1.0 / (deviation * deviation)
    state.column("gaussian_mean")[:] = rating
    state.column("gaussian_weight")[:] = weight
    state.column("curvature")[:] = weight


#: Names in `requires` that this reader knows.
_KNOWN: frozenset[str] = frozenset()


#: A whole number as text.
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")


@dataclass(slots=True, eq=False, kw_only=True, repr=False)
class PoolState(Displayed):
    """A system, the players of a pool and their state.

    system : the system with its parameters
    player_ids : shape (P,), int64 or object (str)
    state : of those players, in that order
    rated : shape (matches seen,), their ids, including matches that changed nothing
    last_time : time of the last of them, microseconds since 1970; None without times
    digests : shape (matches seen,), their digests; 0 for a match that is not compared
    comparable : False for a state from a file without digests, or with digests of other columns
    last_order : number of the last of them if times are an order without dates, else None
    player_order : shape (P,), number of each player's last match that counted, -1 without one; None
      without an order
    known_ratings : number of players who began with known ratings

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> pool = eq.replay(eq.Glicko2(), league).state
    >>> pool
    <PoolState: 6 players after 1,080 matches by glicko2, the last on 2025-07-24>
    >>> eq.PoolState.from_bytes(pool.to_bytes(), "pool").system == pool.system
    True
    """

    system: RatingSystem
    player_ids: Ids
    state: State
    rated: Ids
    last_time: int | None = None
    time_kind: TimeKind = "seconds"
    digests: Digests = field(default_factory=lambda: np.zeros(0, np.uint64))
    comparable: bool = True

    def __post_init__(self) -> None:
        """Give matches without digests the digest of matches that are not compared."""
        if not len(self.digests):
            self.digests = np.full(len(self.rated), NOT_KNOWN)

    last_order: int | None = None
    player_order: Ints | None = None
    known_ratings: int = 0

    @property
    def last_match(self) -> datetime | int | None:
        """The time of the last match in UTC, or its number in an order without dates.

        None without times.
        """
        if self.last_time is None:
            return self.last_order
        return utc(self.last_time / MICROSECONDS_PER_DAY)

    @property
    def draw_rate(self) -> float | None:
        """How likely equal teams draw, estimated from the draws of two teams in the pool.

        None with fewer than 50 matches of two teams.
        """
        return draw_rate_of(self.state)

    def _in_words(self) -> str:
        matches = counted(len(self.rated), "match", "matches")
        last = "" if self.last_time is None else f", the last on {day_in_words(self.last_time)}"
        players = counted(len(self.player_ids), "player")
        return f"{players} after {matches} by {self.system.name}{last}"

    @classmethod
    @checks_arguments()
    def new(cls, system: RatingSystem) -> PoolState:
        """Return the state of a pool without players."""
        empty = np.zeros(0, np.int64)
        return cls(system=system, player_ids=empty, state=system.initial(0), rated=empty)

    @checks_arguments()
    def rows(self, players: list[object]) -> Ints:
        """Return the rows of these players; ids may come as text. Raises : NotFoundError."""
        known = {str(player): row for row, player in enumerate(self.player_ids.tolist())}
        missing = [str(player) for player in players if str(player) not in known]
        if missing:
            raise NotFoundError(_unknown(missing, list(known)))
        return np.array([known[str(player)] for player in players], dtype=np.int64)

    def with_newcomers(self, players: Sequence[object]) -> tuple[State, Ids, Flags]:
        """Return (state of these players, their ids, whether each is known), all in their order.

        Ids may come as text. Unknown players have the state of players who have not played.
        """
        every = self.player_ids.tolist()
        row_of = {str(player): row for row, player in enumerate(every)}
        rows = np.array([row_of.get(str(player), -1) for player in players], dtype=np.int64)
        known = rows >= 0
        state = self.system.initial(len(players))
        state.put(np.flatnonzero(known), self.state.take(rows[known]))
        numbered = len(every) > 0 and self.player_ids.dtype != object
        ids = [
            every[row] if row >= 0 else _newcomer_id(player, numbered)
            for row, player in zip(rows.tolist(), players, strict=True)
        ]
        whole = numbered and all(isinstance(player, int) for player in ids)
        return state, np.array(ids, dtype=np.int64 if whole else object), known

    @checks_arguments()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to one .npz file, completely or not at all."""
        with whole_file(path) as file:
            self._write(file)

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        file = io.BytesIO()
        self._write(file)
        return file.getvalue()

    def _write(self, file: IO[bytes]) -> None:
        # NumPy's annotation of savez does not accept **parts.
        np.savez(file, **self._parts())  # type: ignore[arg-type]

    @classmethod
    @checks_arguments()
    def load(cls, path: str | os.PathLike[str]) -> PoolState:
        """Return a saved state.

        Raises : InvalidDataError, NotFoundError; PluginError if its system is of a package that is
            not installed
        """
        if not Path(path).is_file():
            raise NotFoundError(f"no saved state at {path}")
        with open(path, "rb") as opened:
            return cls._read(opened, path)

    @classmethod
    @checks_arguments()
    def from_bytes(cls, content: bytes, name: str) -> PoolState:
        """Return a state from what `to_bytes` returned; `name` is for errors.

        Parameters that were removed since are left out: unlike those of files, ratings in a
        database follow from a log, which is rated again.
        Raises : InvalidDataError
        """
        return cls._read(io.BytesIO(content), name, drops_removed=True)

    @classmethod
    def _read(
        cls, opened: IO[bytes], path: str | os.PathLike[str], *, drops_removed: bool = False
    ) -> PoolState:
        try:
            with np.load(opened, allow_pickle=False) as file:
                parts = {name: file[name] for name in file.files}
            header = json.loads(parts.pop("header").tobytes())
            if header["schema"] not in _READ:
                raise _unreadable(path, f"schema {header['schema']}")
            foreign = sorted(set(header.get("requires", ())) - _KNOWN)
            if foreign:
                raise _unreadable(path, f"one of a later version, with {', '.join(foreign)}")
            _check_system(path, header)
            if not isinstance(header["parameters"], dict):
                raise TypeError("parameters")
            if drops_removed:
                header["parameters"] = without_removed(header["system"], header["parameters"])
            return cls._from_parts(header, parts)
        except InvalidParameterError as error:
            rule = "must be parameters that the system has: rate the history again"
            raise InvalidDataError(
                [Problem(str(path), None, "parameters", rule, str(error))]
            ) from error
        except (TypeError, AttributeError, OverflowError) as error:
            # A value of the header that is text where a number belongs, and the like.
            raise _unreadable(path, "a header with values of other types") from error
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, InvalidDataError):
                raise
            raise _unreadable(path, _what_is_wrong(error)) from error

    def _parts(self) -> dict[str, Ids]:
        parameters = saved_parameters(self.system)
        header = {
            "schema": _WITHOUT_ENTRY if parameters.keys().isdisjoint(ENTRY_PARAMETERS) else SCHEMA,
            "system": self.system.name,
            "parameters": parameters,
            "last_time": self.last_time,
            "time_kind": self.time_kind,
            "digest": _digest_kind(self.system),
            "requires": [],
            "columns": list(self.state.initial),
            "shared": {name: values.tolist() for name, values in self.state.shared.items()},
        }
        if self.last_order is not None:
            header["last_order"] = self.last_order
        requirement = _requirement(self.system)
        if requirement:
            header["package"] = requirement
        if self.known_ratings:
            header["known_ratings"] = self.known_ratings
        parts: dict[str, Ids] = {
            "header": _bytes(header),
            "players": _ids_out(self.player_ids),
            "rated": _ids_out(self.rated),
            "digests": self.digests,
            "table": self.state.table,
        }
        if self.player_order is not None:
            parts["player_order"] = self.player_order
        runs = self.state.runs
        if runs is not None:
            packed = runs.take(np.arange(self.state.players))
            parts["run_spans"], parts["run_values"] = packed.spans, packed.values
        return parts

    @classmethod
    def _from_parts(cls, header: Mapping[str, Any], parts: Mapping[str, Ids]) -> PoolState:
        system = make_system(header["system"], header["parameters"])
        state = system.initial(0)
        learned = {
            name: what
            for name, what in ((ADVANTAGE, "home advantage"), (SHARE, "share of contexts"))
            if name in state.shared
        }
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
        if state.shared.get(CALIBRATION, np.zeros(STORED)).shape != (STORED,):
            raise ValueError("a curve of calibration with too few or too many numbers")
        # Kernels read both numbers without looking for them.
        for name, what in learned.items():
            if state.shared.get(name, np.zeros(0)).shape != (2,):
                raise ValueError(f"a {what} that is not its mean and variance")
        if state.runs is not None:
            values = np.ascontiguousarray(parts["run_values"], dtype=np.float64)
            spans = np.ascontiguousarray(parts["run_spans"], dtype=np.int64)
            state.runs = Runs(spans, values, state.runs.fields, used=len(values))
            if not state.runs.is_sound(len(players)):
                raise ValueError("remembered performances outside their memory")
        _check_numbers(state, players)
        rated = _ids_in(parts["rated"])
        comparable = header.get("digest") == _digest_kind(system)
        digests = parts["digests"] if comparable else np.full(len(rated), NOT_KNOWN)
        if digests.shape != rated.shape or digests.dtype != np.uint64:
            raise ValueError(f"digests of shape {digests.shape} for {len(rated)} matches")
        return cls(
            system=system,
            player_ids=players,
            state=state,
            rated=rated,
            last_time=header["last_time"],
            time_kind=header["time_kind"],
            digests=digests,
            comparable=comparable,
            last_order=header.get("last_order"),
            player_order=_player_order(parts, len(players)),
            known_ratings=int(header.get("known_ratings", 0)),
        )


def _check_system(path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
    """Check that the package is installed that the system of a saved state comes from.

    Raises : NotFoundError; PluginError, which names the package
    """
    try:
        check_name(header["system"])
    except NotFoundError:
        if not header.get("package"):
            raise
        raise absent(f"the saved state {path}", header["system"], header["package"]) from None


def saved_parameters(system: RatingSystem) -> dict[str, Any]:
    """Return the parameters of a system as files have them; `make_system` reads them."""
    return {
        name: str(value) if value == float("inf") else value
        for name, value in parameters_of(system).items()
        if (name not in ENTRY_PARAMETERS or value != ENTRY_DEFAULTS[name])
        and not is_later_default(system, name)
    }


def other_system(saved: RatingSystem, new: RatingSystem, what: str = "state") -> str:
    """Return a sentence on how a system differs from the one that made a state.

    what : the word for what that one made
    """
    if saved.name != new.name:
        return f"the system must be the same: the {what} is of {saved.name}, not {new.name}"
    before, now = parameters_of(saved), parameters_of(new)
    changed = [
        f"{name} was {before[name]}, not {now[name]}"
        for name in before
        if before[name] != now[name]
    ]
    return f"the parameters of {saved.name} must be the same: {', '.join(changed)}"


def check_ids(name: str, players: Iterable[object]) -> None:
    """Refuse values that cannot be ids of players, such as None. Raises : InvalidParameterError.

    name : of the argument
    """
    for player in players:
        fits = isinstance(player, str | int | np.integer) and not isinstance(player, bool)
        require(fits, name, "ids of players, which are strings or whole numbers", player)


def first_of(ids: Sequence[object], most: int) -> str:
    """Return the first of these ids as text, and how many more there are."""
    more = f" and {len(ids) - most:,} more" if len(ids) > most else ""
    return f"{', '.join(str(each) for each in ids[:most])}{more}"


def newcomers_note(newcomers: Sequence[object], known: Iterable[object], where: str) -> list[str]:
    """Return a note on players who count as newcomers, in a list; empty without newcomers.

    known : ids that are searched for likely misspellings
    where : text on the players among whom they were searched
    """
    if not newcomers:
        return []
    count = "a newcomer" if len(newcomers) == 1 else "newcomers"
    hint = did_you_mean(newcomers[:_NAMED], known)
    return [f"not {where}, so {count}: {first_of(newcomers, _NAMED)}{hint}"]


def _unknown(missing: list[str], known: list[str]) -> str:
    """Return a sentence on unknown players, with a hint where one is like a known one."""
    hint = did_you_mean(missing[:_NAMED], known)
    return f"not among the {counted(len(known), 'rated player')}: {first_of(missing, _NAMED)}{hint}"


def _player_order(parts: Mapping[str, Ids], players: int) -> Ints | None:
    """Return the number of each player's last match. Raises : ValueError for a damaged file."""
    if "player_order" not in parts:
        return None
    order: Ints = np.ascontiguousarray(parts["player_order"], dtype=np.int64)
    if order.shape != (players,):
        raise ValueError(f"an order of shape {order.shape} for {players} players")
    return order


def _check_numbers(state: State, players: Ids) -> None:
    """Refuse numbers that no system writes: the next match would spread them to opponents.

    A column may be without a number only if it is for newcomers, such as the time of the last
    match. Raises : ValueError
    """
    for column, (name, newcomer) in enumerate(state.initial.items()):
        values = state.table[:, column]
        strange = ~np.isfinite(values)
        if math.isnan(newcomer):
            strange &= ~np.isnan(values)
        for row in np.flatnonzero(strange)[:1].tolist():
            player = str(players[row])[:_SHOWN]
            raise ValueError(f"{name} {values[row]:g} of the player {player!r}")
    for name, numbers in state.shared.items():
        if not np.isfinite(numbers).all():
            raise ValueError(f"numbers of the pool that are not finite: {name[:_SHOWN]}")
    if state.runs is not None and not np.isfinite(state.runs.values).all():
        raise ValueError("a remembered performance that is not finite")


def _newcomer_id(player: object, numbered: bool) -> object:
    """Return the id of a newcomer; text becomes a whole number if the pool's ids are numbers."""
    text = str(player)
    if not numbered:
        return text
    return int(text) if _WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63 else text


def _bytes(value: object) -> Ids:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def _requirement(system: RatingSystem) -> str:
    """Return the package that a system comes from; empty if it is built in, or has no package."""
    try:
        return requirement_of(system.name)
    except EquipoiseError:  # made by hand, or by several packages
        return ""


def _digest_kind(system: RatingSystem) -> dict[str, object]:
    """Return the version and columns of the digests; only equal kinds can be compared."""
    # A match without a beta or gamma of its own has the digest that it had before there were any.
    columns = sorted(set(system.capabilities.uses) - set(OF_ROUNDS))
    return {"version": match_digest.VERSION, "columns": columns}


def _ids_out(ids: Ids) -> Ids:
    """Return ids as an array without Python objects: text as JSON in bytes."""
    return ids if ids.dtype != object else _bytes(ids.tolist())


def _ids_in(array: Ids) -> Ids:
    if array.dtype != np.uint8:
        return array
    return np.array(json.loads(array.tobytes()), dtype=object)


def _what_is_wrong(error: Exception) -> str:
    """Return why a file is not a saved state, without NumPy's messages on pickles."""
    ours = isinstance(error, ValueError | KeyError) and "pickle" not in str(error)
    return f"{type(error).__name__}: {error}" if ours else "another kind of file, or a damaged one"


def _unreadable(path: str | os.PathLike[str], got: str) -> InvalidDataError:
    rule = f"must be a state saved by equipoise (schema {' or '.join(map(str, _READ))})"
    return InvalidDataError([Problem(str(path), None, "", rule, got)])


def scale_difference(theirs: RatingSystem, here: RatingSystem) -> str | None:
    """Return how the scales of two systems differ, as a part of a sentence; None if they agree.

    theirs : whose ratings are to be used; here : the system that uses them
    """
    if theirs.name != here.name:
        return f"ratings of {theirs.name}, not of {here.name}"
    one, other = parameters_of(theirs), parameters_of(here)
    differing = [
        f"{name} {one[name]}, not {other[name]}"
        for name in _OF_SCALE
        if name in one and one[name] != other[name]
    ]
    if not differing:
        return None
    return f"ratings of {theirs.name} with {' and '.join(differing)}"
