"""Earlier names of commands and options. They still work, and say the new name in one line."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from equipoise.cli.report import say

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
