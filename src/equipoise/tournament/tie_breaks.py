"""Tie-breaks of a tournament: Buchholz, Sonneborn-Berger, direct encounter, PTP, ARO and others.

Source: FIDE Handbook C.07, Play-Off and Tie-Break Regulations, effective from 1 August 2024
[FIDE]_: articles 6 (direct encounter), 7.2 (games won), 8.1 (Buchholz), 9.1 (Sonneborn-Berger),
10.1 (average rating of opponents, ARO), 10.2 (performance rating), 10.3 (perfect tournament
performance, PTP), 10.4 and 10.5 (averages of the opponents' performance ratings, APRO, and of
their PTP, APPO), 14.1 and 14.3 (Cut-1 and Median-1). The table of expected scores is in
`fide_expected`.

Departures: articles 15 and 16, on unplayed rounds, are not applied, because games do not say who
had a bye or won by forfeit. The largest number of games of any player counts as the number of
rounds; whoever has fewer has unplayed rounds. Numbers that need them are NaN, or count the played
games only (`unplayed`). Opponents without a rating are left out of 10.1 to 10.5, where the
regulations assume that everyone has one. A player met twice counts twice. Fractional ratings, which
FIDE does not have, are rounded before the PTP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.games import Games
from equipoise.errors import require
from equipoise.tournament.fide_expected import half_up, percent_expected
from equipoise.tournament.formulas import fide_performance
from equipoise.wording import counted

TieBreak: TypeAlias = Literal[
    "buchholz",
    "buchholz-cut1",
    "buchholz-median",
    "sonneborn-berger",
    "direct-encounter",
    "wins",
    "aro",
    "aro-cut1",
    "ptp",
    "apro",
    "appo",
]
TIE_BREAKS: tuple[TieBreak, ...] = (
    "buchholz",
    "buchholz-cut1",
    "buchholz-median",
    "sonneborn-berger",
    "direct-encounter",
    "wins",
    "aro",
    "aro-cut1",
    "ptp",
    "apro",
    "appo",
)
#: Tie-breaks that depend on unplayed rounds.
NEED_ROUNDS: frozenset[TieBreak] = frozenset(
    ("buchholz", "buchholz-cut1", "buchholz-median", "sonneborn-berger", "direct-encounter")
)
#: "unknown": numbers that need unplayed rounds are NaN. "ignore": only played games count.
Unplayed: TypeAlias = Literal["unknown", "ignore"]
UNPLAYED: tuple[Unplayed, ...] = ("unknown", "ignore")

#: Distance of the PTP from the lowest opponent if all games were lost (10.3).
_NO_POINTS = 800
#: A difference from which the table expects a whole point.
_CERTAIN = 736


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """Every result from both sides: 2 G rows of player, opponent, games, points and rating.

    rating : of the opponent, NaN if unknown
    """

    player: Ints
    opponent: Ints
    games: Floats
    points: Floats
    rating: Floats
    players: int

    def total(self, values: Floats) -> Floats:
        """Return the sums over each player's rows, shape (N,)."""
        return np.asarray(np.bincount(self.player, values, self.players), np.float64)

    def marked(self, flags: Flags) -> Flags:
        """Return which players have a row with a flag, shape (N,)."""
        return np.asarray(self.total(flags.astype(np.float64)) > 0)

    def only(self, kept: Flags) -> _Sides:
        """Return some of the rows."""
        return _Sides(
            player=self.player[kept],
            opponent=self.opponent[kept],
            games=self.games[kept],
            points=self.points[kept],
            rating=self.rating[kept],
            players=self.players,
        )


def _sides(games: Games) -> _Sides:
    weight = games.weights
    rating = games.initial
    of_white, of_black = rating[games.white], rating[games.black]
    if games.white_rating is not None:
        of_white = np.where(np.isnan(games.white_rating), of_white, games.white_rating)
    if games.black_rating is not None:
        of_black = np.where(np.isnan(games.black_rating), of_black, games.black_rating)
    return _Sides(
        player=np.concatenate([games.white, games.black]),
        opponent=np.concatenate([games.black, games.white]),
        games=np.concatenate([weight, weight]),
        points=np.concatenate([games.points, weight - games.points]),
        rating=np.concatenate([of_black, of_white]),
        players=games.players,
    )


