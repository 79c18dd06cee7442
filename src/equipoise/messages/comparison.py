"""The message of `equipoise compare` and of `equipoise rate --diff`."""

from __future__ import annotations

import msgspec


class MovedMessage(msgspec.Struct, frozen=True):
    """A player in both tables.

    change : new rating minus old rating, on the scale that counts
    place_change : places that the player rose, negative if the player fell
    in_deviations : the change in deviations of both ratings together, null if unknown
    """

    player: str
    old_rating: float
    new_rating: float
    change: float
    old_place: int
    new_place: int
    place_change: int
    old_deviation: float | None
    new_deviation: float | None
    in_deviations: float | None


class ScaleLineMessage(msgspec.Struct, frozen=True):
    """The straight line between the scales: an old rating r becomes intercept + slope r.

    residual : standard deviation of the new ratings around the line
    mapping : the same line as `--initial-mapping` takes it
    """

    slope: float
    intercept: float
    residual: float
    mapping: str


class ChangesMessage(msgspec.Struct, frozen=True):
    """The changes of the players in both tables, rating points; mean_absolute of their sizes."""

    mean: float
    median: float
    standard_deviation: float
    mean_absolute: float


class RatingComparisonMessage(msgspec.Struct, frozen=True):
    """Two tables of ratings compared.

    players : in both tables; only_old, only_new : numbers of those in one of them, of whom
        only_old_players and only_new_players are the best
    scale : "same" if changes are differences of the ratings as they are, "line" if they are taken
        after the straight line; reason : why
    line, on_line : null without a line; correlations : null if undefined
    pairs : of players in both tables, in the same order, in reverse order, or tied in a table
    with_deviations : players with a deviation in both tables; large : those of them whose change is
        beyond two deviations of both ratings
    risen, fallen : who moved most, by rating or by place
    """

    old: str
    new: str
    players: int
    only_old: int
    only_new: int
    only_old_players: list[str]
    only_new_players: list[str]
    scale: str
    reason: str
    line: ScaleLineMessage | None
    as_they_are: ChangesMessage
    on_line: ChangesMessage | None
    pearson: float | None
    spearman: float | None
    kendall: float | None
    pairs: int
    same_order: int
    reverse_order: int
    tied: int
    with_deviations: int
    large: int
    risen: list[MovedMessage]
    fallen: list[MovedMessage]
    notes: list[str]
