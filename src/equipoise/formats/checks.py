"""The rules of a long table: of its rows one by one, and of its matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ids, Ints
from equipoise.formats.columns import (
    faults_of,
    mask,
    number_ids,
    read_ids,
    read_numbers,
    read_ranks,
    required_ids,
)
from equipoise.formats.grouping import Grouping, Matches, first_of_pair, regroup, repeated_rows
from equipoise.formats.options import Options
from equipoise.formats.table import Fault, Findings, shown

ONCE = "must appear once in a match"
NO_TEAM = "must not be empty where other rows of the match have a team"
POSITIVE = "must be a positive number"
SHARE = "must be a number from 0 to 1"
SAME = "must be the same on all rows of a match"
SAME_IN_TEAM = "must be the same for all players of a team"
ADJACENT = "must be adjacent rows where there are no times, else one id would stand for two matches"
TWO_TEAMS = "must have two teams where a winner is given"
NAMES_NONE = "must name one of the match's teams, or be empty for a draw"


class Labels(NamedTuple):
    """Numbers of team labels; -1 is absent. `winner` is None where ranks decide."""

    team: Ints
    winner: Ints | None


@dataclass(slots=True)
class Rows:
    """Checked rows of a table as columns; all arrays have one entry a row.

    place : position among the rows in play, where `Findings` counts
    match : number of the match, as of the first grouping
    columns : rank, time, weight, performance_ceiling, share, performance
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
    labels = _labels(frame, players, untyped, grouping, findings)
    player, player_ids = number_ids(players)
    columns: dict[str, Ids] = {}
    if "rank" in frame.columns:
        columns["rank"], faults = read_ranks(frame["rank"])
        findings.add_faults("rank", faults, frame["rank"])
    _optional_numbers(frame, findings, columns)
    statistics: dict[str, Ids] = {}
    for name in options.statistics:
        numbers = read_numbers(frame[name])
        findings.add_faults(name, numbers.faults, frame[name])
        statistics[name] = numbers.values
    _once(player, grouping, findings, frame["player"])
    # Without a selection, positions in play are row numbers of the table.
    place = findings.rows if len(frame) == len(findings.table.frame) else np.arange(len(frame))
    return Rows(place, grouping.of_row, player, player_ids, labels, columns, statistics)


def _once(player: Ints, grouping: Grouping, findings: Findings, column: pl.Series) -> None:
    """Record every row that repeats a player in a match, among the rows good so far."""
    good = ~findings.bad
    if not good.all():
        grouping, player = regroup(grouping.of_row[good])[0], player[good]
    repeated = repeated_rows(grouping, player)
    if repeated is not None:
        rows = np.zeros(len(good), dtype=bool)
        rows[np.flatnonzero(good)[repeated]] = True
        findings.add_faults("player", [Fault(rows, ONCE)], column)


def _labels(
    frame: pl.DataFrame,
    players: pl.Series,
    untyped: bool,
    grouping: Grouping,
    findings: Findings,
) -> Labels | None:
    """Return the teams (and winners) of rows as numbers; without teams a player is a label."""
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
    teams = players if teams is None else teams
    winners, faults = read_ids(frame["winner"], untyped)
    findings.add_faults("winner", faults, frame["winner"])
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
    """Read the optional columns of numbers; one that is empty throughout is left out."""
    for name, default in (
        ("weight", 1.0),
        ("performance_ceiling", np.nan),
        ("share", 1.0),
        ("performance", np.nan),
    ):
        if name not in frame.columns:
            continue
        values, absent, faults = read_numbers(frame[name], nan_is_absent=name != "weight")
        if absent is not None:
            values = np.where(absent, default, values)
        if name == "weight":
            faults = (*faults, *faults_of((values <= 0, POSITIVE)))
        if name == "share":
            values = np.where(np.isnan(values), default, values)
            faults = (*faults, *faults_of(((values < 0) | (values > 1), SHARE)))
        findings.add_faults(name, faults, frame[name])
        if absent is None or not absent.all() or faults:
            columns[name] = values


