"""Tables written piece by piece: whole or not at all, the same as in one piece."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from equipoise.errors import InvalidParameterError
from equipoise.formats import write_table
from equipoise.formats.writing import write_pieces

TABLE = pl.DataFrame({"match": range(10), "player": [f"p{i}" for i in range(10)], "x": [0.1] * 10})


def cut(rows: int) -> Iterator[pl.DataFrame]:
    return TABLE.iter_slices(rows)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("rows", [1, 3, 10])
def test_pieces_give_the_table(tmp_path: Path, suffix: str, rows: int) -> None:
    target, whole = tmp_path / f"p.{suffix}", tmp_path / f"w.{suffix}"
    assert write_pieces(cut(rows), target, rows=4) == 10
    write_table(TABLE, whole)
    if suffix == "parquet":
        assert pl.read_parquet(target).equals(TABLE)
    elif suffix == "csv.gz":
        assert pl.read_csv(target).equals(pl.read_csv(whole))
    else:
        assert target.read_bytes() == whole.read_bytes()


def test_a_stream_gets_csv() -> None:
    stream = io.BytesIO()
    assert write_pieces(cut(3), stream) == 10
    assert stream.getvalue() == TABLE.write_csv().encode()


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "jsonl", "parquet"])
def test_what_goes_wrong_in_the_middle_leaves_nothing_and_is_told(
    tmp_path: Path, suffix: str
) -> None:
    """The error of the source itself, not one of the writer."""

    def broken() -> Iterator[pl.DataFrame]:
        yield from TABLE.head(6).iter_slices(2)
        raise InvalidParameterError("nothing more")

    with pytest.raises(InvalidParameterError, match="nothing more"):
        write_pieces(broken(), tmp_path / f"p.{suffix}", rows=2)
    assert list(tmp_path.iterdir()) == []


def test_no_piece_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="at least one"):
        write_pieces(iter([]), tmp_path / "p.csv")
    assert list(tmp_path.iterdir()) == []
