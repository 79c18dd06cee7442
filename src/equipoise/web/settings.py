"""Settings of the service. An environment variable may give each of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from equipoise.errors import InvalidParameterError
from equipoise.wording import NO_STANDBY

#: Prefix of the environment variables: EQUIPOISE_DATABASE, ...
PREFIX = "EQUIPOISE_"
_MEGABYTE = 1_000_000

#: Settings of earlier versions, and why they are refused.
_DROPPED = {"replica": NO_STANDBY, "replica_lag_seconds": NO_STANDBY}

_Positive: TypeAlias = Annotated[int, Meta(ge=1)]
_Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=86_400)]


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the service. Sizes are in bytes, times in seconds.

    database : `sqlite:///FILE` or `postgresql+psycopg://USER:PASSWORD@HOST/NAME`
    body_bytes : maximum size of a body that is read completely (413)
    line_bytes : maximum size of a line of a stream (413)
    list_length : maximum number of matches in an array
    head_bytes : maximum size of the request line and headers together (431)
    header_bytes : maximum size of a header (431)
    head_seconds : maximum time until the request line and headers arrive (408)
    keep_alive_seconds : maximum time that a connection stays open between two requests
    connections : maximum number of open connections; 0: as many as the file descriptors allow, at
        most 4,096
    request_seconds : maximum time of a request (504); it ends the transaction of a post, unless the
        commit has begun
    idle_seconds : maximum time without data in a stream, or without reading of a response
    export_rate : bytes per second that the reader of an export must take, or it is disconnected
    exports : maximum number of concurrent exports (503); callers without a key share half of them
    exports_per_key : maximum number of concurrent exports of a key, or of an address without a key
        (429)
    wait_seconds : maximum value of `?wait=`
    rate_limit : maximum requests per second of a key, or of an address without a key (429); 0: none
    rate_burst : maximum requests at once, with `rate_limit`
    address_rate : maximum requests per second of an address without a key (429), unless
        `rate_limit` is set
    address_burst : maximum requests at once, with `address_rate`
    failed_keys : maximum number of wrong keys and sessions per second of an address (429); 0: no
        limit
    session_seconds : time that a browser stays signed in
    secure_cookies : whether cookies are for HTTPS only: if the user signed in over HTTPS (`auto`),
        `always`, or `never`
    queued_matches : maximum number of matches that wait for the writer (503)
    queued_posts : maximum number of posts that wait for the writer (503)
    batch_matches : maximum number of matches in a transaction
    chunk_lines : maximum number of stream lines that are committed together
    chunk_bytes : maximum number of stream bytes that are committed together
    readers : number of reader threads; callers without a key share half as many of their own, at
        least one
    commit_wait_seconds : age of an unfinished commit after which `/readyz` is 503; 0: never
    calculators : number of processes for long calculations
    queued_calculations : maximum number of calculations that wait for a process (503)
    calculation_bytes : maximum memory of a calculation (413; Linux only)
    key_seconds : maximum time that another service still accepts a revoked key
    cors : origins whose pages may call the service
    metrics : who may read `/metrics`: anybody (`open`), a key for all pools (`key`), nobody (`off`)
    calculations : who may use calculations without a pool: any key (`key`), or anybody (`open`)
    page : whether the service has web pages
    proxies : addresses of the proxies whose forwarded client address is trusted; `*`: any
    grace_seconds : time that active requests have to finish when the service stops
    tracing : whether the service sends traces to an OpenTelemetry collector; needs the extra
        `tracing`
    log_level : lowest level of log lines: `debug`, `info`, `warning` or `error`
    future_seconds : maximum time by which a match may be ahead of the clock (422)
    webhook_seconds : maximum time that the receiver of a webhook has to respond
    webhook_days : days of failing deliveries after which a webhook is disabled
    webhook_waiting : number of waiting events beyond which a webhook is disabled
    audit_days : days after which records of the audit log are deleted; 0: never
    webhook_log_days : days after which disabled webhooks are deleted; 0: never
    private_webhooks : whether webhooks may have private addresses
    """

    database: str = "sqlite:///equipoise.db"
    body_bytes: _Positive = 10 * _MEGABYTE
    line_bytes: _Positive = _MEGABYTE
    list_length: _Positive = 10_000
    head_bytes: Annotated[int, Meta(ge=4_096)] = 32_768
    header_bytes: Annotated[int, Meta(ge=1_024)] = 16_384
    head_seconds: _Seconds = 10.0
    keep_alive_seconds: _Seconds = 75.0
    connections: Annotated[int, Meta(ge=0)] = 0
    request_seconds: _Seconds = 30.0
    idle_seconds: _Seconds = 60.0
    export_rate: _Positive = 64_000
    exports: _Positive = 16
    exports_per_key: _Positive = 2
    wait_seconds: _Seconds = 20.0
    rate_limit: Annotated[float, Meta(ge=0)] = 0.0
    rate_burst: _Positive = 100
    address_rate: Annotated[float, Meta(ge=0)] = 100.0
    address_burst: _Positive = 300
    failed_keys: Annotated[float, Meta(ge=0)] = 10.0
    session_seconds: Annotated[float, Meta(ge=60, le=31 * 86_400)] = 43_200.0
    secure_cookies: Literal["auto", "always", "never"] = "auto"
    queued_matches: _Positive = 40_000
    queued_posts: _Positive = 4_000
    batch_matches: _Positive = 10_000
    chunk_lines: _Positive = 10_000
    chunk_bytes: _Positive = 3 * _MEGABYTE // 2
    readers: Annotated[int, Meta(ge=1, le=64)] = 2
    commit_wait_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 5.0
    calculators: Annotated[int, Meta(ge=1, le=64)] = 2
    queued_calculations: _Positive = 16
    calculation_bytes: Annotated[int, Meta(ge=100 * _MEGABYTE)] = 2_000 * _MEGABYTE
    key_seconds: Annotated[float, Meta(ge=0, le=3600)] = 1.0
    cors: tuple[str, ...] = ()
    metrics: Literal["open", "key", "off"] = "open"
    calculations: Literal["key", "open"] = "key"
    page: bool = True
    proxies: tuple[str, ...] = ()
    grace_seconds: _Seconds = 20.0
    future_seconds: Annotated[float, Meta(ge=0, le=1e12)] = 86_400.0
    webhook_seconds: Annotated[float, Meta(gt=0, le=600)] = 10.0
    webhook_days: Annotated[float, Meta(gt=0, le=3650)] = 7.0
    webhook_waiting: _Positive = 1_000_000
    audit_days: Annotated[float, Meta(ge=0, le=36_500)] = 0.0
    webhook_log_days: Annotated[float, Meta(ge=0, le=36_500)] = 0.0
    private_webhooks: bool = False
    tracing: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "info"


def settings_of(values: Mapping[str, object]) -> ServiceSettings:
    """Return settings from values by name, which may be text. Raises : InvalidParameterError."""
    try:
        return msgspec.convert(dict(values), ServiceSettings, strict=False)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at ")
        name = path.strip("`").removeprefix("$.") or "the settings"
        raise InvalidParameterError(f"{name}: {reason}; got {values.get(name)!r}") from None


def settings_from_environment(environment: Mapping[str, str] | None = None) -> ServiceSettings:
    """Return the settings in environment variables; lists are separated by commas.

    Raises : InvalidParameterError
    """
    environment = os.environ if environment is None else environment
    for name, reason in _DROPPED.items():
        if environment.get(PREFIX + name.upper()):  # an empty value asked for nothing
            raise InvalidParameterError(f"{name}: {reason}")
    values: dict[str, object] = {}
    for field in msgspec.structs.fields(ServiceSettings):
        text = environment.get(PREFIX + field.name.upper())
        if text is not None:
            values[field.name] = _listed(text) if isinstance(field.default, tuple) else text
    return settings_of(values)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
