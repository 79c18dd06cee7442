"""Keys and sessions: random secrets of which only a hash is kept, and how they end."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from equipoise.errors import ConflictError, NotFoundError
from equipoise.store import keys
from equipoise.store.connection import Store
from equipoise.store.schema import audit, key_requests, sessions
from equipoise.store.schema import keys as table

NOW = 1_900_000_000_000_000


def found_keys(store: Store, *secrets: str, now: int = NOW) -> list[bool]:
    """Return which secrets find a key."""
    return [keys.find_key(store, secret, now) is not None for secret in secrets]


def found_sessions(store: Store, *tokens: str, now: int = NOW) -> list[bool]:
    """Return which tokens find a session."""
    return [keys.find_session(store, token, now) is not None for token in tokens]


def test_a_secret_finds_its_key(store: Store) -> None:
    """And no other; it has 256 random bits, says what it is, and only its hash is stored."""
    made = [keys.create_key(store, f"key {n}", "writer", "chess", None, NOW) for n in range(3)]
    assert len({secret for _, secret in made}) == 3
    with store.read() as connection:
        rows = {row.id: row for row in connection.execute(select(table)).all()}
    for key, secret in made:
        random = secret.removeprefix(f"eqp_{key.id}_")
        assert len(random) == 43
        assert keys.find_key(store, secret, NOW) == key
        assert bytes(rows[key.id].hash) == hashlib.sha256(random.encode()).digest()
        assert all(random not in str(value) for value in rows[key.id])
    assert [key.id for key in keys.list_keys(store)] == [3, 2, 1]


def test_other_secrets_find_nothing(store: Store) -> None:
    """Of another key, cut, longer, of another form, and of characters that are none."""
    _, secret = keys.create_key(store, "one", "admin", None, None, NOW)
    _, other = keys.create_key(store, "two", "admin", None, None, NOW)
    mixed = secret[: secret.rindex("_", 0, 7) + 1] + other.split("_", 2)[2]
    cut = [secret[:-1], secret + "A", secret.swapcase(), mixed, secret.replace("eqp", "abc")]
    numbers = ["_01_x", "_\u0661_", "_-1_", "_" + "9" * 30 + "_"]
    others = ["", "eqp", "eqp__", "eqp_1_", "eqp_1_\ud800", "eqp_1_\0", "x" * 100_000]
    for wrong in (*cut, *(secret.replace("_1_", number) for number in numbers), *others):
        assert keys.find_key(store, wrong, NOW) is None, wrong[:50]


def test_a_comparison_is_made_whether_or_not_there_is_such_a_key(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In constant time, of as many bytes: nobody learns which numbers keys have."""
    _, secret = keys.create_key(sqlite_store, "key", "admin", None, None, NOW)
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def watched(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return compare(one, other)

    monkeypatch.setattr("equipoise.store.keys.hmac.compare_digest", watched)
    for asked in (secret, secret[:-1], "eqp_77_abc", "nonsense"):
        keys.find_key(sqlite_store, asked, NOW)
    assert compared == [(32, 32)] * 8  # the secret, and the one before a rotation


def test_a_key_ends_when_it_expires_or_is_revoked(store: Store) -> None:
    """Revoked from the first time on; one that is not there is not found."""
    key, secret = keys.create_key(store, "key", "reader", None, NOW + 10, NOW)
    assert keys.find_key(store, secret, NOW + 9) == key
    assert keys.find_key(store, secret, NOW + 10) is None
    for later in (1, 2):
        assert keys.revoke_key(store, key.id, NOW + later).revoked == NOW + 1
    assert keys.find_key(store, secret, NOW) is None
    for number in (0, -1, 2, 2**31, 2**70):
        with pytest.raises(NotFoundError, match="no key"):
            keys.revoke_key(store, number, NOW)


def test_last_uses_are_stored_together(store: Store) -> None:
    """The latest counts; a key that does not exist changes nothing."""
    made = [keys.create_key(store, "key", "reader", None, None, NOW)[0].id for _ in range(3)]
    keys.note_uses(store, {made[0]: NOW + 5, made[1]: NOW + 7, 99: NOW})
    keys.note_uses(store, {made[0]: NOW + 4, made[1]: NOW + 8})
    found = {key.id: key.last_used for key in keys.list_keys(store)}
    assert found == {made[0]: NOW + 5, made[1]: NOW + 8, made[2]: None}


def test_after_a_rotation_two_secrets_are_valid_for_a_time(store: Store) -> None:
    """The number, the role and the rest of the key stay."""
    key, old = keys.create_key(store, "key", "writer", "chess", None, NOW)
    rotated, new = keys.rotate_key(store, key.id, NOW, keep=100)
    assert rotated == dataclasses.replace(key, previous_until=NOW + 100)
    assert old != new
    assert keys.find_key(store, old, NOW + 99) == keys.find_key(store, new, NOW + 99) == rotated
    assert keys.find_key(store, old, NOW + 100) is None
    assert keys.find_key(store, new, NOW + 100) == rotated
    assert keys.revoke_key(store, key.id, NOW + 1).revoked == NOW + 1
    assert keys.find_key(store, old, NOW + 2) is keys.find_key(store, new, NOW + 2) is None


def test_a_key_has_two_secrets_at_most(store: Store) -> None:
    """Another rotation ends the oldest; one that keeps nothing ends all but the new one."""
    key, first = keys.create_key(store, "key", "writer", None, None, NOW)
    second = keys.rotate_key(store, key.id, NOW, keep=100)[1]
    third = keys.rotate_key(store, key.id, NOW, keep=100)[1]
    assert found_keys(store, first, second, third) == [False, True, True]
    last = keys.rotate_key(store, key.id, NOW, keep=0)[1]
    assert found_keys(store, second, third, last) == [False, False, True]


def test_a_key_that_has_ended_is_not_rotated(store: Store) -> None:
    key, secret = keys.create_key(store, "key", "writer", None, NOW + 10, NOW)
    with pytest.raises(ConflictError, match="expired"):
        keys.rotate_key(store, key.id, NOW + 10)
    with pytest.raises(NotFoundError, match="no key 99"):
        keys.rotate_key(store, 99, NOW)
    rotated, new = keys.rotate_key(store, key.id, NOW, keep=1_000)
    assert keys.find_key(store, new, NOW + 9) == keys.find_key(store, secret, NOW + 9) == rotated
    # The secret before does not outlive the key.
    assert keys.find_key(store, new, NOW + 10) is keys.find_key(store, secret, NOW + 10) is None
    keys.revoke_key(store, key.id, NOW)
    with pytest.raises(ConflictError, match="revoked"):
        keys.rotate_key(store, key.id, NOW)


TOKEN = "kD9fY2mQ7vXw3LrBz8Nc"


def test_a_repeated_request_gets_the_same_key_and_secret(store: Store) -> None:
    """Although neither the secret nor the token is stored; a rotation is carried out once, too."""

    def create() -> tuple[keys.KeyRecord, str]:
        return keys.create_key(store, "key", "writer", None, None, NOW, by=7, token=TOKEN)

    key, secret = create()
    assert create() == (key, secret)
    assert keys.find_key(store, secret, NOW) == key
    assert len(secret.removeprefix(f"eqp_{key.id}_")) == 43
    another = keys.create_key(store, "key", "writer", None, None, NOW, by=7, token="x" + TOKEN)
    assert another[1].split("_", 2)[2] != secret.split("_", 2)[2]
    rotated = keys.rotate_key(store, key.id, NOW, keep=10, by=7, token="r" + TOKEN)
    assert keys.rotate_key(store, key.id, NOW + 5, keep=10, by=7, token="r" + TOKEN) == rotated
    assert keys.find_key(store, secret, NOW + 9) is not None
    assert len(keys.list_keys(store)) == 2
    with store.read() as connection:
        rows = [*connection.execute(select(table)), *connection.execute(select(key_requests))]
        entries = [row.what for row in connection.execute(select(audit))]
    stored = repr(rows)
    for hidden in (secret, secret.split("_", 2)[2], TOKEN, rotated[1].split("_", 2)[2]):
        assert hidden not in stored
    assert entries == ["key.created", "key.created", "key.rotated"]


def test_a_token_is_for_one_request(store: Store) -> None:
    """Of one key; and for as long as the secret that it made is valid."""
    key, _ = keys.create_key(store, "key", "writer", None, None, NOW, by=7, token=TOKEN)
    for name, role, by in (("other", "writer", 7), ("key", "admin", 7), ("key", "writer", 8)):
        with pytest.raises(ConflictError, match="another request"):
            keys.create_key(store, name, role, None, None, NOW, by=by, token=TOKEN)
    with pytest.raises(ConflictError, match="another request"):
        keys.rotate_key(store, key.id, NOW, by=7, token=TOKEN)
    keys.rotate_key(store, key.id, NOW, keep=10)
    again = keys.create_key(store, "key", "writer", None, None, NOW + 9, by=7, token=TOKEN)
    assert again[0].id == key.id
    for later in (10, 100):
        with pytest.raises(ConflictError, match="rotated since"):
            keys.create_key(store, "key", "writer", None, None, NOW + later, by=7, token=TOKEN)
    keys.revoke_key(store, key.id, NOW)
    with pytest.raises(ConflictError, match="revoked"):
        keys.create_key(store, "key", "writer", None, None, NOW, by=7, token=TOKEN)


def test_the_same_request_at_the_same_time_makes_one_key(store: Store) -> None:
    """Whoever comes second gets what the first one got."""

    def create(_: int) -> tuple[keys.KeyRecord, str]:
        return keys.create_key(store, "key", "writer", None, None, NOW, token=TOKEN)

    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(create, range(24)))
    assert len(found) == 1
    assert len(keys.list_keys(store)) == 1


