"""The web pages, rendered on the server: their paths, and the error page.

Each module has the pages of one topic. `context` is a request to a page, `forms` reads what was
posted, `rendering` fills the templates, `figures` draws SVG.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from equipoise.errors import EquipoiseError
from equipoise.web.http.errors import (
    DATABASE_ERRORS,
    SlowRequestError,
    TimedOutError,
    UnauthorisedError,
    UnavailableError,
    http_status,
)
from equipoise.web.page import (
    administration,
    balancing,
    comparing,
    league,
    matches,
    players,
    searching,
    sharing,
    tournaments,
)
from equipoise.web.page.context import PageContext, authenticate
from equipoise.web.page.rendering import path, static_file

View: TypeAlias = Callable[[PageContext], Awaitable[Response]]

log = logging.getLogger(__name__)

#: Status of an answer that nobody reads.
_GONE = 499
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

#: Pages that change only with their pool.
_BY_VERSION = (players.leaderboard_page, matches.matches_page, matches.match_page)

#: Ids come last, because they may contain slashes.
_PAGES: tuple[tuple[str, str, View], ...] = (
    ("GET", "/", players.pools_page),
    ("GET", "/search", searching.search_page),
    ("GET", "/new-pool", league.new_pool_page),
    ("POST", "/new-pool", league.new_pool),
    ("GET", "/pools/{pool}", players.pool_page),
    ("GET", "/pools/{pool}/leaderboard", players.leaderboard_page),
    ("GET", "/pools/{pool}/names", players.names),
    ("GET", "/pools/{pool}/players/{player:path}", players.player_page),
    ("GET", "/pools/{pool}/course/{player:path}", players.player_timeline),
    ("GET", "/pools/{pool}/compare", comparing.compare_page),
    ("GET", "/pools/{pool}/badge.svg", sharing.badge),
    ("GET", "/pools/{pool}/leaderboard.csv", sharing.leaderboard_csv),
    ("GET", "/pools/{pool}/history.csv", sharing.history_csv),
    ("GET", "/pools/{pool}/match.csv", sharing.match_csv),
    ("GET", "/pools/{pool}/matches", matches.matches_page),
    ("GET", "/pools/{pool}/matches/{match:path}", matches.match_page),
    ("GET", "/pools/{pool}/amendments", matches.amendments_page),
    ("GET", "/pools/{pool}/amendments/{seq}", matches.amendment_page),
    ("GET", "/pools/{pool}/balance", balancing.balance_page),
    ("POST", "/pools/{pool}/balance", balancing.balance),
    ("GET", "/pools/{pool}/teams", balancing.teams_page),
    ("GET", "/pools/{pool}/tournament", tournaments.pool_tournament),
    ("GET", "/pools/{pool}/admin", administration.admin_page),
    ("GET", "/pools/{pool}/settings", administration.settings_page),
    ("POST", "/pools/{pool}/settings", administration.save_settings),
    ("GET", "/pools/{pool}/settings/entry", administration.entry_page),
    ("POST", "/pools/{pool}/settings/entry", administration.change_entry),
    ("POST", "/pools/{pool}/delete", administration.delete_pool),
    ("GET", "/pools/{pool}/seasons", players.seasons_page),
    ("GET", "/pools/{pool}/seasons/end", administration.season_end_page),
    ("POST", "/pools/{pool}/seasons/end", administration.end_season),
    ("GET", "/pools/{pool}/webhooks", administration.webhooks_page),
    ("POST", "/pools/{pool}/webhooks", administration.create_webhook),
    ("POST", "/pools/{pool}/webhooks/disable", administration.disable_webhook),
    ("POST", "/pools/{pool}/webhooks/enable", administration.enable_webhook),
    ("POST", "/pools/{pool}/webhooks/delete", administration.delete_webhook),
    ("POST", "/pools/{pool}/webhooks/test", administration.test_webhook),
    ("GET", "/pools/{pool}/upload", league.upload_page),
    ("POST", "/pools/{pool}/upload", league.upload),
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
    ("GET", "/rebalance", balancing.rebalance_page),
    ("POST", "/rebalance", balancing.rebalance),
    ("GET", "/tournament", tournaments.tournament_page),
    ("POST", "/tournament", tournaments.tournament),
    ("GET", "/audit", administration.audit_page),
    ("GET", "/keys", administration.keys_page),
    ("POST", "/keys", administration.create_key),
    ("POST", "/keys/rotate", administration.rotate_key),
    ("POST", "/keys/revoke", administration.revoke_key),
    ("GET", "/sign-in", administration.sign_in_page),
    ("POST", "/sign-in", administration.sign_in),
    ("POST", "/sign-out", administration.sign_out),
    ("POST", "/sign-out/everywhere", administration.sign_out_everywhere),
    ("POST", "/theme", administration.choose_theme),
)


def _guarded(view: View) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that answers with a view, or with an error page or the sign-in page."""

    async def endpoint(request: Request) -> Response:
        # Until the key is known, an error page is rendered as for a sender without a key.
        context = PageContext(request, None)
        try:
            async with asyncio.timeout(context.service.settings.request_seconds):
                context = await authenticate(request)
                answer = await context.unchanged() if view in _BY_VERSION else None
                if answer is None:
                    answer = await view(context)
                context.delete_old_cookies(answer)
                return answer
        except UnauthorisedError:
            answer = context.redirect(path("sign-in", next=_wanted(request)))
            context.delete_old_cookies(answer)
            return answer
        except EquipoiseError as error:
            return error_page(context, error)
        except TimeoutError:
            return error_page(context, _too_slow(context))
        except ClientDisconnect:
            return Response(status_code=_GONE)
        except DATABASE_ERRORS:
            log.exception("the database does not answer")
            return error_page(context, UnavailableError("the database does not answer"))

    return endpoint


def _too_slow(context: PageContext) -> EquipoiseError:
    """Return the error for a request that was given up: who was too slow, sender or service."""
    if context.reading:
        seconds = context.service.settings.request_seconds
        return SlowRequestError(f"the form must arrive within {seconds:g} s")
    return TimedOutError("the request took too long")


def _wanted(request: Request) -> str:
    """Return the path to go to after signing in: that of the requested page."""
    if request.method != "GET":
        return request.url.path
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


def error_page(context: PageContext, error: EquipoiseError) -> Response:
    """Return the page for an error."""
    status = http_status(error)
    title = _TITLES.get(status, "Request failed" if status < 500 else "Server error")
    answer = context.render("error.html", error, title=title)
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
