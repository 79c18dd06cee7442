"""A shared value on its way to the workers of a Dask scheduler that do not see its folder."""

from __future__ import annotations

from contextlib import ExitStack

import distributed

from equipoise.parallel.shared import Files


class Delivery(distributed.WorkerPlugin):  # type: ignore[misc]  # its types are not read
    """Keeps a copy of the files on the machine of a worker; the scheduler sends it to late ones."""

    def __init__(self, files: Files) -> None:
        self._files: Files | None = files
        self._kept = ExitStack()

    def __reduce__(self) -> tuple[type[Delivery], tuple[Files | None]]:
        return Delivery, (self._files,)

    def setup(self, worker: distributed.Worker) -> None:
        """Write the files, and free their memory."""
        if self._files is not None:
            self._kept.enter_context(self._files.kept())
            self._files = None

    def teardown(self, worker: distributed.Worker) -> None:
        """Let the files go."""
        self._kept.close()
