"""Tie-breaks of a tournament: Buchholz, Sonneborn-Berger, direct encounter, PTP, ARO and others.

Source: FIDE Handbook C.07, Play-Off and Tie-Break Regulations, editions effective from 1 August
2024 and from 1 March 2026 [FIDE]_: articles 6 (direct encounter), 7.1 to 7.6 (rounds won, games
won, games and wins with black, progressive score, rounds one elected to play), 8.1 to 8.3
(Buchholz, its average over opponents, Fore Buchholz), 9.1 (Sonneborn-Berger), 9.2 (Koya), 10.1 to
10.5 (average rating of opponents, performance, perfect performance, and their averages over
opponents), 14.1 to 14.4 (cuts). Articles 15 and 16, on unplayed rounds, are in `unplayed`, and the
cuts in `tie_break_parts`. The table of expected scores is in `fide_expected`.

Departures: if the games have no rounds, the largest number of games of any player counts as the
number of rounds, and whoever has fewer has unplayed rounds; numbers that need them are NaN, or
count the played games only (`Unplayed`). Points are 1, 1/2 and 0. Opponents without a rating are
left out of 10.1 to 10.5, where the regulations assume that everyone has one. A player met twice
counts twice. Fractional ratings, which FIDE does not have, are rounded before the PTP. A game that
both players lost is left out of 10.1 to 10.5. Forfeit wins of a round robin are not games won
(7.2), because they are not won over the board, although 15.2 can be read otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.games import KIND, ROUND_KINDS, Games, Rounds
from equipoise.data.tournament import PartStatus, TieBreakDetails
from equipoise.errors import NotFoundError, require
from equipoise.tournament.formulas import fide_performance, half_up, percent_expected
from equipoise.tournament.tie_break_parts import (
    FREE,
    Pairing,
    Parts,
    Record,
    TieBreakRules,
    Unplayed,
    cut,
    record_of,
)
from equipoise.wording import counted

TieBreak: TypeAlias = Literal[
    "buchholz",
    "buchholz-cut1",
    "buchholz-cut2",
    "buchholz-median",
    "buchholz-median2",
    "fore-buchholz",
    "fore-buchholz-cut1",
    "fore-buchholz-cut2",
    "fore-buchholz-median",
    "fore-buchholz-median2",
    "average-buchholz",
    "sonneborn-berger",
    "sonneborn-berger-cut1",
    "sonneborn-berger-cut2",
    "direct-encounter",
    "progressive",
    "progressive-cut1",
    "progressive-cut2",
    "koya",
    "wins",
    "rounds-won",
    "black-games",
    "black-wins",
    "rounds-elected",
    "aro",
    "aro-cut1",
    "aro-cut2",
    "aro-median",
    "aro-median2",
    "fide-performance",
    "ptp",
    "apro",
    "appo",
]
TIE_BREAKS: tuple[TieBreak, ...] = get_args(TieBreak)
#: Modifiers: what they add to FIDE's code, and the parts that are cut from below and from above.
_CUTS = {"cut1": ("-C1", 1, 0), "cut2": ("-C2", 2, 0)}
_CUTS |= {"median": ("-M1", 1, 1), "median2": ("-M2", 2, 2)}

#: Distance of the PTP from the lowest opponent if all games were lost (10.3).
_NO_POINTS = 800
#: A difference from which the table expects a whole point.
_CERTAIN = 736


def tie_break_named(text: str) -> TieBreak | None:
    """Return the tie-break of a name or of FIDE's code, None if there is none.

    Codes may be in small letters, and their modifiers may follow a hyphen, a slash or a colon.
    """
    written = text.strip().lower()
    code = written.replace("/", "-").replace(":", "-").upper()
    code = "REP" if code == "GE" else code
    for name, known in CODES.items():
        if written == name or code == known:
            return name
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Field:
    """A tournament as tie-breaks see it.

    record : its rounds, None if they are not known
    parts : every round that counts, or every game; played : whether it was played over the board
    rated : every game from both sides with the opponent's rating as value; NaN if unrated
    score : points with those of byes and forfeits, shape (N,)
    alone, unsure : whose rounds are not known, and who has such a round or opponent, shape (N,)
    """

    games: Games
    record: Record | None
    parts: Parts
    played: Flags
    rated: Parts
    score: Floats
    alone: Flags
    unsure: Flags


def _field(games: Games, pairing: Pairing, unplayed: Unplayed, rules: TieBreakRules) -> _Field:
    record = record_of(games, pairing, unplayed, rules)
    both = _both_sides(games)
    of_white, of_black = games.ratings_of_sides()
    of_opponent = np.concatenate([of_black, of_white])
    rated = both.with_values(of_opponent, of_opponent)
    if record is None:
        score = games.scored()
        parts = both.with_values(score[both.opponent], score[both.opponent])
        played = np.ones(len(parts.player), np.bool_)
        number = both.number()
        alone = number < np.max(number, initial=0.0)
    else:
        parts = _rounds_as_parts(record, record.counted_scores())
        played = parts.kind == KIND["played"]
        score, alone = record.scored(), record.unknown
    if unplayed == "ignore":
        alone = np.zeros(games.players, np.bool_)
    beside = parts.only(parts.opponent >= 0).total(alone[parts.opponent].astype(np.float64)) > 0
    return _Field(games, record, parts, played, rated, score, alone, alone | beside)


def _both_sides(games: Games) -> Parts:
    """Return every result from both sides."""
    weight, rows = games.weights, 2 * games.rows
    return Parts(
        player=np.concatenate([games.white, games.black]),
        opponent=np.concatenate([games.black, games.white]),
        round=np.zeros(rows, np.int64),
        kind=np.full(rows, KIND["played"]),
        games=np.concatenate([weight, weight]),
        points=np.concatenate([games.points, weight - games.points]),
        score=np.full(rows, np.nan),
        value=np.full(rows, np.nan),
        voluntary=np.zeros(rows, np.bool_),
        counts=np.ones(rows, np.bool_),
        players=games.players,
    )


def _rounds_as_parts(record: Record, score: Floats) -> Parts:
    """Return every round that counts, with the opponent's or the dummy's score."""
    player, at = np.nonzero((record.kind != FREE) & (record.kind != KIND["unknown"]))
    cells = (player, at)
    voluntary = record.voluntary & ~record.met
    return Parts(
        player=player,
        opponent=record.opponent[cells],
        round=at + 1,
        kind=record.kind[cells],
        games=np.ones(len(at)),
        points=record.points[cells],
        score=score[cells],
        value=score[cells],
        voluntary=voluntary[cells],
        counts=~np.isnan(score[cells]),
        players=len(record.points),
    )


@checks_arguments("names")
def tie_breaks(
    games: Games,
    names: Sequence[TieBreak] = TIE_BREAKS,
    *,
    unplayed: Unplayed = "fide",
    pairing: Pairing = "auto",
    rules: TieBreakRules = "2026-03",
) -> dict[str, Floats]:
    """Return tie-breaks by name, each of shape (N,), by FIDE's regulations.

    "buchholz" is the sum of the opponents' scores; "-cut1" and "-cut2" leave out the lowest one or
    two, "-median" and "-median2" the highest as well. "fore-buchholz" is the same as if all games
    of the last round had been drawn, "average-buchholz" the mean of the opponents' Buchholz.
    "sonneborn-berger" is the sum of the points taken from every opponent, times the opponent's
    score. "direct-encounter" is the place among the players who are tied on points and on the
    tie-breaks named before it, NaN for a player who is tied with nobody. "progressive" is the sum
    of the scores after every round. "koya" counts the points against opponents with half of the
    possible points. "wins" counts games won, "rounds-won" also byes of a point and forfeits,
    "black-games" and "black-wins" the games with black, and "rounds-elected" the rounds without
    requested byes and forfeit losses. "aro" is the opponents' average rating, rounded.
    "fide-performance" is FIDE's performance rating, and "ptp" the lowest whole rating that expects
    the score by FIDE's table. "apro" and "appo" are the opponents' averages of these two, rounded.

    Byes and forfeits count if the games have `rounds`. If they do not, and players have fewer games
    than others, numbers that need their unplayed rounds are NaN.

    names : of `TIE_BREAKS`; the order matters for "direct-encounter" only
    unplayed : rounds without a game. "fide": by the regulations, NaN where a round is not known;
        "absent": the same, but who has no entry was absent; "ignore": only played games count
    pairing : "swiss", "round-robin", where a forfeit counts as a game against the opponent, or
        "auto": a round robin if every pair of players is scheduled equally often
    rules : date of the regulations, "2024-08" or "2026-03"; they differ in unplayed rounds
    Raises : InvalidParameterError   an unknown name, or results that are not whole games

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "ben", "cid"], ["ben", "cid", "ann"], [1, 0.5, 0.5])
    >>> found = eq.tie_breaks(games, ["buchholz", "sonneborn-berger"])
    >>> found["buchholz"].tolist(), found["sonneborn-berger"].tolist()
    ([1.5, 2.5, 2.0], [1.0, 0.5, 1.0])
    """
    _check(games, names)
    if not len(names):
        return {}
    return _columns(_field(games, pairing, unplayed, rules), names)


def _check(games: Games, names: Sequence[TieBreak]) -> None:
    for name in names:
        require(name in TIE_BREAKS, "tie_breaks", f"one of {', '.join(TIE_BREAKS)}", name)
    whole = games.weights == np.floor(games.weights)
    got = f"{games.weights[~whole][0]:g} games" if not whole.all() else ""
    require(not len(names) or bool(whole.all()), "tie_breaks", "of whole games", got)


def tournament_points(games: Games, unplayed: Unplayed = "fide") -> Floats:
    """Return every player's points with those of byes and forfeits, as far as they are known."""
    if games.rounds is None or unplayed == "ignore":
        return games.scored()
    return games.rounds.scored()


