"""Pages of a pool, of its players, of a comparison of two, and of the search.

The page of a player has the rating over time, the matches, and why a match changed the rating.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from markupsafe import Markup
from starlette.responses import Response

from equipoise.errors import EquipoiseError, NotFoundError
from equipoise.messages.matches import (
    AgainstMessage,
    LeaderboardMessage,
    LeaderboardRow,
    MatchLine,
    OverviewMessage,
    PlayerHistory,
    PlayerMessage,
    PlayerSummary,
    RatingBin,
    RatingTimeline,
    RecordsMessage,
)
from equipoise.messages.pools import PoolMessage
from equipoise.pools import seasons
from equipoise.pools.pool.pools import pool_message, pool_messages, pool_version
from equipoise.pools.reading import players
from equipoise.pools.reading.matches import matches as latest_matches
from equipoise.pools.reading.overview import (
    MOST_RESULTS,
    SearchResult,
    rating_bins,
    records,
    search,
)
from equipoise.pools.reading.players import rating_timeline, ratings_of_players, search_players
from equipoise.pools.reading.questions import chances_now, explain_player
from equipoise.pools.reading.summaries import CHANGE_DAYS, against, player_summary
from equipoise.store.connection import Store
from equipoise.web.http.errors import ForbiddenError, OverloadedError
from equipoise.web.page.context import BEST, Home, PageContext, TaskCache, problems_of
from equipoise.web.page.figures import (
    Column,
    Interval,
    Mark,
    Why,
    columns_chart,
    comparison,
    distribution,
    drift_chart,
    intervals,
    sparkline,
    time_labels,
    timeline_chart,
    why_of,
)
from equipoise.web.page.matches import MOST_PLAYERS
from equipoise.web.page.rendering import (
    POLICY,
    half_width,
    headline,
    in_units,
    number,
    page_at,
    path,
    plural,
    units,
    utc,
)

#: Matches on the overview.
LATEST = 8


async def pools_page(context: PageContext) -> Response:
    """Return the pools that the sender may read."""
    every = await context.service.read(pool_messages)
    known_of = context.service.kernels.known_of
    readable = [known_of(pool) for pool in every if context.may_read(pool)]
    ended = [pool for pool in readable if pool.closed is not None]
    ended.sort(key=lambda pool: pool.closed or "", reverse=True)
    return context.render(
        "pools.html", pools=[pool for pool in readable if pool.closed is None], archives=ended
    )


async def pool_page(context: PageContext) -> Response:
    """Return the overview of a pool."""
    overviews = context.state.overviews

    def read(store: Store, pool: PoolMessage) -> tuple[list[LeaderboardRow], Home, list[MatchLine]]:
        return (
            players.leaderboard(store, pool.pool, limit=BEST, inactive=False).players,
            overviews.get(store, pool.pool),
            latest_matches(store, pool.pool, limit=LATEST).matches,
        )

    rows, home, matches = await context.snapshot(read)
    pool, overview = context.pool, home.overview
    records, waiting = await _records(context, pool)
    return context.render(
        "pool.html",
        records=records,
        most_results=MOST_RESULTS,
        later=path("pools", pool.pool, wait=1) if waiting else None,
        overview=overview,
        activity=_activity(overview, pool),
        ratings=_ratings(overview),
        drift=drift_chart("Mean rating of active players over time", overview.drift)
        if len(overview.drift) > 1
        else None,
        best=with_pictures(rows, home.year, home.years),
        recent=bool(home.year),
        ranked=home.ranked,
        with_spread=any(row.deviation is not None for row in rows),
        differs=any(row.display != row.rating for row in rows),
        matches=matches,
        highlights=home.highlights,
        lately="last 12 months"
        if home.highlights.matches < pool.matches and pool.times != "none"
        else f"all {units(pool)}",
        settings=[
            (name.replace("_", " "), value if isinstance(value, str) else f"{value:g}")
            for name, value in pool.parameters.items()
            if isinstance(value, str | int | float)
        ],
    )


#: Matches of a pool up to which its records are as new as the pool, and seconds for which those of
#: a larger one are kept.
_SMALL, _KEPT = 2_000, 600.0


async def _records(context: PageContext, pool: PoolMessage) -> tuple[RecordsMessage | None, bool]:
    """Return the records of a pool, and whether they are still computed."""

    async def make() -> RecordsMessage:
        return await context.service.calculate_from_store(records, pool.pool)

    age = pool.matches if pool.matches <= _SMALL else time.monotonic() // _KEPT
    patience = 0.8 * context.service.settings.request_seconds if context.parameter("wait") else 0.05
    version = (pool.pool, pool.created, pool.generation, age)
    try:
        found = await context.state.records.get(version, make, patience)
    except EquipoiseError:
        return None, False
    return found, found is None and not context.parameter("wait")


def _activity(overview: OverviewMessage, pool: PoolMessage) -> Markup | None:
    if not overview.activity:
        return None
    bins = overview.activity
    length = bins[1].start - bins[0].start if len(bins) > 1 else 86_400
    columns = [
        Column(
            span.matches,
            f"{utc(span.start):%Y-%m-%d}: {in_units(span.matches, pool)}",
        )
        for span in bins
    ]
    below = time_labels(bins[0].start, bins[-1].start + length)
    return columns_chart(f"{headline(units(pool))} per {overview.unit}", columns, below)


def _ratings(overview: OverviewMessage) -> Markup | None:
    bins = overview.ratings
    if not bins:
        return None
    digits = 0 if bins[0].high - bins[0].low >= 1 else 2
    columns = [
        Column(
            span.players,
            f"{number(span.low, digits)} to {number(span.high, digits)}: "
            f"{plural(span.players, 'player')}",
        )
        for span in bins
    ]
    low, high = bins[0].low, bins[-1].high
    step = max(1, len(bins) // 5)
    below = [((span.low - low) / (high - low), number(span.low, digits)) for span in bins[::step]]
    mark = None
    if overview.median is not None:
        mark = Mark(
            (overview.median - low) / (high - low), f"median {number(overview.median, digits)}"
        )
    return columns_chart("Players by rating", columns, below, mark)


async def seasons_page(context: PageContext) -> Response:
    """Return the past seasons of a pool, with links to those that the sender may read."""
    ended, every = await context.snapshot(
        lambda store, pool: (seasons.seasons(store, pool.pool).seasons, pool_messages(store)),
    )
    pool = context.pool
    archives = [archive for archive in every if archive.archive_of == pool.pool]
    return context.render(
        "seasons.html",
        seasons=ended,
        readable={pool.pool for pool in archives if context.may_read(pool)},
        just=context.parameter("ended"),
    )


#: Players on a page of the leaderboard, players that a search lists, names that are suggested.
PAGE_SIZE, MOST_FOUND, MOST_NAMES = 50, 50, 12
#: Matches in the table of a player, and in the timeline.
MATCHES, TIMELINE_MATCHES = 15, 5_000
#: The best players, whom a player could meet.
MEETINGS = 4
#: Seconds after which a player's page is sent without the explanation, which is fetched later.
_PATIENCE = 0.3

#: Systems with performances on the scale of ratings.
_ON_SCALE = frozenset({"elo-mmr", "elo-mmx", "codeforces", "topcoder"})
#: Columns of systems that are of no use to readers.
_HIDDEN = frozenset({"form_matches"})


@dataclass(frozen=True, slots=True)
class PictureRow:
    """A row of the leaderboard, with a picture of rating and deviation.

    change : in 12 months; curve : of the rating in some years; None where they are not known
    """

    row: LeaderboardRow
    interval: Interval | None
    change: float | None = None
    curve: Markup | None = None


async def leaderboard_page(context: PageContext) -> Response:
    """Return a page of the leaderboard, or the players whose id or name has a text."""
    search, around = context.parameter("search")[:200], context.parameter("around") or None
    provisional = context.parameter("provisional") == "1"
    inactive = context.parameter("inactive") == "1"
    cursor = context.parameter("cursor") or None
    circumstance = context.parameter("context")[:200] or None

    if around is not None:  # the row of the present player is marked
        around = (await context.present_ids([around])).get(around, around)

    def read(
        store: Store, pool: PoolMessage
    ) -> tuple[list[LeaderboardRow], LeaderboardMessage | None, dict[str, list[float]]]:
        if search:
            rows = search_players(store, pool.pool, search, limit=MOST_FOUND)
            return rows, None, lately(store, pool.pool, rows)
        board = players.leaderboard(
            store,
            pool.pool,
            cursor=cursor,
            limit=PAGE_SIZE,
            provisional=provisional,
            inactive=inactive,
            around=around,
            context=circumstance,
        )
        if circumstance is not None:
            # Past ratings are those of the general part.
            return board.players, board, {}
        return board.players, board, lately(store, pool.pool, board.players)

    def lately(store: Store, pool: str, rows: Sequence[LeaderboardRow]) -> dict[str, list[float]]:
        return players.recent_ratings(store, pool, [row.player for row in rows], CHANGE_DAYS)

    rows, board, year = await context.snapshot(read)
    pool = context.pool
    filters: dict[str, int | str | None] = {
        "provisional": 1 if provisional else None,
        "inactive": 1 if inactive else None,
    }
    here = ("pools", pool.pool, "leaderboard")
    everybody = path(*here, **filters)
    filters["context"] = circumstance
    return context.render(
        "leaderboard.html",
        rows=with_pictures(rows, year),
        recent=bool(year),
        differs=any(row.display != row.rating for row in rows),
        with_spread=any(row.deviation is not None for row in rows),
        most=MOST_FOUND,
        search=search,
        around=around,
        circumstance=circumstance,
        everybody=everybody,
        provisional=provisional,
        inactive=inactive,
        filters=filters,
        previous=page_at(None if board is None else board.previous, *here, **filters),
        next=page_at(None if board is None else board.next, *here, **filters),
        first=path(*here, **filters),
        players_in_pool=pool.players if board is None else board.players_in_pool,
    )


async def embedded_leaderboard(context: PageContext) -> Response:
    """Return the best players of a public pool without forms, for a frame on another site."""
    if not context.pool.public:
        raise ForbiddenError("only the leaderboard of a public pool can be embedded")
    board = await context.read(players.leaderboard, limit=BEST, inactive=False)
    answer = context.render("embed.html", rows=board.players)
    # Browsers then ignore X-Frame-Options (Content Security Policy Level 3, section 7.1).
    policy = POLICY.replace("frame-ancestors 'none'", "frame-ancestors *")
    answer.headers["Content-Security-Policy"] = policy
    return answer


def with_pictures(
    rows: Sequence[LeaderboardRow],
    year: Mapping[str, list[float]],
    years: Mapping[str, list[float]] | None = None,
) -> list[PictureRow]:
    """Return the rows with pictures on one scale; year, years : ratings in this time by player."""
    pictures = intervals([(row.rating, row.deviation) for row in rows])
    pictured = []
    for row, picture in zip(rows, pictures, strict=True):
        lately, curve = year.get(row.player), (years or {}).get(row.player)
        pictured.append(
            PictureRow(
                row,
                picture,
                None if lately is None else lately[-1] - lately[0],
                None if curve is None else sparkline(curve),
            )
        )
    return pictured


async def names(context: PageContext) -> Response:
    """Return players whose id or name contains a text, as JSON, for suggestions in input fields."""
    text = context.parameter("text")[:200]
    rows = await context.snapshot(
        lambda store, pool: search_players(store, pool.pool, text, limit=MOST_NAMES) if text else []
    )
    return context.data(
        {
            "players": [
                {"player": row.player, "rating": row.rating, "name": row.name} for row in rows
            ]
        }
    )


class PlayerView(NamedTuple):
    """The content of a player's page, read in one transaction.

    place, ranked : among active, settled players, and their number
    meetings : the best other players with the chance of the player against each
    known : opponents in the explanation who are in the pool -> rating and deviation
    unexplained : reasons why there is no explanation
    """

    player: PlayerMessage
    history: PlayerHistory
    timeline: RatingTimeline
    summary: PlayerSummary
    place: int | None
    ranked: int
    bins: Sequence[RatingBin]
    meetings: Sequence[tuple[LeaderboardRow, float]]
    why: Why | None = None
    known: Mapping[str, tuple[float, float | None]] = {}
    unexplained: Sequence[str] = ()


#: Which matches a player's page lists: a cursor, or the match in their middle.
_Part: TypeAlias = tuple[str | None, str | None]


async def player_page(context: PageContext) -> Response:
    """Return the page of a player; with `match` or `wait` also why the rating changed."""
    name, match = context.id_of("player"), context.parameter("match") or None
    part = context.parameter("cursor") or None, context.parameter("around")[:200] or None
    asked = match is not None or bool(context.parameter("wait"))
    view: PlayerView | None = None
    problems: Sequence[str] = ()
    try:
        view = await _with_explanation(context, name, match, part) if asked else None
    except OverloadedError as error:
        problems = problems_of(error)
    pending = asked and view is None and not problems
    if view is None:
        view = await context.snapshot(lambda store, pool: _view(store, pool, name, part))
        view = view._replace(unexplained=problems)
    pool = context.pool
    timeline, history = view.timeline, view.history
    older = page_at(history.next, "pools", pool.pool, "players", name)
    label = f"Rating of {name} over {in_units(len(timeline.ratings), pool)}"
    # Tiers are of ratings shown, and the chart has ratings.
    differs = view.player.display != view.player.rating
    tiers = [] if differs else pool.tiers
    return context.render(
        "player.html",
        **view._asdict(),
        differs=differs,
        facts=_facts(view.player),
        started=_started(pool, timeline),
        around=part[1],
        newest=path("pools", pool.pool, "players", name) if any(part) else None,
        most_players=MOST_PLAYERS,
        asked=asked,
        standing=_standing(view),
        with_home=bool(pool.parameters.get("home_advantage"))
        or bool(pool.parameters.get("learn_home_advantage")),
        with_duels=any(line.result for line in history.matches),
        with_fields=any(line.teams > 2 for line in history.matches),
        with_scores=any(line.score is not None for line in history.matches if line.result),
        next=older and older + "#matches",
        with_band=any(timeline.deviations),
        chart=timeline_chart(timeline, label, tiers) if len(timeline.ratings) > 1 else None,
        tiers=[(tier.lower, tier.short, tier.level) for tier in tiers],
        data=path("pools", pool.pool, "course", name),
        on_scale=pool.system in _ON_SCALE,
        with_expected=any(line.expected is not None for line in history.matches),
        with_performance=any(line.performance is not None for line in history.matches),
        later=path("pools", pool.pool, "players", name, match=match, wait=1) if pending else None,
    )


async def _with_explanation(
    context: PageContext, player: str, match: str | None, part: _Part
) -> PlayerView | None:
    """Return the content of the page with the explanation, None if that takes too long.

    A replay may replace the ratings at any time, so the explanation is computed in the transaction
    that reads the rest.
    """
    pool, service = context.pool_name, context.service
    version = await service.read(pool_version, pool)

    async def make() -> tuple[PoolMessage, PlayerView]:
        # Other requests for the same page wait for this task, so it must not use this context.
        return await service.explain(explained, pool, player=player, match=match, part=part)

    seconds = 0.8 * service.settings.request_seconds if context.parameter("wait") else _PATIENCE
    pages: TaskCache[tuple[PoolMessage, PlayerView]] = context.state.player_pages
    explanation = await pages.get((pool, version, player, match, part), make, seconds)
    if explanation is None:
        return None
    shown, view = explanation
    context.known_pool = shown
    return view


def _view(store: Store, pool: PoolMessage, player: str, part: _Part) -> PlayerView:
    """Return the content of a player's page without the explanation."""
    cursor, around = part
    history = players.player_history(
        store, pool.pool, player, cursor=cursor, limit=MATCHES, around=around
    )
    return PlayerView(
        players.player(store, pool.pool, player),
        history,
        rating_timeline(store, pool.pool, player, most=TIMELINE_MATCHES),
        player_summary(store, pool.pool, player),
        *players.ranked_players(store, pool.pool, player),
        rating_bins(store, pool.pool),
        _meetings(store, pool, player),
    )


