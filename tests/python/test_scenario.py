"""Scenarios: files, keywords, YAML both ways, errors with their place."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import servegrid as sg


def test_keywords_are_the_commands_flags(small: sg.Scenario) -> None:
    assert small.model.name == "llama-3.1-8b"
    assert small.gpu.name == sg.gpus["h100"].name
    assert (small.tp, small.concurrency, small.workload.kind) == (1, 8, "closed")
    assert small.workload.prompt.mean == 500
    assert {"gpu", "tensor_parallel_size", "max_num_seqs", "concurrency"} <= set(sg.Scenario.keywords())


def test_yaml_both_ways(small: sg.Scenario, tmp_path: Path) -> None:
    again = sg.Scenario.from_yaml(small.yaml)
    assert again == small
    assert again.yaml == small.yaml
    assert hash(again) == hash(small)
    small.save(tmp_path / "small.yaml")
    assert sg.Scenario.load(tmp_path / "small.yaml") == small
    assert [p.name for p in tmp_path.iterdir()] == ["small.yaml"]


@pytest.mark.parametrize("name", sg.scenarios())
def test_every_study_reads_back(name: str) -> None:
    scenario = sg.Scenario.load(name)
    assert sg.Scenario.from_yaml(scenario.yaml, scenario.file) == scenario


def test_with_changes_a_copy(small: sg.Scenario) -> None:
    other = small.with_(gpu="MI355X", tp=2, concurrency=55, seed=7)
    assert (other.gpu.name, other.tp, other.concurrency, other.seed) == ("mi355x", 2, 55, 7)
    assert (small.tp, small.concurrency) == (1, 8)
    # Defaults follow the new GPU; what was asked for stays.
    assert other.workload.prompt.mean == 500
    faster = small.with_({"gpu.memory.bandwidth": "+10%", "workload.requests": 300})
    assert faster.gpu.memory.bandwidth == pytest.approx(1.1 * small.gpu.memory.bandwidth)
    assert faster.gpu.overridden == ["memory.bandwidth"]
    assert faster.workload.requests == 300
    assert small.with_(gpu=sg.gpus["b200"]).gpu.name == "b200"
    priced = small.with_(prices=list(sg.prices))
    assert priced.prices == list(sg.prices)


def test_values_by_path(small: sg.Scenario) -> None:
    assert small["workload.closed.concurrent"] == "8"
    assert "workload.closed.concurrent" in small._ipython_key_completions_()
    with pytest.raises(KeyError, match="says nothing of"):
        small["workload.nothing"]


def test_points_of_its_own_sweep() -> None:
    study = sg.Scenario.load("llama70b_8k_conversations")
    points = study.points()
    assert len(points) == 18
    assert points[0].concurrency == 1
    assert points[-1].gpu.name == "mi355x"


def test_a_scenario_can_be_pickled(small: sg.Scenario) -> None:
    changed = small.with_(tp=2)
    again = pickle.loads(pickle.dumps(changed))
    assert again == changed
    assert again.with_(tp=1) == small


def test_errors_say_where(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("model: llama-3.1-8b\nreplica: {gpu: h100, tpp: 2}\nengine: vllm\n")
    with pytest.raises(sg.InputError) as caught:
        sg.Scenario.load(path)
    assert caught.value.file == str(path)
    assert (caught.value.line, caught.value.column) == (2, 22)
    assert "tpp" in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("keywords", "says"),
    [
        ({"model": "llama-3.1-8b", "gpu": "h100", "isll": 3}, "isl"),
        ({"model": "llama-3.1-8b", "gpu": "nothing"}, "nothing"),
        ({"gpu": "h100"}, "--model"),
        ({"model": "llama-3.1-8b", "gpu": "h100", "tp": 3}, "does not divide"),
        ({"model": "llama-3.1-8b", "gpu": []}, "empty"),
        ({"model": "x\0y", "gpu": "h100"}, "x"),
        ({"model": "llama-3.1-8b", "gpu": "h100", "isl": -5, "osl": 1, "concurrency": 1}, "-5"),
        ({"model": "llama-3.1-8b", "gpu": "h100", "isl": 1e308, "osl": 1, "concurrency": 1}, ""),
    ],
)
def test_bad_keywords(keywords: dict[str, object], says: str) -> None:
    with pytest.raises(sg.InputError) as caught:
        sg.Scenario(**keywords)
    assert says in str(caught.value)


def test_shows_in_a_notebook(small: sg.Scenario) -> None:
    assert "Llama 3.1 8B" in repr(small)
    assert "<details>" in small._repr_html_()