LIFETIME = 1_000


def opened(store: Store, secret: str, now: int = NOW) -> str:
    """Return the token of a new session."""
    found = keys.open_session(store, secret, now, LIFETIME)
    return found[1]


def count(store: Store) -> int:
    """Return the number of stored sessions."""
    with store.read() as connection:
        return int(connection.execute(select(func.count()).select_from(sessions)).scalar_one())


def test_a_session_has_its_key_until_it_expires(store: Store) -> None:
    """Its token is random, and only a hash of it is stored."""
    key, secret = keys.create_key(store, "key", "reader", "chess", None, NOW)
    one, other = opened(store, secret), opened(store, secret)
    assert one != other
    assert one.startswith("eqs_")
    assert len(one) == len("eqs_") + 43
    assert keys.find_session(store, one, NOW + LIFETIME - 1) == key
    assert keys.find_session(store, one, NOW + LIFETIME) is None
    with store.read() as connection:
        stored = repr(connection.execute(select(sessions)).all())
    assert one not in stored
    assert one.removeprefix("eqs_") not in stored


def test_a_wrong_secret_opens_no_session(store: Store) -> None:
    """And a key is no token of a session, nor the other way round."""
    _, secret = keys.create_key(store, "key", "reader", None, None, NOW)
    token = opened(store, secret)
    for wrong in ("", "eqp_1_", secret[:-1], token):
        assert keys.open_session(store, wrong, NOW, LIFETIME) is None
    for wrong in ("", "eqs_", token[:-1], secret, "\ud800", "\0"):
        assert keys.find_session(store, wrong, NOW) is None
    assert keys.find_key(store, token, NOW) is None
    assert count(store) == 1