def _meetings(store: Store, pool: PoolMessage, player: str) -> list[tuple[LeaderboardRow, float]]:
    """Return the chances against the best other players; none if they cannot be predicted."""
    best = players.leaderboard(store, pool.pool, limit=MEETINGS + 1, inactive=False).players
    others = [row for row in best if row.player != player and not row.disqualified][:MEETINGS]
    chances = chances_now(store, pool.pool, player, [row.player for row in others])
    if chances is None:
        return []
    return [(row, chance) for row, (chance, _) in zip(others, chances, strict=True)]


def _standing(view: PlayerView) -> Markup | None:
    """Return the distribution of ratings with the player's rating and its range."""
    if len(view.bins) < 2:
        return None
    player = view.player
    spread = 0.0 if player.deviation is None else half_width(player.deviation)
    mine = player.display, player.rating - spread, player.rating + spread
    return distribution("All players by rating, and this player", view.bins, mine)


def explained(
    store: Store, pool: str, *, player: str, match: str | None, part: _Part
) -> tuple[PoolMessage, PlayerView]:
    """Return a pool and the content of a player's page, as of one transaction."""
    with store.moment() as moment:
        current = pool_message(moment, pool)
        return current, _explained(moment, current, player=player, match=match, part=part)


def _explained(
    store: Store, pool: PoolMessage, *, player: str, match: str | None, part: _Part
) -> PlayerView:
    """Return the content of a player's page with the explanation, or why there is none."""
    view = _view(store, pool, player, part)
    try:
        why = why_of(explain_player(store, pool.pool, player, match))
    except NotFoundError as error:
        return view if match is None else view._replace(unexplained=problems_of(error))
    except EquipoiseError as error:
        return view._replace(unexplained=problems_of(error))
    known = ratings_of_players(store, pool.pool, why.opponent_names)
    return view._replace(why=why, known=known)


