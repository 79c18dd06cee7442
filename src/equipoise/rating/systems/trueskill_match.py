"""Partial play, and matches under both TrueSkill systems: messages along a chain.

Source: partial play of the package trueskill 0.4.5, in which a share (there: weight) multiplies the
player's performance in the team's sum, and is at least 0.0001. It works the same in the updates of
[WL]_: the team is stronger by the share of a rating, and the player's part of the change follows
from the chain rule. The rule `contribution` is that of openskill 6.2: the shares of a team are
scaled to 1 to 2, a gain is multiplied by them and a loss divided.
Departure: a match in which all shares are 1 is not scaled; openskill scales a team of one to 2.

Source: [TS]_ Fig. 1 and Table 1, with the corrections v and w of sec. 3 as moments of truncated
normal variables; [NS]_ sec. 3.

A team performs at the sum of its members' performances, each N(skill, beta^2). A chain has nodes
x_0, x_1, ... in the order of the ranks. A factor between two neighbours says that x_k - x_(k+1) is
above a margin (k did better) or within it (a tie). A message is a Gaussian factor, kept as
(precision, precision times mean), so that a message without information is (0, 0).

In classic TrueSkill the nodes are teams. In [NS]_ they are places, which differ by more than
2 eps, and a team is within eps of its place. So all teams that tie are treated the same, which the
classic chain does not do.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from equipoise._jit import inlined_update, inner_kernel, kernel
from equipoise.arrays import Flags, Floats, Ints
from equipoise.numeric.functions import above_zero, logistic, lower_normal_quantile, within
from equipoise.numeric.sums import normal_scores_against_field
from equipoise.rating.base_system import DEVIATION, RATING
from equipoise.rating.loop import move_rating, rate_teams, read_columns
from equipoise.rating.newcomers import first_match_after_drift

#: The smallest share; a smaller one counts as this, as in trueskill.
LEAST_PLAYED = 1e-4

#: Passes through all messages after which inference has failed.
MAX_SWEEPS = 2000

#: The smallest variance that a message may leave, relative to that before: even a nearly impossible
#: outcome gives a finite message.
_LEAST = 1e-12

#: Precision, in units of 1/eps^2, below which a message has no information, because
#: `difference_message` could not distinguish the remaining variance from 0.
_NOTHING = 3e-12

RATING_STEP = 100.0

#: Bound of the log odds of a draw: draw probabilities are from 1e-9 to 1 - 1e-9.
_FARTHEST_ODDS = 20.72


@inner_kernel
def part_played(share: Floats | None, i: int) -> float:
    """Return the share with which a player's performance counts in the team's sum."""
    if share is None:
        return 1.0
    return float(max(share[i], LEAST_PLAYED))


@inner_kernel
def factor_of_gain(factors: Floats | None, i: int, gains: bool) -> float:
    """Return by what the change of row i is multiplied; `factors` are those of gains."""
    if factors is None:
        return 1.0
    return float(factors[i] if gains else 1.0 / factors[i])


@kernel
def contributions(
    share: Floats | None, team: Ints, start: int, stop: int, contribution: bool
) -> Floats | None:
    """Return the factors of gains in rows start:stop, from 1 to 2 within each team.

    None without shares; without `contribution` all factors are 1
    """
    if share is None:
        return None
    factors = np.ones(stop - start)
    if not contribution:
        return factors
    count, whole = 0, True
    for i in range(start, stop):
        count = max(count, team[i] + 1)
        whole = whole and share[i] == 1.0
    if whole:
        return factors
    least, most, members = np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count)
    for i in range(start, stop):
        t = team[i]
        least[t] = min(least[t], share[i])
        most[t] = max(most[t], share[i])
        members[t] += 1.0
    for i in range(start, stop):
        t = team[i]
        if members[t] == 1.0:
            factors[i - start] = 2.0
        elif most[t] > least[t]:
            factors[i - start] = 1.0 + (share[i] - least[t]) / (most[t] - least[t])
    return factors


#: Rules for the draw probability: the same for all teams; by the mean rating of the players of both
#: teams, in steps of 100 rating points; by their number, a step for each doubling.
CONSTANT, BY_RATING, BY_PLAYERS = range(3)


class Chain(NamedTuple):
    """K nodes, K - 1 factors between them, and the factors' messages.

    prior, prior_mean : shape (K,), precision of a node by itself, and precision times mean
    margin : shape (K - 1,), of the factor between k and k + 1
    tied : shape (K - 1,), whether the difference is within the margin instead of above it
    up, up_mean : shape (K - 1,), message of factor k to its better node k
    down, down_mean : shape (K - 1,), message of factor k to its worse node k + 1
    """

    prior: Floats
    prior_mean: Floats
    margin: Floats
    tied: Flags
    up: Floats
    up_mean: Floats
    down: Floats
    down_mean: Floats


class Settings(NamedTuple):
    """Parameters in the form that kernels use.

    beta, drift : rating points; drift is added to a deviation before the match
    margin : of a draw between two players (classic), or eps
    places : whether the nodes of the chain are places
    tolerance : largest change of a mean in the last pass, rating points
    rule : how the draw probability depends on the teams: CONSTANT, BY_RATING or BY_PLAYERS
    log_odds, slope, rating : of a draw between two players of this rating, and by how much they
      change for each of the rule's steps
    """

    beta: float
    drift: float
    margin: float
    places: bool
    tolerance: float
    rule: int = CONSTANT
    log_odds: float = 0.0
    slope: float = 0.0
    rating: float = 0.0


class Teams(NamedTuple):
    """T teams: mean and variance of performances, ranks from 0 without gaps, and members.

    total : sum of the ratings of the members, whatever their shares
    """

    mean: Floats
    variance: Floats
    rank: Ints
    members: Floats
    total: Floats


class Inferred(NamedTuple):
    """The messages of a match to the performances of its teams, each of shape (T,).

    better, better_mean : classic: from the neighbour ranked above; with places (0, 0)
    worse, worse_mean : from the neighbour ranked below; with places the complete message
    order : teams by rank
    """

    better: Floats
    better_mean: Floats
    worse: Floats
    worse_mean: Floats
    order: Ints


@kernel
def empty_chain(nodes: int) -> Chain:
    """Return a chain without information: all messages are (0, 0)."""
    between = max(nodes - 1, 0)
    return Chain(
        np.zeros(nodes),
        np.zeros(nodes),
        np.zeros(between),
        np.zeros(between, np.bool_),
        np.zeros(between),
        np.zeros(between),
        np.zeros(between),
        np.zeros(between),
    )


@inner_kernel
def difference_message(
    mean: float, variance: float, margin: float, tied: bool
) -> tuple[float, float]:
    """Return the message that a difference N(mean, variance) is above, or within, the margin."""
    deviation = math.sqrt(variance)
    if tied:
        shift, left = within(mean / deviation, margin / deviation)
    else:
        shift, left = above_zero((mean - margin) / deviation)
    left = max(left, _LEAST)
    # The posterior over the cavity: in precision 1/(left variance) - 1/variance, and so on.
    precision = (1.0 - left) / (left * variance)
    return precision, precision * mean + shift * deviation / (left * variance)


@inner_kernel
def _update(chain: Chain, k: int) -> float:
    """Send the messages of factor k again; return the largest change of a node's mean."""
    a, a_mean = chain.prior[k], chain.prior_mean[k]
    if k > 0:
        a += chain.down[k - 1]
        a_mean += chain.down_mean[k - 1]
    b, b_mean = chain.prior[k + 1], chain.prior_mean[k + 1]
    if k + 1 < len(chain.up):
        b += chain.up[k + 1]
        b_mean += chain.up_mean[k + 1]
    mean_a, mean_b = a_mean / a, b_mean / b
    precision, weighted = difference_message(
        mean_a - mean_b, 1.0 / a + 1.0 / b, chain.margin[k], chain.tied[k]
    )
    # x_k is the difference plus x_(k+1), and x_(k+1) is x_k less the difference.
    widened_b, widened_a = 1.0 + precision / b, 1.0 + precision / a
    up = precision / widened_b
    up_mean = (weighted + precision * mean_b) / widened_b
    down = precision / widened_a
    down_mean = (precision * mean_a - weighted) / widened_a
    moved_a = (a_mean + up_mean) / (a + up) - (a_mean + chain.up_mean[k]) / (a + chain.up[k])
    moved_b = (b_mean + down_mean) / (b + down) - (b_mean + chain.down_mean[k]) / (
        b + chain.down[k]
    )
    chain.up[k], chain.up_mean[k] = up, up_mean
    chain.down[k], chain.down_mean[k] = down, down_mean
    return float(max(abs(moved_a), abs(moved_b)))


