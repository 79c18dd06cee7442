"""Where the files of pools are written: each pool has folders of its own below that of an option.

`--output DIR/ratings.csv` becomes `DIR/mode=ranked/region=eu/ratings.csv`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, get_args

from equipoise.data.files import check_distinct
from equipoise.errors import InvalidParameterError, require
from equipoise.formats.opening.partitions import folder_name
from equipoise.formats.writing import TableFormat, format_of

#: Names of the files of a pool, if an option names a folder.
_NAMES = {"--output": "ratings.parquet", "--trace": "trace.parquet", "--save": "state.npz"}

#: The folder of all pools, and the name of the file of each, by option.
Places: TypeAlias = Mapping[str, tuple[Path, str]]


def paths_of(places: Places, values: Mapping[str, str | None]) -> dict[str, Path]:
    """Return the paths of the pool with these values, by option."""
    below = Path(*(folder_name(column, value) for column, value in values.items()))
    return {option: folder / below / name for option, (folder, name) in places.items()}


def places_of(given: Mapping[str, str | None], source: object) -> Places:
    """Return where to write, and make the folders of the options.

    given : path by option: a folder (an existing one, or with a slash at its end) or a file
    source : of the matches, which may not contain what is written
    Raises : InvalidParameterError
    """
    places: dict[str, tuple[Path, str]] = {}
    for option, path in given.items():
        if path is None:
            continue
        is_folder = path.endswith(("/", os.sep)) or Path(path).is_dir()
        # A name without an ending is most likely a folder that does not exist yet.
        rule = f"a folder, with a slash at its end ({path}/), or a file with an ending"
        require(is_folder or Path(path).suffix != "", option, rule, path)
        whole = Path(path, _NAMES[option]) if is_folder else Path(path)
        if option == "--save":
            require(whole.suffix == ".npz", option, "a folder or a file that ends in .npz", path)
        else:
            format_of(Path(whole.name), get_args(TableFormat))
        places[option] = whole.parent, whole.name
    if not places:
        raise InvalidParameterError(
            "--by needs --output DIR/, in which every pool gets a folder (or --save, --trace)"
        )
    check_distinct({option: folder / name for option, (folder, name) in places.items()})
    read = source if isinstance(source, list | tuple) else [source]
    inside = [Path(one) for one in read if isinstance(one, str) and Path(one).is_dir()]
    for option, (folder, _) in places.items():
        for one in inside:
            if folder.resolve().is_relative_to(one.resolve()):
                raise InvalidParameterError(
                    f"{option} must be outside of the folder that is read; got {folder} in {one}"
                )
    for folder, _ in places.values():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidParameterError(
                f"cannot make the folder {folder}: {error.strerror}"
            ) from None
    return places
