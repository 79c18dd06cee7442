"""Simulating days of a queue: read rulesets and assumptions, simulate, compare."""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.analysis.matchmaking import SimulationRequest
from equipoise.charts import theme
from equipoise.data.files import check_place
from equipoise.data.rebalancing import is_number
from equipoise.errors import InvalidDataError, InvalidParameterError, require
from equipoise.formats.rebalance_request import open_rebalance_request
from equipoise.matchmaking.arrivals import (
    SECONDS_PER_HOUR,
    DayModel,
    Draw,
    People,
    draw_people,
    uniforms,
)
from equipoise.matchmaking.comparing import FEW_BLOCKS, Comparison, compare, verdict
from equipoise.matchmaking.measures import MEASURES
from equipoise.matchmaking.request import read_queue_ruleset
from equipoise.matchmaking.simulation import Plan, not_compiled
from equipoise.messages.conversion import plain
from equipoise.rating.registry import make_system

if TYPE_CHECKING:
    from equipoise.rating.system import RatingSystem

#: A step of a path such as matching_rule[0].reference.
_STEP = r"\w+"
#: Seconds by which players join before a game of a trace, on average.
BEFORE = 30.0
_MICROSECONDS = 1_000_000
#: Measures that depend on the machine, and are the same in no two runs.
_OF_THE_MACHINE = ("tick_p50", "tick_p99")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationAnswer:
    """The comparison of rulesets, and all that it assumes.

    tick : label -> "compiled", or the field for which the tick itself is needed
    swept : whether the rulesets differ in one field, whose values are in order
    assumptions : fields of `DayModel` by name; notes : sentences
    """

    found: Comparison
    verdict: tuple[str, ...]
    assumptions: Mapping[str, Any]
    system: str | None
    tick: Mapping[str, str]
    swept: bool
    notes: tuple[str, ...]
    seed: int
    seconds: float


