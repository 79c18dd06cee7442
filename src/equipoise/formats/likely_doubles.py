"""Names that may be two spellings of one player; they are reported and never merged.

Names are alike if they agree after differences of spelling are removed:

- case, diacritics, punctuation and spaces ("de Vries", "De-Vries", "Devries"), ae, oe and ue for
  umlauts, and the order of words ("Carlsen, Magnus", "Magnus Carlsen");
- one digit that distinguishes namesakes ("Li Chao2", "Li Chao");
- given names that are shortened or left out ("Carlsen, M", "Carlsen, Magnus").

Other numbers are never removed, because different versions of engines and models are different
players. In histories, which have many players, only names that differ in nothing but white space,
case and Unicode form are alike.

Keys are computed for all names at once and compared by sorting, so the time grows with the number
of names, not of pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import polars as pl

from equipoise.arrays import Ids
from equipoise.wording import HIDDEN_CHARACTERS, counted

#: Largest number of pairs that are listed; more are only counted.
LISTED = 10
#: Advice on names that may be one player.
MERGING = "names are merged only by a file of synonyms (--synonyms)"
#: With more names than this only their form is compared: they are accounts, not players of a
#: tournament.
MOST = 20_000
#: Largest number of persons with one surname that are searched for shortened names.
_LARGEST_FAMILY = 50

#: Letters that Unicode does not decompose into a letter and a mark.
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
#: Accents and similar marks of decomposed letters; marks of other scripts count as letters.
_MARKS = r"[\x{300}-\x{36f}]"
#: Separators of words; plus, number sign and asterisk are parts of names (C++, C#).
_BETWEEN = r"[^\p{L}\p{M}\p{Nd}+#*]+"
#: A name of two or more words, without numbers except one digit at its end.
_NAMESAKE = r"^(\p{L}\P{Nd}*[ ,_.\-]\P{Nd}*\p{L})[1-9]$"
_NUMBER = r"\p{Nd}"
_ASCII_SPACES = " \t\n\r\v\f"
#: Everything except visible ASCII letters, digits and signs.
_ODD = r"[^!-~]"
_HIDDEN = re.compile(HIDDEN_CHARACTERS)
_ROWS = pl.int_range(pl.len(), dtype=pl.Int64).alias("row")


class _Person(NamedTuple):
    """One way to read a name as surname and given names."""

    row: int
    given: list[str]
    comma: bool


def likely_doubles(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of names that may be one player, in the order of the names.

    names : distinct; every name is the second of at most one pair
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
    """Return notes on names that may be one player; some are listed, the others counted."""
    if len(names) > MOST:
        rest = f"for {len(names):,} names, only white space, case and Unicode form were compared"
        return (*_describe(same_but_for_form(names)), rest)
    return _describe(likely_doubles(names))


def describe_spellings(ids: Ids) -> tuple[str, ...]:
    """Return notes on players of a history whose ids differ only in form.

    Whole numbers are never two spellings of one id.
    """
    if ids.dtype != object:
        return ()
    names = ids.tolist()
    notes = _describe(same_but_for_form(names), tell=True)
    return (*notes, MERGING) if notes else ()


def same_but_for_form(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of names that differ only in white space, case or Unicode form.

    White space counts around names and by its amount between words; invisible characters count as
    white space. Case is that of Unicode. The form is Unicode's compatibility form: accents composed
    or not, letters wide or narrow. The search is fast if there are no such pairs.

    names : distinct; every name is the second of at most one pair
    """
    if not _may_hold_doubles(names):
        return []
    texts = pl.Series(list(names), dtype=pl.String)
    frame = pl.DataFrame({"key": _formless(texts)}).with_columns(_ROWS)
    if frame["key"].n_unique() == len(frame):
        return []
    frame = frame.filter(pl.col("key").is_duplicated())
    paired = frame.with_columns(first=pl.col("row").min().over("key"))
    rows = paired.filter(pl.col("first") < pl.col("row")).select("first", "row")
    return [(names[first], names[row]) for first, row in rows.iter_rows()]


def _may_hold_doubles(names: Sequence[str]) -> bool:
    """Return whether names need a comparison; most sets are plain, and differ in small letters.

    All names are examined as one text, which is several times as fast.
    """
    joined = "\0".join(names)
    plain = joined.isascii() and joined.count("\0") == len(names) - 1
    if not plain or any(letter in joined for letter in _ASCII_SPACES):
        return True
    small = joined.lower()
    if small == joined:
        return False
    return pl.Series([small]).str.split("\0").explode().n_unique() < len(names)


def _formless(names: pl.Series) -> pl.Series:
    """Return names in one form of accents, case and white space.

    Most names are plain, and only their case varies.
    """
    wide = names.str.len_bytes() != names.str.len_chars()
    if wide.any():
        # Capitals first: some small letters have two of them.
        folded = names.filter(wide).str.normalize("NFKC").str.to_uppercase().str.normalize("NFKC")
        names = names.scatter(wide.arg_true(), folded)
    odd = wide | names.str.contains(_ODD)
    if odd.any():
        spaced = names.filter(odd).str.replace_all(r"\s+", " ")
        bare = spaced.str.replace_all(HIDDEN_CHARACTERS, "").str.strip_chars()
        names = names.scatter(odd.arg_true(), bare)
    return names.str.to_lowercase()


