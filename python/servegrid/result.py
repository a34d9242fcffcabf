"""What came out of a run."""

from __future__ import annotations

import html
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from .policy import Policies
from .scenario import Scenario
from .table import Table, html_table, number, text_table

if TYPE_CHECKING:
    from .plot import ResultPlots

__all__ = ["Result", "Summary"]


class Summary(dict[str, float]):
    """Metrics by the names that ``vllm bench serve --save-result`` writes, ours after them.

    A metric that is undefined is absent. `intervals` holds the range in which a measurement is
    expected nine times in ten, from the errors of the fits on runs that they had not seen; it is wide
    where nothing was fitted (docs/validation.md).
    """

    def __init__(self, values: dict[str, float], intervals: dict[str, tuple[float, float]]) -> None:
        super().__init__(values)
        self.intervals = intervals

    def __missing__(self, name: str) -> float:
        raise KeyError(f"{name!r} is not defined for this run; it has {', '.join(self)}")

    def _rows(self) -> list[list[str]]:
        rows = []
        for name, value in self.items():
            low_high = self.intervals.get(name)
            between = f"{number(low_high[0])} to {number(low_high[1])}" if low_high else ""
            rows.append([name, number(value), between])
        return rows

    def __repr__(self) -> str:
        return text_table(["metric", "value", "90 % interval"], self._rows())

    def _repr_html_(self) -> str:
        return html_table(["metric", "value", "90 % interval"], self._rows())


class Result:
    """One simulated run.

    Attributes:
        scenario: what was asked.
        log: what the run's process wrote to standard error (and what Python policies printed).
    """

    def __init__(self, scenario: Scenario, raw: dict[str, Any], policy: Policies | None) -> None:
        self.scenario = scenario
        self.log: str = raw["log"]
        self._policy = policy
        self._said: dict[str, Any] = json.loads(raw["text"])
        self._requests: dict[str, NDArray[Any]] = raw["requests"]
        self._timeline: dict[str, NDArray[Any]] = raw["timeline"]

    @cached_property
    def summary(self) -> Summary:
        """Metrics, named as ``vllm bench serve --save-result`` names them."""
        values: dict[str, float] = self.point["summary"]
        intervals = {name: (low, high) for name, (low, high) in self.point["intervals_90"].items()}
        return Summary(values, intervals)

    @property
    def point(self) -> dict[str, Any]:
        """Everything that ``servegrid run --format json`` says of the run."""
        point: dict[str, Any] = self._said["point"]
        return point

    @property
    def counters(self) -> dict[str, int]:
        """Requests, tokens, blocks, steps and events, counted over the run."""
        counters: dict[str, int] = self._said["counters"]
        return counters

    @property
    def reasons(self) -> dict[int, str]:
        """Why requests were rejected, by request id."""
        return {int(key): why for key, why in self._said["reasons"].items()}

    @property
    def policy(self) -> Policies:
        """The Python policies of the run as they were at its end."""
        return self._policy or Policies()

    @property
    def binds(self) -> str:
        """What limits the run: "KV memory", "memory bandwidth", "compute", "max_num_seqs", ..."""
        return str(self.point["binds"])

    @property
    def trust(self) -> str:
        """ "measured", "inherited", "data sheet" or "what-if": the weakest number used."""
        return str(self.point["trust"])

    @property
    def num_blocks(self) -> int:
        """KV blocks of one replica."""
        return int(self._said["num_blocks"])

    @cached_property
    def requests(self) -> Table:
        """One row a request, in id order; columns as in ``requests.csv``, and TTFT, TPOT and E2EL.

        Times are seconds of simulated time. See `request_columns` for dtypes, units and meaning.
        """
        units = {name: unit for name, _, unit, _ in _core.request_columns()}
        return Table(self._requests, units, {"outcome": _core.outcome_names()})

    @cached_property
    def timeline(self) -> Table:
        """One row an epoch: a stretch in which the batch did not change, or one prefill step.

        See `timeline_columns` for dtypes, units and meaning.
        """
        return Table(self._timeline, {name: unit for name, _, unit, _ in _core.timeline_columns()})

    @cached_property
    def steps(self) -> Table:
        """One row an engine step: the epochs taken apart (computed when first asked for).

        Columns: replica, start_s, seconds, sequences, running, waiting, prefill_tokens,
        context_tokens (of decoding sequences at its start) and blocks_used (at the epoch's start).
        """
        t = self.timeline
        counts = t["steps"]
        of = np.repeat(np.arange(t.rows), counts)
        first = np.cumsum(counts) - counts
        within = np.arange(len(of)) - first[of]
        growth, start = t["step_growth_s"][of], t["first_step_s"][of]
        columns: dict[str, NDArray[Any]] = {
            "replica": t["replica"][of],
            "start_s": t["start_s"][of] + within * start + growth * within * (within - 1) / 2,
            "seconds": start + growth * within,
            "context_tokens": t["context_tokens"][of] + t["sequences"][of] * within,
        }
        for name in ("sequences", "running", "waiting", "prefill_tokens", "blocks_used"):
            columns[name] = t[name][of]
        units = {"start_s": "s", "seconds": "s", "context_tokens": "tokens",
                 "prefill_tokens": "tokens", "blocks_used": "blocks"}  # fmt: skip
        return Table(columns, units)

    @property
    def plot(self) -> ResultPlots:
        """Charts (Altair): ``result.plot.timeline()``, ``.latency_cdf()``, ..."""
        from .plot import ResultPlots

        return ResultPlots(self)

    _shown = (
        *("mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms", "mean_e2el_ms"),
        *("output_throughput", "request_throughput", "preemptions", "mean_running"),
        *("mean_waiting", "mean_kv_cache_usage", "prefix_cache_hit_rate"),
    )

    def _rows(self) -> list[list[str]]:
        by_name = {row[0]: row for row in self.summary._rows()}
        return [by_name[name] for name in self._shown if name in by_name]

    def __repr__(self) -> str:
        table = text_table(["metric", "value", "90 % interval"], self._rows())
        return f"{self.scenario.title}\n{table}\nbinds: {self.binds}; trust: {self.trust}"

    def _repr_html_(self) -> str:
        table = html_table(["metric", "value", "90 % interval"], self._rows())
        return (
            f"<p>{html.escape(self.scenario.title)}</p>{table}"
            f"<p>binds: {html.escape(self.binds)}; trust: {html.escape(self.trust)}</p>"
        )


def request_columns() -> list[tuple[str, str, str, str]]:
    """Name, NumPy dtype, unit and meaning of each column of ``result.requests``."""
    return _core.request_columns()


def timeline_columns() -> list[tuple[str, str, str, str]]:
    """Name, NumPy dtype, unit and meaning of each column of ``result.timeline``."""
    return _core.timeline_columns()
