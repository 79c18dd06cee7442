"""Webhooks are told everything, in order, whatever their receivers do."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

pytest.importorskip("prometheus_client")

from equipoise.errors import ConflictError
from equipoise.messages.matches import MatchMessage, MatchRequest, ReasonRequest, TeamRequest
from equipoise.messages.pools import PoolRequest, SeasonRequest
from equipoise.messages.upkeep import WebhookMessage, WebhookRequest
from equipoise.pools.amending import correct_match, void_match
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.replay.replaying import maintain_pool
from equipoise.pools.seasons import end_season
from equipoise.pools.webhooks import (
    create_webhook,
    delete_webhook,
    disable_far_behind,
    disable_webhook,
    enable_webhook,
    forget_delivered,
    list_webhooks,
)
from equipoise.store import webhooks
from equipoise.store.connection import Store, open_store
from equipoise.store.keys import audit_rows_before
from equipoise.store.pools import get_pool
from equipoise.web.monitoring import Metrics
from equipoise.web.settings import ServiceSettings
from equipoise.web.webhooks import OutboxSender, backoff
from trials.pace import allow
from web.inbox import Inbox, Received, eventually

NOW = 1_900_000_000_000_000

StartSender = Callable[..., OutboxSender]


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = open_store(database_url)
    create_pool(opened, "ladder", PoolRequest(system="elo", late="replay"), NOW)
    yield opened
    opened.close()


@pytest.fixture
def start(store: Store) -> Iterator[StartSender]:
    """Give a function that starts a sender of little patience."""
    started: list[OutboxSender] = []
    seconds = allow(0.4)

    def begin(**limits: Any) -> OutboxSender:
        settings = ServiceSettings(webhook_seconds=seconds, private_webhooks=True, **limits)
        started.append(OutboxSender(store, settings, Metrics(), first=0.05))
        started[-1].start()
        return started[-1]

    yield begin
    for one in started:
        one.stop()


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with Inbox() as found:
        yield found


def hook(store: Store, inbox: Inbox, *events: str) -> str:
    """Make a webhook and return its secret."""
    request = WebhookRequest(url=inbox.url, events=list(events))  # type: ignore[arg-type]
    made = create_webhook(store, "ladder", request, key=None, now=NOW, private=True)
    return made.secret


def duel(number: int, time: int | None = None) -> MatchRequest:
    teams = [TeamRequest([f"p{number % 3}"], 0), TeamRequest([f"p{(number + 1) % 3}"], 1)]
    return MatchRequest(f"m{number}", teams, time=1000 + number if time is None else time)


def post(store: Store, *numbers: int) -> list[MatchMessage]:
    (answer,) = post_matches(store, "ladder", [Post([duel(n) for n in numbers])], NOW)
    assert isinstance(answer, list)
    return answer


def state(store: Store) -> WebhookMessage:
    """Return how the webhook made last does."""
    return list_webhooks(store, "ladder").webhooks[0]


def is_signed(one: Received, secret: str) -> bool:
    """Verify a message as the guide shows."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    head = f"{one.headers['webhook-id']}.{one.headers['webhook-timestamp']}."
    expected = base64.b64encode(hmac.digest(key, head.encode() + one.body, hashlib.sha256))
    return one.headers["webhook-signature"] == f"v1,{expected.decode()}"


def matches_of(told: list[dict[str, dict[str, str]]]) -> list[str]:
    return [one["data"]["match"] for one in told]


def test_sends_signed_events_in_order(store: Store, inbox: Inbox, start: StartSender) -> None:
    """A post, amendments with their replay, a late match, the end of a season, a post after it.

    A match that counts no longer when it is its turn is left out.
    """
    post(store, 0)
    secret = hook(store, inbox)
    answers = post(store, 1, 2, 3)
    void_match(store, "ladder", "m1", ReasonRequest(), key=None, now=NOW)
    unrated = msgspec.structs.replace(duel(3), rated=False)
    correct_match(store, "ladder", "m3", unrated, key=None, now=NOW)
    post_matches(store, "ladder", [Post([duel(9, time=5)])], NOW)
    maintain_pool(store, "ladder", owner="me", stop=lambda: False)
    end_season(store, "ladder", SeasonRequest(season="s1"), key=None, now=NOW)
    post(store, 20)
    start()
    told = inbox.waits_for(6)
    assert [one["type"] for one in told] == [
        "match.rated",
        "match.rated",
        "match.rated",
        "ratings.corrected",
        "season.ended",
        "match.rated",
    ]
    assert [one["pool"] for one in told] == ["ladder.s1"] * 5 + ["ladder"]
    assert told[1]["data"]["seq"] == answers[1].seq
    assert told[0]["data"]["status"] == "void"
    assert [one["kind"] for one in told[3]["data"]["amendments"]] == ["void", "correct"]
    assert told[4]["data"]["archive"] == "ladder.s1"
    assert all(is_signed(one, secret) for one in inbox.received)
    assert len({one.headers["webhook-id"] for one in inbox.received}) == 6
    assert not is_signed(inbox.received[0], "whsec_" + base64.b64encode(bytes(32)).decode())


