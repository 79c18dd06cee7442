"""How much of a pool is read, written and kept at once, and how long a replay stays claimed.

Answers do not depend on it. Every connection of a store carries the sizes of that store.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

#: Name of the execution option of a connection that holds its sizes.
OPTION = "equipoise_sizes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Limits of single steps, so that memory stays bounded and no writer waits long.

    matches : of the log that are read at once; fewer where together they have `characters`, which
        is looked at after every `fetched` rows
    ratings : players read at once
    board : players of a leaderboard brought up to date in one transaction
    imported : matches or lines that an import posts at once
    rows : that a replay writes or deletes in one transaction
    players_left : with at most so many players in the matches left to rate, a replay holds up
        writers for the rest
    lease : microseconds that a replay belongs to whoever began it, unless that one says that it
        goes on, as it does every few rows. After a crash a pool waits so long for its replay
    beat : seconds between two times that a replay says so while it reads: well within the lease
    checkpoints : that a pool keeps; then every second one goes and the interval doubles
    checkpoint_interval : participations between two checkpoints at first
    checkpoint_per_player : a checkpoint holds all players: so many participations for each of them
        must lie between two, so that keeping checkpoints stays a small part of the work
    """

    matches: int = 2_000
    characters: int = 16 * 2**20
    fetched: int = 250
    ratings: int = 5_000
    board: int = 2_500
    imported: int = 2_000
    rows: int = 2_500
    players_left: int = 400
    lease: int = 10_000_000
    beat: float = 2.0
    checkpoints: int = 32
    checkpoint_interval: int = 20_000
    checkpoint_per_player: int = 2


#: What a store has where nothing else is said.
SIZES = Sizes()


def sizes_of(connection: Connection) -> Sizes:
    """Return the sizes of the store that a connection belongs to."""
    found: Sizes = connection.get_execution_options().get(OPTION, SIZES)
    return found
