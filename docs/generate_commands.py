"""Write reference/commands.md from the help of the command line.

Run: python docs/generate_commands.py
Only the package itself is needed. A test holds the page against this script.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from equipoise.cli.application import create_application

PAGE = Path(__file__).parent / "reference" / "commands.md"

HEAD = """\
<!-- Written by docs/generate_commands.py from the help of the command line: do not edit. -->

# Commands

Results go to standard output, or to the file that an option names. Messages for people (progress,
timings, omitted data) go to standard error, so results can be piped. Tables are drawn on a terminal
and plain in a pipe. Control and direction characters in names are shown as escapes (`\\x1b`,
`\\u202e`); files and JSON keep the exact text.

| exit status | means |
|---|---|
| 0 | done |
| 1 | failed; the reason is on standard error |
| 2 | wrong usage |
| 130 | interrupted from the keyboard |

`-h` shows the most used options, `--help` all of them. `-o` is short for `--output` and
`-s` for `--system`. `equipoise --install-completion` lets the shell complete commands, options,
systems and their parameters.

With `--json`, the result is JSON on standard output, and an error is one JSON object on standard
error; {doc}`errors` describes it.
"""


SHARED = """\
## Shared options

These have the same meaning in several commands. Each command lists those that it takes.

```{program} equipoise
```
"""

Definition = tuple[str, str]


def commands_page() -> str:
    """Return the text of the page."""
    root: Any = typer.main.get_command(create_application())
    commands = list(_commands("equipoise", root))
    shared = _shared(commands)
    parts = [HEAD, SHARED, *(_definition(*row) for row in shared)]
    for name, command in commands:
        parts += _section(name, command, shared)
    return "\n".join(parts)


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield the full name of a command, and the commands below it, each with the command."""
    yield name, command
    for below, subcommand in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(f"{name} {below}", subcommand)


def _shared(commands: list[tuple[str, Any]]) -> list[Definition]:
    """Return the definitions that two commands or more have in common, one for each name."""
    counts = Counter(
        definition
        for _, command in commands
        for definition in [*_arguments(command), *_options(command)]
    )
    most_common: dict[str, Definition] = {}
    for definition, count in counts.most_common():
        if count > 1:
            most_common.setdefault(_first_name(definition), definition)
    return sorted(most_common.values(), key=lambda row: (row[0].startswith("-"), _first_name(row)))


def _first_name(definition: Definition) -> str:
    """Return the name without its short form and its value: `--system` or `HISTORY`."""
    return re.split(r"[ ,=\[]", definition[0])[0]


def _arguments(command: Any) -> list[Definition]:
    return [
        (_name(param), param.help)
        for param in command.params
        if param.param_type_name == "argument"
    ]


def _options(command: Any) -> list[Definition]:
    return [
        (_option(param), param.help)
        for param in command.params
        if param.param_type_name == "option" and not param.hidden
    ]


def _section(name: str, command: Any, shared: list[Definition]) -> Iterator[str]:
    """Yield the parts of one command: what it does, its usage, arguments, options, example."""
    yield f"## {name}\n"
    yield f"{_text(command.help)}\n"
    definitions = [*_arguments(command), *_options(command)]
    if any(definition not in shared for definition in definitions):
        yield f"```{{program}} {name}\n```\n"
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    words = [name, *map(_argument, arguments), "[OPTIONS]"]
    if hasattr(command, "commands"):
        words = [name, "COMMAND ..."]
    yield f"```text\n{' '.join(words)}\n```\n"
    for definition in definitions:
        if definition not in shared:
            yield _definition(*definition)
    names = [f"`{_first_name(row)}`" for row in definitions if row in shared]
    if names:
        yield f"[Shared](#shared-options): {', '.join(names)}.\n"
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    examples = "\n".join(f"$ {line}" for line in lines if line.startswith("equipoise "))
    if examples:
        yield f"Example:\n\n```console\n{examples}\n```\n"


def _definition(what: str, help_text: str) -> str:
    return f":::{{option}} {what}\n{_text(help_text)}\n:::\n"


def _name(argument: Any) -> str:
    return argument.metavar or argument.name.upper()


def _argument(argument: Any) -> str:
    name = _name(argument)
    return name if argument.required else f"[{name}]"


def _option(option: Any) -> str:
    """Return an option with its value, as it is typed."""
    spelling = ", ".join(option.opts)
    # An option whose value is never written has an empty name for it.
    if option.is_flag or option.metavar == "":
        return spelling
    value = option.metavar or option.opts[0].lstrip("-").upper()
    return f"{spelling}{value}" if value.startswith("[=") else f"{spelling} {value}"


def _text(help_text: str) -> str:
    """Return help as Markdown: options outside code spans are set as code."""
    lines = "\n".join(line.strip() for line in help_text.strip().splitlines())
    return re.sub(
        r"`[^`]*`|(?<!\w)--[a-z][a-z-]*",
        lambda found: found[0] if found[0].startswith("`") else f"`{found[0]}`",
        lines,
    )


if __name__ == "__main__":
    PAGE.write_text(commands_page(), encoding="utf-8")