def places_by(points: Floats, columns: Sequence[Floats], ascending: Sequence[bool]) -> Ints:
    """Return the places by points and then by tie-breaks; equal players share the best, shape (N,).

    Players of whom one has no such number are not separated by it.

    columns : tie-breaks in their order; ascending : for each, whether the lowest is the best
    """
    places = np.zeros(len(points), np.int64)
    waiting: list[tuple[list[int], int, int]] = [(list(range(len(points))), 1, -1)]
    while waiting:
        rows, first, at = waiting.pop()
        if at >= len(columns) or len(rows) == 1:
            places[rows] = first
            continue
        values = points if at < 0 else columns[at] * (-1.0 if ascending[at] else 1.0)
        if np.isnan(values[rows]).any():
            waiting.append((rows, first, at + 1))
            continue
        for value in sorted({float(values[row]) for row in rows}, reverse=True):
            equal = [row for row in rows if values[row] == value]
            waiting.append((equal, first, at + 1))
            first += len(equal)
    return places


def _columns(field: _Field, names: Sequence[TieBreak]) -> dict[str, Floats]:
    """Return tie-breaks by name, each of shape (N,)."""
    columns: dict[str, Floats] = {}
    for name in names:
        columns[name] = _one(name, field, [field.score, *columns.values()])
    return columns


