"""equipoise strengths: rankings and choices in, strengths out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.report import print_json, print_lines, print_table, reading_lines, say, working
from equipoise.cli.tables import table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.files.strengths import StrengthsAnswer

EXAMPLE = """\b
Example:
  equipoise strengths examples/contests.csv --ties breslow --prior 1 --anchor 1500
  equipoise strengths examples/contests.csv --top 1 --ties breslow --prior 1"""

#: Players shown on a terminal; a file or a pipe gets all of them.
_SHOWN = 100


def strengths(
    *,
    history: options.History,
    top: int | None = option(
        None, "Use only the first places of every match; 1 uses only who won.", "PLACES", min=1
    ),
    ties: Literal["refuse", "breslow"] = option(
        "refuse",
        "Ties above the last place. breslow: count g tied players as g choices from the set of "
        "them and all below, which is an approximation.",
        "refuse|breslow",
    ),
    prior: float = option(
        0.0,
        "Number of drawn games against an average player to add for every player. Strengths then "
        "always exist, but are closer together.",
        "GAMES",
        min=0.0,
    ),
    anchor: float = option(0.0, "Mean rating of the players who are connected by matches.", "R"),
    scale: float = option(1.0, "Scale of the ratings. With 1, 400 points mean odds of ten to one."),
    confidence: options.Confidence,
    output: str | None = option(
        None, "Write the table: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    ),
    raw: options.RawText,
    reading: options.Reading,
    as_json: options.Json,
) -> None:
    """Estimate strengths from rankings of any number of players, or from choices of one.

    These are the ratings under which the rankings are most probable, by the model of Plackett and
    Luce. All matches count the same, and nothing changes over time. Players who share the last
    place of a match are not ranked among themselves, so a choice of one among five has the ranks 1,
    2, 2, 2, 2. If a group of players was never beaten by the others, there are no finite strengths:
    the answer then names the groups.
    """
    from equipoise.analysis.files.strengths import (
        StrengthsRequest,
        estimate_strengths,
        message_of,
    )
    from equipoise.analysis.files.systems import read_settings

    request = StrengthsRequest(
        history=reading.request(history, read_settings(None)),
        top=top,
        ties=ties,
        prior=prior,
        anchor=anchor,
        scale=scale,
        confidence=confidence,
        output=output,
        raw=raw,
    )
    with working("estimating"):
        answer = estimate_strengths(request)
    message = message_of(answer, request)
    if as_json:
        print_json(message)
        return
    if output is None:
        _print_strengths(answer)
    lines = [
        f"Chosen and expected choices differ by at most {message.residual:.0e}. "
        f"Log likelihood {message.log_likelihood:.2f}. "
        f"Errors have {100 * confidence:g} % confidence."
    ]
    if prior:
        lines.append(
            f"Regularised: every player was given {prior:g} drawn "
            f"{'game' if prior == 1 else 'games'} against an average player."
        )
    if message.components > 1:
        lines.append(
            f"{counted(message.components, 'group')} of players never met one another. Ratings of "
            "different groups cannot be compared."
        )
    print_lines(*lines)
    say(*reading_lines(message.history))


def _print_strengths(answer: StrengthsAnswer) -> None:
    """Print one row for each player, best first."""
    frame = answer.table()
    shown = frame.head(_SHOWN) if sys.stdout.isatty() else frame
    several = answer.strengths.component.max(initial=0) > 0
    formats = {"": "d", "player": "", "rating": ".1f", "+-": ".1f", "matches": "d"}
    formats |= {"chosen": ".4g", "expected": ".4g"} | ({"group": ">"} if several else {})
    rows = (
        (place, *row) if several else (place, *row[:-1])
        for place, row in enumerate(
            shown.select(
                "player", "rating", "error", "matches", "chosen", "expected", "component"
            ).iter_rows(),
            start=1,
        )
    )
    print_table(table(formats, rows))
    if len(shown) < len(frame):
        more = counted(len(frame) - len(shown), "more player")
        say(f"... and {more}; --output FILE keeps them all.")
