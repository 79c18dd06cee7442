"""Messages made of values, field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest

from equipoise.messages.conversion import to_message, to_messages
from equipoise.messages.questions import RebalanceMessage, rebalance_message
from equipoise.teams.rebalance import rebalance
from teams.matches import BACKFILL, PARTITIONED, request


class Inner(msgspec.Struct, frozen=True):
    name: str
    value: float | None


class Outer(msgspec.Struct, frozen=True):
    player: int | str
    rating: float | None
    double: float
    teams: list[list[int | str]] | None
    bounds: dict[str, list[float | None]]
    inner: list[Inner]
    one: Inner | None
    anything: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    player: object
    rating: float
    teams: tuple[tuple[object, ...], ...] | None
    bounds: Mapping[str, tuple[float, float]]
    inner: tuple[Inner | Other, ...] = ()
    one: Other | None = None

    @property
    def double(self) -> float:
        return 2 * self.rating


@dataclass(frozen=True)
class Other:
    name: str
    value: float


UNKNOWN = float("nan")


def test_fields_are_those_of_the_value_as_json_holds_them() -> None:
    """Ids and numbers of NumPy become those of Python, tuples lists, NaN null, values messages."""
    value = Value(
        player=np.int64(7),
        rating=np.float64(1500.0),
        teams=((1, "a"), ("b",)),
        bounds={"brier": (0.5, UNKNOWN)},
        inner=(Other("x", UNKNOWN), Inner("y", 2.0)),
        one=Other("z", 3.0),
    )
    message = to_message(Outer, value, anything=np.bool_(True))
    assert message == Outer(
        7,
        1500.0,
        3000.0,
        [[1, "a"], ["b"]],
        {"brier": [0.5, None]},
        [Inner("x", None), Inner("y", 2.0)],
        Inner("z", 3.0),
        True,
    )
    assert type(message.player) is int
    assert type(message.anything) is bool
    assert json.loads(msgspec.json.encode(message))["bounds"] == {"brier": [0.5, None]}


def test_what_is_said_beside_the_value_wins() -> None:
    value = Value(player="ann", rating=UNKNOWN, teams=None, bounds={})
    message = to_message(Outer, value, player="bob", double=np.float64(1.0), anything=None)
    assert message == Outer("bob", None, 1.0, None, {}, [], None)


def test_a_field_that_nobody_has_is_refused() -> None:
    with pytest.raises(AttributeError, match="value"):
        to_message(Inner, object(), name="x")


def test_columns_become_a_message_a_row() -> None:
    """A column of None is null in every row."""
    columns = Other("", 0.0)
    names, values = np.array(["x", "y"], dtype=object), np.array([1.0, UNKNOWN])
    found = to_messages(Inner, columns, name=names, value=values)
    assert found == [Inner("x", 1.0), Inner("y", None)]
    assert to_messages(Inner, None, name=["x"], value=None) == [Inner("x", None)]
    with pytest.raises(ValueError, match="shorter"):
        to_messages(Inner, None, name=["x", "y"], value=[1.0])


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
