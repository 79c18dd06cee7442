"""What `equipoise compare` and `equipoise rate --diff` print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equipoise.cli.report import print_lines, print_table, say
from equipoise.cli.tables import cut, table
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl

    from equipoise.data.comparison import MovedBy, RatingComparison

#: Width of a name in a table, and of a file's name in a sentence; --json has all of it.
_NAME, _FILE = 32, 60
#: Players of one table that are named in a line.
_LISTED = 5


def print_comparison(
    found: RatingComparison, top: int, by: MovedBy = "rating", *, command: str = ""
) -> None:
    """Print who is in both tables, how alike they are, and who moved most.

    command : that has the option --scale, if it is not the one that runs
    """
    print_lines(*_who(found), "", *_scale(found, command))
    _print_changes(found)
    print_lines("", *_alike(found))
    for head, moved in (("Rose", found.risen(top, by=by)), ("Fell", found.fallen(top, by=by))):
        what = "" if by == "rating" else " by place"
        if len(moved):
            print_lines("", f"{head} most{what}")
            _print_moved(found, moved)
        elif top:
            print_lines("", f"Nobody {head.lower()}{what}.")
    say(*found.notes)


def _who(found: RatingComparison) -> list[str]:
    """Return lines on the players in both tables, and in one only."""
    lines = [
        f"{counted(found.players, 'player')} in both {_name(found.old)} (old) and "
        f"{_name(found.new)} (new)"
    ]
    for name, players in ((found.old, found.only_old), (found.new, found.only_new)):
        if players:
            named = ", ".join(cut(one, _NAME) for one in players[:_LISTED])
            more = len(players) - _LISTED
            rest = f" and {more:,} more" if more > 0 else ""
            lines.append(f"{counted(len(players), 'player')} only in {_name(name)}: {named}{rest}")
    return lines


def _scale(found: RatingComparison, command: str) -> list[str]:
    """Return lines on which changes count, and why."""
    line = found.line
    if found.scale == "same" or line is None:
        more = "" if line is None else f"; {command}--scale line compares them on one scale"
        return [f"Changes are differences of the ratings as they are: {found.reason}{more}."]
    sign = "+" if line.intercept >= 0 else "-"
    digits = _digits(found)
    return [
        f"Changes are taken on the scale of the new ratings: {found.reason} ({command}--scale same "
        "compares the ratings as they are).",
        f"The straight line between the scales is new = {line.slope:.5g} x old {sign} "
        f"{abs(line.intercept):,.{digits}f}; the new ratings vary "
        f"around it with a standard deviation of {line.residual:,.{digits}f}.",
    ]


def _print_changes(found: RatingComparison) -> None:
    """Print the summary of the changes, by both scales if there is a line."""
    summaries = {"as they are": found.as_they_are}
    if found.on_line is not None:
        summaries["on the line"] = found.on_line
    signed, plain = f"+,.{_digits(found)}f", f",.{_digits(found)}f"
    rows = [
        ("mean", signed, [one.mean for one in summaries.values()]),
        ("median", signed, [one.median for one in summaries.values()]),
        ("standard deviation", plain, [one.standard_deviation for one in summaries.values()]),
        ("mean size", plain, [one.mean_absolute for one in summaries.values()]),
    ]
    cells = [[name, *(_number(value, form) for value in values)] for name, form, values in rows]
    print_lines("")
    print_table(table({"changes": "", **dict.fromkeys(summaries, ">")}, cells))


def _number(value: float, form: str) -> str:
    """Return a number; one that rounds to zero has no sign."""
    text = format(value, form)
    return text if text.strip("+-0.,") else text.lstrip("+-")


def _alike(found: RatingComparison) -> list[str]:
    """Return lines on correlations, pairs, and changes beyond the deviations."""
    lines = []
    if not math.isnan(found.pearson):
        lines.append(
            f"Correlation: Pearson {found.pearson:.4f}, Spearman {found.spearman:.4f}, Kendall "
            f"{found.kendall:.4f}."
        )
    if found.pairs:
        same, reverse, tied = (
            100 * count / found.pairs
            for count in (found.same_order, found.reverse_order, found.tied)
        )
        ties = f", {tied:.2f} % tied in a table" if found.tied else ""
        lines.append(
            f"Of {counted(found.pairs, 'pair')} of players, {same:.2f} % are in the same order, "
            f"{reverse:.2f} % in reverse order{ties}."
        )
    if found.with_deviations:
        who = counted(found.with_deviations, "player")
        lines.append(
            f"Of {who} with deviations in both, {found.large:,} changed by more than two "
            "deviations of both ratings."
        )
    return lines


def _print_moved(found: RatingComparison, moved: pl.DataFrame) -> None:
    """Print players with their ratings and places, before and now."""
    digits = _digits(found)
    number, change = f",.{digits}f", f"+,.{digits}f"
    columns = {"player": "", "old": number}
    values = [[cut(one, _NAME) for one in moved["player"]], moved["old_rating"].to_list()]
    if found.scale == "line":
        columns["on new scale"] = number
        values.append(moved["old_on_scale"].to_list())
    columns |= {"new": number, "change": change}
    values += [moved[name].to_list() for name in ("new_rating", "change")]
    if found.with_deviations:
        columns["in deviations"] = "+.2f"
        values.append(moved["in_deviations"].to_list())
    columns |= {"old place": ",d", "new place": ",d", "places": ">"}
    values += [moved[name].to_list() for name in ("old_place", "new_place")]
    values.append([_number(places, "+,d") for places in moved["place_change"]])
    print_table(table(columns, zip(*values, strict=True)))


def _digits(found: RatingComparison) -> int:
    """Return the decimals of ratings: a scale may have 50 points or 3000."""
    ratings = found.new_rating[found.in_both]
    width = float(ratings.max() - ratings.min())
    return 1 if width >= 100 else 2 if width >= 10 else 3


def _name(name: str) -> str:
    """Return the name of a table; of a long path, its end."""
    return name if len(name) <= _FILE else f"...{name[-_FILE + 3 :]}"
