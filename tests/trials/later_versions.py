"""Later versions of the program: this one, with steps of the schema added that only tests know.

The first step expands the schema, so this version may go on; the second contracts it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import equipoise
from equipoise.store import migrations
from equipoise.store.migrations import CURRENT

#: The schemas of the two later versions.
EXPANDED, CONTRACTED = "9001", "9002"

#: What is added to the module of the steps.
_LATER = f'''

def _expand(connection: Connection) -> None:
    for change in (
        "ALTER TABLE pools ADD COLUMN later TEXT",
        "ALTER TABLE log ADD COLUMN later BIGINT NOT NULL DEFAULT 7",
        "CREATE TABLE later (id INTEGER NOT NULL PRIMARY KEY)",
    ):
        connection.execute(text(change))


def _contract(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE webhooks DROP COLUMN reason"))


_EVERY = (
    *STEPS, Step("{EXPANDED}", "{CURRENT}", _expand), Step("{CONTRACTED}", "{EXPANDED}", _contract)
)
'''


def _added(revision: str) -> str:
    """Return what the module of a later version has at its end."""
    steps = f"STEPS = tuple(step for step in _EVERY if step.schema <= {revision!r})"
    return f"{_LATER}{steps}\nCURRENT = {revision!r}\n"


@contextmanager
def later_version(revision: str) -> Iterator[None]:
    """Let this process be the program of a later schema while the block runs."""
    later: dict[str, Any] = dict(vars(migrations))
    exec(_added(revision), later)
    names = ("STEPS", "CURRENT")
    with mock.patch.multiple(migrations, **{name: later[name] for name in names}):
        yield


def copy_later_version(revision: str, folder: Path) -> Path:
    """Copy the program as that of a later schema; return the folder to import it from."""
    source = Path(equipoise.__file__).parent
    target = folder / "src" / source.name
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    changed = target / "store" / "migrations.py"
    changed.write_text(changed.read_text() + _added(revision))
    return target.parent
