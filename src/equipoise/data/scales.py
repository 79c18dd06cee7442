"""From one scale of ratings to another: the straight line through two ratings of each scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.arguments import check_fields, checks_arguments
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.errors import InvalidParameterError, require

#: How a mapping is written.
FORM = "THERE=HERE,THERE=HERE, such as 1500=25,1850=33"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleMapping:
    """How ratings of another scale are written on this one.

    A rating r becomes here[0] + scale (r - there[0]), where scale is (here[1] - here[0]) /
    (there[1] - there[0]). A deviation d becomes scale d.

    there : two ratings of the other scale
    here : the same two on this scale, in the same order

    Examples
    --------
    >>> scale = eq.ScaleMapping(there=(1500.0, 1850.0), here=(25.0, 33.0))
    >>> known = eq.read_initial_ratings({"player": ["ada"], "rating": [1675.0]})
    >>> scale.map(known).rating.tolist()
    [29.0]
    """

    there: tuple[float, float]
    here: tuple[float, float]

    def __post_init__(self) -> None:
        """Check that the line exists and rises: a better player stays a better player."""
        check_fields(self)
        for name, pair in (("there", self.there), ("here", self.here)):
            for value in pair:
                known = math.isfinite(value) and abs(value) <= 1e9
                require(known, name, "two numbers from -1e9 to 1e9", value)
        different = self.there[0] != self.there[1]
        require(different, "there", "two different ratings", self.there)
        rule = "in the same order as there: the higher rating must stay the higher one"
        require(self.scale > 0.0, "here", rule, self.here)

    @property
    def scale(self) -> float:
        """Return the points of this scale for one point of the other."""
        return (self.here[1] - self.here[0]) / (self.there[1] - self.there[0])

    @checks_arguments()
    def map(self, ratings: InitialRatings | Ratings) -> InitialRatings:
        """Return ratings of the other scale on this one; an unknown deviation stays unknown.

        Raises : InvalidParameterError if a rating leaves the range of initial ratings
        """
        return InitialRatings(
            player_ids=ratings.player_ids,
            rating=self.here[0] + self.scale * (ratings.rating - self.there[0]),
            deviation=self.scale * ratings.deviation,
        )

    @classmethod
    def read(cls, text: str, name: str) -> ScaleMapping:
        """Return the mapping in a text such as 1500=25,1850=33; `name` is for errors.

        Raises : InvalidParameterError
        """
        pairs = [part.partition("=") for part in text.split(",")]
        try:
            numbers = [(float(there), float(here)) for there, _, here in pairs]
        except ValueError:
            numbers = []
        if len(numbers) != 2:
            raise InvalidParameterError(f"{name} takes {FORM}; got {text[:100]!r}")
        (first, second), (third, fourth) = numbers
        return cls(there=(first, third), here=(second, fourth))