@checks_arguments("names", "unplayed")
def tie_breaks(
    games: Games, names: Sequence[TieBreak] = TIE_BREAKS, *, unplayed: Unplayed = "unknown"
) -> dict[str, Floats]:
    """Return tie-breaks by name, each of shape (N,), by FIDE's regulations of 1 August 2024.

    "buchholz" is the sum of the opponents' scores; "buchholz-cut1" leaves out the lowest,
    "buchholz-median" the lowest and the highest. "sonneborn-berger" is the sum of the points taken
    from every opponent, times the opponent's score. "direct-encounter" is the place among the
    players who are tied on points and on the tie-breaks named before it, NaN for a player who is
    tied with nobody. "wins" counts games won. "aro" is the opponents' average rating, rounded;
    "aro-cut1" leaves out the lowest. "ptp" is the lowest whole rating that expects the score by
    FIDE's table. "apro" and "appo" are the opponents' average performance rating (`fide`) and PTP,
    rounded.

    Games do not tell a bye from an absence. If players have fewer games than others, numbers that
    need their unplayed rounds are NaN.

    names : of `TIE_BREAKS`; the order matters for "direct-encounter" only
    unplayed : "unknown", or "ignore" to count the played games only, as if unplayed rounds brought
        no points
    Raises : InvalidParameterError   an unknown name, or results that are not whole games

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "ben", "cid"], ["ben", "cid", "ann"], [1, 0.5, 0.5])
    >>> found = eq.tie_breaks(games, ["buchholz", "sonneborn-berger"])
    >>> found["buchholz"].tolist(), found["sonneborn-berger"].tolist()
    ([1.5, 2.5, 2.0], [1.0, 0.5, 1.0])
    """
    for name in names:
        require(name in TIE_BREAKS, "tie_breaks", f"one of {', '.join(TIE_BREAKS)}", name)
    require(unplayed in UNPLAYED, "unplayed", f"one of {', '.join(UNPLAYED)}", unplayed)
    if not len(names):
        return {}
    whole = games.weights == np.floor(games.weights)
    require(bool(whole.all()), "tie_breaks", "of whole games", _first(games.weights[~whole]))
    sides = _sides(games)
    unsure = _unsure(sides) if unplayed == "unknown" else np.zeros(games.players, dtype=np.bool_)
    found: dict[str, Floats] = {}
    for name in names:
        if name == "direct-encounter":
            before = [games.scored(), *found.values()]
            # A missing bye can create or break any tie, so no group is certain.
            places = _direct_encounter(sides, before)
            found[name] = np.full(games.players, np.nan) if unsure.any() else places
        else:
            values = _one(name, games, sides)
            found[name] = np.where(unsure, np.nan, values) if name in NEED_ROUNDS else values
    return found


def unplayed_rounds(games: Games) -> Ints:
    """Return how many games fewer than the most of any player each player has, shape (N,)."""
    played = games.played()
    return np.asarray(np.max(played, initial=0.0) - played, dtype=np.int64)


def _first(values: Floats) -> str:
    return f"{values[0]:g} games" if len(values) else ""


def _unsure(sides: _Sides) -> Flags:
    """Return who has an unplayed round, or an opponent who has one, shape (N,)."""
    played = sides.total(sides.games)
    missing = played < np.max(played, initial=0.0)
    return np.asarray(missing | sides.marked(missing[sides.opponent]))


def _one(name: TieBreak, games: Games, sides: _Sides) -> Floats:
    """Return a tie-break that depends on no other, from played games."""
    score = games.scored()
    rated = sides.only(~np.isnan(sides.rating))
    match name:
        case "buchholz":
            return _sum_without(sides, score[sides.opponent], 0, 0)
        case "buchholz-cut1":
            return _sum_without(sides, score[sides.opponent], 1, 0)
        case "buchholz-median":
            return _sum_without(sides, score[sides.opponent], 1, 1)
        case "sonneborn-berger":
            return sides.total(sides.points * score[sides.opponent])
        case "wins":
            return _wins(games)
        case "aro":
            return _average(rated, rated.rating, 0)
        case "aro-cut1":
            return _average(rated, rated.rating, 1)
        case "ptp":
            return _ptp(rated)
        case "apro":
            return _average_known(sides, fide_performance(games))
        case _:
            return _average_known(sides, _ptp(rated))


def _sum_without(sides: _Sides, values: Floats, lowest: int, highest: int) -> Floats:
    """Return sums over games without the lowest and the highest values; 0 if no game is left."""
    total = sides.total(sides.games * values)
    low, high = np.full(sides.players, np.inf), np.full(sides.players, -np.inf)
    np.minimum.at(low, sides.player, values)
    np.maximum.at(high, sides.player, values)
    left = sides.total(sides.games) - lowest - highest
    with np.errstate(invalid="ignore"):
        total = total - (low if lowest else 0.0) - (high if highest else 0.0)
    return np.asarray(np.where(left > 0, total, 0.0))


def _average(sides: _Sides, values: Floats, lowest: int) -> Floats:
    """Return the rounded mean over games without the lowest value; NaN if no game is left."""
    left = sides.total(sides.games) - lowest
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = half_up(_sum_without(sides, values, lowest, 0) / left)
    return np.asarray(np.where(left > 0, mean, np.nan))


def _average_known(sides: _Sides, of_player: Floats) -> Floats:
    """Return the rounded mean of the opponents' numbers, where they have one."""
    known = sides.only(~np.isnan(of_player[sides.opponent]))
    return _average(known, of_player[known.opponent], 0)


