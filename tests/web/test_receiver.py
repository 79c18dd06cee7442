"""Posting to addresses outside: one deadline, no redirects, nothing private."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest

from equipoise.errors import InvalidDataError
from equipoise.messages.webhooks import WebhookRequest
from equipoise.pools.events import signed_headers
from equipoise.pools.webhooks import create_webhook, is_public, new_secret
from equipoise.web.receiver import Outcome, Receiver
from web.inbox import Inbox


def posted(
    url: str, count: int = 1, *, private: bool = True, seconds: float = 1.0
) -> list[Outcome]:
    """Return what comes of posting to an address some times, one after the other."""

    async def all_of_it() -> list[Outcome]:
        receiver = Receiver(url, seconds, private)
        found = [await receiver.post({"webhook-id": str(n)}, b"{}") for n in range(count)]
        receiver.close()
        return found

    return asyncio.run(all_of_it())


def answering(content: bytes, pause: float = 0.0) -> str:
    """Return the address of something that answers so, byte by byte where there is a pause."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with listening, listening.accept()[0] as taken:
            taken.recv(65_536)
            try:
                for at in range(len(content)) if pause else [0]:
                    taken.sendall(content[at : at + 1] if pause else content)
                    time.sleep(pause)
            except OSError:
                return

    threading.Thread(target=answer, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}/"


def test_a_connection_is_used_again() -> None:
    with Inbox() as inbox:
        outcomes = posted(inbox.url, 3)
        assert [outcome.status for outcome in outcomes] == [200, 200, 200]
        assert [one.headers["webhook-id"] for one in inbox.received] == ["0", "1", "2"]
        assert inbox.received[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 500, 503])
def test_only_2xx_has_arrived_and_no_redirect_is_followed(status: int) -> None:
    with Inbox(
        answers=[status], headers={"Location": "http://127.0.0.1:9/", "Retry-After": "7"}
    ) as inbox:
        (outcome,) = posted(inbox.url)
        assert not outcome.arrived
        assert (outcome.status, outcome.after) == (status, 7.0)
        assert len(inbox.received) == 1


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        (b"", "bytes read"),
        (b"SSH-2.0-nothing\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 40_000, "limit"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 9, "does not end"),
    ],
)
def test_what_is_no_answer_is_a_failure(content: bytes, failure: str) -> None:
    (outcome,) = posted(answering(content))
    assert not outcome.arrived
    assert failure in str(outcome.failure)


def test_an_answer_that_trickles_in_has_one_deadline() -> None:
    started = time.monotonic()
    (outcome,) = posted(answering(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 50, 0.1), seconds=0.5)
    assert outcome.failure == "no answer within 0.5 s"
    assert time.monotonic() - started < 1.5


def test_nothing_is_posted_to_a_private_address() -> None:
    """Neither by number nor by a name that leads there."""
    with Inbox() as inbox:
        for host in ("127.0.0.1", "localhost"):
            (outcome,) = posted(f"http://{host}:{inbox.port}/", private=False)
            assert outcome.failure == "the address is not public"
        assert inbox.received == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
    ],
)
def test_addresses_are_public_or_not(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "https://",
        "https://user:secret@example.org/",
        "https://example.org/#part",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://exämple.org/",
        "https://example.org/a b",
        "https://example.org/\r\nX: y",
        "http://localhost/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://169.254.169.254/latest",
        "example.org",
    ],
)
def test_an_address_that_cannot_be_is_refused_at_once(url: str) -> None:
    """Before the pool is looked for."""
    with pytest.raises(InvalidDataError, match="url"):
        create_webhook(None, "none", WebhookRequest(url=url), key=None, now=0)  # type: ignore[arg-type]


def test_messages_are_signed_as_the_specification_says() -> None:
    """The example of the reference implementations of Standard Webhooks."""
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    assert new_secret() != new_secret()
