"""Rebalancing: the teams of a pasted request, the steps to them, and a comparison of methods."""

from __future__ import annotations

import json
from typing import Any, get_args

from starlette.responses import Response

from equipoise.data.rebalancing import Method
from equipoise.errors import EquipoiseError
from equipoise.messages.teams import ComparedMessage, RebalanceMessage, rebalance_message
from equipoise.web.http.reading import while_connected
from equipoise.web.page.context import PageContext
from equipoise.web.page.forms import upload_limits

#: Time limit of a search in seconds, and rows of the table of steps.
_SECONDS, _ROWS = 5.0, 100

_VALUES = {"ana": 70, "bo": 60, "cy": 40, "di": 55, "ed": 30, "flo": 65, "gil": 45, "hu": 50}
_PARTIES = (("ana", "bo"), ("cy",), ("di",), ("ed", "flo"), ("gil",), ("hu",))

#: The request with which the form begins.
EXAMPLE: dict[str, Any] = {
    "ruleset": {
        "alliance": {
            "min_number": 2,
            "max_number": 2,
            "player_min_number": 1,
            "player_max_number": 4,
        },
        "matching_rule": [
            {"attribute": "mmr", "criteria": "distance", "reference": 100, "max": 50}
        ],
    },
    "parties": [
        {
            "party": f"Party {number}",
            "players": [{"player": name, "attributes": {"mmr": _VALUES[name]}} for name in players],
        }
        for number, players in enumerate(_PARTIES, start=1)
    ],
}


async def rebalance_page(context: PageContext) -> Response:
    """Return the form."""
    context.need_calculations()
    return _rebalance_form(context, json.dumps(EXAMPLE, indent=1))


async def rebalance(context: PageContext) -> Response:
    """Return the teams of a request, and a comparison of all methods if requested."""
    context.need_calculations()
    form = await context.form(upload_limits(context.service.settings))
    text, method = form.text("request"), form.text("method")
    try:
        chosen = form.choice("method", get_args(Method)) if method else None
        content = text.encode("utf-8", "replace")
        work = context.service.calculate(rebalanced, content, chosen, form.flag("compare"))
        found, rows, values = await while_connected(context.request.receive, work)
    except EquipoiseError as error:
        return _rebalance_form(context, text, error, method=method, compare=form.flag("compare"))
    return _rebalance_form(
        context,
        text,
        method=method,
        compare=form.flag("compare"),
        found=found,
        values=values,
        steps=found.steps[:_ROWS],
        more_steps=max(len(found.steps) - _ROWS, 0),
        rows=rows,
    )


def rebalanced(
    content: bytes, method: Method | None, compare: bool
) -> tuple[RebalanceMessage, list[ComparedMessage], dict[str, str]]:
    """Return the teams, the results of all methods if `compare`, and the players' attributes."""
    from equipoise.analysis.files.rebalance import compare_methods, rebalance_request
    from equipoise.analysis.requests.teams import RebalanceOrder

    order = RebalanceOrder(source=content, method=method, time_limit=_SECONDS)
    found = rebalance_message(rebalance_request(order).result)
    values = _values_of(content)
    if not compare:
        return found, [], values
    plain = RebalanceOrder(source=content, time_limit=_SECONDS)
    return found, compare_methods(plain), values


def _values_of(content: bytes) -> dict[str, str]:
    """Return the attributes of the players in a request by their ids."""
    document = json.loads(content)  # bytes may begin with a byte order mark
    session = document.get("session") or {}
    parties = list(document.get("parties") or [])
    for team in session.get("teams") or []:
        parties += team
    return {
        str(one["player"]): ", ".join(
            f"{name} {value:g}" if isinstance(value, int | float) else f"{name} {value}"
            for name, value in (one.get("attributes") or {}).items()
        )
        for party in parties
        for one in party["players"]
    }


def _rebalance_form(
    context: PageContext, text: str, error: EquipoiseError | None = None, **more: Any
) -> Response:
    given = {"method": "", "compare": False, "found": None, "rows": [], **more}
    return context.render("rebalance.html", error, request=text, methods=get_args(Method), **given)
