"""Who may do what: keys, roles, pools, expiry, revocation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress

import httpx
import msgspec
import pytest

from equipoise.client import Client
from equipoise.errors import AccessError, ConflictError, InvalidDataError, NotFoundError
from equipoise.messages.access import NewKeyMessage
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolChange, PoolRequest
from equipoise.messages.questions import BalanceRequest, PredictRequest
from service.serving import ONCE, Service
from trials.pace import allow

DUEL = MatchRequest("m1", [TeamRequest(["a"], 0), TeamRequest(["b"], 1)])

#: What each role is the least to be allowed: a name, and the call in a pool.
READS: list[tuple[str, Callable[[Client, str], object]]] = [
    ("pool", lambda c, p: c.pool(p)),
    ("leaderboard", lambda c, p: c.leaderboard(p)),
    ("player", lambda c, p: c.player(p, "a")),
    ("history", lambda c, p: c.player_history(p, "a")),
    ("explain", lambda c, p: c.explain(p, "a")),
    ("match", lambda c, p: c.match(p, "m1")),
    ("matches", lambda c, p: c.matches(p)),
    ("amendments", lambda c, p: c.amendments(p)),
    ("predict", lambda c, p: c.predict(p, PredictRequest([["a"], ["b"]]))),
    ("balance", lambda c, p: c.balance(p, BalanceRequest(["a", "b"]))),
]
WRITES: list[tuple[str, Callable[[Client, str], object]]] = [
    ("post", lambda c, p: c.post_match(p, DUEL)),
    ("post many", lambda c, p: c.post_matches(p, [DUEL])),
    ("stream", lambda c, p: list(c.stream_matches(p, [DUEL]))),
]
AMENDS: list[tuple[str, Callable[[Client, str], object]]] = [
    ("void", lambda c, p: c.void_match(p, "m1", preview=True)),
    ("restore", lambda c, p: c.restore_match(p, "m1", preview=True)),
    ("correct", lambda c, p: c.correct_match(p, "m1", DUEL, preview=True)),
    ("disqualify", lambda c, p: c.disqualify(p, "a", preview=True)),
    ("reinstate", lambda c, p: c.reinstate(p, "a", preview=True)),
    ("erase", lambda c, p: c.erase_player(p, "a", preview=True)),
    ("replay", lambda c, p: c.replay(p)),
    ("create", lambda c, p: c.create_pool(p, PoolRequest(system="elo"))),
    ("change", lambda c, p: c.change_pool(p, PoolChange(late="reject"))),
]
ALL = [*READS, *WRITES, *AMENDS]


def named(calls: list[tuple[str, Callable[[Client, str], object]]]) -> list[str]:
    """Return the names of calls."""
    return [name for name, _ in calls]


@pytest.fixture(scope="module")
def pool(service: Service) -> str:
    """Return a private pool with one match."""
    name = service.new_pool(system="elo")
    service.admin.post_match(name, DUEL)
    return name


@pytest.mark.parametrize(("name", "ask"), ALL, ids=named(ALL))
def test_without_a_key_nothing_of_a_private_pool_is_told(
    service: Service, pool: str, name: str, ask: Callable[[Client, str], object]
) -> None:
    """Nor whether there is such a pool."""
    for asked in (pool, "no-such-pool"):
        with service.client(None) as client, pytest.raises(AccessError) as raised:
            ask(client, asked)
        assert raised.value.code == "unauthorised"


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
@pytest.mark.parametrize(("name", "ask"), ALL, ids=named(ALL))
def test_a_role_may_do_what_it_is_for_and_no_more(
    service: Service, pool: str, role: str, name: str, ask: Callable[[Client, str], object]
) -> None:
    allowed = {"reader": READS, "writer": [*READS, *WRITES], "admin": ALL}[role]
    with service.client(role, pool) as client:
        if name in named(allowed):
            with suppress(ConflictError):  # nothing is void, nobody is disqualified
                ask(client, pool)
        else:
            with pytest.raises(AccessError) as raised:
                ask(client, pool)
            assert raised.value.code == "forbidden"


@pytest.mark.parametrize(("name", "ask"), ALL, ids=named(ALL))
def test_a_key_of_one_pool_sees_no_other(
    service: Service, pool: str, name: str, ask: Callable[[Client, str], object]
) -> None:
    """A pool that exists and one that does not are answered alike."""
    told = []
    with service.client("admin", service.new_pool(system="elo")) as client:
        for asked in (pool, "no-such-pool"):
            with pytest.raises(AccessError) as raised:
                ask(client, asked)
            told.append((raised.value.code, str(raised.value)))
    assert told[0] == told[1]


def test_pools_are_listed_to_those_who_may_read_them(service: Service, pool: str) -> None:
    public = service.new_pool(system="elo", public=True)
    with service.client("reader", pool) as client:
        names = {one.pool for one in client.pools().pools}
    assert pool in names
    assert names <= {pool} | {one.pool for one in service.admin.pools().pools if one.public}
    with service.client(None) as client:
        try:
            shown = {one.pool for one in client.pools().pools}
        except AccessError:
            shown = set()
    assert pool not in shown
    assert public in {one.pool for one in service.admin.pools().pools}


def test_a_key_for_all_pools_learns_that_there_is_none(service: Service) -> None:
    with service.client("reader") as client, pytest.raises(NotFoundError):
        client.pool("no-such-pool")


def test_a_revoked_key_reads_nothing_more(service: Service, pool: str) -> None:
    made = service.admin.create_key("leaver", "reader", pool)
    with service.server.client(made.secret, ONCE) as client:
        client.leaderboard(pool)
        service.admin.revoke_key(made.key.key)
        with pytest.raises(AccessError) as raised:
            client.leaderboard(pool)
    assert raised.value.code == "unauthorised"


def test_a_rotated_key_has_two_secrets_for_a_time(service: Service, pool: str) -> None:
    """The program that uses the key changes to the new one when it can."""
    made = service.admin.create_key("server", "reader", pool)
    seconds = math.ceil(allow(3.0))
    rotated = service.admin.rotate_key(made.key.key, keep_seconds=seconds)
    assert rotated.key.key == made.key.key
    assert rotated.key.previous_until is not None
    with (
        service.server.client(made.secret, ONCE) as before,
        service.server.client(rotated.secret, ONCE) as after,
    ):
        before.leaderboard(pool)
        after.leaderboard(pool)
        time.sleep(seconds + 1.5)  # the service remembers a key for a second
        with pytest.raises(AccessError) as raised:
            before.leaderboard(pool)
        after.leaderboard(pool)
    assert raised.value.code == "unauthorised"
    service.admin.revoke_key(made.key.key)
    with pytest.raises(ConflictError, match="revoked or has expired"):
        service.admin.rotate_key(made.key.key)


class Losing(httpx.HTTPTransport):
    """A network that loses the first answer."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: list[bytes] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if not self.lost:
            self.lost.append(response.read())
            raise httpx.ReadError("the connection was lost")
        return response


