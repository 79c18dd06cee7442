"""Posting to addresses outside: one deadline, no redirects, nothing private."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path

import pytest

pytest.importorskip("httpx")

from equipoise.errors import InvalidDataError
from equipoise.messages.upkeep import WebhookRequest
from equipoise.pools.webhooks import (
    _check_url,
    create_webhook,
    is_public,
    new_secret,
    signed_headers,
)
from equipoise.web import webhooks
from equipoise.web.webhooks import Outcome, Receiver
from trials.pace import allow, stopwatch
from web.inbox import Inbox


def posted(
    url: str, count: int = 1, *, private: bool = True, seconds: float = 1.0
) -> list[Outcome]:
    """Return what comes of posting to an address some times, one after the other."""

    async def all_of_it() -> list[Outcome]:
        one = Receiver(url, seconds, private)
        found = [await one.post({"webhook-id": str(n)}, b"{}") for n in range(count)]
        await one.close()
        return found

    return asyncio.run(all_of_it())


def answering(content: bytes, pause: float = 0.0, more: Iterable[bytes] = ()) -> str:
    """Return the address of something that answers so, once, and then closes.

    pause : seconds after each byte of the content; more : sent after it
    """
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with listening, listening.accept()[0] as taken, suppress(OSError):
            # The whole request: a socket that is closed with some of it unread is reset.
            request = b""
            while not request.endswith(b"{}"):
                request += taken.recv(65_536)
            for at in range(len(content)) if pause else [0]:
                taken.sendall(content[at : at + 1] if pause else content)
                time.sleep(pause)
            for block in more:
                taken.sendall(block)

    threading.Thread(target=answer, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}/"


def test_a_connection_is_used_again() -> None:
    with Inbox() as inbox:
        outcomes = posted(inbox.url, 3)
        assert [outcome.status for outcome in outcomes] == [200, 200, 200]
        assert [one.headers["webhook-id"] for one in inbox.received] == ["0", "1", "2"]
        assert inbox.received[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("status", [302, 307, 404, 503])
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
        (b"", "disconnected"),
        (b"SSH-2.0-nothing\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 40_000, "too long"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "Content-Length"),
    ],
)
def test_what_is_no_answer_is_a_failure(content: bytes, failure: str) -> None:
    (outcome,) = posted(answering(content))
    assert not outcome.arrived
    assert failure in str(outcome.failure)


def test_an_answer_that_trickles_in_has_one_deadline() -> None:
    with stopwatch() as watch:
        (outcome,) = posted(answering(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 50, 0.1), seconds=0.5)
    assert outcome.failure == "no answer within 0.5 s"
    assert watch.seconds < 1.5


FLOOD = b"x" * 1_000_000
#: Bytes that a hostile receiver sends, and those that a post may take for all of its work.
SENT, TAKEN = 100_000_000, 8_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "block", "arrived"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0000000000999999999\r\n\r\n", FLOOD, True),
        (b"HTTP/1.1 200 OK\r\n\r\n", FLOOD, True),
        (b"HTTP/1.1 200 OK\r\nX: ", FLOOD, False),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100_000, False),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 40_000, False),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"f4240\r\n" + FLOOD + b"\r\n",
            True,
        ),
    ],
    ids=["length", "no-length", "header", "headers", "interim", "chunked"],
)
def test_bounds_answers_without_end(head: bytes, block: bytes, arrived: bool) -> None:
    """A length with zeros before it made the service read 400 MB into 790 MB of memory."""
    posted("http://127.0.0.1:9/")  # What is imported and cached is not counted.
    tracemalloc.start()
    with stopwatch() as watch:
        (outcome,) = posted(
            answering(head, more=repeat(block, SENT // len(block))), seconds=allow(20.0)
        )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert outcome.arrived is arrived
    assert arrived or outcome.failure == "the answer is too long"
    assert peak < TAKEN
    assert watch.seconds < 5.0


def test_an_answer_counts_once_its_head_is_there() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
    ended = threading.Event()

    def silence() -> Iterator[bytes]:
        ended.wait(60)
        yield b""

    with stopwatch() as watch:
        (outcome,) = posted(answering(head, more=silence()), seconds=allow(0.5))
    ended.set()
    assert outcome.arrived
    assert watch.seconds < 2.0


def test_cookies_are_not_kept_and_proxies_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Inbox(headers={"Set-Cookie": "a=b"}) as inbox:
        assert all(one.arrived for one in posted(inbox.url, 2))
        assert all("cookie" not in one.headers for one in inbox.received)
        assert inbox.received[0].headers["host"] == f"127.0.0.1:{inbox.port}"


def test_resolves_once_and_checks_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection goes to the address that was checked. SNI and Host have the name."""
    certificate = Path(__file__).parent / "hook_example.pem"
    secret = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secret.load_cert_chain(certificate)
    names: list[str | None] = []
    secret.sni_callback = lambda _, name, __: names.append(name)
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(webhooks, "_tls", lambda: trusting)
    resolved: list[str] = []

    def resolve(host: str, port: int, *_: object, **__: object) -> list[object]:
        resolved.append(host)
        address = "127.0.0.1" if len(resolved) == 1 else "127.0.0.2"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    with Inbox(tls=secret) as inbox:
        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        outcomes = posted(f"https://hook.example:{inbox.port}/", 2)
        assert [one.failure for one in outcomes] == [None, None]
        assert resolved == ["hook.example"]
        assert names == ["hook.example"]
        assert inbox.received[0].headers["host"] == f"hook.example:{inbox.port}"
        resolved.clear()
        (outcome,) = posted(f"https://other.example:{inbox.port}/")
        assert "certificate" in str(outcome.failure)
        assert len(inbox.received) == 2


