"""The service, as the page sees it: each question is one workflow on its store."""

from __future__ import annotations

import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar, cast

from equipoise.errors import EquipoiseError
from equipoise.messages.amendments import (
    AmendmentMessage,
    AmendmentPage,
    DisqualifyRequest,
    ReasonRequest,
)
from equipoise.messages.balance import BalanceMessage
from equipoise.messages.explain import ExplainMessage
from equipoise.messages.keys import KeyMessage, KeyRequest, NewKeyMessage, Role
from equipoise.messages.matches import MatchMessage, MatchPage, MatchRequest
from equipoise.messages.overview import OverviewMessage, RatingCourse
from equipoise.messages.players import (
    LeaderboardMessage,
    LeaderboardRow,
    PlayerHistory,
    PlayerMessage,
)
from equipoise.messages.pools import PoolMessage
from equipoise.messages.service_requests import BalanceRequest
from equipoise.store.connection import Store
from equipoise.store.keys import find_key, note_use
from equipoise.web import webhook_trial
from equipoise.web.page.backend import Backend, KeyHolder
from equipoise.web.page.service_operations import ServiceOperations
from equipoise.web.page.settings import PageSettings
from equipoise.web.service import Service
from equipoise.workflows import (
    amending,
    keys,
    match_preview,
    pool_explaining,
    pool_overview,
    pool_people,
    pool_questions,
    pool_reading,
    pools,
    posting,
)
from equipoise.workflows.clock import now

_Answer = TypeVar("_Answer")

#: How long an overview is shown although matches have come, seconds; pools that are remembered.
_FRESH, _REMEMBERED = 10.0, 100


def page_settings(service: Service) -> PageSettings:
    """Return the page's side of a service that runs."""

    async def read(call: Callable[[], _Answer]) -> _Answer:
        return await service.read(lambda _: call())

    async def write(call: Callable[[], _Answer]) -> _Answer:
        return await service.change(lambda _: call())

    async def compute(call: Callable[[], _Answer]) -> _Answer:
        return await service.calculate(call)

    settings = service.settings
    return PageSettings(
        backend=ServiceBackend(service),
        try_webhook=functools.partial(webhook_trial.try_webhook, service),
        read=read,
        write=write,
        compute=compute,
        body_limit=settings.body_bytes,
        seconds=settings.request_seconds,
        open_calculations=settings.calculations == "open",
        rate_limit=settings.rate_limit,
        rate_burst=settings.rate_burst,
    )


