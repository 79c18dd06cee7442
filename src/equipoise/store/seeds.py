"""What pools begin with: the seeds that the ends of seasons leave."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from equipoise.store.schema import seeds


@dataclass(frozen=True, slots=True)
class Seed:
    """What a pool began with.

    archive : number of the pool whose season ended
    request : JSON of how it was to be made; centre : of a soft reset
    """

    archive: int
    request: str
    centre: float | None
    players: int


_SHOWN = [seeds.c[name] for name in Seed.__dataclass_fields__]


def add_seed(connection: Connection, pool: int, seed: Seed, content: bytes | None) -> None:
    """Record what a pool begins with; content : its state as checkpoints have it."""
    connection.execute(
        insert(seeds).values(
            pool=pool,
            archive=seed.archive,
            request=seed.request,
            centre=seed.centre,
            players=seed.players,
            content=content,
        )
    )


def content_of(connection: Connection, pool: int) -> bytes | None:
    """Return the state that a pool began with, None where nobody was known."""
    found = connection.execute(select(seeds.c.content).where(seeds.c.pool == pool)).scalar()
    return None if found is None else bytes(found)


def seed_after(connection: Connection, archive: int) -> tuple[int, Seed] | None:
    """Return the number and the seed of the pool that came after an archived one, or None."""
    query = select(seeds.c.pool, *_SHOWN).where(seeds.c.archive == archive)
    found = connection.execute(query).first()
    return None if found is None else (int(found[0]), Seed(*found[1:]))