def test_a_pool_has_twenty_enabled_webhooks_at_most(store: Store, inbox: Inbox) -> None:
    for _ in range(20):
        hook(store, inbox)
    one = state(store).webhook
    disable_webhook(store, "ladder", one, key=None, now=NOW)
    hook(store, inbox)
    with pytest.raises(ConflictError, match="already has 20 webhooks"):
        enable_webhook(store, "ladder", one, key=None, now=NOW)
    with pytest.raises(ConflictError, match="already has 20 webhooks"):
        hook(store, inbox)


def test_sends_only_chosen_events(store: Store, inbox: Inbox, start: StartSender) -> None:
    hook(store, inbox, "season.ended")
    post(store, 1, 2, 3)
    assert in_outbox(store) == 0
    end_season(store, "ladder", SeasonRequest(season="s1"), key=None, now=NOW)
    start()
    assert [one["type"] for one in inbox.waits_for(1)] == ["season.ended"]


def test_resends_in_order_after_failures(store: Store, inbox: Inbox, start: StartSender) -> None:
    """A message comes again with the same id until it is taken, and those after it wait."""
    inbox.answers = [200, 500, 302, 503]
    hook(store, inbox)
    post(store, 1, 2, 3)
    start()
    assert matches_of(inbox.waits_for(3)) == ["m1", "m2", "m3"]
    assert [one.told["data"]["match"] for one in inbox.received] == ["m1", *["m2"] * 4, "m3"]
    assert len({one.headers["webhook-id"] for one in inbox.received}) == 3
    eventually(lambda: state(store).waiting == 0)
    found = state(store)
    assert (found.failures, found.failure, found.failing_since) == (0, None, None)
    assert in_outbox(store) == 0


def test_sends_missed_events_later(store: Store, inbox: Inbox, start: StartSender) -> None:
    inbox.stop()
    hook(store, inbox)
    start()
    post(store, 1, 2)
    eventually(lambda: state(store).failures >= 2)
    assert state(store).waiting == 2
    assert "Connect" in str(state(store).failure)
    inbox.start()
    assert matches_of(inbox.waits_for(2)) == ["m1", "m2"]


@pytest.mark.slow
def test_slow_receivers_delay_no_others(store: Store, inbox: Inbox, start: StartSender) -> None:
    """Posting and other webhooks go on; once it is quick again it gets all."""
    with Inbox(seconds=allow(2.0)) as slow:
        hook(store, slow)
        hook(store, inbox)
        start()
        post(store, 1)
        inbox.waits_for(1)
        for number in range(2, 7):
            post(store, number)
        assert len(inbox.waits_for(6)) == 6
        assert slow.received == []  # It has not answered for the first time yet.
        eventually(lambda: list_webhooks(store, "ladder").webhooks[1].failures >= 1)
        assert "no answer within" in str(list_webhooks(store, "ladder").webhooks[1].failure)
        slow.seconds = 0.0
        del slow.received[:]
        eventually(lambda: list_webhooks(store, "ladder").webhooks[1].waiting == 0)
        seen = list(dict.fromkeys(matches_of(slow.taken)))
        assert seen[-5:] == ["m2", "m3", "m4", "m5", "m6"]


