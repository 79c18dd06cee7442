"""What every page needs: who asks, the pool, the form, the answer.

`PageContext` is one request; `PageState` is what all requests share, among it two caches of slow
answers.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import math
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar, get_args
from urllib.parse import parse_qsl, urlsplit

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import FormParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from equipoise.errors import EquipoiseError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.matches import HighlightsMessage, OverviewMessage, RecordsMessage
from equipoise.messages.pools import PoolMessage
from equipoise.messages.upkeep import Role
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.profiles import names_of
from equipoise.pools.reading import players
from equipoise.pools.reading.overview import highlights, overview
from equipoise.pools.reading.summaries import CHANGE_DAYS
from equipoise.store.connection import Store
from equipoise.web.http.access import SESSION_COOKIE, has_role, is_key_of, may_read, rules_all_pools
from equipoise.web.http.endpoints import (
    ApiRequest,
    PoolUseCase,
    converted,
    matches_tag,
    receive_body,
    tag_of,
    whole_number,
)
from equipoise.web.http.errors import (
    ForbiddenError,
    MediaTypeError,
    TooLargeError,
    UnauthorisedError,
    http_status,
)
from equipoise.web.page.rendering import (
    HEADERS,
    REVALIDATED,
    digits_of,
    path,
    rendered,
)
from equipoise.web.settings import ServiceSettings
from equipoise.wording import counted

#: Maximum number of fields of a form, and of problems that a page lists.
MOST_FIELDS, MOST_PROBLEMS = 5_000, 50
#: Maximum length of a Content-Type that is read, and of the boundary in it.
_LONGEST_HEADER, _LONGEST_BOUNDARY = 1_000, 200

Choice = TypeVar("Choice", bound=str)
S = TypeVar("S", bound=msgspec.Struct)


def wrong(field: str, rule: str, got: str) -> InvalidDataError:
    """Return the error for one field of a form."""
    return InvalidDataError([Problem("", None, field, rule, got)])


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form by name, in the order in which they were sent.

    files : the name and the content of each file
    """

    fields: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    @classmethod
    def of(cls, **texts: str) -> Form:
        """Return a form with these fields."""
        return cls({name: [text] for name, text in texts.items()})

    def text(self, name: str, otherwise: str = "") -> str:
        """Return a field without blanks at its ends."""
        return self.fields.get(name, [otherwise])[0].strip()

    def __getitem__(self, name: str) -> str:
        """Return a field as `text` does; templates write `typed.name`."""
        return self.text(name)

    def texts(self, name: str) -> list[str]:
        """Return all fields of that name."""
        return [text.strip() for text in self.fields.get(name, [])]

    def choice(self, name: str, choices: Sequence[Choice], otherwise: str = "") -> Choice:
        """Return a field that must be one of some texts. Raises : InvalidDataError."""
        text = self.text(name, otherwise)
        for choice in choices:
            if choice == text:
                return choice
        raise wrong(name, f"must be one of {', '.join(choices)}", text[:50])

    def number(self, name: str, low: float, high: float) -> float | None:
        """Return a field as a number, None for an empty one. Raises : InvalidDataError."""
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise wrong(name, f"must be a number from {low:g} to {high:g}", text[:50])
        return value

    def whole(self, name: str) -> int:
        """Return a field as a whole number. Raises : InvalidDataError."""
        text = self.text(name)
        number = whole_number(text, 9)
        if number is None:
            raise wrong(name, "must be a number", text[:50])
        return number

    def time(self, name: str) -> int | str | None:
        """Return a field as a time: seconds since 1970, or text in ISO 8601; None if empty."""
        text = self.text(name)
        number = whole_number(text, 15)
        return (text or None) if number is None else number

    def flag(self, name: str) -> bool:
        """Return whether a checkbox is ticked."""
        return bool(self.text(name))

    def body(self, shape: type[S], **fixed: Any) -> S:
        """Return the form as the body of the same request to the API.

        A field that is left empty has its default, or is null where it may be. A checkbox that is
        not ticked is false.

        fixed : values of fields that the form has otherwise; UNSET for the default
        Raises : InvalidDataError
        """
        values: dict[str, Any] = {}
        for struct_field in msgspec.structs.fields(shape):
            name, kinds = (
                struct_field.encode_name,
                get_args(struct_field.type) or (struct_field.type,),
            )
            if bool in kinds:
                values[name] = self.flag(name)
            elif name in self.fields:
                text = self.text(name)
                if text or type(None) in kinds or str in kinds:
                    values[name] = None if not text and type(None) in kinds else text
        values |= fixed
        sent = {name: value for name, value in values.items() if value is not msgspec.UNSET}
        return converted(shape, sent, "form")


