"""Settings of the service, each of which an environment variable may give."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from equipoise.errors import InvalidParameterError

#: What the names of the environment variables begin with: EQUIPOISE_DATABASE, ...
PREFIX = "EQUIPOISE_"
_MEGABYTE = 1_000_000

_Positive: TypeAlias = Annotated[int, Meta(ge=1)]
_Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=86_400)]


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a service is run. Sizes are in bytes, times in seconds.

    database : `sqlite:///FILE` or `postgresql+psycopg://USER:PASSWORD@HOST/NAME`
    body_bytes : of a body that is read whole; line_bytes : of one line of a stream
    list_length : matches posted in one array
    request_seconds : after which a request is given up
    idle_seconds : without a byte of a stream, or of an export, after which it is given up
    wait_seconds : that `?wait=` may ask for
    rate_limit : requests a second of one key, or of one address without a key; 0 for no limit
    rate_burst : requests that may come at once
    failed_keys : keys a second that an address may try in vain; 0 for no limit
    queued_matches, queued_posts : that may wait for the writer before posts are refused
    batch_matches : that one transaction takes
    chunk_lines, chunk_bytes : of a stream that are committed together
    readers : threads for reading; calculators : threads for what takes long
    queued_calculations : that may wait for a thread before more are refused
    key_seconds : how long another process may go on using a key that was just revoked
    cors : origins whose pages may call the service
    metrics : who may read `/metrics`: anybody (open), with a key for all pools (key), nobody (off)
    calculations : who may use rebalance and performance: with any key (key), or anybody (open)
    page : whether the pages for people are served
    proxies : addresses of proxies that may say for whom they ask; "*" for any
    grace_seconds : for requests under way when the service is stopped
    log_level : the least that is logged: debug, info, warning, error
    webhook_seconds : that a webhook's receiver has to answer
    private_webhooks : whether webhooks may have addresses that are not public
    """

    database: str = "sqlite:///equipoise.db"
    body_bytes: _Positive = 10 * _MEGABYTE
    line_bytes: _Positive = _MEGABYTE
    list_length: _Positive = 10_000
    request_seconds: _Seconds = 30.0
    idle_seconds: _Seconds = 60.0
    wait_seconds: _Seconds = 20.0
    rate_limit: Annotated[float, Meta(ge=0)] = 0.0
    rate_burst: _Positive = 100
    failed_keys: Annotated[float, Meta(ge=0)] = 10.0
    queued_matches: _Positive = 40_000
    queued_posts: _Positive = 4_000
    batch_matches: _Positive = 10_000
    chunk_lines: _Positive = 10_000
    chunk_bytes: _Positive = 3 * _MEGABYTE // 2
    readers: Annotated[int, Meta(ge=1, le=64)] = 2
    calculators: Annotated[int, Meta(ge=1, le=64)] = 2
    queued_calculations: _Positive = 16
    key_seconds: Annotated[float, Meta(ge=0, le=3600)] = 1.0
    cors: tuple[str, ...] = ()
    metrics: Literal["open", "key", "off"] = "open"
    calculations: Literal["key", "open"] = "key"
    page: bool = True
    proxies: tuple[str, ...] = ()
    grace_seconds: _Seconds = 20.0
    webhook_seconds: Annotated[float, Meta(gt=0, le=600)] = 10.0
    private_webhooks: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "info"


def settings_of(values: Mapping[str, object]) -> ServiceSettings:
    """Return settings from values by name, text among them. Raises : InvalidParameterError."""
    try:
        return msgspec.convert(dict(values), ServiceSettings, strict=False)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at ")
        name = path.strip("`").removeprefix("$.") or "the settings"
        raise InvalidParameterError(f"{name}: {said}; got {values.get(name)!r}") from None


def settings_from_environment(environment: Mapping[str, str] | None = None) -> ServiceSettings:
    """Return the settings that environment variables give; lists are separated by commas.

    Raises : InvalidParameterError
    """
    environment = os.environ if environment is None else environment
    values: dict[str, object] = {}
    for field in msgspec.structs.fields(ServiceSettings):
        text = environment.get(PREFIX + field.name.upper())
        if text is not None:
            values[field.name] = _listed(text) if isinstance(field.default, tuple) else text
    return settings_of(values)


def environment_of(settings: ServiceSettings) -> dict[str, str]:
    """Return the variables that give these settings to another process."""
    return {
        PREFIX + field.name.upper(): _text(getattr(settings, field.name))
        for field in msgspec.structs.fields(settings)
    }


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)
