"""Builds a history from a long table: selects, checks and skips rows, and assembles the rest.

The rows that are left are NumPy columns from the first step to the last. They say what belongs
together: `match` has the first row of the same match among these rows, `of` that before any row was
left out, and `lead` the first row of the same team. The matches of a history are in order of time,
and its players in order of id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ids, Ints
from equipoise.data.history import (
    FARTHEST_CEILING,
    LARGEST_PERFORMANCE,
    MOST_WEIGHT,
    OF_MATCHES,
    OWN_DEVIATIONS,
    TOO_FAR,
    TOO_HEAVY,
    TOO_LARGE,
    History,
    dense_ranks,
)
from equipoise.errors import InvalidParameterError, Problem
from equipoise.formats.column_names import CANONICAL
from equipoise.formats.joining import check_order, order_of_files, tell_apart
from equipoise.formats.meanings import (
    arrange_columns,
    places_from_score,
    unknown_column,
    without_needless_format,
)
from equipoise.formats.names import describe_strangers, merge_ids
from equipoise.formats.table import (
    Fault,
    Findings,
    HistoryReading,
    Options,
    Table,
    faults_of,
    nested_note,
    no_effect,
    shown,
)
from equipoise.formats.times import Times, order_note, read_times
from equipoise.formats.values import (
    equal_rows,
    instead_of,
    keep_used,
    mask,
    number_ids,
    numbers_of,
    plain_numbers,
    plain_places,
    read_attribute,
    read_ids,
    read_ranks,
    read_scores,
    read_truths,
    required_ids,
    text_objects,
    text_of,
)
from equipoise.wording import counted

#: Columns with one element for each row that is left. `at` is its number among the selected rows.
Rows: TypeAlias = dict[str, Ids]

LEFT = "must leave at least one match"
ONCE = "must appear once in a match"
ONCE_BY_SYNONYMS = "must appear once in a match, under any of the names that the synonyms give"
NO_TEAM = "must not be empty if other rows of the match have a team"
POSITIVE = "must be a positive number"
SHARE = "must be a number from 0 to 1"
SAME = "must be the same on all rows of a match"
SAME_IN_TEAM = "must be the same for all players of a team"
SCORE_IN_TEAM = (
    "must be the same for all players of a team because it decides the places "
    "(if players have scores of their own, give rank or winner too, and --stat score=WEIGHT)"
)
ADJACENT = "must be on adjacent rows if there are no times; otherwise one id could mean two matches"
TWO_TEAMS = "must have exactly two teams if a winner is given"
NAMES_NONE = "must name one of the match's teams, or be empty for a draw"

#: What has no place for options of times.
_TIMELESS = "a history without times"
#: Columns that have one value for the complete match.
_SAME_ON_ALL_ROWS = ("time", "rated", *OF_MATCHES)
#: Optional numbers -> the number of an empty cell, the least and the most, and the rule.
_NUMBERS: dict[str, tuple[float, float, float, str]] = {
    "weight": (1.0, -np.inf, MOST_WEIGHT, TOO_HEAVY),
    "performance_ceiling": (np.nan, -FARTHEST_CEILING, FARTHEST_CEILING, TOO_FAR),
    "beta": (np.nan, *OWN_DEVIATIONS["beta"]),
    "gamma": (np.nan, *OWN_DEVIATIONS["gamma"]),
    "share": (1.0, 0.0, 1.0, SHARE),
    "performance": (np.nan, -LARGEST_PERFORMANCE, LARGEST_PERFORMANCE, TOO_LARGE),
}


def build_history(table: Table, options: Options, *, own_names: bool = False) -> HistoryReading:
    """Return the history of a table, and all of its problems.

    own_names : the columns have the exact names, because Equipoise made them
    Raises : InvalidDataError        required columns, or all rows, are missing
    Raises : InvalidParameterError   the options do not suit the table
    """
    frame, options, columns, taken, notes = arrange_columns(table, options, own_names=own_names)
    table, options = without_needless_format(table, options, columns.get("time"))
    if table.files:
        table, frame, more = tell_apart(table, frame)
        notes = (*notes, *more)
    reading = HistoryReading(
        history=None,
        notes=(*table.notes, *notes),
        format=table.format,
        kind="history",
        columns=columns,
    )
    if options.synonyms:
        names = text_of(frame["player"]).drop_nulls().unique().to_list()
        reading = _noting(reading, describe_strangers(options.synonyms, names))
    ids, id_faults = required_ids(frame["match"], table.untyped)
    faults = {"match": id_faults}
    rows: Rows = {"at": np.arange(len(frame)), "match": first_rows(ids)}
    times = read_times(frame["time"], options.time_format) if "time" in frame.columns else None
    if times is not None:
        rows["time"], faults["time"] = times.values, times.faults
    elif options.time_format is not None:
        rule = "time_format (--time-format) needs a history with times; this one has none"
        raise no_effect(rule, _TIMELESS, "time_format")
    elif table.files:
        reading = _noting(reading, order_of_files(table))
    if "rated" in frame.columns:
        rows["rated"], faults["rated"] = read_truths(frame["rated"])
    chosen, unrated, filtered = _select(frame, rows, mask(ids.is_not_null()), times, options)
    reading = replace(reading, unrated=unrated, filtered=filtered)
    if chosen is not None:
        if not chosen.any():
            return _nothing_left(reading, table, "no match is rated and selected")
        frame, ids = frame.filter(chosen), ids.filter(chosen)
        rows = {name: column[chosen] for name, column in rows.items()}
        rows["match"] = first_rows(ids)
        faults = {
            name: tuple(fault._replace(rows=fault.rows[chosen]) for fault in of_column)
            for name, of_column in faults.items()
        }
    if times is not None and times.is_order and table.files:
        check_order(table, rows["time"], rows["at"])
    findings = Findings(table, rows["at"])
    for name, of_column in faults.items():
        findings.add_faults(name, of_column, frame[name])
    rows["at"] = np.arange(len(frame)) if chosen is not None else rows["at"]
    rows["of"] = rows["match"]
    player_ids = _read_rows(rows, frame, findings, options)
    reading, good = _good_rows(reading, rows, frame, ids, findings, options)
    if good is not None:
        history, more = _assemble(good, frame, table, ids, player_ids, times, options)
        reading = _noting(replace(reading, history=history), more)
    problems = in_file(reading.problems, taken)
    return _noting(replace(reading, problems=problems), findings.notes)


def _noting(reading: HistoryReading, notes: Sequence[str]) -> HistoryReading:
    return replace(reading, notes=(*reading.notes, *notes)) if notes else reading


def _nothing_left(reading: HistoryReading, table: Table, got: str) -> HistoryReading:
    problem = Problem(table.name, None, "", LEFT, got)
    return replace(reading, problems=(*reading.problems, problem))


def in_file(problems: tuple[Problem, ...], named: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return problems with the names that columns have in the file.

    named : column of the long table -> column of the file
    """
    if not named:
        return problems
    return tuple(
        replace(problem, field=named.get(problem.field, problem.field)) for problem in problems
    )


