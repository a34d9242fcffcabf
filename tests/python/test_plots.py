"""Charts: drawn, saved without a network, and what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import servegrid as sg
from servegrid.plot import save

pytest.importorskip("altair")


@pytest.fixture(scope="module")
def result() -> sg.Result:
    return sg.simulate(
        model="llama-3.1-8b", gpu="h100", isl=2000, osl=200, concurrency=64, max_num_seqs=32, replicas=2
    )


@pytest.mark.parametrize("kind", ["timeline", "latency_cdf", "step_breakdown", "kv_usage", "gantt", "pareto"])
def test_every_chart_is_drawn(result: sg.Result, kind: str, tmp_path: Path) -> None:
    chart = getattr(result.plot, kind)()
    assert chart.to_dict()["$schema"]
    save(chart, tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")


def test_png_and_html_without_a_network(result: sg.Result, tmp_path: Path) -> None:
    chart = result.plot.gantt(5)
    save(chart, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    save(chart, tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text()
    assert not re.search(r"<(script|link)[^>]*(src|href)=", page)
    assert len(page) > 500_000  # the scripts are in it
    with pytest.raises(sg.InputError, match=r"\.png, \.svg or \.html"):
        save(chart, tmp_path / "chart.gif")


def _values(chart: object) -> list[dict[str, Any]]:
    return chart.to_dict()["data"]["values"]  # type: ignore[attr-defined,no-any-return]


def test_what_the_charts_say(result: sg.Result) -> None:
    running = [v for v in _values(result.plot.timeline().vconcat[0]) if v["what"] == "running"]
    assert max(v["value"] for v in running) == pytest.approx(64, rel=0.02)  # two replicas of 32
    assert all(0 <= v["value"] <= 100 for v in _values(result.plot.kv_usage()))
    title = result.plot.step_breakdown().to_dict()["title"]
    assert 16 <= int(title.split()[0]) <= 32  # a replica's mean decode batch
    phases = _values(result.plot.gantt(3))
    assert len(phases) == 9
    assert all(v["start"] <= v["end"] for v in phases)


def test_sweeps_and_comparisons(small: sg.Scenario, tmp_path: Path) -> None:
    runs = sg.sweep({"gpu": ["h100", "b200"], "concurrency": [1, 4]}, small)
    assert len(_values(runs.plot.metric("mean_tpot_ms"))) == 4
    save(runs.plot.metrics(["mean_tpot_ms", "output_throughput"]), tmp_path / "metrics.svg")
    save(runs.plot.pareto(), tmp_path / "pareto.svg")
    with pytest.raises(sg.InputError, match="nothing"):
        runs.plot.metric("nothing")
    drawn = small.with_({"workload.closed.output": {"uniform": ["50 tokens", "150 tokens"]}})
    comparison = sg.compare([drawn, drawn.with_(gpu="b200")], seeds=2)
    save(comparison.plot.metric("mean_tpot_ms"), tmp_path / "bars.svg")
    save(comparison.plot.differences("mean_tpot_ms"), tmp_path / "differences.svg")
    with pytest.raises(sg.InputError, match="two"):
        sg.compare([small], seeds=2).plot.differences()