@inner_kernel
def sweep(chain: Chain) -> float:
    """Send all messages down the chain and up again; return the largest change of a mean."""
    moved = 0.0
    between = len(chain.up)
    for k in range(between):
        moved = max(moved, _update(chain, k))
    for k in range(between - 2, -1, -1):
        moved = max(moved, _update(chain, k))
    return moved


@inner_kernel
def message_to(chain: Chain, k: int) -> tuple[float, float]:
    """Return the product of the messages of both factors beside node k."""
    precision, weighted = 0.0, 0.0
    if k > 0:
        precision += chain.down[k - 1]
        weighted += chain.down_mean[k - 1]
    if k < len(chain.up):
        precision += chain.up[k]
        weighted += chain.up_mean[k]
    return precision, weighted


@kernel
def teams_of(job: Any, share: Floats | None, m: int, count: int) -> Teams:
    """Return the teams of match m, so many.

    share : `job.inputs.share`
    """
    matches, settings = job.matches, job.settings
    mean, variance, members = np.zeros(count), np.zeros(count), np.zeros(count)
    total = np.zeros(count)
    rank = np.zeros(count, np.int64)
    noise = settings.beta * settings.beta + settings.drift * settings.drift
    for i in range(matches.offsets[m], matches.offsets[m + 1]):
        t, player = matches.team[i], job.table[matches.player[i]]
        part = part_played(share, i)
        mean[t] += part * player[RATING]
        total[t] += player[RATING]
        variance[t] += part * part * (player[DEVIATION] * player[DEVIATION] + noise)
        members[t] += 1.0
        rank[t] = matches.rank[i]
    return Teams(mean, variance, rank, members, total)