def first_rows(values: pl.Series) -> Ints:
    """Return for every row the first row of the same value; missing values are equal."""
    changes = values.ne_missing(values.shift(1)).to_numpy()
    starts = np.append(0, np.flatnonzero(changes[1:]) + 1)[: len(values)]
    runs = values.gather(starts)
    first = starts
    if runs.n_unique() < len(runs):
        at = runs.arg_unique()
        first = runs.replace_strict(
            runs.gather(at), starts[at.to_numpy()], return_dtype=pl.Int64
        ).to_numpy()
    return np.repeat(first, np.diff(np.append(starts, len(values))))


def _taken(rows: Rows, which: Flags | Ints) -> Rows:
    """Return some of the rows, or all of them in another order."""
    taken = {name: column[which] for name, column in rows.items()}
    taken["match"] = first_rows(pl.Series(taken["of"]))
    if "team" in taken:
        taken["lead"] = _team_leads(taken)
    return taken


def _marked(at: Ints, size: int) -> Flags:
    """Return flags that are true at some places."""
    flags = np.zeros(size, dtype=bool)
    flags[at] = True
    return flags


def _select(
    frame: pl.DataFrame, rows: Rows, known: Flags, times: Times | None, options: Options
) -> tuple[Flags | None, int, int]:
    """Return the rows of matches that are rated and selected (None: all); matches are never split.

    The other values are the numbers of matches that are unrated, and of those that are filtered.

    known : rows that have an id; only `where` can exclude the others
    Raises : InvalidParameterError   unknown column, no times, a filter that splits a match
    """
    bounded = options.since is not None or options.until is not None
    if "rated" not in rows and not options.where and not bounded:
        return None, 0, 0
    first, size = rows["match"], len(frame)
    holds, inside = np.ones(size, dtype=bool), np.ones(size, dtype=bool)
    for name, value in options.where:
        if name not in frame.columns:
            raise InvalidParameterError(unknown_column("where (--where)", name, frame.columns))
        holds &= equal_rows(frame[name], value)
    held = _marked(first[holds & known], size)
    torn = np.flatnonzero(held & _marked(first[~holds & known], size))
    if len(torn):
        some = counted(len(torn), "match", "matches")
        filters = " and ".join(f"{name}={value}" for name, value in options.where)
        raise InvalidParameterError(
            f"where (--where) must hold on all rows of a match or on none; {filters} holds on only "
            f"some rows of {some}, of which the first is {frame['match'][int(torn[0])]!r}"
        )
    if bounded:
        if times is None:
            rule = "since and until (--from, --until) need a history with times; this one has none"
            raise no_effect(rule, _TIMELESS, "since", "until")
        # A match has the time of its first row. Without a readable time it stays, to be reported.
        inside = times.within(options.since, options.until)
        for fault in times.faults:
            inside |= _marked(first[fault.rows], size)
    rated = np.ones(size, dtype=bool)
    if "rated" in rows:
        rated = _marked(first[rows["rated"]], size)[first]
    unrated = known & ~rated
    filtered = known & rated & ~(held & inside)[first]
    dropped = unrated | filtered | (~known & ~holds)
    leads = first == np.arange(size)
    counts = int(unrated[leads].sum()), int(filtered[leads].sum())
    return ~dropped if dropped.any() else None, *counts


