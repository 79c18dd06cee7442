"""How a player's tie-break came about: its parts, and which of them counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from equipoise.data.tournaments.rounds import RoundKind
from equipoise.display import Tabular, name_in_words
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl

#: "cut": left out by a modifier. "left out": never part of it, such as a game against a player with
#: less than half of the points in the Koya system.
PartStatus: TypeAlias = Literal["counts", "cut", "left out"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class TieBreakDetails(Tabular):
    """The parts of one tie-break of one player, one for each game or round.

    player : id; name : of the tie-break; total : its value, NaN if there is none
    round : from 1, 0 if unknown; opponent : id, None if there is none; kind : what the round was
    games : number of games; points : taken from them
    score : the opponent's score or rating that counts, or that of the dummy in an unplayed round;
        NaN if none does
    value : what one game adds; status : whether it does

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "ben", "cid"], ["ben", "cid", "ann"], [1, 0.5, 0.5])
    >>> eq.tie_break_details(games, "ben", "sonneborn-berger").total
    0.5
    """

    player: int | str
    name: str
    total: float
    round: tuple[int, ...] = ()
    opponent: tuple[int | str | None, ...] = ()
    kind: tuple[RoundKind, ...] = ()
    games: tuple[float, ...] = ()
    points: tuple[float, ...] = ()
    score: tuple[float, ...] = ()
    value: tuple[float, ...] = ()
    status: tuple[PartStatus, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each part, in the order of rounds."""
        import polars as pl

        names = ("round", "opponent", "kind", "games", "points", "score", "value", "status")
        whole = {"round": pl.Int64, "games": pl.Float64, "points": pl.Float64}
        whole |= {"score": pl.Float64, "value": pl.Float64}
        frame = pl.DataFrame(
            [pl.Series(name, getattr(self, name), dtype=whole.get(name)) for name in names]
        )
        return frame.with_columns(
            pl.col(pl.Float64).fill_nan(None),
            pl.when(pl.col("round") > 0).then(pl.col("round")).alias("round"),
        )

    def _in_words(self) -> str:
        counting = sum(one == "counts" for one in self.status)
        who = f"{self.name} of {name_in_words(self.player)}"
        parts = f"of {counting} of {counted(len(self.status), 'part')}"
        return f"{who} is {self.total:g}, {parts}"
