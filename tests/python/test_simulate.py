"""Runs: the same as the command's, arrays without copies, Ctrl-C, crashes, threads, fork and spawn."""

from __future__ import annotations

import contextlib
import csv
import json
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from command import children, servegrid

import servegrid as sg


def test_the_result_is_the_commands(small: sg.Scenario, tmp_path: Path) -> None:
    small.save(tmp_path / "small.yaml")
    said = json.loads(
        servegrid("run", str(tmp_path / "small.yaml"), "--format", "json", "--output", str(tmp_path / "out"))
    )
    result = sg.simulate(small)
    assert dict(result.summary) == said["summary"]
    assert result.binds == said["binds"]
    with (tmp_path / "out" / "requests.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert result.requests.rows == len(rows) == 80
    for name in ("id", "user", "prompt_tokens", "output_tokens", "finish_s", "first_token_s"):
        assert result.requests[name].tolist() == pytest.approx([float(row[name]) for row in rows])
    with (tmp_path / "out" / "timeline.csv").open() as file:
        epochs = list(csv.DictReader(file))
    assert result.timeline["steps"].tolist() == [int(row["steps"]) for row in epochs]


def test_summary_follows_from_the_requests(small: sg.Scenario) -> None:
    result = sg.simulate(small)
    ttft = result.requests.ttft_s * 1e3
    assert result.summary["mean_ttft_ms"] == pytest.approx(ttft.mean())
    assert result.summary["p99_ttft_ms"] == pytest.approx(np.percentile(ttft, 99))
    assert result.summary["mean_tpot_ms"] == pytest.approx(1e3 * np.nanmean(result.requests.tpot_s))
    low, high = result.summary.intervals["mean_tpot_ms"]
    assert low < result.summary["mean_tpot_ms"] < high
    with pytest.raises(KeyError, match="not defined"):
        result.summary["nothing"]
    assert result.counters["completed"] == 80


def test_steps_take_the_epochs_apart(small: sg.Scenario) -> None:
    result = sg.simulate(small)
    steps, timeline = result.steps, result.timeline
    assert steps.rows == timeline["steps"].sum() == result.counters["steps"]
    ends = steps["start_s"] + steps["seconds"]
    assert ends.max() == pytest.approx(timeline["end_s"].max())
    assert np.all(np.diff(steps["start_s"]) > 0)
    assert sg.simulate(small, leap=False).steps["seconds"].sum() == pytest.approx(steps["seconds"].sum())


def test_the_same_bits_every_time(small: sg.Scenario) -> None:
    first, second = sg.simulate(small), sg.simulate(small)
    for name in first.requests:
        assert first.requests[name].tobytes() == second.requests[name].tobytes()
    assert dict(sg.simulate(small, leap=False).summary) == dict(first.summary)


def test_columns_are_documented_and_not_copied(small: sg.Scenario) -> None:
    result = sg.simulate(small)
    for name, dtype, _, _ in sg.request_columns():
        assert result.requests[name].dtype == np.dtype(dtype)
        assert not result.requests[name].flags.owndata
    frame = result.requests.to_pandas()
    assert np.shares_memory(frame["finish_s"].to_numpy(), result.requests["finish_s"])
    assert set(frame["outcome"]) == {"completed"}
    result.requests["finish_s"][0] = -1  # the memory is the caller's own
    assert sg.simulate(small).requests["finish_s"][0] > 0
    kept = result.requests["id"]
    del result, frame
    assert kept.tolist() == list(range(80))


def test_arrow_and_parquet(small: sg.Scenario, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    table = sg.simulate(small).requests
    arrow = table.to_arrow()
    assert arrow.schema.field("ttft_s").metadata == {b"unit": b"s"}
    assert arrow["finish_s"].chunk(0).buffers()[1].address == table["finish_s"].ctypes.data
    table.to_parquet(tmp_path / "requests.parquet")
    back = pq.read_table(tmp_path / "requests.parquet")
    assert back["id"].to_pylist() == table["id"].tolist()
    assert back["outcome"].to_pylist() == table.labels("outcome")
    assert [p.name for p in tmp_path.iterdir()] == ["requests.parquet"]


def test_what_does_not_fit_is_infeasible() -> None:
    with pytest.raises(sg.InfeasibleError, match="does not fit"):
        sg.simulate(model="llama-3.1-405b", gpu="h100", isl=100, osl=10, concurrency=1)


def test_too_much_is_refused(small: sg.Scenario) -> None:
    with pytest.raises(sg.InputError):
        sg.simulate(small.with_(num_prompts=10**12))


def test_an_error_inside_the_run_keeps_its_place(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("arrival_s,prompt,output\n0,100,10\n1,oops,10\n")
    text = (
        "model: llama-3.1-8b\nreplica: {gpu: h100}\nengine: vllm\n"
        "workload: {trace: {file: trace.csv}, requests: 2}\n"
    )
    with pytest.raises(sg.InputError, match="oops") as caught:
        sg.simulate(sg.Scenario.from_yaml(text, str(tmp_path / "scenario.yaml")))
    assert caught.value.file is not None
    assert caught.value.file.endswith("trace.csv")
    assert caught.value.line == 3


def test_ctrl_c_ends_a_run_at_once(long: sg.Scenario) -> None:
    sent = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    before = children()
    timer = threading.Timer(0.5, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sg.simulate(long, leap=False)
    assert time.perf_counter() - sent[0] < 0.2
    timer.join()
    assert children() == before


def test_cancel_from_another_thread(long: sg.Scenario) -> None:
    token = sg.CancelToken()
    timer = threading.Timer(0.3, token.cancel)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sg.simulate(long, leap=False, cancel=token)
    assert token.cancelled


def test_a_killed_worker_is_an_exception(long: sg.Scenario) -> None:
    before = children()

    def kill() -> None:
        for pid in children() - before:
            os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(0.5, kill)
    timer.start()
    with pytest.raises(sg.RunError, match="signal 9"):
        sg.simulate(long, leap=False)


def test_the_lock_is_free_meanwhile(long: sg.Scenario) -> None:
    token, ticks = sg.CancelToken(), []
    runner = threading.Thread(target=lambda: _quietly(long, token))
    runner.start()
    end = time.perf_counter() + 0.3
    while time.perf_counter() < end:
        ticks.append(1)
    token.cancel()
    runner.join()
    assert len(ticks) > 1000


def _quietly(scenario: sg.Scenario, token: sg.CancelToken) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        sg.simulate(scenario, leap=False, cancel=token)


def test_several_threads_at_once(small: sg.Scenario) -> None:
    alone = [dict(sg.simulate(small.with_(seed=i)).summary) for i in range(6)]
    got: dict[int, dict[str, float]] = {}

    def run(i: int) -> None:
        got[i] = dict(sg.simulate(small.with_(seed=i)).summary)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [got[i] for i in range(6)] == alone


def _summary(scenario: sg.Scenario) -> dict[str, float]:
    return dict(sg.simulate(scenario).summary)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_safe_under_fork_and_spawn(method: str, small: sg.Scenario) -> None:
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_summary, [small, small]) == [_summary(small)] * 2


def test_shows_in_a_notebook(small: sg.Scenario) -> None:
    result = sg.simulate(small)
    assert "mean_tpot_ms" in repr(result)
    for part in (result, result.summary, result.requests, result.steps):
        assert "<table" in part._repr_html_()
