"""The problems of a file by rule, each with what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from equipoise.errors import Problem
from equipoise.messages.sources.inspection import RuleMessage

_TIMES = "--time-format says how times are written, such as --time-format %d/%m/%Y"
#: Field ("" for any) and start of a rule -> what to do. The first that fits counts.
_ADVICE: tuple[tuple[str, str, str], ...] = (
    (
        "",
        "must be on adjacent rows",
        "name the column of times (--column time=NAME), or give every match an id of its own",
    ),
    (
        "time",
        "must be the same on all rows of a match",
        "one id has several times, so it may stand for several matches: give each an id of its own "
        "(--column match=NAME names another column)",
    ),
    ("", "must have one meaning, but this column", "--time-format says which it is"),
    ("", "must be a date or time as in", _TIMES),
    ("", "must be whole seconds since 1970, or a date", _TIMES),
    ("time", "must be", _TIMES),
    (
        "",
        "must appear once in a match",
        "if the rows are games or rounds of a match, each needs an id of its own "
        "(--column match=NAME names another column)",
    ),
    ("", "must have exactly two teams", "give the places of more teams in a column rank"),
    ("match", "must not be empty", "every row needs the id of its match"),
)


def rules_of(problems: Sequence[Problem]) -> list[RuleMessage]:
    """Return the rules that are broken, the most frequent first, and what to do about each."""
    found = Counter((problem.field, problem.rule) for problem in problems)
    # A problem of a complete file names no line, and nothing can be skipped.
    of_rows = {(one.field, one.rule) for one in problems if one.line is not None}
    return [
        RuleMessage(field, rule, count, _advice(field, rule) if (field, rule) in of_rows else "")
        for (field, rule), count in found.most_common()
    ]


def _advice(field: str, rule: str) -> str:
    for of, start, advice in _ADVICE:
        if of in ("", field) and rule.startswith(start):
            return advice
    return (
        "correct these cells, leave their matches out with --skip-bad, or leave out only these "
        "rows with --skip-bad=rows"
    )
