"""ServeGrid: does a model fit on these GPUs, how many conversations do they hold, how fast is each
one, what happens when more arrive, and what does a million tokens cost?

::

    import servegrid as sg

    sg.size(model="llama-3.1-70b", gpu="b200")
    result = sg.simulate(model="llama-3.1-70b", gpu="b200", isl=2000, osl=500, concurrency=32)
    result.summary["mean_tpot_ms"]
    result.plot.timeline()
"""

from . import plot, policy
from ._core import __version__
from .catalog import engines, gpus, models, prices, scenarios
from .comparing import Comparison, Difference, compare
from .errors import (
    InfeasibleError,
    InputError,
    PolicyError,
    RunError,
    ServeGridError,
    UnknownNameError,
)
from .measuring import Calibration, Validation, calibrate, validate
from .planning import Plan, plan
from .result import Result, Summary, request_columns, timeline_columns
from .running import CancelToken, simulate
from .scenario import Scenario
from .sizing import Ledger, Step, explain, size
from .sweeping import Sweep, sweep
from .table import Table

__all__ = [
    "Calibration",
    "CancelToken",
    "Comparison",
    "Difference",
    "InfeasibleError",
    "InputError",
    "Ledger",
    "Plan",
    "PolicyError",
    "Result",
    "RunError",
    "Scenario",
    "ServeGridError",
    "Step",
    "Summary",
    "Sweep",
    "Table",
    "UnknownNameError",
    "Validation",
    "__version__",
    "calibrate",
    "compare",
    "engines",
    "explain",
    "gpus",
    "models",
    "plan",
    "plot",
    "policy",
    "prices",
    "request_columns",
    "scenarios",
    "simulate",
    "size",
    "sweep",
    "timeline_columns",
    "validate",
]
