"""Paths of the pages."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from equipoise.errors import EquipoiseError
from equipoise.web.http.errors import (
    DATABASE_ERRORS,
    TimedOutError,
    UnauthorisedError,
    UnavailableError,
    http_status,
)
from equipoise.web.page import access, balancing, matches, players, pools, rebalancing, tournaments
from equipoise.web.page.forms import problems_of, title_of
from equipoise.web.page.rendering import static_file
from equipoise.web.page.visit import PageContext, authenticate
from equipoise.web.page.wording import path

View = Callable[[PageContext], Awaitable[Response]]

log = logging.getLogger(__name__)

#: Ids come last, as they may contain slashes.
_PAGES: tuple[tuple[str, str, View], ...] = (
    ("GET", "/", pools.pools_page),
    ("GET", "/pools/{pool}", pools.pool_page),
    ("GET", "/pools/{pool}/leaderboard", players.leaderboard_page),
    ("GET", "/pools/{pool}/names", players.names),
    ("GET", "/pools/{pool}/players/{player:path}", players.player_page),
    ("GET", "/pools/{pool}/course/{player:path}", players.player_timeline),
    ("GET", "/pools/{pool}/matches", matches.matches_page),
    ("GET", "/pools/{pool}/matches/{match:path}", matches.match_page),
    ("GET", "/pools/{pool}/amendments", matches.amendments_page),
    ("GET", "/pools/{pool}/amendments/{seq}", matches.amendment_page),
    ("GET", "/pools/{pool}/balance", balancing.balance_page),
    ("POST", "/pools/{pool}/balance", balancing.balance),
    ("GET", "/pools/{pool}/admin", matches.admin_page),
    ("GET", "/pools/{pool}/settings", pools.settings_page),
    ("POST", "/pools/{pool}/settings", pools.save_settings),
    ("POST", "/pools/{pool}/delete", pools.delete_pool),
    ("GET", "/pools/{pool}/seasons", pools.seasons_page),
    ("GET", "/pools/{pool}/seasons/end", pools.end_page),
    ("POST", "/pools/{pool}/seasons/end", pools.end_season),
    ("GET", "/pools/{pool}/webhooks", access.webhooks_page),
    ("POST", "/pools/{pool}/webhooks", access.make_webhook),
    ("POST", "/pools/{pool}/webhooks/disable", access.end_webhook),
    ("POST", "/pools/{pool}/webhooks/test", access.try_webhook),
    ("GET", "/pools/{pool}/post", matches.post_page),
    ("POST", "/pools/{pool}/post", matches.post_match),
    *(
        ("GET", f"/pools/{{pool}}/{action}/{{id:path}}", matches.form_page)
        for action in matches.ACTIONS
    ),
    *(
        ("POST", f"/pools/{{pool}}/{action}/{{id:path}}", matches.perform)
        for action in matches.ACTIONS
    ),
    ("GET", "/rebalance", rebalancing.rebalance_page),
    ("POST", "/rebalance", rebalancing.rebalance),
    ("GET", "/tournament", tournaments.tournament_page),
    ("POST", "/tournament", tournaments.tournament),
    ("GET", "/audit", access.audit_page),
    ("GET", "/keys", access.keys_page),
    ("POST", "/keys", access.make_key),
    ("POST", "/keys/revoke", access.end_key),
    ("GET", "/sign-in", access.sign_in_page),
    ("POST", "/sign-in", access.sign_in),
    ("POST", "/sign-out", access.sign_out),
    ("POST", "/theme", access.choose_theme),
)


def _guarded(view: View) -> Callable[[Request], Awaitable[Response]]:
    """Return a view that shows errors as pages and asks to sign in where that may help."""

    async def endpoint(request: Request) -> Response:
        # An error before the key is known is shown as to a sender without a key.
        context = PageContext(request, None)
        try:
            async with asyncio.timeout(context.service.settings.request_seconds):
                context = await authenticate(request)
                return await view(context)
        except UnauthorisedError:
            return context.redirect(path("sign-in", next=_asked(request)))
        except EquipoiseError as error:
            return error_page(context, error)
        except TimeoutError:
            return error_page(context, TimedOutError("the request took too long"))
        except DATABASE_ERRORS:
            log.exception("the database does not answer")
            return error_page(context, UnavailableError("the database does not answer"))

    return endpoint


def _asked(request: Request) -> str:
    """Return where to go after signing in: the page that was asked for, if it can be."""
    if request.method != "GET":
        return request.url.path
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


def error_page(context: PageContext, error: EquipoiseError) -> Response:
    """Return a page that says what went wrong."""
    status = http_status(error)
    answer = context.render(
        "error.html", status, title=title_of(status), problems=problems_of(error)
    )
    seconds = getattr(error, "seconds", None)
    if seconds is not None:
        answer.headers["Retry-After"] = str(math.ceil(seconds))
    return answer


def page_routes() -> list[Route]:
    """Return the routes of pages and static files."""
    return [
        *(Route(where, _guarded(view), methods=[method]) for method, where, view in _PAGES),
        Route("/static/{version}/{name}", static_file, methods=["GET"]),
    ]
