"""Defaults that leave something to score in small histories, and what to type where none is left.

The usual rule scores players with five earlier matches, and searches on the first tenth of the
matches. A short history, a tournament or ten matches of friends, may have nothing of that. Then the
rule is relaxed step by step, and a note says how far. What the user has said is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from equipoise.data.history import History
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.evaluate.scoring.scored import ADVICE, Scored
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
    "nothing to score: in every match of this history, all players or teams tie, or there is only "
    "one. Check the column of ranks or scores"
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
    history: History, first: int, given: int | None, min_total: int | None
) -> tuple[int, tuple[str, ...]]:
    """Return the fewest earlier matches of players that a backtest scores, and notes.

    first : number of the first match to score; given : by the user
    Raises : InvalidDataError   nothing is left to score; the message says what to type
    """
    choices = _choices(given) if min_total is None else [given or 0]
    for fewest in choices:
        if _can_score(history, fewest, first, min_total, least=_least(fewest, given)):
            return fewest, _relaxed(fewest) if given is None and min_total is None else ()
    if not _can_score(history, 0, 0, None):
        raise InvalidDataError([], _UNDECIDED)
    fewest = choices[0]
    try:
        Scored.of(history, min_history=fewest, first=first, min_total=min_total)
    except InvalidDataError as error:
        would = _scoring_for(history, first, min_total or fewest, min_total)
        raise InvalidDataError([], f"{_plain(error)}. Try {would}") from None
    raise AssertionError("unreachable")


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
            f"{tried[0][1]:,} of {history.matches:,}{_try(_share_for(history, given_fewest))}"
        )
    for fewest in _choices(given_fewest):
        for share, first in tried:
            if _reason(history, first, fewest, least=_least(fewest, given_fewest)) is None:
                notes = _relaxed(fewest) if given_fewest is None else ()
                if given_share is None and share != SEARCH_SHARES[0]:
                    notes = (_searched(share, first, history.matches), *notes)
                return SearchPart(share, first, fewest, notes)
    if not _can_score(history, 0, 0, None):
        raise InvalidDataError([], _UNDECIDED)
    share, first = tried[-1] if given_share is None else tried[0]
    fewest = _choices(given_fewest)[-1] if given_share is None else _choices(given_fewest)[0]
    if history.matches < 2:
        raise InvalidDataError(
            [],
            "a search needs two matches or more: some to search on, others to compare on; this "
            f"history has {counted(history.matches, 'match', 'matches')}",
        )
    where, reason = _reason(history, first, fewest) or ("", "")
    would = _share_for(history, given_fewest)
    raise InvalidDataError(
        [],
        f"{where} {counted(first, 'match', 'matches')} ({share}; see --first): {reason}"
        f"{_try(would)}",
    )


def _choices(given: int | None) -> list[int]:
    return list(range(USUAL_FEWEST, -1, -1)) if given is None else [given]


def _least(fewest: int, given: int | None) -> float:
    """Return the share of the matches that must be scored; 0 stands for a single match."""
    return 0.0 if given is not None or fewest in (USUAL_FEWEST, 0) else _ENOUGH


def _can_score(
    history: History, fewest: int, first: int, min_total: int | None, *, least: float = 0.0
) -> bool:
    """Return whether matches from `first` on can be scored: one, and this share of them."""
    try:
        found = Scored.of(history, min_history=fewest, first=first, min_total=min_total)
    except InvalidDataError:
        return False
    return int(found.scored.sum()) >= least * (history.matches - first)


def _reason(
    history: History, first: int, fewest: int, *, least: float = 0.0
) -> tuple[str, str] | None:
    """Return which part of a split has too little to score, and why; None if neither."""
    if not 0 < first < history.matches:
        return "the first", "one part has no matches"
    for part, begin, where in (
        (history.slice(0, first), 0, "the first"),
        (history, first, "after"),
    ):
        try:
            Scored.of(part, min_history=fewest, first=begin)
        except InvalidDataError as error:
            return where, _plain(error)
        if not _can_score(part, fewest, begin, None, least=least):
            return where, "too few matches can be scored"
    return None


def _share_for(history: History, given: int | None) -> str | None:
    """Return options of a split that leaves something to score, None if there is none."""
    for fewest, share in _splits(_choices(given)):
        if _reason(history, history.matches * int(share.removesuffix("%")) // 100, fewest) is None:
            fits = given is not None or fewest == USUAL_FEWEST
            return f"--first {share}" + ("" if fits else f" --min-history {fewest}")
    first = history.matches // 2
    less = _largest(given or 0, lambda fewest: _reason(history, first, fewest) is None)
    return None if less is None else f"--first 50% --min-history {less}"


def _scoring_for(history: History, first: int, fewest: int, min_total: int | None) -> str:
    """Return options of a backtest with something to score.

    fewest : matches of players to score, earlier ones, or all of them with `min_total`
    """
    option = "--min-history" if min_total is None else "--min-total"

    def works(number: int, first: int) -> bool:
        total = None if min_total is None else number
        return _can_score(history, number, first, total)

    if works(fewest, 0):
        return "--from 0%"
    less = _largest(fewest, lambda number: works(number, first))
    if less is not None:
        return f"{option} {less}"
    return f"--from 0% {option} {_largest(fewest, lambda number: works(number, 0)) or 0}"


def _largest(below: int, works: Callable[[int], bool]) -> int | None:
    """Return the largest number below another that works; smaller ones then do too."""
    if not works(0):
        return None
    low, high = 0, below
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low


def _plain(error: InvalidDataError) -> str:
    """Return the text of an error without the advice that it has for programs."""
    return str(error).removesuffix(ADVICE)


def _splits(fewest: Iterable[int]) -> Iterator[tuple[int, str]]:
    return ((one, share) for one in fewest for share in _PROPOSED)


def _relaxed(fewest: int) -> tuple[str, ...]:
    """Return a note if players with fewer earlier matches than usual are scored."""
    if fewest == USUAL_FEWEST:
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


def _searched(share: str, first: int, matches: int) -> str:
    return (
        f"the search is on the first {share} ({first:,} of {counted(matches, 'match', 'matches')})"
        f", because {SEARCH_SHARES[0]} leave nothing to score; --first sets this share"
    )


def _try(options: str | None) -> str:
    return "" if options is None else f". Try {options}"
