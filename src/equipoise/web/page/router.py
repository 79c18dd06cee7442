"""Which page stands where."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from equipoise.errors import EquipoiseError
from equipoise.web.page import (
    amending,
    amendments,
    balancing,
    keys,
    leaderboard,
    matches,
    players,
    pools,
    posting,
    rebalancing,
    sign_in,
    tournaments,
)
from equipoise.web.page.errors import SignInNeededError, status_of, title_of
from equipoise.web.page.static_files import static_file
from equipoise.web.page.visit import Visit, arrive, problems_of
from equipoise.web.page.wording import path

View = Callable[[Visit], Awaitable[Response]]

log = logging.getLogger(__name__)

#: Ids stand last, as they may hold slashes.
_PAGES: tuple[tuple[str, str, View], ...] = (
    ("GET", "/", pools.pools_page),
    ("GET", "/pools/{pool}", pools.pool_page),
    ("GET", "/pools/{pool}/leaderboard", leaderboard.leaderboard_page),
    ("GET", "/pools/{pool}/names", leaderboard.names),
    ("GET", "/pools/{pool}/players/{player:path}", players.player_page),
    ("GET", "/pools/{pool}/course/{player:path}", players.player_course),
    ("GET", "/pools/{pool}/matches", matches.matches_page),
    ("GET", "/pools/{pool}/matches/{match:path}", matches.match_page),
    ("GET", "/pools/{pool}/amendments", amendments.amendments_page),
    ("GET", "/pools/{pool}/amendments/{seq}", amendments.amendment_page),
    ("GET", "/pools/{pool}/balance", balancing.balance_page),
    ("POST", "/pools/{pool}/balance", balancing.balance),
    ("GET", "/pools/{pool}/admin", posting.admin_page),
    ("GET", "/pools/{pool}/post", posting.post_page),
    ("POST", "/pools/{pool}/post", posting.post_match),
    *(("GET", f"/pools/{{pool}}/{deed}/{{id:path}}", amending.deed_page) for deed in amending.DEEDS),
    *(("POST", f"/pools/{{pool}}/{deed}/{{id:path}}", amending.do_deed) for deed in amending.DEEDS),
    ("GET", "/rebalance", rebalancing.rebalance_page),
    ("POST", "/rebalance", rebalancing.rebalance),
    ("GET", "/tournament", tournaments.tournament_page),
    ("POST", "/tournament", tournaments.tournament),
    ("GET", "/keys", keys.keys_page),
    ("POST", "/keys", keys.make_key),
    ("POST", "/keys/revoke", keys.end_key),
    ("GET", "/sign-in", sign_in.sign_in_page),
    ("POST", "/sign-in", sign_in.sign_in),
    ("POST", "/sign-out", sign_in.sign_out),
    ("POST", "/theme", sign_in.choose_theme),
)


def _guarded(view: View) -> Callable[[Request], Awaitable[Response]]:
    """Return a view that shows errors as pages and asks to sign in where that may help."""

    async def endpoint(request: Request) -> Response:
        visit = await arrive(request)
        try:
            return await view(visit)
        except SignInNeededError:
            here = request.url.path
            if request.url.query:
                here += f"?{request.url.query}"
            return RedirectResponse(path("sign-in", next=here), 303)
        except EquipoiseError as error:
            return error_page(visit, status_of(error), problems_of(error))

    return endpoint


def error_page(visit: Visit, status: int, problems: list[str]) -> Response:
    """Return a page that says what went wrong."""
    return visit.page("error.html", status, title=title_of(status), problems=problems)


def _router() -> APIRouter:
    found = APIRouter(include_in_schema=False)
    for method, where, view in _PAGES:
        found.add_route(where, _guarded(view), methods=[method], include_in_schema=False)
    found.add_route(
        "/static/{version}/{name}", static_file, methods=["GET"], include_in_schema=False
    )
    return found


#: Pages and static files, for the application to include.
page_router = _router()