def _read_rows(rows: Rows, frame: pl.DataFrame, findings: Findings, options: Options) -> Ids:
    """Add every column that is understood to the rows, and record every fault of a single row.

    Returns : the ids of the players
    """
    untyped, by_commas = findings.table.untyped, findings.table.by_commas
    players, faults = required_ids(frame["player"], untyped)
    findings.add_faults("player", faults, frame["player"])
    if options.synonyms:
        players = merge_ids(players, options.synonyms)
    _read_labels(rows, frame, players, findings, options)
    rows["player"], player_ids = number_ids(players)
    if "rank" in frame.columns:
        rows["rank"] = _places(frame["rank"], findings, options)
    elif places_from_score(frame.columns, options):
        rows["rank"] = _places(frame["score"], findings, options)
    for name, (default, least, most, rule) in _NUMBERS.items():
        if name not in frame.columns:
            continue
        values, absent, faults = numbers_of(
            frame[name], findings.notes, by_commas=by_commas, nan_is_absent=name != "weight"
        )
        if absent is not None:
            values = np.where(absent, default, values)
        beyond = np.isfinite(values) & ((values < least) | (values > most))
        if name == "weight":
            faults = (*faults, *faults_of((values <= 0, POSITIVE)))
        if name == "share":
            values = np.where(np.isnan(values), default, values)
            beyond = (values < least) | (values > most)
        faults = (*faults, *faults_of((beyond, rule)))
        findings.add_faults(name, faults, frame[name])
        if absent is None or not absent.all() or faults:
            rows[name] = values
    if "at_home" in frame.columns:
        # Kept as read; an unknown word would be read as false.
        findings.add_faults("at_home", read_truths(frame["at_home"])[1], frame["at_home"])
    for name in options.statistics:
        numbers = numbers_of(frame[name], findings.notes, by_commas=by_commas)
        findings.add_faults(name, numbers.faults, frame[name])
        rows[f"statistic {name}"] = numbers.values
    # If only bad rows are dropped, a player may have a bad row and a good one.
    bad = findings.bad if options.skip_bad == "rows" else findings.bad_in("match", "player")
    good = np.flatnonzero(~bad) if bad.any() else slice(None)
    keys = pl.Series((rows["match"] * max(len(player_ids), 1) + rows["player"])[good])
    if keys.n_unique() < len(keys):
        again = rows["at"][good][~keys.is_first_distinct().to_numpy()]
        rule = ONCE_BY_SYNONYMS if options.synonyms else ONCE
        fault = Fault(_marked(again, len(frame)), rule)
        findings.add_faults("player", [fault], frame["player"])
    return player_ids


