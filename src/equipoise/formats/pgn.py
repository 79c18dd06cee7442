"""PGN -> results of games. Only tags and results are read; moves are skipped, not checked.

Source: the standard "Portable Game Notation Specification and Implementation Guide" of 1994, its
import format, sections 4 to 8. Departures, as files in the wild need them: text in UTF-8 beside
Latin-1, more spellings of results, quotation marks in a tag that are not escaped, tags in any
spelling of White, Black and Result, games of tags alone.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.game_columns import GameColumns
from equipoise.formats.pgn_files import Open, documents_in, documents_of
from equipoise.formats.pgn_games import PgnGames
from equipoise.formats.pgn_scan import BLOCK, scan
from equipoise.formats.pgn_text import blocks_of
from equipoise.formats.table import refuse


def read_pgn(
    data: bytes, name: str, *, where: Mapping[str, str] | None = None, block: int = BLOCK
) -> GameColumns:
    """Return the games of a file of PGN, plain, compressed or in an archive.

    data : all bytes of it; name : of the file, for problems
    where : tag -> value: games in which a tag has another value are left out as "filtered"
    block : bytes looked at at once
    Raises : InvalidDataError   there are no games, or the file cannot be read
    """
    file = io.BufferedReader(io.BytesIO(data))
    return _read([partial(documents_of, file, name)], where, block)


def read_pgn_files(path: Path, *, where: Mapping[str, str] | None = None) -> GameColumns:
    """Return the games of a file, or of all files with PGN below a directory.

    Files are read block by block, so memory does not grow with their size but with the number of
    games. where : as for `read_pgn`
    Raises : InvalidDataError   there are no games, or a file cannot be read
    """
    return _read(documents_in(path), where, BLOCK)


def _read(sources: Sequence[Open], where: Mapping[str, str] | None, block: int) -> GameColumns:
    """Return the games of all sources; what is wrong with whole files is told together."""
    games = PgnGames(where)
    unreadable: list[Problem] = []
    for open_source in sources:
        try:
            for name, stream in open_source():
                if not games.add_file(scan(blocks_of(stream, name, block), name), name):
                    refuse(name, "must hold at least one game", "text without tags")
        except InvalidDataError as error:
            unreadable.extend(error.problems)
    if unreadable:
        raise InvalidDataError([*unreadable, *games.problems()])
    return games.columns()
