"""Readers fed damaged files: a few hundred, or as many as the variable INPUTS says."""

from __future__ import annotations

import contextlib
import os
import random
import time
from pathlib import Path

import numpy as np
import pytest

from equipoise.data.games import GameColumns
from equipoise.errors import EquipoiseError
from equipoise.formats.table import GamesReading, HistoryReading
from fuzz.damage import damaged
from fuzz.readers import READERS
from trials.pace import measure_pace


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused_and_nothing_else(name):
    """In bounded time: an input has some thousand bytes, and no pattern may go back over them."""
    reader = READERS[name]
    rng = random.Random(f"{name} suite")
    longest = 2 * measure_pace(time.process_time)  # a hundred times what any takes
    for _ in range(int(os.environ.get("INPUTS", "200"))):
        data = damaged(reader.seeds, reader.pieces, rng)
        before = time.process_time()
        result = None
        try:
            result = reader.read(data)
        except EquipoiseError:
            pass
        except Exception:
            Path(f"crash-{name}").write_bytes(data)
            raise
        assert time.process_time() - before < longest
        if isinstance(result, HistoryReading | GamesReading):
            value = result.history if isinstance(result, HistoryReading) else result.games
            assert value is not None or result.problems
        if isinstance(result, GameColumns):
            check(result)


def check(columns):
    """Check that columns are complete, and that every problem has its rule."""
    names = ("white", "black", "white_rating", "black_rating", "weight", "draws", "round")
    lengths = {len(column) for name in names if (column := getattr(columns, name)) is not None}
    assert lengths == {len(columns.points)}
    assert all(str(problem.rule).startswith("must ") for problem in columns.problems)
    weight = 1.0 if columns.weight is None else columns.weight
    assert np.all((columns.points >= 0) & (columns.points <= weight))
    if not columns.problems:
        assert len(set(columns.others.tolist())) == len(columns.others)


@pytest.mark.parametrize("name", ["history", "history-gz", "history-jsonl", "codeforces", "dmoj"])
def test_files_cut_off_anywhere_are_never_read_as_more_than_they_hold(name):
    reader = READERS[name]
    for seed in reader.seeds:
        whole = reader.read(seed).history
        for end in range(0, len(seed), 7):
            with contextlib.suppress(EquipoiseError):
                history = reader.read(seed[:end]).history
                assert history is None or history.participations <= whole.participations
