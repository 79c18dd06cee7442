"""The web pages, rendered on the server: their rows in the table of endpoints.

Each module has the pages of one topic. `context` is a request to a page and its form, `rendering`
fills the templates, `figures` draws SVG.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from starlette.responses import Response

from equipoise.messages.upkeep import Role
from equipoise.web.http.endpoints import Endpoint
from equipoise.web.page import (
    administration,
    balancing,
    league,
    matches,
    players,
    sharing,
    tournaments,
)
from equipoise.web.page.context import PageContext
from equipoise.web.page.rendering import static_file

View: TypeAlias = Callable[[PageContext], Awaitable[Response]]


def _page(route: str, view: View, right: Role | None = "reader", **more: Any) -> Endpoint:
    return Endpoint(route=route, handler=view, right=right, page=True, **more)


#: Ids come last, because they may contain slashes.
PAGES: tuple[Endpoint, ...] = (
    _page("GET /", players.pools_page, None),
    _page("GET /search", players.search_page, None),
    _page("GET /new-pool", league.new_pool_page, "admin", all_pools=True),
    _page("POST /new-pool", league.new_pool, "admin", all_pools=True),
    _page("GET /pools/{pool}", players.pool_page),
    _page("GET /pools/{pool}/leaderboard", players.leaderboard_page),
    _page("GET /pools/{pool}/embed", players.embedded_leaderboard),
    _page("GET /pools/{pool}/names", players.names),
    _page("GET /pools/{pool}/players/{player:path}", players.player_page),
    _page("GET /pools/{pool}/course/{player:path}", players.player_timeline),
    _page("GET /pools/{pool}/compare", players.compare_page),
    _page("GET /pools/{pool}/badge.svg", sharing.badge),
    _page("GET /pools/{pool}/leaderboard.csv", sharing.leaderboard_csv),
    _page("GET /pools/{pool}/history.csv", sharing.history_csv),
    _page("GET /pools/{pool}/match.csv", sharing.match_csv),
    _page("GET /pools/{pool}/matches", matches.matches_page),
    _page("GET /pools/{pool}/matches/{match:path}", matches.match_page),
    _page("GET /pools/{pool}/amendments", matches.amendments_page),
    _page("GET /pools/{pool}/amendments/{seq}", matches.amendment_page),
    _page("GET /pools/{pool}/balance", balancing.balance_page),
    _page("POST /pools/{pool}/balance", balancing.balance),
    _page("GET /pools/{pool}/teams", balancing.teams_page),
    _page("GET /pools/{pool}/tournament", tournaments.pool_tournament, group="Calculations"),
    _page("GET /pools/{pool}/admin", administration.admin_page, "admin"),
    _page("GET /pools/{pool}/settings", administration.settings_page, "admin"),
    _page("POST /pools/{pool}/settings", administration.save_settings, "admin"),
    _page("GET /pools/{pool}/settings/entry", administration.entry_page, "admin"),
    _page("POST /pools/{pool}/settings/entry", administration.change_entry, "admin"),
    _page("POST /pools/{pool}/delete", administration.delete_pool, "admin", all_pools=True),
    _page("GET /pools/{pool}/seasons", players.seasons_page),
    _page("GET /pools/{pool}/seasons/end", administration.season_end_page, "admin"),
    _page("POST /pools/{pool}/seasons/end", administration.end_season, "admin"),
    _page("GET /pools/{pool}/webhooks", administration.webhooks_page, "admin"),
    _page("POST /pools/{pool}/webhooks", administration.create_webhook, "admin"),
    *(
        _page(f"POST /pools/{{pool}}/webhooks/{change}", administration.change_webhook, "admin")
        for change in administration.WEBHOOK_CHANGES
    ),
    _page("POST /pools/{pool}/webhooks/test", administration.test_webhook, "admin"),
    _page("GET /pools/{pool}/upload", league.upload_page, "writer"),
    _page("POST /pools/{pool}/upload", league.upload, "writer"),
    _page("GET /pools/{pool}/post", matches.post_page, "writer"),
    _page("POST /pools/{pool}/post", matches.post_match, "writer"),
    *(
        _page(f"{method} /pools/{{pool}}/{action}/{{id:path}}", view, "admin")
        for method, view in (("GET", matches.form_page), ("POST", matches.perform))
        for action in matches.ACTIONS
    ),
    _page("GET /rebalance", balancing.rebalance_page, group="Calculations"),
    _page("POST /rebalance", balancing.rebalance, group="Calculations"),
    _page("GET /tournament", tournaments.tournament_page, group="Calculations"),
    _page("POST /tournament", tournaments.tournament, group="Calculations"),
    _page("GET /audit", administration.audit_page, "admin"),
    _page("GET /keys", administration.keys_page, "admin", all_pools=True),
    _page("POST /keys", administration.create_key, "admin", all_pools=True),
    _page("POST /keys/rotate", administration.rotate_key, "admin", all_pools=True),
    _page("POST /keys/revoke", administration.revoke_key, "admin", all_pools=True),
    _page("GET /sign-in", administration.sign_in_page, None),
    _page("POST /sign-in", administration.sign_in, None),
    _page("POST /sign-out", administration.sign_out, None),
    _page("POST /sign-out/everywhere", administration.sign_out_everywhere, None),
    _page("POST /theme", administration.choose_theme, None),
    Endpoint(
        route="GET /static/{version}/{name}", handler=static_file, group="Operation", right=None
    ),
)
