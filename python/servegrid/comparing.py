"""`compare`: several scenarios under the same draws, and the differences with intervals."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from .errors import InputError
from .policy import Policies
from .scenario import Scenario
from .sweeping import NO_POLICIES, Sweep, sweep
from .table import Table, html_table, number, text_table

if TYPE_CHECKING:
    from .plot import ComparisonPlots

MOST_SENTENCES = 4  # set-ups of which a notebook shows the headline

__all__ = ["Comparison", "Difference", "compare"]


@dataclass(frozen=True)
class Difference:
    """How a metric of one scenario differs from the first one's, paired by seed.

    Attributes:
        metric: its name.
        label: the scenario that is compared.
        baseline: mean of the first scenario.
        mean: mean of the compared one.
        difference: mean of the paired differences (compared - baseline).
        low, high: the interval of that mean difference (Student's t over the seeds); NaN with one
            seed, or where every seed gives the same.
        seeds: pairs that both defined the metric.
    """

    metric: str
    label: str
    baseline: float
    mean: float
    difference: float
    low: float
    high: float
    seeds: int

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out zero; where nothing is drawn, whether they differ."""
        if self.seeds > 1 and math.isnan(self.low):
            return self.difference != 0
        return self.low > 0 or self.high < 0

    @property
    def ratio(self) -> float:
        """Compared over baseline."""
        return self.mean / self.baseline if self.baseline else math.nan


def mean_interval(values: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """Mean and interval of the mean by Student's t; NaN bounds for fewer than two different values."""
    n = len(values)
    mean = float(np.mean(values)) if n else math.nan
    if n < 2 or bool((values == values[0]).all()):
        return mean, math.nan, math.nan
    half = _core.student_t(0.5 + confidence / 2, n - 1) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return mean, mean - half, mean + half


class Comparison:
    """Scenarios side by side.

    Attributes:
        labels: one a scenario; the first is the baseline.
        seeds: how many seeds each was run with; the n-th seed draws the same requests for all
            (common random numbers).
        confidence: of the intervals.
    """

    def __init__(self, labels: list[str], runs: Sweep, seeds: int, confidence: float) -> None:
        self.labels = labels
        self.seeds = seeds
        self.confidence = confidence
        self._runs = runs

    def values(self, label: str, metric: str) -> NDArray[np.float64]:
        """The metric of one scenario, one value a seed; NaN where it is undefined or failed."""
        at = self.labels.index(label)
        rows = self._runs.rows[at * self.seeds : (at + 1) * self.seeds]
        return np.array([row.get(metric, math.nan) for row in rows], dtype=float)

    def mean(self, label: str, metric: str) -> tuple[float, float, float]:
        """Mean over the seeds, and the interval of it (low, high)."""
        values = self.values(label, metric)
        return mean_interval(values[~np.isnan(values)], self.confidence)

    def difference(self, label: str, metric: str) -> Difference:
        """Paired difference of a scenario to the first."""
        base, other = self.values(self.labels[0], metric), self.values(label, metric)
        both = ~(np.isnan(base) | np.isnan(other))
        mean, low, high = mean_interval(other[both] - base[both], self.confidence)
        if not both.any():
            return Difference(metric, label, math.nan, math.nan, mean, low, high, 0)
        return Difference(
            metric, label, float(base[both].mean()), float(other[both].mean()), mean, low, high,
            int(both.sum()),
        )  # fmt: skip

    def differences(
        self, metrics: Iterable[str] = ("mean_ttft_ms", "mean_tpot_ms", "output_throughput")
    ) -> list[Difference]:
        """Every scenario against the first, for each metric."""
        return [self.difference(label, m) for label in self.labels[1:] for m in metrics]

    @cached_property
    def draws(self) -> bool:
        """Whether seeds differ at all. A closed loop of fixed lengths draws nothing: every seed is
        the same run, and there are no intervals."""
        for at in range(0, len(self._runs.rows), self.seeds):
            runs = self._runs.rows[at : at + self.seeds]
            if any(row["point"] != runs[0]["point"] for row in runs):
                return True
        return False

    @cached_property
    def failures(self) -> dict[str, str]:
        """Why scenarios did not run, by label."""
        out = {}
        for i, row in enumerate(self._runs.rows):
            if row["error"]:
                out[self.labels[i // self.seeds]] = str(row["error"])
        return out

    @property
    def set_ups(self) -> list[dict[str, Any]]:
        """Resident conversations, best throughput and cost of each set-up (first seed)."""
        return list(self._study["set_ups"])

    @property
    def headline(self) -> list[str]:
        """The sentences of ``servegrid compare`` (first seed)."""
        return list(self._study["headline"])

    @cached_property
    def _study(self) -> dict[str, Any]:
        points = [row["point"] for row in self._runs.rows[:: self.seeds] if row["point"]]
        return _core.set_ups(points)

    def to_table(self) -> Table:
        """One row a scenario and seed: label, seed, and every metric of the summary."""
        table = self._runs.to_table()
        names = np.repeat(np.array(self.labels, dtype=object), self.seeds)
        return Table({"label": names, **{k: v for k, v in table.items() if k != "label"}})

    def to_pandas(self) -> Any:
        """`to_table` as a DataFrame."""
        return self.to_table().to_pandas()

    @property
    def plot(self) -> ComparisonPlots:
        """Charts (Altair): ``comparison.plot.metric("mean_tpot_ms")``, ``.pareto()``."""
        from .plot import ComparisonPlots

        return ComparisonPlots(self)

    _shown = (
        ("mean_ttft_ms", "TTFT ms"),
        ("mean_tpot_ms", "TPOT ms"),
        ("output_throughput", "out tok/s"),
    )

    def _cells(self, label: str, metric: str) -> list[str]:
        mean, low, high = self.mean(label, metric)
        spread = f" ± {number((high - low) / 2)}" if self.draws and low == low else ""
        cells = [f"{number(mean)}{spread}"]
        if label == self.labels[0]:
            return [*cells, ""]
        d = self.difference(label, metric)
        if not self.draws or d.low != d.low:
            return [*cells, number(d.difference)]
        return [*cells, f"{number(d.difference)} [{number(d.low)}, {number(d.high)}]"]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        heads = ["scenario"]
        for _, title in self._shown:
            heads += [title, "against the first"]
        rows = []
        for label in self.labels:
            row = [label]
            for metric, _ in self._shown:
                row += self._cells(label, metric)
            rows.append(row)
        return heads, rows

    def _caption(self) -> str:
        if self.seeds == 1:
            return "one seed"
        if not self.draws:
            return f"{self.seeds} seeds, all the same: the scenarios draw nothing"
        return f"{self.seeds} seeds, intervals of {self.confidence:.0%}"

    def __repr__(self) -> str:
        heads, rows = self._table()
        failed = "".join(f"\n{label}: {why}" for label, why in self.failures.items())
        return f"{text_table(heads, rows)}\n{self._caption()}{failed}"

    def _repr_html_(self) -> str:
        heads, rows = self._table()
        few = len(self.labels) <= MOST_SENTENCES
        sentences = "".join(f"<p>{html.escape(s)}</p>" for s in self.headline) if few else ""
        failed = "".join(
            f"<p>{html.escape(label)}: {html.escape(why)}</p>" for label, why in self.failures.items()
        )
        caption = self._caption()
        return html_table(heads, rows, caption=caption) + sentences + failed


def compare(
    scenarios: Iterable[Scenario] | Mapping[str, Scenario] | Scenario | str,
    *,
    seeds: int = 5,
    confidence: float = 0.95,
    policies: Policies = NO_POLICIES,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: bool = True,
) -> Comparison:
    """Simulates scenarios under common random numbers and compares them with the first.

    Every scenario is run with the seeds ``s, s + 1, ...`` of the first one: the n-th run of each sees
    requests of the same lengths (and, in an open loop, arrivals), so that differences are of the
    set-ups and not of the draws.

    Args:
        scenarios: a list, or a mapping from label to scenario; or one scenario (or its name) with a
            sweep, whose points are compared.
        seeds: runs of each.
        confidence: of the intervals.
        policies, executor, workers, progress: as for `sweep`.
    """
    labelled = _labelled(scenarios)
    if seeds < 1:
        raise InputError("seeds is at least 1")
    if not 0 < confidence < 1:
        raise InputError("confidence lies between 0 and 1")
    first = next(iter(labelled.values())).seed
    points = [s.with_(seed=first + k) for s in labelled.values() for k in range(seeds)]
    runs = sweep(points, policies=policies, executor=executor, workers=workers, progress=progress)
    return Comparison(list(labelled), runs, seeds, confidence)


def _labelled(
    scenarios: Iterable[Scenario] | Mapping[str, Scenario] | Scenario | str,
) -> dict[str, Scenario]:
    if isinstance(scenarios, str):
        scenarios = Scenario.load(scenarios)
    if isinstance(scenarios, Scenario):
        scenarios = scenarios.points()
    labelled = dict(scenarios) if isinstance(scenarios, Mapping) else _titles(list(scenarios))
    if not labelled:
        raise InputError("nothing to compare")
    return labelled


def _titles(scenarios: list[Scenario]) -> dict[str, Scenario]:
    """A label each: its title, without what all have in common."""
    parts = [s.title.replace(" on ", ", ").split(", ") for s in scenarios]
    common = set.intersection(*(set(p) for p in parts)) if len(parts) > 1 else set()
    labels = [
        ", ".join(w for w in p if w not in common) or s.title for p, s in zip(parts, scenarios, strict=True)
    ]
    if len(set(labels)) < len(labels):
        labels = [f"{i + 1}: {label}" for i, label in enumerate(labels)]
    return dict(zip(labels, scenarios, strict=True))