@dataclass(frozen=True, slots=True)
class FormLimits:
    """What a form may have: bytes of its body, fields and files together, and files."""

    body_bytes: int
    fields: int
    files: int = 0


_MULTIPART, _ENCODED = "multipart/form-data", "application/x-www-form-urlencoded"

#: The form with which anybody signs in.
SIGN_IN = FormLimits(12_000, 10)
#: A form of fields, encoded or in parts. The largest that our pages send is a lobby of 300 players.
FORM = FormLimits(768_000, MOST_FIELDS)
#: Bytes beside an uploaded file: fields, and the heads of parts.
_BESIDE = 8_000


def upload_limits(settings: ServiceSettings) -> FormLimits:
    """Return the limits of a form with a file, or with a document in a field instead of one."""
    return FormLimits(settings.body_bytes + _BESIDE, 100, files=1)


def match_limits(settings: ServiceSettings) -> FormLimits:
    """Return the limits of a form with a match as JSON and the places of its teams."""
    return FormLimits(settings.body_bytes + FORM.body_bytes, MOST_FIELDS)


async def read_form(request: ApiRequest, limits: FormLimits) -> Form:
    """Return a posted form.

    Raises : MediaTypeError     it is no form
    Raises : TooLargeError      it exceeds a limit
    Raises : InvalidDataError   it cannot be read
    """
    header = (request.header(b"content-type") or "")[:_LONGEST_HEADER]
    kind = header.partition(";")[0].strip().lower() or _ENCODED
    if kind not in (_MULTIPART, _ENCODED):
        raise MediaTypeError(f"the form must be {_ENCODED} or {_MULTIPART}; got {kind[:100]}")
    most = limits.body_bytes
    if kind == _ENCODED:  # files and documents come in parts
        most = min(most, FORM.body_bytes)
    body = await receive_body(request, most, f"the form must have at most {most:,} bytes")
    # Reading a large form would block the event loop.
    return await run_in_threadpool(parsed, header, body, limits)


def parsed(header: str, body: bytes, limits: FormLimits) -> Form:
    """Return the form in a body.

    header : the Content-Type of the body
    Raises : TooLargeError, InvalidDataError
    """
    kind, options = parse_options_header(header)
    form = Form()
    try:
        if kind == _MULTIPART.encode():
            _read_parts(form, options.get(b"boundary", b""), body, limits)
        else:
            _check_fields(body.count(b"&") + 1, limits)
            for name, value in parse_qsl(body.decode(), keep_blank_values=True, errors="strict"):
                form.fields.setdefault(name, []).append(value)
    except (FormParserError, ValueError) as error:
        raise _bad("must be well-formed and in UTF-8", str(error)) from None
    return form


def _check_fields(fields: int, limits: FormLimits) -> None:
    """Raise a TooLargeError if there may be more fields and files than the form may have."""
    if fields > limits.fields:
        raise TooLargeError(f"the form must have at most {limits.fields:,} fields")


