"""The commands to type next, as they run: with the file and its reading options."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from equipoise.analysis.files.reading import HistoryRequest
from equipoise.analysis.files.systems import DEFAULT_SYSTEM
from equipoise.arrays import Ints
from equipoise.data.history import History
from equipoise.messages.sources.inspection import NextMessage
from equipoise.wording import counted

#: Systems for duels and for votes.
_FOR_DUELS, _FOR_VOTES = "glicko2", "bradley-terry"
#: Earlier matches of the players that a backtest scores by default.
_EARLIER = 5
#: Matches from which a comparison of systems may say something.
_FEW = 5
#: Matches and players up to which a history of duels may be a tournament.
_TOURNAMENT_MATCHES, _TOURNAMENT_PLAYERS = 2_000, 200
#: Participations from which a history is large: reading text then takes several seconds.
_LARGE = 500_000
#: Formats of text that a Parquet file replaces.
_TEXT = ("csv", "csv.gz", "tsv", "tsv.gz", "jsonl", "jsonl.gz")


def words_of(request: HistoryRequest, *, since: bool = True) -> list[str]:
    """Return the file and the reading options of a request, as typed after a command.

    since : whether `--from` selects matches; in some commands it has another meaning
    """
    return [*sources_of(request), *options_of(request, since=since)]


def sources_of(request: HistoryRequest) -> list[str]:
    """Return the files of a request as they are typed: paths, addresses, or - for a stream."""
    source = request.source
    given = source if isinstance(source, list | tuple) else [source]
    return [_typed(one) if isinstance(one, str) else "-" for one in given]


def _typed(path: str) -> str:
    """Return a path as it is typed: one that begins with a hyphen would be an option."""
    return f"./{path}" if path.startswith("-") and path != "-" else path


def options_of(request: HistoryRequest, *, since: bool = True) -> list[str]:
    """Return the reading options of a request, as typed after its files."""
    words: list[str] = []
    for option, value in (("--format", request.format), ("--sheet", request.sheet)):
        if value is not None:
            words += [option, value]
    for new, old in request.columns.items():
        words += ["--column", f"{new}={old}"]
    for name, weight in request.statistics.items():
        words += ["--stat", f"{name}={weight:g}"]
    for option, value in (
        ("--from", request.since if since else None),
        ("--until", request.until),
        ("--time-format", request.time_format),
        ("--unplaced", request.unplaced),
        ("--synonyms", request.synonyms),
    ):
        if value is not None:
            words += [option, value]
    for name, wanted in request.where.items():
        words += ["--where", f"{name}={wanted}"]
    if request.lower_score_is_better:
        words.append("--lower-score-is-better")
    if request.skip_bad is not None:
        words.append("--skip-bad" if request.skip_bad == "matches" else "--skip-bad=rows")
    return words


def source_in_words(request: HistoryRequest) -> str:
    """Return the names of the files of a request, for a line of text."""
    return ", ".join("standard input" if one == "-" else one for one in sources_of(request))


def command(name: str, words: Sequence[str]) -> str:
    """Return a command line of Equipoise."""
    return shlex.join(["equipoise", *name.split(), *words])


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to rate a file: its options, how many players are left, and what it leaves out."""

    request: HistoryRequest
    players: int
    cost: str


def commands_for_history(
    choices: Sequence[Choice],
    history: History,
    able: Sequence[str],
    *,
    format: str,
    votes: bool,
    reversed_ranks: str | None,
    tournament: bool,
    one_tournament: bool,
) -> list[NextMessage]:
    """Return two or three commands that read the history.

    choices : ways to rate it, the best first; with more than one, all of them are among the
        commands
    votes : whether its two sides are voted on, as answers of language models are
    able : systems that can rate it; format : how the file is stored
    reversed_ranks : the column of ranks that look reversed, None if they do not
    tournament : whether `equipoise performance` reads it as well
    one_tournament : whether the file is of a kind that only tournaments have
    """
    return list(
        _for_history(
            choices, history, able, format, votes, reversed_ranks, tournament, one_tournament
        )
    )[: max(3, len(choices) + 1)]