def test_a_secret_whose_answer_was_lost_is_issued_once(service: Service) -> None:
    """The client repeats the request by itself, and gets the secret that was lost."""
    before = len(service.admin.keys().keys)
    network = Losing()
    with Client(service.server.url, service.key, transport=network) as client:
        made = client.create_key("lost", "reader")
    assert msgspec.json.decode(network.lost[0], type=NewKeyMessage) == made
    assert len(service.admin.keys().keys) == before + 1
    network = Losing()
    with Client(service.server.url, service.key, transport=network) as client:
        rotated = client.rotate_key(made.key.key)
    assert msgspec.json.decode(network.lost[0], type=NewKeyMessage) == rotated
    # If it had been rotated twice, the first secret would have ended.
    for secret in (made.secret, rotated.secret):
        with service.server.client(secret, ONCE) as user:
            user.pools()


def test_a_token_is_checked(service: Service) -> None:
    """A short one could be guessed, and one is for one request."""
    token = "t" * 20
    made = service.admin.create_key("one", "reader", token=token)
    assert service.admin.create_key("one", "reader", token=token) == made
    with pytest.raises(ConflictError, match="another request"):
        service.admin.create_key("two", "reader", token=token)
    with pytest.raises(InvalidDataError) as raised:
        service.admin.create_key("three", "reader", token="short")
    assert raised.value.problems[0].field == "token"


def test_a_key_expires(service: Service, pool: str) -> None:
    """Within a second of its time, for which the service remembers a key."""
    seconds = allow(1.0)
    ends = time.time_ns() // 1000 + int(seconds * 1_000_000)
    with service.client("reader", pool, expires=ends) as client:
        client.leaderboard(pool)
        time.sleep(seconds + 1.2)
        with pytest.raises(AccessError) as raised:
            client.leaderboard(pool)
    assert raised.value.code == "unauthorised"


@pytest.mark.parametrize(
    "key", ["x", "eqp_1_", "eqp_1_AAAA", "eqp_99999_AAAA", "eqp_1_" + "A" * 600, "'OR'1'='1"]
)
def test_a_bad_key_is_refused_even_where_none_is_needed(service: Service, key: str) -> None:
    public = service.new_pool(system="elo", public=True)
    with service.server.client(key, ONCE) as client, pytest.raises(AccessError) as raised:
        client.leaderboard(public)
    assert raised.value.code == "unauthorised"


def test_a_public_pool_is_read_but_not_written_without_a_key(service: Service) -> None:
    public = service.new_pool(system="elo", public=True)
    service.admin.post_match(public, DUEL)
    with service.client(None) as client:
        for _, ask in READS:
            ask(client, public)
        for _, ask in [*WRITES, *AMENDS]:
            with pytest.raises(AccessError) as raised:
                ask(client, public)
            assert raised.value.code == "unauthorised"


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
def test_keys_are_made_by_admins_of_all_pools_only(service: Service, pool: str, role: str) -> None:
    with service.client(role, pool) as client:
        for ask in (
            lambda c: c.keys(),
            lambda c: c.create_key("mine", "admin"),
            lambda c: c.create_key("mine", "admin", pool),
            lambda c: c.rotate_key(1),
            lambda c: c.revoke_key(1),
        ):
            with pytest.raises(AccessError) as raised:
                ask(client)
            assert raised.value.code == "forbidden"


def test_secrets_are_told_once(service: Service) -> None:
    """No list of keys, and no database, has a secret in it."""
    from pathlib import Path

    made = service.admin.create_key("one", "reader")
    random = made.secret.split("_", 2)[2]
    assert len(random) >= 20
    listed = service.admin.keys().keys
    assert made.key.key in {key.key for key in listed}
    assert random not in repr(listed)
    database = Path(service.server.database.removeprefix("sqlite:///"))
    for file in database.parent.glob(f"{database.name}*"):
        assert random.encode() not in file.read_bytes()
    assert random not in service.server.log.read_text()
