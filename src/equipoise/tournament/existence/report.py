"""Why a tournament has no finite performance ratings, as sentences for its organiser.

Players are named by their ids. The report only describes the findings of `graph`. It stays short
for tournaments of every size: further groups are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias

import numpy as np

from equipoise.arrays import Flags, Ids, Ints
from equipoise.errors import SHOWN_IDS, SHOWN_PROBLEMS
from equipoise.tournament.existence.graph import MATRIX_LIMIT, Existence

#: Largest number of groups and of pairs of groups shown; the rest is only counted.
SHOWN_GROUPS = 6

#: Name of a class by its number.
_Name: TypeAlias = Callable[[int], str]


def explain(
    existence: Existence, player_ids: Ids, *, most_ordered: int = MATRIX_LIMIT
) -> list[str]:
    """Return sentences on why finite ratings exist or not.

    player_ids : shape (N,)
    most_ordered : number of classes up to which the report lists which can be compared
    Returns : whether ratings exist; groups that never met; who won or lost every game, and which
        groups took every point of which; who cannot be compared; who played no games
    """

    def name(number: int) -> str:
        return named(player_ids, existence.members(number))

    sweeps = list(islice(_sweeps(existence, name), SHOWN_PROBLEMS + 1))
    if len(sweeps) > SHOWN_PROBLEMS:
        sweeps[-1] = "There are more such results."
    idle = np.flatnonzero(existence.component < 0)
    return [
        _headline(existence),
        *_components(existence, player_ids),
        *sweeps,
        *_order(existence, name, most_ordered),
        *([_sentence(f"{named(player_ids, idle)} played no games")] if len(idle) else []),
    ]


def _headline(existence: Existence) -> str:
    if not existence.components:
        return "There are no games to rate."
    if existence.exists:
        return (
            "Finite ratings predict every player's score exactly: "
            "no group of players took every point from another."
        )
    return (
        "No finite ratings predict every player's score exactly: "
        "some players took every point from others, which puts them infinitely far above."
    )


def _components(existence: Existence, player_ids: Ids) -> Iterator[str]:
    """Yield a sentence on groups that never met."""
    if existence.components < 2:
        return
    shown = range(min(existence.components, SHOWN_GROUPS))
    groups = [named(player_ids, np.flatnonzero(existence.component == one)) for one in shown]
    yield (
        f"The players form {existence.components} groups that never met, so they cannot be "
        f"compared: {'; '.join(groups)}{_and_more(existence.components - len(groups), '; and')}."
    )


def _sweeps(existence: Existence, name: _Name) -> Iterator[str]:
    """Yield the players who won or lost every game, then the other sweeps."""
    above, below, games = existence.above, existence.below, existence.games
    won = np.bincount(above, games, existence.classes)
    lost = np.bincount(below, games, existence.classes)
    extreme = _extreme(existence)
    for number in np.flatnonzero(extreme).tolist():
        verb, count = ("won", won[number]) if won[number] else ("lost", lost[number])
        if count == 1.0:
            yield f"{name(number)} played one game and {verb} it."
        else:
            yield f"{name(number)} {verb} {_all_games(count)}."
    for arc in np.flatnonzero(~(extreme[above] | extreme[below])):
        upper, lower = name(above[arc]), name(below[arc])
        yield _sentence(f"{upper} won {_all_games(games[arc])} against {lower}")


def _extreme(existence: Existence) -> Flags:
    """Return which classes are a single player who won, or lost, every game, shape (classes,).

    Two players who met no others are not included: their sweep is one sentence, not two.
    """
    above, below, classes = existence.above, existence.below, existence.classes
    over, under = np.bincount(above, None, classes), np.bincount(below, None, classes)
    alone = existence.sizes == 1
    extreme = alone & ((over == 0) != (under == 0))
    once = alone & (over + under == 1)
    duel = once[above] & once[below]
    extreme[above[duel]] = extreme[below[duel]] = False
    return np.asarray(extreme, dtype=np.bool_)


def _order(existence: Existence, name: _Name, most: int) -> Iterator[str]:
    """Yield the order of groups by sweeps, or which of them cannot be compared."""
    classes = existence.classes
    if existence.exists:
        return
    if classes > most:
        yield f"There are {classes} groups, too many to list which can be compared."
        return
    pairs = existence.incomparable_pairs()
    for a, b in pairs[:SHOWN_GROUPS].tolist():
        yield _sentence(f"{name(a)} cannot be placed above or below {name(b)}")
    if len(pairs) > SHOWN_GROUPS:
        more = _counted(len(pairs) - SHOWN_GROUPS, "more pair")
        yield f"The same is true of {more} of players or groups."
    if not len(pairs) and existence.components == 1 and classes > 2:
        shown = [name(one) for one in range(min(classes, SHOWN_GROUPS))]
        rest = _and_more(classes - len(shown), "; then")
        yield f"From the top down: {'; then '.join(shown)}{rest}."


def named(player_ids: Ids, rows: Ints) -> str:
    """Return players as text: their names, or, for many, their number and the first names.

    rows : at least one
    """
    some = [str(one) for one in player_ids[rows[: SHOWN_IDS + 1]].tolist()]
    if len(rows) == 1:
        return some[0]
    if len(rows) == len(some):  # "and 1 other" would be longer than the name
        return f"{', '.join(some[:-1])} and {some[-1]}"
    shown = ", ".join(some[:-1])
    return f"a group of {len(rows)} players ({shown} and {len(rows) - SHOWN_IDS} others)"


def _sentence(text: str) -> str:
    # Only our own words get a capital; names are not changed.
    return f"A{text[1:]}." if text.startswith("a group of ") else f"{text}."


def _all_games(count: float) -> str:
    if count == 1.0:
        return "the only game"
    if count == 2.0:
        return "both games"
    return f"all {count:.0f} games" if count == round(count) else f"all {count:g} games"


def _and_more(count: int, joint: str) -> str:
    return f"{joint} {_counted(count, 'more group')}" if count else ""


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
