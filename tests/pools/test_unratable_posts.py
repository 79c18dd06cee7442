"""A post whose match the system cannot rate says which value of which column is the reason."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from equipoise.errors import InvalidDataError, Problem
from equipoise.pools.posting.posting import unratable
from equipoise.pools.posting.running import UnratableMatchError


def test_a_bad_value_is_named_with_its_column() -> None:
    """As the system found it, with the line of the post."""
    plan: Any = SimpleNamespace(owners=[0], records=[SimpleNamespace(match="7")])
    post: Any = SimpleNamespace(first_line=3)
    bad = Problem("", None, "handicap", "must be a whole number of stones", "-2 in match 7")
    refused = unratable(plan, 0, post, UnratableMatchError(0, InvalidDataError([bad])))
    assert isinstance(refused, InvalidDataError)
    assert [(one.line, one.field, one.got) for one in refused.problems] == [
        (3, "handicap", "-2 in match 7")
    ]
