"""One history in every format, from every kind of source."""

from __future__ import annotations

import gzip
import io
import json

import polars as pl
import pytest

from equipoise.formats import read_history
from formats.comparing import assert_same_history

ROWS = [
    {"match": "m1", "time": 100, "player": "a", "rank": 0, "weight": 1.0},
    {"match": "m1", "time": 100, "player": "b", "rank": 1, "weight": 1.0},
    {"match": "m1", "time": 100, "player": "c", "rank": 1, "weight": 1.0},
    {"match": "m2", "time": 200, "player": "c", "rank": 0, "weight": 0.5},
    {"match": "m2", "time": 200, "player": "d", "rank": 1, "weight": 0.5},
]
FRAME = pl.DataFrame(ROWS)
CSV = FRAME.write_csv()
TSV = FRAME.write_csv(separator="\t")
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS)
CONTESTS = "".join(
    json.dumps(
        {
            "name": match,
            "time_seconds": rows["time"][0],
            "weight": rows["weight"][0],
            "standings": [[row["player"], row["rank"], row["rank"]] for row in rows.to_dicts()],
        }
    )
    + "\n"
    for (match,), rows in FRAME.group_by("match", maintain_order=True)
)


def binary(write):
    """Return what a Polars writer writes."""
    buffer = io.BytesIO()
    getattr(FRAME, write)(buffer)
    return buffer.getvalue()


FILES = {
    "csv": CSV.encode(),
    "csv.gz": gzip.compress(CSV.encode()),
    "tsv": TSV.encode(),
    "tsv.gz": gzip.compress(TSV.encode()),
    "jsonl": JSONL.encode(),
    "jsonl.gz": gzip.compress(JSONL.encode()),
    "json": json.dumps(ROWS).encode(),
    "parquet": binary("write_parquet"),
    "arrow": binary("write_ipc"),
    "contests": CONTESTS.encode(),
}


@pytest.mark.parametrize("format", list(FILES))
def test_every_format_gives_the_same_history(tmp_path, format):
    """By path, by text and by stream."""
    expected = read_history(FRAME, time_format="s")
    path = tmp_path / f"history.{'jsonl' if format == 'contests' else format}"
    path.write_bytes(FILES[format])
    assert_same_history(read_history(path, time_format="s"), expected)
    assert_same_history(read_history(str(path), format=format, time_format="s"), expected)
    assert_same_history(
        read_history(io.BytesIO(FILES[format]), format=format, time_format="s"), expected
    )
    with path.open("rb") as stream:
        assert_same_history(read_history(stream, format=format, time_format="s"), expected)


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "json", "contests"])
def test_text_streams_give_the_same_history(format):
    """As opened by the caller."""
    stream = io.StringIO(FILES[format].decode())
    assert_same_history(
        read_history(stream, format=format, time_format="s"), read_history(FRAME, time_format="s")
    )