class ServiceBackend(ServiceOperations):
    """See `Backend`."""

    def __init__(
        self, service: Service, overviews: _Overviews | None = None, moment: Store | None = None
    ) -> None:
        super().__init__(service, moment)
        self._overviews = _Overviews() if overviews is None else overviews

    def together(self, read: Callable[[Backend], _Answer]) -> _Answer:
        """Return what a function reads from a backend all of whose answers are of one moment."""
        with self._store.moment() as store:
            return read(ServiceBackend(self._service, self._overviews, store))

    def key_holder(self, secret: str) -> KeyHolder | None:
        """Return whose key this is."""
        at = now()
        found = find_key(self._store, secret, at)
        if found is None:
            return None
        note_use(self._store, found, at)
        return KeyHolder(
            key=found.id, name=found.name, role=cast(Role, found.role), pool=found.pool
        )

    def pools(self) -> list[PoolMessage]:
        """Return all pools."""
        return pools.pool_messages(self._store)

    def pool(self, pool: str) -> PoolMessage:
        """Return one pool."""
        return pools.pool_message(self._store, pool)

    def overview(self, pool: str) -> OverviewMessage:
        """Return activity, ratings and drift, at most some seconds old."""
        return self._overviews.of(self._store, pool)

    def leaderboard(
        self,
        pool: str,
        *,
        cursor: str | None,
        limit: int,
        provisional: bool,
        inactive: bool,
        around: str | None,
    ) -> LeaderboardMessage:
        """Return a page of the leaderboard."""
        return pool_reading.leaderboard(
            self._store,
            pool,
            cursor=cursor,
            limit=limit,
            provisional=provisional,
            inactive=inactive,
            around=around,
        )

    def search_players(self, pool: str, text: str, limit: int) -> list[LeaderboardRow]:
        """Return players in whose id a text stands."""
        return pool_people.search_players(self._store, pool, text, limit=limit)

    def player(self, pool: str, player: str) -> PlayerMessage:
        """Return a player."""
        return pool_reading.player(self._store, pool, player)

    def history(self, pool: str, player: str, *, cursor: str | None, limit: int) -> PlayerHistory:
        """Return a player's matches, newest first."""
        return pool_reading.player_history(self._store, pool, player, cursor=cursor, limit=limit)

    def course(self, pool: str, player: str, most: int) -> RatingCourse:
        """Return a player's last matches as columns."""
        return pool_people.rating_course(self._store, pool, player, most=most)

    def explain(self, pool: str, player: str, match: str | None) -> ExplainMessage:
        """Return why a match changed a player's rating."""
        return pool_explaining.explain_player(self._store, pool, player, match)

    def match(self, pool: str, match: str) -> MatchMessage:
        """Return a match."""
        return pool_reading.match(self._store, pool, match)

    def posted_match(self, pool: str, match: str) -> MatchRequest:
        """Return a match as it was posted or last corrected."""
        return match_preview.posted_match(self._store, pool, match)

    def matches(self, pool: str, *, cursor: str | None, limit: int) -> MatchPage:
        """Return matches, newest first."""
        return pool_reading.matches(self._store, pool, cursor=cursor, limit=limit)

    def balance(self, pool: str, request: BalanceRequest) -> BalanceMessage:
        """Return the teams of a lobby."""
        return pool_questions.balance_in_pool(self._store, pool, request)

    def ratings(self, pool: str, players: list[str]) -> dict[str, tuple[float, float | None]]:
        """Return rating and deviation of those players that the pool knows."""
        return pool_people.ratings_of_players(self._store, pool, players)

    def preview_match(self, pool: str, match: MatchRequest) -> MatchMessage:
        """Return what posting a match would do."""
        return match_preview.preview_match(self._store, pool, match, now())

    def post_match(self, pool: str, match: MatchRequest, *, key: int | None) -> MatchMessage:
        """Record and rate a match."""
        answer = posting.post_matches(self._store, pool, [posting.Post([match], key)], now())[0]
        if isinstance(answer, EquipoiseError):
            raise answer
        assert isinstance(answer, list)
        self._service.background.wake()
        return answer[0]

    def void_match(
        self, pool: str, match: str, request: ReasonRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        """Take a match out, or say what that would change."""
        return self._amend(amending.void_match, pool, match, request, key, preview)

    def restore_match(
        self, pool: str, match: str, request: ReasonRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        """Let a void match count again, or say what that would change."""
        return self._amend(amending.restore_match, pool, match, request, key, preview)

    def correct_match(
        self, pool: str, match: str, request: MatchRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        """Replace what was posted, or say what that would change."""
        return self._amend(amending.correct_match, pool, match, request, key, preview)

    def disqualify(
        self, pool: str, player: str, request: DisqualifyRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        """Stop rating a player from a time on, or say what that would change."""
        return self._amend(amending.disqualify, pool, player, request, key, preview)

    def reinstate(
        self, pool: str, player: str, request: DisqualifyRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        """Rate a player again from a time on, or say what that would change."""
        return self._amend(amending.reinstate, pool, player, request, key, preview)

    def _amend(
        self,
        workflow: Callable[..., AmendmentMessage],
        pool: str,
        about: str,
        request: Any,
        key: int | None,
        preview: bool,
    ) -> AmendmentMessage:
        found = workflow(self._store, pool, about, request, key=key, now=now(), preview=preview)
        if not preview:
            self._service.background.wake()
        return found

    def amendment(self, pool: str, seq: int) -> AmendmentMessage:
        """Return an amendment."""
        return amending.amendment(self._store, pool, seq)

    def amendments(self, pool: str, *, cursor: str | None, limit: int) -> AmendmentPage:
        """Return amendments, newest first."""
        return amending.amendments(self._store, pool, cursor=cursor, limit=limit)

    def keys(self) -> list[KeyMessage]:
        """Return all keys."""
        return keys.all_keys(self._store).keys

    def create_key(
        self, name: str, role: Role, pool: str | None, expires: str | None, *, by: int | None
    ) -> NewKeyMessage:
        """Make a key."""
        request = KeyRequest(name=name, role=role, pool=pool, expires=expires)
        return keys.make_key(self._store, request, now(), by=by)

    def revoke_key(self, key: int, *, by: int | None) -> KeyMessage:
        """End a key."""
        found = keys.end_key(self._store, key, now(), by=by)
        self._service.access.forget()
        return found


class _Overviews:
    """Overviews as they were made last: they cost more than other answers, and change slowly."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._made: OrderedDict[str, tuple[float, object, OverviewMessage]] = OrderedDict()

    def of(self, store: Store, pool: str) -> OverviewMessage:
        """Return the overview of a pool; one from before a replay or a new pool is never shown."""
        there = pools.pool_message(store, pool)
        made_of = (there.created, there.generation)
        with self._lock:
            found = self._made.get(pool)
        at = self._clock()
        if found is not None and found[1] == made_of and at - found[0] < _FRESH:
            return found[2]
        made = pool_overview.overview(store, pool)
        with self._lock:
            self._made[pool] = (at, made_of, made)
            self._made.move_to_end(pool)
            while len(self._made) > _REMEMBERED:
                self._made.popitem(last=False)
        return made
