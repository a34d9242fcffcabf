"""`sweep`: many scenarios, in parallel, resumable."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import pickle
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import closing
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import InputError, ServeGridError
from .policy import Policies
from .running import CancelToken, simulate
from .scenario import Scenario
from .table import Table, columns_of, html_table, number, text_table

if TYPE_CHECKING:
    import pandas as pd

    from .plot import SweepPlots

__all__ = ["Sweep", "grid", "sweep"]

Row = dict[str, Any]
NO_POLICIES = Policies()


def grid(scenario: Scenario, axes: Mapping[str, Any]) -> list[tuple[Row, Scenario | str]]:
    """Every combination of values, the last axis fastest.

    Args:
        scenario: what does not vary.
        axes: values by keyword (``"gpu"``, ``"concurrency"``) or dotted path.

    Returns:
        The values and the scenario of each point; where a combination is no scenario, the reason.
    """
    points: list[tuple[Row, Scenario | str]] = []
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        keywords = {k: v for k, v in chosen.items() if "." not in k and k in _keywords()}
        paths = {k: v for k, v in chosen.items() if k not in keywords}
        try:
            points.append((chosen, scenario.with_(paths, **keywords)))
        except ServeGridError as e:
            points.append((chosen, str(e)))
    if points and all(isinstance(s, str) for _, s in points):
        raise InputError(f"no combination is a scenario; the first: {points[0][1]}")
    return points


def _keywords() -> set[str]:
    return {*Scenario.keywords(), "seed"}


class Sweep:
    """One row a point, in the order asked.

    Attributes:
        rows: the values of the axes, every metric of the summary, and ``error`` ("" or why the point
            has no result), ``feasible``, ``binds``, ``trust``, ``label`` and ``point`` (JSON of
            ``servegrid run``).
        axes: names of the axes.
    """

    def __init__(self, rows: list[Row], axes: list[str]) -> None:
        self.rows = rows
        self.axes = axes

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def failures(self) -> list[Row]:
        """The rows without a result."""
        return [row for row in self.rows if row["error"]]

    def to_table(self) -> Table:
        """Axes, metrics (NaN where undefined) and texts as columns."""
        return columns_of([{k: v for k, v in row.items() if k != "point"} for row in self.rows])

    def to_pandas(self) -> pd.DataFrame:
        """`to_table` as a DataFrame."""
        return self.to_table().to_pandas()

    @property
    def plot(self) -> SweepPlots:
        """Charts (Altair): ``sweep.plot.metric("mean_tpot_ms")``, ``.pareto()``."""
        from .plot import SweepPlots

        return SweepPlots(self)

    _shown = ("mean_ttft_ms", "mean_tpot_ms", "output_throughput", "binds", "error")

    def _table(self, most: int) -> tuple[list[str], list[list[str]]]:
        first = self.axes or ["label"]
        heads = [*first, *self._shown]
        rows = [[number(row.get(name)) for name in heads] for row in self.rows[:most]]
        return heads, rows

    def __repr__(self) -> str:
        heads, rows = self._table(40)
        more = f"\n... {len(self.rows) - 40} more" if len(self.rows) > 40 else ""
        return text_table(heads, rows, left=len(self.axes or ["label"])) + more

    def _repr_html_(self) -> str:
        heads, rows = self._table(40)
        caption = f"{len(self.rows)} points, {len(self.failures)} without a result"
        return html_table(heads, rows, caption=caption, left=len(self.axes or ["label"]))


def run_point(scenario: Scenario, policies: Policies, cancel: CancelToken | None = None) -> Row:
    """One point as a row; what fails is a row with its message. Runs wherever an executor puts it."""
    p = policies
    try:
        result = simulate(
            scenario,
            router=p.router,
            admission=p.admission,
            lengths=p.lengths,
            arrivals=p.arrivals,
            cancel=cancel,
        )
    except ServeGridError as e:
        return {"error": str(e) or type(e).__name__, "feasible": False, "point": ""}
    row: Row = {"error": "", "feasible": True, "binds": result.binds, "trust": result.trust}
    row.update(result.summary)
    row["point"] = json.dumps(result.point)
    return row


class _Store:
    """Finished points in an SQLite file, by what determines them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self._database = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS points "
                "(key TEXT PRIMARY KEY, label TEXT, scenario TEXT, row TEXT)"
            )
            self._database.commit()
        except sqlite3.Error as e:
            raise InputError(f"resume: {os.fspath(path)}: {e}; give an SQLite file of a sweep") from e

    def get(self, key: str) -> Row | None:
        found = self._database.execute("SELECT row FROM points WHERE key = ?", (key,)).fetchone()
        return None if found is None else json.loads(found[0])

    def put(self, key: str, label: str, scenario: Scenario, row: Row) -> None:
        with self._database:
            self._database.execute(
                "INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?)",
                (key, label, scenario.yaml, json.dumps(row)),
            )

    def close(self) -> None:
        self._database.close()


def _key(scenario: Scenario, policies: Policies) -> str:
    """What determines a result: the resolved scenario, the version of the model behind it, and
    Python policies by their class and state."""
    text = f"{_core.__version__} {_core.model_version} {_core.format_version}\n{scenario.yaml}"
    custom = b"" if policies == Policies() else pickle.dumps(policies)
    return hashlib.sha256(text.encode() + custom).hexdigest()