def _for_history(
    choices: Sequence[Choice],
    history: History,
    able: Sequence[str],
    format: str,
    votes: bool,
    reversed_ranks: str | None,
    tournament: bool,
    one_tournament: bool,
) -> Iterator[NextMessage]:
    request = choices[0].request
    words = words_of(request)
    if tournament and one_tournament:
        yield NextMessage(command("performance", words), "rates the performances")
    if not able:
        return
    system = _system_for(history, able, votes)
    chosen = [] if system == DEFAULT_SYSTEM else ["--system", system]
    rates = [f"rates {counted(one.players, 'player')} with {system}{one.cost}" for one in choices]
    if reversed_ranks is not None:
        others = {new: old for new, old in request.columns.items() if new not in ("rank", "score")}
        turned = replace(request, columns={**others, "score": reversed_ranks})
        again = command("rate", [*words_of(turned), *chosen])
        yield NextMessage(again, f"{rates[0]}, if the highest rank is the best")
    if votes:
        yield NextMessage(
            command("leaderboard", words),
            "ranks by all votes at once and by system, with error bars",
        )
    for one, does in zip(choices, rates, strict=True):
        yield NextMessage(command("rate", [*words_of(one.request), *chosen]), does)
    # Of a large history nearly always something can be scored.
    small = history.participations <= _LARGE
    earlier = _scored_from(history) if small else _EARLIER
    if history.matches < _FEW:
        earlier = None
    if earlier is not None:
        least = [] if earlier == _EARLIER else ["--min-history", str(earlier)]
        yield NextMessage(
            command("backtest", [*words_of(request, since=False), "--system", "all", *least]),
            "compares how well the systems that can rate it predict its results",
        )
    if tournament and not one_tournament:
        yield NextMessage(command("performance", words), "rates it as one tournament")
    if format in _TEXT and history.participations >= _LARGE:
        files = [*sources_of(request), f"{_stem(request)}.parquet"]
        yield NextMessage(
            command("convert", [*files, *options_of(request)]),
            "writes a file that is read several times as fast",
        )


def _system_for(history: History, able: Sequence[str], votes: bool) -> str:
    """Return the system to begin with: of the able ones, what `docs/guides/which-system.md` says.

    The default is made for contests of many players.
    """
    duels = bool(np.all(history.sizes() <= 2))
    wanted = _FOR_VOTES if votes else _FOR_DUELS if duels else DEFAULT_SYSTEM
    return wanted if wanted in able else able[0]


def _stem(request: HistoryRequest) -> str:
    """Return the name of the only file of a request without its suffixes, else "history"."""
    source = request.source
    if isinstance(source, str) and Path(source).is_file():
        return Path(source).name.partition(".")[0] or "history"
    return "history"


def may_be_tournament(history: History) -> bool:
    """Return whether a history is one of duels and as small as a tournament."""
    small = history.matches <= _TOURNAMENT_MATCHES and 2 < history.players <= _TOURNAMENT_PLAYERS
    return small and bool(np.all(history.sizes() == 2) and np.all(history.teams() == 2))


def _scored_from(history: History) -> int | None:
    """Return the largest number of earlier matches, at most the default, that leaves a score.

    A match is scored if two of its players with so many earlier matches do not tie. None: no match
    could be scored.
    """
    earlier = _earlier_matches(history)
    match = history.match_rows()
    for least in range(_EARLIER, -1, -1):
        known = earlier >= least
        low = np.full(history.matches, np.iinfo(np.int64).max)
        high = np.full(history.matches, -1)
        np.minimum.at(low, match[known], history.rank[known])
        np.maximum.at(high, match[known], history.rank[known])
        if np.any(high > low):
            return least
    return None


def _earlier_matches(history: History) -> Ints:
    """Return how many matches each participant played before, shape (N,)."""
    order = np.argsort(history.player, kind="stable")
    played = np.bincount(history.player, minlength=history.players)
    starts = np.cumsum(played) - played
    earlier = np.empty(history.participations, np.int64)
    earlier[order] = np.arange(history.participations) - np.repeat(starts, played)
    return earlier
