"""Readers fed a few hundred damaged files; `python tests/fuzz/run.py` feeds them 100,000."""

from __future__ import annotations

import contextlib
import random
import time

import pytest

from equipoise.errors import EquipoiseError
from fuzz.damage import damaged
from fuzz.readers import READERS
from trials.pace import measure_pace


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused_and_nothing_else(name):
    """In bounded time: an input has some thousand bytes, and no pattern may go back over them."""
    reader = READERS[name]
    rng = random.Random(f"{name} suite")
    longest = 2 * measure_pace(time.process_time)  # a hundred times what any takes
    for _ in range(400):
        data = damaged(reader.seeds, reader.pieces, rng)
        before = time.process_time()
        with contextlib.suppress(EquipoiseError):
            reader.read(data)
        assert time.process_time() - before < longest
