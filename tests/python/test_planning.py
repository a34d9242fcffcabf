"""plan against the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import servegrid

import servegrid as sg

SMALL: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "load": {"preset": "chat", "users": 500},
    "candidates": {"gpu": ["h100", "l40s"], "weights": ["bf16"], "tp": [1, 2], "engine": ["vllm"]},
    "prices": ["per-gpu-2026-11"],
}


def test_a_plan_by_its_keys_is_what_the_command_says(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(json.dumps(SMALL))
    said = json.loads(servegrid("plan", str(file), "--format", "json", "--no-sensitivity"))
    plan = sg.plan(**SMALL, sensitivity=False, output=tmp_path / "out")
    assert plan.answer == said["answer"]
    assert plan.raw["plans"] == said["plans"]
    assert plan.chosen is not None
    assert plan.chosen["gpu"]
    options = plan.options
    best = [i for i in range(options.rows) if options["rank"][i] == 1]
    assert [options["set_up"][i] for i in best] == [plan.chosen["set_up"]]
    assert plan.rejected.rows == len(said["rejected"])
    assert set(plan.rejected["stage"]) <= {
        "constraint",
        "software",
        "memory",
        "offer",
        "bound",
        "service",
    }
    assert plan.answer in repr(plan)
    assert "<table" in plan._repr_html_()
    saved = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert saved["answer"] == plan.answer
    assert (tmp_path / "out" / "launch.sh").exists()


def test_overrides_reach_into_a_plan() -> None:
    one = sg.plan(**SMALL, sensitivity=False)
    more = sg.plan(**SMALL, sensitivity=False, overrides={"load.users": 50000})
    assert more.chosen is not None
    assert one.chosen is not None
    assert more.chosen["replicas"] > one.chosen["replicas"]


def test_nothing_serves_it_is_an_answer() -> None:
    nothing = sg.plan(**{**SMALL, "slo": ["p99 ttft <= 1 ms", "p99 tpot <= 1 s"]}, sensitivity=False)
    assert nothing.chosen is None
    assert nothing.rejected.rows > 0
    assert "rejected" in repr(nothing)


def test_bad_plans_say_where() -> None:
    with pytest.raises(sg.InputError, match="one of"):
        sg.plan()
    with pytest.raises(sg.InputError, match="one of"):
        sg.plan("chat_70b", text="model: x")
    with pytest.raises(sg.InputError, match="lode"):
        sg.plan(**SMALL, lode=3)
    with pytest.raises(sg.InputError, match="gpu"):
        sg.plan(text="model: llama-3.1-8b\nload: {preset: chat, users: 3}\ncandidates: {gpu: none-such}\n")
    with pytest.raises(sg.InputError, match="at least 50"):
        sg.plan("chat_70b", least_requests=3)
    with pytest.raises(sg.InputError, match="text, numbers"):
        sg.plan(model=object())
