"""Rules by which the tables may have been rounded: how many printed TPRs and PPRs each one gives.

Note 8 of the document says only that all ratings are rounded. Its tables differ from the nearest
whole number in seven places, so that rules are tried on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Floats
from equipoise.data.games import Games
from equipoise.tournament.equilibrium import performance_equilibrium
from equipoise.tournament.formulas import fide_performance, linear_performance
from papers.items import Facts
from papers.lines import Line, beyond, holds
from papers.performance.iteration import performance_function
from papers.performance.tournaments import (
    AVERAGE_1970,
    GRANDS_PRIX,
    grand_prix,
    interzonal,
    of,
    round_robin,
    table,
    tournament_average,
)

#: What becomes of halves in the last rounding, or that all digits are cut off.
End: TypeAlias = Literal["even", "up", "down", "cut"]
#: Steps that settle every tournament of the tables to a thousandth of a point.
_STEPS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A way from f to a printed number.

    end : of halves, in the rounding to a whole number
    digits : to which ratings are rounded before that; None for not at all
    every_step : they are rounded in each step of the iteration; otherwise only its end is
    stops : the iteration ends as soon as no whole number changes, from the third step on
    whole_average : it starts from the average as a whole number
    """

    says: str
    end: End = "even"
    digits: int | None = None
    every_step: bool = True
    stops: bool = False
    whole_average: bool = False


