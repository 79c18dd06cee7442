"""Requests for the tests of rebalancing: from short words, or drawn by hypothesis."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from equipoise.data.rebalancing import (
    MatchedParty,
    MatchedPlayer,
    PartyTeams,
    RebalanceRequest,
    Rule,
    Ruleset,
)
from reference.rebalance import Lobby, Party, Team

MMR = (Rule(attribute="mmr", reference=100, max=3000),)

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

#: The document's three examples: alliance, session, parties.
BACKFILL = ((1, 2, 1, 3), ["A70"], ["B60", "C10", "D40 E40"])
COMBINED = ((2, 2, 3, 3), [], ["A70", "B60 C60", "D40", "E40", "F10"])
PARTITIONED = (
    (2, 2, 7, 7),
    [],
    ["A70", "B40 C40", "D40", "E60", "F50", "G70 H70", "I60 J60 K60", "L50 M50 N50"],
)


def party(words: str, name: str | None = None) -> MatchedParty:
    """Return the party of "B60 C60": players of one letter with their mmr."""
    players = [
        MatchedPlayer(player=word[0], attributes={"mmr": float(word[1:])}) for word in words.split()
    ]
    return MatchedParty(players=tuple(players), party=name)


def request(
    alliance: tuple[int, int, int, int],
    session: Sequence[str | Sequence[str]],
    parties: Sequence[str],
    **more: Any,
) -> RebalanceRequest:
    """Return a request; a team of the session is one party or several."""
    low, high, least, most = alliance
    names = iter(range(1, 1000))
    teams = [
        [party(one, f"Party {next(names)}") for one in ([team] if isinstance(team, str) else team)]
        for team in session
    ]
    rules = more.pop("rules", MMR)
    extra = {key: more.pop(key) for key in ("rebalance_enable", "auto_backfill") if key in more}
    return RebalanceRequest(
        ruleset=Ruleset(
            min_number=low,
            max_number=high,
            player_min_number=least,
            player_max_number=most,
            rules=rules,
            **extra,
        ),
        session=tuple(tuple(team) for team in teams),
        parties=tuple(party(one, f"Party {next(names)}") for one in parties),
        **more,
    )


def solo(count: int, seed: int = 0, values: Sequence[int] = range(3000)) -> list[str]:
    """Return players who come alone, each as a word."""
    rng = random.Random(seed)
    return [f"{letter}{rng.choice(values)}" for letter in LETTERS[:count]]


def large(
    players: int, teams: int, seed: int = 0, sizes: tuple[int, ...] = (1,)
) -> RebalanceRequest:
    """Return a strict match of many."""
    rng = random.Random(seed)
    left, parties = players, []
    while left:
        size = min(rng.choice(sizes), left)
        members = tuple(
            MatchedPlayer(player=left - at, attributes={"mmr": round(rng.gauss(1500, 300))})
            for at in range(size)
        )
        parties.append(MatchedParty(players=members))
        left -= size
    most = players // teams
    return RebalanceRequest(
        ruleset=Ruleset(
            min_number=teams,
            max_number=teams,
            player_min_number=most,
            player_max_number=most,
            rules=MMR,
        ),
        parties=tuple(parties),
    )


def in_words(teams: PartyTeams) -> list[str]:
    """Return teams as the document writes them: "{A} {B,C}"."""
    return [" ".join("{" + ",".join(map(str, one)) + "}" for one in team) for team in teams]


def reference_party(one: MatchedParty) -> Party:
    return [(str(player.player), player.attributes["mmr"]) for player in one.players]


def reference_lobby(asked: RebalanceRequest, teams: int, least: int | None = None) -> Lobby:
    """Return a request as the reference has it, for some number of teams."""
    session: list[Team] = [[reference_party(one) for one in team] for team in asked.session]
    return Lobby(
        parties=[reference_party(one) for one in asked.parties],
        teams=[*session, *([] for _ in range(teams))][:teams],
        least=asked.ruleset.player_min_number if least is None else least,
        most=asked.ruleset.player_max_number,
    )


def reference_words(teams: list[Team]) -> list[str]:
    return [
        " ".join("{" + ",".join(name for name, _ in one) + "}" for one in team) for team in teams
    ]


@st.composite
def requests(
    draw: st.DrawFn,
    *,
    most_parties: int = 6,
    most_teams: int = 3,
    strict: bool = False,
    sessions: bool = True,
) -> RebalanceRequest:
    """Return requests that keep every rule of requests; their parties may fit into no teams."""
    values = st.one_of(st.sampled_from([10, 20, 25]), st.integers(0, 3000))
    letters = iter(LETTERS)

    def one(largest: int) -> str:
        size = draw(st.integers(1, largest))
        return " ".join(f"{next(letters)}{draw(values)}" for _ in range(size))

    high = draw(st.integers(1, most_teams))
    count = draw(st.integers(1, most_parties))
    largest = draw(st.integers(1, 3))
    parties = [one(largest) for _ in range(count)]
    session: list[list[str]] = []
    if sessions and draw(st.booleans()):
        session = [
            [one(2) for _ in range(draw(st.integers(0, 1)))]
            for _ in range(draw(st.integers(1, high)))
        ]
    here = sum(len(words.split()) for team in session for words in team)
    players = here + sum(len(words.split()) for words in parties)
    if strict:
        most = max(-(-players // high), largest)
        alliance = (high, high, most, most)
        letters_left = high * most - players
        parties += [f"{next(letters)}{draw(values)}" for _ in range(letters_left)]
    else:
        most = max(-(-players // high), largest, 2) + draw(st.integers(0, 2))
        low = draw(st.integers(1, high))
        least = draw(st.integers(0, min(most, players // low)))
        alliance = (low, high, least, most)
    return request(alliance, session, parties)
