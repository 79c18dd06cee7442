"""A call of the service: its request, when it is tried again, and its answer.

Nothing here sends anything: `Client` and `AsyncClient` do, by the same rules.
"""

from __future__ import annotations

import random
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Generic, Literal, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

from equipoise.errors import (
    AccessError,
    ConflictError,
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    PluginError,
    Problem,
    UnavailableError,
    require,
)
from equipoise.messages.conversion import ErrorBody, ErrorMessage
from equipoise.messages.histories import ExplainMessage, PerformanceMessage, StrengthsMessage
from equipoise.messages.matches import (
    AgainstMessage,
    AmendmentMessage,
    AmendmentPage,
    DisqualifyRequest,
    Effect,
    Id,
    LeaderboardMessage,
    MatchMessage,
    MatchPage,
    MatchRequest,
    Moment,
    PlayerHistory,
    PlayerMessage,
    PlayerSummary,
    PoolOverview,
    PostedMessage,
    ReasonRequest,
    ReinstateRequest,
    RenameRequest,
    StreamLine,
)
from equipoise.messages.pools import (
    DeletedPool,
    InitialMessage,
    InitialPage,
    InitialRequest,
    PoolChange,
    PoolList,
    PoolMessage,
    PoolRequest,
    ProfileRequest,
    ProfilesMessage,
    ProfilesRequest,
    SeasonList,
    SeasonMessage,
    SeasonPreview,
    SeasonRequest,
)
from equipoise.messages.questions import (
    BalanceMessage,
    BalanceRequest,
    PredictMessage,
    PredictRequest,
    RebalanceMessage,
    TickMessage,
)
from equipoise.messages.upkeep import (
    KEEP_SECONDS,
    AuditPage,
    ErasureMessage,
    EventKind,
    KeyList,
    KeyMessage,
    KeyRequest,
    NewKeyMessage,
    NewWebhookMessage,
    Role,
    RotationRequest,
    WebhookList,
    WebhookMessage,
    WebhookRequest,
    WebhookTestMessage,
)

T = TypeVar("T")

JSON = "application/json"
NDJSON = "application/x-ndjson"

Value: TypeAlias = str | int | float | bool | None
#: Values of a parameter of a query; a list repeats the parameter.
Values: TypeAlias = Value | list[str] | tuple[str, ...]

#: Statuses: the service rejected the request before doing anything.
_REJECTED = frozenset({429})
#: Statuses: the service was unreachable or busy; it may have carried out the request.
_UNAVAILABLE = frozenset({502, 503, 504})
#: Characters that are shown of an answer that is not JSON.
_SHOWN = 200

#: Decoders of answers by shape, each made at its first use.
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """A request, and how its answer is read.

    repeatable : the request has the same effect if it is sent twice, so it is sent again when no
        answer came. Others are sent again only if the service cannot have received them
    patience : seconds that the service may take beyond the timeout, for a call with `wait`
    lines_before : lines of the stream before the body; errors count lines from the first of them
    """

    method: str
    path: str
    read: Callable[[bytes], T]
    query: Mapping[str, Values] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    repeatable: bool = True
    patience: float = 0.0
    lines_before: int = 0

    @property
    def target(self) -> str:
        """Path and query as they are sent; None values are left out."""
        parameters = [
            f"{_quoted(name)}={_quoted(_word(item))}"
            for name, value in self.query.items()
            for item in (value if isinstance(value, (list, tuple)) else [value])
            if item is not None
        ]
        return f"{self.path}?{'&'.join(parameters)}" if parameters else self.path

    def page(self, cursor: str) -> Call[T]:
        """Return the call for the page at a cursor, which replaces `around`."""
        return replace(self, query={**self.query, "around": None, "cursor": cursor})


def json_call(
    method: str,
    path: str,
    answer: type[T],
    content: Any = None,
    *,
    query: Mapping[str, Values] | None = None,
    repeatable: bool = True,
    patience: float = 0.0,
) -> Call[T]:
    """Return a call with an answer in JSON, and a body in JSON if there is content."""
    return Call(
        method=method,
        path=path,
        read=json_of(answer),
        query=query or {},
        body=None if content is None else msgspec.json.encode(content),
        repeatable=repeatable,
        patience=patience,
    )


