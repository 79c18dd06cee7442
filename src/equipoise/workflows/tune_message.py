"""What a search found, as JSON."""

from __future__ import annotations

from equipoise.data.backtest import GROUP_METRICS
from equipoise.data.tuning import Choice, Range, Trial
from equipoise.evaluate.objective import GIVEN
from equipoise.messages.conversion import to_message
from equipoise.messages.tune import (
    ChoiceMessage,
    HeldOutMessage,
    SearchMessage,
    TrialMessage,
    TuneMessage,
)
from equipoise.workflows.backtest import message_of as backtest_message
from equipoise.workflows.reading import history_message
from equipoise.workflows.systems_choice import plain_parameters, plain_value
from equipoise.workflows.tune import TuneAnswer, verdict


def message_of(answer: TuneAnswer) -> TuneMessage:
    """Return the JSON message."""
    found = answer.found
    held_out = backtest_message(answer.held_out)
    return TuneMessage(
        system=found.system,
        parameters=plain_parameters(answer.tuned),
        improved=found.chosen is not found.given,
        best=_trial(found.best, found.metric),
        given=_trial(found.given, found.metric),
        held_out=HeldOutMessage(
            systems=held_out.systems,
            difference=held_out.differences[0],
            scoring=held_out.scoring,
            verdict=verdict(answer),
            groups=held_out.groups,
            verdicts=[
                verdict(answer, group) if found.metric in GROUP_METRICS else None
                for group in answer.held_out.found.groups
            ],
        ),
        search=_search(answer),
        trials=[_trial(trial, found.metric) for trial in found.trials],
        history=history_message(answer.history, answer.reading),
    )


def _search(answer: TuneAnswer) -> SearchMessage:
    request, found = answer.request, answer.found
    edges = found.at_edges()
    return to_message(
        SearchMessage,
        request,
        higher_is_better=found.higher_is_better,
        choices=[_choice(name, one, name in edges) for name, one in found.choices.items()],
        first=answer.first,
        matches=found.matches,
        participations=found.participations,
        seed=None if request.trials is None else request.seed,
        recorded=answer.recorded,
        seconds=answer.seconds,
    )


def _choice(name: str, choice: Choice, at_edge: bool) -> ChoiceMessage:
    if isinstance(choice, Range):
        return ChoiceMessage(name, None, choice.low, choice.high, choice.log, at_edge)
    return ChoiceMessage(name, [plain_value(one) for one in choice], None, None, None, at_edge)


def _trial(trial: Trial, metric: str) -> TrialMessage:
    return to_message(
        TrialMessage,
        trial,
        number=None if trial.number == GIVEN else trial.number,
        parameters={name: plain_value(value) for name, value in trial.parameters.items()},
        value=trial.metrics.get(metric),
        # What has no value (no match with a top, say) is left out.
        metrics={name: value for name, value in trial.metrics.items() if value == value},
    )
