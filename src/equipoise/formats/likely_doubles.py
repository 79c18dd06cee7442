"""Names that may be two spellings of one player; nothing is merged, they are only pointed out.

Names are alike if they agree after what spelling changes is taken away:

- case, diacritics, punctuation and spaces ("de Vries", "De-Vries", "Devries"), ae, oe and ue for
  umlauts, and the order of words ("Carlsen, Magnus", "Magnus Carlsen");
- one digit that tells namesakes apart ("Li Chao2", "Li Chao");
- given names that are shortened or left out ("Carlsen, M", "Carlsen, Magnus").

Numbers are never taken away otherwise: engines and models of different versions are different.
Keys are computed for all names at once and compared by sorting, so that the time grows with the
number of names, not with that of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import polars as pl

#: Pairs of names that are listed; more are only counted.
LISTED = 10
#: With more names than this nobody looks: they are accounts, not spellings in a tournament.
MOST = 20_000
#: Families of more members are not searched for shortened names.
_LARGEST_FAMILY = 50

#: Letters that Unicode does not take apart into a letter and a mark.
_LETTERS = {
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "ß": "ss",
    "æ": "a",
    "œ": "o",
    "\u0131": "i",
    "ae": "a",
    "oe": "o",
    "ue": "u",
}
#: Accents and the like, once a letter is taken apart; marks of other scripts are letters.
_MARKS = r"[\x{300}-\x{36f}]"
#: What stands between words; plus, number sign and asterisk are parts of names (C++, C#).
_BETWEEN = r"[^\p{L}\p{M}\p{Nd}+#*]+"
#: A name of two words or more, without numbers but for one digit at its end.
_NAMESAKE = r"^(\p{L}\P{Nd}*[ ,_.\-]\P{Nd}*\p{L})[1-9]$"
_NUMBER = r"\p{Nd}"
_ROWS = pl.int_range(pl.len(), dtype=pl.Int64).alias("row")


class _Person(NamedTuple):
    """A name as surname and given names, one of the ways to read it."""

    row: int
    given: list[str]
    comma: bool


def likely_doubles(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of names that may be one player, in the order of the names.

    names : distinct; every name is the second of one pair at most
    """
    frame = pl.DataFrame({"plain": _plain(pl.Series(list(names), dtype=pl.String))})
    frame = frame.with_columns(_ROWS)
    first: dict[int, int] = {}
    for found in (_alike(frame), _namesakes(frame), _shortened(frame), _without_given(frame)):
        for one, other in found:
            low, high = min(one, other), max(one, other)
            first[high] = min(low, first.get(high, low))
    return [(names[one], names[other]) for other, one in sorted(first.items())]


def describe_doubles(names: Sequence[str]) -> tuple[str, ...]:
    """Return notes on names that may be one player: some by name, the others counted."""
    if len(names) > MOST:
        return (f"nobody looked for other spellings of a player among {len(names):,} names",)
    pairs = likely_doubles(names)
    notes = [f"{one!r} and {other!r} may be one player" for one, other in pairs[:LISTED]]
    if len(pairs) > LISTED:
        notes.append(f"{len(pairs) - LISTED:,} more names may be other spellings of a player")
    return tuple(notes)


def _plain(names: pl.Series) -> pl.Series:
    """Return names in small letters without accents."""
    bare = names.str.to_lowercase().str.normalize("NFKD").str.replace_all(_MARKS, "")
    return bare.str.replace_many(list(_LETTERS), list(_LETTERS.values()))


def _run_together(plain: pl.Expr) -> pl.Expr:
    """Return names without gaps; between numbers a point stays, as 1.5 is not 15."""
    spaced = plain.str.replace_all(_BETWEEN, " ").str.strip_chars()
    pointed = spaced.str.replace_all(r"(\p{Nd}) ", "$1.").str.replace_all(" ", "", literal=True)
    return pointed.str.replace_all(r"\.(\P{Nd})", "$1")


def _words(plain: pl.Expr) -> pl.Expr:
    return plain.str.replace_all(_BETWEEN, " ").str.strip_chars().str.split(" ")


def _sorted_words(plain: pl.Expr) -> pl.Expr:
    return _words(plain).list.sort().list.join(" ")


