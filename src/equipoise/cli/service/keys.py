"""equipoise db keys: create, list, rotate and revoke keys of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from equipoise.cli import options
from equipoise.cli.declaring import add_command, argument, option
from equipoise.cli.grouping import create_group
from equipoise.cli.report import print_json, print_lines, print_table, say
from equipoise.cli.service.databases import in_words, is_absent, opened
from equipoise.cli.tables import table
from equipoise.errors import NotFoundError

if TYPE_CHECKING:
    from equipoise.messages.access import KeyMessage

CREATE_EXAMPLE = """\b
Example:
  equipoise db keys create --name "game server" --role writer --expires 365d"""
LIST_EXAMPLE = """\b
Example:
  equipoise db keys list"""
ROTATE_EXAMPLE = """\b
Example:
  equipoise db keys rotate 1 --keep 7d"""
REVOKE_EXAMPLE = """\b
Example:
  equipoise db keys revoke 1"""

application = create_group("Create, list, rotate and revoke keys of the service.")

#: Microseconds in the units of `--expires` and `--keep`.
_UNITS = {"h": 3_600_000_000, "d": 86_400_000_000, "w": 604_800_000_000}


def create(
    *,
    name: str = option(..., "Name that shows who uses the key."),
    role: Literal["reader", "writer", "admin"] = option(
        "reader",
        "Rights of the key. reader: read. writer: also post matches. admin: also amend, and create "
        "pools and keys.",
    ),
    pool: str | None = option(
        None, "The only pool that the key opens. It must exist. [default: all pools]"
    ),
    expires: str | None = option(
        None,
        "When the key expires: after hours (h), days (d) or weeks (w), or at a time.",
        "30d|TIME",
    ),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Create a key and print its secret, which is shown only once and not stored.

    Send it with every request in the header `Authorization: Bearer SECRET`.
    """
    from equipoise.analysis.clock import now as clock
    from equipoise.messages.access import KeyRequest
    from equipoise.pools.pool.access import make_key

    now = clock()
    request = KeyRequest(name, role, pool, _expiry(expires, now))
    new = is_absent(database)
    with opened(database, create=True) as store:
        try:
            made = make_key(store, request, now)
        except NotFoundError as error:
            raise NotFoundError(f"{error}; create it before its keys") from error
    if as_json:
        print_json(made)
        return
    print_lines(made.secret)
    until = "" if made.key.expires is None else f", until {made.key.expires}"
    say(
        f"Key {made.key.key}, {made.key.role} of {made.key.pool or 'all pools'}{until}. "
        "The secret above is not shown again.",
        f"The key is in the {'new ' if new else ''}database {in_words(database)}.",
    )


def list_(
    *,
    database: options.Database,
    as_json: options.Json,
) -> None:
    """List all keys, newest first, without their secrets."""
    from equipoise.analysis.clock import now as clock
    from equipoise.pools.pool.access import all_keys

    with opened(database) as store:
        found = all_keys(store)
    if as_json:
        print_json(found)
        return
    now = clock()
    rows = (
        (
            *(key.key, key.name, key.role, key.pool or "(all)", _state(key, now)),
            *(_minutes(key.created), _minutes(key.last_used)),
        )
        for key in found.keys
    )
    names = ("name", "role", "pool", "state", "created", "last used")
    print_table(table({"key": "d", **dict.fromkeys(names, "")}, rows))


def rotate(
    *,
    key: int = argument("Number of the key.", "KEY", min=1),
    keep: str = option(
        "1d",
        "How long the secret before remains valid: hours (h), days (d) or weeks (w). 0h ends it "
        "at once. One before that ends at once in any case.",
        "1d",
    ),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Give a key a new secret and print it. It is shown only once and not stored.

    Programs can use the previous secret until the end of `--keep`.
    """
    from equipoise.analysis.clock import now as clock
    from equipoise.errors import require
    from equipoise.messages.access import RotationRequest
    from equipoise.pools.pool.access import rotate_key

    span = _span(keep)
    require(span is not None, "--keep", "a time such as 12h, 7d or 2w", keep)
    with opened(database) as store:
        made = rotate_key(store, key, RotationRequest((span or 0) // 1_000_000), clock())
    if as_json:
        print_json(made)
        return
    print_lines(made.secret)
    until = made.key.previous_until
    before = "is no longer valid" if until is None else f"is valid until {_minutes(until)}"
    say(
        f"Key {made.key.key} ({made.key.name}) has a new secret, which is not shown again. The "
        f"secret before {before}."
    )


def revoke(
    *,
    key: int = argument("Number of the key.", "KEY", min=1),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Revoke a key permanently. A running service refuses it within a second."""
    from equipoise.analysis.clock import now as clock
    from equipoise.pools.pool.access import end_key

    with opened(database) as store:
        ended = end_key(store, key, clock())
    if as_json:
        print_json(ended)
    else:
        say(f"Revoked key {ended.key} ({ended.name}).")


def _expiry(text: str | None, now: int) -> int | str | None:
    """Return the value of `--expires` as keys take it; a span counts from now."""
    if text is None:
        return None
    span = _span(text)
    return text if span is None else (now + span) // 1_000_000


def _span(text: str) -> int | None:
    """Return a span such as 12h, 7d or 2w in microseconds, None for other text."""
    count, unit = text[:-1], text[-1:]
    if unit in _UNITS and count.isascii() and count.isdecimal() and len(count) < 6:
        return int(count) * _UNITS[unit]
    return None


def _state(key: KeyMessage, now: int) -> str:
    from equipoise.pools.pool.rules import moment

    if key.revoked is not None:
        return "revoked"
    if key.expires is None:
        return "valid"
    ended = moment(key.expires) <= now
    return "expired" if ended else f"until {_minutes(key.expires)}"


def _minutes(time: str | None) -> str:
    """Return a time to the minute."""
    return "" if time is None else time[:16].replace("T", " ")


add_command(application, "create", create, CREATE_EXAMPLE)
add_command(application, "list", list_, LIST_EXAMPLE)
add_command(application, "rotate", rotate, ROTATE_EXAMPLE)
add_command(application, "revoke", revoke, REVOKE_EXAMPLE)
