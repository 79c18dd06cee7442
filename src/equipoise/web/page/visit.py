"""A request to a page: who sends it, what that person may see, and how the answer is made."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.messages.access import Role
from equipoise.messages.pools import PoolMessage
from equipoise.pools.pool.pools import pool_message
from equipoise.store.connection import Store
from equipoise.store.keys import KeyRecord
from equipoise.web.http.access import has_role, is_key_of, may_read, rules_all_pools, valid_key
from equipoise.web.http.errors import ForbiddenError, UnauthorisedError
from equipoise.web.page.forms import Form, read_form
from equipoise.web.page.later import OverviewCache, TaskCache
from equipoise.web.page.rendering import HEADERS, rendered
from equipoise.web.page.wording import digits_of
from equipoise.web.service import Service

KEY_COOKIE, THEME_COOKIE = "equipoise-key", "equipoise-theme"
#: A longer text is no key.
LONGEST_SECRET = 512
#: Players' pages in the cache: one may hold thousands of matches.
_PLAYER_PAGES = 50

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageState:
    """What all pages of an application share; it is `app.state.page`."""

    service: Service
    overviews: OverviewCache = field(default_factory=OverviewCache)
    player_pages: TaskCache[Any] = field(default_factory=lambda: TaskCache(_PLAYER_PAGES))


class PageContext:
    """A request to a page, and the key of its sender."""

    def __init__(self, request: Request, key: KeyRecord | None) -> None:
        self.request, self.key = request, key
        self.state: PageState = request.app.state.page
        self.service: Service = self.state.service
        self._pool: PoolMessage | None = None
        self._form: Form | None = None

    @property
    def key_number(self) -> int | None:
        """Return the number of the key, None without one."""
        return None if self.key is None else self.key.id

    async def read(
        self,
        workflow: Callable[Concatenate[Store, str, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return what a workflow reads of the pool of this page."""
        return await self.service.read(workflow, (await self.pool()).pool, *args, **kwargs)

    async def write(
        self,
        workflow: Callable[Concatenate[Store, str, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return the result of a workflow that changes the pool of this page."""
        return await self.service.change(workflow, (await self.pool()).pool, *args, **kwargs)

    async def calculate(
        self,
        workflow: Callable[Concatenate[Store, str, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return the result of a workflow that reads the pool of this page and takes long."""
        pool = (await self.pool()).pool
        return await self.service.calculate(workflow, self.service.store, pool, *args, **kwargs)

    async def snapshot(
        self, read: Callable[[Store, PoolMessage], T], *, takes_long: bool = False
    ) -> T:
        """Return what a function reads of the pool of this page in one transaction.

        The page then shows the pool as it was in that transaction, too.
        """

        def in_one_transaction(store: Store) -> T:
            with store.moment() as moment:
                # A page with an error also links to the pool.
                self._pool = self._readable_pool(moment)
                return read(moment, self._pool)

        if takes_long:
            return await self.service.calculate(in_one_transaction, self.service.store)
        return await self.service.read(in_one_transaction)

    async def pool(self) -> PoolMessage:
        """Return the pool of this page, if the sender may read it.

        To others a private pool looks like one that does not exist.
        """
        if self._pool is None:
            self._pool = await self.service.read(self._readable_pool)
        return self._pool

    def show(self, pool: PoolMessage) -> None:
        """Show the pool of this page as it was when the rest of the page was read."""
        if not may_read(self.key, pool):
            raise self._refused()
        self._pool = pool

    def _readable_pool(self, store: Store) -> PoolMessage:
        name = self.request.path_params["pool"]
        try:
            found = pool_message(store, name)
        except NotFoundError:
            if is_key_of(self.key, name):
                raise
            raise self._refused() from None
        if not may_read(self.key, found):
            raise self._refused()
        return found

    def may(self, role: Role, pool: PoolMessage) -> bool:
        """Return whether the sender has a role in a pool."""
        return has_role(self.key, role) and is_key_of(self.key, pool.pool, pool.archive_of)

    def may_read(self, pool: PoolMessage) -> bool:
        """Return whether the sender may read a pool."""
        return may_read(self.key, pool)

    async def need(self, role: Role) -> PoolMessage:
        """Return the pool. Refuse a sender who lacks this role in it."""
        if not has_role(self.key, role):
            raise self._refused()
        pool = await self.pool()
        if not self.may(role, pool):
            raise self._refused()
        return pool

    def need_all_pools(self) -> KeyRecord:
        """Return the key. Refuse everybody but administrators of all pools."""
        if self.key is None or not rules_all_pools(self.key):
            raise self._refused()
        return self.key

    def need_admin(self) -> KeyRecord:
        """Return the key. Refuse everybody but administrators, of all pools or of one."""
        if self.key is None or not has_role(self.key, "admin"):
            raise self._refused()
        return self.key

    def need_calculations(self) -> None:
        """Refuse a sender without a key where the settings reserve calculations for keys."""
        if self.key is None and self.service.settings.calculations != "open":
            raise self._refused()

    def _refused(self) -> UnauthorisedError | ForbiddenError:
        if self.key is None:
            return UnauthorisedError("this page is not public: sign in with a key that can read it")
        return ForbiddenError(f"the key {self.key.name!r} does not allow this")

    async def form(self) -> Form:
        """Return the form in the body, posted from a page of ours.

        Raises : ForbiddenError and others
        """
        if self._form is None:
            check_origin(self.request)
            form = await read_form(self.request, self.service.settings.body_bytes)
            if self.key is not None:
                token = form.text("token").encode()
                if not hmac.compare_digest(token, self.token().encode()):
                    raise ForbiddenError("the form is from another session: reload the page")
            self._form = form
        return self._form

    def token(self) -> str:
        """Return what forms carry so that only our pages can post them; "" without a key."""
        secret = self.request.cookies.get(KEY_COOKIE, "")
        if self.key is None:
            return ""
        return hmac.new(secret.encode(), b"equipoise form", hashlib.sha256).hexdigest()

    def id_of(self, name: str) -> str:
        """Return an id from the path, or from the query if it cannot be part of a path."""
        found = self.request.path_params.get(name) or self.request.query_params.get("id", "")
        if not found:
            raise NotFoundError(f"the id of the {name} is missing")
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

    def render(self, template: str, status: int = 200, **context: Any) -> Response:
        """Return a page."""
        pool = self._pool
        theme = self.request.cookies.get(THEME_COOKIE, "")
        here = self.request.url.path
        query = self.request.url.query
        return rendered(
            template,
            status,
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
                "problems": [],
                **context,
            },
        )

    def redirect(self, to: str) -> Response:
        """Return a redirect to another page of ours."""
        return RedirectResponse(to, 303, headers=dict(HEADERS))


async def authenticate(request: Request) -> PageContext:
    """Return the context of a request; a key that is no longer valid counts as none.

    Raises : TooManyRequestsError
    """
    service: Service = request.app.state.page.service
    secret = request.cookies.get(KEY_COOKIE, "")
    key = await service.read(valid_key, secret) if 0 < len(secret) <= LONGEST_SECRET else None
    service.access.check_rate(key, request.client.host if request.client else "")
    return PageContext(request, key)


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
