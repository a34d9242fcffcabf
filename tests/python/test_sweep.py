"""Sweeps and comparisons: any executor, resumed without loss, failures as rows."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import children

import servegrid as sg
from servegrid.policy import Policies, Router

AXES = {"gpu": ["h100", "b200"], "concurrency": [1, 4]}


def test_a_grid_is_one_tidy_table(small: sg.Scenario) -> None:
    runs = sg.sweep(AXES, small)
    assert [(row["gpu"], row["concurrency"]) for row in runs] == [
        ("h100", 1), ("h100", 4), ("b200", 1), ("b200", 4)
    ]  # fmt: skip
    alone = sg.simulate(small.with_(gpu="b200", concurrency=4))
    assert {k: runs.rows[3][k] for k in alone.summary} == dict(alone.summary)
    frame = runs.to_pandas()
    assert list(frame["concurrency"]) == [1, 4, 1, 4]
    assert frame["mean_tpot_ms"].dtype == float
    assert "<table" in runs._repr_html_()
    assert "b200" in repr(runs)


def test_paths_are_axes_too(small: sg.Scenario) -> None:
    runs = sg.sweep({"gpu.memory.bandwidth": ["-20%", "+20%"]}, small)
    slow, fast = (row["mean_tpot_ms"] for row in runs)
    assert fast < slow


def test_executors_give_the_same(small: sg.Scenario) -> None:
    own = sg.sweep(AXES, small).rows
    with ThreadPoolExecutor(3) as threads:
        assert sg.sweep(AXES, small, executor=threads).rows == own
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert sg.sweep(AXES, small, executor=processes).rows == own


def test_dask(small: sg.Scenario) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert sg.sweep(AXES, small, executor=client.get_executor()).rows == sg.sweep(AXES, small).rows


def test_failures_are_rows(small: sg.Scenario) -> None:
    runs = sg.sweep({"gpu": ["h100", "b200"], "model": ["llama-3.1-8b", "llama-3.1-405b"]}, small)
    assert [bool(row["error"]) for row in runs] == [False, True, False, True]
    assert all("does not fit" in row["error"] for row in runs.failures)
    runs = sg.sweep({"tp": [1, 3]}, small)
    assert "does not divide" in runs.rows[1]["error"]
    with pytest.raises(sg.InputError, match="no combination"):
        sg.sweep({"tp": [3, 5]}, small)


@pytest.mark.parametrize(
    ("points", "options", "says"),
    [
        ({"gpu": "h100"}, {}, "list"),
        ({"gpu": []}, {}, "at least one"),
        (AXES, {"workers": 0}, "at least 1"),
    ],
)
def test_bad_sweeps(small: sg.Scenario, points: dict[str, Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(sg.InputError, match=says):
        sg.sweep(points, small, **options)


def test_a_scenario_brings_its_own_sweep() -> None:
    study = sg.Scenario.load("llama70b_8k_conversations").with_(num_prompts=20)
    runs = sg.sweep(study)
    assert len(runs) == 18
    assert runs.axes == ["replica.gpu", "workload.conversations.concurrent"]
    with pytest.raises(sg.InputError, match="no sweep"):
        sg.sweep(_without_sweep())


def _without_sweep() -> sg.Scenario:
    return sg.Scenario(model="llama-3.1-8b", gpu="h100", isl=10, osl=10, concurrency=1)


def test_resumed_after_a_kill_nothing_is_lost_or_doubled(small: sg.Scenario, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    script = textwrap.dedent(
        f"""
        import servegrid as sg
        scenario = sg.Scenario.from_yaml({small.source_yaml!r})
        sg.sweep({{"concurrency": list(range(1, 400))}}, scenario, workers=2, resume={str(store)!r})
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script], env=os.environ)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and _rows(store) < 3:
        time.sleep(0.02)
    process.kill()
    process.wait()
    before = _rows(store)
    assert 3 <= before < 399
    scenario = sg.Scenario.from_yaml(small.source_yaml)
    levels = list(range(1, before + 6))
    runs = sg.sweep({"concurrency": levels}, scenario, resume=store)
    assert [row["concurrency"] for row in runs] == levels
    assert not runs.failures
    assert _rows(store) >= len(levels)
    undisturbed = sg.sweep({"concurrency": levels}, scenario)
    assert json.dumps(runs.rows) == json.dumps(undisturbed.rows)
    for name, table in (("resumed", runs), ("undisturbed", undisturbed)):
        table.to_pandas().to_csv(tmp_path / f"{name}.csv")
    assert (tmp_path / "resumed.csv").read_bytes() == (tmp_path / "undisturbed.csv").read_bytes()