def _places(column: pl.Series, findings: Findings, options: Options) -> Ints:
    """Return places, also of 3rd and T3, or by scores, also of those with decimal commas."""
    by_score = column.name == "score"

    def read(values: pl.Series) -> tuple[Ints, tuple[Fault, ...]]:
        if by_score:
            return read_scores(values, lower_is_better=options.lower_score_is_better)
        return read_ranks(values)

    ranks, faults = read(column)
    written = None
    if faults and by_score:
        written = plain_numbers(column, faults, by_commas=findings.table.by_commas)
    elif faults:
        written = plain_places(column, faults, unplaced=options.unplaced)
    if written is not None:
        findings.notes += [written.note] if written.note else []
        ranks, faults = read(written.column)
        faults = instead_of(faults, written.faults)
    findings.add_faults(column.name, faults, column)
    return ranks


def _read_labels(
    rows: Rows, frame: pl.DataFrame, players: pl.Series, findings: Findings, options: Options
) -> None:
    """Add the teams and winners as numbers, -1 if absent; without teams, the player is the team."""
    untyped, teams = findings.table.untyped, None
    if "team" in frame.columns:
        teams, faults = read_ids(frame["team"], untyped)
        if teams.null_count():
            labelled = mask(teams.is_not_null())
            mixed = ~labelled & _marked(rows["match"][labelled], len(frame))[rows["match"]]
            faults = (*faults, *faults_of((mixed, NO_TEAM)))
        findings.add_faults("team", faults, frame["team"])
        teams = None if teams.null_count() == len(teams) else teams
    if "winner" not in frame.columns:
        if teams is not None:
            rows["team"] = _numbered(teams)
            rows["lead"] = _team_leads(rows)
        return
    winners, faults = read_ids(frame["winner"], untyped)
    findings.add_faults("winner", faults, frame["winner"])
    if teams is None:
        # A single player is a team, and the winner is the name of a player.
        teams = players
        winners = merge_ids(winners, options.synonyms) if options.synonyms else winners
    if teams.dtype != winners.dtype:
        teams, winners = teams.cast(pl.String), winners.cast(pl.String)
    numbers = _numbered(pl.concat([teams.alias("label"), winners.alias("label")]))
    rows["team"], rows["winner"] = numbers[: len(teams)], numbers[len(teams) :]
    rows["lead"] = _team_leads(rows)


def _numbered(labels: pl.Series) -> Ints:
    numbers, _ = number_ids(labels)
    return np.where(labels.is_null().to_numpy(), -1, numbers) if labels.null_count() else numbers


def _team_leads(rows: Rows) -> Ints:
    """Return the first row of the team of every row; a player without a team is a team."""
    team = rows["team"]
    most = int(team.max(initial=0)) + 1
    team = np.where(team < 0, most + np.arange(len(team)), team)
    return first_rows(pl.Series(rows["match"] * (most + len(team)) + team))