@kernel
def by_rank(rank: Ints) -> Ints:
    """Return teams in the order of their ranks, equal ones by number; a counting sort."""
    first = np.zeros(len(rank) + 1, np.int64)
    for r in rank:
        first[r + 1] += 1
    for r in range(len(rank)):
        first[r + 1] += first[r]
    order = np.empty(len(rank), np.int64)
    for t in range(len(rank)):
        order[first[rank[t]]] = t
        first[rank[t]] += 1
    return order


@inner_kernel
def margin_between(total: float, players: float, settings: Settings) -> float:
    """Return the margin between two teams: of equal ones, a share of p draws.

    total : sum of the ratings of the players of both teams; players : their number
    """
    if settings.rule == CONSTANT:
        return settings.margin * math.sqrt(0.5 * players)
    if settings.rule == BY_RATING:
        steps = (total / players - settings.rating) / RATING_STEP
    else:
        steps = math.log2(0.5 * players)
    odds = settings.log_odds + settings.slope * steps
    odds = min(max(odds, -_FARTHEST_ODDS), _FARTHEST_ODDS)
    # The quantile of (1 + p)/2, from the tail (1 - p)/2.
    z = -lower_normal_quantile(0.5 * logistic(-odds))
    return float(z * settings.beta * math.sqrt(players))


@kernel
def _between_teams(teams: Teams, settings: Settings) -> tuple[Inferred, float]:
    """Return the messages of the chain of teams, and the last pass's largest change of a mean."""
    count = len(teams.rank)
    order, chain = by_rank(teams.rank), empty_chain(count)
    for k in range(count):
        t = order[k]
        chain.prior[k] = 1.0 / teams.variance[t]
        chain.prior_mean[k] = teams.mean[t] / teams.variance[t]
        if k + 1 < count:
            other = order[k + 1]
            players = teams.members[t] + teams.members[other]
            chain.margin[k] = margin_between(teams.total[t] + teams.total[other], players, settings)
            chain.tied[k] = teams.rank[t] == teams.rank[other]
    moved = sweep(chain)
    for _ in range(MAX_SWEEPS):
        if moved <= settings.tolerance or count == 2:
            break
        moved = sweep(chain)
    messages = Inferred(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count), order)
    for k in range(count):
        t = order[k]
        if k > 0:
            messages.better[t], messages.better_mean[t] = chain.down[k - 1], chain.down_mean[k - 1]
        if k + 1 < count:
            messages.worse[t], messages.worse_mean[t] = chain.up[k], chain.up_mean[k]
    return messages, (0.0 if count == 2 else moved)


@inner_kernel
def _near_place(
    mean: float, variance: float, beside: float, beside_mean: float, eps: float
) -> tuple[float, float]:
    """Return the message that a performance N(mean, variance) is within eps of its place.

    beside, beside_mean : message to the place from everyone else; its precision is almost 0, by
        rounding even less, if the place is certain to be the last (or the first)
    """
    if beside * eps * eps > _NOTHING:
        return difference_message(mean - beside_mean / beside, variance + 1.0 / beside, eps, True)
    # The limit as beside goes to 0: uniform within eps either way.
    return 3.0 / (eps * eps), 0.0


