"""Games of a tournament as a FIDE report (TRF16), with byes and forfeits as far as they are known.

FIDE Handbook, C.04 Annex 2, "Format of Tournament Report File". The columns are those that
`formats/trf.py` reads, counted in characters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from equipoise.data.tournaments.games import Games
from equipoise.data.tournaments.rounds import KIND, ROUND_KINDS, Rounds
from equipoise.errors import InvalidDataError
from equipoise.wording import counted

#: Letters of a name, digits of a number of a player.
_NAME, _MOST = 33, 9_999
#: Characters of the points of a player.
_POINTS = 4
#: What a round without a game is, as its letter. A forfeit has an opponent.
_LETTERS = {
    "pairing-bye": "U",
    "full-bye": "F",
    "half-bye": "H",
    "zero-bye": "Z",
    "forfeit-win": "+",
    "forfeit-loss": "-",
}
_SPACES = re.compile(r"[\s\x00-\x1f\x7f]+")


def trf_text(games: Games, name: str) -> tuple[str, list[str]]:
    """Return the report of a tournament, and what it lacks.

    name : of the tournament
    Raises : InvalidDataError   rounds are not known, or there are too many players
    """
    rounds = games.rounds
    if rounds is None:
        raise InvalidDataError(
            [],
            "a FIDE report needs the round of every game: a column round with numbers, in which "
            "no player has two games",
        )
    if games.players > _MOST:
        raise InvalidDataError(
            [], f"a FIDE report has at most {_MOST:,} players; got {games.players:,}"
        )
    names, shortened = _names(games)
    scored = rounds.scored()
    place = np.empty(games.players, np.int64)
    place[np.argsort(-scored, kind="stable")] = np.arange(1, games.players + 1)
    lines = [f"012 {_SPACES.sub(' ', name)}", f"062 {games.players}"]
    for row in range(games.players):
        entries = "".join(_entry(rounds, row, at) for at in range(rounds.rounds))
        lines.append(
            f"001 {row + 1:>4}      {names[row]:<{_NAME}} {_rating(games, row):>4} {'':3} {'':11} "
            f"{'':10} {_points(scored[row]):>4} {place[row]:>4}{entries}".rstrip()
        )
    return "\n".join(lines) + "\n", [*_lost(games, rounds, shortened)]


def _names(games: Games) -> tuple[list[str], int]:
    """Return names that fit and are all different, and how many were shortened."""
    taken: set[str] = set()
    names, shortened = [], 0
    for one in games.player_ids.tolist():
        full = _SPACES.sub(" ", str(one)).strip()
        name, number = full[:_NAME].strip(), 1
        while name in taken:
            number += 1
            end = f" ({number})"
            name = full[: _NAME - len(end)].strip() + end
        shortened += name != full
        taken.add(name)
        names.append(name)
    return names, shortened


def _points(points: float) -> str:
    """Return points in at most four characters, "" if they do not fit."""
    text = f"{points:.1f}"
    text = text if len(text) <= _POINTS else text.removesuffix(".0")
    return text if len(text) <= _POINTS else ""


def _rating(games: Games, row: int) -> str:
    rating = float(games.initial[row])
    fits = math.isfinite(rating) and 0 < round(rating) <= _MOST
    return str(round(rating)) if fits else ""


def _entry(rounds: Rounds, row: int, at: int) -> str:
    """Return the ten characters of a round."""
    kind = ROUND_KINDS[rounds.kind[row, at]]
    opponent = int(rounds.opponent[row, at]) + 1
    if kind == "played":
        points = float(rounds.points[row, at])
        result = "=" if points == 0.5 else "1" if points else "0"
        colour = {1: "w", -1: "b"}.get(int(rounds.colour[row, at]), "-")
        return f"  {opponent:>4} {colour} {result}"
    if kind == "unknown":
        return " " * 10
    number = f"{opponent:>4}" if opponent else "0000"
    return f"  {number} - {_LETTERS[kind]}"


def _lost(games: Games, rounds: Rounds, shortened: int) -> Iterator[str]:
    if shortened:
        cut = counted(shortened, "name is", "names are")
        yield f"{cut} cut, because a name has at most {_NAME} letters"
    unknown = int(np.sum(rounds.kind == KIND["unknown"]))
    if unknown:
        yield (
            f"{counted(unknown, 'round')} of players without a game are empty, which means "
            "absence: the source does not say what they were"
        )
    if games.white_rating is not None:
        yield "ratings differ between games of one player: the first one is written"
    initial = games.initial[~np.isnan(games.initial)]
    if np.any(initial != np.rint(initial)):
        yield "ratings are rounded to whole numbers"
