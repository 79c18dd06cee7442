"""The shape of the answer, as the interfaces have it."""

from __future__ import annotations

import json

import msgspec

from equipoise.messages.questions import RebalanceMessage, rebalance_message
from equipoise.teams.rebalance import rebalance
from teams.matches import BACKFILL, PARTITIONED, request

FIELDS = [
    "method",
    "reason",
    "teams",
    "member_count_difference",
    "distance",
    "sequences",
    "truncated",
    "optimum",
    "steps",
    "notes",
    "candidates",
]


def test_the_answer_has_the_fields_of_the_interfaces_in_their_order() -> None:
    message = rebalance_message(rebalance(request(*BACKFILL), candidates=True))
    found = json.loads(msgspec.json.encode(message))
    assert list(found) == FIELDS
    assert found["teams"] == [[["A"], ["B"], ["C"]], [["D", "E"]]]
    assert found["optimum"] == {
        "member_count_difference": 1,
        "distance": found["distance"],
        "bound_member_count_difference": 1,
        "bound_distance": found["distance"],
        "proved": True,
    }
    assert len(found["candidates"]) == found["sequences"] == 6
    assert found["candidates"][0] == {
        "sequence": [["B"], ["C"], ["D", "E"]],
        "teams": [[["A"], ["C"]], [["B"], ["D", "E"]]],
        "member_count_difference": 1,
        "distance": found["distance"],
    }
    assert msgspec.json.decode(msgspec.json.encode(message), type=RebalanceMessage) == message


def test_steps_have_the_totals_of_the_document() -> None:
    found = rebalance_message(rebalance(request(*PARTITIONED)))
    assert json.loads(msgspec.json.encode(found.steps[2])) == {
        "step": 3,
        "order": [{"team": 2, "total": 150.0}, {"team": 1, "total": 180.0}],
        "party": ["G", "H"],
        "total": 140.0,
        "team": 2,
    }


def test_numbers_of_sequences_stay_exact_in_json() -> None:
    """JSON readers know whole numbers up to 2^53; more sequences are as many as that."""
    parties = [f"{letter}1" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    found = rebalance_message(rebalance(request((1, 2, 1, 13), [], parties)))
    assert found.sequences == 2**53
    assert not found.truncated
