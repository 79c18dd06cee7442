"""Commands and options of earlier versions.

Those that have another name still work, and say it in one line. Those that are gone say where to
look instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from equipoise.analysis.requests.reading import reading_options
from equipoise.cli.project_file import settings_alone
from equipoise.cli.report import say
from equipoise.wording import NO_STANDBY, SEVERAL_SERVICES

#: Old name of an option -> its name today, in every command that has the latter.
_OPTIONS = {
    "--resume": "--state",
    "--memory": "--memory-limit",
    "--raw": "--no-escape-formulas",
    "--if-ranked": "--what-if",
}

#: Old name of a command -> the words for it today.
_COMMANDS = {"compile": "doctor --compile"} | {
    name: f"db {name}"
    for name in ("keys", "import", "export", "verify", "check", "backup", "restore", "erase")
}
#: Commands that are gone -> where to look instead.
GONE_COMMANDS = {
    "reproduce": "The papers are compared with our numbers in the repository: `make papers`, or "
    "`python -m papers.reproduce`.",
    "data": "Public histories, and the commands that read them, are a guide of the documentation: "
    "docs/guides/public-histories.md.",
    "completion": "Type `equipoise --install-completion` in the shell that is to complete, or "
    "`equipoise --show-completion` to see the script.",
}
#: What `equipoise simulate` takes from the file of a population.
_POPULATION = (
    "newcomers newcomer-gap activity-deviation matchmade mean-skill skill-deviation "
    "performance-deviation drift-deviation score-step draw-margin leavers mean-kills mean-deaths "
    "mean-damage statistics-scale first-time interval"
)
_STUDY = "The study of new accounts is in the repository: `benchmarks/new_accounts.py`."
_STANDBY = f"{NO_STANDBY[:1].upper()}{NO_STANDBY[1:]}."
#: Options that are gone, by command: where to look instead.
_GONE = {
    "audit incentives": {"--accounts": _STUDY, "--accounts-in": _STUDY},
    "serve": {
        "--workers": f"The service is one process: {SEVERAL_SERVICES}.",
        "--replica": _STANDBY,
        "--replica-lag": _STANDBY,
    },
    "simulate": {
        f"--{name}": f"It is the key `{name.replace('-', '_')}` of the file of a population, as in "
        "examples/population.toml."
        for name in _POPULATION.split()
    },
}
_CERTIFICATES = "The certificates for --cluster are those of Dask's configuration"
#: Options that are gone from all commands that had them.
_GONE_EVERYWHERE = {
    "--cluster-ca": f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE.",
    "--cluster-cert": f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT.",
    "--cluster-key": f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY.",
    "--again": "Every pool is rated each time.",
    "--insecure-cluster": "Set DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=False instead.",
}


def with_new_command(words: Sequence[str]) -> list[str]:
    """Return a command line with the command's new name."""
    if not words or words[0] not in _COMMANDS:
        return list(words)
    name = _COMMANDS[words[0]]
    say(f"`equipoise {words[0]}` is now called `equipoise {name}`.")
    return [*name.split(), *words[1:]]


def with_new_options(words: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the words of a command with the options' new names.

    known : options of the command
    """
    renamed = {old: new for old, new in _OPTIONS.items() if new in known and old not in known}
    found: list[str] = []
    for number, word in enumerate(words):
        if word == "--":
            return [*found, *words[number:]]
        old, equals, value = word.partition("=")
        if old in renamed:
            say(f"{old} is now called {renamed[old]}.")
            found.append(f"{renamed[old]}{equals}{value}")
        else:
            found.append(word)
    return found


def why_gone(command: str, option: str) -> str | None:
    """Return where to look instead of an option that is gone; None if there was none."""
    name = command.partition(" ")[2]
    found = _GONE.get(name, {}).get(option) or _GONE_EVERYWHERE.get(option)
    return found or (_setting(name, option) if name in _READING else None)


#: Commands that read, and have some of the options of reading.
_READING = (
    *("explain", "plot", "performance", "strengths", "backtest", "leaderboard", "tune"),
    *("audit drift", "audit incentives", "db import", "convert", "inspect"),
)


def _setting(command: str, option: str) -> str | None:
    """Return where an option of reading belongs that the command does not have."""
    if option.removeprefix("--") not in settings_alone(command):
        return None
    known = reading_options()[option]
    words = (f"`equipoise {'db ' if one == 'import' else ''}{one}`" for one in known[0].commands)
    return (
        f"It is an option of {', '.join(words)}; for other commands set "
        f"`{option[2:].replace('-', '_')}` below [reading] in the file equipoise.toml."
    )