def _one(name: TieBreak, field: _Field, before: list[Floats]) -> Floats:
    """Return a tie-break, with NaN where it is not known.

    before : points and the tie-breaks named before
    """
    kind, lowest, highest = _kind_of(name)
    nothing = np.full(field.games.players, np.nan)
    if name == "direct-encounter":
        # A missing bye can create or break any tie, so no group is certain.
        return nothing if field.alone.any() else _direct_encounter(_met(field), before)
    parts = kind.parts(field)
    return nothing if parts is None else kind.total(field, cut(parts, lowest, highest))


def _average_buchholz(field: _Field) -> Parts:
    """Return the Buchholz of every opponent who was played."""
    of_player = np.where(field.unsure, np.nan, field.parts.sum())
    of_opponent = of_player[field.parts.opponent]
    return field.parts.with_values(of_opponent, of_opponent).only(field.played)


def _over_the_board(field: _Field, value: Floats) -> Parts:
    """Return the games that were played, of which each adds a number."""
    return _marked(field.parts.only(field.played), value)


def _every_round(field: _Field, value: Any) -> Parts:
    """Return also the rounds that count for no opponent's score."""
    every = np.ones(len(field.parts.player), np.bool_)
    return _marked(replace(field.parts, counts=every), value)


def _marked(parts: Parts, value: Any) -> Parts:
    """Return parts of which each adds a number, whatever the opponent's score is."""
    values = np.asarray(value, np.float64)
    return parts.with_values(values, np.full(len(values), np.nan))


def _over_opponents(field: _Field, of_player: Floats) -> Parts:
    values = of_player[field.rated.opponent]
    return field.rated.with_values(values, values).known()


