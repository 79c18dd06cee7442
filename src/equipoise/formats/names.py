"""Names of players: synonyms that merge them, and names that may be two spellings of one player.

Synonyms are CSV with the columns `name` and `same_as`, or a JSON object of names. A name may refer
to another synonym; such chains are followed to their end, and a cycle is a problem. Spaces around a
name in a file are part of it, so that " ann" can mean "ann". The name without spaces means the same
player, unless it is that player.

Names that are alike are reported and never merged. They are alike if they agree after differences
of spelling are removed:

- case, diacritics, punctuation and spaces ("de Vries", "De-Vries", "Devries"), ae, oe and ue for
  umlauts, and the order of words ("Carlsen, Magnus", "Magnus Carlsen");
- one digit that distinguishes namesakes ("Li Chao2", "Li Chao");
- given names that are shortened or left out ("Carlsen, M", "Carlsen, Magnus").

Other numbers are never removed, because different versions of engines and models are different
players. In histories, a player of one match also is alike to a regular from whose name one letter
differs ("Eva Fisher", "Eva Fischer"). Among more than 20,000 names, only those that differ in
nothing but white space, case and Unicode form are alike.

Keys are computed for all names at once and compared by sorting, so the time grows with the number
of names, not of pairs.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Ids, Ints
from equipoise.data.games import ONCE
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.sources import contents_of, table_of
from equipoise.formats.table import (
    Findings,
    Table,
    columns_in_words,
    listed,
    refuse,
    shown,
    spelling,
)
from equipoise.formats.values import required_ids, whole_numbers
from equipoise.wording import HIDDEN_CHARACTERS, counted

#: A file of synonyms, or a mapping of names to the name of the player.
Synonyms: TypeAlias = str | os.PathLike[str] | Mapping[Any, Any]

COLUMNS = "must have the columns name and same_as"
OTHER_NAME = "must differ from the first name"
CIRCLE = "must not lead back to itself"
NAMES = "must be an object of names: name -> the name it stands for"
#: Largest number of unknown names in a note; the rest is counted.
_SHOWN = 4


class _Entry(NamedTuple):
    """A name, the name that it means, and its place in the file."""

    name: str
    same_as: str
    line: int | None


def read_synonyms(source: Synonyms) -> dict[str, str]:
    """Return name -> name of the player, with chains followed to their end.

    source : path of a table (.csv, .tsv, ...) or of a .json object, or a mapping
    Raises : InvalidDataError        there are problems; lists all of them
    Raises : InvalidParameterError   the source is neither a path nor a mapping
    """
    if isinstance(source, Mapping):
        entries = [_Entry(str(one), str(other), None) for one, other in source.items()]
        return _resolved(entries, "synonyms", "name")
    if not isinstance(source, str | os.PathLike):
        raise InvalidParameterError(
            f"synonyms must be a path or a mapping of names; got {type(source).__name__}"
        )
    contents = contents_of(source, None)
    if len(contents) == 1 and contents[0].format == "json":
        entries = _json_entries(contents[0].content(), contents[0].name)
    else:
        entries = _table_entries(table_of(contents))
    return _resolved(entries, str(source), "name")


def merge_ids(ids: pl.Series, synonyms: Mapping[str, str]) -> pl.Series:
    """Return ids with synonyms replaced by their players; null stays null.

    ids : Int64 or String. Whole numbers stay whole numbers if all their players are
    """
    texts = ids.cast(pl.String).replace(list(synonyms), list(synonyms.values()))
    whole = None if ids.dtype == pl.String else whole_numbers(texts)
    return texts if whole is None else whole


def strangers(synonyms: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the names that do not occur among those known, ignoring spaces around them."""
    stripped = {name.strip() for name in known}
    return list(dict.fromkeys(name.strip() for name in synonyms if name.strip() not in stripped))


