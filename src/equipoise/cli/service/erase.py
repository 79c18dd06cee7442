"""equipoise db erase: replace a player's name with a pseudonym."""

from __future__ import annotations

from equipoise.cli import options
from equipoise.cli.declaring import argument, option
from equipoise.cli.report import print_json, print_lines, print_table
from equipoise.cli.service.databases import opened
from equipoise.cli.tables import table

EXAMPLE = """\b
Example:
  equipoise db erase ana --pool ladder --dry-run"""


def erase(
    *,
    player: str = argument("Name of the player.", "PLAYER"),
    pool: str = option(..., "Name of the pool. The archives of its seasons are included."),
    reason: str = option("", "Reason, kept in the log. It should not name the player."),
    dry_run: bool = option(False, "Only count what would be rewritten; change nothing."),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Replace a player's name with a pseudonym in the log, ratings, replays and audit log.

    Ratings stay as they are, and a service may run on the database at the same time. An erasure
    cannot be undone, because nothing that leads to the name is kept. Backups, exports and messages
    that webhooks have delivered still contain the name.
    """
    from equipoise.analysis.clock import now as clock
    from equipoise.messages.matches import ReasonRequest
    from equipoise.pools.erasing import erase_player
    from equipoise.wording import counted

    with opened(database) as store:
        request = ReasonRequest(reason)
        done = erase_player(store, pool, player, request, key=None, now=clock(), preview=dry_run)
    if as_json:
        print_json(done)
        return
    columns = {"pool": "", "matches": ",", "amendments": ",", "changes": ",", "checkpoints": ","}
    rows = [
        (one.pool, one.matches, one.amendments, one.changes, one.checkpoints) for one in done.pools
    ]
    print_table(table(columns, rows))
    if done.audit:
        print_lines(f"{counted(done.audit, 'row', 'rows')} of the audit log")
    if done.remaining:
        texts = counted(
            done.remaining, "id of a match, role or side", "ids of matches, roles or sides"
        )
        print_lines(f"{texts} with the name stay as they are")
    if done.player is None:
        print_lines("nothing was changed: this was a dry run")
    else:
        print_lines(f"the player is now {done.player}")
