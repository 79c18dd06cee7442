"""The command line: each command reads its options, calls one function of `analysis` and prints.

Heavy libraries are imported inside the commands, so that `equipoise --help` is fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from equipoise.errors import EquipoiseError, exit_status
from equipoise.option_names import options_named

#: Exit status after Ctrl-C.
_STOPPED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with status 0 (done), 1 (failed) or 2 (wrong usage)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    status = run(given)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_pipe()
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status; errors are printed to standard error."""
    import typer

    from equipoise.cli.application import create_application
    from equipoise.cli.helping import explain_usage, help_wanted, with_new_command
    from equipoise.cli.report import report_error, report_system_error, report_usage_error, say

    arguments = with_new_command(arguments)
    as_json = "--json" in arguments
    try:
        with options_named():
            status = create_application(arguments[0] if arguments else None)(
                args=_with_default_values(arguments),
                prog_name="equipoise",
                standalone_mode=False,
                obj=run,  # for `demo`, which runs other commands
            )
    except EquipoiseError as error:
        report_error(error, as_json)
        return exit_status(error)
    except (typer.Abort, KeyboardInterrupt):
        status = _STOPPED
    except typer.TyperException as error:
        if help_wanted(error) and not as_json:
            say(*error.format_message().split("\n"))
        else:
            message, advice = explain_usage(error)
            report_usage_error(message, as_json, advice=advice)
        return error.exit_code
    except BrokenPipeError:
        _leave_pipe()
        return 0
    except OSError as error:
        # For instance a full disk. This is no error in the package, so there is no traceback.
        report_system_error(error, as_json)
        return 1
    if status == _STOPPED:
        # Typer makes a status of Ctrl-C.
        say("stopped")
    return status if isinstance(status, int) else 0


def _leave_pipe() -> None:
    """Write nothing more: the program that reads the output has ended (head, less)."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _with_default_values(arguments: Sequence[str]) -> list[str]:
    """Give `--skip-bad` a value if it has none; the parser would take the next word for it."""
    return ["--skip-bad=matches" if word == "--skip-bad" else word for word in arguments]
