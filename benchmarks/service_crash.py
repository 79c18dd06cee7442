"""Does the service lose anything when it is killed, or when many post at once?

Crash: duels are posted by 4 clients, singly, in arrays of 25 and in streams of 200, while the
server is killed (SIGKILL, the whole process group) again and again, right after a match was voided,
so that a replay is under way. After each restart all that was acknowledged must be in the log; at
the end every match is there once. On PostgreSQL the same with two services, each with half of the
clients: in turn one is stopped (SIGSTOP) for 2.5 s, which is longer than PostgreSQL leaves it the
lock of the pool, one is killed and started again, and both are. Concurrency: 16 clients post 8,000
games of 3 against 3 among 60 players, singly and in arrays of 3, without a second try. In both the
ratings, and what each single post was answered, must be those that the library makes of the log in
its order, bit for bit, and after a crash `equipoise db verify` must find no difference.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from report import ROOT, Part, report_parts

sys.path.append(str(ROOT / "tests"))  # the trials are those of the tests, at full size

from trials.concurrency import ConcurrencyResult, concurrency_trial
from trials.crash import CrashResult, Hit, crash_trial
from trials.databases_here import databases_here

#: Services on one database, of the concurrency trial.
SERVICES = {"SQLite": 1, "PostgreSQL": 2}

CRASH_COLUMNS = (
    *("database", "matches", "kills", "requests cut off", "voided"),
    *("acknowledged but lost", "missing", "twice", "players who differ"),
    *("restart, s", "in all, s"),
)
CONCURRENCY_COLUMNS = (
    *("database", "services", "clients", "matches", "refused"),
    *("missing", "players who differ", "answers that differ", "of", "matches a second"),
)


def crash_row(name: str, found: CrashResult) -> tuple[str, ...]:
    """Return a crash trial as a row."""
    counts = (found.matches, found.kills, found.interrupted, found.voided, len(found.lost))
    wrong = (len(found.missing), len(found.twice), len(found.different))
    return (
        name,
        *(f"{count:,}" for count in (*counts, *wrong)),
        f"{median(found.restart):.1f}",
        f"{found.seconds:.0f}",
    )


def concurrency_row(name: str, found: ConcurrencyResult) -> tuple[str, ...]:
    """Return a concurrency trial as a row."""
    counts = (SERVICES[name], found.clients, found.matches, len(found.refused), len(found.missing))
    wrong = (len(found.different), len(found.answered_otherwise), found.compared)
    rate = found.matches / found.seconds
    return (name, *(f"{count:,}" for count in (*counts, *wrong)), f"{rate:,.0f}")


def is_clean(crashed: list[CrashResult], crowd: ConcurrencyResult) -> bool:
    """Return whether nothing was wrong."""
    wrong = [(one.lost, one.missing, one.twice, one.different) for one in crashed]
    return not any(
        any(lists)
        for lists in (
            *wrong,
            (crowd.refused, crowd.missing, crowd.different, crowd.answered_otherwise),
        )
    )


def main() -> None:
    """Run the trials and report; ends with status 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=60_000, help="of the crash trial")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--only", default="", help="SQLite or PostgreSQL")
    parser.add_argument("--games", type=int, default=8_000, help="of the concurrency trial")
    options = parser.parse_args()
    crashes, crowds, clean = [], [], True
    with databases_here() as first, databases_here() as second, databases_here() as third:
        for name, url in first.items():
            if options.only not in ("", name):
                continue
            with tempfile.TemporaryDirectory() as folder:
                size = {"matches": options.matches, "kills": options.kills}
                hits: tuple[Hit, ...] = ("stop", "kill", "all")
                trials = [partial(crash_trial, url, Path(folder), **size)]
                if SERVICES[name] > 1:
                    at = third[name]
                    trials.append(
                        partial(crash_trial, at, Path(folder), services=2, hits=hits, **size)
                    )
                crashed = []
                for services, trial in enumerate(trials, 1):
                    crashed.append(trial())
                    crashes.append(crash_row(f"{name}, services: {services}", crashed[-1]))
                    # Printed at once, as a later trial may fail.
                    print(dict(zip(CRASH_COLUMNS, crashes[-1], strict=True)), flush=True)
                crowd = concurrency_trial(
                    second[name], Path(folder), matches=options.games, services=SERVICES[name]
                )
            clean = clean and is_clean(crashed, crowd)
            crowds.append(concurrency_row(name, crowd))
    parts = [
        Part("Crash", CRASH_COLUMNS, crashes),
        Part("Concurrency", CONCURRENCY_COLUMNS, crowds),
    ]
    report_parts("service_crash", (__doc__ or "").strip(), parts)
    sys.exit(0 if clean else 1)


if __name__ == "__main__":
    main()
