"""Sessions: they expire, and end with their key, with its secret, and when somebody signs out."""

from __future__ import annotations

from sqlalchemy import func, select

from equipoise.store import keys
from equipoise.store.connection import Store
from equipoise.store.schema import sessions

NOW, LIFETIME = 1_900_000_000_000_000, 1_000


def opened(store: Store, secret: str, now: int = NOW) -> str:
    """Return the token of a new session."""
    found = keys.open_session(store, secret, now, LIFETIME)
    assert found is not None
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
    found = [keys.find_session(store, token, NOW) is not None for token in (one, two, three)]
    assert found == [False, True, True]
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
    found = [keys.find_session(store, token, NOW + 9) is not None for token in tokens]
    assert found == [True, True, True]
    found = [keys.find_session(store, token, NOW + 10) is not None for token in tokens]
    assert found == [False, False, True]
    keys.rotate_key(store, key.id, NOW, keep=0)
    assert keys.find_session(store, tokens[2], NOW) is None


def test_their_number_is_bounded(store: Store) -> None:
    """The oldest of a key end, and expired ones are deleted."""
    _, secret = keys.create_key(store, "key", "reader", None, None, NOW)
    _, others = keys.create_key(store, "other", "reader", None, None, NOW)
    stays = opened(store, others)
    tokens = [opened(store, secret, NOW + number) for number in range(keys.MOST_SESSIONS + 5)]
    now = NOW + keys.MOST_SESSIONS + 5
    found = [keys.find_session(store, token, now) is not None for token in tokens]
    assert found == [False] * 5 + [True] * keys.MOST_SESSIONS
    assert keys.find_session(store, stays, now) is not None
    opened(store, others, now + LIFETIME)
    assert count(store) == 1
