"""A history as contest JSON, the form of the data sets published with Elo-MMR.

https://github.com/EbTech/Elo-MMR. A contest is an object with `name`, `time_seconds`, `standings`
(lists of player, lowest and highest rank, from 0 and inclusive), `weight` and `perf_ceiling`.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

import msgspec
import numpy as np

from equipoise.arrays import Flags, Ints
from equipoise.data.history import History
from equipoise.data.times import MICROSECONDS
from equipoise.errors import InvalidDataError
from equipoise.formats.converting.two_sides import describe_left_out, lost_of_history

#: Beginning of time of zip archives, so that the same history gives the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def contest_documents(history: History) -> tuple[list[bytes], list[str]]:
    """Return a document for each match of single players, and what they lack.

    Raises : InvalidDataError   every match has teams
    """
    single = history.sizes() == history.teams()
    if not single.any():
        raise InvalidDataError(
            [], "every match has teams, and contest files have single players; leave out --as"
        )
    return list(_documents(history, single)), [*_lost(history, single)]


def _documents(history: History, single: Flags) -> Iterator[bytes]:
    low, high = _places(history)
    players = [str(one) for one in history.player_ids.tolist()]
    player, lows, highs = history.player.tolist(), low.tolist(), high.tolist()
    offsets = history.offsets.tolist()
    times = history.order if history.time is None else history.time // MICROSECONDS
    for match in np.flatnonzero(single).tolist():
        rows = range(offsets[match], offsets[match + 1])
        # In order of place, as the published files are.
        standings = sorted((lows[row], row) for row in rows)
        document: dict[str, object] = {"name": str(history.match_ids[match])}
        if times is not None:
            document["time_seconds"] = int(times[match])
        if history.weight is not None:
            document["weight"] = float(history.weight[match])
        if history.performance_ceiling is not None:
            ceiling = float(history.performance_ceiling[match])
            if ceiling == ceiling:
                document["perf_ceiling"] = ceiling
        document["standings"] = [[players[player[row]], at, highs[row]] for at, row in standings]
        yield msgspec.json.encode(document)


def _places(history: History) -> tuple[Ints, Ints]:
    """Return the lowest and the highest place of every participation, from 0."""
    match = history.match_rows()
    order = np.lexsort((history.rank, match))
    ranks, matches = history.rank[order], match[order]
    opens = np.ones(len(order), dtype=bool)
    opens[1:] = (ranks[1:] != ranks[:-1]) | (matches[1:] != matches[:-1])
    starts = np.flatnonzero(opens)
    sizes = np.diff(np.append(starts, len(order)))
    place = starts - history.offsets[matches[starts]]
    low, high = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    low[order] = np.repeat(place, sizes)
    high[order] = np.repeat(place + sizes - 1, sizes)
    return low, high


def _lost(history: History, single: Flags) -> Iterator[str]:
    yield from describe_left_out(int(np.sum(~single)), "with teams were left out")
    if history.time is not None and np.any(history.time % MICROSECONDS):
        yield "times are cut to whole seconds"
    if history.time is None:
        has = "no times" if history.order is None else "an order without dates, which is written"
        yield f"Elo-MMR needs seconds since 1970, and the history has {has}"
    if history.player_ids.dtype != object or history.match_ids.dtype != object:
        yield "ids are written as text, as Elo-MMR needs"
    yield from lost_of_history(history, {"weight", "performance_ceiling"})


def archived(documents: list[bytes]) -> bytes:
    """Return a zip archive with one file for each document, in the order of their names."""
    content = io.BytesIO()
    digits = len(str(len(documents)))
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for at, document in enumerate(documents, start=1):
            archive.writestr(zipfile.ZipInfo(f"{at:0{digits}}.json", _EPOCH), document)
    return content.getvalue()
