"""The audit log, for administrators."""

from __future__ import annotations

from msgspec import Struct

from equipoise.messages.audit import AuditPage
from equipoise.web.access import audited_pool
from equipoise.web.endpoints import ApiRequest, Endpoint
from equipoise.web.parameters import Cursor, IdText, Limit
from equipoise.workflows import auditing


class AuditQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which page of the audit log, and of which pool."""

    pool: IdText | None = None
    cursor: Cursor | None = None
    limit: Limit = 50


async def list_audit(request: ApiRequest) -> AuditPage:
    """Return a page of the audit log; the key of a pool sees what concerns that pool."""
    query: AuditQuery = request.query
    pool = audited_pool(request.key, query.pool)
    return await request.service.read(
        auditing.audit_page, pool=pool, cursor=query.cursor, limit=query.limit
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/audit",
        name="listAudit",
        group="Keys",
        summary="What administrators did, newest first",
        description="Of one pool or of all; with the key of a pool, of that pool.",
        handler=list_audit,
        right="admin",
        query=AuditQuery,
        shape=AuditPage,
    ),
)