def test_signing_out_ends_one_session_or_all_of_a_key(store: Store) -> None:
    _, secret = keys.create_key(store, "key", "reader", None, None, NOW)
    _, others = keys.create_key(store, "other", "reader", None, None, NOW)
    one, two, three = (opened(store, secret) for _ in range(3))
    stays = opened(store, others)
    keys.end_session(store, one)
    assert found_sessions(store, one, two, three) == [False, True, True]
    assert keys.end_sessions(store, 1) == 2
    assert keys.find_session(store, two, NOW) is keys.find_session(store, three, NOW) is None
    assert keys.find_session(store, stays, NOW) is not None


def test_a_session_ends_with_its_key(store: Store) -> None:
    """Revoked, or expired."""
    key, secret = keys.create_key(store, "key", "reader", None, NOW + 10, NOW)
    token = opened(store, secret)
    assert keys.find_session(store, token, NOW + 9) == key
    assert keys.find_session(store, token, NOW + 10) is None
    keys.revoke_key(store, key.id, NOW)
    assert keys.find_session(store, token, NOW) is None
    assert count(store) == 0


def test_a_session_lasts_no_longer_than_the_secret_it_began_with(store: Store) -> None:
    """Whether it began before the rotation or after it."""
    key, old = keys.create_key(store, "key", "reader", None, None, NOW)
    before = opened(store, old)
    new = keys.rotate_key(store, key.id, NOW, keep=10)[1]
    tokens = [before, opened(store, old), opened(store, new)]
    assert found_sessions(store, *tokens, now=NOW + 9) == [True, True, True]
    assert found_sessions(store, *tokens, now=NOW + 10) == [False, False, True]
    keys.rotate_key(store, key.id, NOW, keep=0)
    assert keys.find_session(store, tokens[2], NOW) is None


def test_their_number_is_bounded(store: Store) -> None:
    """The oldest of a key end, and expired ones are deleted."""
    _, secret = keys.create_key(store, "key", "reader", None, None, NOW)
    _, others = keys.create_key(store, "other", "reader", None, None, NOW)
    stays = opened(store, others)
    tokens = [opened(store, secret, NOW + number) for number in range(keys.MOST_SESSIONS + 5)]
    now = NOW + keys.MOST_SESSIONS + 5
    assert found_sessions(store, *tokens, now=now) == [False] * 5 + [True] * keys.MOST_SESSIONS
    assert keys.find_session(store, stays, now) is not None
    opened(store, others, now + LIFETIME)
    assert count(store) == 1
