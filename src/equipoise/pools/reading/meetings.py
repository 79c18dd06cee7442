"""The matches in which two players met: the record, the lines, and the chances now."""

from __future__ import annotations

from collections import Counter

from equipoise.errors import require
from equipoise.messages.matches import AgainstMessage, MeetingMessage, Result
from equipoise.pools.pool.pools import check_limit, decode_cursor, encode_cursor
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.posting.rating import player_ids
from equipoise.pools.reading.questions import chances_now
from equipoise.pools.reading.results import MatchContents, player_lines, sides_for
from equipoise.pools.reading.summaries import MOST_MATCHES
from equipoise.store import changes, ratings
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool


def against(
    store: Store, pool: str, player: str, other: str, *, cursor: str | None = None, limit: int = 50
) -> AgainstMessage:
    """Return the matches of two players against each other, newest first.

    cursor : from an earlier page; limit : matches, from 1 to 1000
    Raises : NotFoundError, InvalidParameterError
    """
    check_limit(limit)
    require(player != other, "players", "two different ones", player)
    before = decode_cursor(cursor, tuple[int, int])
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        columns = []
        for name in (player, other):
            ratings.get_rating(connection, record, name)
            rows = changes.changes_of_player(connection, record, name, None, MOST_MATCHES)
            columns.append({row.seq: row for row in rows})
        mine, theirs = columns
        pairs = [(row, theirs[seq]) for seq, row in mine.items() if seq in theirs]
        # Teammates share a rank, so equal ranks alone do not tell a draw.
        level = [row for row, their in pairs if row.rank == their.rank]
        contents = MatchContents(connection, record, level, most_teams=None)
        mates = {row.seq for row in level if _are_mates(contents, row, player, other)}
        met = [pair for pair in pairs if pair[0].seq not in mates]
        results = {row.seq: _result(row, their) for row, their in met}
        older = [pair for pair in met if before is None or _position(pair[0]) < before]
        shown = older[:limit]
        mine_shown = [row for row, _ in shown]
        lines = player_lines(connection, record, rules, player, mine_shown)
        meetings = [
            MeetingMessage(
                result=results[row.seq],
                line=line,
                rank=their.rank + 1,
                rating_before=their.rating_before,
                rating=their.rating,
            )
            for (row, their), line in zip(shown, lines, strict=True)
        ]
    counts = Counter(results.values())
    chances = chances_now(store, pool, player, [other])
    return AgainstMessage(
        pool=pool,
        player=player,
        other=other,
        covered=max(map(len, columns)),
        matches=len(met),
        won=counts["win"],
        drawn=counts["draw"],
        lost=counts["loss"],
        duels=sum(row.teams == 2 for row, _ in met),
        together=len(mates),
        chance=None if chances is None else chances[0][0],
        other_chance=None if chances is None else chances[0][1],
        meetings=meetings,
        next=encode_cursor(_position(shown[-1][0])) if len(older) > limit else None,
    )


def _position(row: ChangeRow) -> tuple[int, int]:
    return row.time, row.seq


def _result(row: ChangeRow, their: ChangeRow) -> Result:
    """Return who placed above, from the view of the first."""
    return "draw" if row.rank == their.rank else "win" if row.rank < their.rank else "loss"


def _are_mates(contents: MatchContents, row: ChangeRow, player: str, other: str) -> bool:
    """Return whether two players were in one team of a match."""
    match = contents.match(row)
    own = None if match is None else sides_for(match.request, player)[0]
    if own is None:
        return False
    return other in player_ids(own.players)
