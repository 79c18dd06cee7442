"""Performance ratings by their definitions: player by player, game by game, by halving.

Source: [PRE]_ Def. 4, [CPR]_, [RP]_. Slow and plain; lists of games in, a rating per player out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: One game: first player, second player, points of the first, weight.
Game = tuple[str, str, float, float]


def psi(t: float) -> float:
    """Return the expected score of one game on the Elo curve."""
    return 1.0 / (1.0 + 10.0 ** (-t / 400.0))


def tournament_performance(
    opponents: Sequence[float], points: float, weights: Sequence[float], scale: float = 1.0
) -> float:
    """Return the rating that predicts the points, by halving an interval around it."""
    low, high = min(opponents) - 8000 * scale, max(opponents) + 8000 * scale
    for _ in range(200):
        middle = (low + high) / 2
        expected = sum(
            weight * psi((middle - opponent) / scale)
            for opponent, weight in zip(opponents, weights, strict=True)
        )
        low, high = (middle, high) if expected < points else (low, middle)
    return (low + high) / 2


def equilibrium(games: Sequence[Game], players: Sequence[str], rounds: int) -> dict[str, float]:
    """Return the ratings that predict all scores, their mean 0, after so many rounds of x <- f(x).

    In every round each player gets the tournament performance against the others as they are.
    """
    now = dict.fromkeys(players, 0.0)
    for _ in range(rounds):
        after = {}
        for player in players:
            own = [
                (two, points, weight) if one == player else (one, weight - points, weight)
                for one, two, points, weight in games
                if player in (one, two)
            ]
            after[player] = tournament_performance(
                [now[other] for other, _, _ in own],
                sum(points for _, points, _ in own),
                [weight for _, _, weight in own],
            )
        mean = sum(after.values()) / len(after)
        now = {player: value - mean for player, value in after.items()}
    return now


def complete_performance(opponents: Sequence[float], points: float) -> float:
    """Return the rating that k games and a draw against an equal leave unchanged.

    The k opponents count with their average, as in [CPR]_: by halving, from the definition.
    """
    k = len(opponents)
    average = sum(opponents) / k
    low, high = average - 40_000, average + 40_000
    for _ in range(200):
        middle = (low + high) / 2
        field = (k * average + middle) / (k + 1)
        expected = (k + 1) * psi(middle - field)
        low, high = (middle, high) if expected < points + 0.5 else (low, middle)
    return (low + high) / 2


def recursive_performance(
    games: Sequence[Game], start: Mapping[str, float], worth: Mapping[str, float], rounds: int
) -> dict[str, float]:
    """Return each player's performance after so many rounds of averaging.

    start : of the first round; worth : of every player's score, in rating points
    The mean of the last two rounds is returned, as rounds may swing between two answers.
    """
    meetings: dict[str, list[tuple[str, float]]] = {player: [] for player in start}
    for first, second, _, weight in games:
        meetings[first].append((second, weight))
        meetings[second].append((first, weight))
    played = {player: sum(weight for _, weight in meetings[player]) for player in start}
    common = sum(worth[one] * played[one] for one in start) / sum(played.values())
    now, before = dict(start), dict(start)
    for _ in range(rounds):
        before = now
        now = {
            player: sum(weight * before[other] for other, weight in meetings[player])
            / played[player]
            + worth[player]
            - common
            for player in start
        }
    return {player: (now[player] + before[player]) / 2 for player in start}
