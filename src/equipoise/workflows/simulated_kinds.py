"""Kinds of histories that can be simulated: their models, and how their matches become rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Ids, Ints
from equipoise.data.times import MICROSECONDS, as_written, read_as_seconds
from equipoise.errors import InvalidParameterError
from equipoise.evaluate.synthetic import Contest, ContestModel, contests
from equipoise.evaluate.synthetic_statistics import ROLES, STATISTICS
from equipoise.evaluate.synthetic_teams import TEAMS, TeamMatch, TeamModel, team_matches

#: A match as a model makes it: numbered from 1, with its players and their true skills.
Made: TypeAlias = Contest | TeamMatch


class Kind(NamedTuple):
    """A kind of history.

    model : class of its parameters
    total : the parameter that says how many matches there are
    make : (model, rng=...) -> its matches, one by one
    columns : (model, some matches) -> the columns of their rows that not every kind has
    """

    model: type[ContestModel] | type[TeamModel]
    total: str
    make: Callable[..., Iterator[Made]]
    columns: Callable[[Any, Sequence[Any]], Mapping[str, Any]]


def _contest_columns(model: ContestModel, some: Sequence[Any]) -> Mapping[str, Any]:
    return {"rank": joined(some, "rank")}


def _team_columns(model: TeamModel, some: Sequence[Any]) -> Mapping[str, Any]:
    columns = {"team": np.array(TEAMS)[joined(some, "team")], "rank": joined(some, "rank")}
    if model.leavers > 0:
        columns["share"] = joined(some, "share")
    columns |= {name: joined(some, name) for name in STATISTICS}
    if model.roles:
        columns["role"] = np.array([role.name for role in ROLES])[joined(some, "role")]
    return columns


KINDS = {
    "contests": Kind(ContestModel, "contests", contests, _contest_columns),
    "teams": Kind(TeamModel, "matches", team_matches, _team_columns),
}


def joined(some: Sequence[Any], name: str) -> Any:
    """Return one column of several matches in one piece."""
    return np.concatenate([getattr(one, name) for one in some])


def table(kind: Kind, model: Any, some: Sequence[Made], with_skill: bool) -> pl.DataFrame:
    """Return matches as rows of a long table."""
    sizes = [len(one.player) for one in some]
    columns = {
        "match": np.repeat([one.number for one in some], sizes),
        "time": _times(model, np.repeat([one.time for one in some], sizes)),
        "player": joined(some, "player"),
        **kind.columns(model, some),
    }
    if with_skill:
        columns["skill"] = joined(some, "skill")
    return pl.DataFrame(columns)


def _times(model: ContestModel | TeamModel, seconds: Ints) -> Ids:
    """Return times as a history has them; all pieces of a table are written alike."""
    matches = model.contests if isinstance(model, ContestModel) else model.matches
    plain = read_as_seconds(model.first_time, model.first_time + matches * model.interval)
    return seconds if plain else as_written(seconds * MICROSECONDS, "datetime")


def sizes_of(text: str) -> tuple[tuple[int, int], ...]:
    """Return sizes of two teams, as in "5v5,5v4". Raises : InvalidParameterError."""
    found = []
    for part in text.split(","):
        one, versus, other = part.strip().lower().partition("v")
        if not (versus and one.isascii() and one.isdigit() and other.isascii() and other.isdigit()):
            raise InvalidParameterError(f"--sizes takes sizes such as 5v5,5v4; got {text!r}")
        found.append((int(one), int(other)))
    return tuple(found)