def _started(pool: PoolMessage, timeline: RatingTimeline) -> float | None:
    """Return where a player began, in pools that do not begin all players alike."""
    if pool.entry is None or not timeline.ratings or timeline.left_out:
        return None
    return timeline.ratings[0] - timeline.changes[0]


def _facts(player: PlayerMessage) -> list[tuple[str, str]]:
    """Return the further numbers of a player with their names."""
    return [
        (name.replace("_", " ").capitalize(), number(value, 3 if abs(value) < 10 else 0))
        for name, value in player.extra.items()
        if value is not None and name not in _HIDDEN
    ]


async def player_timeline(context: PageContext) -> Response:
    """Return a player's timeline as JSON for the chart."""
    name = context.id_of("player")
    timeline = await context.read(rating_timeline, name, most=TIMELINE_MATCHES)
    pool = context.pool
    performances = timeline.performances if pool.system in _ON_SCALE else None
    return context.data(
        {
            "times": timeline.times,
            "played": timeline.played,
            "ratings": _rounded(timeline.ratings),
            "deviations": _rounded(timeline.deviations),
            "changes": _rounded(timeline.changes),
            "performances": None if performances is None else _rounded(performances),
            "matches": timeline.matches,
            "ranks": timeline.ranks,
            "teams": timeline.teams,
        }
    )


