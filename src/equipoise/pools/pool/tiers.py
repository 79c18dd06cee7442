"""Tiers of a pool: ranges of ratings shown with a name and a level from 1 to 5.

The ready-made ones are the titles of Codeforces (https://codeforces.com/blog/entry/68288), the
classes of US Chess (https://new.uschess.org/us-chess-ratings), and five around the initial rating.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.messages.pools import Tier, TierPreset

#: Tiers of a pool, and characters of a name, at most.
_MOST, _LONGEST = 30, 40

_CODEFORCES = (
    Tier(0.0, "Newbie", "Newbie", 1),
    Tier(1200.0, "Pupil", "Pupil", 1),
    Tier(1400.0, "Specialist", "Specialist", 2),
    Tier(1600.0, "Expert", "Expert", 2),
    Tier(1900.0, "Candidate master", "CM", 3),
    Tier(2100.0, "Master", "Master", 4),
    Tier(2300.0, "International master", "Intl. master", 4),
    Tier(2400.0, "Grandmaster", "Grandmaster", 5),
    Tier(2600.0, "International grandmaster", "Intl. GM", 5),
    Tier(3000.0, "Legendary grandmaster", "Legendary GM", 5),
)
_CHESS = (
    Tier(0.0, "Class E and below", "E", 1),
    Tier(1200.0, "Class D", "D", 1),
    Tier(1400.0, "Class C", "C", 2),
    Tier(1600.0, "Class B", "B", 2),
    Tier(1800.0, "Class A", "A", 3),
    Tier(2000.0, "Expert", "Expert", 4),
    Tier(2200.0, "Master", "Master", 5),
    Tier(2400.0, "Senior master", "SM", 5),
)
#: Names of five tiers, and their lower bounds as parts of the initial rating: 1300, 1500, 1700 and
#: 1900 for an initial rating of 1500.
_FIVE = ("Bronze", "Silver", "Gold", "Platinum", "Diamond")
_PARTS = (0.0, 13 / 15, 1.0, 17 / 15, 19 / 15)


def resolved(tiers: Sequence[Tier] | TierPreset, initial: float) -> list[Tier]:
    """Return tiers, also ready-made ones; initial : the rating of a newcomer."""
    if not isinstance(tiers, str):
        return list(tiers)
    if tiers != "five":
        return list(_CODEFORCES if tiers == "codeforces" else _CHESS)
    bounds = [initial * part for part in _PARTS]
    return [
        Tier(bound, name, name, level)
        for level, (name, bound) in enumerate(zip(_FIVE, bounds, strict=True), start=1)
    ]


def tier_faults(
    tiers: Sequence[Tier] | TierPreset, initial: float
) -> Iterator[tuple[str, str, object]]:
    """Give (field, rule, value) of everything wrong with tiers."""
    if isinstance(tiers, str):
        if tiers == "five" and not initial > 0:
            yield "tiers", "must be a list: 'five' needs an initial rating above 0", tiers
        return
    if len(tiers) > _MOST:
        yield "tiers", f"must be at most {_MOST}", len(tiers)
    for at, tier in enumerate(tiers):
        for field, text in (("name", tier.name), ("short", tier.short)):
            if not 0 < len(text) <= _LONGEST or not text.isprintable():
                rule = f"must have 1 to {_LONGEST} characters and no control characters"
                yield f"tiers[{at}].{field}", rule, text
        if not abs(tier.lower) <= 1e9:
            yield f"tiers[{at}].lower", "must be from -1e9 to 1e9", tier.lower
        if at and not tiers[at - 1].lower < tier.lower:
            yield f"tiers[{at}].lower", "must be above that of the tier before", tier.lower
