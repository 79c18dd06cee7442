"""The effect of throwing given matches, by the parts of an incentive audit."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.data.audits import Incentive, Others
from equipoise.data.history import History
from equipoise.errors import NotFoundError
from equipoise.evaluate.incentives.audit import _Audit, activity_of, entered_matches
from equipoise.evaluate.incentives.plans import PlayerMatches
from equipoise.evaluate.incentives.search import Search, honest, last_places
from equipoise.numeric.workers import Workers
from equipoise.rating.replay import check_fit
from equipoise.rating.system import RatingSystem


def throwing(
    system: RatingSystem,
    history: History,
    player: object,
    thrown: Sequence[object],
    *,
    others: Others = "frozen",
    threads: int = 1,
) -> Incentive:
    """Return the effect of coming in last in some matches; which may be a loss.

    thrown : ids of rated matches of the player; matches from the first of them on are considered
    Raises : as `incentives`, and NotFoundError for ids that are not rated matches of the player
    """
    check_fit(system, history)
    rated = system.capabilities.rated(history)
    considered = entered_matches(history, rated, history.player_row(player), history.matches)
    ids = [str(match) for match in history.match_ids[considered.match].tolist()]
    wanted = {str(match) for match in thrown}
    if not wanted or wanted - set(ids):
        missing = ", ".join(sorted(wanted - set(ids))) or "none"
        raise NotFoundError(f"{player} has no rated match {missing}")
    first = next(n for n, match in enumerate(ids) if match in wanted)
    later = PlayerMatches(considered.player, considered.match[first:], considered.row[first:])
    bad = [match in wanted for match in ids[first:]]
    audit = _Audit(system, history, activity_of(history, rated), others)
    with Workers(threads) as workers:
        replay = audit.replay([later], workers)
        frozen, rater = audit._raters(later, replay, workers)
        plan = tuple(last if one else 0 for last, one in zip(last_places(frozen), bad, strict=True))
        alone = Search(frozen, budget=2)
        gain = alone.final(plan) - alone.final(honest(frozen))
        found = Search(rater, budget=2)
        found.final(plan)
        return audit._incentive(later, frozen, rater, found, plan, gain)
