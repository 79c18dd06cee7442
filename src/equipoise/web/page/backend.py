"""What the page needs to know and to do: the workflows of the service, bound to a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from equipoise.messages.amendments import (
    AmendmentMessage,
    AmendmentPage,
    DisqualifyRequest,
    ReasonRequest,
)
from equipoise.messages.balance import BalanceMessage
from equipoise.messages.explain import ExplainMessage
from equipoise.messages.keys import KeyMessage, NewKeyMessage, Role
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
from equipoise.web.page.operations import Operations

_Answer = TypeVar("_Answer")

_RANK: dict[str, int] = {"reader": 0, "writer": 1, "admin": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHolder:
    """Who signed in: the key's number, name and role, and its pool, None for all pools."""

    key: int
    name: str
    role: Role
    pool: str | None

    def has(self, role: Role) -> bool:
        """Return whether the key allows what a role may do, in whatever pool."""
        return _RANK[self.role] >= _RANK[role]

    def may(self, role: Role, pool: str, archive_of: str | None = None) -> bool:
        """Return whether the key allows what a role may do in a pool.

        archive_of : the key of a pool is good for its earlier seasons as well
        """
        return self.pool in (None, pool, archive_of) and self.has(role)

    @property
    def rules_all(self) -> bool:
        """Whether the key may make keys and pools."""
        return self.pool is None and self.role == "admin"


class Backend(Operations, Protocol):
    """The service as the page sees it. All may raise the errors of `equipoise.errors`.

    Everything is called in a worker thread, several calls at a time.
    """

    def together(self, read: Callable[[Backend], _Answer]) -> _Answer:
        """Return what a function reads from a backend all of whose answers are of one moment."""

    def key_holder(self, secret: str) -> KeyHolder | None:
        """Return whose key this is; None for one unknown, expired or revoked."""

    def pools(self) -> list[PoolMessage]:
        """Return all pools."""

    def pool(self, pool: str) -> PoolMessage:
        """Return one pool."""

    def overview(self, pool: str) -> OverviewMessage:
        """Return activity, ratings and drift of a pool."""

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

    def search_players(self, pool: str, text: str, limit: int) -> list[LeaderboardRow]:
        """Return players in whose id a text stands, best first; `place` may be null."""

    def player(self, pool: str, player: str) -> PlayerMessage:
        """Return a player."""

    def history(self, pool: str, player: str, *, cursor: str | None, limit: int) -> PlayerHistory:
        """Return a player's matches, newest first."""

    def course(self, pool: str, player: str, most: int) -> RatingCourse:
        """Return a player's last matches, at most so many, as columns."""

    def explain(self, pool: str, player: str, match: str | None) -> ExplainMessage:
        """Return why a match changed a player's rating, the last one where none is named."""

    def match(self, pool: str, match: str) -> MatchMessage:
        """Return a match."""

    def posted_match(self, pool: str, match: str) -> MatchRequest:
        """Return a match as it was posted or last corrected, to be corrected again."""

    def matches(self, pool: str, *, cursor: str | None, limit: int) -> MatchPage:
        """Return matches, newest first."""

    def balance(self, pool: str, request: BalanceRequest) -> BalanceMessage:
        """Return the teams of a lobby."""

    def ratings(self, pool: str, players: list[str]) -> dict[str, tuple[float, float | None]]:
        """Return rating and deviation of those players that the pool knows."""

    def preview_match(self, pool: str, match: MatchRequest) -> MatchMessage:
        """Return what posting a match would do, without doing it."""

    def post_match(self, pool: str, match: MatchRequest, *, key: int | None) -> MatchMessage:
        """Record and rate a match."""

    def void_match(
        self, pool: str, match: str, request: ReasonRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        """Take a match out, or say what that would change."""

    def restore_match(
        self, pool: str, match: str, request: ReasonRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        """Let a void match count again, or say what that would change."""

    def correct_match(
        self, pool: str, match: str, request: MatchRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        """Replace what was posted, or say what that would change."""

    def disqualify(
        self, pool: str, player: str, request: DisqualifyRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        """Stop rating a player from a time on, or say what that would change."""

    def reinstate(
        self, pool: str, player: str, request: DisqualifyRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        """Rate a player again from a time on, or say what that would change."""

    def amendment(self, pool: str, seq: int) -> AmendmentMessage:
        """Return an amendment."""

    def amendments(self, pool: str, *, cursor: str | None, limit: int) -> AmendmentPage:
        """Return amendments, newest first."""

    def keys(self) -> list[KeyMessage]:
        """Return all keys."""

    def create_key(
        self, name: str, role: Role, pool: str | None, expires: str | None, *, by: int | None
    ) -> NewKeyMessage:
        """Make a key; the secret is told once. by : number of the key that makes it."""

    def revoke_key(self, key: int, *, by: int | None) -> KeyMessage:
        """End a key."""