def _wins(games: Games) -> Floats:
    """Return the number of games won; NaN if a result does not say how many were drawn."""
    weight, points = games.weights, games.points
    if games.draws is not None:
        draws = games.draws
    else:
        single = (weight == 1) & np.isin(points, (0.0, 0.5, 1.0))
        swept = (points == 0) | (points == weight)
        draws = np.where(single | swept, np.where(points == 0.5, 1.0, 0.0), np.nan)
    white = np.bincount(games.white, points - draws / 2, games.players)
    black = np.bincount(games.black, weight - points - draws / 2, games.players)
    return np.asarray(white + black, np.float64)


def _ptp(sides: _Sides) -> Floats:
    """Return the perfect tournament performance, from results against rated opponents (10.3).

    The expected score never falls with the rating, so the lowest rating is found by halving.
    """
    opponent = half_up(sides.rating)
    lowest, highest = np.full(sides.players, np.inf), np.full(sides.players, -np.inf)
    np.minimum.at(lowest, sides.player, opponent)
    np.maximum.at(highest, sides.player, opponent)
    has = np.isfinite(lowest)
    # Invariant: `low` expects fewer points than were made, `high` enough.
    low = np.where(has, lowest - _NO_POINTS, 0.0)
    high = np.where(has, highest + _CERTAIN, 0.0)
    target = 100.0 * sides.total(sides.points)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        expected = percent_expected(middle[sides.player] - opponent)
        enough = sides.total(sides.games * expected) >= target
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    found = np.where(target > 0, high, np.where(has, lowest - _NO_POINTS, 0.0))
    return np.asarray(np.where(has, found, np.nan))


def _direct_encounter(sides: _Sides, before: list[Floats]) -> Floats:
    """Return places among tied players (6); NaN for a player who is tied with nobody."""
    meetings: dict[tuple[int, int], tuple[float, float]] = {}
    rows = zip(
        sides.player.tolist(),
        sides.opponent.tolist(),
        sides.points.tolist(),
        sides.games.tolist(),
        strict=True,
    )
    for player, opponent, points, games in rows:
        taken, met = meetings.get((player, opponent), (0.0, 0.0))
        meetings[player, opponent] = (taken + points, met + games)
    # Players who meet more than once count the average of their games.
    shares: dict[int, dict[int, float]] = {}
    for (player, opponent), (taken, met) in meetings.items():
        shares.setdefault(player, {})[opponent] = taken / met
    tied: dict[tuple[float, ...], list[int]] = {}
    played = sides.total(sides.games)
    for row, key in enumerate(zip(*(one.tolist() for one in before), strict=True)):
        if played[row] > 0:
            tied.setdefault(tuple(key), []).append(row)
    places = np.full(sides.players, np.nan)
    for group in tied.values():
        if len(group) > 1:
            _place(group, 1, shares, places)
    return places


def _place(
    group: list[int], first: int, shares: dict[int, dict[int, float]], places: Floats
) -> None:
    """Write the places of tied players, of whom the best has place `first`."""
    waiting = [(group, first)]
    while waiting:
        group, first = waiting.pop()
        inside = set(group)
        score, missing = {}, {}
        for one in group:
            met = [share for other, share in shares[one].items() if other in inside]
            score[one], missing[one] = sum(met), len(group) - 1 - len(met)
        if any(missing.values()):
            best = max(group, key=lambda one: score[one])
            others = [one for one in group if one != best]
            if all(score[one] + missing[one] < score[best] for one in others):
                # First, whatever the results of games that were not played would have been.
                places[best] = first
                waiting.append((others, first + 1))
            else:
                places[group] = first
            continue
        at = first
        for value in sorted(set(score.values()), reverse=True):
            equal = [one for one in group if score[one] == value]
            if len(equal) in (1, len(group)):
                places[equal] = at
            else:
                waiting.append((equal, at))
            at += len(equal)


def unplayed_note(games: Games, names: Sequence[TieBreak], unplayed: Unplayed) -> str:
    """Return a sentence on tie-breaks that need unplayed rounds, "" if there are none."""
    affected = [name for name in names if name in NEED_ROUNDS]
    fewer = int((unplayed_rounds(games) > 0).sum())
    if not affected or not fewer:
        return ""
    who = counted(fewer, "player has", "players have")
    start = (
        f"{who} fewer games than others, and the games do not say whether a round was a bye, "
        "a forfeit or an absence, which FIDE's article 16 counts differently"
    )
    if unplayed == "ignore":
        return (
            f"{start}: {', '.join(affected)} count played games only, and may differ from FIDE's."
        )
    return (
        f"{start}: {', '.join(affected)} are empty where this matters. To count played games only, "
        "ignore unplayed rounds (--unplayed ignore)."
    )
