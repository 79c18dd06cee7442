"""One request to the page: who asks, what that person may see, and the answer."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.messages.keys import Role
from equipoise.messages.pools import PoolMessage
from equipoise.web.errors import ForbiddenError, TooManyRequestsError, UnauthorisedError
from equipoise.web.page.backend import Backend, KeyHolder
from equipoise.web.page.forms import Form, read_form
from equipoise.web.page.rendering import HEADERS, rendered
from equipoise.web.page.settings import PageSettings, Run, bound, state_of
from equipoise.web.page.wording import digits_of

KEY_COOKIE, THEME_COOKIE = "equipoise-key", "equipoise-theme"
#: A key that is longer is none of ours.
LONGEST_SECRET = 512

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class Visit:
    """A request, and who made it."""

    def __init__(self, request: Request, settings: PageSettings, holder: KeyHolder | None) -> None:
        self.request, self.settings, self.holder = request, settings, holder
        self._pool: PoolMessage | None = None
        self._form: Form | None = None

    @property
    def backend(self) -> Backend:
        """The service."""
        return self.settings.backend

    async def ask(
        self,
        call: Callable[Concatenate[str, _Given], _Answer],
        *given: _Given.args,
        **named: _Given.kwargs,
    ) -> _Answer:
        """Return what the service says of the pool of this page."""
        pool = await self.pool()
        answer: _Answer = await self.settings.read(bound(call, pool.pool, *given, **named))
        return answer

    async def tell(
        self,
        call: Callable[Concatenate[str, _Given], _Answer],
        *given: _Given.args,
        **named: _Given.kwargs,
    ) -> _Answer:
        """Return what the service answers to a change of the pool of this page."""
        pool = await self.pool()
        answer: _Answer = await self.settings.write(bound(call, pool.pool, *given, **named))
        return answer

    async def pool(self) -> PoolMessage:
        """Return the pool of this page, if whoever asks may read it.

        To others a private pool looks like one that does not exist.
        """
        if self._pool is None:
            found: PoolMessage = await self.settings.read(bound(self._readable, self.backend))
            self._pool = found
        return self._pool

    async def together(
        self, read: Callable[[Backend, PoolMessage], _Answer], run: Run | None = None
    ) -> _Answer:
        """Return what a function reads of the pool of this page, all of it of one moment.

        The page then shows the pool as it was at that moment, too.
        run : where it is done, None for where the page reads
        """

        def at_once(backend: Backend) -> _Answer:
            # Also a page that says what went wrong leads back to the pool.
            self._pool = self._readable(backend)
            return read(backend, self._pool)

        run = self.settings.read if run is None else run
        answer: _Answer = await run(bound(self.backend.together, at_once))
        return answer

    def show(self, pool: PoolMessage) -> None:
        """Show the pool of this page as it was when the rest of the page was read."""
        if not self.may_read(pool):
            raise self._refused()
        self._pool = pool

    def _readable(self, backend: Backend) -> PoolMessage:
        """Return the pool of this page, if whoever asks may read it."""
        name = self.request.path_params["pool"]
        try:
            found = backend.pool(name)
        except NotFoundError:
            if self.holder is not None and self.holder.may("reader", name):
                raise
            raise self._refused() from None
        if not self.may_read(found):
            raise self._refused()
        return found

    def may(self, role: Role, pool: PoolMessage) -> bool:
        """Return whether whoever asks may do what a role may in a pool."""
        return self.holder is not None and self.holder.may(role, pool.pool, pool.archive_of)

    def may_read(self, pool: PoolMessage) -> bool:
        """Return whether whoever asks may read a pool."""
        return pool.public or self.may("reader", pool)

    async def need(self, role: Role) -> PoolMessage:
        """Return the pool; refuse who has not that role in it."""
        if self.holder is None or not self.holder.has(role):
            raise self._refused()
        pool = await self.pool()
        if not self.may(role, pool):
            raise self._refused()
        return pool

    def need_all(self) -> KeyHolder:
        """Return who asks; refuse all but admins of all pools."""
        if self.holder is None or not self.holder.rules_all:
            raise self._refused()
        return self.holder

    def need_admin(self) -> KeyHolder:
        """Return who asks; refuse all but admins, of whatever pool."""
        if self.holder is None or not self.holder.has("admin"):
            raise self._refused()
        return self.holder

    def need_calculations(self) -> None:
        """Refuse who may not use what needs no pool: without a key, where that is asked for."""
        if self.holder is None and not self.settings.open_calculations:
            raise self._refused()

    def _refused(self) -> UnauthorisedError | ForbiddenError:
        if self.holder is None:
            return UnauthorisedError("this is not public: sign in with a key that may see it")
        return ForbiddenError(f"the key {self.holder.name} does not allow this")

    async def form(self) -> Form:
        """Return what was posted from a page of ours. Raises : ForbiddenError and others."""
        if self._form is None:
            check_origin(self.request)
            form = await read_form(self.request, self.settings.body_limit)
            if self.holder is not None:
                token = form.text("token").encode()
                if not hmac.compare_digest(token, self.token().encode()):
                    raise ForbiddenError("the form is of another session: load its page again")
            self._form = form
        return self._form

    def token(self) -> str:
        """Return what forms carry so that only our pages can post them; "" without a key."""
        secret = self.request.cookies.get(KEY_COOKIE, "")
        if self.holder is None:
            return ""
        return hmac.new(secret.encode(), b"equipoise form", hashlib.sha256).hexdigest()

    def id_of(self, name: str) -> str:
        """Return an id from the path, or from the query where it cannot stand in a path."""
        found = self.request.path_params.get(name) or self.request.query_params.get("id", "")
        if not found:
            raise NotFoundError(f"no {name} is named")
        return str(found)

    def query(self, name: str, otherwise: str = "") -> str:
        """Return a part of the query without blanks at its ends."""
        return self.request.query_params.get(name, otherwise).strip()

    def whole(self, name: str, otherwise: int, low: int, high: int) -> int:
        """Return a whole number of the query. Raises : InvalidParameterError."""
        text = self.query(name)
        if not text:
            return otherwise
        if not text.isascii() or not text.isdigit() or not low <= int(text[:9]) <= high:
            raise InvalidParameterError(f"{name} must be from {low} to {high}; got {text[:50]!r}")
        return int(text)

    def page(self, template: str, status: int = 200, **context: Any) -> Response:
        """Return a page."""
        pool = self._pool
        theme = self.request.cookies.get(THEME_COOKIE, "")
        here = self.request.url.path
        query = self.request.url.query
        return rendered(
            template,
            status,
            {
                "holder": self.holder,
                "token": self.token(),
                "theme": theme if theme in ("light", "dark") else "",
                "here": here,
                "back": f"{here}?{query}" if query and self.request.method == "GET" else here,
                "pool": pool,
                "digits": 0 if pool is None else digits_of(pool),
                "may_post": pool is not None and pool.closed is None and self.may("writer", pool),
                "may_amend": pool is not None and pool.closed is None and self.may("admin", pool),
                "problems": [],
                **context,
            },
        )

    def go(self, to: str) -> Response:
        """Return the way to another page of ours."""
        return RedirectResponse(to, 303, headers=dict(HEADERS))


async def arrive(request: Request) -> Visit:
    """Return the visit of a request; a key that is no longer good counts as none.

    Raises : TooManyRequestsError
    """
    state = state_of(request)
    secret = request.cookies.get(KEY_COOKIE, "")
    holder = None
    if 0 < len(secret) <= LONGEST_SECRET:
        find = state.settings.backend.key_holder
        holder = await state.settings.read(bound(find, secret))
    address = request.client.host if request.client else ""
    seconds = state.rates.take(address if holder is None else holder.key, time.monotonic())
    if seconds:
        raise TooManyRequestsError("this is more than the rate of requests allowed", seconds)
    return Visit(request, state.settings, holder)


def check_origin(request: Request) -> None:
    """Refuse a form that was not posted from a page of ours. Raises : ForbiddenError."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        if site in ("same-origin", "none"):
            return
        raise ForbiddenError("the form was sent from another site")
    source = request.headers.get("origin") or request.headers.get("referer", "")
    if not source or urlsplit(source).netloc != request.headers.get("host"):
        raise ForbiddenError("the form was sent from another site")


def safe_target(text: str) -> str:
    """Return a path of this site; "/" for everything else."""
    good = text.startswith("/") and not text.startswith("//") and "\\" not in text
    return text if good and text.isprintable() else "/"