@inner_kernel
def _to_place(
    t: int, place: int, teams: Teams, chain: Chain, stars: Floats, stars_mean: Floats, eps: float
) -> None:
    """Send team t's message to its place again: it is within eps of the team's performance."""
    precision, weighted = stars[t], stars_mean[t]
    # The message to the place from everyone else.
    beside, beside_mean = message_to(chain, place)
    beside += chain.prior[place] - precision
    beside_mean += chain.prior_mean[place] - weighted
    variance = teams.variance[t]
    mine, mine_mean = _near_place(teams.mean[t], variance, beside, beside_mean, eps)
    widened = 1.0 + mine * variance
    stars[t] = mine / widened
    stars_mean[t] = (mine * teams.mean[t] - mine_mean) / widened
    chain.prior[place] += stars[t] - precision
    chain.prior_mean[place] += stars_mean[t] - weighted


@kernel
def _between_places(teams: Teams, settings: Settings) -> tuple[Inferred, float]:
    """Return the messages of the chain of places, and the last pass's largest change."""
    count, order = len(teams.rank), by_rank(teams.rank)
    places = teams.rank[order[count - 1]] + 1
    chain = empty_chain(places)
    chain.margin[:] = 2.0 * settings.margin
    stars, stars_mean = np.zeros(count), np.zeros(count)
    before = np.empty(places)
    moved = np.inf
    for pass_ in range(MAX_SWEEPS):
        for t in order:
            _to_place(t, teams.rank[t], teams, chain, stars, stars_mean, settings.margin)
        moved = sweep(chain)
        for place in range(places):
            precision, weighted = message_to(chain, place)
            mean = (chain.prior_mean[place] + weighted) / (chain.prior[place] + precision)
            if pass_ > 0:
                moved = max(moved, abs(mean - before[place]))
            before[place] = mean
        if pass_ > 0 and moved <= settings.tolerance:
            break
    messages = Inferred(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count), order)
    for t in range(count):
        place = teams.rank[t]
        beside, beside_mean = message_to(chain, place)
        beside = max(beside + (chain.prior[place] - stars[t]), 0.0)
        beside_mean += chain.prior_mean[place] - stars_mean[t]
        mine, mine_mean = _near_place(
            teams.mean[t], teams.variance[t], beside, beside_mean, settings.margin
        )
        # A place without a message from others sends none.
        messages.worse[t] = mine * beside / (mine + beside)
        messages.worse_mean[t] = (mine_mean * beside + mine * beside_mean) / (mine + beside)
    return messages, moved


@kernel
def inferred(teams: Teams, settings: Settings) -> tuple[Inferred, float]:
    """Return the messages of a match, and the largest change of a mean in the last pass."""
    if settings.places:
        return _between_places(teams, settings)
    return _between_teams(teams, settings)


@inner_kernel
def part_of(precision: float, weighted: float, teams: Teams, t: int, variance: float) -> float:
    """Return what a message to team t adds to a member's precision-weighted mean.

    variance : of the member's skill, times the square of a share. The message is about the team's
        performance, which differs from the skill by the others' performances and the member's own
        noise
    """
    noise = teams.variance[t] - variance
    return float((weighted - precision * teams.mean[t]) / (1.0 + precision * noise))


@inlined_update
def rate_match(job: Any, m: int, count: int) -> tuple[float, float]:
    """Rate a match by messages between its teams; return z of the first two and a residual."""
    matches, settings, weight = job.matches, job.settings, job.matches.weight[m]
    teams, drift2 = teams_of(job, job.inputs.share, m, count), settings.drift * settings.drift
    messages, moved = inferred(teams, settings)
    if not moved <= settings.tolerance:
        return math.nan, moved
    expected = np.empty(0)
    if len(job.trace.expected):
        expected = normal_scores_against_field(teams.mean, 1.0 / np.sqrt(teams.variance))
    for i in range(matches.offsets[m], matches.offsets[m + 1]):
        t, player = matches.team[i], job.table[matches.player[i]]
        variance = player[DEVIATION] * player[DEVIATION] + drift2
        precision = weight * (messages.better[t] + messages.worse[t])
        weighted = weight * (messages.better_mean[t] + messages.worse_mean[t])
        # The team performs at the sum of shares times performances.
        part = part_played(job.inputs.share, i)
        seen = part * part * variance
        added = part * part * (precision / (1.0 + precision * (teams.variance[t] - seen)))
        after = 1.0 / (1.0 / variance + added)
        player[RATING] += after * (part * part_of(precision, weighted, teams, t, seen))
        player[DEVIATION] = math.sqrt(after)
        if len(job.trace.expected):
            job.trace.expected[i] = expected[t] / (count - 1.0)
    scale = math.sqrt(teams.variance[0] + teams.variance[1])
    return (teams.mean[0] - teams.mean[1]) / scale, -1.0


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    read, evidence = read_columns, first_match_after_drift
    return rate_teams(job, first, last, rate_match, None, read, evidence, move_rating)
