"""Converting a file: read it as `equipoise rate` would, write it in another format.

A long table is read again after it is written, so that the answer says what has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from equipoise._jit import working_time
from equipoise.analysis.inspect import NO_LONGER, ConvertRequest, Form
from equipoise.analysis.inspect.answers import ConvertMessage, games_of, source_in_words
from equipoise.analysis.reading import check_outputs, history_message, read
from equipoise.arrays import Ids
from equipoise.data.files import check_place, whole_file
from equipoise.data.history import History
from equipoise.errors import InvalidDataError, InvalidParameterError, require
from equipoise.formats import scan_history
from equipoise.formats.histories import summarise
from equipoise.formats.writing import TableFormat, format_of, game_table, trf_text, write_table

#: Suffixes of the files of each form.
_SUFFIXES: dict[Form, tuple[str, ...]] = {
    "history": get_args(TableFormat),
    "games": get_args(TableFormat),
    "trf": ("trf",),
}


def convert(request: ConvertRequest) -> ConvertMessage:
    """Read a file and write it in another format.

    Raises : EquipoiseError, and then nothing was written
    """
    started = working_time()
    form = _form_of(request)
    format_of(Path(request.target), _SUFFIXES[form])
    check_outputs(request.history, {"OUT": request.target})
    if Path(request.target).is_file() and not request.overwrite:
        raise InvalidParameterError(
            f"{request.target} exists, and the last name is that of the file to write: name "
            "another, or add --overwrite to replace it"
        )
    check_place(request.target)
    read_from, notes = None, list[str]()
    if form == "trf":
        written, lost, notes = _as_report(request)
    else:
        history, reading = read(request.history)
        written, lost = (_as_games if form == "games" else _as_history)(history, request)
        read_from = history_message(history, reading)
    return ConvertMessage(
        source=source_in_words(request.history),
        output=request.target,
        form=form,
        written=written,
        lost=lost,
        history=read_from,
        notes=notes,
        seconds=working_time() - started,
    )


def _form_of(request: ConvertRequest) -> Form:
    """Return the form that was wanted, or that the suffix of the output says.

    Raises : InvalidParameterError   the two differ
    """
    name = request.target.lower()
    form = request.form or ("trf" if name.endswith(".trf") else "history")
    endings = ", ".join(f".{ending}" for ending in _SUFFIXES[form])
    if not name.endswith(tuple(f".{ending}" for ending in _SUFFIXES[form])):
        raise InvalidParameterError(
            f"the name of a file of the form {form} must end in {endings}; got {request.target!r}"
            + ("" if request.form else " (.trf is another form)")
            + (f". {NO_LONGER}" if name.endswith((".pgn", ".zip")) else "")
        )
    return form


def _as_report(request: ConvertRequest) -> tuple[int, list[str], list[str]]:
    """Write a FIDE report; return the number of games, what is lost, and notes."""
    wanted = request.history
    refused = {
        "--stat": wanted.statistics,
        "--lower-score-is-better": wanted.lower_score_is_better,
        "--unplaced": wanted.unplaced,
    }
    for option, value in refused.items():
        typed = value and option not in wanted.set_by_project
        require(not typed, option, "left out for a FIDE report", value)
    reading = games_of(wanted, wanted.source)
    if reading.games is None:
        raise InvalidDataError(
            reading.problems, summarise(reading.problems, wanted.source, wanted.synonyms)
        )
    text, lost = trf_text(reading.games, Path(source_in_words(wanted)).stem)
    with whole_file(request.target) as file:
        file.write(text.encode())
    return reading.games.rows, lost, list(reading.notes)


def _as_history(history: History, request: ConvertRequest) -> tuple[int, list[str]]:
    write_table(history, request.target, raw=request.raw)
    again = scan_history(request.target, statistics=tuple(history.statistics))
    if again.history is None:
        summary = summarise(again.problems, request.target)
        return history.matches, [f"Equipoise cannot read the new file: {summary}"]
    return history.matches, list(_differences(history, again.history))


def _as_games(history: History, request: ConvertRequest) -> tuple[int, list[str]]:
    frame, lost = game_table(history)
    write_table(frame, request.target, raw=request.raw)
    return len(frame), lost


#: Columns of a history, and what they are called in a sentence.
_COLUMNS = {
    "match_ids": "ids of matches",
    "player_ids": "ids of players",
    "team_labels": "names of teams",
    "offsets": "sizes of matches",
    "player": "players of matches",
    "team": "teams",
    "rank": "places",
    "time": "times",
    "order": "order",
    "weight": "weights",
    "performance_ceiling": "performance ceilings",
    "beta": "betas",
    "gamma": "gammas",
    "performance": "performances",
    "share": "shares",
}


def _differences(one: History, other: History) -> Iterator[str]:
    """Yield what differs between two histories, as sentences."""
    pairs: list[tuple[str, Ids | None, Ids | None]] = [
        (words, getattr(one, name), getattr(other, name)) for name, words in _COLUMNS.items()
    ]
    for before, after in ((one.statistics, other.statistics), (one.attributes, other.attributes)):
        names: Sequence[str] = [*before, *(name for name in after if name not in before)]
        pairs += [(f"column {name}", before.get(name), after.get(name)) for name in names]
    retyped: list[str] = []
    changed: list[str] = []
    for words, first, second in pairs:
        if not _same(first, second):
            texts = [None if one is None else [*map(str, one.tolist())] for one in (first, second)]
            (retyped if texts[0] == texts[1] else changed).append(words)
    if retyped:
        yield (
            f"read again, some values have another type: {', '.join(retyped)} (Parquet and Arrow "
            "keep types)"
        )
    if changed:
        yield f"read again, some values differ: {', '.join(changed)}"


def _same(one: Ids | None, other: Ids | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.dtype == other.dtype and bool(
        np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    )
