"""Comparing two tables of ratings: read both, compare, write the table and the chart."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.analysis.rate import CompareRequest
from equipoise.analysis.rate.chart import comparison_figure
from equipoise.analysis.requests import shared
from equipoise.charts import theme
from equipoise.data.comparison import MovedBy, RatingComparison
from equipoise.data.files import check_distinct
from equipoise.evaluate.rating_comparison import compare_ratings
from equipoise.formats import write_table
from equipoise.formats.writing import check_target
from equipoise.messages.conversion import plain


def compare(request: CompareRequest) -> RatingComparison:
    """Read both tables, compare, write. Raises : EquipoiseError, and then nothing was written."""
    given = {"OLD": request.old, "NEW": request.new}
    inputs = {name: one for name, one in given.items() if isinstance(one, str)}
    # Both may be the same file; only outputs must be others.
    for name, one in inputs.items():
        check_distinct({name: one, "--output": request.output, "--chart": request.chart})
    check_distinct({"--synonyms": request.synonyms, "--output": request.output})
    if request.output is not None:
        check_target(request.output)
    if request.chart is not None:
        theme.check_file(request.chart)
    found = compare_ratings(request.old, request.new, **shared(request, compare_ratings))
    if request.output is not None:
        write_table(found, request.output, raw=request.raw)
    if request.chart is not None:
        theme.write(comparison_figure(found, title=request.title), request.chart)
    return found


def mapping_of(found: RatingComparison) -> str | None:
    """Return the line between the scales as `--initial-mapping` takes it; None without a line."""
    if found.line is None:
        return None
    ratings = found.old_rating[found.in_both]
    middle, spread = float(ratings.mean()), float(ratings.std())
    # Two round ratings of the old scale: digits that matter on scales of 50 points and of 3000.
    digits = 1 - int(np.floor(np.log10(spread)))
    ends = [round(middle - spread, digits), round(middle + spread, digits)]
    return ",".join(f"{end:.10g}={found.line.at(end):.6g}" for end in ends)


#: Fields and properties of a comparison that its JSON has under their names.
_FIELDS = (
    *("old", "new", "players", "scale", "reason", "as_they_are", "on_line"),
    *("pearson", "spearman", "kendall", "pairs", "same_order", "reverse_order", "tied"),
    *("with_deviations", "large", "notes"),
)
#: Columns of the table of all players that its lists leave out.
_LEFT_OUT = ("found_in", "old_on_scale")


def comparison_json(
    found: RatingComparison, top: int = 10, by: MovedBy = "rating"
) -> dict[str, Any]:
    """Return what `equipoise compare --json` prints. top : most players in each list."""
    line = found.line
    return {
        **{name: plain(getattr(found, name)) for name in _FIELDS},
        "only_old": len(found.only_old),
        "only_new": len(found.only_new),
        "only_old_players": found.only_old[:top],
        "only_new_players": found.only_new[:top],
        "line": None if line is None else {**plain(line), "mapping": mapping_of(found)},
        "risen": found.risen(top, by=by).drop(_LEFT_OUT, strict=False).to_dicts(),
        "fallen": found.fallen(top, by=by).drop(_LEFT_OUT, strict=False).to_dicts(),
    }
