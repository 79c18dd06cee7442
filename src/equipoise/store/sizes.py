"""Sizes of single steps on a database: how much is read and written at once, and lease times.

Results do not depend on them. Every connection of a store has the sizes of that store.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

#: Name of the execution option of a connection that holds its sizes.
OPTION = "equipoise_sizes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Limits of single steps, which bound memory and the time that writers wait.

    matches : of the log read at once; fewer if their content has more than `characters`, which is
        checked every `fetched` rows
    batch : participations that a verification rates at once, roughly
    ratings : players read at once
    board : players of a leaderboard updated in one transaction
    imported : matches or lines that an import posts at once; fewer if they have more than
        `characters`. Each time all players in them are written, so few large steps are faster;
        others who write wait for a step, a second or two
    rows : written or deleted by a replay in one transaction
    players_left : participations left to rate at which a replay locks writers out and finishes
    lease : microseconds for which a process leases a replay. It renews the lease every few rows.
        After a crash the pool waits so long for the next replay
    beat : seconds between two renewals while a replay reads: well within the lease
    checkpoints : most checkpoints of a pool; above that every second one is deleted and the
        interval doubles
    checkpoint_interval : participations between two checkpoints at first
    checkpoint_per_player : participations for each player between two checkpoints at least. A
        checkpoint has all players, so this keeps checkpoints a small part of the work
    partial_interval : participations between two partial checkpoints at least
    partial_bytes : bytes of states that a partial checkpoint may have for each participation since
        the one before. Where players remember many performances, there are fewer
    partial_rows : rows of partial checkpoints, of about 32 kB, deleted in one transaction
    standings : players of a pool from which on their order is kept in memory for readers
    """

    matches: int = 2_000
    characters: int = 16 * 2**20
    fetched: int = 250
    batch: int = 50_000
    ratings: int = 5_000
    board: int = 2_500
    imported: int = 50_000
    rows: int = 2_500
    players_left: int = 400
    lease: int = 10_000_000
    beat: float = 2.0
    checkpoints: int = 32
    checkpoint_interval: int = 20_000
    checkpoint_per_player: int = 2
    partial_interval: int = 2_000
    partial_bytes: int = 256
    partial_rows: int = 200
    standings: int = 5_000


#: The default sizes.
SIZES = Sizes()


def sizes_of(connection: Connection) -> Sizes:
    """Return the sizes of the store that a connection belongs to."""
    found: Sizes = connection.get_execution_options().get(OPTION, SIZES)
    return found
