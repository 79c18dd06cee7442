"""Trials that are kept from one run to the next, as a study of Optuna in a database.

Only finished trials are written, each in one transaction. A run that is stopped in any way leaves
no unfinished trial, and the next run continues from there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.data.backtest import HIGHER_IS_BETTER
from equipoise.data.files import check_place
from equipoise.data.history import History
from equipoise.data.tuning import Choice, Range, Trial
from equipoise.errors import ConflictError, EquipoiseError, InvalidParameterError
from equipoise.evaluate.proposals import distribution_of, load_optuna, state_of

#: Keys of the question in a study, and of the result in a trial.
_QUESTION, _ANSWER = "equipoise:question", "equipoise:trial"
#: Key of the number of trials under way. Studies of earlier versions do not have it.
_UNDER_WAY = "equipoise:under_way"


class Study:
    """The trials of one search, in a database.

    question : values for JSON that must be equal for trials to belong together
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        question: Mapping[str, object],
        choices: Mapping[str, Choice],
        metric: str,
    ) -> None:
        """Open a study, or create one.

        Raises : InvalidParameterError   no such database
                 ConflictError   the study has another question
                 EquipoiseError   Optuna is not installed
        """
        self._optuna = load_optuna()
        self._metric = metric
        self._storage = _open(self._optuna, database_url(url))
        self._study = self._optuna.create_study(
            storage=self._storage,
            study_name=name,
            direction="maximize" if metric in HIGHER_IS_BETTER else "minimize",
            load_if_exists=True,
        )
        self._check(name, json.loads(json.dumps(question)))
        self._distributions = {one: distribution_of(choice) for one, choice in choices.items()}
        self.trials: Sequence[Trial] = self._read()
        self._count = len(self._study.get_trials(deepcopy=False))

    def _check(self, name: str, question: dict[str, object]) -> None:
        """Refuse a study with another question. Raises : ConflictError."""
        asked = self._study.user_attrs.get(_QUESTION)
        if asked is None:
            if self._study.get_trials(deepcopy=False):
                raise ConflictError(f"the study {name!r} was not made by equipoise tune")
            self._study.set_user_attr(_QUESTION, question)
            return
        different = [key for key in {**asked, **question} if asked.get(key) != question.get(key)]
        if different:
            one = different[0]
            raise ConflictError(
                f"the study {name!r} belongs to another search: it differs in "
                f"{', '.join(different)} "
                f"({one} was {json.dumps(asked.get(one))}, now {json.dumps(question.get(one))}). "
                "Use another --study-name"
            )

    def settle_under_way(self, given: int | None, *, earlier: int, default: int) -> int:
        """Return how many trials are under way, which is the same in every run of the study.

        given : what this run asks for, if anything
        earlier : for a study of an earlier version, in which it was the number of processes
        Raises : ConflictError   the study has another number
        """
        kept: int | None = self._study.user_attrs.get(_UNDER_WAY)
        if kept is None:
            kept = given or (earlier if self.trials else default)
            self._study.set_user_attr(_UNDER_WAY, kept)
        elif given not in (None, kept):
            raise ConflictError(
                f"this study has {kept} trials under way, which decides what is sampled; got "
                f"--under-way {given}. Leave the option out, or use another --study-name"
            )
        return kept

    def _read(self) -> list[Trial]:
        found: list[Trial] = []
        for trial in self._study.get_trials(deepcopy=False):
            answer = trial.user_attrs.get(_ANSWER)
            if answer is not None:
                found.append(Trial(number=len(found), parameters=dict(trial.params), **answer))
        return found

    def keep(self, trial: Trial) -> None:
        """Write a trial. Raises : ConflictError   another run writes to the study as well."""
        if len(self._study.get_trials(deepcopy=False)) != self._count:
            raise ConflictError("another search writes to this study at the same time")
        answer = {"status": trial.status, "reason": trial.reason, "metrics": dict(trial.metrics)}
        try:
            self._study.add_trial(
                self._optuna.trial.create_trial(
                    state=state_of(trial),
                    value=trial.value(self._metric) if trial.status == "done" else None,
                    params=dict(trial.parameters),
                    distributions=self._distributions,
                    user_attrs={_ANSWER: answer},
                )
            )
        except ValueError as error:
            raise ConflictError(
                "values that are not numbers cannot be changed within a study: use another "
                "--study-name"
            ) from error
        self._count += 1


def database_url(text: str) -> str:
    """Return the URL of a database; a plain path is an SQLite file."""
    return text if "://" in text else f"sqlite:///{text}"


def _open(optuna: Any, url: str) -> Any:
    import sqlalchemy.exc

    if url.startswith("sqlite:///"):
        check_place(Path(url.removeprefix("sqlite:///")))
    try:
        return optuna.storages.RDBStorage(url)
    except (sqlalchemy.exc.SQLAlchemyError, ImportError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidParameterError(f"--study {url!r} cannot be opened: {reason}") from error
    except optuna.exceptions.OptunaError as error:
        raise EquipoiseError(f"--study {url!r}: {error}") from error


def question_of(
    *,
    system: str,
    parameters: Mapping[str, object],
    choices: Mapping[str, Choice],
    trials: int | None,
    seed: int,
    **others: object,
) -> dict[str, object]:
    """Return the values that must be equal for trials to belong to one study.

    The values of a grid and the number of trials may change, so that both can grow.
    """
    ranges = {
        name: [one.low, one.high, "log" if one.log else "linear"]
        for name, one in choices.items()
        if isinstance(one, Range)
    }
    searched: dict[str, object] = {"ranges": ranges, "seed": seed}
    if trials is None:
        searched = {"grid": list(choices)}
    fixed = {name: str(value) for name, value in parameters.items() if name not in choices}
    return {"system": system, "parameters": fixed, **searched, **others}


def fingerprint(history: History) -> str:
    """Return a hash of everything in a history that ratings can depend on."""
    found = hashlib.sha256()
    columns = {
        "offsets": history.offsets,
        "player": history.player,
        "team": history.team,
        "rank": history.rank,
        "time": history.time,
        "weight": history.weight,
        "performance_ceiling": history.performance_ceiling,
        "beta": history.beta,
        "gamma": history.gamma,
        "performance": history.performance,
        "share": history.share,
        **history.statistics,
        **history.attributes,
    }
    for name, column in columns.items():
        if column is None:
            continue
        found.update(f"\n{name} {column.dtype.kind}\n".encode())
        if column.dtype == object:
            found.update("\n".join(map(repr, column.tolist())).encode())
        else:
            found.update(np.ascontiguousarray(column).tobytes())
    return found.hexdigest()[:16]
