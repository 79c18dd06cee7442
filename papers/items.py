"""The inventory of a document: its numbered statements, each with where and how it is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from equipoise.errors import InvalidParameterError, require
from equipoise.wording import counted
from papers.lines import Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind: TypeAlias = Literal[
    "equation",
    "definition",
    "table",
    "figure",
    "assumption",
    "remark",
    "lemma",
    "proposition",
    "theorem",
    "algorithm",
    "example",
    "ruleset",
    "section",
    "option",
    "claim",
    "future-work",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the checks may use.

    data : folder with data that is not bundled, such as the Codeforces history; None without
    cases : number of random cases of each theorem and formula
    seed : of the random cases
    """

    data: Path | None = None
    cases: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every parameter."""
        require(self.cases >= 1, "cases", "at least 1", self.cases)
        require(self.seed >= 0, "seed", "at least 0", self.seed)
        require(
            self.data is None or self.data.is_dir(), "data", "an existing folder", str(self.data)
        )


#: Returns the lines of a statement; it may take seconds.
Check: TypeAlias = Callable[[Facts], Iterable[Line]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One statement of a document.

    number : as printed, such as "5.5"; a few words where the document has no number
    says : what it says, in a few words of ours
    where : the public name or the page that carries it out
    draw : returns the redrawn figure, if it is one
    """

    kind: Kind
    number: str
    says: str
    where: str
    check: Check
    draw: Callable[[Facts], Figure] | None = None

    @property
    def name(self) -> str:
        """The name under which it is asked for, such as theorem-5.5."""
        return f"{self.kind}-{self.number.lower().replace(' ', '-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document and its inventory. name : on the command line; page : of the documentation."""

    name: str
    title: str
    page: str
    items: tuple[Item, ...]

    def chosen(self, asked: str | None) -> tuple[Item, ...]:
        """Return the items of a name ("table-2", "Table 2") or of a kind ("theorem"), or all.

        Raises : InvalidParameterError
        """
        if asked is None:
            return self.items
        sought = "-".join(asked.lower().replace("(", " ").replace(")", " ").split())
        found = tuple(one for one in self.items if sought in (one.name, one.kind, f"{one.kind}s"))
        if found:
            return found
        kinds: dict[str, list[str]] = {}
        for one in self.items:
            kinds.setdefault(one.kind, []).append(one.name)
        listed = "; ".join(
            ", ".join(names) if len(names) <= 12 else f"{names[0]} to {names[-1]}"
            for names in kinds.values()
        )
        raise InvalidParameterError(
            f"{self.name} has no {asked!r} among its {counted(len(self.items), 'statement')}: "
            f"{listed}; or one of the kinds {', '.join(kinds)}"
        )