def _rated(field: _Field) -> Parts:
    return field.rated.known()


def _fore_buchholz(field: _Field) -> Parts | None:
    """Return the scores of opponents as if the last round had been drawn; None without rounds."""
    if field.record is None:
        return None
    assumed = field.record.before_the_end()
    return _rounds_as_parts(assumed, assumed.counted_scores())


def _progressive(field: _Field) -> Parts | None:
    """Return the score after every round; None without rounds."""
    record = field.record
    if record is None:
        return None
    after = np.cumsum(record.points, axis=1)
    every = replace(record, kind=np.where(record.kind == FREE, KIND["zero-bye"], record.kind))
    parts = _rounds_as_parts(every, after)
    # Article 16 is about tie-breaks that are based on opponents' results.
    return replace(parts, voluntary=np.zeros(len(parts.value), np.bool_))


def _koya(field: _Field) -> Parts:
    """Return the points against every opponent; those below half of the possible points are out."""
    parts, record = field.parts, field.record
    score = field.score
    if record is None:
        most = float(np.max(parts.number(), initial=0.0))
    elif record.round_robin:
        most = float(np.max((record.opponent >= 0).sum(axis=1), initial=0))
    else:
        most = float(record.rounds)
    of_opponent = np.where(parts.opponent >= 0, score[parts.opponent], np.nan)
    beaten = parts.with_values(parts.points / parts.games, of_opponent)
    return beaten.only((parts.opponent >= 0) & (of_opponent >= most / 2))


def _won(field: _Field) -> Floats:
    """Return the number of games won of every part; NaN if it does not say how many were drawn."""
    games, parts = field.games, field.parts
    if field.record is not None:
        return np.asarray(parts.points == 1.0, np.float64)
    weight, points = games.weights, games.points
    if games.draws is not None:
        draws = games.draws
    else:
        single = (weight == 1) & np.isin(points, (0.0, 0.5, 1.0))
        swept = (points == 0) | (points == weight)
        draws = np.where(single | swept, np.where(points == 0.5, 1.0, 0.0), np.nan)
    both = np.tile(draws, 2)
    return np.asarray((parts.points - both / 2) / parts.games, np.float64)


def _black(field: _Field) -> Floats:
    """Return 1 for every part with the black pieces, else 0; NaN if colours are not known."""
    games, parts = field.games, field.parts
    if not games.coloured:
        return np.full(len(parts.player), np.nan)
    if field.record is not None:
        return np.asarray(field.record.colour[parts.player, parts.round - 1] == -1, np.float64)
    return np.repeat(np.array([0.0, 1.0]), games.rows)


def _mean(parts: Parts, *, rounded: bool = False) -> Floats:
    """Return the mean over games, perhaps rounded; NaN if no game counts."""
    number = parts.number()
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = parts.sum() / number
    rounded_mean = half_up(mean) if rounded else mean
    return np.asarray(np.where(number > 0, rounded_mean, np.nan))


def _met(field: _Field) -> Parts:
    """Return the encounters that count for the direct encounter (6.1.1, 15.2)."""
    if field.record is None:
        return field.parts
    return field.parts.only(field.record.met[field.parts.player, field.parts.round - 1])


def _ptp(rated: Parts) -> Floats:
    """Return the perfect tournament performance, from results against rated opponents (10.3).

    The expected score never falls with the rating, so the lowest rating is found by halving.
    """
    player, games = rated.player[rated.counts], rated.games[rated.counts]
    opponent = half_up(rated.value[rated.counts])
    lowest, highest = np.full(rated.players, np.inf), np.full(rated.players, -np.inf)
    np.minimum.at(lowest, player, opponent)
    np.maximum.at(highest, player, opponent)
    has = np.isfinite(lowest)
    # Invariant: `low` expects fewer points than were made, `high` enough.
    low = np.where(has, lowest - _NO_POINTS, 0.0)
    high = np.where(has, highest + _CERTAIN, 0.0)
    target = 100.0 * rated.total(rated.points)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        percent = percent_expected(middle[player] - opponent)
        enough = np.bincount(player, games * percent, rated.players) >= target
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    points = np.where(target > 0, high, np.where(has, lowest - _NO_POINTS, 0.0))
    return np.asarray(np.where(has, points, np.nan))