def _alike(frame: pl.DataFrame) -> Iterator[tuple[int, int]]:
    """Yield pairs that differ in spelling or in the order of words only."""
    # The order of numbers matters: 1.2 is not 2.1.
    letters = frame.filter(~pl.col("plain").str.contains(_NUMBER))
    for key, names in ((_run_together, frame), (_sorted_words, letters)):
        keyed = names.select("row", key=key(pl.col("plain"))).filter(pl.col("key") != "")
        keyed = keyed.filter(pl.col("key").is_duplicated())
        paired = keyed.with_columns(first=pl.col("row").min().over("key"))
        yield from paired.filter(pl.col("first") < pl.col("row")).select("first", "row").iter_rows()


def _namesakes(frame: pl.DataFrame) -> Iterator[tuple[int, int]]:
    """Yield pairs of which one has a digit at its end and the other has no number at all."""
    marked = frame.select("row", plain=pl.col("plain").str.extract(_NAMESAKE)).drop_nulls()
    if not len(marked):
        return
    others = frame.filter(~pl.col("plain").str.contains(_NUMBER))
    for key in (_run_together, _sorted_words):
        keyed = [one.select("row", key=key(pl.col("plain"))) for one in (others, marked)]
        first = keyed[0].unique("key", keep="first", maintain_order=True)
        joined = first.join(keyed[1], on="key", suffix="_marked", maintain_order="left_right")
        yield from joined.select("row", "row_marked").iter_rows()


def _people(frame: pl.DataFrame) -> pl.DataFrame:
    """Return names without numbers as surname and given names, in every way to read them."""
    letters = frame.filter(~pl.col("plain").str.contains(r"[\p{Nd}+#*]"))
    parts = pl.col("plain").str.splitn(",", 2).struct
    comma = letters.filter(pl.col("plain").str.contains(",")).select(
        "row",
        surname=_run_together(parts.field("field_0")),
        given=_words(parts.field("field_1")),
        comma=pl.lit(True),
    )
    words = letters.filter(~pl.col("plain").str.contains(",")).with_columns(
        words=_words(pl.col("plain"))
    )
    words = words.filter(pl.col("words").list.len() >= 2)
    listed = pl.col("words").list
    readings = [
        words.select("row", surname=surname, given=given, comma=pl.lit(False))
        for surname, given in (
            (listed.last(), listed.head(listed.len() - 1)),
            (listed.first(), listed.tail(listed.len() - 1)),
        )
    ]
    people = pl.concat([comma, *readings])
    return people.filter((pl.col("surname") != "") & (pl.col("given").list.first() != ""))


def _shortened(frame: pl.DataFrame) -> Iterator[tuple[int, int]]:
    """Yield pairs of one surname of which one has shortened or fewer given names."""
    initial = pl.col("given").list.first().str.slice(0, 1)
    family = pl.concat_str("surname", initial, separator=" ")
    people = _people(frame).with_columns(family=family)
    people = people.filter(pl.col("family").is_duplicated())
    people = people.filter(pl.len().over("family") <= _LARGEST_FAMILY).sort("family", "row")
    for _, members in people.group_by("family", maintain_order=True):
        rows = members.select("row", "given", "comma").iter_rows()
        for one, other in combinations([_Person(*row) for row in rows], 2):
            if one.row != other.row and _may_be_one(one, other):
                yield one.row, other.row


def _may_be_one(one: _Person, other: _Person) -> bool:
    """Return whether the given names of one are the other's, shortened or left out."""
    if one.given == other.given:
        return False  # told by the words already, or read in two different ways
    for first, second in zip(one.given, other.given, strict=False):
        short, long = sorted((first, second), key=len)
        # Where no comma says which is the surname, only a single letter is an abbreviation.
        shortens = len(short) == 1 or one.comma or other.comma
        if short != long and not (shortens and long.startswith(short)):
            return False
    shared = min(len(one.given), len(other.given))
    rest = one.given[shared:] + other.given[shared:]
    return (one.comma and other.comma) or all(len(word) == 1 for word in rest)


def _without_given(frame: pl.DataFrame) -> Iterator[tuple[int, int]]:
    """Yield pairs of a surname alone and the only name with that surname before a comma."""
    people = _people(frame).filter("comma")
    single = people.filter(~pl.col("surname").is_duplicated())
    alone = frame.select("row", key=_run_together(pl.col("plain")))
    joined = alone.join(single, left_on="key", right_on="surname", maintain_order="left_right")
    yield from joined.select("row", "row_right").iter_rows()