@pytest.mark.slow
def test_names_that_resolve_slowly_hold_up_nobody_else(
    store: Store, inbox: Inbox, start: StartSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve, seconds, ended = socket.getaddrinfo, allow(2.0), []

    def slow(host: str, *rest: Any, **more: Any) -> Any:
        if str(host).endswith(".slow"):
            time.sleep(seconds)
            ended.append(host)
            raise socket.gaierror
        return resolve(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    for number in range(15):
        request = WebhookRequest(url=f"http://n{number}.slow/")
        create_webhook(store, "ladder", request, key=None, now=NOW, private=True)
    hook(store, inbox)
    post(store, 1)
    start()
    inbox.waits_for(1)
    assert ended == []


@pytest.mark.slow
def test_next_sender_resends_events(store: Store, inbox: Inbox, start: StartSender) -> None:
    """Who stops leaves the webhook at once; whoever was killed holds it until the lease is over."""
    hook(store, inbox)
    first = start()
    post(store, 1)
    inbox.waits_for(1)
    first.stop()
    post(store, 2)
    with store.write() as connection:
        number = webhooks.webhooks_of(connection, get_pool(connection, "ladder").id)[0].id
        until = time.time_ns() // 1000 + 700_000
        assert webhooks.claim(connection, number, "killed", until - 700_000, until) is not None
    start()
    assert matches_of(inbox.waits_for(2)) == ["m1", "m2"]
    assert time.time_ns() // 1000 >= until


def test_two_senders_tell_everything_once(store: Store, inbox: Inbox, start: StartSender) -> None:
    hook(store, inbox)
    start()
    start()
    for number in range(1, 21):
        post(store, number)
    assert matches_of(inbox.waits_for(20)) == [f"m{number}" for number in range(1, 21)]
    time.sleep(0.3)
    assert len(inbox.received) == 20


def test_disables_a_receiver_that_is_gone(store: Store, inbox: Inbox, start: StartSender) -> None:
    inbox.answers = [410]
    hook(store, inbox)
    post(store, 1)
    start()
    eventually(lambda: state(store).disabled is not None)
    post(store, 2)
    assert get_wanted(store) == 0
    assert state(store).waiting == 0
    assert state(store).failure == "the answer was 410"
    assert state(store).disabled_because == "the receiver has answered 410 Gone"


def in_outbox(store: Store) -> int:
    forget_delivered(store)
    with store.read() as connection:
        return webhooks.count_after(connection, get_pool(connection, "ladder").id, 0)


@pytest.mark.slow
def test_a_dead_receiver_has_an_end(store: Store, inbox: Inbox, start: StartSender) -> None:
    """After the days of the setting it is disabled, which is audited; nothing waits for it."""
    inbox.answers = [200] + [503] * 1000
    hook(store, inbox)
    start(webhook_days=0.5 / 86_400)
    post(store, 1, 2, 3)
    eventually(lambda: state(store).failing_since is not None)
    assert in_outbox(store) >= 2
    eventually(lambda: state(store).disabled is not None)
    found = state(store)
    assert str(found.disabled_because).endswith("days; the last failure: the answer was 503")
    assert found.failures >= 2
    assert in_outbox(store) == 0
    with store.read() as connection:
        (entry,) = [
            one
            for one in audit_rows_before(connection, "ladder", None, 9)
            if one.what == "webhook.disabled"
        ]
    assert "the answer was 503" in entry.detail
    assert entry.key is None


def test_the_outbox_is_bounded(store: Store, inbox: Inbox, start: StartSender) -> None:
    """A webhook that is too far behind is disabled, even if it has never failed for long."""
    with Inbox(answers=[503] * 1000) as dead:
        hook(store, dead)
        hook(store, inbox)
        number = state(store).webhook
        post(store, *range(1, 30))
        disable_far_behind(store, 29, NOW)
        assert all(one.disabled is None for one in list_webhooks(store, "ladder").webhooks)
        sender = start(webhook_waiting=28)
        eventually(lambda: list_webhooks(store, "ladder").webhooks[1].disabled is not None)
        sender.stop()
    why = list_webhooks(store, "ladder").webhooks[1].disabled_because
    assert str(why).startswith("more than 28 events waited")
    enable_webhook(store, "ladder", number, key=None, now=NOW)
    assert in_outbox(store) == 0


def test_a_disabled_webhook_holds_no_events_of_others(store: Store, inbox: Inbox) -> None:
    hook(store, inbox)
    hook(store, inbox)
    second, first = (one.webhook for one in list_webhooks(store, "ladder").webhooks)
    post(store, 1, 2)
    assert in_outbox(store) == 2
    told = disable_webhook(store, "ladder", first, key=None, now=NOW)
    assert disable_webhook(store, "ladder", first, key=None, now=NOW + 2) == told
    assert in_outbox(store) == 2
    delete_webhook(store, "ladder", second, key=None, now=NOW)
    assert in_outbox(store) == 0
    assert get_wanted(store) == 0
    enabled = enable_webhook(store, "ladder", first, key=None, now=NOW)
    assert (enabled.disabled, enabled.waiting, enabled.failures) == (None, 0, 0)
    post(store, 3)
    assert in_outbox(store) == 1
    gone = delete_webhook(store, "ladder", first, key=None, now=NOW + 1)
    assert gone.disabled is not None
    assert list_webhooks(store, "ladder").webhooks == []
    assert in_outbox(store) == 0


@pytest.mark.slow
def test_ends_delivery_when_deleted(store: Store, inbox: Inbox, start: StartSender) -> None:
    inbox.seconds = 0.05
    hook(store, inbox)
    post(store, *range(1, 200))
    start()
    inbox.waits_for(2)
    delete_webhook(store, "ladder", state(store).webhook, key=None, now=NOW)
    time.sleep(allow(1.5))
    seen = len(inbox.received)
    time.sleep(0.5)
    assert len(inbox.received) == seen < 100


def get_wanted(store: Store) -> int:
    with store.read() as connection:
        return get_pool(connection, "ladder").webhooks


def test_pauses_grow_up_to_a_day_and_differ() -> None:
    for failures in range(1, 60):
        longest = min(2.0 ** (failures - 1), 86_400.0)
        assert all(0.5 * longest <= backoff(failures) <= longest for _ in range(5))
    assert len({backoff(5) for _ in range(10)}) > 1