def _direct_encounter(met: Parts, before: list[Floats]) -> Floats:
    """Return places among tied players (6); NaN for a player who is tied with nobody."""
    shares = _shares(met)
    tied: dict[tuple[float, ...], list[int]] = {}
    for row, key in enumerate(zip(*(column.tolist() for column in before), strict=True)):
        tied.setdefault(tuple(key), []).append(row)
    places = np.full(met.players, np.nan)
    for group in tied.values():
        if len(group) > 1:
            _place(group, shares, places)
    return places


def _shares(met: Parts) -> list[dict[int, float]]:
    """Return player -> opponent -> points; of players who met more than once the average."""
    meetings: list[dict[int, tuple[float, float]]] = [{} for _ in range(met.players)]
    columns = (met.player, met.opponent, met.points, met.games, met.counts)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for player, opponent, points, games, counts in rows:
        if counts:
            taken, number = meetings[player].get(opponent, (0.0, 0.0))
            meetings[player][opponent] = (taken + points, number + games)
    return [
        {other: taken / games for other, (taken, games) in shares_of.items()}
        for shares_of in meetings
    ]


def _place(group: list[int], shares: list[dict[int, float]], places: Floats) -> None:
    """Write the places of tied players."""
    waiting = [(group, 1)]
    while waiting:
        group, first = waiting.pop()
        score, most = _standings(group, shares)
        if most == score:
            for value in sorted(set(score.values()), reverse=True):
                equal = [player for player in group if score[player] == value]
                if len(equal) in (1, len(group)):
                    places[equal] = first
                else:
                    waiting.append((equal, first))
                first += len(equal)
            continue
        left, at = list(group), first
        while left:
            best = max(left, key=lambda player: score[player])
            if any(most[player] >= score[best] for player in left if player != best):
                break
            # Alone at the top, whatever the results of missing games would have been (6.3).
            places[best] = at
            left.remove(best)
            at += 1
        if len(left) == len(group):
            places[group] = first
        elif left:
            waiting.append((left, at))


