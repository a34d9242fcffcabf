"""`calibrate`: fit the step model to your measurements. `validate`: predicted against measured."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from .errors import InputError
from .scenario import Scenario
from .sizing import scenario_of
from .table import Table, html_table, number

__all__ = ["Calibration", "Validation", "calibrate", "validate"]


@dataclass(frozen=True)
class Calibration:
    """What was fitted.

    Attributes:
        report: the residuals as a text table.
        files: the fit files that were written.
    """

    report: str
    files: tuple[Path, ...]

    def __repr__(self) -> str:
        return self.report

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.report)}</pre>"


def calibrate(
    *,
    kernels: str | os.PathLike[str] | None = None,
    serving: str | os.PathLike[str] | None = None,
    bench: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    scenario: Scenario | str | None = None,
    gpu: str | Sequence[str] = (),
    output: str | os.PathLike[str] | None = None,
    date: str = "",
    threads: int = 2,
) -> Calibration:
    """Fits the step model to measurements (docs/calibration.md has the formats). Give one of
    `kernels`, `serving` and `bench`.

    Args:
        kernels: folder with one folder of CSV files a GPU.
        serving: CSV of measured serving runs; fits the serving costs, after the kernels.
        bench: results of your own ``vllm bench serve --save-result`` or SGLang's bench_serving;
            fits two or three numbers of your machine.
        scenario: of `bench`: the deployment that was measured; its load is not used.
        gpu: of `kernels` and `serving`: only these; default: all that were measured.
        output: folder for the fit files (of `bench`: the folder that holds ``hw_profiles/fits``);
            default: none are written. Put the folder that holds ``hw_profiles`` into
            ``SERVEGRID_DATA`` to use them.
        date: written into the files; default: today.
        threads: of `serving` and `bench`; the numbers do not depend on it.

    Raises:
        InputError: a file that cannot be read, bad rows, or an unknown GPU.
    """
    if sum(given is not None for given in (kernels, serving, bench)) != 1:
        raise InputError("calibrate needs one of kernels (a folder), serving (a CSV file), bench (results)")
    if (bench is None) != (scenario is None):
        raise InputError("bench and scenario go together: the scenario is the deployment that was measured")
    gpus = [gpu] if isinstance(gpu, str) else list(gpu)
    if bench is not None and gpus:
        raise InputError("gpu does not go with bench: the scenario names it")
    folder = "" if output is None else os.fspath(output)
    fits = os.path.join(folder, "hw_profiles", "fits") if folder and bench is not None else folder
    before = _times(fits)
    if kernels is not None:
        report = _core.calibrate_kernels(os.fspath(kernels), gpus, folder, date)
    elif serving is not None:
        report = _core.calibrate_serving(os.fspath(serving), gpus, folder, date, threads)
    else:
        assert bench is not None
        files = [bench] if isinstance(bench, (str, os.PathLike)) else list(bench)
        asked = scenario_of(scenario, {})._core_scenario
        report = _core.calibrate_bench([os.fspath(f) for f in files], asked, folder, date, threads)
    changed = [path for path, time in _times(fits).items() if before.get(path) != time]
    return Calibration(report, tuple(sorted(changed)))


def _times(folder: str) -> dict[Path, int]:
    if not folder or not os.path.isdir(folder):
        return {}
    return {path: path.stat().st_mtime_ns for path in Path(folder).glob("*.yaml")}


@dataclass(frozen=True)
class Validation:
    """Predicted against measured runs.

    Attributes:
        report: the errors as a text table.
        statistics: the whole report: errors by group, decisions, what was skipped and why.
        rows_csv: one line a run.
    """

    report: str
    statistics: dict[str, Any]
    rows_csv: str

    @cached_property
    def rows(self) -> Table:
        """One row a run that was predicted: what it was, measured and predicted."""
        lines = list(csv.reader(io.StringIO(self.rows_csv)))
        columns = zip(*lines[1:], strict=True) if len(lines) > 1 else [[] for _ in lines[0]]
        return Table({name: _numbers(values) for name, values in zip(lines[0], columns, strict=True)})

    def __repr__(self) -> str:
        return self.report

    def _repr_html_(self) -> str:
        heads = list(self.rows)[:12]
        shown = [[number(self.rows[name][i]) for name in heads] for i in range(min(8, self.rows.rows))]
        import html

        return f"<pre>{html.escape(self.report)}</pre>" + html_table(
            heads, shown, caption=f"{self.rows.rows} runs"
        )


def _numbers(values: Sequence[str]) -> np.ndarray[Any, Any]:
    try:
        return np.array([math.nan if v == "" else float(v) for v in values], dtype=float)
    except ValueError:
        return np.array(list(values), dtype=object)


def validate(
    measured: str | os.PathLike[str],
    *,
    leave_out: str = "",
    tpot_limit_ms: float = 20,
    threads: int = 2,
) -> Validation:
    """Predicts measured runs and says how wrong it was (docs/validation.md has the format).

    Args:
        measured: CSV file of runs.
        leave_out: what the prediction may not know: "model" (the serving costs are refitted without
            each model), "gpu" (kernels are inherited from the nearest relative), "kernels" (the data
            sheet only); default: nothing.
        tpot_limit_ms: of the question how many users a set-up carries.
        threads: the numbers do not depend on it.

    Raises:
        InputError: a file that cannot be read, or a bad row, with its line.
    """
    parts = _core.validate_runs(os.fspath(measured), leave_out, tpot_limit_ms, threads)
    return Validation(parts[1], json.loads(parts[0]), parts[2])
