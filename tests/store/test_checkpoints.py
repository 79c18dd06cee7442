"""Checkpoints: which one a replay starts from, which are forgotten, and which are thinned out."""

from __future__ import annotations

from equipoise.store import checkpoints
from equipoise.store.checkpoints import Checkpoint
from equipoise.store.connection import Store


def checkpoint(time: int, seq: int, content: bytes = b"state") -> Checkpoint:
    """Return a checkpoint at a position."""
    return Checkpoint((time, seq), 7, "code", content)


def test_the_last_one_before_a_position_is_found(store: Store) -> None:
    """By time, then by number; one at the position itself has seen too much."""
    with store.write() as connection:
        for one in ((-5, 9), (0, 1), (0, 4), (7, 2)):
            checkpoints.add_checkpoint(connection, 1, checkpoint(*one))
        checkpoints.add_checkpoint(connection, 2, checkpoint(3, 3))
    asked = {(-5, 9): None, (0, 1): (-5, 9), (0, 5): (0, 4), (7, 2): (0, 4), (9, 0): (7, 2)}
    with store.read() as connection:
        for position, expected in asked.items():
            found = checkpoints.last_before(connection, 1, position)
            assert (None if found is None else found.position) == expected


def test_one_at_the_same_position_is_replaced(store: Store) -> None:
    """It may hold up to gigabytes; what comes back is what was put."""
    content = bytes(range(256)) * 8
    with store.write() as connection:
        checkpoints.add_checkpoint(connection, 1, checkpoint(1, 2))
        checkpoints.add_checkpoint(connection, 1, checkpoint(1, 2, content))
    with store.read() as connection:
        assert checkpoints.positions(connection, 1) == [(1, 2)]
        found = checkpoints.last_before(connection, 1, (2, 0))
        assert found == checkpoint(1, 2, content)


def test_those_from_a_position_on_are_forgotten(store: Store) -> None:
    """In this pool; the position itself is meant too."""
    with store.write() as connection:
        for pool in (1, 2):
            for one in ((1, 1), (1, 5), (2, 3)):
                checkpoints.add_checkpoint(connection, pool, checkpoint(*one))
        checkpoints.forget_from(connection, 1, (1, 5))
        assert checkpoints.positions(connection, 1) == [(1, 1)]
        assert len(checkpoints.positions(connection, 2)) == 3


def test_thinning_keeps_the_last_one(sqlite_store: Store) -> None:
    """It is the one that most replays start from."""
    most = sqlite_store.sizes.checkpoints
    with sqlite_store.write() as connection:
        for number in range(most):
            checkpoints.add_checkpoint(connection, 1, checkpoint(number, number))
        assert not checkpoints.thin(connection, 1)
        checkpoints.add_checkpoint(connection, 1, checkpoint(most, most))
        assert checkpoints.thin(connection, 1)
        left = checkpoints.positions(connection, 1)
    assert left == [(number, number) for number in range(0, most + 1, 2)]