def _read_parts(form: Form, boundary: bytes, body: bytes, limits: FormLimits) -> None:
    """Add the parts of a body to a form. Raises : FormParserError, ValueError, TooLargeError."""
    if not 1 <= len(boundary) <= _LONGEST_BOUNDARY:
        raise ValueError(f"a boundary must have 1 to {_LONGEST_BOUNDARY} characters")
    # No content may have the boundary at the beginning of a line. The parser would look at each
    # of millions.
    _check_fields(body.count(b"\r\n--" + boundary), limits)
    ended: list[bool] = []

    def add_field(part: Any) -> None:
        name = (part.field_name or b"").decode()
        form.fields.setdefault(name, []).append((part.value or b"").decode())

    def add_file(part: Any) -> None:
        if len(form.files) >= limits.files:
            files = counted(limits.files, "file", "files")
            raise TooLargeError(f"the form must have at most {files}")
        part.file_object.seek(0)
        name = (part.file_name or b"").decode("utf-8", "replace")
        form.files[(part.field_name or b"").decode()] = name, part.file_object.read()

    parser = FormParser(
        _MULTIPART,
        add_field,
        add_file,
        lambda: ended.append(True),
        boundary,
        config={"MAX_MEMORY_FILE_SIZE": math.inf},
    )
    parser.write(body)
    if not ended:
        raise ValueError("the last boundary is missing")


def _bad(rule: str, got: str) -> InvalidDataError:
    return InvalidDataError([Problem("", None, "form", rule, got[:200])], "the form cannot be read")


def packed(content: bytes) -> str:
    """Return a file as text for a hidden field: a form without scripts forgets its file."""
    return base64.b64encode(zlib.compress(content)).decode()


def upload_of(form: Form, pasted: str, most: int) -> tuple[bytes, str]:
    """Return the content of a form and the name of its file: chosen, pasted or packed before.

    pasted : name of the field for text; most : bytes of a packed file
    Raises : InvalidDataError
    """
    name, content = form.files.get("file", ("", b""))
    text = form.fields.get(pasted, [""])[0]
    if content:
        return content, name
    if text.strip() or not form.text("held"):
        return text.encode("utf-8", "replace"), ""
    try:
        data = base64.b64decode(form.text("held"), validate=True)
        return zlib.decompressobj().decompress(data, most), form.text("name")[:200]
    except (ValueError, zlib.error):
        raise wrong("file", "must be chosen again", "a damaged copy of it") from None


def problems_of(error: EquipoiseError) -> list[str]:
    """Return what is wrong as sentences."""
    if isinstance(error, InvalidDataError) and error.problems:
        return [
            str(problem).removeprefix("input").removeprefix(", ").removeprefix(": ")
            for problem in error.problems[:MOST_PROBLEMS]
        ]
    return [str(error)]


def digest(*what: object) -> str:
    """Return a hash of a request.

    The button of a preview sends it back, so that only what the preview showed is carried out.
    """
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()


#: The form of a page that nothing was sent to.
EMPTY = Form()
#: Headings of error pages.
_TITLES = {
    401: "Sign-in required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict",
    413: "Too large",
    422: "Invalid input",
    429: "Too many requests",
    503: "Service unavailable",
    504: "Timed out",
}
THEME_COOKIE = "equipoise-theme"
#: Maximum length of the path to go to after signing in, bytes.
LONGEST_TARGET = 2_000
#: Players on the page of a pool.
BEST = 10
#: Players' pages in the cache; one may hold thousands of matches.
_PLAYER_PAGES = 50
#: Seconds for which an overview is shown although matches were posted since; pools in the cache.
_FRESH, _POOLS = 10.0, 100

P = ParamSpec("P")
T = TypeVar("T")