def _standings(
    group: list[int], shares: list[dict[int, float]]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the points of tied players against one another, and with missing games all won."""
    inside = set(group)
    score, most = {}, {}
    for player in group:
        met = [share for other, share in shares[player].items() if other in inside]
        score[player] = sum(met)
        most[player] = score[player] + len(group) - 1 - len(met)
    return score, most


def _sum(_: _Field, kept: Parts) -> Floats:
    return kept.sum()


def _sure(field: _Field, kept: Parts) -> Floats:
    """Return the sum, NaN if a round of the player or of an opponent is not known."""
    return np.where(field.unsure, np.nan, kept.sum())


def _own(field: _Field, kept: Parts) -> Floats:
    """Return the sum, NaN if a round of the player is not known."""
    return np.where(field.alone, np.nan, kept.sum())


def _rounded(_: _Field, kept: Parts) -> Floats:
    return _mean(kept, rounded=True)


class _Kind(NamedTuple):
    """A tie-break without modifiers.

    code : FIDE's; decimals : that tables show
    needs : rounds, of the player or of opponents; or ratings, without which it is NaN
    parts : of which it is made; None if they need rounds and the games have none
    total : the tie-break, from the parts that the modifier leaves
    """

    code: str
    decimals: int
    needs: Literal["rounds", "ratings", "games"]
    parts: Callable[[_Field], Parts | None]
    total: Callable[[_Field, Parts], Floats] = _sum


#: The tie-breaks without modifiers; `TieBreak` has the modifiers that each of them takes.
_KINDS: dict[str, _Kind] = {
    "buchholz": _Kind("BH", 1, "rounds", lambda f: f.parts, _sure),
    "fore-buchholz": _Kind("FB", 1, "rounds", _fore_buchholz, _sure),
    "average-buchholz": _Kind("AOB", 2, "rounds", _average_buchholz, lambda _, kept: _mean(kept)),
    "sonneborn-berger": _Kind(
        "SB",
        2,
        "rounds",
        lambda f: f.parts.with_values(f.parts.score * f.parts.points / f.parts.games),
        _sure,
    ),
    "direct-encounter": _Kind("DE", 0, "rounds", _met),
    "progressive": _Kind("PS", 1, "rounds", _progressive, _own),
    "koya": _Kind("KS", 1, "rounds", _koya, _sure),
    "wins": _Kind("WON", 0, "games", lambda f: _over_the_board(f, _won(f))),
    "rounds-won": _Kind("WIN", 0, "rounds", lambda f: _every_round(f, _won(f)), _own),
    "black-games": _Kind("BPG", 0, "games", lambda f: _over_the_board(f, _black(f))),
    "black-wins": _Kind("BWG", 0, "games", lambda f: _over_the_board(f, _black(f) * _won(f))),
    "rounds-elected": _Kind(
        "REP",
        0,
        "rounds",
        lambda f: _every_round(f, ~f.parts.voluntary & (f.parts.kind != KIND["forfeit-loss"])),
        _own,
    ),
    "aro": _Kind("ARO", 0, "ratings", _rated, _rounded),
    "fide-performance": _Kind("TPR", 0, "ratings", _rated, lambda f, _: fide_performance(f.games)),
    "ptp": _Kind("PTP", 0, "ratings", _rated, lambda _, kept: _ptp(kept)),
    "apro": _Kind(
        "APRO", 0, "ratings", lambda f: _over_opponents(f, fide_performance(f.games)), _rounded
    ),
    "appo": _Kind("APPO", 0, "ratings", lambda f: _over_opponents(f, _ptp(_rated(f))), _rounded),
}


def _kind_of(name: TieBreak) -> tuple[_Kind, int, int]:
    """Return a tie-break without its modifier, and the cuts from below and from above."""
    if name in _KINDS:
        return _KINDS[name], 0, 0
    base, _, modifier = name.rpartition("-")
    return _KINDS[base], *_CUTS[modifier][1:]


def _code(name: TieBreak) -> str:
    modifier = "" if name in _KINDS else _CUTS[name.rpartition("-")[2]][0]
    return _kind_of(name)[0].code + modifier


#: Name -> FIDE's code, and decimals that tables show.
CODES: dict[TieBreak, str] = {name: _code(name) for name in TIE_BREAKS}
DECIMALS: dict[TieBreak, int] = {name: _kind_of(name)[0].decimals for name in TIE_BREAKS}
#: Tie-breaks that depend on unplayed rounds, of the player or of opponents.
NEED_ROUNDS = frozenset(name for name in TIE_BREAKS if _kind_of(name)[0].needs == "rounds")
#: Those that are NaN for players without a rated opponent.
NEED_RATINGS = frozenset(name for name in TIE_BREAKS if _kind_of(name)[0].needs == "ratings")


@checks_arguments("before")
def tie_break_details(
    games: Games,
    player: int | str,
    name: TieBreak,
    *,
    before: Sequence[TieBreak] = (),
    unplayed: Unplayed = "fide",
    pairing: Pairing = "auto",
    rules: TieBreakRules = "2026-03",
) -> TieBreakDetails:
    """Return the games and rounds of which a player's tie-break is made, and which were cut.

    player : id; name : of `TIE_BREAKS`
    before : for "direct-encounter", the tie-breaks that come before it
    unplayed, pairing, rules : as in `tie_breaks`
    Raises : NotFoundError           no such player
    Raises : InvalidParameterError   an unknown name

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "ben", "cid"], ["ben", "cid", "ann"], [1, 0.5, 0.5])
    >>> found = eq.tie_break_details(games, "ann", "buchholz-cut1")
    >>> found
    <TieBreakDetails: buchholz-cut1 of ann is 1, of 1 of 2 parts>
    >>> found.to_polars().select("opponent", "value", "status").rows()
    [('ben', 0.5, 'cut'), ('cid', 1.0, 'counts')]
    """
    _check(games, [name, *before])
    rows = [at for at, one in enumerate(games.player_ids.tolist()) if str(one) == str(player)]
    if not rows:
        raise NotFoundError(f"not among the {counted(games.players, 'player')}: {player}")
    (row,) = rows
    field = _field(games, pairing, unplayed, rules)
    earlier_values = [field.score, *_columns(field, before).values()]
    value = float(_one(name, field, earlier_values)[row])
    kind, lowest, highest = _kind_of(name)
    encounter = name == "direct-encounter"
    parts = _tied(field, row, earlier_values) if encounter else kind.parts(field)
    if parts is None:
        return TieBreakDetails(player=games.player_ids[row], name=name, total=value)
    kept = cut(parts, lowest, highest)
    own = np.flatnonzero(parts.player == row)
    rounds = _rounds_of_rows(parts, field.record, own)
    own = own[np.argsort(rounds, kind="stable")]
    status: list[PartStatus] = [
        "left out" if not counts else "cut" if fewer else "counts"
        for counts, fewer in zip(
            parts.counts[own].tolist(), (kept.games < parts.games)[own].tolist(), strict=True
        )
    ]
    ids = games.player_ids
    return TieBreakDetails(
        player=ids[row],
        name=name,
        total=value,
        round=tuple(np.sort(rounds, kind="stable").tolist()),
        opponent=tuple(None if row < 0 else ids[row] for row in parts.opponent[own].tolist()),
        kind=tuple(ROUND_KINDS[kind] for kind in parts.kind[own].tolist()),
        games=tuple(parts.games[own].tolist()),
        points=tuple(parts.points[own].tolist()),
        score=tuple(parts.score[own].tolist()),
        value=tuple(parts.value[own].tolist()),
        status=tuple(status),
    )


def _tied(field: _Field, row: int, before: list[Floats]) -> Parts:
    """Return the encounters of tied players: those with a player of equal values count."""
    equal = np.ones(field.games.players, np.bool_)
    for values in before:
        equal &= values == values[row]
    met = _met(field)
    beside = (met.opponent >= 0) & equal[met.opponent]
    value = met.points / met.games
    return met.with_values(value, np.full(len(value), np.nan)).only(beside)


def _rounds_of_rows(parts: Parts, record: Record | None, own: Ints) -> Ints:
    """Return the rounds of a player's parts; parts made of results find theirs by the opponent."""
    rounds = parts.round[own].copy()
    if record is None or not len(own) or rounds.all():
        return rounds
    opponents = np.where(record.played, record.opponent, -1)[parts.player[own[0]]]
    free = list(enumerate(opponents.tolist(), start=1))
    for at, opponent in enumerate(parts.opponent[own].tolist()):
        known = next((pairing for pairing in free if pairing[1] == opponent), None)
        if known is not None:
            free.remove(known)
            rounds[at] = known[0]
    return rounds


