"""Matches that are rated together: all games of a month or event meet the ratings before it.

A federation rates a month or an event as a whole. Here matches come one at a time, so a player's
row keeps the published rating, which is the one before the period in progress, and sums over the
matches of that period. The next match of the player in another period closes it. Reading a rating
closes it on a copy, so that ratings include every match, as in `glicko2`.

A system says three things, as kernels:

    key(player, day, event, settings)       number of the period that a match belongs to
    add(first, second, score, settings)     add a match to the sums of both players; returns their
                                            expected scores
    close(player, settings)                 publish a new rating, and begin new sums

`month_of` and `event_key` are keys. A player's event ends when the player's next match names
another event. So matches of two events that are played in turn count as several events.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import Job, Rate, System
from equipoise.rating.draws import count_match
from equipoise.rating.federations.facts import (
    EVENT,
    FACTS_OF_PLAYERS,
    Facts,
    facts_of,
    matches_of_two_events,
    players_with_several,
    players_without,
)
from equipoise.rating.state import State
from equipoise.rating.system import RatingColumns
from equipoise.wording import counted

#: First columns of the state; those of the system follow from `OWN` on. `RATED` says how the player
#: came by the rating.
RATING, MATCHES, LAST_TIME, PERIOD, RATED, BIRTH_YEAR, GAMES_BEFORE, EVENTS_BEFORE = range(8)
OWN = 8

#: Logarithm of the odds for a rating point, to estimate how often two players draw.
_LOG_ODDS = math.log(10.0) / 400.0


@inner_kernel
def _civil(day: float) -> tuple[int, int]:
    """Return (year, month from 1) of a day since 1970 in the Gregorian calendar.

    Years are counted from March on, so that the leap day is the last of its year.
    """
    since = math.floor(day) + 719_468  # days since 0000-03-01
    era = since // 146_097
    in_era = since - era * 146_097
    year = (in_era - in_era // 1_460 + in_era // 36_524 - in_era // 146_096) // 365
    in_year = in_era - (365 * year + year // 4 - year // 100)
    from_march = (5 * in_year + 2) // 153
    month = from_march + 3 if from_march < 10 else from_march - 9
    return year + era * 400 + (1 if month <= 2 else 0), month


@inner_kernel
def month_of(day: float) -> float:
    """Return the number of calendar months from January 1970 to that of a day."""
    year, month = _civil(day)
    return 12.0 * (year - 1970) + month - 1.0


@inner_kernel
def age_on(player: Floats, day: float) -> float:
    """Return the player's age at the end of the year of a day, NaN if unknown."""
    if math.isnan(day) or math.isnan(player[BIRTH_YEAR]):
        return math.nan
    year, _ = _civil(day)
    return float(year - player[BIRTH_YEAR])


@inner_kernel
def age_of(player: Floats) -> float:
    """Return the player's age at the end of the year of the last match, NaN if unknown."""
    return float(age_on(player, player[LAST_TIME]))


@inner_kernel
def event_key(player: Floats, day: float, event: float) -> float:
    """Return the number of an event; without a name the month, without times each match is one."""
    if not math.isnan(event):
        return event
    if not math.isnan(day):
        return month_of(day)
    return float(player[MATCHES] + 0.5)


@inner_kernel
def _note(player: Floats, facts: Facts, i: int) -> None:
    """Keep what participation i says of its player."""
    if not math.isnan(facts.birth_year[i]):
        player[BIRTH_YEAR] = facts.birth_year[i]
    if not math.isnan(facts.games_before[i]):
        player[GAMES_BEFORE] = facts.games_before[i]
    if not math.isnan(facts.events_before[i]):
        player[EVENTS_BEFORE] = facts.events_before[i]


@kernel
def settle(
    player: Floats,
    day: float,
    event: float,
    settings: Any,
    key: Callable[[Floats, float, float, Any], float],
    close: Callable[[Floats, Any], None],
) -> None:
    """Move a player to the period of a match."""
    period = key(player, day, event, settings)
    if player[PERIOD] != period:
        if not math.isnan(player[PERIOD]):
            close(player, settings)
        player[PERIOD] = period


@kernel
def closed(player: Floats, settings: Any, close: Callable[[Floats, Any], None]) -> float:
    """Return a player's rating with the period in progress closed."""
    after = player.copy()
    close(after, settings)
    return float(after[RATING])


@kernel
def enter_as_is(player: Floats, day: float, settings: Any) -> None:
    """Leave a newcomer's rating as it is."""


