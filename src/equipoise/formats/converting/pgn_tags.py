"""A history of single players as PGN with tags and results, without moves.

The tags are those of the PGN standard: its seven, the time in UTC, and ratings. White is the player
that the history says, else the one it lists first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from equipoise.data.history import History
from equipoise.data.times import day_in_words, iso
from equipoise.formats.converting.two_sides import (
    RESULTS,
    TwoSides,
    attribute_of_matches,
    describe_left_out,
    lost_of_history,
    two_sides,
)

#: Columns that name the event and the place of a match.
_EVENTS = ("event", "tournament")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def pgn_text(history: History) -> tuple[str, list[str]]:
    """Return PGN with a game for each match of two single players, and what it lacks.

    Raises : InvalidDataError   no match is between two single players
    """
    sides = two_sides(history)
    return "\n".join(_games(sides)), [*_lost(sides)]


def _games(sides: TwoSides) -> Iterator[str]:
    history = sides.history
    white, black = (ids.tolist() for ids in sides.players())
    event = next((name for name in _EVENTS if name in history.attributes), None)
    events = None if event is None else attribute_of_matches(sides, event)
    rounds = attribute_of_matches(sides, "round") if "round" in history.attributes else None
    ratings = sides.ratings()[0]
    for at, match in enumerate(sides.matches.tolist()):
        result = RESULTS[float(sides.points[at])]
        tags = {"Event": "?" if events is None or events[at] is None else str(events[at])}
        tags |= {"Site": "?", "Date": "????.??.??"}
        tags["Round"] = "?" if rounds is None or rounds[at] is None else str(rounds[at])
        if history.order is not None and rounds is None:
            tags["Round"] = str(int(history.order[match]))
        tags |= {"White": str(white[at]), "Black": str(black[at]), "Result": result}
        if history.time is not None:
            time = int(history.time[match])
            tags["Date"] = day_in_words(time).replace("-", ".")
            if history.time_kind != "date":
                tags |= {"UTCDate": tags["Date"], "UTCTime": iso(time)[11:19]}
        for tag, values in zip(("WhiteElo", "BlackElo"), ratings, strict=True):
            rating = "" if values is None else _rating(values[at])
            if rating:
                tags[tag] = rating
        lines = [f'[{tag} "{_escaped(value)}"]' for tag, value in tags.items()]
        yield "\n".join([*lines, "", result, ""])


def _rating(value: object) -> str:
    """Return a rating as a whole number; "" if there is none."""
    try:
        number = float(str(value))
    except ValueError:
        return ""
    return "" if not math.isfinite(number) or number <= 0 else str(round(number))


def _escaped(text: str) -> str:
    """Return the value of a tag as it is written: in one line, quotation marks escaped."""
    return _CONTROL.sub(" ", text).replace("\\", "\\\\").replace('"', '\\"')


def _lost(sides: TwoSides) -> Iterator[str]:
    history = sides.history
    yield from describe_left_out(
        sides.left_out, "that are not between two single players were left out"
    )
    yield "the games have tags and results, and no moves"
    if sides.words == "first":
        yield "white is the player listed first, because the history does not say who has white"
    if sides.neutral.any():
        yield "matches on neutral ground are no longer marked"
    kept = {"side", "at_home", "round", *sides.ratings()[1], *_EVENTS}
    yield from lost_of_history(history, kept)
