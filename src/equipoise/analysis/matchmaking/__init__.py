"""Which rulesets to try on which days."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from equipoise.analysis.requests import Workers, typed


def read_day(path: str, name: str) -> dict[str, Any]:
    """Return the fields of a day in a TOML file. Raises : NotFoundError, InvalidParameterError."""
    from equipoise.matchmaking.arrivals import read_day

    return read_day(path, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRequest:
    """Which rulesets to simulate on which days, and where the page goes.

    ruleset : paths of rulesets, as LABEL=FILE or FILE
    config : fields of `DayModel` by name
    command : the command that the page shows; "" for none
    """

    ruleset: tuple[str, ...] = typed(
        ...,
        "A ruleset as JSON, or a request of `matchmaking tick` that contains one; optionally "
        "with a label. Repeatable: the others are compared with the first.",
        "[LABEL=]FILE",
    )
    config: Mapping[str, Any] = typed(
        dict,
        "TOML file with the assumptions about a day, such as examples/day.toml. Each has a "
        "default, and the output lists all of them.",
        "DAY.toml",
        read=read_day,
    )
    trace: str | None = typed(
        None,
        "Take the arrivals from a table with the columns ticket, time, ratings (of the players, "
        "separated by spaces) and optionally region; or from a history of real games, whose "
        "players arrive alone, shortly before their games. Their true skills are their ratings "
        "by --system, or trueskill, after the history.",
        "TRACE",
    )
    days: int = typed(20, "Number of simulated days. A trace is one day.", least=1)
    precision: float | None = typed(
        None,
        "Stop before --days, after 5 days or more, once half of every interval in the verdict is "
        "at most this share of the first ruleset's mean.",
    )
    seed: int = typed(0, "Random seed. Day n has this seed plus n.", least=0)
    sweep: str | None = typed(
        None,
        "Try the ruleset with several values of a field, such as "
        "matching_rule[0].reference=50,100 or waiting_price=0.0005,0.001. The page plots wait "
        "against fairness.",
        "FIELD=VALUES",
    )
    objective: Literal["accelbyte", "fair"] = typed(
        "accelbyte",
        "Goal of a match: the lowest score (accelbyte), or a win probability close to 1/2 (fair).",
    )
    waiting_price: float | None = typed(
        None,
        "With `--objective fair`: make a match once abs(p - 1/2) is at most this times the mean "
        "wait of its tickets, in seconds.",
    )
    exact_tick: bool = typed(
        False,
        "Call the service's tick even where compiled rules make the same matches. Slower, but "
        "reports why tickets wait.",
    )
    workers: Workers = None
    report: str | None = typed(None, "Write an HTML page with tables and charts.", "FILE.html")
    command: str = ""