def _rounded(values: list[float] | list[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 3) for value in values]


#: Matches in the table of a comparison.
_MEETINGS = 25


@dataclass(frozen=True, slots=True)
class ComparedPlayer:
    """One of the two players."""

    player: PlayerMessage
    summary: PlayerSummary
    timeline: RatingTimeline
    place: int | None

    @classmethod
    def of(cls, store: Store, pool: str, player: str) -> ComparedPlayer:
        """Return a player as of now. Raises : NotFoundError."""
        return cls(
            players.player(store, pool, player),
            player_summary(store, pool, player),
            rating_timeline(store, pool, player, most=TIMELINE_MATCHES),
            players.ranked_players(store, pool, player)[0],
        )


async def compare_page(context: PageContext) -> Response:
    """Return the comparison of two players, or the form that asks for them."""
    first, second = context.parameter("first")[:200], context.parameter("second")[:200]
    cursor = context.parameter("cursor") or None

    def read(store: Store, pool: PoolMessage) -> tuple[list[ComparedPlayer], AgainstMessage]:
        meetings = against(store, pool.pool, first, second, cursor=cursor, limit=_MEETINGS)
        return [ComparedPlayer.of(store, pool.pool, name) for name in (first, second)], meetings

    both: list[ComparedPlayer] = []
    meetings = chart = error = None
    if first and second:
        try:
            both, meetings = await context.snapshot(read)
        except EquipoiseError as problem:
            moved = await context.with_present_ids() if isinstance(problem, NotFoundError) else None
            if moved is not None:
                return moved
            error = problem
        else:
            label = f"Ratings of {first} and {second} over time"
            chart = comparison(both[0].timeline, both[1].timeline, label)
    pool = context.pool
    here = ("pools", pool.pool, "compare")
    more = None if meetings is None else meetings.next
    return context.render(
        "compare.html",
        error,
        first=first,
        second=second,
        both=both,
        found=meetings,
        chart=chart,
        with_scores=meetings is not None
        and any(meeting.line.opponent_score is not None for meeting in meetings.meetings),
        next=None if more is None else path(*here, first=first, second=second, cursor=more),
        newest=path(*here, first=first, second=second) if cursor else None,
    )


async def search_page(context: PageContext) -> Response:
    """Return what is found in the pools that the sender may read.

    The pool from which the sender comes is first, then those with the latest matches.
    """
    text, near = context.parameter("text")[:200], context.parameter("pool")

    def read(store: Store) -> SearchResult:
        with store.moment() as moment:
            readable = [pool for pool in pool_messages(moment) if context.may_read(pool)]
            readable.sort(key=lambda pool: str(pool.last_time or ""), reverse=True)
            readable.sort(key=lambda pool: (pool.pool != near, pool.closed is not None))
            return search(moment, readable, text)

    result = await context.service.read_for(context.key, read)
    return context.render("search.html", text=text, near=near, result=result)
