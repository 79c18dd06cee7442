"""A player's rating as a value, which carries all that a system knows of the player.

A `Rating` is made by `System.rating` and `System.rate`. It has the numbers of the player's row in a
`State` and the remembered performances, and shows them as a table of ratings does: a rating period
in progress is closed, for example.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np

from equipoise.arguments import checked_number, is_number
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.data.ratings import CONSERVATIVE
from equipoise.data.times import microseconds_of_date
from equipoise.display import table_html
from equipoise.errors import EquipoiseError, InvalidDataError, InvalidParameterError, require
from equipoise.rating.newcomers import SEEDED
from equipoise.rating.one_match import PlayerNumbers, numbers_of, state_of
from equipoise.rating.pool_state import seeded_state
from equipoise.rating.system import Capabilities

if TYPE_CHECKING:
    from equipoise.rating.base_system import System


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SystemFacts(NamedTuple):
    """What calls need to know of a system again and again; equal systems share one object.

    columns : of the state, in order
    matches, last_time : their numbers among the columns
    plain_rating, plain_deviation : whether the column is what a table of ratings shows
    pooled : whether the system learns over the matches of a pool
    """

    system: System
    able: Capabilities
    columns: tuple[str, ...]
    matches: int
    last_time: int
    plain_rating: bool
    plain_deviation: bool
    pooled: bool


@lru_cache(maxsize=1024)
def facts_of(system: System) -> SystemFacts:
    """Return the facts of a system, and of every system that equals it."""
    columns = tuple(system.newcomer())
    if system.changes_entry:
        columns = (*columns, SEEDED)
    plain = system.shows_columns
    return SystemFacts(
        system=system,
        able=system.capabilities,
        columns=columns,
        matches=columns.index("matches"),
        last_time=columns.index("last_time"),
        plain_rating=plain and not system.learns_entry,
        plain_deviation=plain and "deviation" in columns,
        pooled=bool(system.learned_in_pool),
    )


class Rating:
    """A player's rating in one system, which never changes: rating a match makes new ones.

    It carries the player's whole state: the volatility, the rating period in progress, form and
    remembered performances, as far as the system has them. Ratings are equal if all of that and the
    parameters of the system are equal. They can be pickled, copied, and used as keys.

    Examples
    --------
    >>> import equipoise as eq
    >>> system = eq.Glicko2()
    >>> ada = system.rating(1500, 80)
    >>> ada.rating, ada.deviation, ada.conservative, ada.matches
    (1500.0, 80.0, 1260.0, 0)
    >>> ada == system.rating(1500, 80), ada == system.rating()
    (True, False)
    >>> eq.Rating.from_json(ada.to_json()) == ada
    True
    """

    __slots__ = ("_facts", "_numbers", "_shown")

    _facts: SystemFacts
    _numbers: PlayerNumbers
    _shown: Mapping[str, float]

    def __init__(self) -> None:
        raise InvalidParameterError(
            "a Rating is made by a system: write equipoise.Glicko2().rating(), or "
            "Rating.from_json(...)"
        )

    @property
    def system(self) -> System:
        """The system with its parameters."""
        return self._facts.system

    @property
    def rating(self) -> float:
        """The estimate of how strong the player is, rating points."""
        if self._facts.plain_rating:
            return self._numbers[0][0]
        return self._read()["rating"]

    @property
    def deviation(self) -> float:
        """How uncertain the rating is, rating points; NaN in systems without deviations."""
        if self._facts.plain_deviation:
            return self._numbers[0][1]
        return self._read()["deviation"]

    @property
    def conservative(self) -> float:
        """The rating less three deviations: a leaderboard by it does not favour newcomers.

        Raises : AttributeError for a system without deviations
        """
        deviation = self.deviation
        if math.isnan(deviation):
            raise AttributeError(
                f"{self.system.name} has no deviations, so there is no conservative rating: use "
                "rating"
            )
        return self.rating - CONSERVATIVE * deviation

    @property
    def matches(self) -> int:
        """The number of rated matches."""
        return int(self._numbers[0][self._facts.matches])

    @property
    def last_time(self) -> datetime | None:
        """The time of the last rated match; None if it had none."""
        day = self._numbers[0][self._facts.last_time]
        return None if math.isnan(day) else time_of(day)

    @property
    def volatility(self) -> float:
        """How much the rating is expected to vary, internal scale (glicko2, team-glicko2)."""
        return self._column("volatility")

    @property
    def form(self) -> float:
        """How the player has lately done within the team (team-glicko2)."""
        return self._column("form")

    @property
    def effective_rating(self) -> float:
        """The rating adjusted by form, by which teams are made (team-glicko2)."""
        return self._column("effective_rating")

    @property
    def columns(self) -> Mapping[str, Any]:
        """All that a table of ratings shows of the player, by name.

        `matches` is a whole number, and `last_time` a time in UTC or None, as the properties are.
        """
        return MappingProxyType(self._in_kind(self._read()))

    def at(self, time: date | float | None) -> dict[str, Any]:
        """Return `columns` as of a time: in some systems deviations grow while a player is away.

        time : a date-time, a date, or a number of days since 1970, as for `System.rate`; None: of
            the last match
        Raises : InvalidParameterError, also for a time before the last match

        Examples
        --------
        >>> import equipoise as eq
        >>> system = eq.Glicko2(period_days=7)
        >>> ada, bo = system.rate([system.rating(1500, 60), system.rating()], time=20_000)
        >>> round(ada.deviation, 1), round(ada.at(20_365)["deviation"], 1)
        (60.5, 95.9)
        """
        if time is None:
            return self._in_kind(self._read())
        day = microseconds_of(time) / MICROSECONDS_PER_DAY
        last = self._numbers[0][self._facts.last_time]
        if last > day:
            raise too_early(last, day)
        return self._in_kind(self._shown_at(day))

    def _read(self) -> Mapping[str, float]:
        """Return what a table of ratings shows, as numbers, as of the last match."""
        try:
            return self._shown
        except AttributeError:
            shown = MappingProxyType(self._shown_at(None))
            _set_shown(self, shown)
            return shown

    def _shown_at(self, day: float | None) -> dict[str, float]:
        """Return what a table of ratings shows, as numbers; `last_time` in days since 1970."""
        state = state_of(self.system, [self._numbers])
        read = self.system.at(state, np.zeros(1, np.int64), day)
        return {name: float(column[0]) for name, column in read.items()}

    def _in_kind(self, shown: Mapping[str, float]) -> dict[str, Any]:
        """Return numbers of a table with `matches` and `last_time` as the properties have them."""
        columns: dict[str, Any] = dict(shown)
        if "matches" in columns:
            columns["matches"] = self.matches
        if "last_time" in columns:
            columns["last_time"] = self.last_time
        return columns

    def _column(self, name: str) -> float:
        """Return a column that not every system has. Raises : AttributeError."""
        shown = self._read()
        if name not in shown:
            raise AttributeError(f"{self.system.name} has no {name}; it has {', '.join(shown)}")
        return shown[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the system and the state as lists, text and numbers; unknown numbers are None."""
        from equipoise.rating.pool_state import saved_parameters

        row, records = self._numbers
        state = {
            name: None if math.isnan(value) else value
            for name, value in zip(self._facts.columns, np.array(row).tolist(), strict=True)
        }
        fields = _record_of(self.system)
        numbers = {
            "system": self.system.name,
            "parameters": saved_parameters(self.system),
            "state": state,
        }
        if not fields:
            return numbers
        length = len(records) // fields
        remembered = [list(records[k * length : (k + 1) * length]) for k in range(fields)]
        return {**numbers, "remembered": remembered}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return the rating that `to_dict` described, with the same bits.

        Raises : InvalidDataError
        """
        from equipoise.rating.registry import make_system

        try:
            system = make_system(saved["system"], saved["parameters"])
            facts, state = facts_of(system), saved["state"]
            missing = [name for name in facts.columns if name not in state]
            if missing:
                raise ValueError(f"a state without {', '.join(missing)}")
            if list(state) != list(facts.columns):
                raise ValueError(f"a state of {', '.join(state)}")
            row = tuple(
                math.nan if number is None else _number(number) for number in state.values()
            )
            _check_state(facts, row)
            fields = [tuple(map(_number, record)) for record in saved.get("remembered", [])]
            if len(fields) != _record_of(system) or len({len(record) for record in fields}) > 1:
                raise ValueError("remembered performances of another kind")
            if not all(math.isfinite(number) for field in fields for number in field):
                raise ValueError("remembered performances that are not finite")
        except (KeyError, TypeError, ValueError, AttributeError, EquipoiseError) as error:
            got = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InvalidDataError(
                [], f"this is not a rating that to_dict or to_json wrote: got {got}"
            ) from error
        return cls._of(facts, (row, tuple(number for field in fields for number in field)))

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the rating that `to_json` wrote, with the same bits.

        Raises : InvalidDataError
        """
        if isinstance(text, Mapping):
            raise InvalidDataError(
                [], "a rating must be JSON of to_json, which is text; got a dict: use from_dict"
            )
        try:
            saved = json.loads(text)
        except (TypeError, ValueError) as error:
            raise InvalidDataError(
                [], f"a rating must be JSON that Rating.to_json wrote: {error}"
            ) from error
        return cls.from_dict(saved)

    @classmethod
    def _of(cls, facts: SystemFacts, numbers: PlayerNumbers) -> Self:
        """Return a rating of these numbers."""
        rating = _new(cls)
        _set_facts(rating, facts)
        _set_numbers(rating, numbers)
        return rating

    @classmethod
    def _each(cls, facts: SystemFacts, players: Sequence[PlayerNumbers]) -> list[Self]:
        """Return the ratings of several players; calls of `_of` would take twice as long."""
        new, set_facts, set_numbers = _new, _set_facts, _set_numbers
        ratings = []
        for numbers in players:
            rating = new(cls)
            set_facts(rating, facts)
            set_numbers(rating, numbers)
            ratings.append(rating)
        return ratings

    def _bits(self) -> bytes:
        """Return the state as bytes, which tell every two states apart."""
        row, records = self._numbers
        return struct.pack(f"{len(row) + len(records)}d", *row, *records)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rating):
            return NotImplemented
        if self._facts is not other._facts and self.system != other.system:
            return False
        return self._numbers == other._numbers or self._bits() == other._bits()

    def __hash__(self) -> int:
        # Equal numbers may have different bits: 0 and -0.
        return hash((self.system.name, *self._numbers[0][:2]))

    def __repr__(self) -> str:
        known = "" if math.isnan(self.deviation) else f", deviation {self.deviation:.1f}"
        return f"<Rating {self.rating:.1f}{known}, {self.system.name}>"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        columns = {name: [value] for name, value in self.columns.items()}
        return table_html(f"Rating by {self.system.name}", columns)

    def __format__(self, spec: str) -> str:
        """Return the rating in this format, `f"{ada:.0f}"`; without one, what `str` says."""
        return format(self.rating, spec) if spec else str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.system, self._numbers)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Rating never changes, so {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Rating never changes, so {name} cannot be deleted")

    if not TYPE_CHECKING:
        # Type checkers should refuse names that are not there, so they do not see this.
        def __getattr__(self, name: str) -> Any:
            if name in _ELSEWHERE:
                raise AttributeError(f"a Rating has no {name}; use {_ELSEWHERE[name]}")
            own = getattr(type(self), name, None)
            if isinstance(own, property):
                return own.fget(self)  # says once more why this system does not have it
            raise AttributeError(f"a Rating has no {name}")

        # Type checkers should refuse a < b, so they do not see this.
        def __lt__(self, other: object) -> bool:
            raise TypeError(
                "ratings have no order of their own: compare their rating, or conservative, which "
                "is the rating less three deviations"
            )

        __le__ = __gt__ = __ge__ = __lt__


#: What other libraries call it -> what it is here.
_ELSEWHERE = {
    "mu": "rating",
    "sigma": "deviation",
    "rd": "deviation",
    "phi": "deviation",
    "sd": "deviation",
    "elo": "rating",
    "vol": "volatility",
    "ordinal": "conservative, which has no brackets",
    "expose": "conservative, which has no brackets",
    "conservative_rating": "conservative",
}

_new = object.__new__
#: These set what `__setattr__` refuses to set.
_set_facts = Rating.__dict__["_facts"].__set__
_set_numbers = Rating.__dict__["_numbers"].__set__
_set_shown = Rating.__dict__["_shown"].__set__


def _restored(system: System, numbers: PlayerNumbers) -> Rating:
    """Return an unpickled rating."""
    return Rating._of(facts_of(system), numbers)


def _number(value: object) -> float:
    """Return a number of a saved rating. Raises : ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} as a number")
    return float(value)


#: Columns of a state that are above 0, and columns that count or weigh, so are at least 0.
_POSITIVE = frozenset({"deviation", "volatility", "curvature"})
_NOT_NEGATIVE = frozenset({"matches", "form_matches", "information", "gaussian_weight", "decay"})


def _check_state(facts: SystemFacts, row: Sequence[float]) -> None:
    """Refuse a state in which no player can be. Raises : ValueError."""
    # Only what a newcomer lacks may be missing: the last time, for example.
    usual = (*facts.system.newcomer().values(), 0.0)
    for name, value, of_newcomer in zip(facts.columns, row, usual, strict=False):
        if math.isnan(value) and math.isnan(of_newcomer):
            continue
        if not math.isfinite(value):
            raise ValueError(f"{name} {value}, which must be a finite number")
        if name in _POSITIVE and value <= 0:
            raise ValueError(f"{name} {value:g}, which must be above 0")
        if name in _NOT_NEGATIVE and value < 0:
            raise ValueError(f"{name} {value:g}, which must be at least 0")
        if name == "matches" and value != int(value):
            raise ValueError(f"{name} {value:g}, which must be a whole number")
        if name == "last_time" and not _FIRST_DAY <= value <= _LAST_DAY:
            raise ValueError(f"{name} {value:g}, which must be in the years 1 to 9999, in days")


def known_rating(
    system: System,
    rating: float | None,
    deviation: float | None,
    volatility: float | None,
    matches: int | None,
) -> Rating:
    """Return the rating of a newcomer, or that of a player of whom only this is known.

    Raises : InvalidParameterError
    """
    facts = facts_of(system)
    refuse_learning(system)
    for name, value, low, high in (
        ("rating", rating, -1e9, 1e9),
        ("deviation", deviation, 1e-6, 1e9),
        ("volatility", volatility, 1e-12, 1e9),
        ("matches", matches, 0, 1e9),
    ):
        if value is not None:
            checked_number(name, value, low, high)
            column = name in facts.columns
            require(column, name, f"left out, because {system.name} has no {name}", value)
    require(matches is None or matches == int(matches), "matches", "a whole number", matches)
    usual = system.newcomer()
    state = seeded_state(
        system,
        np.array([usual["rating"] if rating is None else rating], np.float64),
        np.array([usual.get("deviation", 1.0) if deviation is None else deviation], np.float64),
    )
    if rating is None and "rated" in usual:
        state.column("rated")[:] = usual["rated"]
    if volatility is not None:
        state.column("volatility")[:] = volatility
    if matches is not None:
        state.column("matches")[:] = matches
    return Rating._of(facts, numbers_of(state)[0])


def refuse_learning(system: System) -> None:
    """Refuse a system that learns over the matches of a pool. Raises : InvalidParameterError."""
    learned = system.learned_in_pool
    if learned:
        raise InvalidParameterError(
            f"{system.name} learns {learned} over the matches of a pool, which ratings of single "
            "players do not carry: use equipoise.Pool(system)"
        )


def microseconds_of(time: object) -> int:
    """Return a time in microseconds since 1970.

    time : a date-time, in UTC without a zone; a date, which is its beginning in UTC; or a number of
        days since 1970
    Raises : InvalidParameterError
    """
    if isinstance(time, date):
        return microseconds_of_date(time)
    rule = "a date-time, a date, or a number of days since 1970"
    days = float(time) if is_number(time) else math.nan
    require(not math.isnan(days), "time", rule, time)
    if not _FIRST_DAY <= days <= _LAST_DAY:
        hint = ""
        if _FIRST_DAY <= days / 86_400 <= _LAST_DAY:
            hint = ", which looks like seconds: divide by 86,400"
        raise InvalidParameterError(
            f"time must be in the years 1 to 9999, in days; got {time}{hint}"
        )
    return round(days * MICROSECONDS_PER_DAY)


#: The years that a datetime can have, in days since 1970.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896


def time_of(day: float) -> datetime:
    """Return days since 1970 as a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=round(day * MICROSECONDS_PER_DAY))


def too_early(last: float, day: float) -> InvalidParameterError:
    """Return the error for a time before the last match, both in days since 1970."""
    return InvalidParameterError(
        "time must not be before the last match of a player, which was at "
        f"{time_of(last).isoformat()}; got {time_of(day).isoformat()}"
    )


def _record_of(system: System) -> int:
    """Return the number of fields of what a system keeps of each performance or context."""
    runs = system.initial(0).runs
    return 0 if runs is None else runs.fields