class TaskCache(Generic[T]):
    """Tasks by key. A request waits for the task of its key, if that is running."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: OrderedDict[Hashable, asyncio.Task[T]] = OrderedDict()

    async def get(
        self, key: Hashable, make: Callable[[], Coroutine[Any, Any, T]], seconds: float
    ) -> T | None:
        """Return the answer, or None if it takes longer than `seconds`.

        key : everything that the answer depends on
        Raises : what `make` raises; the next call tries again
        """
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.create_task(make())
            task.add_done_callback(lambda done: self._ended(key, done))
            self._tasks[key] = task
            while len(self._tasks) > self._most:
                self._tasks.popitem(last=False)
        await asyncio.wait({task}, timeout=seconds)
        return task.result() if task.done() else None

    def _ended(self, key: Hashable, task: asyncio.Task[T]) -> None:
        """Forget a task that failed, so that the next call tries again."""
        failed = task.cancelled() or task.exception() is not None
        if failed and self._tasks.get(key) is task:
            del self._tasks[key]


@dataclass(frozen=True, slots=True)
class Home:
    """What takes long to make of a pool's page.

    ranked : number of active, settled players
    year, years : ratings of the players on the board, in one year and in three
    """

    overview: OverviewMessage
    ranked: int
    year: dict[str, list[float]]
    years: dict[str, list[float]]
    highlights: HighlightsMessage

    @classmethod
    def of(cls, store: Store, pool: str) -> Home:
        """Return it as of now."""
        board = players.leaderboard(store, pool, limit=BEST, inactive=False)
        names = [row.player for row in board.players]
        return cls(
            overview(store, pool),
            players.ranked_players(store, pool)[1],
            players.recent_ratings(store, pool, names, CHANGE_DAYS),
            players.recent_ratings(store, pool, names, 3 * CHANGE_DAYS),
            highlights(store, pool),
        )


class OverviewCache:
    """The last overview of each pool. It takes long to make and changes slowly."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._made: OrderedDict[str, tuple[float, object, Home]] = OrderedDict()
        self._making: set[str] = set()

    def get(self, store: Store, pool: str) -> Home:
        """Return the overview of a pool.

        A cached one is not used after a replay, nor for a new pool with the same name. While one
        thread makes a new one, the others get the one before.
        """
        message = pool_message(store, pool)
        version = (message.created, message.generation)
        with self._lock:
            cached = self._made.get(pool)
            at = self._clock()
            current = cached is not None and cached[1] == version
            if cached is not None and current and (at - cached[0] < _FRESH or pool in self._making):
                return cached[2]
            self._making.add(pool)
        try:
            home = Home.of(store, pool)
        finally:
            with self._lock:
                self._making.discard(pool)
        with self._lock:
            self._made[pool] = (at, version, home)
            self._made.move_to_end(pool)
            while len(self._made) > _POOLS:
                self._made.popitem(last=False)
        return home


@dataclass(frozen=True, slots=True)
class PageState:
    """What all requests to pages share."""

    overviews: OverviewCache = field(default_factory=OverviewCache)
    player_pages: TaskCache[Any] = field(default_factory=lambda: TaskCache(_PLAYER_PAGES))
    records: TaskCache[RecordsMessage] = field(default_factory=lambda: TaskCache(_POOLS))


#: The part of a path that is the id of a player.
_PLAYER = "{player:path}"


