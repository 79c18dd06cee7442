"""equipoise completion: scripts with which shells complete commands, options and their values.

The script asks `equipoise` itself, with the words typed so far in environment variables; Typer
answers. The functions below give values of options, and may be slower than a command's help.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import typer

from equipoise.cli.declaring import argument
from equipoise.cli.report import print_lines, say

EXAMPLE = """\b
Example:
  equipoise completion bash > ~/.local/share/bash-completion/completions/equipoise
  equipoise completion zsh > ~/.zfunc/_equipoise
  equipoise completion fish > ~/.config/fish/completions/equipoise.fish"""

#: Set by the scripts: which shell asks. The name is Typer's rule.
_ASKED = "_EQUIPOISE_COMPLETE"
#: Set by the scripts: the words typed so far, of bash and of the other shells.
_WORDS = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")

#: Like Typer's script, but bash takes the sign of NAME=VALUE and --option=value for a word of its
#: own: the words are put together again. No space follows NAME=.
_BASH = """\
_equipoise_completion() {
    local IFS=$'\\n' word words=() sign="" current=${COMP_WORDS[COMP_CWORD]} typed
    for word in "${COMP_WORDS[@]:0:COMP_CWORD + 1}"; do
        if [[ $word == "=" && ${words[-1]} == --* ]]; then
            sign=option
        elif [[ $word == "=" ]]; then
            words[-1]+="="
            sign=value
        elif [[ $sign == value ]]; then
            words[-1]+=$word
            sign=""
        else
            words+=("$word")
            sign=""
        fi
    done
    [[ $sign == option ]] && words+=("")
    [[ $current == "=" ]] && current=""
    typed=${words[-1]}
    COMPREPLY=( $( env COMP_WORDS="${words[*]}" COMP_CWORD=$(( ${#words[@]} - 1 )) \\
                   _EQUIPOISE_COMPLETE=complete_bash "$1" 2> /dev/null ) )
    COMPREPLY=("${COMPREPLY[@]#"${typed%"$current"}"}")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}

complete -o default -F _equipoise_completion equipoise"""

#: Shell -> how to switch completion on in every session, or in this one.
_HOW = {
    "bash": "For this session: source <(equipoise completion bash)",
    "zsh": "For this session: source <(equipoise completion zsh)",
    "fish": "For this session: equipoise completion fish | source",
    "powershell": "Add it to the file $PROFILE.",
}


def completion(
    *,
    shell: Literal["bash", "zsh", "fish", "powershell"] = argument(
        "The shell: bash, zsh, fish or powershell.", "SHELL"
    ),
) -> None:
    """Print the script with which a shell completes commands, options and their values.

    Write it where the shell looks for such scripts, as in the examples; zsh needs ~/.zfunc in its
    fpath. The names of systems, their parameters after --set, formats and files are completed too.
    """
    script = _BASH if shell == "bash" else _typer_script(shell)
    print_lines(*script.split("\n"))
    say(_HOW[shell])


def _typer_script(shell: str) -> str:
    """Return the script that Typer has for a shell."""
    import contextlib
    import io

    from typer.completion import get_completion_inspect_parameters, shell_complete
    from typer.main import get_command

    from equipoise.cli.application import create_application

    get_completion_inspect_parameters()  # makes the shells known
    command: Any = get_command(create_application("completion"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        shell_complete(command, {}, "equipoise", _ASKED, f"source_{shell}")
    return printed.getvalue().strip()


def command_to_complete(environment: Mapping[str, str]) -> str | None:
    """Return the command whose words a shell wants to complete; None if it wants a command.

    In a completion, the shells of Typer are made known to it.
    """
    if _ASKED not in environment:
        return None
    from typer.completion import get_completion_inspect_parameters

    get_completion_inspect_parameters()
    typed = next((environment[name] for name in _WORDS if name in environment), "")
    words = typed.split("\n") if "\n" in typed else typed.split(" ")
    return words[1] if len(words) > 2 else None


def systems(incomplete: str) -> list[tuple[str, str]]:
    """Return the systems that begin so, each with its purpose; a label may stand before."""
    from equipoise.analysis.files.systems import list_systems

    label, equals, _ = incomplete.rpartition("=")
    return [(f"{label}{equals}{one.name}", one.summary) for one in list_systems()]


def parameters(context: typer.Context) -> list[tuple[str, str]]:
    """Return NAME= for the parameters of the system that the words before name."""
    given = context.params.get("system")
    return _parameters_of(given or _default_system())


def labelled_parameters(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return NAME= for a single system, LABEL.NAME= for the parameters of several."""
    named = [text.partition("=") for text in context.params.get("system") or ()]
    labels = {label: name or label for label, _, name in named}
    if len(labels) < 2 and "." not in incomplete:
        return _parameters_of(next(iter(labels.values()), _default_system()))
    return [
        (f"{label}.{name}", about)
        for label, system in labels.items()
        for name, about in _parameters_of(system)
    ]


def _parameters_of(system: str) -> list[tuple[str, str]]:
    from equipoise.analysis.files.systems import described
    from equipoise.errors import EquipoiseError

    try:
        found = described(system).parameters
    except EquipoiseError:
        return []
    return [(f"{one.name}=", f"{one.type}, default {one.default}") for one in found]


def _default_system() -> str:
    from equipoise.analysis.files.systems import DEFAULT_SYSTEM

    return DEFAULT_SYSTEM


def formats() -> list[str]:
    """Return the formats of histories."""
    from equipoise.formats.sources import Format

    return list(get_args(Format))


def time_formats() -> list[str]:
    """Return the formats of times that have a name."""
    from equipoise.formats.times import NAMED_FORMATS

    return list(NAMED_FORMATS)


def public_histories() -> list[tuple[str, str]]:
    """Return the names of the public histories that `equipoise data` lists."""
    from equipoise.analysis.public_histories import PUBLIC_HISTORIES

    return [(one.name, one.what) for one in PUBLIC_HISTORIES]