class _Checks:
    """Checks the rows of matches together. All flags on matches are at the numbers of `of`.

    A bad cell says nothing about other cells, so each rule is checked on the rows whose cells it
    needs are good. Rules on a complete match, such as the number of teams, need all its rows. If
    only bad rows are skipped, rows without bad cells are all there is.
    """

    def __init__(self, frame: pl.DataFrame, findings: Findings, options: Options) -> None:
        self.frame, self.findings = frame, findings
        self.rows_alone = options.skip_bad == "rows"
        self.team = "team" if "team" in frame.columns else "player"
        self.deciding = "rank" if "rank" in frame.columns else "score"

    def bad_matches(self, rows: Rows) -> Flags:
        """Return the matches whose rows contradict each other, after recording their problems."""
        bad, bad_rows = np.zeros(len(self.frame), dtype=bool), self.findings.bad

        def good(*names: str) -> Rows:
            unfit = bad_rows if self.rows_alone else self.findings.bad_in("match", *names)
            return _taken(rows, ~unfit[rows["at"]]) if unfit.any() else rows

        def with_bad(name: str) -> Flags:
            cells = self.findings.bad_in(name)[rows["at"]] & (not self.rows_alone)
            return _marked(rows["of"][cells], len(self.frame))

        for name in _SAME_ON_ALL_ROWS:
            if name in rows:
                bad |= self._differing(good(name), name)
        if "time" not in rows:
            bad |= self._scattered(_taken(rows, ~bad_rows) if bad_rows.any() else rows)
        if "winner" in rows:
            differing = self._differing(good("winner"), "winner")
            # Rows that could not be parsed count too, because they may have another team.
            unknown = with_bad(self.team)
            decided = unknown | with_bad("winner") | differing
            return bad | differing | self._bad_sides(good(), unknown, decided)
        if "team" in rows:
            bad |= self._differing(good(self.team, self.deciding), "rank")
        return bad

    def _differing(self, rows: Rows, name: str) -> Flags:
        """Return matches in which a value differs, and record the first of each match or team."""
        in_team = name == "rank"
        lead, values = rows["lead" if in_team else "match"], rows[name]
        differs = values != values[lead]
        if values.dtype == np.float64:
            differs &= ~(np.isnan(values) & np.isnan(values[lead]))
        at = np.flatnonzero(differs)
        bad = _marked(rows["of"][at], len(self.frame))
        at = at[np.unique(lead[at], return_index=True)[1]]
        if not len(at):
            return bad
        field = self.deciding if in_team else name
        here, first_row = rows["at"][at], rows["at"][lead[at]]
        places = self.findings.table.places(self.findings.rows[first_row])
        pairs = zip(
            self.frame[field].gather(here), self.frame[field].gather(first_row), strict=True
        )
        got = [
            f"{shown(one)}, while line {line} has {shown(other)}"
            for (one, other), (_, line) in zip(pairs, places, strict=True)
        ]
        rule = (SCORE_IN_TEAM if field == "score" else SAME_IN_TEAM) if in_team else SAME
        self.findings.add(here, field, rule, got)
        return bad

    def _scattered(self, rows: Rows) -> Flags:
        """Return matches whose rows are not adjacent, after recording every later run of theirs."""
        match = rows["match"]
        later = np.flatnonzero(match[1:] != match[:-1]) + 1
        later = later[match[later] != later]
        if len(later):
            here = rows["at"][later]
            got = [shown(match) for match in self.frame["match"].gather(here)]
            self.findings.add(here, "match", ADJACENT, got)
        return _marked(rows["of"][later], len(self.frame))

    def _bad_sides(self, rows: Rows, counted: Flags, decided: Flags) -> Flags:
        """Return matches with a winner and not two teams, or whose winner is not one of them.

        counted, decided : matches whose number of teams, and whose winner, is not recorded
        """
        match, of, size = rows["match"], rows["of"], len(rows["at"])
        leads = np.flatnonzero(rows["lead"] == np.arange(size))
        teams = np.bincount(match[leads], minlength=size)
        named = _marked(match[rows["winner"] == rows["team"]], size) | (rows["winner"] < 0)
        first = np.flatnonzero(match == np.arange(size))
        wrong = first[(teams[first] != 2) | ~named[first]]
        for row in wrong.tolist():
            place, among = rows["at"][[row]], rows["at"][leads[match[leads] == row]]
            listed = " and ".join(shown(side) for side in self.frame[self.team].gather(among))
            if teams[row] != 2 and not counted[of[row]]:
                self.findings.add(place, self.team, TWO_TEAMS, [f"{teams[row]}: {listed}"])
            if not named[row] and not decided[of[row]]:
                got = f"{shown(self.frame['winner'][int(place[0])])}, not {listed}"
                self.findings.add(place, "winner", NAMES_NONE, [got])
        return _marked(of[wrong], len(self.frame))


def _good_rows(
    reading: HistoryReading,
    rows: Rows,
    frame: pl.DataFrame,
    ids: pl.Series,
    findings: Findings,
    options: Options,
) -> tuple[HistoryReading, Rows | None]:
    """Return the rows without problems, None if there are others that may not be skipped."""
    size, of_row = len(frame), rows["of"]
    touched = _marked(of_row[findings.bad], size)
    bad = _Checks(frame, findings, options).bad_matches(rows)
    rows = _taken(rows, ~findings.bad) if touched.any() else rows
    problems = findings.problems()
    reading = replace(reading, problems=problems)
    if not problems:
        return reading, rows
    if options.skip_bad is None:
        return reading, None
    # A match is lost with its first bad row, or with its last good one.
    bad |= touched if options.skip_bad == "matches" else touched & ~_marked(rows["of"], size)
    # Rows without an id have no match.
    dropped = bad[of_row] & mask(ids.is_not_null())
    matches = ids.gather(np.flatnonzero(dropped & (of_row == np.arange(size))))
    reading = replace(
        reading,
        dropped_matches=tuple(str(match) for match in matches),
        dropped_rows=int(np.sum(findings.bad & ~dropped)),
    )
    good = ~bad[rows["of"]]
    if not good.any():
        return _nothing_left(reading, findings.table, "every match has a problem"), None
    return reading, _taken(rows, good)


