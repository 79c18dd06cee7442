"""Backtesting systems on a history: read, score, write the table and the page with the report.

The usual rule scores players with five earlier matches, and searches on the first tenth of the
matches. A short history, a tournament or ten matches of friends, may have nothing of that. Then the
rule is relaxed step by step, and a note says how far. What the user has said is never changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from equipoise.analysis.backtest import BacktestRequest
from equipoise.analysis.backtest.report import BacktestReport, backtest_page
from equipoise.analysis.rate.computation import initial_notes, known_ratings
from equipoise.analysis.reading import (
    check_outputs,
    history_message,
    missing_notes,
    notes_on_unused,
    read,
    without_dates,
)
from equipoise.analysis.requests import shared
from equipoise.analysis.systems import plain_parameters, without_runaways
from equipoise.analysis.tune import TuneRequest
from equipoise.charts import theme
from equipoise.data.backtest import (
    CALIBRATED,
    METRICS,
    Backtest,
    Difference,
    GroupScores,
    SystemScores,
    judge,
)
from equipoise.data.files import whole_file
from equipoise.data.history import History
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.errors import InvalidDataError, InvalidParameterError, require
from equipoise.evaluate.backtest import backtest
from equipoise.evaluate.scoring.tally import ADVICE, Scored
from equipoise.evaluate.standings import UNKNOWN
from equipoise.formats import write_table
from equipoise.formats.joining import listed_files
from equipoise.formats.table import HistoryReading
from equipoise.formats.times import moment, order_bound
from equipoise.messages.conversion import plain
from equipoise.messages.histories import HistoryMessage
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: Fewest earlier matches of players who are scored, if the user does not say [READINGS B9].
USUAL_FEWEST = 5
#: Shares of the matches to search on, if the user does not say: the first that leaves something to
#: score on both sides.
SEARCH_SHARES = ("10%", "25%", "50%")
#: Where players with fewer earlier matches are scored, this share of the matches must be, so that
#: a study does not hang on the one match of the two busiest players.
_ENOUGH = 0.25
#: Shares that an error may propose.
_PROPOSED = ("10%", "25%", "50%", "75%")

_UNDECIDED = (
    "nothing to score: in every match of this history, all players or teams tie, or there is "
    "only one. Check the rank or score column"
)


class SearchPart(NamedTuple):
    """Where the held-out matches begin, and whom to score.

    share : the first matches as the user would write them; first : their number
    fewest : earlier matches of players who are scored
    notes : what was relaxed
    """

    share: str
    first: int
    fewest: int
    notes: tuple[str, ...]


def fewest_earlier(
    history: History, first: int, fewest_given: int | None
) -> tuple[int, tuple[str, ...]]:
    """Return the fewest earlier matches of players that a backtest scores, and notes.

    first : number of the first match to score; fewest_given : by the user
    Raises : InvalidDataError   nothing is left to score; the message says what to type
    """
    rules = _rules(fewest_given)
    for fewest, least in rules:
        if not _obstacle(history, first, fewest, least):
            return fewest, _relaxed(fewest, fewest_given)
    _check_decided(history)
    fewest = rules[0][0]
    reason = _obstacle(history, first, fewest)
    raise InvalidDataError([], f"{reason}. Try {_scoring_for(history, first, fewest)}")


def split_for_search(
    history: History,
    given_share: str | None,
    given_fewest: int | None,
    matches_of: Callable[[str], int],
) -> SearchPart:
    """Return the matches to search on and those to compare on; both have something to score.

    matches_of : number of the first matches that a share or time stands for
    Raises : InvalidParameterError, InvalidDataError   the message says what to type
    """
    shares = SEARCH_SHARES if given_share is None else (given_share,)
    tried = [(share, matches_of(share)) for share in shares]
    if given_share is not None and not 0 < tried[0][1] < history.matches:
        raise InvalidParameterError(
            f"--first must leave matches for the search and for the comparison; {given_share} is "
            f"{tried[0][1]:,} of {history.matches:,}{_try_split(history, given_fewest)}"
        )
    rules = _rules(given_fewest)
    for fewest, least in rules:
        for share, first in tried:
            if _obstacle_of_split(history, first, fewest, least) is None:
                notes = _relaxed(fewest, given_fewest)
                if share not in (given_share, SEARCH_SHARES[0]):
                    matches = counted(history.matches, "match", "matches")
                    searched = (
                        f"the search uses the first {share} ({first:,} of {matches}), because "
                        f"{SEARCH_SHARES[0]} leaves nothing to score; --first sets this share"
                    )
                    notes = (searched, *notes)
                return SearchPart(share, first, fewest, notes)
    _check_decided(history)
    if history.matches < 2:
        raise InvalidDataError(
            [],
            "a search needs two matches or more: some to search on, others to compare on; this "
            f"history has {counted(history.matches, 'match', 'matches')}",
        )
    share, first = tried[-1]
    fewest = rules[0 if given_share is not None else -1][0]
    where, reason = _obstacle_of_split(history, first, fewest) or ("", "")
    raise InvalidDataError(
        [],
        f"{where} {counted(first, 'match', 'matches')} ({share}; see --first): {reason}"
        f"{_try_split(history, given_fewest)}",
    )


def _rules(fewest_given: int | None) -> list[tuple[int, float]]:
    """Return the rules to try in turn: fewest earlier matches, and share of matches to score.

    A share of 0 stands for a single match.
    """
    if fewest_given is not None:
        return [(fewest_given, 0.0)]
    return [
        (fewest, 0.0 if fewest in (USUAL_FEWEST, 0) else _ENOUGH)
        for fewest in range(USUAL_FEWEST, -1, -1)
    ]


def _obstacle(history: History, first: int, fewest: int, least: float = 0.0) -> str:
    """Return why too few matches from `first` on can be scored, without advice; "" if enough can.

    least : share of the matches that must be scored
    """
    try:
        rows = Scored.of(history, min_history=fewest, first=first)
    except InvalidDataError as error:
        return str(error).removesuffix(ADVICE)
    enough = int(rows.scored.sum()) >= least * (history.matches - first)
    return "" if enough else "too few matches can be scored"


def _obstacle_of_split(
    history: History, first: int, fewest: int, least: float = 0.0
) -> tuple[str, str] | None:
    """Return which part of a split has too little to score, and why; None if neither."""
    if not 0 < first < history.matches:
        return "the first", "one part has no matches"
    for where, part, begin in (
        ("the first", history.slice(0, first), 0),
        ("after", history, first),
    ):
        if reason := _obstacle(part, begin, fewest, least):
            return where, reason
    return None


def _check_decided(history: History) -> None:
    """Refuse a history without a match that can be scored. Raises : InvalidDataError."""
    if _obstacle(history, 0, 0):
        raise InvalidDataError([], _UNDECIDED)


def _try_split(history: History, fewest_given: int | None) -> str:
    """Return advice on a split that leaves something to score, "" if there is none."""
    for fewest, _ in _rules(fewest_given):
        for share in _PROPOSED:
            first = history.matches * int(share.removesuffix("%")) // 100
            if _obstacle_of_split(history, first, fewest) is None:
                fits = fewest_given is not None or fewest == USUAL_FEWEST
                return f". Try --first {share}" + ("" if fits else f" --min-history {fewest}")
    first = history.matches // 2
    less = _largest(
        fewest_given or 0, lambda fewest: _obstacle_of_split(history, first, fewest) is None
    )
    return "" if less is None else f". Try --first 50% --min-history {less}"


def _scoring_for(history: History, first: int, fewest: int) -> str:
    """Return options of a backtest with something to score."""
    if not _obstacle(history, 0, fewest):
        return "--from 0%"
    less = _largest(fewest, lambda number: not _obstacle(history, first, number))
    if less is not None:
        return f"--min-history {less}"
    less = _largest(fewest, lambda number: not _obstacle(history, 0, number)) or 0
    return f"--from 0% --min-history {less}"


def _largest(below: int, works: Callable[[int], bool]) -> int | None:
    """Return the largest number below another that works; smaller ones then do too."""
    if not works(0):
        return None
    low, high = 0, below
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low


def _relaxed(fewest: int, fewest_given: int | None) -> tuple[str, ...]:
    """Return a note if players with fewer earlier matches than usual are scored."""
    if fewest_given is not None or fewest == USUAL_FEWEST:
        return ()
    scored = (
        f"players with {counted(fewest, 'earlier match', 'earlier matches')} or more are"
        if fewest
        else "all players are"
    )
    return (
        f"{scored} scored, because no match here has two with {USUAL_FEWEST}; --min-history sets "
        "this number",
    )


#: Times below this, in seconds since 1970 (March 1973), are taken to be numbers of rounds.
_MOMENTS = 100_000_000

#: Pairs of teams above which `--system all` leaves a system out; Thurstone-Mosteller compares about
#: two million in a second.
_MOST_PAIRS = 100_000_000


@dataclass(frozen=True, slots=True)
class BacktestAnswer:
    """Result of a backtest.

    systems : the compared systems by label
    seconds : to rate and score, by label
    seed : of the resamples
    """

    history: History
    reading: HistoryReading
    systems: Mapping[str, RatingSystem]
    found: Backtest
    seconds: Mapping[str, float]
    seed: int


def compare(
    systems: Mapping[str, RatingSystem],
    request: BacktestRequest,
    progress: Callable[[int, int], None] | None = None,
) -> BacktestAnswer:
    """Read the history, backtest the systems on it, write the table and the page.

    Raises : EquipoiseError, and then nothing was written
    """
    least = least_differences(request.least_difference)
    check_outputs(
        request.history,
        {"--initial": request.initial, "--report": request.report},
        tables={"--output": request.output, "--predictions": request.predictions_output},
    )
    if request.report is not None:
        theme.check_page(request.report, "matplotlib", "jinja2")
    known = known_ratings(request.initial, request.initial_mapping, *systems.values())
    history, reading = read(request.history)
    systems, notes = _able(systems, history, request.if_able)
    notes += notes_on_unused(systems, history, request.history)
    missing = (missing_notes(system, history, resumed=False) for system in systems.values())
    notes += dict.fromkeys(chain.from_iterable(missing))
    for system in systems.values():
        check_times(system, history)
    notes += initial_notes(known, history, systems, strict=request.history.strict)
    first = first_scored(request.first, history, time_format=request.history.time_format)
    fewest, relaxed = fewest_earlier(history, first, request.min_history)
    reading = replace(reading, notes=(*reading.notes, *notes, *relaxed))
    answer = scored(
        systems,
        replace(request, min_history=fewest),
        history,
        reading,
        first,
        progress,
        least=least,
        initial=known.ratings,
    )
    if request.if_able:
        # Nobody named these systems in an order: the best at the first metric comes first.
        *named, baseline = answer.found.systems
        named.sort(key=lambda scores: -scores.metrics["pair_inversion"])
        ordered = (*named, baseline)
        place = {scores.label: at for at, scores in enumerate(ordered)}
        groups = tuple(
            replace(group, systems=tuple(sorted(group.systems, key=lambda one: place[one.label])))
            for group in answer.found.groups
        )
        answer = replace(answer, found=replace(answer.found, systems=ordered, groups=groups))
    _write(answer, request)
    return answer


def _able(
    systems: Mapping[str, RatingSystem], history: History, if_able: frozenset[str]
) -> tuple[dict[str, RatingSystem], list[str]]:
    """Return the systems to compare, and a note for each reason why others are left out.

    Raises : InvalidDataError   none is left
    """
    systems, notes = without_runaways(systems, history, if_able)
    able: dict[str, RatingSystem] = {}
    reasons: dict[str, list[str]] = {}
    slow: list[str] = []
    for label, system in systems.items():
        pairs = getattr(system, "compared_pairs", lambda history: 0)
        misfits = system.capabilities.misfits(history)
        if label not in if_able or not (misfits or pairs(history) > _MOST_PAIRS):
            able[label] = system
        elif pairs(history) > _MOST_PAIRS:
            slow.append(label)
        else:
            reasons.setdefault("; ".join(misfits), []).append(label)
    notes += [
        f"left out, because {'it' if len(labels) == 1 else 'they'} cannot rate {reason}: "
        f"{', '.join(labels)}"
        for reason, labels in reasons.items()
    ]
    if slow:
        notes.append(
            "left out, because comparing all pairs of teams in a match would take long: "
            f"{', '.join(slow)}; --system {slow[0]} includes it"
        )
    if not able:
        raise InvalidDataError([], f"no system can rate this history; {'; '.join(notes)}")
    return able, notes


def scored(
    systems: Mapping[str, RatingSystem],
    request: BacktestRequest | TuneRequest,
    history: History,
    reading: HistoryReading,
    first: int,
    progress: Callable[[int, int], None] | None = None,
    *,
    least: Mapping[str, float],
    initial: InitialRatings | Ratings | None = None,
) -> BacktestAnswer:
    """Return how well systems predict a history from match number `first` on.

    request : with the fewest earlier matches of players who are scored
    least : metric -> differences below this do not matter, if not the default
    initial : known ratings with which players begin
    """
    seconds: dict[str, float] = {}
    options = {**shared(request, backtest), "first": first, "initial": initial}
    options["predictions"] = getattr(request, "predictions_output", None) is not None
    options["workers"] = request.workers or 1
    scores = backtest(
        systems,
        history,
        rng=np.random.default_rng(request.seed),
        least_differences=least,
        progress=progress,
        timed=seconds.__setitem__,
        **options,
    )
    return BacktestAnswer(history, reading, systems, scores, seconds, request.seed)


def _write(answer: BacktestAnswer, request: BacktestRequest) -> None:
    """Write the table and the page, after all steps that can fail before writing."""
    page = b""
    if request.report is not None:
        page = backtest_page(report_of(answer, request.history.source, request.command)).encode()
    if request.output is not None:
        write_table(answer.found.to_polars(), request.output)
    if request.predictions_output is not None and answer.found.predictions is not None:
        write_table(answer.found.predictions, request.predictions_output)
    if request.report is not None:
        with whole_file(request.report) as file:
            file.write(page)


def report_of(answer: BacktestAnswer, source: object, command: str) -> BacktestReport:
    """Return the content of the page, with names of files and without their folders.

    It has neither a date nor the seconds of the run: the same history gives the same page.
    source : path, several paths, or a stream; command : the command that made the page
    """
    return BacktestReport(
        found=answer.found,
        parameters={label: plain_parameters(system) for label, system in answer.systems.items()},
        chosen={label: _chosen(system) for label, system in answer.systems.items()},
        history=_without_folders(history_message(answer.history, answer.reading)),
        source=_named(source),
        period=period(answer.history),
        seed=answer.seed,
        command=command,
        version=version("equipoise"),
    )


def _named(source: object) -> str:
    """Return the name of a source without its folders."""
    if isinstance(source, list):
        return listed_files([_named(item) for item in source])
    return Path(source).name if isinstance(source, str) else "standard input"


def period(history: History) -> tuple[str, str] | None:
    """Return the first and the last time of a history as text; None if it has no times."""
    if history.order is not None and history.matches:
        return str(history.order[0]), str(history.order[-1])
    if history.time is None or not history.matches:
        return None
    first, last = int(history.time[0]), int(history.time[-1])
    if history.time_kind == "seconds" and last < _MOMENTS * 1_000_000:
        return str(first // 1_000_000), str(last // 1_000_000)
    days = history.time[[0, -1]].astype("datetime64[us]").astype("datetime64[D]")
    return str(days[0]), str(days[1])


def _chosen(system: RatingSystem) -> set[str]:
    """Return the names of the parameters that differ from the defaults."""
    defaults = parameters_of(make_system(system.name))
    return {name for name, value in parameters_of(system).items() if value != defaults[name]}


def _without_folders(history: HistoryMessage) -> HistoryMessage:
    problems = [
        msgspec.structs.replace(problem, file=Path(problem.file).name)
        for problem in history.problems
    ]
    return msgspec.structs.replace(history, problems=problems)


def first_scored(
    text: str, history: History, option: str = "--from", time_format: str | None = None
) -> int:
    """Return the number of the first match to score.

    text : a share of the matches ("10%", "0.1"), rounded down to whole matches, or a time
    option : its name for users; time_format : format of the times of the history
    Raises : InvalidParameterError
    """
    written = text.strip()
    number = _number(written.removesuffix("%").strip())
    share = None if number is None else number / 100 if written.endswith("%") else number
    if share is not None and (written.endswith("%") or abs(share) < 1):
        require(0 <= share < 1, option, "a share from 0% to less than 100%, or a time", text)
        # 0.29 and 29% of 100 matches are 29, although 0.29 * 100 is less as a float.
        return math.floor(share * history.matches + 1e-9)
    if history.order is not None:
        return int(np.searchsorted(history.order, order_bound(written, option)))
    since = moment(written, option, time_format)
    if history.time is None:
        raise InvalidParameterError(
            f"{option} TIME needs a history with times; this one has no time column. Give a share "
            "of the matches, such as 10%"
        )
    return int(np.searchsorted(history.time, since))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def least_differences(
    texts: Sequence[str], metric: str | None = None, option: str = "--least-difference"
) -> dict[str, float]:
    """Return {metric: value} of METRIC=VALUE texts.

    metric : of a text without a name; None if every text needs one
    Raises : InvalidParameterError
    """
    differences: dict[str, float] = {}
    for text in texts:
        name, equals, written = (part.strip() for part in text.rpartition("="))
        if not equals:
            if metric is None:
                raise InvalidParameterError(
                    f"{option} takes METRIC=VALUE, for instance log_loss=0.001; got {text!r}"
                )
            name = metric
        require(name in METRICS, option, f"about one of {', '.join(METRICS)}", name)
        if name in differences:
            raise InvalidParameterError(f"{option} names {name} twice")
        value = _number(written)
        if value is None or not 0 <= value < math.inf:
            raise InvalidParameterError(
                f"{option} of {name} must be a number of at least 0; got {written!r}"
            )
        differences[name] = value
    return differences


def check_times(system: RatingSystem, history: History) -> None:
    """Refuse parameters that count days if the history has no times."""
    if history.time is None and system.capabilities.needs_time:
        raise InvalidParameterError(
            f"{system.name} with these parameters needs times, and this history "
            f"{without_dates(history)}"
        )


#: Fields of a backtest that say how it was scored.
_SCORING = (
    *("for_whom", "learned", "undecided", "min_history", "ties_as_authors"),
    *("confidence", "resamples", "least_differences"),
)


def backtest_json(answer: BacktestAnswer) -> dict[str, Any]:
    """Return what `equipoise backtest --json` prints."""
    backtest = answer.found
    return {
        "systems": [_system(scores, answer) for scores in backtest.systems],
        "differences": _differences(backtest.differences, backtest),
        "groups": [
            {
                **plain(group, "systems", "differences", "over_baseline"),
                "systems": [_flat(scores) for scores in group.systems],
                "differences": _differences(group.differences, backtest),
            }
            for group in backtest.groups
        ],
        "scoring": {
            **{name: plain(getattr(backtest, name)) for name in _SCORING},
            "seed": answer.seed,
        },
        "history": history_message(answer.history, answer.reading),
    }


def _flat(scores: SystemScores | GroupScores, *left_out: str) -> dict[str, Any]:
    """Return scores as JSON, with every metric beside the other fields."""
    return {**plain(scores, "metrics", *left_out), **plain(scores.metrics)}


def _system(scores: SystemScores, answer: BacktestAnswer) -> dict[str, Any]:
    system = answer.systems.get(scores.label.removesuffix(CALIBRATED))
    bins = scores.calibration.to_polars().rename({"from": "low", "to": "high"})
    return {
        **_flat(scores, "calibration"),
        "parameters": {} if system is None else plain_parameters(system),
        "calibration": {"error": plain(scores.calibration.error), "bins": bins.to_dicts()},
        "matches": answer.found.matches,
        "participations": answer.found.participations,
        "seconds": answer.seconds.get(scores.label),
    }


def _differences(differences: Iterable[Difference], backtest: Backtest) -> list[dict[str, Any]]:
    """Return differences as JSON, with the judgement on every metric."""
    least = backtest.least_differences
    return [
        {
            **plain(difference),
            "judgements": {
                name: judge(value, difference.intervals.get(name, UNKNOWN), least[name])
                for name, value in difference.metrics.items()
            },
        }
        for difference in differences
    ]
