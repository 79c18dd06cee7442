"""Databases for trials outside of tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from trials.postgres import is_installed, running_postgres


@contextmanager
def databases_here() -> Iterator[dict[str, str]]:
    """Give the address of an empty database of every kind that is here, by its name."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        found = {"SQLite": f"sqlite:///{folder}/trial.db"}
        if is_installed():
            postgres = stack.enter_context(running_postgres())
            found["PostgreSQL"] = stack.enter_context(postgres.database())
        yield found
