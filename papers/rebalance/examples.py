"""The three worked examples of the document, row by row, and what it says around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from equipoise.data.lobby import Id
from equipoise.data.rebalancing import (
    MatchedParty,
    MatchedPlayer,
    Rebalance,
    RebalanceRequest,
    Rule,
    Ruleset,
)
from equipoise.errors import InvalidDataError
from equipoise.formats.rebalance_request import read_rebalance_request
from equipoise.teams.rebalance import rebalance
from papers.items import Facts
from papers.lines import Line, beyond, compared, dropped, holds, never

_FOLDER = Path(__file__).parent


@cache
def request(name: str) -> RebalanceRequest:
    """Return a bundled request: permutation, combination or greedy."""
    return read_rebalance_request((_FOLDER / f"{name}.json").read_bytes())


@cache
def printed(name: str) -> pl.DataFrame:
    """Return the printed table of an example."""
    return pl.read_csv(_FOLDER / f"{name}.csv")


@cache
def found(name: str) -> Rebalance:
    """Return the answer, with every sequence."""
    return rebalance(request(name), candidates=name != "greedy")


def in_words(parties: Iterable[tuple[Id, ...]]) -> str:
    """Return parties as the document prints them: {A} {B,C}."""
    return " ".join(f"{{{','.join(map(str, one))}}}" for one in parties)


def rows(name: str) -> Iterator[Line]:
    """Yield every row of the table of permutation or combination."""
    ours = found(name).candidates
    table = printed(name)
    yield compared("number of rows", str(len(table)), float(len(ours)))
    for row, one in zip(table.iter_rows(named=True), ours, strict=False):
        what = f"result {row['result']}"
        for column, parties in (
            ("sequence", one.sequence),
            ("team_1", one.teams[0]),
            ("team_2", one.teams[1]),
        ):
            words = in_words(parties)
            label = column.replace("_", " ")
            yield holds(f"{what}: {label}", row[column], words, words == row[column])
        yield compared(f"{what}: members", str(row["members"]), float(one.member_count_difference))
        # For two teams the distance is twice the distance of a team from the mean of both.
        rounded = 2 * round(one.distance / 2, 2)
        text = f"{row['distance']:g}"
        reason = "" if abs(rounded - row["distance"]) > 1e-9 else _EACH_ROUNDED
        yield compared(f"{what}: distance", text, one.distance, digits=4, reason=reason)


_EACH_ROUNDED = "the print rounds each team's term to two digits before it adds them (reading D1)"


def permutation(_: Facts) -> Iterator[Line]:
    """Yield the six rows."""
    yield from rows("permutation")


def combination(_: Facts) -> Iterator[Line]:
    """Yield the eight rows."""
    yield from rows("combination")


def _chosen(name: str) -> int:
    """Return the number of the row that is the answer."""
    return found(name).candidates.index(found(name).best) + 1


def result_6(_: Facts) -> list[Line]:
    """Return which row is the answer of the permutation."""
    answer = found("permutation")
    least = min((one.member_count_difference, one.distance) for one in answer.candidates)
    equal = [
        str(number)
        for number, one in enumerate(answer.candidates, 1)
        if one.member_count_difference == least[0] and one.distance <= least[1] + 1e-9
    ]
    return [
        compared("result used for the backfill", "6", float(_chosen("permutation"))),
        beyond("equal results; the last one found is taken", ", ".join(equal)),
    ]


def result_7(_: Facts) -> list[Line]:
    """Return which row is the answer of the combination."""
    table = printed("combination")
    best = table.filter(pl.col("distance") == pl.col("distance").min())["result"].to_list()
    reason = (
        "result 6 has 13.34 and contradicts the document's own criterion; of its smallest, "
        f"results {best[0]} and {best[1]} (6.66), the last is taken as in the permutation example"
    )
    return [compared("result used", "6", float(_chosen("combination")), reason=reason)]


def sorted_parties(_: Facts) -> list[Line]:
    """Return the order of the parties by their totals."""
    ours = ", ".join(f"{in_words([one.party])}:{one.total:g}" for one in found("greedy").steps)
    text = "{I,J,K}:180, {L,M,N}:150, {G,H}:140, {B,C}:80, {A}:70, {E}:60, {F}:50, {D}:40"
    return [holds("parties by total, descending", text, ours, ours == text)]


def greedy(_: Facts) -> Iterator[Line]:
    """Yield the eight steps, and the result."""
    answer = found("greedy")
    for row, one in zip(printed("greedy").iter_rows(named=True), answer.steps, strict=True):
        what = f"step {row['step']}"
        totals = " ".join(f"{team}:{total:g}" for team, total in one.order)
        yield holds(f"{what}: totals before", row["totals"], totals, totals == row["totals"])
        party = in_words([one.party])
        slip = "a slip: G and H came as a party, as the same row's result shows (reading D6)"
        yield holds(f"{what}: party", row["party"], party, party == row["party"], reason=slip)
        yield compared(f"{what}: assigned to team", str(row["team"]), float(one.team))
    teams = [in_words(one) for one in answer.teams]
    for number, text in enumerate(("{I,J,K} {B,C} {A} {F}", "{L,M,N} {G,H} {E} {D}")):
        yield holds(f"team {number + 1}", text, teams[number], teams[number] == text)


def optimum(_: Facts) -> Iterator[Line]:
    """Yield how far each example is from the most even teams."""
    for name in ("permutation", "combination", "greedy"):
        best = rebalance(request(name), method="optimal").best
        one = found(name).best
        yield beyond(
            f"{name}: distance, and that of the most even teams",
            f"{one.distance:.3f} and {best.distance:.3f}",
        )


def methods(_: Facts) -> Iterator[Line]:
    """Yield which method the rules choose."""
    yield _method("a session with a player", "permutation", found("permutation"))
    loose = _solo((1, 2, 2, 2), 4)
    yield _method("teams from min_number to max_number", "permutation", rebalance(loose))
    loose = _solo((2, 2, 1, 2), 4)
    yield _method("from player_min_number to player_max_number", "permutation", rebalance(loose))
    yield _method("strict, 6 players", "combination", found("combination"))
    yield _method("strict, 14 players", "greedy", found("greedy"))
    twelve = rebalance(_solo((2, 2, 6, 6), 12))
    yield beyond(
        "strict, exactly 12 players",
        twelve.method,
        reason="the text has fewer than 12 and more than 12; 12 is combination here (reading D5)",
    )


def _method(what: str, name: str, answer: Rebalance) -> Line:
    return holds(what, name, answer.method, answer.method == name)


def _solo(alliance: tuple[int, int, int, int], players: int, **more: bool) -> RebalanceRequest:
    """Return players who came alone; alliance : teams from, to; players of a team from, to."""
    low, high, least, most = alliance
    return RebalanceRequest(
        ruleset=Ruleset(
            min_number=low,
            max_number=high,
            player_min_number=least,
            player_max_number=most,
            rules=(Rule(attribute="mmr", reference=100, max=3000),),
            **more,
        ),
        session=(),
        parties=tuple(
            MatchedParty(
                players=(MatchedPlayer(player=f"p{at}", attributes={"mmr": 100.0 * at}),),
                party=f"party {at}",
            )
            for at in range(players)
        ),
    )


def options(_: Facts) -> Iterator[Line]:
    """Yield the fields of the ruleset."""
    default = request("combination")
    on = default.ruleset.rebalance_enable
    yield holds("rebalance_enable is on by default", "yes", "yes" if on else "no", on)
    off = rebalance(_solo((2, 2, 2, 2), 4, rebalance_enable=False))
    yield beyond("rebalance_enable false", off.method, reason="in order of arrival (reading D5)")


def auto_backfill(_: Facts) -> list[Line]:
    """Return what a session without auto_backfill gets."""
    one = request("permutation")
    try:
        rebalance(replace(one, ruleset=replace(one.ruleset, auto_backfill=False)))
    except InvalidDataError:
        got = "an error"
    else:
        got = "an answer"
    return [
        beyond(
            "a session although auto_backfill is false",
            got,
            reason="as decided in reading D5",
        )
    ]


def fields(_: Facts) -> list[Line]:
    """Return what reference, max and criteria do."""
    one = request("combination")
    rule = one.ruleset.rules[0]

    def answer(changed: Rule) -> Rebalance:
        return rebalance(replace(one, ruleset=replace(one.ruleset, rules=(changed,))))

    try:
        Rule(attribute="mmr", criteria="average", reference=100, max=3000)
    except InvalidDataError:
        other = "an error"
    else:
        other = "accepted"
    noted = len(answer(replace(rule, reference=1.0)).notes) - len(answer(rule).notes)
    teams = [answer(replace(rule, max=value)).teams for value in (100.0, 3000.0)]
    return [
        beyond(
            "notes more with a reference of 1 than of 100",
            str(noted),
            reason="the matchmaker's tolerance; a result beyond it is reported (reading D7)",
        ),
        beyond(
            "max: the same teams with 100 and 3000",
            "yes" if teams[0] == teams[1] else "no",
            reason="max is a divisor, used only to add several attributes (reading D7)",
        ),
        beyond("criteria other than distance", other, reason="none is described (reading D7)"),
    ]


def _parties(rng: np.random.Generator, sizes: Iterable[int]) -> list[MatchedParty]:
    return [
        MatchedParty(
            players=tuple(
                MatchedPlayer(
                    player=f"p{number}.{at}", attributes={"mmr": float(rng.integers(0, 3000))}
                )
                for at in range(size)
            ),
            party=f"party {number}",
        )
        for number, size in enumerate(sizes)
    ]


def strict_requests(cases: int, seed: int) -> Iterator[RebalanceRequest]:
    """Yield requests of two full teams of 2 to 5 players, in parties of 1 to 3."""
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        size = int(rng.integers(2, 6))
        sizes: list[int] = []
        for _ in range(2):
            left = size
            while left:
                sizes.append(int(rng.integers(1, min(left, 3) + 1)))
                left -= sizes[-1]
        yield RebalanceRequest(
            ruleset=Ruleset(
                min_number=2,
                max_number=2,
                player_min_number=size,
                player_max_number=size,
                rules=(Rule(attribute="mmr", reference=100, max=3000),),
            ),
            session=(),
            parties=tuple(_parties(rng, rng.permutation(sizes).tolist())),
        )


def random_requests(cases: int, seed: int) -> Iterator[RebalanceRequest]:
    """Yield requests of 2 to 6 parties of 1 to 3 players, 2 or 3 teams, half with a session."""
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        sizes = rng.integers(1, 4, int(rng.integers(2, 7)))
        parties = _parties(rng, sizes.tolist())
        session = rng.random() < 0.5
        room = int(sizes.sum())
        yield RebalanceRequest(
            ruleset=Ruleset(
                min_number=1,
                max_number=int(rng.integers(2, 4)),
                player_min_number=1,
                player_max_number=room,
                auto_backfill=True,
                rules=(Rule(attribute="mmr", reference=100, max=3000),),
            ),
            session=((parties[0],), ()) if session else (),
            parties=tuple(parties[1:] if session else parties),
        )


def rules_hold(facts: Facts) -> Iterator[Line]:
    """Yield what the overview promises, over random requests that permutation answers."""
    few = max(1, facts.cases // 10)
    yield from _hold(random_requests(few, facts.seed), few, "permutation")


def strict_rules_hold(facts: Facts) -> Iterator[Line]:
    """Yield the same over random requests that combination answers, and that teams are full."""
    few = max(1, facts.cases // 10)
    yield from _hold(strict_requests(few, facts.seed), few, "combination")
    uneven = sum(
        rebalance(one).member_count_difference != 0 for one in strict_requests(few, facts.seed)
    )
    yield never("a team that is not full", uneven, few, of="request")


def _hold(requests: Iterable[RebalanceRequest], few: int, method: str) -> Iterator[Line]:
    split = worse = several = last = other = 0
    for one in requests:
        answer = rebalance(one, candidates=True)
        other += answer.method != method
        parties = {party.ids for _, party in one.everyone()}
        split += {party for team in answer.teams for party in team} != parties
        scores = [(each.member_count_difference, each.distance) for each in answer.candidates]
        least = min(scores)
        mine = (answer.member_count_difference, answer.distance)
        worse += not (mine[0] <= least[0] and mine[1] <= least[1] + 1e-9)
        equal = [
            each
            for each in answer.candidates
            if each.member_count_difference == least[0] and each.distance <= least[1] + 1e-9
        ]
        several += len(equal) > 1
        last += answer.teams != equal[-1].teams
    yield never(f"another method than {method}", other, few, of="request")
    yield never("a party that is split, or lost", split, few, of="request")
    yield never("a listed sequence that is better than the answer", worse, few, of="request")
    yield never("an answer that is not the last of equals", last, few, of="request")
    yield dropped("requests with several equal best sequences", several, few, of="request")


def permutation_is_not_optimal(facts: Facts) -> list[Line]:
    """Return how often the published methods miss the most even teams."""
    few = max(1, facts.cases // 10)
    missed = 0
    for one in random_requests(few, facts.seed):
        best = rebalance(one, method="optimal")
        answer = rebalance(one)
        mine = (answer.member_count_difference, answer.distance)
        missed += mine > (best.member_count_difference, best.distance + 1e-9)
    return [
        dropped(
            "requests for which more even teams exist than permutation finds",
            missed,
            few,
            of="request",
            reason="each party goes where it is best at its turn, but every order is tried",
        )
    ]