def simulate(
    request: SimulationRequest,
    system: RatingSystem | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SimulationAnswer:
    """Simulate the days of a request; `report.write_page` writes its page.

    system : learns from the matches of each day; None leaves ratings alone
    Raises : NotFoundError, InvalidDataError, InvalidParameterError
    """
    start = time.perf_counter()
    _check(request)
    plans, notes = read_plans(request, system)
    for price in (plan.waiting_price for plan in plans if plan.waiting_price is not None):
        require(is_number(price, lambda x: x > 0), "--waiting-price", "a number above 0", price)
        if request.objective != "fair":
            raise InvalidParameterError("--waiting-price needs --objective fair")
    model, people = DayModel(**request.config), None
    if request.trace is not None:
        model, people, words = read_trace(request.trace, model, system, request.seed)
        notes.append(words)
    notes += _notes(model, plans)
    compared = compare(
        plans,
        model,
        days=request.days,
        seed=request.seed,
        people=people,
        fast=not request.exact_tick,
        precision=request.precision,
        workers=request.workers or 1,
        progress=progress,
    )
    if 0 < compared.blocks < FEW_BLOCKS:
        notes.append(
            f"the trace has {compared.blocks} blocks of an hour: fewer than {FEW_BLOCKS}, so its "
            "intervals are not to be trusted"
        )
    return SimulationAnswer(
        found=compared,
        verdict=tuple(verdict(compared)),
        assumptions=asdict(model),
        system=None if system is None else system.name,
        tick={
            plan.label: "--exact-tick"
            if request.exact_tick
            else not_compiled(plan, model) or "compiled"
            for plan in plans
        },
        swept=request.sweep is not None,
        notes=tuple(notes),
        seed=request.seed,
        seconds=time.perf_counter() - start,
    )


def _check(request: SimulationRequest) -> None:
    """Refuse what cannot be simulated or written. Raises : InvalidParameterError."""
    if request.precision is not None:
        sound = is_number(request.precision, lambda x: x > 0)
        require(sound, "--precision", "a number above 0", request.precision)
        require(request.trace is None, "--precision", "left out with --trace", request.precision)
    if request.report is not None:
        rule = "a file that ends in .html"
        require(request.report.lower().endswith(".html"), "--report", rule, request.report)
        check_place(request.report)
        theme.check_available("matplotlib", "HTML reports")


def read_plans(
    request: SimulationRequest, system: RatingSystem | None
) -> tuple[list[Plan], list[str]]:
    """Return the rulesets of a request, one for each value of `sweep`, and notes on their fields.

    Raises : InvalidDataError, InvalidParameterError
    """
    field, _, values = (request.sweep or "").partition("=")
    if request.sweep is not None:
        rule = "FIELD=VALUE,VALUE with two values or more"
        named = re.search(_STEP, field) is not None
        require("," in values and named, "--sweep", rule, request.sweep)
        require(len(request.ruleset) == 1, "--sweep", "given with one ruleset", request.ruleset)
    plans: list[Plan] = []
    notes: dict[str, None] = {}
    for text in request.ruleset:
        name, _, path = text.rpartition("=")
        opened = open_rebalance_request(path)
        for value in values.split(",") if request.sweep is not None else [None]:
            label, price, document = name or Path(path).stem, request.waiting_price, opened.document
            if value is not None:
                label = f"{re.findall(_STEP, field)[-1]} {value.strip()}"
            if value is not None and field == "waiting_price":
                price = _value(value)
            elif value is not None:
                document = _with_value(document, field, value)
            ruleset, without = read_queue_ruleset(opened._replace(document=document))
            notes |= {f"{path}: {note}": None for note in without}
            plans.append(
                Plan(
                    label=label,
                    ruleset=ruleset,
                    objective=request.objective,
                    waiting_price=price,
                    system=system,  # type: ignore[arg-type]
                )
            )
    return plans, list(notes)


def _value(text: str) -> Any:
    """Return a value as JSON has it; other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


def _with_value(document: Any, field: str, value: str) -> Any:
    """Return a copy of a ruleset with another value of a field like flexing_rule[0].duration."""
    copied = copy.deepcopy(document)
    place = copied["ruleset"] if isinstance(copied, dict) and "ruleset" in copied else copied
    *steps, last = re.findall(_STEP, field)
    try:
        for step in steps:
            place = place[int(step) if isinstance(place, list) else step]
        place[int(last) if isinstance(place, list) else last] = _value(value)
    except (LookupError, TypeError, ValueError):
        raise InvalidParameterError(f"--sweep: the ruleset has no {field}") from None
    return copied


def _notes(model: DayModel, plans: list[Plan]) -> list[str]:
    """Return what a user would not expect of a simulation with these options."""
    notes = []
    loop = "open" if model.return_probability == 0 else "closed"
    arrivals = "do not depend" if loop == "open" else "depend"
    notes.append(f"{loop} loop: arrivals {arrivals} on waits and matches")
    rules = {"flexing_rule", "alliance_flexing_rule"}
    timed = any(getattr(plan.ruleset, name) for plan in plans for name in rules)
    if model.interval == 0 and timed:
        notes.append("interval 0 ticks at arrivals alone, so rules are flexed late")
    sizes = {plan.ruleset.player_max_number for plan in plans}
    if len(sizes) > 1:
        notes.append(f"parties have at most {min(sizes)} players, so that they fit every ruleset")
    return notes


def read_trace(
    path: str, model: DayModel, system: RatingSystem | None, seed: int
) -> tuple[DayModel, People, str]:
    """Return a day whose tickets are the players of real games, and how they were read.

    Raises : NotFoundError, InvalidDataError, InvalidParameterError
    """
    from equipoise.formats.histories import read_history
    from equipoise.rating.replay import replay

    history = read_history(path)
    if history.time is None:
        raise InvalidDataError([], f"{path} must have times: a trace says when players come")
    rater = make_system("trueskill") if system is None else system
    skill = replay(rater, history).state.state.column("rating")
    seconds = np.repeat(history.time, np.diff(history.offsets)) / _MICROSECONDS
    number = np.arange(len(seconds))
    joined = seconds + BEFORE * np.log(uniforms(seed, Draw.BEFORE, number))
    first = float(seconds.min()) - SECONDS_PER_HOUR / 60
    within = (joined >= first) & (joined < first + model.hours * SECONDS_PER_HOUR)
    order = np.flatnonzero(within)[np.argsort(joined[within], kind="stable")]
    require(len(order) >= 2, "--trace", "a history with two players at least", len(order))
    hours = min(model.hours, (float(joined[order[-1]]) - first) / SECONDS_PER_HOUR + 0.25)
    model = replace(
        model,
        tickets=float(len(order)),
        hours=hours,
        start_hour=first / SECONDS_PER_HOUR % 24,
        party_sizes=(1.0,),
    )
    created = joined[order] - first
    skills = skill[history.player[order]]
    people = draw_people(model, seed, largest=1, created=created, skills=skills)
    words = (
        f"{len(order):,} tickets from {path}: players come alone, {BEFORE:g} s before their game "
        f"on average; their true skills are their ratings by {rater.name} after the history"
    )
    return model, people, words


def shown_measures(found: Comparison) -> list[str]:
    """Return the measures to print: known, and not 0 for all rulesets."""
    return [
        name
        for name, measure in MEASURES.items()
        if measure.shown
        and any(abs(found.estimates[label][name].mean) > 0 for label in found.labels)
    ]


def to_json(answer: SimulationAnswer) -> dict[str, Any]:
    """Return the answer as JSON has it. Measures of the machine are left out of it."""
    found = answer.found
    shown = [name for name in MEASURES if name not in _OF_THE_MACHINE]

    def of(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        return {label: {name: row[name] for name in shown} for label, row in table.items()}

    message: dict[str, Any] = plain(
        {
            "rulesets": list(found.labels),
            "days": found.days,
            "seed": answer.seed,
            "system": answer.system,
            "tick": answer.tick,
            "assumptions": answer.assumptions,
            "measures": of(found.estimates),
            "differences": of(found.differences),
            "verdict": list(answer.verdict),
            "groups": found.groups,
            "by_games": found.games,
            "reasons": found.reasons,
            "notes": list(answer.notes),
        }
    )
    return message
