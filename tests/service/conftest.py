"""A service that runs, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.serving import Service, served_by
from trials.compiled import compile_kernels
from trials.server import running


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> None:
    """Compile the kernels of all systems first, so that new pools take posts at once."""
    compile_kernels()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service on SQLite that all tests share; each makes pools of its own."""
    pytest.importorskip("uvicorn")
    folder = tmp_path_factory.mktemp("service")
    # Tests of bad keys must not be refused for trying too many.
    settings = {"EQUIPOISE_FAILED_KEYS": "0"}
    with running(f"sqlite:///{folder / 'service.db'}", folder / "log", settings=settings) as server:
        yield from served_by(server)


@pytest.fixture
def served(database_url: str, tmp_path: Path) -> Iterator[Service]:
    """Give a service of one's own, on each database."""
    pytest.importorskip("uvicorn")
    with running(database_url, tmp_path / "log") as server:
        yield from served_by(server)
