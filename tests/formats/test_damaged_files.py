"""However a file is damaged, a reader tells what is wrong; it never fails in another way."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import InvalidParameterError
from equipoise.formats import scan_history
from formats.test_contests import CHANGES, DMOJ, FIRST, STANDINGS
from formats.test_every_format import FILES

TEXTS = {name: FILES[name] for name in ("csv", "tsv", "jsonl", "csv.gz")} | {
    "contests": json.dumps(FIRST).encode(),
    "dmoj": json.dumps(DMOJ).encode(),
    "json": json.dumps(CHANGES).encode(),
    "codeforces": json.dumps(STANDINGS).encode(),
}
JUNK = (
    b'x , "  \n \r \0 \xff -1 1e400 nan null [ {} true 1700000000000 99999999999999999999 "\\ud800"'
)
PIECES = st.sampled_from(JUNK.split(b" ")) | st.binary(max_size=3)


@pytest.mark.parametrize("format", list(TEXTS))
@given(data=st.data())
@examples(60)
def test_damaged_files_are_problems_not_failures(format, data):
    """Bytes are lost, added or changed anywhere; what cannot be read has a reason."""
    content = TEXTS[format]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.sampled_from([start, start + 1, start + 9, len(content)]))
        content = content[:start] + data.draw(PIECES) + content[stop:]
    skip_bad = data.draw(st.sampled_from([None, "rows", "matches"]))
    try:
        reading = scan_history(io.BytesIO(content), format=format, skip_bad=skip_bad)
    except InvalidParameterError:
        return
    assert reading.history is not None or reading.problems
    assert all(str(problem) for problem in reading.problems)


@pytest.mark.parametrize("format", list(TEXTS))
def test_files_cut_off_anywhere_are_never_read_as_more_than_they_hold(format):
    """Every prefix is either refused or holds whole rows only."""
    content = TEXTS[format]
    whole = scan_history(io.BytesIO(content), format=format).history
    for end in range(0, len(content), 7):
        reading = scan_history(io.BytesIO(content[:end]), format=format)
        if reading.history is not None:
            assert reading.history.participations <= whole.participations