def describe_strangers(synonyms: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return a note on names in the synonyms that do not occur among those known."""
    names = strangers(synonyms, known)
    if not names:
        return ()
    which = listed([repr(name) for name in names], _SHOWN)
    return (f"names in the synonyms that do not occur: {which}",)


def _table_entries(table: Table) -> list[_Entry]:
    columns = {spelling(name): name for name in reversed(table.frame.columns)}
    if not {"name", "sameas"} <= set(columns):
        refuse(table.name, COLUMNS, columns_in_words(table.frame.columns))
    findings = Findings(table, np.arange(len(table.frame)))
    names = []
    for spelled in ("name", "sameas"):
        column = table.frame[columns[spelled]]
        ids, faults = required_ids(column, untyped=False)
        findings.add_faults(columns[spelled], faults, column)
        names.append(ids.cast(pl.String).to_list())
    problems = findings.problems()
    if problems:
        raise InvalidDataError(problems)
    lines = [line for _, line in table.places(np.arange(len(table.frame)))]
    return [pair for entry in zip(*names, lines, strict=True) for pair in _with_tidy(*entry)]


def _json_entries(data: bytes, name: str) -> list[_Entry]:
    try:
        # Pairs, because an object would keep only the last of two equal names.
        document = json.loads(data, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        refuse(name, "must be JSON", str(error))
    if not isinstance(document, _Pairs):
        refuse(name, NAMES, shown(document))
    entries = []
    for at, (one, other) in enumerate(document, start=1):
        if not one.strip() or not isinstance(other, str | int) or not str(other).strip():
            refuse(name, NAMES, f"{shown(one)}: {shown(other)}", line=at)
        entries += _with_tidy(one, str(other), at)
    return entries


def _with_tidy(name: str, same_as: str, line: int | None) -> list[_Entry]:
    """Return the entry of a name as written in a file, and of the name without outer spaces."""
    bare, player = name.strip(), same_as.strip()
    if bare == name:
        return [_Entry(name, player, line)]
    return [_Entry(spelled, player, line) for spelled in (name, bare) if spelled != player]


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object in their order."""


def _resolved(entries: Iterable[_Entry], file: str, field: str) -> dict[str, str]:
    """Return the player that each name finally means, or raise with the problems."""
    step: dict[str, _Entry] = {}
    problems = []
    for entry in entries:
        known = step.setdefault(entry.name, entry)
        if entry.name == entry.same_as:
            problems.append(Problem(file, entry.line, field, OTHER_NAME, shown(entry.name)))
        elif known.same_as != entry.same_as:
            got = f"{shown(entry.name)} again, as {shown(known.same_as)} and as "
            problems.append(Problem(file, entry.line, field, ONCE, got + shown(entry.same_as)))
    if not problems:
        ends, circles = _ends(step)
        if not circles:
            return ends
        problems = [
            Problem(file, step[circle[0]].line, field, CIRCLE, " -> ".join([*circle, circle[0]]))
            for circle in circles
        ]
    raise InvalidDataError(problems)


def _ends(step: Mapping[str, _Entry]) -> tuple[dict[str, str], list[list[str]]]:
    """Return the end of the chain of every name, and the cycles; each name is visited once."""
    ends: dict[str, str] = {}
    circles: list[list[str]] = []
    for start in step:
        chain: dict[str, None] = {}
        name = start
        while name in step and name not in ends and name not in chain:
            chain[name] = None
            name = step[name].same_as
        if name in chain:
            passed = list(chain)
            circles.append(passed[passed.index(name) :])
        end = ends.get(name, name)
        ends.update(dict.fromkeys(chain, end))
    return ends, circles


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
#: Everything except visible ASCII letters, digits and signs.
_ODD = r"[^!-~]"
_HIDDEN = re.compile(HIDDEN_CHARACTERS)
#: Letters and digits from which on a name may have a letter more or less; letters of a history's
#: name, and of the word that differs in it; matches of a regular.
_SHORTEST, _NAME, _WORD, _REGULAR = 4, 7, 4, 3
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
    notes = _describe(_doubles(names))
    rest = f"for {len(names):,} names, only white space, case and Unicode form were compared"
    return (*notes, rest) if len(names) > MOST else notes


def doubles_of_history(ids: Ids, played: Ints) -> list[tuple[str, str]]:
    """Return pairs of players of a history who may be one.

    played : matches of each player, shape (P,). One with a single match may be a misspelt regular.
    Whole numbers are never two spellings of one id.
    """
    if ids.dtype != object:
        return []
    names = ids.tolist()
    pairs = _doubles(names)
    if len(names) <= MOST and (played == 1).any():
        once, often = ids[played == 1].tolist(), ids[played >= _REGULAR].tolist()
        pairs += _misspelt(once, often, pairs)
    return pairs


def describe_spellings(ids: Ids, played: Ints) -> tuple[str, ...]:
    """Return notes on players of a history who may be one; see `doubles_of_history`."""
    notes = _describe(doubles_of_history(ids, played), tell=True)
    return (*notes, MERGING) if notes else ()


def describe_newcomers(known: Ids, ids: Ids, played: Ints) -> tuple[str, ...]:
    """Return notes on players who are new beside a saved state, and may be players of it.

    known : ids of the players of the state
    ids, played : players of the history that continues it, and their matches. Pairs of which
        `describe_spellings` tells are left out
    """
    if known.dtype != object or ids.dtype != object:
        return ()
    before = set(known.tolist())
    new = [name for name in ids.tolist() if name not in before]
    if not new:
        return ()
    names = [*known.tolist(), *new]
    pairs = [pair for pair in _doubles(names) if pair[0] in before and pair[1] not in before]
    if len(names) <= MOST:
        pairs += _misspelt(new, known.tolist(), pairs)
    mentioned = {frozenset(pair) for pair in doubles_of_history(ids, played)}
    pairs = [pair for pair in pairs if frozenset(pair) not in mentioned]
    notes = _describe(pairs, tell=True, each="{1} is new, and may be {0} of the saved state")
    return (*notes, MERGING) if notes else ()


def _doubles(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of names that may be one player; of very many names, those of equal form."""
    return likely_doubles(names) if len(names) <= MOST else same_but_for_form(names)


def _misspelt(
    rare: Sequence[str], players: Sequence[str], pairs_known: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return pairs of a player and a rare name in which a letter of one word differs.

    The word begins with the same letter, because Eva and Ava are two names.
    pairs_known : other pairs; a name that is the second of one has no further pair
    """
    taken = {other for _, other in pairs_known}
    pairs: dict[str, str] = {}
    for name, player in close_pairs(rare, players):
        words = [_small_words(text) for text in (name, player)]
        differing = [two for two in zip(*words, strict=False) if two[0] != two[1]]
        if len(words[0]) != len(words[1]) or len(differing) != 1 or name in taken:
            continue
        long = max(differing[0], key=len)
        enough = len(long) >= _WORD and max(map(len, map("".join, words))) >= _NAME
        if enough and differing[0][0][0] == differing[0][1][0]:
            pairs.setdefault(name, player)
    return [(player, name) for name, player in pairs.items()]


def close_pairs(names: Iterable[str], players: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield a name and a player whose letters are the same, or differ in one: some pairs twice.

    The letter is left out, added or another one; case, accents, spaces and punctuation count for
    nothing. Digits are never removed, because "player 7" and "player 8" are two players.
    """
    of_key: dict[str, list[str]] = {}
    for name in names:
        for key in _keys(name):
            of_key.setdefault(key, []).append(name)
    for player in players:
        for key in _keys(player):
            for name in of_key.get(key, ()):
                if name != player:
                    yield name, player


def _keys(name: str) -> Iterator[str]:
    """Give the letters and digits of a name, also with each of its letters left out."""
    plain = _small(name)
    letters = "".join(letter for letter in plain if letter.isalnum())
    yield letters or plain
    if len(letters) >= _SHORTEST:
        for at, letter in enumerate(letters):
            if letter.isalpha():
                yield f"{letters[:at]}\0{letters[at + 1 :]}"
                yield letters[:at] + letters[at + 1 :]


def _small(name: str) -> str:
    return unicodedata.normalize("NFKD", name).casefold()


def _small_words(name: str) -> list[str]:
    letters = [letter for letter in _small(name) if not unicodedata.combining(letter)]
    return "".join(letter if letter.isalnum() else " " for letter in letters).split()


def same_but_for_form(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of names that differ only in white space, case or Unicode form.

    White space counts around names and by its amount between words; invisible characters count as
    white space. Case is that of Unicode. The form is Unicode's compatibility form: accents composed
    or not, letters wide or narrow.

    names : distinct; every name is the second of at most one pair
    """
    texts = pl.Series(list(names), dtype=pl.String)
    frame = pl.DataFrame({"key": _formless(texts)}).with_columns(_ROWS)
    if frame["key"].n_unique() == len(frame):
        return []
    frame = frame.filter(pl.col("key").is_duplicated())
    paired = frame.with_columns(first=pl.col("row").min().over("key"))
    rows = paired.filter(pl.col("first") < pl.col("row")).select("first", "row")
    return [(names[first], names[row]) for first, row in rows.iter_rows()]


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


def _describe(
    pairs: Sequence[tuple[str, str]],
    *,
    tell: bool = False,
    each: str = "{0} and {1} may be one player",
) -> tuple[str, ...]:
    """Return a note on each of the first pairs, and one on the number of others.

    tell : whether to say how names differ that do so only in form
    each : the sentence on a pair
    """
    notes = []
    for one, other in pairs[:LISTED]:
        # Names that look the same are shown by code points.
        alike = unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
        names = [ascii(name) if alike else repr(name) for name in (one, other)]
        form = _difference(one, other) if tell else ""
        notes.append(each.format(*names) + (f": they differ only in {form}" if form else ""))
    if len(pairs) > LISTED:
        more = counted(len(pairs) - LISTED, "more name", "more names")
        notes.append(f"{more} may be other spellings of a player")
    return tuple(notes)


def _difference(one: str, other: str) -> str:
    """Return in which forms two names differ, as few as possible; "" if they differ in more."""
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
    alike = tuple(forms) if same_but_for_form([one, other]) else ()
    return " and ".join(next((names for names in some if not differ(names)), alike))


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
        keyed = [frame.select("row", key=key(pl.col("plain"))) for frame in (others, marked)]
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
        words.select("row", surname=surname, given=forename, comma=pl.lit(False))
        for surname, forename in (
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
