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
    body_bytes : maximum size of a body that is read whole
    line_bytes : maximum size of one line of a stream
    list_length : maximum number of matches in one array
    head_bytes : maximum size of the request line and the headers together
    header_bytes : maximum size of one header
    head_seconds : time in which the request line and the headers must arrive
    keep_alive_seconds : how long a connection is kept open between two requests
    connections : maximum number of open connections; 0 to derive it from the file descriptors
    request_seconds : time limit of a request
    idle_seconds : maximum time without data in a stream or an export
    export_rate : bytes per second that the reader of an export must take, or it is cut off
    exports : exports that may run at the same time
    exports_per_key : exports that one key, or one address without a key, may run at the same time
    wait_seconds : maximum value of `?wait=`
    rate_limit : requests per second for one key, or one address without a key; 0 for no limit
    rate_burst : requests that may arrive at once
    address_rate : requests per second for one address without a key, unless rate_limit is set
    address_burst : requests without a key that may arrive at once from one address
    failed_keys : wrong keys per second that an address may try; 0 for no limit
    session_seconds : how long a browser stays signed in
    secure_cookies : whether cookies are for HTTPS only: as the request came (auto), always, never
    queued_matches : matches that may wait for the writer before posts are rejected
    queued_posts : posts that may wait for the writer before more are rejected
    batch_matches : maximum number of matches in one transaction
    chunk_lines : lines of a stream that are committed together
    chunk_bytes : bytes of a stream that are committed together
    readers : number of reader threads
    commit_wait_seconds : age of a commit that waits after which `/readyz` is 503; 0 for none
    calculators : number of processes for long calculations
    queued_calculations : calculations that may wait for a process before more are rejected
    calculation_bytes : memory that a calculation may use
    key_seconds : how long another process may still accept a key that was just revoked
    cors : origins whose pages may call the service
    metrics : who may read `/metrics`: anybody (open), a key for all pools (key), nobody (off)
    calculations : who may use the calculations without a pool: any key (key), or anybody (open)
    page : whether the web pages are served
    proxies : addresses of proxies whose forwarded client address is trusted; "*" for any
    grace_seconds : time for active requests to finish when the service stops
    tracing : whether traces go to a collector of OpenTelemetry; needs the extra `tracing`
    log_level : lowest level that is logged: debug, info, warning, error
    future_seconds : how far ahead of the clock the time of a match may be
    webhook_seconds : time that the receiver of a webhook has to respond
    webhook_days : days without a successful delivery after which a failing webhook is disabled
    webhook_waiting : events that may wait for a webhook before it is disabled
    audit_days : days for which entries of the audit log are kept; 0 for ever
    webhook_log_days : days for which disabled webhooks are kept; 0 for ever
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
