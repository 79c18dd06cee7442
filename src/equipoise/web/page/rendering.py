"""Templates of the pages, and the words in them.

Templates escape everything. The headers forbid scripts and styles from anywhere but this site.
Static files are served from memory under a path that changes with their content.
"""

from __future__ import annotations

import functools
import hashlib
import html
import math
import re
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from equipoise.display import HALF_WIDTH
from equipoise.messages.pools import PoolMessage
from equipoise.web.http.endpoints import ApiRequest

_THIN = "\N{NARROW NO-BREAK SPACE}"
_MINUS, _NONE = "\N{MINUS SIGN}", "\N{EN DASH}"
#: Initial ratings from this on are shown in whole points, lower ones in hundredths.
_COARSE = 100.0


def digits_of(pool: PoolMessage) -> int:
    """Return the decimals of a pool's ratings: none on a scale such as 1500 +- 350, else two."""
    start = pool.parameters.get("initial_rating", 1500.0)
    return 0 if isinstance(start, int | float) and abs(start) >= _COARSE else 2


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with this many decimals and with thousands separators; a dash for None."""
    if value is None or math.isnan(value):
        return _NONE
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else f"{_MINUS}\N{INFINITY}"
    text = f"{value:,.{digits}f}".replace("-", _MINUS)
    return text.lstrip(_MINUS) if not text.strip(f"{_MINUS}0.,") else text


def half_width(deviation: float) -> float:
    """Return how far the 95 % range extends on either side of a rating."""
    return HALF_WIDTH * deviation


def signed(value: float | None, digits: int = 1) -> str:
    """Return a change with its sign."""
    if value is None or math.isnan(value):
        return _NONE
    text = number(value, digits)
    return f"+{text}" if value > 0 and text.strip("0.,") else text


def percent(share: float | None, digits: int = 0) -> str:
    """Return a share from 0 to 1 in percent; only 0 and 1 become 0 % and 100 %."""
    if share is None or math.isnan(share):
        return _NONE
    text = number(100 * share, digits)
    least = 10.0**-digits
    if share > 0 and float(text) == 0:
        return f"< {least:g}{_THIN}%"
    if share < 1 and float(text) == 100:
        return f"> {100 - least:g}{_THIN}%"
    return f"{text}{_THIN}%"


def halves(value: float) -> str:
    """Return points, with a half as a fraction."""
    whole, part = divmod(value, 1.0)
    if part != 0.5:
        return f"{value:g}"
    return f"{whole:.0f}\N{VULGAR FRACTION ONE HALF}" if whole else "\N{VULGAR FRACTION ONE HALF}"


def plural(count: int, singular: str, many: str = "") -> str:
    """Return a count with its noun."""
    return f"{count:,} {singular if count == 1 else many or singular + 's'}"


def units(pool: PoolMessage) -> str:
    """Return what the matches of a pool are called: "matches", "contests", "parties"."""
    unit = pool.unit
    if unit.endswith(("s", "x", "z", "ch", "sh")):
        return f"{unit}es"
    if unit.endswith("y") and unit[-2:-1] not in tuple("aeiou"):
        return f"{unit[:-1]}ies"
    return f"{unit}s"


def in_units(count: int, pool: PoolMessage) -> str:
    """Return a number of matches with what they are called in the pool."""
    return plural(count, pool.unit, units(pool))


def in_days(days: float) -> str:
    """Return a number of days, which may be a part of one."""
    return f"{days:g} {'day' if days == 1 else 'days'}"


def an(noun: str) -> str:
    """Return a noun with its indefinite article."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def said_in(text: str, pool: PoolMessage) -> str:
    """Return a sentence with what the matches of a pool are called."""
    text = re.sub(r"\bmatches\b", lambda _: units(pool), text)
    return re.sub(r"\bmatch\b", lambda _: pool.unit, text)


