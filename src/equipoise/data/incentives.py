"""What an audit of incentives found: how much a player would have gained by doing worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from equipoise.arrays import Flags, Floats, Ids, Ints

if TYPE_CHECKING:
    import polars as pl

#: How the other players respond: they keep the ratings they had before each match, or everything
#: is rated anew.
Others: TypeAlias = Literal["frozen", "replayed"]

#: Rating points: what is gained beyond the rounding of ratings that took thousands of steps.
LEAST_GAIN = 1e-6


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Incentive:
    """The best plan found for one player under one system; every array of shape (k,).

    A plan says in which of k matches the player's team would have come in worse than it did.

    system : its name in the registry
    player : id, int or str
    others : whether the other players keep their ratings
    played : rated matches of the player in all
    match_ids, times : of the k matches considered, in their order; no times is None
    teams : in each of them
    place, tied : where the team came, from 1, and other teams in that place
    planned_place, planned_tied : where it would have come by the plan
    before : rating before the first of the matches
    honest, planned : rating after each match, as it was and by the plan
    gain_frozen : what the best plan gains while the others keep their ratings
    plans, failed : plans that were tried, the honest one among them, and those of them after which
        the system has no rating for the player
    complete : whether these are all there are, so that no better one exists
    """

    system: str
    player: Any
    others: Others
    played: int
    match_ids: Ids
    times: Ids | None
    teams: Ints
    place: Ints
    tied: Ints
    planned_place: Ints
    planned_tied: Ints
    before: float
    honest: Floats
    planned: Floats
    gain_frozen: float
    plans: int
    failed: int
    complete: bool

    @property
    def gain(self) -> float:
        """How far the plan's last rating is above the honest one; 0 where no plan gains."""
        return float(self.planned[-1] - self.honest[-1])

    @property
    def thrown(self) -> Flags:
        """Whether the plan has the player do worse in a match, shape (k,)."""
        worse: Flags = (self.place != self.planned_place) | (self.tied != self.planned_tied)
        return worse

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a match."""
        import polars as pl

        columns: dict[str, object] = {"match": self.match_ids}
        if self.times is not None:
            columns["time"] = self.times
        columns |= {name: getattr(self, name) for name in COLUMNS}
        return pl.DataFrame(columns)


#: Columns of the table after match and time.
COLUMNS = (
    "teams",
    "place",
    "tied",
    "planned_place",
    "planned_tied",
    "thrown",
    "honest",
    "planned",
)
