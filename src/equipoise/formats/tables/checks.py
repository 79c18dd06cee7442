"""Checks a long table: its rows one by one, and the rows of each match together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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
)
from equipoise.formats.findings import Fault, Findings
from equipoise.formats.options import Options
from equipoise.formats.synonyms import merge_ids
from equipoise.formats.table import shown
from equipoise.formats.tables.columns import (
    faults_of,
    mask,
    number_ids,
    places_from_score,
    read_ids,
    read_ranks,
    read_scores,
    read_truths,
    required_ids,
)
from equipoise.formats.tables.matches import (
    Grouping,
    Matches,
    first_of_pair,
    regroup,
    repeated_rows,
)
from equipoise.formats.tables.notation import (
    instead_of,
    numbers_of,
    plain_numbers,
    plain_places,
)

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


#: Columns that have one value for the complete match.
_SAME_ON_ALL_ROWS = ("time", "rated", *OF_MATCHES)


class Labels(NamedTuple):
    """Numbers of team labels; -1 is absent. `winner` is None if ranks decide."""

    team: Ints
    winner: Ints | None


@dataclass(slots=True)
class Rows:
    """Checked rows of a table as columns; all arrays have one element for each row.

    place : position among the rows that are left, as counted by `Findings`
    match : number of the match in the first grouping
    columns : rank, time, weight, performance_ceiling, beta, gamma, share, performance
    statistics : named columns
    """

    place: Ints
    match: Matches
    player: Ints
    player_ids: Ids
    labels: Labels | None
    columns: dict[str, Ids]
    statistics: dict[str, Ids]

    def keep(self, rows: Flags) -> Rows:
        """Return some of the rows."""
        labels = None
        if self.labels is not None:
            winner = self.labels.winner
            labels = Labels(self.labels.team[rows], None if winner is None else winner[rows])
        return Rows(
            self.place[rows],
            self.match[rows],
            self.player[rows],
            self.player_ids,
            labels,
            {name: column[rows] for name, column in self.columns.items()},
            {name: column[rows] for name, column in self.statistics.items()},
        )


def check_rows(
    frame: pl.DataFrame, untyped: bool, grouping: Grouping, findings: Findings, options: Options
) -> Rows:
    """Return the columns of all rows, after recording every fault of a single row."""
    players, faults = required_ids(frame["player"], untyped)
    findings.add_faults("player", faults, frame["player"])
    if options.synonyms:
        players = merge_ids(players, options.synonyms)
    labels = _labels(frame, players, untyped, grouping, findings, options)
    player, player_ids = number_ids(players)
    columns: dict[str, Ids] = {}
    if "rank" in frame.columns:
        columns["rank"], faults = _ranks(frame["rank"], findings, options)
        findings.add_faults("rank", faults, frame["rank"])
    elif places_from_score(frame.columns, options):
        lower = options.lower_score_is_better
        columns["rank"], faults = _scores(frame["score"], findings, lower_is_better=lower)
        findings.add_faults("score", faults, frame["score"])
    _optional_numbers(frame, findings, columns)
    if "at_home" in frame.columns:
        # Kept as read; an unknown word would be read as false.
        findings.add_faults("at_home", read_truths(frame["at_home"])[1], frame["at_home"])
    statistics: dict[str, Ids] = {}
    for name in options.statistics:
        numbers = numbers_of(frame[name], findings.notes, by_commas=findings.table.by_commas)
        findings.add_faults(name, numbers.faults, frame[name])
        statistics[name] = numbers.values
    rule = ONCE_BY_SYNONYMS if options.synonyms else ONCE
    # If only bad rows are dropped, a player may have a bad row and a good one.
    unusable = findings.bad if options.skip_bad == "rows" else findings.bad_in("match", "player")
    _once(player, grouping, findings, frame["player"], rule, ~unusable)
    # Without a selection, positions are row numbers of the table.
    place = findings.rows if len(frame) == len(findings.table.frame) else np.arange(len(frame))
    return Rows(place, grouping.of_row, player, player_ids, labels, columns, statistics)


def _ranks(
    column: pl.Series, findings: Findings, options: Options
) -> tuple[Ints, tuple[Fault, ...]]:
    """Return places and faults, also of places such as 3rd and T3."""
    ranks, faults = read_ranks(column)
    written = plain_places(column, faults, unplaced=options.unplaced)
    if written is None:
        return ranks, faults
    findings.notes += [written.note] if written.note else []
    ranks, faults = read_ranks(written.column)
    return ranks, instead_of(faults, written.faults)


def _scores(
    column: pl.Series, findings: Findings, *, lower_is_better: bool
) -> tuple[Ints, tuple[Fault, ...]]:
    """Return places by score and faults, also of numbers with decimal commas."""
    ranks, faults = read_scores(column, lower_is_better=lower_is_better)
    written = plain_numbers(column, faults, by_commas=findings.table.by_commas)
    if written is None:
        return ranks, faults
    findings.notes += [written.note] if written.note else []
    ranks, faults = read_scores(written.column, lower_is_better=lower_is_better)
    return ranks, instead_of(faults, written.faults)


def _once(
    player: Ints,
    grouping: Grouping,
    findings: Findings,
    column: pl.Series,
    rule: str,
    good: Flags,
) -> None:
    """Record every good row that repeats a player of its match."""
    if not good.all():
        grouping, player = regroup(grouping.of_row[good])[0], player[good]
    repeated = repeated_rows(grouping, player)
    if repeated is not None:
        rows = np.zeros(len(good), dtype=bool)
        rows[np.flatnonzero(good)[repeated]] = True
        findings.add_faults("player", [Fault(rows, rule)], column)


def _labels(
    frame: pl.DataFrame,
    players: pl.Series,
    untyped: bool,
    grouping: Grouping,
    findings: Findings,
    options: Options,
) -> Labels | None:
    """Return the teams (and winners) of rows as numbers; without teams, the player is the label."""
    deciding = "winner" in frame.columns
    teams = None
    if "team" in frame.columns:
        teams, faults = read_ids(frame["team"], untyped)
        if teams.null_count():
            missing = mask(teams.is_null())
            mixed = missing & grouping.any(~missing)[grouping.of_row]
            faults = (*faults, *faults_of((mixed, NO_TEAM)))
        findings.add_faults("team", faults, frame["team"])
        teams = None if teams.null_count() == len(teams) else teams
    if teams is None and not deciding:
        return None
    if not deciding:
        return Labels(_numbered(teams), None)
    winners, faults = read_ids(frame["winner"], untyped)
    findings.add_faults("winner", faults, frame["winner"])
    if teams is None:
        # A single player is a team, and the winner is the name of a player.
        teams = players
        winners = merge_ids(winners, options.synonyms) if options.synonyms else winners
    if teams.dtype != winners.dtype:
        teams, winners = teams.cast(pl.String), winners.cast(pl.String)
    numbers = _numbered(pl.concat([teams.alias("label"), winners.alias("label")]))
    return Labels(numbers[: len(teams)], numbers[len(teams) :])


def _numbered(labels: pl.Series | None) -> Ints:
    if labels is None:
        return np.zeros(0, np.int64)
    numbers, _ = number_ids(labels)
    return np.where(labels.is_null().to_numpy(), -1, numbers) if labels.null_count() else numbers


def _optional_numbers(frame: pl.DataFrame, findings: Findings, columns: dict[str, Ids]) -> None:
    """Read the optional columns of numbers; an empty column is left out."""
    for name, default in (
        ("weight", 1.0),
        ("performance_ceiling", np.nan),
        ("beta", np.nan),
        ("gamma", np.nan),
        ("share", 1.0),
        ("performance", np.nan),
    ):
        if name not in frame.columns:
            continue
        values, absent, faults = numbers_of(
            frame[name],
            findings.notes,
            by_commas=findings.table.by_commas,
            nan_is_absent=name != "weight",
        )
        if absent is not None:
            values = np.where(absent, default, values)
        if name == "weight":
            heavy = np.isfinite(values) & (values > MOST_WEIGHT)
            faults = (*faults, *faults_of((values <= 0, POSITIVE), (heavy, TOO_HEAVY)))
        for bounded, most, rule in (
            ("performance_ceiling", FARTHEST_CEILING, TOO_FAR),
            ("performance", LARGEST_PERFORMANCE, TOO_LARGE),
        ):
            if name == bounded:
                beyond = np.isfinite(values) & (np.abs(values) > most)
                faults = (*faults, *faults_of((beyond, rule)))
        if name in OWN_DEVIATIONS:
            least, most, rule = OWN_DEVIATIONS[name]
            beyond = np.isfinite(values) & ((values < least) | (values > most))
            faults = (*faults, *faults_of((beyond, rule)))
        if name == "share":
            values = np.where(np.isnan(values), default, values)
            faults = (*faults, *faults_of(((values < 0) | (values > 1), SHARE)))
        findings.add_faults(name, faults, frame[name])
        if absent is None or not absent.all() or faults:
            columns[name] = values


def check_matches(
    rows: Rows, grouping: Grouping, frame: pl.DataFrame, findings: Findings, already_reported: Flags
) -> Flags:
    """Return the bad matches of a grouping of good rows, after recording their problems.

    already_reported : matches whose faults `check_matches_with_bad_rows` records
    """
    bad = np.zeros(grouping.matches, dtype=bool)
    for name in _SAME_ON_ALL_ROWS:
        if name in rows.columns:
            bad |= _differing_values(name, rows, grouping, frame, findings, already_reported)
    if not grouping.adjacent and "time" not in rows.columns:
        bad |= _scattered(rows, grouping, frame, findings)
    labels = rows.labels
    if labels is None:
        return bad
    if labels.winner is None:
        return bad | _differing_ranks(
            rows, labels.team, grouping, frame, findings, already_reported
        )
    differing = _differing_winners(rows, labels.winner, grouping, frame, findings, already_reported)
    sides = _bad_sides(
        rows, labels, grouping, frame, findings, (already_reported, already_reported | differing)
    )
    return bad | differing | sides


def check_matches_with_bad_rows(rows: Rows, frame: pl.DataFrame, findings: Findings) -> None:
    """Record the other problems of matches with a bad cell.

    A bad cell says nothing about other cells. Each rule is checked on the rows whose cells it needs
    are good. Rules on a complete match, such as the number of teams, need all of its rows.
    rows : all rows of these matches
    """

    def good(*names: str) -> tuple[Rows, Grouping, Flags]:
        some = rows.keep(~findings.bad_in("match", *names)[rows.place])
        grouping = regroup(some.match)[0]
        return some, grouping, np.zeros(grouping.matches, dtype=bool)

    for name in _SAME_ON_ALL_ROWS:
        if name in rows.columns:
            some, grouping, already_reported = good(name)
            _differing_values(name, some, grouping, frame, findings, already_reported)
    if rows.labels is None:
        return
    field = "team" if "team" in frame.columns else "player"
    if rows.labels.winner is None:
        some, grouping, already_reported = good(field, _deciding_column(frame))
        if some.labels is not None:
            _differing_ranks(some, some.labels.team, grouping, frame, findings, already_reported)
        return
    some, grouping, already_reported = good("winner")
    differing: set[int] = set()
    if some.labels is not None and some.labels.winner is not None:
        found = _differing_winners(
            some, some.labels.winner, grouping, frame, findings, already_reported
        )
        differing = set(some.match[grouping.first[found]].tolist())
    some, grouping, _ = good()
    if some.labels is not None and len(some.match):
        of_match = some.match[grouping.first]
        # Rows that could not be parsed count too, because they may have another team.
        unknown = np.isin(of_match, rows.match[findings.bad_in(field)[rows.place]])
        undecided = np.isin(of_match, rows.match[findings.bad_in("winner")[rows.place]])
        undecided |= unknown | np.isin(of_match, list(differing))
        _bad_sides(some, some.labels, grouping, frame, findings, (unknown, undecided))


def _differing_values(
    name: str,
    rows: Rows,
    grouping: Grouping,
    frame: pl.DataFrame,
    findings: Findings,
    already_reported: Flags,
) -> Flags:
    """Return the matches with several values in a column that must have one."""
    values = rows.columns[name]
    differs = grouping.differs(values)
    if differs is None:
        return np.zeros(grouping.matches, dtype=bool)
    if values.dtype == np.float64:
        empty = np.isnan(values)
        differs &= ~(empty & empty[grouping.first][grouping.of_row])
    return _differing(name, differs, rows, grouping, frame, findings, already_reported)


def _differing_ranks(
    rows: Rows,
    team: Ints,
    grouping: Grouping,
    frame: pl.DataFrame,
    findings: Findings,
    already_reported: Flags,
) -> Flags:
    """Return the matches in which a team has several ranks."""
    if not len(rows.match):
        return np.zeros(grouping.matches, dtype=bool)
    lead = _leads(rows, team, grouping)
    rank = rows.columns["rank"]
    differs = rank != rank[lead]
    name = _deciding_column(frame)
    return _differing(name, differs, rows, grouping, frame, findings, already_reported, lead)


def _deciding_column(frame: pl.DataFrame) -> str:
    """Return the column that decides the places if there is no winner."""
    return "rank" if "rank" in frame.columns else "score"


def _differing_winners(
    rows: Rows,
    winner: Ints,
    grouping: Grouping,
    frame: pl.DataFrame,
    findings: Findings,
    already_reported: Flags,
) -> Flags:
    """Return the matches with several winners."""
    differs = grouping.differs(winner) if len(winner) else None
    if differs is None:
        return np.zeros(grouping.matches, dtype=bool)
    return _differing("winner", differs, rows, grouping, frame, findings, already_reported)


def _leads(rows: Rows, team: Ints, grouping: Grouping) -> Ints:
    """Return the first row of the team of every row; a player without a team is a team."""
    alone = len(rows.match) + np.arange(len(rows.match))
    return first_of_pair(grouping.of_row, np.where(team < 0, alone, team))


def _bad_sides(
    rows: Rows,
    labels: Labels,
    grouping: Grouping,
    frame: pl.DataFrame,
    findings: Findings,
    already_reported: tuple[Flags, Flags],
) -> Flags:
    """Return the matches with a winner and not two teams, or whose winner is not one of them.

    already_reported : matches whose number of teams and winner are not recorded again
    """
    winner = labels.winner
    if winner is None:
        return np.zeros(grouping.matches, dtype=bool)
    lead = _leads(rows, labels.team, grouping)
    leads = np.flatnonzero(lead == np.arange(len(lead)))
    teams = np.bincount(grouping.of_row[leads], minlength=grouping.matches)
    draw = winner[grouping.first] < 0
    named = grouping.any(winner == labels.team) | draw
    field = "team" if "team" in frame.columns else "player"
    listed = _labels_of(frame[field], rows, grouping, leads, (teams != 2) | ~named)
    for at in np.flatnonzero((teams != 2) & ~already_reported[0]).tolist():
        got = f"{teams[at]}: {listed[at]}"
        findings.add(rows.place[grouping.first[[at]]], field, TWO_TEAMS, [got])
    for at in np.flatnonzero(~named & ~already_reported[1]).tolist():
        place = rows.place[grouping.first[[at]]]
        got = f"{shown(frame['winner'][int(place[0])])}, not {listed[at]}"
        findings.add(place, "winner", NAMES_NONE, [got])
    wrong: Flags = (teams != 2) | ~named
    return wrong


def _labels_of(
    column: pl.Series, rows: Rows, grouping: Grouping, leads: Ints, wanted: Flags
) -> dict[int, str]:
    """Return the names of the teams of the wanted matches, in order of appearance."""
    leads = leads[wanted[grouping.of_row[leads]]]
    names: dict[int, list[str]] = {}
    values = column.gather(rows.place[leads]).to_list()
    for match, name in zip(grouping.of_row[leads].tolist(), values, strict=True):
        names.setdefault(match, []).append(shown(name))
    return {match: " and ".join(found) for match, found in names.items()}


def _differing(
    name: str,
    differs: Flags,
    rows: Rows,
    grouping: Grouping,
    frame: pl.DataFrame,
    findings: Findings,
    already_reported: Flags,
    lead: Ints | None = None,
) -> Flags:
    """Return the matches with differing rows, after recording the first one of each match or team.

    already_reported : matches for which nothing more is recorded
    """
    bad = np.zeros(grouping.matches, dtype=bool)
    at = np.flatnonzero(differs)
    if not len(at):
        return bad
    bad[grouping.of_row[at]] = True
    first = grouping.first[grouping.of_row] if lead is None else lead
    at = at[np.unique(first[at], return_index=True)[1]]
    at = at[~already_reported[grouping.of_row[at]]]
    here, there = rows.place[at], rows.place[first[at]]
    lines = [line for _, line in findings.table.places(findings.rows[there])]
    values = zip(frame[name].gather(here), frame[name].gather(there), lines, strict=True)
    got = [f"{shown(one)}, while line {line} has {shown(other)}" for one, other, line in values]
    rule = SAME if lead is None else SCORE_IN_TEAM if name == "score" else SAME_IN_TEAM
    findings.add(here, name, rule, got)
    return bad


def _scattered(rows: Rows, grouping: Grouping, frame: pl.DataFrame, findings: Findings) -> Flags:
    """Record every later run of rows of a match that has several runs and no times."""
    later = np.ones(len(grouping.starts), dtype=bool)
    later[np.unique(grouping.of_run, return_index=True)[1]] = False
    here = rows.place[grouping.starts[later]]
    findings.add(here, "match", ADJACENT, [shown(one) for one in frame["match"].gather(here)])
    bad = np.zeros(grouping.matches, dtype=bool)
    bad[grouping.of_run[later]] = True
    return bad