def json_of(answer: type[T]) -> Callable[[bytes], T]:
    """Return the function that reads an answer with this shape."""
    if answer not in _DECODERS:
        _DECODERS[answer] = msgspec.json.Decoder(answer)
    read: Callable[[bytes], T] = _DECODERS[answer].decode
    return read


def in_pool(pool: str, *parts: Id) -> str:
    """Return a path below a pool."""
    return "/".join(["/v1/pools", _segment(pool), *(_segment(part) for part in parts)])


def _segment(part: Id) -> str:
    """Return an id as one segment of a path."""
    text = str(part)
    require(bool(text), "an id", "at least one character long", text)
    # HTTP clients would resolve "." and ".." as steps in the path.
    return _quoted(text) if text.strip(".") else text.replace(".", "%2E")


def _quoted(text: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise InvalidParameterError(f"text must be valid Unicode; got {text!r}") from error


def _word(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the service, its content still as bytes."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer came; `unseen` : the service cannot have received the request."""

    reason: str
    unseen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often and when a call is repeated if the service is unreachable or busy.

    attempts : total number of attempts; 1 never repeats
    first, longest : seconds before the second attempt, doubled for each further one up to
        `longest`; each pause is random between half and all of it, so that many clients do not
        return at once
    patience : longest Retry-After in seconds that is waited for; with a longer one the call fails
    chance : the random generator of the pauses
    """

    attempts: int = 6
    first: float = 0.1
    longest: float = 5.0
    patience: float = 60.0
    chance: random.Random = field(default_factory=random.Random, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.attempts >= 1, "attempts", "at least 1", self.attempts)
        require(self.first >= 0, "first", "at least 0 seconds", self.first)
        require(self.longest >= 0, "longest", "at least 0 seconds", self.longest)
        require(self.patience >= 0, "patience", "at least 0 seconds", self.patience)

    def pause(self, call: Call[Any], attempt: int, outcome: Reply | Failure) -> float | None:
        """Return the seconds until the call is sent again, None if it is not.

        attempt : number of times that it was sent
        """
        if attempt >= self.attempts or not _may_repeat(call, outcome):
            return None
        usual = min(self.longest, self.first * 2.0 ** (attempt - 1))
        usual *= self.chance.uniform(0.5, 1.0)
        wanted = _retry_after(outcome)
        if wanted is None:
            return usual
        return max(wanted, usual) if wanted <= self.patience else None


def _may_repeat(call: Call[Any], outcome: Reply | Failure) -> bool:
    if isinstance(outcome, Failure):
        return call.repeatable or outcome.unseen
    return outcome.status in _REJECTED or (call.repeatable and outcome.status in _UNAVAILABLE)


def _retry_after(outcome: Reply | Failure) -> float | None:
    """Return Retry-After in seconds, which may be a number or a time; None if there is none."""
    if isinstance(outcome, Failure):
        return None
    text = outcome.headers.get("retry-after", "").strip()
    if text.isdecimal() and text.isascii():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except ValueError:
        return None


def read_answer(call: Call[T], outcome: Reply | Failure) -> T:
    """Return the answer to a call. Raises : the error that the service answered with."""
    if isinstance(outcome, Failure):
        raise UnavailableError(f"{call.method} {call.path}: {outcome.reason}")
    if not 200 <= outcome.status < 300:
        raise error_of(outcome, call.lines_before)
    try:
        return call.read(outcome.content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnavailableError(
            f"{call.method} {call.path}: this version of the client does not understand the "
            f"answer: {error}"
        ) from error


def error_of(reply: Reply, lines_before: int = 0) -> EquipoiseError:
    """Return the error in an answer."""
    try:
        body = msgspec.json.decode(reply.content, type=ErrorMessage).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        shown = reply.content[:_SHOWN].decode(errors="replace").strip()
        message = f"the service answered with status {reply.status}: {shown or 'no content'}"
        return (AccessError if reply.status in (401, 403) else UnavailableError)(message)
    return error_from(body, lines_before)


def error_from(body: ErrorBody, lines_before: int = 0) -> EquipoiseError:
    """Return the error of a message.

    lines_before : lines of the stream before those that the error counts
    """
    if body.code == InvalidDataError.code:
        error: EquipoiseError = _invalid_data(body, lines_before)
    elif body.code == ConvergenceError.code:
        error = _no_convergence(body)
    else:
        error = _KINDS.get(body.code, EquipoiseError)(body.message)
    # One class may have several codes; the code names the error.
    error.code = body.code
    return error


def stream_lines(
    content: bytes, lines_before: int
) -> tuple[list[StreamLine], EquipoiseError | None]:
    """Return the answer to a batch of a stream, and the error that ended it, if any.

    Lines are counted from the start of the stream, which has `lines_before` lines before the batch.
    """
    lines: list[StreamLine] = []
    for text in content.splitlines():
        line = msgspec.json.decode(text, type=_Line)
        if line.error is not None:
            return lines, error_from(line.error, lines_before)
        through = line.through + lines_before
        lines.append(StreamLine(through, line.new, line.known, line.seq, line.unused))
    return lines, None


class _Line(msgspec.Struct):
    """A line of the answer to a stream: numbers, or the error that ended it."""

    error: ErrorBody | None = None
    through: int = 0
    new: int = 0
    known: int = 0
    seq: int = 0
    unused: list[str] = []


def _invalid_data(body: ErrorBody, lines_before: int) -> EquipoiseError:
    problems = [
        Problem(
            problem.file,
            None if problem.line is None else problem.line + lines_before,
            problem.field,
            problem.rule,
            problem.got,
        )
        for problem in body.problems
    ]
    return InvalidDataError(problems, body.message)


def _no_convergence(body: ErrorBody) -> EquipoiseError:
    text = re.fullmatch(
        r"(.*) did not converge in (\d+) iterations \(residual (\S+)\)", body.message
    )
    if text is None:
        return EquipoiseError(body.message)
    return ConvergenceError(text[1], int(text[2]), float(text[3]))


#: Classes of the errors that consist of a code and a message.
_KINDS: dict[str, type[EquipoiseError]] = {
    "conflict": ConflictError,
    "forbidden": AccessError,
    "internal": UnavailableError,
    "invalid-parameter": InvalidParameterError,
    "not-found": NotFoundError,
    "overloaded": UnavailableError,
    "plugin": PluginError,
    "timed-out": UnavailableError,
    "too-many-requests": UnavailableError,
    "unauthorised": AccessError,
    "unavailable": UnavailableError,
    "unconfirmed": UnavailableError,
}


What: TypeAlias = Literal["log", "ratings", "changes"]
Format: TypeAlias = Literal["parquet", "csv", "ndjson"]


def create_pool(pool: str, request: PoolRequest) -> Call[PoolMessage]:
    """Create a pool. The same request again changes nothing."""
    return json_call("PUT", in_pool(pool), PoolMessage, request)


def pool(pool: str) -> Call[PoolMessage]:
    """Return the settings and the current state of a pool."""
    return json_call("GET", in_pool(pool), PoolMessage)


def change_pool(pool: str, change: PoolChange) -> Call[PoolMessage]:
    """Change settings of a pool. Settings that are left out keep their values.

    Other parameters of the entry and level rate the whole log again, in the background.
    """
    return json_call("PATCH", in_pool(pool), PoolMessage, change)


def preview_change(pool: str, change: PoolChange) -> Call[AmendmentMessage]:
    """Return which ratings a change of settings would change. Nothing changes."""
    return json_call("PATCH", in_pool(pool), AmendmentMessage, change, query={"preview": True})


def set_initial_ratings(pool: str, request: InitialRequest) -> Call[InitialMessage]:
    """Set the known ratings with which players of a pool begin, before its first match.

    The same request again changes nothing.
    """
    return json_call("PUT", in_pool(pool, "initial-ratings"), InitialMessage, request)


def initial_ratings(
    pool: str, *, cursor: str | None = None, limit: int | None = None
) -> Call[InitialPage]:
    """Return a page of the known ratings with which players of a pool began."""
    query = {"cursor": cursor, "limit": limit}
    return json_call("GET", in_pool(pool, "initial-ratings"), InitialPage, query=query)


def set_profiles(
    pool: str, profiles: Sequence[ProfileRequest], reason: str = ""
) -> Call[ProfilesMessage]:
    """Set names and other profiles of at most 10,000 players, all or none.

    The same profiles again change nothing.
    """
    request = ProfilesRequest(list(profiles), reason)
    return json_call("PUT", in_pool(pool, "profiles"), ProfilesMessage, request)


def delete_pool(pool: str, confirm: str) -> Call[DeletedPool]:
    """Delete a pool permanently; confirm : its name, repeated."""
    return json_call(
        "DELETE", in_pool(pool), DeletedPool, query={"confirm": confirm}, repeatable=False
    )


def pools() -> Call[PoolList]:
    """Return the pools that the key may read."""
    return json_call("GET", "/v1/pools", PoolList)


def export(pool: str, what: What, format: Format, raw: bool) -> Call[bytes]:
    """Return the log, the ratings or the changes of a pool as a file.

    raw : whether text that spreadsheets run is left as it is in CSV
    """
    return Call(
        method="GET",
        path=in_pool(pool, "export"),
        read=bytes,
        query={"what": what, "format": format, "raw": raw or None},
    )


def post_match(pool: str, match: MatchRequest) -> Call[MatchMessage]:
    """Post one match, and return it with the changes of ratings."""
    return json_call("POST", in_pool(pool, "matches"), MatchMessage, match)


def post_matches(pool: str, matches: Sequence[MatchRequest]) -> Call[PostedMessage]:
    """Post many matches at once. Either all are recorded or none."""
    return json_call("POST", in_pool(pool, "matches"), PostedMessage, list(matches))


def stream_batch(
    pool: str, matches: Sequence[MatchRequest], before: int
) -> Call[tuple[list[StreamLine], EquipoiseError | None]]:
    """Post a batch of a stream, and return the answer and the error that ended it, if any.

    before : number of matches of the stream before the batch
    """
    return Call(
        method="POST",
        path=in_pool(pool, "matches"),
        read=lambda content: stream_lines(content, before),
        body=msgspec.json.Encoder().encode_lines(matches),
        content_type=NDJSON,
        lines_before=before,
    )


def match(
    pool: str,
    match: Id,
    *,
    cursor: str | None = None,
    limit: int | None = None,
    around: Id | None = None,
) -> Call[MatchMessage]:
    """Return a match as it counts now; of a match of over a thousand players only a part.

    limit : maximum number of players listed; around : the player in their middle
    """
    query = {"cursor": cursor, "limit": limit, "around": around}
    return json_call("GET", in_pool(pool, "matches", match), MatchMessage, query=query)


def matches(
    pool: str, *, cursor: str | None = None, limit: int | None = None, around: Id | None = None
) -> Call[MatchPage]:
    """Return a page of the pool's matches, newest first; around : the page with this match."""
    query = {"cursor": cursor, "limit": limit, "around": around}
    return json_call("GET", in_pool(pool, "matches"), MatchPage, query=query)


def correct_match(
    pool: str, match: Id, content: MatchRequest, *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Replace the content of a match; the log keeps the posted one."""
    return _amend("PUT", in_pool(pool, "matches", match), content, preview, wait)


def void_match(
    pool: str, match: Id, reason: str = "", *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Void a match.

    preview : return what it would change, and change nothing; wait : seconds to wait for the replay
    """
    path = in_pool(pool, "matches", match, "void")
    return _amend("POST", path, ReasonRequest(reason), preview, wait)


def restore_match(
    pool: str, match: Id, reason: str = "", *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Restore a voided match."""
    path = in_pool(pool, "matches", match, "restore")
    return _amend("POST", path, ReasonRequest(reason), preview, wait)


def disqualify(
    pool: str,
    player: Id,
    since: Moment | None = None,
    reason: str = "",
    *,
    effect: Effect | None = None,
    match: Id | None = None,
    preview: bool = False,
    wait: float | None = None,
) -> Call[AmendmentMessage]:
    """Disqualify a player from a time on; without one, from now on.

    effect : "without" rates the matches without the player, "keep" as they were played, "void" not
        at all. None for "keep" if the player played in teams, otherwise "without"
    match : only from this match, instead
    """
    path = in_pool(pool, "players", player, "disqualify")
    return _amend("POST", path, DisqualifyRequest(since, reason, match, effect), preview, wait)


def reinstate(
    pool: str,
    player: Id,
    since: Moment | None = None,
    reason: str = "",
    *,
    match: Id | None = None,
    preview: bool = False,
    wait: float | None = None,
) -> Call[AmendmentMessage]:
    """Reinstate a player from a time on; match : only in this match, instead."""
    path = in_pool(pool, "players", player, "reinstate")
    return _amend("POST", path, ReinstateRequest(since, reason, match), preview, wait)


def rename_player(
    pool: str,
    player: Id,
    to: Id,
    reason: str = "",
    *,
    preview: bool = False,
    wait: float | None = None,
) -> Call[AmendmentMessage]:
    """Give a player another id; if another player has it, both become one player."""
    path = in_pool(pool, "players", player, "rename")
    return _amend("POST", path, RenameRequest(to, reason), preview, wait)


def erase_player(
    pool: str, player: Id, reason: str = "", *, preview: bool = False
) -> Call[ErasureMessage]:
    """Replace a player's name with a pseudonym in a pool and the archives of its seasons.

    It cannot be undone. preview : count what would be rewritten, and change nothing
    """
    return json_call(
        "POST",
        in_pool(pool, "players", player, "erase"),
        ErasureMessage,
        ReasonRequest(reason),
        query={"preview": preview or None},
        repeatable=preview,
    )


def amendment(pool: str, seq: int) -> Call[AmendmentMessage]:
    """Return an amendment, and once it is done, what it changed."""
    return json_call("GET", in_pool(pool, "amendments", seq), AmendmentMessage)


def amendments(
    pool: str, *, cursor: str | None = None, limit: int | None = None
) -> Call[AmendmentPage]:
    """Return a page of the pool's amendments, newest first."""
    return json_call(
        "GET", in_pool(pool, "amendments"), AmendmentPage, query={"cursor": cursor, "limit": limit}
    )


def replay(pool: str) -> Call[PoolMessage]:
    """Request a replay of the complete log of a pool, in the background."""
    return json_call("POST", in_pool(pool, "replay"), PoolMessage)


def _amend(
    method: str, path: str, content: Any, preview: bool, wait: float | None
) -> Call[AmendmentMessage]:
    """Return the call for an amendment, which sent twice would be recorded twice, or refused."""
    return json_call(
        method,
        path,
        AmendmentMessage,
        content,
        query={"preview": preview or None, "wait": wait},
        repeatable=preview,
        patience=wait or 0.0,
    )


def end_season(pool: str, request: SeasonRequest) -> Call[SeasonMessage]:
    """End a season: the pool becomes an archive, and a new pool takes its name."""
    return json_call("POST", in_pool(pool, "seasons"), SeasonMessage, request)


def preview_season(pool: str, request: SeasonRequest) -> Call[SeasonPreview]:
    """Return what the end of a season would do. The season does not end."""
    query = {"preview": True}
    return json_call("POST", in_pool(pool, "seasons"), SeasonPreview, request, query=query)


def seasons(pool: str) -> Call[SeasonList]:
    """Return the seasons of a pool that have ended, newest first."""
    return json_call("GET", in_pool(pool, "seasons"), SeasonList)


def webhooks(pool: str) -> Call[WebhookList]:
    """Return the webhooks of a pool, with the state of their deliveries."""
    return json_call("GET", in_pool(pool, "webhooks"), WebhookList)


def create_webhook(
    pool: str, url: str, events: Sequence[EventKind] = ()
) -> Call[NewWebhookMessage]:
    """Create a webhook. Its secret is in this answer only."""
    request = WebhookRequest(url=url, events=list(events))
    return json_call(
        "POST", in_pool(pool, "webhooks"), NewWebhookMessage, request, repeatable=False
    )


def disable_webhook(pool: str, webhook: int) -> Call[WebhookMessage]:
    """Disable a webhook. It receives no more events."""
    return json_call("POST", in_pool(pool, "webhooks", webhook, "disable"), WebhookMessage)


def enable_webhook(pool: str, webhook: int) -> Call[WebhookMessage]:
    """Enable a webhook, which receives events from now on."""
    return json_call("POST", in_pool(pool, "webhooks", webhook, "enable"), WebhookMessage)


def delete_webhook(pool: str, webhook: int) -> Call[WebhookMessage]:
    """Delete a webhook permanently."""
    return json_call("DELETE", in_pool(pool, "webhooks", webhook), WebhookMessage, repeatable=False)


def test_webhook(pool: str, webhook: int) -> Call[WebhookTestMessage]:
    """Send a webhook a test message, and return the result."""
    return json_call("POST", in_pool(pool, "webhooks", webhook, "test"), WebhookTestMessage)


def audit(
    pool: str | None = None, *, cursor: str | None = None, limit: int | None = None
) -> Call[AuditPage]:
    """Return a page of the audit log, newest first."""
    query = {"pool": pool, "cursor": cursor, "limit": limit}
    return json_call("GET", "/v1/audit", AuditPage, query=query)


def leaderboard(
    pool: str,
    *,
    cursor: str | None = None,
    limit: int | None = None,
    provisional: bool | None = None,
    inactive: bool | None = None,
    around: Id | None = None,
    disqualified: Literal["last", "ranked"] | None = None,
    context: str | None = None,
) -> Call[LeaderboardMessage]:
    """Return a page of the leaderboard.

    provisional, inactive : include these players; around : return the page with this player
    disqualified : "last" lists them after all others, without a place; "ranked" by rating
    context : show and sort ratings in this context, such as a surface or map
    """
    return json_call(
        "GET",
        in_pool(pool, "leaderboard"),
        LeaderboardMessage,
        query={
            "cursor": cursor,
            "limit": limit,
            "provisional": provisional,
            "inactive": inactive,
            "around": around,
            "disqualified": disqualified,
            "context": context,
        },
    )


def overview(pool: str) -> Call[PoolOverview]:
    """Return the distribution of a pool's ratings, its upsets, movers and records."""
    return json_call("GET", in_pool(pool, "overview"), PoolOverview)


def player(pool: str, player: Id, at: Moment | None = None) -> Call[PlayerMessage]:
    """Return a player of a pool; at : time for which the numbers are given."""
    return json_call("GET", in_pool(pool, "players", player), PlayerMessage, query={"at": at})


def player_history(
    pool: str,
    player: Id,
    *,
    cursor: str | None = None,
    limit: int | None = None,
    around: Id | None = None,
) -> Call[PlayerHistory]:
    """Return a page of a player's rated matches, newest first; around : that with this match."""
    query = {"cursor": cursor, "limit": limit, "around": around}
    return json_call("GET", in_pool(pool, "players", player, "history"), PlayerHistory, query=query)


def player_summary(pool: str, player: Id) -> Call[PlayerSummary]:
    """Return what a player's rated matches say together: peak, record, streaks, rivals."""
    return json_call("GET", in_pool(pool, "players", player, "summary"), PlayerSummary)


def against(
    pool: str, player: Id, other: Id, *, cursor: str | None = None, limit: int | None = None
) -> Call[AgainstMessage]:
    """Return the matches of two players against each other, and the chances if they met now."""
    path = in_pool(pool, "players", player, "against", other)
    return json_call("GET", path, AgainstMessage, query={"cursor": cursor, "limit": limit})


def explain(pool: str, player: Id, match: Id | None = None) -> Call[ExplainMessage]:
    """Return why a match changed a player's rating; match : None for the last one."""
    return json_call(
        "GET", in_pool(pool, "players", player, "explain"), ExplainMessage, query={"match": match}
    )


def predict(pool: str, request: PredictRequest) -> Call[PredictMessage]:
    """Return the prediction of a match."""
    return json_call("POST", in_pool(pool, "predict"), PredictMessage, request)


def balance(pool: str, request: BalanceRequest) -> Call[BalanceMessage]:
    """Return fair teams of a lobby."""
    return json_call("POST", in_pool(pool, "balance"), BalanceMessage, request)


def rebalance(request: Mapping[str, Any], **options: Values) -> Call[RebalanceMessage]:
    """Return even teams of matched parties.

    request : in the format of `equipoise rebalance`; options : those of the command
    """
    return json_call("POST", "/v1/rebalance", RebalanceMessage, dict(request), query=options)


def matchmaking_tick(request: Mapping[str, Any]) -> Call[TickMessage]:
    """Return who of a queue plays with whom.

    request : in the format of `equipoise matchmaking tick`; `pool` names a pool for its ratings
    """
    return json_call("POST", "/v1/matchmaking/tick", TickMessage, dict(request))


def performance(games: bytes, format: str, **options: Values) -> Call[PerformanceMessage]:
    """Return the performance table of a tournament.

    games : content of a file; format : "pgn", "trf", "csv", ...
    options : those of `equipoise performance`
    """
    return Call(
        method="POST",
        path="/v1/performance",
        read=json_of(PerformanceMessage),
        query={"format": format, **options},
        body=games,
        content_type="application/octet-stream",
    )


def strengths(history: bytes, format: str, **options: Values) -> Call[StrengthsMessage]:
    """Return the strengths of players from rankings and choices.

    history : content of a table of matches; format : "csv", "tsv", "jsonl" or "json"
    options : those of `equipoise strengths`
    """
    return Call(
        method="POST",
        path="/v1/strengths",
        read=json_of(StrengthsMessage),
        query={"format": format, **options},
        body=history,
        content_type="application/octet-stream",
    )


def keys() -> Call[KeyList]:
    """Return all keys, without their secrets."""
    return json_call("GET", "/v1/keys", KeyList)


def create_key(
    name: str,
    role: Role,
    pool: str | None = None,
    expires: Moment | None = None,
    *,
    token: str | None = None,
) -> Call[NewKeyMessage]:
    """Create a key. Only this answer has its secret.

    token : random text. A repeated request with the same token creates only one key, and every
        answer has its secret. By default the client makes a new one, for its own retries
    """
    request = KeyRequest(name, role, pool, expires, token or _new_token())
    return json_call("POST", "/v1/keys", NewKeyMessage, request)


def rotate_key(
    key: int, keep_seconds: int = KEEP_SECONDS, *, token: str | None = None
) -> Call[NewKeyMessage]:
    """Give a key a new secret. The previous secret remains valid for `keep_seconds`.

    token : as in `create_key`
    """
    request = RotationRequest(keep_seconds, token or _new_token())
    return json_call("POST", f"/v1/keys/{key:d}/rotate", NewKeyMessage, request)


def _new_token() -> str:
    return secrets.token_urlsafe(24)


def revoke_key(key: int) -> Call[KeyMessage]:
    """Revoke a key permanently."""
    return json_call("POST", f"/v1/keys/{key:d}/revoke", KeyMessage)


def metrics() -> Call[str]:
    """Return the metrics of the service, as Prometheus reads them."""
    return Call(method="GET", path="/metrics", read=bytes.decode)


def openapi() -> Call[dict[str, Any]]:
    """Return the description of the API as OpenAPI."""
    return Call(method="GET", path="/openapi.json", read=json_of(dict[str, Any]))


def ready() -> Call[bool]:
    """Return True. The call fails while the service is not ready."""
    return Call(method="GET", path="/readyz", read=lambda _: True)