def sweep(
    points: Mapping[str, Any] | Iterable[Scenario] | Scenario | str,
    scenario: Scenario | str | None = None,
    *,
    policies: Policies = NO_POLICIES,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: bool = True,
    resume: str | os.PathLike[str] | None = None,
) -> Sweep:
    """Simulates many points in parallel.

    ::

        sweep({"gpu": ["b200", "mi355x"], "concurrency": [1, 8, 32]}, scenario)

    Args:
        points: a grid (values by keyword or dotted path, over `scenario`), a list of scenarios, or
            one scenario (or its name) that has a sweep of its own.
        scenario: what a grid does not vary.
        policies: in Python (`servegrid.policy.Policies`), for every point.
        executor: any `concurrent.futures.Executor` (a process pool, dask, mpi4py, ...); default:
            `workers` runs at a time on this machine, each in a process of its own.
        workers: default: as many as there are cores. Not with `executor`.
        progress: a tqdm bar, where tqdm is installed.
        resume: path of an SQLite file that keeps each point as it finishes; points that it has
            already are not simulated again. Failures are kept too, except what an interrupt ended.

    Returns:
        One row a point, in order. A point that fails (does not fit, no scenario, killed) is a row
        with its message in ``error``.

    Raises:
        KeyboardInterrupt: Ctrl-C. The running points end at once; finished ones are in `resume`.
    """
    labelled, axes = _points(points, scenario)
    if executor is not None and workers is not None:
        raise InputError("give executor or workers, not both")
    if workers is not None and workers < 1:
        raise InputError("workers is at least 1")
    rows: list[Row | None] = [None] * len(labelled)
    with (
        _Bar(len(labelled), progress) as bar,
        closing(_Store(resume) if resume is not None else _NoStore()) as store,
    ):
        to_run: dict[str, list[int]] = {}
        for i, (_, point) in enumerate(labelled):
            if isinstance(point, str):
                rows[i] = {"error": point, "feasible": False, "point": ""}
                bar.step()
                continue
            key = _key(point, policies)
            known = store.get(key)
            rows[i] = known
            if known is None:
                to_run.setdefault(key, []).append(i)
            else:
                bar.step()
        for key, row in _run_all(labelled, to_run, policies, executor, workers):
            places = to_run[key]
            point = labelled[places[0]][1]
            assert isinstance(point, Scenario)
            store.put(key, point.title, point, row)
            for i in places:
                rows[i] = row
                bar.step()
    done = []
    for (values, point), found in zip(labelled, rows, strict=True):
        label = point.title if isinstance(point, Scenario) else "-"
        done.append({**values, "label": label, **(found or {})})
    return Sweep(done, axes)


def _points(
    points: Mapping[str, Any] | Iterable[Scenario] | Scenario | str,
    scenario: Scenario | str | None,
) -> tuple[list[tuple[Row, Scenario | str]], list[str]]:
    if isinstance(points, Mapping):
        if scenario is None:
            raise InputError("a grid needs a scenario: sweep({...}, scenario)")
        base = Scenario.load(scenario) if isinstance(scenario, str) else scenario
        for name, values in points.items():
            if isinstance(values, str) or not len(values):
                raise InputError(f"axis {name!r} is a list of at least one value")
        return grid(base, points), list(points)
    if scenario is not None:
        raise InputError("a scenario goes with a grid only")
    if isinstance(points, str):
        points = Scenario.load(points)
    if isinstance(points, Scenario):
        if not points.axes:
            raise InputError("the scenario has no sweep; give a grid or a list")
        return grid(points, points.axes), list(points.axes)
    return [({}, point) for point in points], []


class _NoStore:
    def get(self, key: str) -> Row | None:
        return None

    def put(self, key: str, label: str, scenario: Scenario, row: Row) -> None:
        pass

    def close(self) -> None:
        pass


class _Bar:
    def __init__(self, total: int, shown: bool) -> None:
        self._bar: Any = None
        if not shown:
            return
        try:
            from tqdm.auto import tqdm
        except ModuleNotFoundError:
            return
        self._bar = tqdm(total=total, unit="point", leave=False)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def step(self) -> None:
        if self._bar is not None:
            self._bar.update(1)


def _run_all(
    labelled: list[tuple[Row, Scenario | str]],
    to_run: dict[str, list[int]],
    policies: Policies,
    executor: Executor | None,
    workers: int | None,
) -> Iterator[tuple[str, Row]]:
    """Keys and rows as they finish. Each is yielded once; leaving early cancels the others."""
    todo = [(key, labelled[places[0]][1]) for key, places in to_run.items()]
    if not todo:
        return
    if executor is not None:
        yield from _drain(executor, todo, policies, None)
        return
    cancel = CancelToken()
    count = workers or len(os.sched_getaffinity(0))
    own = ThreadPoolExecutor(min(count, len(todo)), thread_name_prefix="servegrid")
    try:
        yield from _drain(own, todo, policies, cancel)
    finally:
        cancel.cancel()
        own.shutdown(wait=True, cancel_futures=True)


def _drain(
    executor: Executor,
    todo: list[tuple[str, Scenario | str]],
    policies: Policies,
    cancel: CancelToken | None,
) -> Iterator[tuple[str, Row]]:
    keys: dict[Future[Row], str] = {}
    for key, point in todo:
        assert isinstance(point, Scenario)
        given = {} if cancel is None else {"cancel": cancel}
        keys[executor.submit(run_point, point, policies, **given)] = key
    pending = set(keys)
    try:
        while pending:
            # A short wait: Python looks at signals between waits, so that Ctrl-C is seen at once.
            done, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    row = future.result()
                except Exception as e:
                    row = {"error": f"{type(e).__name__}: {e}", "feasible": False, "point": ""}
                yield keys[future], row
    finally:
        for future in pending:
            future.cancel()
