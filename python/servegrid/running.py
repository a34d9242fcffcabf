"""`simulate`: one scenario, one run."""

from __future__ import annotations

import pickle
from typing import Any

from . import _core
from .errors import InfeasibleError
from .policy import (
    Admission,
    ArrivalProcess,
    LengthSampler,
    Policies,
    RouterLike,
    core_policies,
)
from .result import Result
from .scenario import Scenario
from .sizing import scenario_of

__all__ = ["CancelToken", "simulate"]

CancelToken = _core.CancelToken


def simulate(
    scenario: Scenario | str | None = None,
    *,
    router: RouterLike | None = None,
    admission: Admission | None = None,
    lengths: LengthSampler | None = None,
    arrivals: ArrivalProcess | None = None,
    leap: bool = True,
    cancel: CancelToken | None = None,
    **keywords: Any,
) -> Result:
    """Simulates a scenario in a process of its own and returns what came out.

    The interpreter's lock is free meanwhile; Ctrl-C ends the run; several threads may simulate at
    once. The result has the same bits every time.

    Args:
        scenario: a scenario, or the name or path of one; or keywords alone.
        router, admission, lengths, arrivals: policies in Python (`servegrid.policy`) in place of
            the scenario's.
        leap: False simulates step by step: slower, the same result.
        cancel: ends the run with KeyboardInterrupt when another thread calls its ``cancel()``.
        **keywords: as for `Scenario`; they override the scenario.

    Raises:
        InputError: what was asked makes no sense, or would exhaust the machine.
        InfeasibleError: the model does not fit on the GPUs; the message says what would.
        PolicyError: a Python policy raised; with its traceback.
        RunError: the run's process died; with its log.
        KeyboardInterrupt: Ctrl-C, or `cancel`.
    """
    asked = scenario_of(scenario, keywords)
    policies = Policies(router, admission, lengths, arrivals)
    core = core_policies(policies, asked.seed)
    raw = _core.run(asked._core_scenario, asked.name, leap, core, cancel)
    if "requests" not in raw:
        raise InfeasibleError(_why_not(raw["text"]))
    state: bytes = raw["policies"]
    return Result(asked, raw, pickle.loads(state) if state else None)


def _why_not(text: str) -> str:
    import json

    point = json.loads(text)["point"]
    nearest = f"\n  {point['nearest']}" if point["nearest"] else ""
    return f"{point['reason']}{nearest}"
