"""Later versions of the program: this one, with migrations added that only tests know.

The first migration expands the schema, so this version may go on; the second contracts it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import equipoise
from equipoise.store.migrations import migrating
from equipoise.store.migrations.migrating import CURRENT

#: The schemas of the two later versions.
EXPANDED, CONTRACTED = "9001", "9002"

_STEP = '''"""A step of a later version."""

import sqlalchemy as sa
from alembic import op

revision = {revision!r}
down_revision = {before!r}
branch_labels = None
depends_on = None
oldest = {oldest!r}


def upgrade() -> None:
{body}
'''
_BODIES = {
    EXPANDED: """\
    op.add_column("pools", sa.Column("later", sa.Text(), nullable=True))
    op.add_column("log", sa.Column("later", sa.BigInteger(), nullable=False, server_default="7"))
    op.create_table("later", sa.Column("id", sa.Integer(), primary_key=True))
""",
    CONTRACTED: """\
    op.drop_column("webhooks", "reason")
""",
}


def write_steps(folder: Path) -> None:
    """Write both migrations into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    chain = ((EXPANDED, CURRENT, CURRENT), (CONTRACTED, EXPANDED, EXPANDED))
    for revision, before, oldest in chain:
        content = _STEP.format(
            revision=revision, before=before, oldest=oldest, body=_BODIES[revision]
        )
        (folder / f"{revision}_later.py").write_text(content)


@contextmanager
def later_version(revision: str, folder: Path) -> Iterator[None]:
    """Let this process be the program of a later schema while the block runs.

    folder : for its migrations
    """
    write_steps(folder)
    configuration = migrating.configuration

    def configured() -> Any:
        found = configuration()
        own = Path(migrating.__file__).parent / "versions"
        found.set_main_option("version_locations", f"{own}:{folder}")
        return found

    with (
        mock.patch.object(migrating, "configuration", configured),
        mock.patch.object(migrating, "CURRENT", revision),
    ):
        yield


def copy_later_version(revision: str, folder: Path) -> Path:
    """Copy the program as that of a later schema; return the folder to import it from."""
    source = Path(equipoise.__file__).parent
    target = folder / "src" / source.name
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    write_steps(target / "store" / "migrations" / "versions")
    changed = target / "store" / "migrations" / "migrating.py"
    line = f'CURRENT = "{CURRENT}"\n'
    content = changed.read_text()
    assert content.count(line) == 1
    changed.write_text(content.replace(line, f'CURRENT = "{revision}"\n'))
    return target.parent
