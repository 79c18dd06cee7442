"""Where the files of pools are written: each pool has folders of its own below that of an option.

`--output DIR/ratings.csv` becomes `DIR/mode=ranked/region=eu/ratings.csv`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from equipoise.data.files import check_distinct
from equipoise.errors import InvalidParameterError, require
from equipoise.formats.opening.partitions import folder_name
from equipoise.formats.writing import TableFormat, format_of

#: Names of the files of a pool, if an option names a folder.
_NAMES = {"--output": "ratings.parquet", "--trace": "trace.parquet", "--save": "state.npz"}


@dataclass(frozen=True, slots=True)
class Places:
    """The folders and names of the files of all pools, by option."""

    found: Mapping[str, tuple[Path, str]]

    def of(self, values: Mapping[str, str | None]) -> dict[str, Path]:
        """Return the paths of a pool, by option."""
        below = Path(*(folder_name(column, value) for column, value in values.items()))
        return {option: folder / below / name for option, (folder, name) in self.found.items()}


def places_of(given: Mapping[str, str | None], source: object) -> Places:
    """Return where to write, and make the folders of the options.

    given : path by option: a folder (an existing one, or with a slash at its end) or a file
    source : of the matches, which may not contain what is written
    Raises : InvalidParameterError
    """
    found = {}
    for option, path in given.items():
        if path is None:
            continue
        is_folder = path.endswith(("/", os.sep)) or Path(path).is_dir()
        folder, name = (Path(path), _NAMES[option]) if is_folder else _split(path)
        # A name without an ending is most likely a folder that does not exist yet.
        rule = f"a folder, with a slash at its end ({path}/), or a file with an ending"
        require(is_folder or Path(name).suffix != "", option, rule, path)
        if option == "--save":
            require(name.endswith(".npz"), option, "a folder or a file that ends in .npz", path)
        else:
            format_of(Path(name), get_args(TableFormat))
        found[option] = folder, name
    if not found:
        raise InvalidParameterError(
            "--by needs --output DIR/, in which every pool gets a folder (or --save, --trace)"
        )
    check_distinct({option: folder / name for option, (folder, name) in found.items()})
    for option, (folder, _) in found.items():
        for inside in _folders(source):
            if folder.resolve().is_relative_to(inside.resolve()):
                raise InvalidParameterError(
                    f"{option} must be outside of the folder that is read; got {folder} in {inside}"
                )
    for folder, _ in found.values():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidParameterError(
                f"cannot make the folder {folder}: {error.strerror}"
            ) from None
    return Places(found)


def _split(path: str) -> tuple[Path, str]:
    return Path(path).parent, Path(path).name


def _folders(source: object) -> list[Path]:
    """Return the folders that a source names."""
    given = source if isinstance(source, list | tuple) else [source]
    return [Path(one) for one in given if isinstance(one, str) and Path(one).is_dir()]