def unplayed_note(games: Games, names: Sequence[TieBreak], unplayed: Unplayed) -> str:
    """Return a sentence on tie-breaks that need unplayed rounds, "" if there is nothing to say."""
    affected = [name for name in names if name in NEED_ROUNDS]
    if not affected:
        return ""
    listed = ", ".join(affected)
    if games.rounds is not None:
        return _note_on_rounds(games, games.rounds, listed, unplayed)
    played = games.played()
    fewer = int((played < np.max(played, initial=0.0)).sum())
    of_rounds = [name for name in affected if name.startswith(("fore-", "progressive"))]
    lines = []
    if of_rounds:
        lines.append(f"the games have no rounds, which {', '.join(of_rounds)} need")
    if fewer:
        who = counted(fewer, "player has", "players have")
        lines.append(
            f"{who} fewer games than others, and the games do not say whether a round was a bye, "
            "a forfeit or an absence, which FIDE's article 16 counts differently: "
            + _consequence(listed, unplayed)
        )
    return "; ".join(lines)


def _note_on_rounds(games: Games, rounds: Rounds, listed: str, unplayed: Unplayed) -> str:
    if unplayed == "ignore":
        if (rounds.kind == KIND["played"]).all():
            return ""
        return f"byes and forfeits are ignored: {listed} may differ from FIDE's"
    record = record_of(games, "auto", unplayed, "2026-03")
    unknown = 0 if record is None else int(np.count_nonzero(record.unknown))
    if not unknown:
        return ""
    who = counted(unknown, "player has", "players have")
    return (
        f"{who} rounds without a result, and the games do not say whether they were byes, forfeits "
        f"or absences, which FIDE's article 16 counts differently: {_consequence(listed, unplayed)}"
        " If these players were absent, say so (--unplayed absent)."
    )


def _consequence(listed: str, unplayed: Unplayed) -> str:
    if unplayed == "ignore":
        return f"{listed} count played games only, and may differ from FIDE's."
    return (
        f"{listed} are empty where this matters. To count played games only, ignore unplayed "
        "rounds (--unplayed ignore)."
    )
