"""Values that several processes read from one file."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import EquipoiseError, NotFoundError
from equipoise.parallel.shared import FOLDER_VARIABLE, Shared, share


@dataclass
class Columns:
    ids: np.ndarray
    fixed: np.ndarray
    free: np.ndarray


def columns() -> Columns:
    fixed = np.arange(10_000)
    fixed.setflags(write=False)
    ids = np.array(["ann", "ben", None], dtype=object)
    return Columns(ids=ids, fixed=fixed, free=np.linspace(0, 1, 777))


def test_a_value_is_read_back(tmp_path: Path) -> None:
    given = columns()
    with share(given, tmp_path) as shared:
        found = shared.load()
        assert found.ids.tolist() == given.ids.tolist()
        np.testing.assert_array_equal(found.fixed, given.fixed)
        np.testing.assert_array_equal(found.free, given.free)
        # The kernels are compiled for arrays with these flags.
        assert not found.fixed.flags.writeable
        assert found.free.flags.writeable
        assert found.fixed.flags.aligned
        assert found.free.flags.aligned


def test_a_changed_array_is_a_copy(tmp_path: Path) -> None:
    with share(columns(), tmp_path) as shared:
        shared.load().free[:] = -1
        np.testing.assert_array_equal(shared.load().free, columns().free)


def test_values_without_arrays(tmp_path: Path) -> None:
    for value in ({"a": 1}, np.zeros(0), None):
        with share(value, tmp_path) as shared:
            assert repr(shared.load()) == repr(value)


def test_the_folder_is_named_by_content_and_deleted_by_the_last(tmp_path: Path) -> None:
    with share(columns(), tmp_path) as one:
        with share(columns(), tmp_path) as other:
            assert one == other
        assert Path(one.folder).is_dir()
        with share(np.arange(3), tmp_path) as third:
            assert third != one
    assert list(tmp_path.iterdir()) == []


def test_an_array_stays_after_its_folder(tmp_path: Path) -> None:
    with share(columns(), tmp_path) as shared:
        found = shared.load()
    np.testing.assert_array_equal(found.fixed, columns().fixed)


KILLED = """
import os, sys
import numpy as np
from equipoise.parallel.shared import share
with share(np.arange(1000), sys.argv[1]) as shared:
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_leaves_is_deleted_by_the_next(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    left = [one for one in tmp_path.iterdir() if one.is_dir()]
    assert len(left) == 1
    half = left[0].with_name(f"{left[0].name}.1234.tmp")
    half.mkdir()
    with share(columns(), tmp_path):
        assert not left[0].exists()
        assert not half.exists()
    assert list(tmp_path.iterdir()) == []


def test_files_of_others_in_the_folder_stay(tmp_path: Path) -> None:
    # A lock named .lock would stand for the folder itself, and uv.lock for a folder uv.
    for name in (".lock", "uv.lock", f"{'A' * 40}.lock", "0123.lock"):
        (tmp_path / name).touch()
    for name in ("uv", "A" * 40, "uv.1.tmp"):
        (tmp_path / name).mkdir()
    before = sorted(tmp_path.iterdir())
    with share(columns(), tmp_path):
        pass
    assert sorted(tmp_path.iterdir()) == before


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "other").touch()
    (root / f"{'a' * 40}.lock").symlink_to(tmp_path / "other")
    with share(1, root):
        pass
    assert (tmp_path / "other").exists()
    assert (root / f"{'a' * 40}.lock").is_symlink()


def test_nothing_is_loaded_that_others_could_have_written(tmp_path: Path) -> None:
    with share(columns(), tmp_path) as shared:
        for folder in (tmp_path, Path(shared.folder)):
            folder.chmod(0o777)
            with pytest.raises(EquipoiseError, match="writable by nobody else"):
                shared.load()
            folder.chmod(0o700)
        link = tmp_path / ("b" * 40)
        link.symlink_to(shared.folder)
        with pytest.raises(EquipoiseError, match="writable by nobody else"):
            Shared(str(link)).load()
        link.unlink()
        shared.load()


def test_only_this_user_may_write_there(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(EquipoiseError, match="writable by nobody else"), share(1, tmp_path):
        pass


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "new" / "folder"))
    with share(columns()) as shared:
        assert Path(shared.folder).parent == tmp_path / "new" / "folder"


def test_a_folder_of_another_machine_is_named() -> None:
    with pytest.raises(NotFoundError, match="every process sees"):
        Shared(os.path.join("/nowhere", "there")).load()


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(EquipoiseError, match="No space left"), share(1, tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
