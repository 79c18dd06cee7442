"""Keys: made, listed, revoked, with a key that rules all pools."""

from __future__ import annotations

from equipoise.errors import NotFoundError, require
from equipoise.messages.keys import KeyList, KeyMessage, KeyRequest, NewKeyMessage
from equipoise.store.keys import KeyRecord, create_key, list_keys, revoke_key
from equipoise.web.endpoints import Asked, Body, Endpoint
from equipoise.web.service import now
from equipoise.workflows import pools
from equipoise.workflows.posted_matches import moment

_LARGEST = 2**31 - 1
_NAME = 200


async def show_keys(asked: Asked) -> KeyList:
    """Return all keys."""
    return KeyList([message_of(key) for key in await asked.service.read(list_keys)])


async def make_key(asked: Asked) -> NewKeyMessage:
    """Make a key."""
    request: KeyRequest = asked.body
    at = now()
    require(
        0 < len(request.name) <= _NAME and request.name.isprintable(),
        "name",
        f"1 to {_NAME} characters that can be printed",
        request.name[:50],
    )
    expires = None if request.expires is None else moment(request.expires, "expires")
    require(expires is None or expires > at, "expires", "a time to come", request.expires)
    if request.pool is not None:
        await asked.service.read(pools.pool_message, request.pool)
    made, secret = await asked.service.change(
        create_key, request.name, request.role, request.pool, expires, at
    )
    return NewKeyMessage(message_of(made), secret)


async def take_key(asked: Asked) -> KeyMessage:
    """Revoke a key."""
    text = asked.path["key"]
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else -1
    if not 0 < number <= _LARGEST:
        raise NotFoundError(f"no key {text!r}")
    revoked = await asked.service.change(revoke_key, number, now())
    asked.service.access.forget()
    return message_of(revoked)


def message_of(key: KeyRecord) -> KeyMessage:
    """Return a key as it is shown."""
    return KeyMessage(
        key=key.id,
        name=key.name,
        role=key.role,
        pool=key.pool,
        created=pools.iso(key.created),
        expires=None if key.expires is None else pools.iso(key.expires),
        revoked=None if key.revoked is None else pools.iso(key.revoked),
        last_used=None if key.last_used is None else pools.iso(key.last_used),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/keys",
        name="listKeys",
        group="Keys",
        summary="All keys, newest first",
        handler=show_keys,
        right="admin",
        all_pools=True,
        shape=KeyList,
    ),
    Endpoint(
        method="POST",
        path="/v1/keys",
        name="createKey",
        group="Keys",
        summary="Make a key",
        description="The secret is in this answer and nowhere else.",
        handler=make_key,
        right="admin",
        all_pools=True,
        body=Body(shape=KeyRequest, example={"name": "game server", "role": "writer"}),
        shape=NewKeyMessage,
        errors=(404,),
    ),
    Endpoint(
        method="POST",
        path="/v1/keys/{key}/revoke",
        name="revokeKey",
        group="Keys",
        summary="Revoke a key for good",
        handler=take_key,
        right="admin",
        all_pools=True,
        shape=KeyMessage,
        errors=(404,),
    ),
)