#: What the program does that the document names, as published on 2024-10-31
#: (github.com/drmehmetismail/Perfect-Performance-Ratings). Described here, not copied.
PROGRAM = Rule(
    says="tenths in every step, until no whole number changes; halves to even (the program)",
    digits=1,
    stops=True,
)
RULES = (
    Rule(says="nearest whole number"),
    PROGRAM,
    Rule(says="as the program, but halves up", digits=1, stops=True, end="up"),
    Rule(says="as the program, but halves down", digits=1, stops=True, end="down"),
    Rule(says="as the program, from a whole average", digits=1, stops=True, whole_average=True),
    Rule(
        says="as the program, from a whole average, halves up",
        digits=1,
        stops=True,
        end="up",
        whole_average=True,
    ),
    Rule(says="tenths at the end only, halves to even", digits=1, every_step=False),
    Rule(says="tenths at the end only, halves up", digits=1, every_step=False, end="up"),
    Rule(says="tenths at the end only, halves down", digits=1, every_step=False, end="down"),
    Rule(says="hundredths in every step", digits=2),
    Rule(says="whole numbers in every step", digits=0),
    Rule(says="nothing rounded until no whole number changes", stops=True),
    Rule(says="digits cut off", end="cut"),
    Rule(says="from a whole average", whole_average=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A tournament of the tables: its games, where the iteration starts, and what is printed.

    rows : columns name and ppr, and tpr where the document prints it
    """

    name: str
    games: Games
    start: float
    rows: pl.DataFrame


@cache
def printed() -> tuple[Printed, ...]:
    """Return the five tournaments; of 1970 the games from which Table 3 was computed."""
    found = []
    for number in (1, 2):
        rows = table("table1").filter(pl.col("tournament") == number)
        games = round_robin(number)
        found.append(
            Printed(
                name="Table 1",
                games=games,
                start=tournament_average(games),
                rows=rows.rename({"player": "name"}),
            )
        )
    for where in GRANDS_PRIX:
        games = grand_prix(where)
        rows = table("table2").filter(pl.col("tournament") == where)
        start = tournament_average(games)
        found.append(Printed(name=where.capitalize(), games=games, start=start, rows=rows))
    games = interzonal(complete=False)
    found.append(Printed(name="Table 3", games=games, start=AVERAGE_1970, rows=table("table3")))
    return tuple(found)


def whole(values: Floats, end: End) -> Floats:
    """Return whole numbers."""
    if end == "even":
        return np.rint(values)
    if end == "cut":
        return np.floor(values)
    return np.floor(values + 0.5) if end == "up" else np.ceil(values - 0.5)


def ratings(rule: Rule, one: Printed) -> dict[str, Floats]:
    """Return TPRs, where they are printed, and PPRs by a rule, in the order of the players."""

    def rounded(values: Floats) -> Floats:
        return values if rule.digits is None else np.round(values, rule.digits)

    found = {}
    if "tpr" in one.rows.columns:
        found["tpr"] = whole(rounded(performance_function(one.games)), rule.end)
    start = float(np.rint(one.start)) if rule.whole_average else one.start
    x = np.full(one.games.players, start)
    for step in range(1, _STEPS + 1):
        before, x = x, performance_function(one.games, of(one.games, x))
        if rule.every_step:
            x = rounded(x)
        if rule.stops and step >= 3 and np.array_equal(np.rint(x), np.rint(before)):
            break
    found["ppr"] = whole(rounded(x), rule.end)
    return found


def met(one: Printed, column: str, ours: Floats) -> list[bool]:
    """Return for each printed number whether ours is the same."""
    value = of(one.games, ours)
    return [value[row["name"]] == row[column] for row in one.rows.iter_rows(named=True)]


def roundings(_: Facts) -> Iterator[Line]:
    """Yield how many printed numbers each rule gives, and why no rule gives all."""
    for rule in RULES:
        counts: dict[str, list[bool]] = {}
        for one in printed():
            for column, ours in ratings(rule, one).items():
                counts.setdefault(one.name, []).extend(met(one, column, ours))
        yield beyond(rule.says, _counted(counts))
    yield from _formulas()
    yield from _average_of_sharjah()
    yield _no_rule()


def _counted(counts: dict[str, list[bool]]) -> str:
    """Return "70 of 72 (Palma 35 of 36, Sharjah 35 of 36)"."""
    every = [one for found in counts.values() for one in found]
    parts = ", ".join(f"{name} {sum(found)} of {len(found)}" for name, found in counts.items())
    return f"{sum(every)} of {len(every)} ({parts})"


def _formulas() -> Iterator[Line]:
    """Yield how many printed TPRs follow from other formulas of a performance rating."""
    formulas = (
        ("TPRs from the average opponent", _against_the_average),
        ("TPRs by the linear formula", linear_performance),
        ("TPRs by FIDE's table", fide_performance),
    )
    for says, formula in formulas:
        counts: dict[str, list[bool]] = {}
        for one in printed():
            if "tpr" in one.rows.columns:
                ours = np.rint(formula(one.games))
                counts.setdefault(one.name, []).extend(met(one, "tpr", ours))
        yield beyond(says, _counted(counts))


def _against_the_average(games: Games) -> Floats:
    """Return what would expect the score against opponents who all have their average rating."""
    opponents = np.bincount(games.white, games.initial[games.black], games.players)
    opponents += np.bincount(games.black, games.initial[games.white], games.players)
    played = np.bincount(games.white, minlength=games.players)
    played = played + np.bincount(games.black, minlength=games.players)
    share = games.scored() / played
    return np.asarray(opponents / played + 400.0 * np.log10(share / (1.0 - share)))


def _average_of_sharjah() -> Iterator[Line]:
    """Yield which averages of Sharjah would give all of its printed PPRs."""
    games = grand_prix("sharjah")
    ours = of(games, performance_equilibrium(games).rating)
    rows = table("table2").filter(pl.col("tournament") == "sharjah")
    miss = [row["ppr"] - ours[row["name"]] for row in rows.iter_rows(named=True)]
    average = tournament_average(games)
    low, high = average + max(miss) - 0.5, average + min(miss) + 0.5
    yield beyond(
        "Sharjah: averages from which all 18 PPRs round to print",
        f"{low:.2f} to {high:.2f}; ours {average:.2f}",
        reason="one of the 18 ratings a point higher would do; the printed ratings have ours",
    )


def _no_rule() -> Line:
    """Return that two printed TPRs contradict every rule that looks at the number alone."""
    found = {}
    for where, name in (("palma", "Jakovenko"), ("sharjah", "Vachier-Lagrave")):
        games = grand_prix("palma" if where == "palma" else "sharjah")
        row = table("table2").filter((pl.col("tournament") == where) & (pl.col("name") == name))
        found[where] = of(games, performance_function(games))[name], row["tpr"].item()
    (palma, up), (sharjah, down) = found["palma"], found["sharjah"]
    return holds(
        "the larger of two TPRs is not printed as the smaller number",
        f"{up} and {down}",
        f"{palma:.3f} and {sharjah:.3f}",
        not (palma < sharjah and up > down),
        reason="so no rule gives both: one of them was computed from something else, or is a slip",
    )