def _assemble(
    rows: Rows,
    frame: pl.DataFrame,
    table: Table,
    ids: pl.Series,
    player_ids: Ids,
    times: Times | None,
    options: Options,
) -> tuple[History, tuple[str, ...]]:
    """Return the history of valid rows, and notes on its order and on columns left out."""
    if "winner" in rows:
        rows["rank"] = (rows["winner"] >= 0) & (rows["winner"] != rows["team"])
    arranged = _in_order(rows)
    starts = np.flatnonzero(arranged["match"] == np.arange(len(arranged["at"])))
    offsets = np.append(starts, len(arranged["at"]))
    place = arranged["at"]
    moved = len(place) < len(frame) or arranged is not rows

    def owned(array: Ids) -> Ids:
        """Return an array that no other code can change, because a history never changes."""
        return array.copy() if table.borrowed and not array.flags.owndata else array

    def of_rows(name: str) -> Ids | None:
        """Return a column; one without any number does not count, except weights and shares."""
        column = arranged.get(name)
        if column is None or (name not in ("weight", "share") and np.isnan(column).all()):
            return None
        return owned(column)

    def of_matches(name: str) -> Ids | None:
        column = of_rows(name)
        return None if column is None else column[starts]

    team, labels = np.arange(len(place)) - arranged["match"], None
    has_labels = "team" in frame.columns and frame["team"].null_count() < len(frame)
    if "team" in arranged and has_labels and np.any(arranged["team"] >= 0):
        team = dense_ranks(offsets, arranged["lead"])
        labels = owned(_labels(read_ids(frame["team"], table.untyped)[0].gather(place)))
    attributes, notes = {}, []
    for name in frame.columns:
        if name in CANONICAL or name in options.statistics:
            continue
        values = read_attribute(frame[name].gather(place) if moved else frame[name], table.untyped)
        if values is None:
            notes.append(nested_note(name))
        else:
            attributes[name] = owned(values)
    player, player_ids = keep_used(arranged["player"], player_ids)
    match_ids = ids.gather(place[starts])
    moments = None if times is None else arranged["time"][starts] * times.scale
    dated = times is None or not times.is_order
    history = History(
        match_ids=match_ids.to_numpy().astype(object if match_ids.dtype == pl.String else np.int64),
        player_ids=player_ids,
        offsets=offsets,
        player=owned(player),
        team=team,
        rank=dense_ranks(offsets, arranged["rank"].astype(np.int64, copy=False)),
        time=moments if dated else None,
        time_kind="seconds" if times is None else times.kind,
        order=None if dated else moments,
        weight=of_matches("weight"),
        performance_ceiling=of_matches("performance_ceiling"),
        beta=of_matches("beta"),
        gamma=of_matches("gamma"),
        performance=of_rows("performance"),
        share=of_rows("share"),
        statistics={name: owned(arranged[f"statistic {name}"]) for name in options.statistics},
        attributes=attributes,
        team_labels=labels,
    )
    ordered = () if history.order is None else (order_note(history.order),)
    return history, (*notes, *ordered)


def _in_order(rows: Rows) -> Rows:
    """Return rows in order of time; matches of the same time, and their rows, in file order."""
    match = rows["match"]
    moments = rows.get("time", match)
    if np.all(match[1:] >= match[:-1]) and np.all(moments[1:] >= moments[:-1]):
        return rows
    first = np.flatnonzero(match == np.arange(len(match)))
    number = np.empty(len(match), np.int64)
    number[first[np.argsort(moments[first], kind="stable")]] = np.arange(len(first))
    return _taken(rows, np.argsort(number[match], kind="stable"))


def _labels(labels: pl.Series) -> Ids:
    if labels.dtype == pl.String:
        return text_objects(labels)
    return np.array(labels.to_list(), dtype=object) if labels.null_count() else labels.to_numpy()
