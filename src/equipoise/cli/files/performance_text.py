"""A tournament's performance table in words and numbers that an organiser would accept."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np

from equipoise.cli.options import problem_lines
from equipoise.cli.report import print_lines, print_table, say
from equipoise.cli.tables import table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.files.performance import PerformanceAnswer
    from equipoise.data.reading import GamesReading
    from equipoise.data.tournament import Superiority, TournamentPerformance

#: Players shown on a terminal; a file or a pipe gets all of them.
SHOWN = 100
#: Players whose names fit above the columns of a matrix.
_MATRIX = 20

#: Points by which expected and actual ones may differ, where ratings are said to predict scores.
_PROMISED = 1e-6

#: Column of the table -> its head and its decimals.
_NUMBERS = {
    "games": ("games", 0),
    "points": ("points", 1),
    "expected": ("expected", 4),
    "rating": ("rating", 0),
    "average_opponent": ("opponents", 0),
    "tpr": ("TPR", 0),
    "cpr": ("CPR", 0),
    "fide": ("FIDE", 0),
    "ppr": ("PPR", 1),
    "error": ("+-", 1),
    "linear": ("linear", 0),
    "recursive": ("recursive", 0),
    "class_ppr": ("in class", 1),
    "lower": ("at least", 0),
    "upper": ("at most", 0),
}


def print_performance(answer: PerformanceAnswer) -> None:
    """Print the table, what it is worth, and whatever a reader should know of the games."""
    found = answer.performance
    _print_players(found)
    if found.superiority is not None:
        print_lines("")
        _print_superiority(found, found.superiority)
    print_lines("")
    # That an equilibrium exists is said by what it promises.
    reasons = found.reasons[1:] if found.exists else found.reasons
    lines = [*_certificate(found), *_labels(found), *reasons]
    print_lines(*lines)
    reading = answer.reading
    say(*_skipped(reading), *_left_out(answer), *_unrated(found), *reading.notes)


def _print_players(found: TournamentPerformance) -> None:
    """Print a row a player, without the columns that nobody has anything in."""
    frame = found.table
    shown = frame.head(SHOWN) if sys.stdout.isatty() else frame
    hidden = {"status", "class"} if found.exists and "no-games" not in frame["status"] else set()
    names = [
        name
        for name in frame.columns
        if name not in hidden
        and frame[name].null_count() < len(frame)
        and not (name in ("class_ppr", "lower", "upper") and found.exists)
    ]
    columns = {"": "d"}
    for name in names:
        head, _ = _NUMBERS.get(name, (name, 0))
        columns[head] = ">" if name in _NUMBERS or name == "class" else ""
    rows = (
        (place, *(_cell(name, value) for name, value in zip(names, row, strict=True)))
        for place, row in enumerate(shown.select(names).iter_rows(), start=1)
    )
    print_table(table(columns, rows))
    if len(shown) < len(frame):
        more = counted(len(frame) - len(shown), "more player")
        say(f"... and {more}; --output FILE keeps them all.")


def _cell(name: str, value: object) -> str:
    """Return a value as the table shows it."""
    if value is None:
        return ""
    if name not in _NUMBERS or not isinstance(value, float):
        return str(value)
    if name in ("games", "points", "expected") and value != round(value, 1) and value < 0.01:
        return f"{value:.4g}"  # weighted games
    if name in ("games", "points") and value != round(value, 1):
        return f"{value:.4g}"
    text = f"{value:.{_NUMBERS[name][1]}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text


def _certificate(found: TournamentPerformance) -> list[str]:
    """Return what the ratings promise, and how well they keep it."""
    one = found.standing
    if found.prior:
        return [
            f"Regularised: everybody was given {found.prior:g} drawn "
            f"{'game' if found.prior == 1 else 'games'} against an average player, so the ratings "
            "are pulled together and predict no score exactly."
        ]
    rated = [row for row, ppr in enumerate(one.ppr.tolist()) if not math.isnan(ppr)]
    if not rated:
        return []
    free = [row for row in rated if found.player_ids[row] not in found.held or len(found.held) < 2]
    worst = max((abs(one.expected[row] - one.points[row]) for row in free), default=0.0)
    if worst > _PROMISED:
        return [f"Expected and actual points differ by up to {worst:.0e}: more than is promised."]
    every = "every score" if found.exists else "the scores of all who have one"
    exception = " but those of the players held" if len(free) < len(rated) else ""
    how = "agree exactly" if worst == 0 else f"differ by at most {worst:.0e}"
    return [f"The PPRs predict {every}{exception}: expected and actual points {how}."]


def _labels(found: TournamentPerformance) -> list[str]:
    """Return what else the ratings rest on."""
    lines = []
    one = found.standing
    apart = not found.exists and not found.prior
    if apart:
        bounds = not (np.isnan(one.lower).all() and np.isnan(one.upper).all())
        lines.append(
            "Without an equilibrium players are compared within their class only"
            + "; at least and at most say what winning or losing every game against another class "
            "still tells." * bounds + "." * (not bounds)
        )
    if found.relative:
        whose = "ratings within every class" if apart else "PPRs"
        lines.append(
            f"Relative: no rating is known and no --anchor given, so the {whose} have mean 0; only "
            "their differences mean something."
        )
    if found.colour_advantage:
        lines.append(f"White is worth {found.colour_advantage:.1f} points more.")
    if not math.isnan(found.draw_parameter):
        nu = found.draw_parameter
        lines.append(
            f"Draws are modelled (Davidson, nu = {nu:.4g}): equals draw "
            f"{100 * nu / (2 + nu):.1f} % of their games."
        )
    if not math.isnan(_some_error(found)):
        spread = ", for results that vary as these did" if math.isnan(found.draw_parameter) else ""
        lines.append(f"Error bars hold with {100 * found.confidence:g} % confidence{spread}.")
    rated = np.isfinite(one.class_ppr if apart else one.ppr)
    missing = int(np.sum(rated & np.isnan(one.error)))
    if missing:
        lines.append(
            f"{counted(missing, 'player has', 'players have')} no error bar: one of a large "
            "component costs a system of equations (name players with --player), and games that "
            "weigh too unevenly allow none."
        )
    return lines


def _some_error(found: TournamentPerformance) -> float:
    """Return some error bar, NaN if there is none."""
    return next((one for one in found.standing.error.tolist() if not math.isnan(one)), math.nan)


def _skipped(reading: GamesReading) -> list[str]:
    """Return how many results were skipped on request, and what is wrong with them."""
    if not reading.problems:
        return []
    results = counted(reading.skipped, "bad result was", "bad results were")
    return [f"{results} skipped", *problem_lines(reading.problems)]


def _left_out(answer: PerformanceAnswer) -> list[str]:
    """Return what is not a game, in one line."""
    counts = [f"{count:,} {reason}" for reason, count in answer.reading.left_out.items() if count]
    return [f"Not counted as games: {', '.join(counts)}."] if counts else []


def _unrated(found: TournamentPerformance) -> list[str]:
    """Return that games against unrated opponents do not count everywhere, where there are some."""
    one = found.standing
    unrated = int(np.sum(np.isnan(one.rating) & (one.games > 0)))
    if not unrated or np.isnan(one.average_opponent).all():
        return []
    return [
        f"{counted(unrated, 'player has', 'players have')} no rating before the tournament: games "
        "against them count for the PPR, and not for TPR, CPR and FIDE's number."
    ]


def _print_superiority(found: TournamentPerformance, matrix: Superiority) -> None:
    """Print the probabilities that a row's player is better than a column's, in percent."""
    names = [str(found.player_ids[row]) for row in matrix.rows.tolist()]
    shown = names[:_MATRIX]
    print_lines("How probable it is, in percent, that a row is better than a column")
    heads = [str(place) for place in range(1, len(shown) + 1)]
    rows = (
        (heads[i], name, *(_percent(one) for one in matrix.probability[i, : len(shown)].tolist()))
        for i, name in enumerate(shown)
    )
    print_table(table({" ": ">", "player": "", **dict.fromkeys(heads, ">")}, rows))
    if len(shown) < len(names):
        say(f"... and {len(names) - len(shown)} more; --json has them all.")


def _percent(probability: float) -> str:
    return "" if math.isnan(probability) else f"{100 * probability:.0f}"
