"""Which rating systems can rate a history with their defaults, and which of its columns count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from equipoise.data.history import History
from equipoise.messages.sources.inspection import UnfitMessage
from equipoise.rating.registry import SYSTEMS, make_system
from equipoise.rating.system import USABLE, RatingSystem

#: Systems that are named for a column; the others are counted.
_NAMED = 3


def every_system() -> dict[str, RatingSystem]:
    """Return every built-in system with its defaults, by name."""
    return {name: make_system(name) for name in SYSTEMS}


def fits_of(
    systems: Mapping[str, RatingSystem], history: History
) -> tuple[list[str], list[UnfitMessage]]:
    """Return the systems that can rate a history, and the others by the reason why they cannot."""
    able: list[str] = []
    reasons: dict[str, list[str]] = {}
    for name, system in systems.items():
        misfits = system.capabilities.misfits(history)
        if misfits:
            reasons.setdefault("; ".join(misfits), []).append(name)
        else:
            able.append(name)
    return able, [UnfitMessage(names, reason) for reason, names in reasons.items()]


def use_of(column: str, systems: Iterable[RatingSystem]) -> str:
    """Return which systems use a column of a history that is not needed; "" if none could."""
    if column not in USABLE:
        return ""
    using: list[str] = []
    needing: dict[str, list[str]] = {}
    for system in systems:
        able = system.capabilities
        if column in able.uses:
            using.append(system.name)
        elif column in able.needed:
            needing.setdefault(able.needed[column], []).append(system.name)
    said = [f"counts in {_few(using)}"] if using else []
    said += [f"counts with {need} in {_few(names)}" for need, names in needing.items()]
    return "; ".join(said)


def _few(names: list[str]) -> str:
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
