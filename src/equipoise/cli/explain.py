"""equipoise explain: why a match changed a rating."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli import options

EXAMPLE = """\b
Example:
  equipoise explain examples/contests.csv --player jade-kite"""


def explain(
    history: options.History,
    player: Annotated[str, typer.Option(metavar="PLAYER", help="Whose rating.")],
    match: Annotated[
        str | None,
        typer.Option(metavar="MATCH", help="Which match. [default: the last that was rated]"),
    ] = None,
    system: options.System = None,
    set_: options.Set = None,
    parameters: options.Parameters = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.npz",
            help="Go on from a saved state, with its system; HISTORY continues it.",
        ),
    ] = None,
    restart: options.Restart = False,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="For large matches; never changes a number. [default: all]"),
    ] = None,
    column: options.Column = None,
    stat: options.Stat = None,
    lower_score_is_better: options.LowerScore = False,
    skip_bad: options.SkipBad = None,
    since: options.Since = None,
    until: options.Until = None,
    time_format: options.TimeFormat = None,
    where: options.Where = None,
    synonyms: options.Synonyms = None,
    format_: options.Format = None,
    strict: options.Strict = False,
    as_json: options.Json = False,
) -> None:
    """Say why a match changed a player's rating.

    The parts of the change add up to it. The history is rated up to the match with the system
    and the parameters that are named, as `equipoise rate` does.
    """
    from equipoise._jit import watch_compilation
    from equipoise.cli.explanation_text import print_explanation
    from equipoise.cli.reading import history_request, reading_lines
    from equipoise.cli.report import print_json, progress, say
    from equipoise.numeric.workers import available_cores
    from equipoise.workflows.explain import ExplainRequest, explain_match
    from equipoise.workflows.settings import chosen_system, read_settings

    settings = read_settings(parameters)
    request = ExplainRequest(
        history=history_request(
            history,
            settings,
            format_=format_,
            column=column,
            stat=stat,
            lower_score_is_better=lower_score_is_better,
            strict=strict,
            skip_bad=skip_bad,
            where=where,
            synonyms=synonyms,
            since=since,
            until=until,
            time_format=time_format,
        ),
        player=player,
        match=match,
        resume=resume,
        restart=restart,
        threads=threads or available_cores(),
    )
    with (
        watch_compilation(lambda: say("Compiling for this machine, once ...")),
        progress("rating") as show,
    ):
        chosen = chosen_system(system, settings, set_ or [])
        answer, reading = explain_match(chosen, request, show)
    if as_json:
        print_json(answer)
        return
    print_explanation(answer)
    for line in reading_lines(reading):
        say(line)
