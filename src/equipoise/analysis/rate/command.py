"""equipoise rate and compare: a history in, ratings out; two tables of ratings side by side."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import typer

from equipoise.analysis.inspect.command import inspected
from equipoise.analysis.rate import CompareRequest, RateRequest
from equipoise.analysis.requests import title_of, typed
from equipoise.cli import options
from equipoise.cli.report import (
    Table,
    cut,
    dates,
    print_first,
    print_json,
    print_lines,
    print_table,
    problem_lines,
    reading_lines,
    say,
    stopped_by_signals,
    table,
    working,
)
from equipoise.errors import InvalidParameterError
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl

    from equipoise.analysis.rate.computation import RateAnswer
    from equipoise.data.comparison import MovedBy, RatingComparison
    from equipoise.messages.histories import RateByMessage, RateSummary


#: Width of a name in a table, and of a file's name in a sentence; --json has all of it.
_NAME, _FILE = 32, 60
#: Players of one table that are named in a line.
_LISTED = 5


def print_comparison(
    comparison: RatingComparison, top: int, by: MovedBy = "rating", *, command: str = ""
) -> None:
    """Print who is in both tables, how alike they are, and who moved most.

    command : that has the option --scale, if it is not the one that runs
    """
    print_lines(*_who(comparison), "", *_scale(comparison, command))
    _print_changes(comparison)
    print_lines("", *_alike(comparison))
    for head, moved in (
        ("Rose", comparison.risen(top, by=by)),
        ("Fell", comparison.fallen(top, by=by)),
    ):
        what = "" if by == "rating" else " by place"
        if len(moved):
            print_lines("", f"{head} most{what}")
            _print_moved(comparison, moved)
        elif top:
            print_lines("", f"Nobody {head.lower()}{what}.")
    say(*comparison.notes)


def _who(comparison: RatingComparison) -> list[str]:
    """Return lines on the players in both tables, and in one only."""
    lines = [
        f"{counted(comparison.players, 'player')} in both {_name(comparison.old)} (old) and "
        f"{_name(comparison.new)} (new)"
    ]
    for name, players in (
        (comparison.old, comparison.only_old),
        (comparison.new, comparison.only_new),
    ):
        if players:
            named = ", ".join(cut(player, _NAME) for player in players[:_LISTED])
            more = len(players) - _LISTED
            rest = f" and {more:,} more" if more > 0 else ""
            lines.append(f"{counted(len(players), 'player')} only in {_name(name)}: {named}{rest}")
    return lines


def _scale(comparison: RatingComparison, command: str) -> list[str]:
    """Return lines on which changes count, and why."""
    line = comparison.line
    if comparison.scale == "same" or line is None:
        more = "" if line is None else f"; {command}--scale line compares them on one scale"
        return [
            f"Changes are differences between the ratings as they are ({comparison.reason}){more}."
        ]
    sign = "+" if line.intercept >= 0 else "-"
    digits = _digits(comparison)
    return [
        f"Changes are measured on the scale of the new ratings ({comparison.reason}); "
        f"{command}--scale same compares the ratings as they are.",
        f"The straight line between the scales is new = {line.slope:.5g} x old {sign} "
        f"{abs(line.intercept):,.{digits}f}; the new ratings vary "
        f"around it with a standard deviation of {line.residual:,.{digits}f}.",
    ]


def _print_changes(comparison: RatingComparison) -> None:
    """Print the summary of the changes, by both scales if there is a line."""
    summaries = {"as they are": comparison.as_they_are}
    if comparison.on_line is not None:
        summaries["on the line"] = comparison.on_line
    signed, plain = f"+,.{_digits(comparison)}f", f",.{_digits(comparison)}f"
    rows = [
        ("mean", signed, [summary.mean for summary in summaries.values()]),
        ("median", signed, [summary.median for summary in summaries.values()]),
        (
            "standard deviation",
            plain,
            [summary.standard_deviation for summary in summaries.values()],
        ),
        ("mean size", plain, [summary.mean_absolute for summary in summaries.values()]),
    ]
    cells = [[name, *(_number(value, form) for value in values)] for name, form, values in rows]
    print_lines("")
    print_table(table({"changes": "", **dict.fromkeys(summaries, ">")}, cells))


def _number(value: float, form: str) -> str:
    """Return a number; one that rounds to zero has no sign."""
    text = format(value, form)
    return text if text.strip("+-0.,") else text.lstrip("+-")


def _alike(comparison: RatingComparison) -> list[str]:
    """Return lines on correlations, pairs, and changes beyond the deviations."""
    lines = []
    if not math.isnan(comparison.pearson):
        lines.append(
            f"Correlation: Pearson {comparison.pearson:.4f}, Spearman "
            f"{comparison.spearman:.4f}, Kendall "
            f"{comparison.kendall:.4f}."
        )
    if comparison.pairs:
        same, reverse, tied = (
            100 * count / comparison.pairs
            for count in (comparison.same_order, comparison.reverse_order, comparison.tied)
        )
        ties = f", {tied:.2f} % tied in a table" if comparison.tied else ""
        lines.append(
            f"Of {counted(comparison.pairs, 'pair')} of players, {same:.2f} % are in the same "
            f"order, "
            f"{reverse:.2f} % in reverse order{ties}."
        )
    if comparison.with_deviations:
        who = counted(comparison.with_deviations, "player")
        lines.append(
            f"Of {who} with deviations in both, {comparison.large:,} changed by more than two "
            "deviations of both ratings."
        )
    return lines


def _print_moved(comparison: RatingComparison, moved: pl.DataFrame) -> None:
    """Print players with their ratings and places, before and now."""
    digits = _digits(comparison)
    number, change = f",.{digits}f", f"+,.{digits}f"
    columns = {"player": "", "old": number}
    values = [[cut(name, _NAME) for name in moved["player"]], moved["old_rating"].to_list()]
    if comparison.scale == "line":
        columns["on new scale"] = number
        values.append(moved["old_on_scale"].to_list())
    columns |= {"new": number, "change": change}
    values += [moved[name].to_list() for name in ("new_rating", "change")]
    if comparison.with_deviations:
        columns["in deviations"] = "+.2f"
        values.append(moved["in_deviations"].to_list())
    columns |= {"old place": ",d", "new place": ",d", "places": ">"}
    values += [moved[name].to_list() for name in ("old_place", "new_place")]
    values.append([_number(places, "+,d") for places in moved["place_change"]])
    print_table(table(columns, zip(*values, strict=True)))


def _digits(comparison: RatingComparison) -> int:
    """Return the decimals of ratings: a scale may have 50 points or 3000."""
    ratings = comparison.new_rating[comparison.in_both]
    width = float(ratings.max() - ratings.min())
    return 1 if width >= 100 else 2 if width >= 10 else 3


def _name(name: str) -> str:
    """Return the name of a table; of a long path, its end."""
    return name if len(name) <= _FILE else f"...{name[-_FILE + 3 :]}"


#: Rows on a terminal; a file or a pipe gets all of them.
_SHOWN_POOLS = 40

#: Failed pools whose problems are listed.
_FAILED = 20


def _print_pools(message: RateByMessage) -> None:
    """Print a row for each pool: its first rows on a terminal, all of them to a pipe."""
    columns = [(name, "") for name in message.by]
    columns += [("matches", ">"), ("participations", ">"), ("players", ">"), ("", "")]
    rows = [
        [
            *("(empty)" if value is None else value for value in pool.values.values()),
            *(pool.matches, pool.participations, pool.players),
            "" if pool.status == "rated" else pool.status,
        ]
        for pool in message.pools
    ]
    print_first(columns, rows, len(rows), _SHOWN_POOLS, "pool", "--json lists them all.")


def _pool_lines(message: RateByMessage) -> list[str]:
    """Return lines on the totals, and on every pool that failed."""
    from equipoise.analysis.rate.partitions import in_words

    failed = f", {message.failed:,} failed" if message.failed else ""
    lines = [
        f"{message.system}: {counted(len(message.pools), 'pool')}: {message.rated:,} rated{failed}",
        f"{counted(message.matches, 'match', 'matches')}, "
        f"{counted(message.participations, 'participation')} in {message.seconds:.2f} s",
        *reading_lines(message),
    ]
    bad = [pool for pool in message.pools if pool.status == "failed"]
    for pool in bad[:_FAILED]:
        lines += [f"{in_words(pool.values)} failed: {pool.error}", *problem_lines(pool.problems)]
        if pool.files:
            lines.append(
                f"  its files of an earlier command were kept: {', '.join(pool.files.values())}"
            )
    if len(bad) > _FAILED:
        lines.append(f"... and {counted(len(bad) - _FAILED, 'more failed pool')}; --json lists all")
    return lines


#: Rows on a terminal; a file or a pipe gets all of them.
_SHOWN = 20

#: Ratings from which on a page has whole points, and the least values of columns in points then.
_COARSE, _POINTS = 100.0, 10.0
#: Players that --diff lists who rose most, and who fell most.
_MOVED = 10
#: The column of times of the rating table.
_LAST_TIME = "last_time"

#: Least seconds of rating for which participations per second are shown.
_MEASURABLE = 0.01


def rate(
    *,
    invocation: typer.Context,
    system: options.System,
    request: RateRequest,
    by: str | None = typed(
        None,
        "Rate each combination of values in these columns as a separate pool. Values can also "
        "come from folder names, such as mode=ranked/region=eu. --output, --trace and --save "
        "then name a folder (DIR/), or a file in it, and every pool gets folders there.",
        "COLUMN[,COLUMN]",
    ),
    workers: int | None = typed(
        None, "With --by: number of worker processes. [default: 1]", "N", least=1
    ),
    cluster: options.Cluster,
    dry_run: options.DryRun,
    as_json: options.Json,
) -> int | None:
    """Rate a history of matches.

    Prints the rating table, or writes it with --output. Nothing is written if there is a problem.

    Example:
      equipoise rate examples/contests.csv --system elo-mmr --output ratings.csv
      equipoise rate examples/arena.csv --by category --output ratings/
    """
    from equipoise.analysis.rate import computation as work

    settings = system.settings()
    request = options.weighed(request, settings)
    if dry_run:
        if by is not None:
            raise InvalidParameterError("--dry-run cannot be combined with --by")
        chosen = system.chosen(settings)
        systems = [] if chosen is None else [chosen]
        before = work.state_to_resume(request.state, request.restart)
        known = None if before is None or request.restart else before.player_ids
        return inspected(invocation, request.history, as_json, systems=systems, known=known)
    if by is not None:
        if request.memory_limit is not None:
            raise InvalidParameterError(
                "--memory-limit cannot be used with --by: each pool is read whole"
            )

        from equipoise.analysis.rate.partitions import rate_by

        columns = tuple(name.strip() for name in by.split(","))
        with cluster.executor(workers) as executor, working("rating pools") as job:
            asked = (system.chosen(settings), request, columns, workers or 1, job.progress)
            message = rate_by(*asked, executor=executor)
        if as_json:
            print_json(message)
        else:
            _print_pools(message)
            say(*_pool_lines(message))
        return 1 if message.failed else 0
    if cluster.cluster is not None or (workers or 1) > 1:
        needs = "--workers" if cluster.cluster is None else "--cluster"
        raise InvalidParameterError(f"{needs} needs --by")
    with stopped_by_signals(), working("rating") as job:
        answer = work.rate(system.chosen(settings), request, job.progress, say)
    summary = work.summary_of(answer, job.compilation.kernels)
    if request.report is not None:
        _write_report(answer, summary, request)
    if as_json:
        from equipoise.analysis.rate.compare import comparison_json

        rows = [] if request.output else answer.table.to_dicts()
        compared = {} if answer.diff is None else {"diff": comparison_json(answer.diff)}
        print_json({"summary": summary, "ratings": rows, **compared})
        return None
    if request.output is None:
        _print_ratings(answer)
    if answer.diff is not None:
        if request.output is None:
            print_lines("")
        print_comparison(answer.diff, _MOVED, command="equipoise compare ")
    say(*_summary_lines(summary))
    return None


def _print_ratings(answer: RateAnswer) -> None:
    """Print the rating table: its first rows on a terminal, all of it to a pipe."""
    frame = answer.table
    if "conservative" in frame.columns:
        say("ordered by the conservative rating: the rating minus three deviations")
    print_first(*_cells(frame), len(frame), _SHOWN)


def _cells(
    frame: pl.DataFrame, whole: Collection[str] = ()
) -> tuple[dict[str, str], Iterable[tuple[object, ...]]]:
    """Return the formats and the rows of the rating table as people read them.

    whole : columns without decimals
    """
    columns = {
        name: ".2f" if kind.is_float() else ">" if kind.is_numeric() else ""
        for name, kind in frame.schema.items()
    }
    columns |= dict.fromkeys(whole, ".0f")
    # A column of seconds is one of dates to people. Files keep the seconds.
    values = [
        dates(column.to_list()) if column.name == _LAST_TIME else column.to_list()
        for column in frame
    ]
    return columns, zip(*values, strict=True)


def _write_report(answer: RateAnswer, summary: RateSummary, request: RateRequest) -> None:
    """Write the rating table with places as a page; players with equal ratings share a place."""
    from equipoise.analysis.rate.computation import write_page

    path, matches, new = str(request.report), summary.matches + summary.known_matches, ""
    if request.state is not None:
        # The table has the records of all matches of the state, of which HISTORY may have a part.
        matches = len(answer.replay.state.rated)
        new = f", {counted(summary.matches, 'match', 'matches')} of them new"
    by = "conservative" if "conservative" in answer.table.columns else "rating"
    places = answer.table[by].rank("min", descending=True).to_list()
    shown = _for_page(answer.table)
    write_page(
        path,
        title_of(request.history.source, "Ratings"),
        f"Ratings by {summary.system}: {counted(len(answer.table), 'player')}, "
        f"{counted(matches, 'match', 'matches')}{new}",
        ["place", *(name.replace("_", " ") for name in shown.columns)],
        [[str(place), *row] for place, row in zip(places, shown.rows, strict=True)],
        {"place", *(name.replace("_", " ") for name in shown.numbers)},
    )
    say(f"wrote {path}")


def _for_page(frame: pl.DataFrame) -> Table:
    """Return the rating table in whole points, without columns of one number or of none.

    Ratings on a small scale, such as 25 +- 8, keep their decimals.
    """
    floats = {
        column.name: max(map(abs, column.drop_nulls().to_list()), default=0.0)
        for column in frame
        if column.dtype.is_float()
    }
    coarse = floats["rating"] >= _COARSE
    whole = [name for name, most in floats.items() if coarse and most >= _POINTS]
    shown = table(*_cells(frame, whole))
    kept = []
    for at, name in enumerate(shown.columns):
        cells = {row[at] for row in shown.rows}
        same = name in floats and name != "rating" and len(shown.rows) > 1 and len(cells) == 1
        if not same and cells != {""}:
            kept.append(at)
    rows = [[row[at] for at in kept] for row in shown.rows]
    return Table([shown.columns[at] for at in kept], rows, shown.numbers)


def _summary_lines(summary: RateSummary) -> list[str]:
    """Return lines on what was rated, how long it took, and what was left out."""
    seconds = summary.seconds
    speed = ""
    if summary.participations and seconds["rate"] >= _MEASURABLE:
        speed = f" ({summary.participations / seconds['rate']:,.0f} participations/s)"
    lines = [
        f"{summary.system}: {counted(summary.matches, 'match', 'matches')}, "
        f"{counted(summary.participations, 'participation')}, "
        f"{counted(summary.players, 'player')}",
        f"read {seconds['read']:.2f} s, rated {seconds['rate']:.2f} s{speed}, "
        f"wrote {seconds['write']:.2f} s",
    ]
    tied = summary.skipped_all_tied
    more = ", ..." if len(tied) > 5 else ""
    left_out = (
        (
            summary.known_matches,
            "match was rated before and skipped",
            "matches were rated before and skipped",
        ),
        (
            len(tied),
            f"match in which all tied was skipped ({', '.join(tied)})",
            f"matches in which all tied were skipped ({', '.join(tied[:5])}{more})",
        ),
        (
            summary.single,
            "match had a single player or team and changed nothing",
            "matches had a single player or team and changed nothing",
        ),
    )
    lines += [counted(count, *what) for count, *what in left_out if count]
    return [*lines, *reading_lines(summary)]


def compare(*, request: CompareRequest, as_json: options.Json) -> None:
    """Compare two rating tables: the largest changes, and how similar the tables are.

    Prints the players in only one table, the mean and standard deviation of the changes,
    correlations, the share of player pairs in the same order, and the largest rises and falls.
    Players are matched by exact name.

    Example:
      equipoise rate examples/contests.csv --system elo-mmr --output elo-mmr.csv
      equipoise rate examples/contests.csv --system trueskill --output trueskill.csv
      equipoise compare elo-mmr.csv trueskill.csv
    """
    from equipoise.analysis.rate.compare import compare as compare_files
    from equipoise.analysis.rate.compare import comparison_json, mapping_of

    comparison = compare_files(request)
    if as_json:
        print_json(comparison_json(comparison, request.top, request.by))
        return
    print_comparison(comparison, request.top, request.by)
    if request.chart is not None:
        say(f"drew {request.chart}")
    mapping = mapping_of(comparison)
    if comparison.scale == "line" and isinstance(request.old, str) and mapping is not None:
        begin = f"--initial {shlex.quote(request.old)} --initial-mapping {shlex.quote(mapping)}"
        say(f"to start from the old ratings on the new scale: equipoise rate HISTORY {begin}")
