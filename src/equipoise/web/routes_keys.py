"""Keys: made, listed, revoked, with a key that rules all pools."""

from __future__ import annotations

from equipoise.errors import NotFoundError
from equipoise.messages.keys import KeyList, KeyMessage, KeyRequest, NewKeyMessage
from equipoise.web.endpoints import ApiRequest, Body, Endpoint
from equipoise.workflows import keys
from equipoise.workflows.clock import now

_LARGEST = 2**31 - 1


async def show_keys(request: ApiRequest) -> KeyList:
    """Return all keys."""
    return await request.service.read(keys.all_keys)


async def make_key(request: ApiRequest) -> NewKeyMessage:
    """Make a key."""
    body: KeyRequest = request.body
    return await request.service.change(keys.make_key, body, now(), by=request.key_number)


async def take_key(request: ApiRequest) -> KeyMessage:
    """Revoke a key."""
    text = request.path["key"]
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else -1
    if not 0 < number <= _LARGEST:
        raise NotFoundError(f"no key {text!r}")
    return await request.service.change(keys.end_key, number, now(), by=request.key_number)


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
