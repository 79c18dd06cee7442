"""equipoise explain: why a match changed a rating."""

from __future__ import annotations

from equipoise.cli import options
from equipoise.cli.declaring import option

EXAMPLE = """\b
Example:
  equipoise explain examples/contests.csv --player jade-kite"""


def explain(
    *,
    history: options.History,
    player: str = option(..., "Whose rating.", "PLAYER"),
    match: str | None = option(None, "Which match. [default: the last that was rated]", "MATCH"),
    system: options.System,
    resume: str | None = option(
        None, "Go on from a saved state, with its system; HISTORY continues it.", "FILE.npz"
    ),
    restart: options.Restart,
    threads: options.Threads,
    reading: options.Reading,
    as_json: options.Json,
) -> None:
    """Say why a match changed a player's rating.

    The parts of the change add up to it. The history is rated up to the match with the system
    and the parameters that are named, as `equipoise rate` does.
    """
    from equipoise.analysis.files.explain import ExplainRequest, explain_match
    from equipoise.cli.files.explanation_text import print_explanation
    from equipoise.cli.options import reading_lines
    from equipoise.cli.report import print_json, say, working
    from equipoise.numeric.workers import available_cores

    settings = system.settings()
    request = ExplainRequest(
        history=reading.request(history, settings),
        player=player,
        match=match,
        resume=resume,
        restart=restart,
        threads=threads or available_cores(),
    )
    with working("rating") as job:
        answer, read = explain_match(system.chosen(settings), request, job.progress)
    if as_json:
        print_json(answer)
        return
    print_explanation(answer)
    say(*reading_lines(read))