def headline(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def ordinal(place: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, ..."""
    if place % 100 in (11, 12, 13):
        return f"{place}th"
    return f"{place}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(place % 10, 'th') }"


def direction(value: float | None) -> str:
    """Return the CSS class of a change: gain, loss or same."""
    if value is None or not value:
        return "same"
    return "gain" if value > 0 else "loss"


def seconds_of(time: int | str | None) -> float | None:
    """Return a time of a pool in seconds since 1970, None for None."""
    if time is None or isinstance(time, int):
        return time
    at = datetime.fromisoformat(time)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def minute(time: int | str | None) -> Markup | str:
    """Return a time as an element, to the minute in UTC; midnight as a day."""
    seconds = seconds_of(time)
    if seconds is None:
        return _NONE
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return str(time)
    text = f"{moment:%Y-%m-%d}" if seconds % 86_400 == 0 else f"{moment:%Y-%m-%d %H:%M}"
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), text)


def day(time: int | str | None) -> Markup | str:
    """Return the day of a time as an element."""
    seconds = seconds_of(time)
    if seconds is None:
        return _NONE
    shown = minute(int(seconds // 86_400 * 86_400))
    return shown if isinstance(shown, Markup) else str(time)


def date(seconds: int) -> str:
    """Return the day of a time in UTC as text, which is shorter than the element of `day`."""
    return f"{utc(seconds):%Y-%m-%d}"


def year(time: int | str | None) -> str:
    """Return the year of a time in UTC."""
    seconds = seconds_of(time)
    return _NONE if seconds is None else f"{utc(seconds):%Y}"


def points(value: float) -> str:
    """Return a score as it is commonly written: 3, 2.5."""
    return f"{value:g}".replace("-", _MINUS)


def hue(name: str) -> int:
    """Return the angle of the colour of a name, 0 to 359 degrees; always the same."""
    return zlib.crc32(name.encode("utf-8", "replace")) % 360


#: What `named` writes around a pool and an id, and what `face_letters` writes; no id has such
#: characters.
_POOL, _NAME, _LETTERS, _END = "\x01", "\x02", "\x03", "\x04"
_WRITTEN = re.compile(f"([{_NAME}{_LETTERS}])([^{_POOL}]*){_POOL}([^{_END}]*){_END}")

#: Returns the names of players who have one, by id; without a pool, those of the pool of the page.
Names: TypeAlias = Callable[[str, list[str]], Mapping[str, str]]


def named(player: object, pool: str = "") -> Markup:
    """Return a mark in place of which `rendered` writes the name of a player, or else the id.

    pool : of the player, if it is not the pool of the page
    """
    return Markup(f"{_NAME}{{}}{_POOL}{{}}{_END}").format(pool, player)


def face_letters(player: object) -> Markup:
    """Return a mark in place of which `rendered` writes the initials of a player's name."""
    return Markup(f"{_LETTERS}{_POOL}{{}}{_END}").format(player)


def with_names(text: str, names: Names) -> str:
    """Return a page in which the marks of `named` and `face_letters` are written out."""
    ids: dict[str, set[str]] = {}
    for match in _WRITTEN.finditer(text):
        ids.setdefault(match[2], set()).add(html.unescape(match[3]))
    known = {pool: names(pool, sorted(players)) for pool, players in ids.items()}

    def write(match: re.Match[str]) -> str:
        player = html.unescape(match[3])
        name = known[match[2]].get(player, player)
        return str(escape(initials(name) if match[1] == _LETTERS else name))

    return _WRITTEN.sub(write, text)


def initials(name: str) -> str:
    """Return one or two letters for a name."""
    words = [word for word in re.split(r"[\W_]+", name) if word]
    if not words:
        return "?"
    letters = words[0][0] + words[1][0] if len(words) > 1 else words[0][:2]
    return letters.upper()[:2]


def path(*segments: object, **query: object) -> str:
    """Return a path of segments, and a query without its None values.

    The last segment may contain any character. Browsers resolve "." and ".." even if they are
    encoded, so an id with such a part goes into the query.
    """
    last = str(segments[-1])
    if len(segments) > 1 and any(part in ("", ".", "..") for part in last.split("/")):
        segments = (*segments[:-1], "")
        query = {"id": last, **query}
    parameters = {name: value for name, value in query.items() if value is not None}
    text = "/" + "/".join(
        quote(str(segment), safe="/" if segment is last else "") for segment in segments
    )
    return f"{text}?{urlencode(parameters)}" if parameters else text


def page_at(cursor: str | None, *segments: object, **query: object) -> str | None:
    """Return the path of another page of a list, None without its cursor."""
    return None if cursor is None else path(*segments, cursor=cursor, **query)


def utc(seconds: float) -> datetime:
    """Return seconds since 1970 as a datetime."""
    return datetime.fromtimestamp(seconds, UTC)


_KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@functools.cache
def _files() -> dict[str, bytes]:
    folder = files("equipoise.web.page").joinpath("static")
    return {
        file.name: file.read_bytes()
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.rpartition(".")[2] in _KINDS
    }


@functools.cache
def static_version() -> str:
    """Return a hash of all files. They import one another, so they share a version.

    It covers the templates too, so that it is the version of whole pages.
    """
    digest = hashlib.sha256(version("equipoise").encode())
    folder = files("equipoise.web.page").joinpath("templates")
    for template in sorted(folder.iterdir(), key=lambda file: file.name):
        digest.update(template.read_bytes())
    for name, content in _files().items():
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:12]


def static_path(name: str) -> str:
    """Return the path of a static file. Raises : KeyError if there is none."""
    _files()[name]
    return f"/static/{static_version()}/{name}"


async def static_file(request: ApiRequest) -> Response:
    """Return a static file, which browsers may cache for ever under the path of its version."""
    name = request.path["name"]
    content = _files().get(name)
    if content is None:
        return PlainTextResponse("not found", 404)
    lasting = request.path["version"] == static_version()
    return Response(
        content,
        media_type=_KINDS[name.rpartition(".")[2]],
        headers={
            "Cache-Control": "public, max-age=31536000, immutable" if lasting else "no-cache",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        },
    )


#: Nothing is loaded from other sites, no inline script runs, no site may frame the page.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With "no-referrer" forms would have the origin "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}


#: Headers of pages for everybody: kept, but used only if the server says that nothing changed.
REVALIDATED = {"Cache-Control": "no-cache", "Vary": "Cookie"}


@functools.cache
def environment() -> Environment:
    """Return the templates with their filters."""
    templates = Environment(
        loader=PackageLoader("equipoise.web.page"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    filters: list[Callable[..., Any]] = [number, half_width, signed, percent, ordinal, direction]
    filters += [minute, day, date, year, points, hue, initials, headline, digits_of]
    functions: tuple[Callable[..., Any], ...] = (path, plural, units, in_units, in_days, an)
    functions += (said_in, named, face_letters)
    templates.filters |= {function.__name__: function for function in filters}
    templates.globals |= {function.__name__: function for function in functions} | {
        "static": static_path
    }
    return templates


def rendered(
    template: str,
    status: int,
    context: dict[str, Any],
    names: Names = lambda pool, players: {},
) -> HTMLResponse:
    """Return a page from a template."""
    text = with_names(environment().get_template(template).render(context), names)
    # A lone half of a surrogate pair cannot be written as UTF-8.
    return HTMLResponse(
        text.encode("utf-8", "replace").decode("utf-8"), status, headers=dict(HEADERS)
    )
