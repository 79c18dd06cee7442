"""What a user should know about a source of PGN beside its games and problems: sentences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from equipoise.wording import counted

#: Names told in one sentence before the rest is only counted.
_TOLD = 5
#: Doubtful names kept; beyond, they are only counted.
_KEPT = 1000
_NO_ID = frozenset(["", "0", "?", "-"])
#: FIDE ids have at most ten digits.
_LONGEST_ID = 20

ENDLESS = "a result in the tag Result and none after the moves: that of the tag counts"
STAR_AFTER = "a result in the tag Result and * after the moves: that of the tag counts"
STAR_BEFORE = "* in the tag Result and a result after the moves: that after the moves counts"
ONLY_AFTER = "no tag Result and a result after the moves, which counts"
LOOSE = (
    "quotation marks within a tag that are not escaped; the value was taken as the whole of its "
    "line"
)


@dataclass(slots=True)
class Notes:
    """Observations, counted by kind, with the first place of each."""

    _count: Counter[str] = field(default_factory=Counter)
    _first: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, what: str, file: str, line: int) -> None:
        """Count an observation about a game."""
        self._count[what] += 1
        self._first.setdefault(what, (file, line))

    def sentences(self) -> list[str]:
        """Return a sentence for every kind, in the order they first appeared."""
        found = []
        for what, (file, line) in self._first.items():
            count = self._count[what]
            games = counted(count, "game has", "games have")
            found.append(f"{games} {what} (the first: {file or 'input'}, line {line}).")
        return found


@dataclass(slots=True)
class Identities:
    """Names with their FIDE ids. Players are told apart by name; the ids only raise doubts."""

    _id_of: dict[str, str] = field(default_factory=dict)
    _name_of: dict[str, str] = field(default_factory=dict)
    _ids: dict[str, dict[str, None]] = field(default_factory=dict)
    _names: dict[str, dict[str, None]] = field(default_factory=dict)

    def add(self, name: str, fide_id: str) -> None:
        """Take note that a player was given a FIDE id."""
        if fide_id in _NO_ID or len(fide_id) > _LONGEST_ID:
            return
        first = self._id_of.setdefault(name, fide_id)
        if first != fide_id and (name in self._ids or len(self._ids) < _KEPT):
            self._ids.setdefault(name, {first: None})[fide_id] = None
        first = self._name_of.setdefault(fide_id, name)
        if first != name and (fide_id in self._names or len(self._names) < _KEPT):
            self._names.setdefault(fide_id, {first: None})[name] = None

    def sentences(self) -> list[str]:
        """Return what is doubtful: one name for two people, two names for one."""
        found = []
        if self._ids:
            told = _listed([f"{name!r} ({', '.join(ids)})" for name, ids in self._ids.items()])
            found.append(
                f"One name with several FIDE ids: {told}. They count as one player; if they are "
                "several people, give them different names."
            )
        if self._names:
            listed = [f"{one} ({', '.join(map(repr, of))})" for one, of in self._names.items()]
            found.append(
                f"One FIDE id with several names: {_listed(listed)}. They count as several "
                "players; a file of synonyms makes them one."
            )
        return found


def _listed(items: list[str]) -> str:
    """Return items as text, and how many more there are."""
    more = f" and {len(items) - _TOLD} more" if len(items) > _TOLD else ""
    return ", ".join(items[:_TOLD]) + more