@kernel
def rate_together(
    job: Any,
    first: int,
    last: int,
    key: Callable[[Floats, float, float, Any], float],
    enter: Callable[[Floats, float, Any], None],
    add: Callable[[Floats, Floats, float, Any], tuple[float, float]],
    close: Callable[[Floats, Any], None],
) -> tuple[int, float]:
    """Rate matches first:last of two players in order; return (-1, -1), because none can fail.

    enter : called with (player, day, settings) before each match, to give newcomers a rating
    """
    matches, settings, trace, facts = job.matches, job.settings, job.trace, job.own
    for m in range(first, last):
        i = matches.offsets[m]
        if matches.offsets[m + 1] - i != 2:
            continue
        j, day = i + 1, matches.time[m]
        one, other = job.table[matches.player[i]], job.table[matches.player[j]]
        settle(one, day, facts.event[i], settings, key, close)
        settle(other, day, facts.event[j], settings, key, close)
        _note(one, facts, i)
        _note(other, facts, j)
        enter(one, day, settings)
        enter(other, day, settings)
        score = 0.5
        if matches.rank[i] != matches.rank[j]:
            score = 1.0 if matches.rank[i] < matches.rank[j] else 0.0
        if len(job.draws):
            advantage = _LOG_ODDS * (one[RATING] - other[RATING])
            count_match(job.draws, score == 0.5, advantage, False)
        traced = len(trace.rating) > 0
        if traced:
            trace.rating_before[i] = closed(one, settings, close)
            trace.rating_before[j] = closed(other, settings, close)
        # Before the sums, which may depend on the year of the match.
        for player in (one, other):
            player[MATCHES] += 1.0
            player[LAST_TIME] = day
        expected, expected_other = add(one, other, score, settings)
        if traced:
            trace.rating[i] = closed(one, settings, close)
            trace.rating[j] = closed(other, settings, close)
            if len(trace.expected):
                trace.expected[i] = expected
                trace.expected[j] = expected_other
    return -1, -1.0


@kernel
def read_closed(
    table: Floats, rows: Ints, settings: Any, close: Callable[[Floats, Any], None]
) -> Floats:
    """Return the ratings of players with the periods in progress closed, shape (rows,)."""
    found = np.empty(len(rows))
    for i in range(len(rows)):
        found[i] = closed(table[rows[i]], settings, close)
    return found


class Federation(System):
    """The base class of systems whose matches are rated together.

    A system defines `settings`, `capabilities`, `outlook`, `kernel`, `closed_ratings`, `factor`,
    and `sums` if it has columns of its own.
    """

    __slots__ = ()

    #: What is rated together, such as "the event".
    together: ClassVar[str]
    #: Column -> what the system assumes where a history does not have it, or has no value.
    assumed: ClassVar[Mapping[str, str]]

    @property
    @abstractmethod
    def newcomer_rated(self) -> float:
        """What `RATED` is for a newcomer."""

    @abstractmethod
    def factor(self, player: Floats) -> float:
        """Return what a point above the expected score is worth to a rated player now.

        player : a row of the state, with the sums of the period in progress
        """

    def sums(self) -> Mapping[str, float]:
        """Return the columns of the system itself, with their values for a newcomer."""
        return {}

    def missing(self, history: History, *, resumed: bool = False) -> list[str]:
        """Return a note for every column that the system uses and that is missing or has gaps.

        resumed : whether ratings continue from a state, which may know what the history leaves out
        """
        notes = []
        for name, assumption in self.assumed.items():
            if resumed and name in FACTS_OF_PLAYERS:
                continue
            column = history.time if name == "time" else history.attributes.get(name)
            if column is None:
                notes.append(f"no column {name}: {self.name} assumes that {assumption}")
            elif name == EVENT:
                odd = matches_of_two_events(history)
                if odd:
                    notes.append(
                        f"{counted(odd, 'match', 'matches')} whose players have different values "
                        "of event, or only one has a value: each player's own counts"
                    )
            elif name in FACTS_OF_PLAYERS:
                several = players_with_several(history, name)
                if several:
                    who = counted(several, "player")
                    notes.append(f"{who} with several values of {name}: that of the match counts")
                gaps = players_without(history, name)
                if gaps:
                    who = counted(gaps, "player")
                    notes.append(f"{who} without {name}: {self.name} assumes that {assumption}")
        return notes

    @abstractmethod
    def closed_ratings(self, table: Floats, rows: Ints) -> Floats:
        """Return the ratings of players with the periods in progress closed."""

    def newcomer(self) -> Mapping[str, float]:
        """Return a new player, of whom nothing is known."""
        return {
            "rating": self.initial_rating,
            "matches": 0.0,
            "last_time": math.nan,
            "period": math.nan,
            "rated": self.newcomer_rated,
            "birth_year": math.nan,
            "games_before": math.nan,
            "events_before": math.nan,
            **self.sums(),
        }

    def own(self, state: State, history: History, start: int, stop: int) -> Facts:
        """Return what is known of the players in these matches. Raises : InvalidDataError."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        return facts_of(history, self.capabilities.uses, low, high)

    def rewrite_own(
        self,
        own: Facts,
        performance: Sequence[float],
        share: Sequence[float],
        at_home: Sequence[bool],
    ) -> None:
        """Write nothing: of a match that is not in a history no facts are known."""

    @abstractmethod
    def kernel(self, job: Job[Any, Any, Any]) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""

    def update(self, job: Job[Any, Any, Any], workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        return self.kernel(job)(job, 0, len(job.matches.time))

    def deviations(self, state: State, rows: Ints, day: float) -> Floats:
        """Return NaN, because there are no deviations."""
        return np.full(len(rows), np.nan)

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return ratings with the period in progress closed."""
        return {
            **System.at(self, state, rows, time),
            "rating": self.closed_ratings(state.table, rows),
        }
