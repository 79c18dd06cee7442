"""equipoise strengths: rankings and choices in, strengths out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from equipoise.analysis.requests.rating import StrengthsRequest
from equipoise.cli import options
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


def strengths(*, request: StrengthsRequest, as_json: options.Json) -> None:
    """Estimate strengths from rankings of any number of players, or from choices of one.

    These are the ratings under which the rankings are most probable, by the model of Plackett and
    Luce. All matches count the same, and nothing changes over time. Players who share the last
    place of a match are not ranked among themselves, so a choice of one among five has the ranks 1,
    2, 2, 2, 2. If a group of players was never beaten by the others, there are no finite strengths:
    the answer then names the groups.
    """
    from equipoise.analysis.files.strengths import estimate_strengths, message_of

    with working("estimating"):
        answer = estimate_strengths(request)
    message = message_of(answer, request)
    if as_json:
        print_json(message)
        return
    if request.output is None:
        _print_strengths(answer)
    lines = [
        f"Chosen and expected choices differ by at most {message.residual:.0e}. "
        f"Log likelihood {message.log_likelihood:.2f}. "
        f"Errors have {100 * request.confidence:g} % confidence."
    ]
    prior = request.prior
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