def _describe(pairs: Sequence[tuple[str, str]], *, tell: bool = False) -> tuple[str, ...]:
    """Return a note on each of the first pairs, and one on the number of others.

    tell : whether to say how the names differ
    """
    notes = []
    for one, other in pairs[:LISTED]:
        # Names that look the same are shown by code points.
        alike = unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
        names = [ascii(name) if alike else repr(name) for name in (one, other)]
        only = f": they differ only in {_difference(one, other)}" if tell else ""
        notes.append(f"{names[0]} and {names[1]} may be one player{only}")
    if len(pairs) > LISTED:
        more = counted(len(pairs) - LISTED, "more name", "more names")
        notes.append(f"{more} may be other spellings of a player")
    return tuple(notes)


def _difference(one: str, other: str) -> str:
    """Return in which forms two names differ, as few as possible."""
    forms: dict[str, Callable[[str], str]] = {
        "Unicode form": lambda text: unicodedata.normalize("NFKC", text),
        "case": lambda text: text.upper().lower(),
        "white space": lambda text: _HIDDEN.sub("", " ".join(text.split())).strip(),
    }

    def differ(names: Iterable[str]) -> bool:
        both = [one, other]
        for name in names:
            both = [forms[name](text) for text in both]
        return both[0] != both[1]

    # One form may be enough: capitals of a ligature are its letters, as in its Unicode form.
    some = (names for size in range(1, len(forms)) for names in combinations(forms, size))
    return " and ".join(next((names for names in some if not differ(names)), tuple(forms)))


def _plain(names: pl.Series) -> pl.Series:
    """Return names in small letters without accents."""
    bare = names.str.to_lowercase().str.normalize("NFKD").str.replace_all(_MARKS, "")
    return bare.str.replace_many(list(_LETTERS), list(_LETTERS.values()))


def _run_together(plain: pl.Expr) -> pl.Expr:
    """Return names without separators; a point between numbers stays, as 1.5 is not 15."""
    spaced = plain.str.replace_all(_BETWEEN, " ").str.strip_chars()
    pointed = spaced.str.replace_all(r"(\p{Nd}) ", "$1.").str.replace_all(" ", "", literal=True)
    return pointed.str.replace_all(r"\.(\P{Nd})", "$1")


def _words(plain: pl.Expr) -> pl.Expr:
    return plain.str.replace_all(_BETWEEN, " ").str.strip_chars().str.split(" ")


def _sorted_words(plain: pl.Expr) -> pl.Expr:
    return _words(plain).list.sort().list.join(" ")


def _alike(frame: pl.DataFrame) -> Iterator[tuple[int, int]]:
    """Yield pairs that differ only in spelling or in the order of words."""
    # The order of numbers matters: 1.2 is not 2.1.
    letters = frame.filter(~pl.col("plain").str.contains(_NUMBER))
    for key, names in ((_run_together, frame), (_sorted_words, letters)):
        keyed = names.select("row", key=key(pl.col("plain"))).filter(pl.col("key") != "")
        keyed = keyed.filter(pl.col("key").is_duplicated())
        paired = keyed.with_columns(first=pl.col("row").min().over("key"))
        yield from paired.filter(pl.col("first") < pl.col("row")).select("first", "row").iter_rows()


def _namesakes(frame: pl.DataFrame) -> Iterator[tuple[int, int]]:
    """Yield pairs of which one has a digit at its end and the other has no number."""
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
    """Return all ways to read names without numbers as surname and given names."""
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
    """Yield pairs with the same surname of which one has shortened or fewer given names."""
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
        return False  # found by the words already, or read in two different ways
    for first, second in zip(one.given, other.given, strict=False):
        short, long = sorted((first, second), key=len)
        # If no comma marks the surname, only a single letter is an abbreviation.
        shortens = len(short) == 1 or one.comma or other.comma
        if short != long and not (shortens and long.startswith(short)):
            return False
    shared = min(len(one.given), len(other.given))
    rest = one.given[shared:] + other.given[shared:]
    return (one.comma and other.comma) or all(len(word) == 1 for word in rest)


def _without_given(frame: pl.DataFrame) -> Iterator[tuple[int, int]]:
    """Yield pairs of a lone surname and the only name with that surname before a comma."""
    people = _people(frame).filter("comma")
    single = people.filter(~pl.col("surname").is_duplicated())
    alone = frame.select("row", key=_run_together(pl.col("plain")))
    joined = alone.join(single, left_on="key", right_on="surname", maintain_order="left_right")
    yield from joined.select("row", "row_right").iter_rows()
