"""Matches that are rated together: all games of a month or event meet the ratings before it.

A federation rates a month or an event as a whole. Here matches come one at a time, so a player's
row keeps the published rating, which is the one before the period in progress, and sums over the
matches of that period. The next match of the player in another period closes it (`begin_period`).
Reading a rating closes it on a copy (`read_closed`), so that ratings include every match, as in
`glicko2`.

A system says how a period ends, by a kernel close(player, settings), which publishes a new rating
and begins new sums. A player's event ends when the player's next match names another event. So
matches of two events that are played in turn count as several events.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from equipoise._jit import Option, inlined_kernel, inner_kernel, kernel, option
from equipoise.arrays import Floats
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.rating.federation_columns import (
    EVENT,
    FACTS_OF_PLAYERS,
    RATED_HERE,
    UNRATED,
    Facts,
    facts_of,
    matches_of_two_events,
    players_with_several,
    players_without,
)
from equipoise.rating.rated_system import RatedSystem
from equipoise.rating.single_match import (
    by_opponent,
    contribution,
    explanation,
    single_match,
    surprise_of,
)
from equipoise.rating.state import State
from equipoise.wording import counted

#: First columns of the state; those of the system follow from `OWN` on. `RATED` says how the player
#: came by the rating.
RATING, MATCHES, LAST_TIME, PERIOD, RATED, BIRTH_YEAR, GAMES_BEFORE, EVENTS_BEFORE = range(8)
OWN = 8

#: Logarithm of the odds for a rating point, to estimate how often two players draw.
LOG_ODDS = math.log(10.0) / 400.0


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


@inlined_kernel
def begin_period(job: Any, i: int, period: float, close: Any) -> float:
    """Move the player of participation i to a period; return that nothing failed."""
    player = job.table[job.matches.player[i]]
    if player[PERIOD] != period:
        if not math.isnan(player[PERIOD]):
            close(player, job.settings)
        player[PERIOD] = period
    _note(player, job.own, i)
    return -1.0


@inlined_kernel
def begin_event(job: Any, m: int, i: int, close: Any) -> float:
    """Move the player of participation i to the event of match m; return that nothing failed."""
    player = job.table[job.matches.player[i]]
    event = event_key(player, job.matches.time[m], job.own.event[i])
    return begin_period(job, i, event, close)


@kernel
def read_closed(player: Floats, settings: Any, close: Any) -> tuple[float, float]:
    """Return (rating, 0) of a player with the period in progress closed."""
    after = player.copy()
    close(after, settings)
    return float(after[RATING]), 0.0


class Federation(RatedSystem):
    """The base class of systems whose matches are rated together."""

    __slots__ = ()

    max_team_size: ClassVar[int] = 1
    max_teams: ClassVar[int] = 2
    shown: ClassVar[Sequence[str]] = ("rating",)
    takes_entry: ClassVar[bool] = False
    columns: ClassVar[Mapping[str, float | str]] = {
        "rating": "initial_rating",
        "matches": 0.0,
        "last_time": math.nan,
        "period": math.nan,
        "rated": RATED_HERE,
        "birth_year": math.nan,
        "games_before": math.nan,
        "events_before": math.nan,
    }
    #: What is rated together, such as "the event".
    together: ClassVar[str]
    #: Unit and meaning of the further numbers of an explanation.
    own_meanings: ClassVar[Mapping[str, tuple[str, str]]] = {
        "expected score": ("", "by both published ratings"),
        "factor": ("points", "value of a whole point above the expected score"),
    }
    #: Column -> what the system assumes where a history does not have it, or has no value.
    assumed: ClassVar[Mapping[str, str]]

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

    def own(self, state: State, history: History, start: int, stop: int) -> Facts:
        """Return what is known of the players in these matches. Raises : InvalidDataError."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        return facts_of(history, self.capabilities.uses, low, high)

    @property
    def meanings(self) -> Mapping[str, tuple[str, str]]:
        """Unit and meaning of the numbers of an explanation."""
        published = f"the rating before {self.together}, which the match is compared with"
        return {"published rating": ("points", published), **self.own_meanings}

    def _normal(self) -> Option:
        """Return that draws are counted by odds, whatever the curve of the federation."""
        return option(False)


def explain(system: Any, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating, for `fide` and `dwz`.

    A match is told as its points above the expected score times what such a point is worth after
    it, `system.factor(player)`. The rest is its effect on what the earlier matches of the period
    are worth, and rounding.
    """
    single = single_match(system, before, history, match, row)
    i, change, expected = single.row, single.change, single.expected
    score = float(single.scores()[1 - i])
    published, rated = single.after.column("rating"), single.after.column("rated") != UNRATED
    counts = bool(rated[i] and rated[1 - i])
    factor = system.factor(single.after.table[i]) if counts else 0.0
    own = factor * (score - expected)
    parts = []
    if counts:
        parts.append(contribution("this match", own, surprise_of(score, expected)))
    if own != change or not counts:
        name = "earlier matches and rounding" if counts else "not rated"
        if rated[i]:
            reason = f"all matches of {system.together} change the rating together"
            if not counts:
                reason = "the opponent has no rating"
        else:
            name, reason = "first rating", "it follows from the matches against rated players"
        parts.append(contribution(name, change - own, reason))
    return explanation(
        single,
        contributions=parts,
        quantities={
            "published rating": float(published[i]),
            "expected score": expected,
            "factor": factor,
        },
        meanings=system.meanings,
        opponents=by_opponent(
            single, lambda j, score: (float(published[j]), math.nan, expected, own)
        ),
    )
