"""Keys: random secrets of which only a hash is kept, that expire and are revoked."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from equipoise.errors import NotFoundError
from equipoise.store import keys
from equipoise.store.connection import Store, open_store
from equipoise.store.schema import keys as table

NOW = 1_900_000_000_000_000


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """Give a store without keys."""
    found = open_store(database_url)
    yield found
    found.close()


def test_a_secret_finds_its_key(store: Store) -> None:
    """And no other; it has 256 random bits, and says what it is."""
    made = [keys.create_key(store, f"key {n}", "writer", "chess", None, NOW) for n in range(3)]
    assert len({secret for _, secret in made}) == 3
    for key, secret in made:
        assert secret.startswith(f"eqp_{key.id}_")
        assert len(secret.removeprefix(f"eqp_{key.id}_")) == 43
        assert keys.find_key(store, secret, NOW) == key
    assert [key.id for key in keys.list_keys(store)] == [3, 2, 1]


def test_only_the_hash_is_kept(store: Store) -> None:
    """Nothing in the table helps to find the secret."""
    _, secret = keys.create_key(store, "key", "admin", None, None, NOW)
    random = secret.split("_", 2)[2]
    with store.read() as connection:
        (row,) = connection.execute(select(table)).all()
    assert bytes(row.hash) == hashlib.sha256(random.encode()).digest()
    assert all(random not in str(value) for value in row)


def test_other_secrets_find_nothing(store: Store) -> None:
    """Of another key, cut, longer, of another form, and of characters that are none."""
    _, secret = keys.create_key(store, "one", "admin", None, None, NOW)
    _, other = keys.create_key(store, "two", "admin", None, None, NOW)
    mixed = secret[: secret.rindex("_", 0, 7) + 1] + other.split("_", 2)[2]
    for wrong in (
        "",
        "eqp",
        "eqp__",
        "eqp_1_",
        secret[:-1],
        secret + "A",
        secret.swapcase(),
        mixed,
        secret.replace("eqp", "abc"),
        secret.replace("_1_", "_01_x"),
        secret.replace("_1_", "_\u0661_"),
        secret.replace("_1_", "_-1_"),
        secret.replace("_1_", "_" + "9" * 30 + "_"),
        "eqp_1_\ud800",
        "eqp_1_\0",
        "x" * 100_000,
    ):
        assert keys.find_key(store, wrong, NOW) is None, wrong[:50]


def test_a_comparison_is_made_whether_or_not_there_is_such_a_key(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In constant time, of as many bytes: nobody learns which numbers keys have."""
    store = open_store(sqlite_url)
    _, secret = keys.create_key(store, "key", "admin", None, None, NOW)
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def watched(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return compare(one, other)

    monkeypatch.setattr("equipoise.store.keys.hmac.compare_digest", watched)
    for asked in (secret, secret[:-1], "eqp_77_abc", "nonsense"):
        keys.find_key(store, asked, NOW)
    assert compared == [(32, 32)] * 4
    store.close()


def test_a_key_expires(store: Store) -> None:
    """At its time it is no key any more."""
    key, secret = keys.create_key(store, "key", "reader", None, NOW + 10, NOW)
    assert keys.find_key(store, secret, NOW + 9) == key
    assert keys.find_key(store, secret, NOW + 10) is None


def test_a_revoked_key_stays_revoked(store: Store) -> None:
    """From the first time on; one that is not there is not found."""
    key, secret = keys.create_key(store, "key", "reader", None, None, NOW)
    assert keys.revoke_key(store, key.id, NOW + 1).revoked == NOW + 1
    assert keys.revoke_key(store, key.id, NOW + 2).revoked == NOW + 1
    assert keys.find_key(store, secret, NOW) is None
    for number in (0, -1, 2, 2**31, 2**70):
        with pytest.raises(NotFoundError, match="no key"):
            keys.revoke_key(store, number, NOW)


def test_its_last_use_is_written_down_now_and_then(store: Store) -> None:
    """Not with every request."""
    key, secret = keys.create_key(store, "key", "reader", None, None, NOW)
    keys.note_use(store, key, NOW)
    for later, noted in ((1, 0), (60_000_000, 0), (60_000_001, 60_000_001)):
        found = keys.find_key(store, secret, NOW)
        assert found is not None
        keys.note_use(store, found, NOW + later)
        assert keys.list_keys(store)[0].last_used == NOW + noted
