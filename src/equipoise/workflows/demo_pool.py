"""The pool that shows what the service does: the sample that comes with the package."""

from __future__ import annotations

from importlib.resources import as_file, files

from equipoise.messages.exchange import ImportMessage
from equipoise.store.connection import Store
from equipoise.workflows.demo import SAMPLE
from equipoise.workflows.importing import ImportRequest, import_pool
from equipoise.workflows.reading import HistoryRequest

#: Name of the pool.
DEMO = "demo"

_SETTINGS: dict[str, object] = {"public": True, "placement_matches": 5, "late": "replay"}


def fill_demo(store: Store, now: int) -> ImportMessage:
    """Make the pool, which anybody may read, and bring the sample into it; once.

    now : microseconds since 1970
    Raises : ConflictError where there is another pool of its name
    """
    with as_file(files("equipoise") / "sample" / SAMPLE) as path:
        request = ImportRequest(
            history=HistoryRequest(source=str(path)), create=True, settings=_SETTINGS
        )
        return import_pool(store, DEMO, request, now)
