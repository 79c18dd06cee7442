"""A pool as a file: what was posted and amended, how players stand, what every match changed."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from typing import Annotated

from msgspec import Meta, Struct
from starlette.types import Message

from equipoise.web.endpoints import ApiRequest, Endpoint
from equipoise.web.lanes import BoundedExecutor
from equipoise.workflows.exchange import Format, What, export_bytes

_MEDIA: dict[Format, str] = {
    "csv": "text/csv",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


class ExportQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is exported, and how."""

    what: Annotated[
        What,
        Meta(description="All that was posted and amended, the ratings, or what every match did."),
    ] = "log"
    format: Annotated[
        Format, Meta(description="A log as ndjson loses nothing and can be imported again.")
    ] = "ndjson"


async def export(request: ApiRequest) -> None:
    """Answer with a pool as a file, which is made while it is sent.

    A moment of the database is held for so long, so only few do this at a time, and who does not
    fetch what comes is not waited for.
    """
    with request.service.exporting() as executor:
        await _send_pieces(request, executor)


async def _send_pieces(request: ApiRequest, executor: BoundedExecutor) -> None:
    query: ExportQuery = request.query
    pieces = await executor.run(
        export_bytes, request.service.store, request.pool, query.what, query.format
    )
    try:
        # Whatever goes wrong before the first piece is there is still answered as an error.
        piece = await executor.run(next, pieces, b"")
        await request.send(_start(request, query))
        while piece:
            async with asyncio.timeout(request.service.settings.idle_seconds):
                await request.send({"type": "http.response.body", "body": piece, "more_body": True})
            piece = await executor.run(next, pieces, b"")
        await request.send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        await executor.run(_close, pieces)


def _close(pieces: Iterator[bytes]) -> None:
    """Let go of the moment of the database, also where not all pieces were fetched."""
    if isinstance(pieces, Generator):
        pieces.close()


def _start(request: ApiRequest, query: ExportQuery) -> Message:
    name = f"{request.pool}-{query.what}.{query.format}"
    headers = {
        "content-type": _MEDIA[query.format],
        "content-disposition": f'attachment; filename="{name}"',
        "cache-control": "no-store",
    }
    return {
        "type": "http.response.start",
        "status": 200,
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
    }


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/v1/pools/{pool}/export",
        name="exportPool",
        group="Pools",
        summary="A pool as a file",
        description="Of one moment, however long it takes. As csv and parquet the log is the "
        "history of the matches as they count now, which `equipoise rate` reads.",
        handler=export,
        query=ExportQuery,
        media=tuple(_MEDIA.values()),
        timed=False,
    ),
)
