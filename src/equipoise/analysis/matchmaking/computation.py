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
import polars as pl

from equipoise.analysis.matchmaking import SimulationRequest
from equipoise.charts import theme
from equipoise.data.rebalancing import is_number, shown
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem, require
from equipoise.formats.rebalance_request import open_rebalance_request
from equipoise.matchmaking.arrivals import (
    SECONDS_PER_HOUR,
    DayModel,
    Draw,
    People,
    Trace,
    draw_people,
    players_of,
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
        for plan in plans:
            most, largest = plan.ruleset.player_max_number, int(people.size.max())
            rule = f"a trace whose parties fit into a team of {plan.label}"
            require(largest <= most, "--trace", rule, f"{largest} players for {most} places")
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
            f"the trace has {compared.blocks} blocks of an hour, fewer than {FEW_BLOCKS}: do not "
            "trust its intervals"
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
        theme.check_page(request.report, "matplotlib")


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
        notes.append("with interval 0, ticks happen only at arrivals, so rules flex late")
    sizes = {plan.ruleset.player_max_number for plan in plans}
    if len(sizes) > 1:
        notes.append(f"parties have at most {min(sizes)} players, so that they fit every ruleset")
    return notes


def read_trace(
    path: str, model: DayModel, system: RatingSystem | None, seed: int
) -> tuple[DayModel, People, str]:
    """Return a day with the tickets of a table or the players of real games, and how it was read.

    Raises : NotFoundError, InvalidDataError, InvalidParameterError
    """
    found, first, words = _read_tickets(path, model) or _read_players(path, system, seed)
    within = (found.created >= first) & (found.created < first + model.hours * SECONDS_PER_HOUR)
    order = np.flatnonzero(within)[np.argsort(found.created[within], kind="stable")]
    require(len(order) >= 2, "--trace", "a history with two players at least", len(order))
    size, created = found.size[order], found.created[order] - first
    players = players_of(np.cumsum(found.size)[order] - size, size)
    trace = Trace(
        created,
        size,
        found.skill[players],
        None if found.home is None else found.home[order],
    )
    model = replace(
        model,
        tickets=float(len(order)),
        hours=min(model.hours, float(created[-1]) / SECONDS_PER_HOUR + 0.25),
        start_hour=first / SECONDS_PER_HOUR % 24,
        party_sizes=tuple((np.bincount(size)[1:] / len(size)).tolist()),
    )
    people = draw_people(model, seed, largest=int(size.max()), trace=trace)
    return model, people, f"{len(order):,} tickets from {path}: {words}"


def _read_players(path: str, system: RatingSystem | None, seed: int) -> tuple[Trace, float, str]:
    """Return the players of a history as tickets, the second at which a day begins, and a note."""
    from equipoise.formats.histories import read_history
    from equipoise.rating.replay import replay

    history = read_history(path)
    if history.time is None:
        raise InvalidDataError([], f"{path} must have times: a trace says when players arrive")
    rater = make_system("trueskill") if system is None else system
    skill = replay(rater, history).state.state.column("rating")
    seconds = np.repeat(history.time, np.diff(history.offsets)) / _MICROSECONDS
    number = np.arange(len(seconds))
    joined = seconds + BEFORE * np.log(uniforms(seed, Draw.BEFORE, number))
    words = (
        f"players arrive alone, {BEFORE:g} s before their game on average; their true skills are "
        f"their ratings by {rater.name} after the history"
    )
    trace = Trace(joined, np.ones_like(number), skill[history.player])
    return trace, float(seconds.min()) - SECONDS_PER_HOUR / 60, words


def _read_tickets(path: str, model: DayModel) -> tuple[Trace, float, str] | None:
    """Return the tickets of a table with a column `ticket`, as above; None for another source."""
    from equipoise.formats.sources import content_of, contents_of, table_of
    from equipoise.formats.table import faulty_rows
    from equipoise.formats.times import read_times

    if content_of(path) is not None:
        return None
    table = table_of(contents_of(path, None))
    frame, rows = table.frame, len(table.frame)
    if "ticket" not in frame.columns:
        return None

    def check(column: str, sound: Any, rule: str) -> None:
        for row in np.flatnonzero(~sound)[:1]:
            ((file, line),) = table.places(np.array([row]))
            got = shown(frame[column][int(row)])
            raise InvalidDataError([Problem(file, line, column, rule, got)])

    for column in ("time", "ratings"):
        if column not in frame.columns:
            problem = Problem(table.name, None, column, "must be a column of tickets", "none")
            raise InvalidDataError([problem])
    seconds = frame["time"].cast(pl.String).cast(pl.Float64, strict=False).to_numpy()
    if not np.isfinite(seconds).all() and (times := read_times(frame["time"])) is not None:
        dated = ~faulty_rows(times.faults, rows)
        seconds = np.where(dated, times.values * (times.scale / _MICROSECONDS), np.nan)
    check("time", np.isfinite(seconds), "must be a number of seconds, or a date and time")
    listed = frame["ratings"].cast(pl.String).fill_null("").str.extract_all(r"[^\s,;\[\]]+")
    size = listed.list.len().cast(pl.Int64).to_numpy()
    rule = "must be a number for each player, separated by spaces"
    check("ratings", size > 0, rule)
    skill = listed.explode().cast(pl.Float64, strict=False).to_numpy()
    check("ratings", np.add.reduceat(~np.isfinite(skill), np.cumsum(size) - size) == 0, rule)
    home = None
    if model.region_names and "region" in frame.columns:
        number = {name: at for at, name in enumerate(model.region_names)}
        home = np.array([number.get(name, -1) for name in frame["region"]], np.int64)
        check("region", home >= 0, f"must be one of {', '.join(model.region_names)}")
    words = "the true skills of players are their ratings in the table"
    return Trace(seconds, size, skill, home), float(seconds.min()), words


def shown_measures(comparison: Comparison) -> list[str]:
    """Return the measures to print: known, and not 0 for all rulesets."""
    return [
        name
        for name, measure in MEASURES.items()
        if measure.shown
        and any(abs(comparison.estimates[label][name].mean) > 0 for label in comparison.labels)
    ]


def to_json(answer: SimulationAnswer) -> dict[str, Any]:
    """Return the answer as JSON has it. Measures of the machine are left out of it."""
    comparison = answer.found
    shown = [name for name in MEASURES if name not in _OF_THE_MACHINE]

    def of(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        return {label: {name: row[name] for name in shown} for label, row in table.items()}

    message: dict[str, Any] = plain(
        {
            "rulesets": list(comparison.labels),
            "days": comparison.days,
            "seed": answer.seed,
            "system": answer.system,
            "tick": answer.tick,
            "assumptions": answer.assumptions,
            "measures": of(comparison.estimates),
            "differences": of(comparison.differences),
            "verdict": list(answer.verdict),
            "groups": {label: tables.groups for label, tables in comparison.first.items()},
            "by_games": {label: tables.games for label, tables in comparison.first.items()},
            "chances": {label: tables.chances for label, tables in comparison.first.items()},
            "reasons": {label: tables.reasons for label, tables in comparison.first.items()},
            "notes": list(answer.notes),
        }
    )
    return message
