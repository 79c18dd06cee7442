"""The page of the search in the header of every page."""

from __future__ import annotations

from starlette.responses import Response

from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.reading.searching import SearchResult, search
from equipoise.store.connection import Store
from equipoise.web.page.context import PageContext


async def search_page(context: PageContext) -> Response:
    """Return what is found in the pools that the sender may read.

    The pool from which the sender comes is first, then those with the latest matches.
    """
    text, near = context.query("text")[:200], context.query("pool")

    def read(store: Store) -> SearchResult:
        with store.moment() as moment:
            readable = [pool for pool in pool_messages(moment) if context.may_read(pool)]
            readable.sort(key=lambda pool: str(pool.last_time or ""), reverse=True)
            readable.sort(key=lambda pool: (pool.pool != near, pool.closed is not None))
            return search(moment, readable, text)

    result = await context.service.read_for(context.key, read)
    return context.render("search.html", text=text, near=near, result=result)