class PageContext(ApiRequest):
    """One request to a page.

    state : what all requests share; request : the request with its cookies and address
    """

    def __init__(self, state: PageState, *parts: Any) -> None:
        super().__init__(*parts)
        self.state = state
        self.request = Request(self.scope, self.receive)
        self._form: Form | None = None

    async def read(self, use_case: PoolUseCase[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a use case reads from the pool of this page, in one transaction.

        The rest of the page then shows the pool as it was in that transaction.
        """

        def in_one_transaction(store: Store, pool: str) -> T:
            with store.moment() as moment:
                # If the use case fails, the error page still links to the pool.
                self.known_pool = pool_message(moment, pool)
                return use_case(moment, pool, *args, **kwargs)

        return await super().read(in_one_transaction)

    async def snapshot(self, read: Callable[[Store, PoolMessage], T]) -> T:
        """Return what a function reads, as `read` does; the function gets the pool itself."""
        return await self.read(lambda moment, _: read(moment, self.pool))

    @property
    def pool(self) -> PoolMessage:
        """Return the pool of this page, as last read, or else at most `key_seconds` old."""
        assert self.known_pool is not None
        return self.known_pool

    async def answer(self) -> Response:
        """Return the page, once its request was admitted."""
        try:
            answer: Response = await self.endpoint.handler(self)
        except NotFoundError:
            moved = await self.with_present_ids()
            if moved is None:
                raise
            answer = moved
        self.delete_ended_session(answer)
        return answer

    async def with_present_ids(self) -> Response | None:
        """Return a redirect to this page with the present ids of players; None if it has them.

        The redirect is temporary, because a player may be renamed back.
        """
        query, parts = dict(self.request.query_params), self.endpoint.parts
        if _PLAYER in parts:
            query["player"] = self.id_of("player")
            query.pop("id", None)
        players = [query[name] for name in ("player", "first", "second") if name in query]
        renames = await self.present_ids(players) if players else {}
        if not renames:
            return None
        query = {name: renames.get(text, text) for name, text in query.items()}
        filled = {"{pool}": self.pool_name}
        if _PLAYER in parts:
            filled[_PLAYER] = query.pop("player")
        return self.redirect(path(*(filled.get(part, part) for part in parts), **query))

    def refuse(self, error: EquipoiseError) -> Response:
        """Return the page for an error, or a redirect to the sign-in page."""
        if isinstance(error, UnauthorisedError):
            url = self.request.url
            query = f"?{url.query}" if url.query and self.request.method == "GET" else ""
            answer = self.redirect(path("sign-in", next=url.path + query))
            self.delete_ended_session(answer)
            return answer
        status = http_status(error)
        title = _TITLES.get(status, "Request failed" if status < 500 else "Server error")
        answer = self.render("error.html", error, title=title)
        seconds = getattr(error, "seconds", None)
        if seconds is not None:
            answer.headers["Retry-After"] = str(math.ceil(seconds))
        return answer

    def may(self, role: Role, pool: PoolMessage) -> bool:
        """Return whether the sender has a role in a pool."""
        return has_role(self.key, role) and is_key_of(self.key, pool.pool, pool.archive_of)

    def may_read(self, pool: PoolMessage) -> bool:
        """Return whether the sender may read a pool."""
        return may_read(self.key, pool)

    async def form(self, limits: FormLimits = FORM) -> Form:
        """Return the posted form.

        Raises : ForbiddenError if it is not from one of our pages, and what `read_form` raises
        """
        if self._form is None:
            _check_origin(self.request)
            form = await read_form(self, limits)
            if self.key is not None:
                token = form.text("token").encode()
                if not hmac.compare_digest(token, self.token().encode()):
                    raise ForbiddenError("the form is from another session: reload the page")
            self._form = form
        return self._form

    def token(self) -> str:
        """Return the token that proves that a form is from one of our pages; "" without a key."""
        secret = self.request.cookies.get(SESSION_COOKIE, "")
        if self.key is None:
            return ""
        return hmac.new(secret.encode(), b"equipoise form", hashlib.sha256).hexdigest()

    def id_of(self, name: str) -> str:
        """Return an id from the path, or from the query if it cannot be part of a path."""
        text = self.path.get(name) or self.request.query_params.get("id", "")
        if not text:
            raise NotFoundError(f"the id of the {name} is missing")
        return text

    def parameter(self, name: str, otherwise: str = "") -> str:
        """Return a parameter of the query without blanks at its ends."""
        return self.request.query_params.get(name, otherwise).strip()

    def render(
        self, template: str, error: EquipoiseError | None = None, **context: Any
    ) -> Response:
        """Return a page from a template; an error gives its status and its problems."""
        known = self.known_pool
        pool = None if known is None else self.service.kernels.known_of(known)
        theme = self.request.cookies.get(THEME_COOKIE, "")
        here = self.request.url.path
        query = self.request.url.query
        answer: Response = rendered(
            template,
            200 if error is None else http_status(error),
            {
                "key": self.key,
                "is_admin": has_role(self.key, "admin"),
                "rules_all_pools": rules_all_pools(self.key),
                "token": self.token(),
                "theme": theme if theme in ("light", "dark") else "",
                "here": here,
                "back": f"{here}?{query}" if query and self.request.method == "GET" else here,
                "pool": pool,
                "digits": 0 if pool is None else digits_of(pool),
                "may_post": pool is not None and pool.closed is None and self.may("writer", pool),
                "may_amend": pool is not None and pool.closed is None and self.may("admin", pool),
                "problems": [] if error is None else problems_of(error),
                # What the pages with a preview show only after it.
                "preview": None,
                "seen": "",
                **context,
            },
            self._names,
        )
        return answer if error is not None else self._with_tag(answer)

    def file(self, content: bytes, media: str) -> Response:
        """Return something else than a page, which may be kept as a page may."""
        return self._with_tag(Response(content, headers=dict(HEADERS), media_type=media))

    def _with_tag(self, answer: Response) -> Response:
        """Return a page with its tag, or 304; without a tag for a sender with a key."""
        if self.key is not None or self.request.method != "GET":
            return answer
        # Browsers take the headers of a 304 for the page that they kept.
        tag = tag_of(bytes(answer.body))
        kept = {**HEADERS, **REVALIDATED, "ETag": tag}
        answer.headers.update(kept)
        if matches_tag(self.request.headers.get("if-none-match"), tag):
            return Response(status_code=304, headers=kept)
        return answer

    def _names(self, pool: str, players: list[str]) -> dict[str, str]:
        """Return the names of players who have one, by id; pool : "" for that of this page."""
        own = self.known_pool
        if own is not None and pool in ("", own.pool):
            return names_of(self.service.store, own.pool, players) if own.profiles else {}
        return names_of(self.service.store, pool, players) if pool else {}

    async def render_large(
        self, template: str, error: EquipoiseError | None = None, **context: Any
    ) -> Response:
        """Return a page as `render` does. It may be large, so another thread makes it."""
        return await asyncio.to_thread(self.render, template, error, **context)

    def data(self, content: Any) -> Response:
        """Return JSON for a script of a page."""
        return JSONResponse(content, headers=dict(HEADERS))

    def delete_ended_session(self, answer: Response) -> None:
        """Delete the cookie of a session that has ended."""
        if self.key is None and SESSION_COOKIE in self.request.cookies:
            self.delete_session_cookie(answer)

    def delete_session_cookie(self, answer: Response) -> None:
        """Delete the cookie of the session, unless the answer sets a new one."""
        set_now = f"{SESSION_COOKIE}=".encode()
        if not any(value.startswith(set_now) for _, value in answer.raw_headers):
            answer.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")

    def redirect(self, to: str) -> Response:
        """Return a redirect to another of our pages."""
        return RedirectResponse(to, 303, headers=dict(HEADERS))


def _check_origin(request: Request) -> None:
    """Refuse a form that is not from one of our pages. Raises : ForbiddenError."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        if site in ("same-origin", "none"):
            return
        raise ForbiddenError("the form was sent from another site")
    source = request.headers.get("origin") or request.headers.get("referer", "")
    try:
        own = bool(source) and urlsplit(source).netloc == request.headers.get("host")
    except ValueError:  # no address: "http://["
        own = False
    if not own:
        raise ForbiddenError("the form was sent from another site")


def safe_target(text: str) -> str:
    """Return the text if it is a path of this site, else "/".

    A path that would not fit into the form with which one signs in is "/" as well.
    """
    good = text.startswith("/") and not text.startswith("//") and "\\" not in text
    short = len(text.encode("utf-8", "replace")) <= LONGEST_TARGET
    return text if good and short and text.isprintable() else "/"
