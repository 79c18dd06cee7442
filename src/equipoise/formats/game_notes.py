"""Sentences about games: pairings that occur again, synonyms of nobody."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.data.games import Games

#: Pairings or names that a note shows before the rest is counted.
_SHOWN = 4
#: Fewest players of a round robin: of three everybody has met everybody soon.
_FEWEST = 4
#: Largest share of pairings that may break the rule of a round robin, and how many always may.
_SHARE, _ALWAYS = 0.1, 2


def describe_repeated(games: Games) -> tuple[str, ...]:
    """Return a note on pairings that occur too often in what is otherwise a round robin.

    A round robin is where everyone meets everyone equally often; one in ten pairings may differ.
    """
    low, high = np.minimum(games.white, games.black), np.maximum(games.white, games.black)
    players = int(np.count_nonzero(games.played()))
    pairings = players * (players - 1) // 2
    exceptions = max(_ALWAYS, int(_SHARE * pairings))
    if players < _FEWEST or games.rows < pairings - exceptions:
        return ()
    keys, first, counts = np.unique(
        low * games.players + high, return_index=True, return_counts=True
    )
    often = int(np.bincount(counts).argmax())
    again = np.flatnonzero(counts > often)
    regular = int(np.sum(counts == often))
    if not len(again) or pairings - regular > exceptions or len(keys) < pairings - exceptions:
        return ()
    times = {1: "once", 2: "twice"}.get(often, f"{often} times")
    listed = [
        f"{games.player_ids[games.white[row]]} - {games.player_ids[games.black[row]]}"
        for row in np.sort(first[again])[:_SHOWN].tolist()
    ]
    which = "; ".join(listed) + _more(len(again))
    return (f"most pairings occur {times}, as in a round robin, but more often occur: {which}",)


def describe_strangers(names: Sequence[str]) -> tuple[str, ...]:
    """Return a note on names of a file of synonyms that no game has."""
    if not names:
        return ()
    which = ", ".join(repr(one) for one in names[:_SHOWN]) + _more(len(names))
    return (f"names of the synonyms that do not occur: {which}",)


def _more(count: int) -> str:
    return f" and {count - _SHOWN:,} more" if count > _SHOWN else ""