def _rows(store: Path) -> int:
    try:
        with sqlite3.connect(store, timeout=5) as database:
            count = database.execute("SELECT count(*), count(DISTINCT key) FROM points").fetchone()
    except sqlite3.OperationalError:
        return 0
    assert count[0] == count[1]
    return int(count[0])


def test_a_store_that_is_none(small: sg.Scenario, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("this is no database, and it is long enough to be read as one" * 100)
    with pytest.raises(sg.InputError, match="resume"):
        sg.sweep(AXES, small, resume=path)


def test_ctrl_c_keeps_what_is_done(small: sg.Scenario, long: sg.Scenario, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    points = [small, long.with_(num_prompts=500_000, concurrency=1000, max_num_seqs=1000)]

    def interrupt() -> None:
        while _rows(store) < 1:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    before = children()
    thread = threading.Thread(target=interrupt)
    thread.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        sg.sweep(points, workers=2, resume=store)
    thread.join()
    assert time.perf_counter() - start < 30
    assert _rows(store) == 1
    assert children() == before


def test_compare_pairs_by_seed(small: sg.Scenario) -> None:
    drawn = small.with_({"workload.closed.output": {"uniform": ["50 tokens", "150 tokens"]}})
    comparison = sg.compare({"h100": drawn, "b200": drawn.with_(gpu="b200")}, seeds=3)
    pairs = comparison.values("b200", "mean_tpot_ms") - comparison.values("h100", "mean_tpot_ms")
    d = comparison.difference("b200", "mean_tpot_ms")
    assert d.difference == pytest.approx(pairs.mean())
    half = 4.302652729911275 * pairs.std(ddof=1) / np.sqrt(3)  # Student's t, 2 degrees, 97.5 %
    assert d.high - d.difference == pytest.approx(half)
    assert d.significant
    assert d.ratio < 1
    assert len(comparison.to_pandas()) == 6
    assert "<table" in comparison._repr_html_()
    assert "b200" in repr(comparison)
    assert comparison.headline


def test_what_draws_nothing_has_no_interval(small: sg.Scenario) -> None:
    comparison = sg.compare({"h100": small, "b200": small.with_(gpu="b200")}, seeds=2)
    assert not comparison.draws
    d = comparison.difference("b200", "mean_tpot_ms")
    assert np.isnan(d.low)
    assert d.significant
    assert "draw nothing" in repr(comparison)
    assert "±" not in repr(comparison)


def test_compare_draws_the_same_requests() -> None:
    base = sg.Scenario.load("llama70b_8k_fresh").with_(num_prompts=20)
    first = sg.simulate(base.with_(gpu="b200")).requests
    second = sg.simulate(base.with_(gpu="mi355x")).requests
    assert first["output_tokens"].tolist() == second["output_tokens"].tolist()


def test_compare_with_policies_and_bad_input(small: sg.Scenario) -> None:
    fleet = small.with_(replicas=2)
    comparison = sg.compare([fleet, fleet.with_(tp=2)], seeds=1, policies=Policies(router=Router()))
    assert comparison.mean(comparison.labels[0], "mean_tpot_ms")[0] > 0
    wrong: list[dict[str, Any]] = [{"seeds": 0}, {"confidence": 1.0}]
    for bad in wrong:
        with pytest.raises(sg.InputError):
            sg.compare([small], **bad)
    with pytest.raises(sg.InputError, match="nothing"):
        sg.compare([])