def check_matches(
    rows: Rows, grouping: Grouping, frame: pl.DataFrame, findings: Findings, silent: Flags
) -> Flags:
    """Return the bad matches of a grouping of rows, after recording why.

    silent : matches whose teams need no comment, because a row of theirs is reported
    """
    bad = np.zeros(grouping.matches, dtype=bool)
    for name in ("time", "rated", "weight", "performance_ceiling"):
        if name in rows.columns:
            values = rows.columns[name]
            differs = grouping.differs(values)
            if differs is None:
                continue
            if values.dtype == np.float64:
                empty = np.isnan(values)
                differs &= ~(empty & empty[grouping.first][grouping.of_row])
            bad |= _differing(name, differs, rows, grouping, frame, findings)
    if not grouping.adjacent and "time" not in rows.columns:
        bad |= _scattered(rows, grouping, frame, findings)
    if rows.labels is not None:
        bad |= _bad_teams(rows, rows.labels, grouping, frame, findings, silent)
    return bad


def _bad_teams(
    rows: Rows,
    labels: Labels,
    grouping: Grouping,
    frame: pl.DataFrame,
    findings: Findings,
    silent: Flags,
) -> Flags:
    team = np.where(labels.team < 0, len(rows.match) + np.arange(len(rows.match)), labels.team)
    lead = first_of_pair(grouping.of_row, team)
    if labels.winner is None:
        rank = rows.columns["rank"]
        differs = rank != rank[lead]
        return _differing("rank", differs, rows, grouping, frame, findings, lead)
    differs = grouping.differs(labels.winner)
    bad = np.zeros(grouping.matches, dtype=bool)
    if differs is not None:
        bad = _differing("winner", differs, rows, grouping, frame, findings)
    leads = np.flatnonzero(lead == np.arange(len(lead)))
    teams = np.bincount(grouping.of_row[leads], minlength=grouping.matches)
    draw = labels.winner[grouping.first] < 0
    named = grouping.any(labels.winner == labels.team) | draw
    field = "team" if "team" in frame.columns else "player"
    listed = _labels_of(frame[field], rows, grouping, leads, (teams != 2) | ~named)
    for at in np.flatnonzero((teams != 2) & ~silent).tolist():
        got = f"{teams[at]}: {listed[at]}"
        findings.add(rows.place[grouping.first[[at]]], field, TWO_TEAMS, [got])
    for at in np.flatnonzero(~named & ~bad & ~silent).tolist():
        place = rows.place[grouping.first[[at]]]
        got = f"{shown(frame['winner'][int(place[0])])}, not {listed[at]}"
        findings.add(place, "winner", NAMES_NONE, [got])
    wrong: Flags = bad | (teams != 2) | ~named
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
    lead: Ints | None = None,
) -> Flags:
    """Record the first row of every match (or team) that differs from its first row."""
    bad = np.zeros(grouping.matches, dtype=bool)
    at = np.flatnonzero(differs)
    if not len(at):
        return bad
    first = grouping.first[grouping.of_row] if lead is None else lead
    at = at[np.unique(first[at], return_index=True)[1]]
    here, there = rows.place[at], rows.place[first[at]]
    lines = [line for _, line in findings.table.places(findings.rows[there])]
    values = zip(frame[name].gather(here), frame[name].gather(there), lines, strict=True)
    got = [f"{shown(one)}, while line {line} has {shown(other)}" for one, other, line in values]
    findings.add(here, name, SAME if lead is None else SAME_IN_TEAM, got)
    bad[grouping.of_row[at]] = True
    return bad


def _scattered(rows: Rows, grouping: Grouping, frame: pl.DataFrame, findings: Findings) -> Flags:
    """Record every later run of rows of a match that has several, without times."""
    later = np.ones(len(grouping.starts), dtype=bool)
    later[np.unique(grouping.of_run, return_index=True)[1]] = False
    here = rows.place[grouping.starts[later]]
    findings.add(here, "match", ADJACENT, [shown(one) for one in frame["match"].gather(here)])
    bad = np.zeros(grouping.matches, dtype=bool)
    bad[grouping.of_run[later]] = True
    return bad