def test_nothing_is_posted_to_a_private_address() -> None:
    with Inbox() as inbox:
        for host in ("127.0.0.1", "localhost"):
            (outcome,) = posted(f"http://{host}:{inbox.port}/", private=False)
            assert outcome.failure == "the address is not public"
        assert inbox.received == []


#: Addresses by what they are.
PUBLIC = ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"]
PRIVATE = {
    "private": ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1"],
    "private, IPv6": ["::1", "fd00::1"],
    "of no single computer": ["0.0.0.0", "224.0.0.1", "255.255.255.255", "192.88.99.1", "::"],
    "link-local": ["169.254.169.254", "fe80::1", "fec0::1", "2606:2800:220:1::1%eth0"],
    "documentation": ["2001:db8::1", "3fff::1"],
    "mapped": ["::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "::127.0.0.1"],
    "compatible": ["::93.184.216.34"],
    "NAT64": ["64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::93.184.216.34"],
    "local NAT64": ["64:ff9b:1::127.0.0.1", "64:ff9b:1::93.184.216.34"],
    "6to4, Teredo": ["2002:7f00:1::1", "2001:0:7f00:1::1"],
    "ISATAP": ["2606:2800:220:1:0:5efe:127.0.0.1", "2606:2800:220:1:200:5efe:10.0.0.1"],
}


def test_addresses_are_public_or_not() -> None:
    assert all(map(is_public, PUBLIC))
    for kind, addresses in PRIVATE.items():
        assert not any(map(is_public, addresses)), kind


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "https://",
        "https://user:secret@example.org/",
        "https://example.org/#part",
        "https://example.org:99999/",
        "https://exämple.org/",
        "https://example.org/a b",
        "https://example.org/\r\nX: y",
        "http://localhost/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://169.254.169.254/latest",
        # The same address as resolvers read it: whole, hexadecimal, octal, short, mapped, absolute.
        "http://2130706433/",
        "http://0x7f000001/",
        "http://017700000001/",
        "http://0177.0.0.01/",
        "http://127.1/",
        "http://0/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://127.0.0.1./",
        "http://localhost./",
        # 10.1.2.3, and numbers that are no address.
        "http://167838211/",
        "http://4294967296/",
        "http://example.1/",
        "example.org",
    ],
)
def test_an_address_that_cannot_be_is_refused_at_once(url: str) -> None:
    """Before the pool is looked for."""
    with pytest.raises(InvalidDataError, match="url"):
        create_webhook(None, "none", WebhookRequest(url=url), key=None, now=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/",
        "https://1.example.org:8443/",
        "https://example.org./",
        "https://7.xn--p1ai/",
        "https://93.184.216.34/",
        "https://1572395042/",
        "https://[2606:2800:220:1::1]/",
        "https://[::ffff:93.184.216.34]/",
    ],
)
def test_names_and_public_addresses_are_accepted(url: str) -> None:
    _check_url(url, private=False)


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
