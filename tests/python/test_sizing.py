"""size and explain against the command."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from command import servegrid

import servegrid as sg


def test_size_is_what_the_command_says() -> None:
    said = json.loads(
        servegrid("size", "--model", "llama-3.1-70b", "--gpu", "b200", "--context", "8K", "--format", "json")
    )
    ledger = sg.size(model="llama-3.1-70b", gpu="b200", context=8192)
    assert ledger.conversations == said["conversations"]["exact"]
    assert [line.bytes for line in ledger.lines] == [line["bytes"] for line in said["ledger"]]
    assert sum(line.bytes for line in ledger.lines) == pytest.approx(ledger.raw.kv_bytes_per_gpu, abs=1)
    assert f"{ledger.conversations:.2f}" in ledger.verdict
    assert "Fits" in ledger._repr_html_()


def test_what_does_not_fit_is_an_answer() -> None:
    ledger = sg.size(model="llama-3.1-405b", gpu="h100")
    assert not ledger.fits
    assert ledger.gpus_needed
    assert "Does not fit" in repr(ledger)


def test_rules_and_context() -> None:
    asked: dict[str, Any] = {"model": "llama-3.1-70b", "gpu": "b200"}
    short = sg.size(**asked, context=1024)
    assert short.conversations > 7 * sg.size(**asked, context=8192).conversations
    assert sg.size(**asked, rule="weights_only").conversations != sg.size(**asked).conversations
    with pytest.raises(sg.InputError, match="rule"):
        sg.size(**asked, rule="guess")
    with pytest.raises(sg.InputError, match="at least one"):
        sg.size(**asked, context=0)
    study = sg.size("llama70b_8k_conversations")
    assert study.context_tokens == 8192


def test_explain_adds_up() -> None:
    step = sg.explain(model="llama-3.1-70b", gpu="b200", batch=32, context=4096)
    assert step.seconds == pytest.approx(sum(op.seconds for op in step.operators))
    assert step.seconds == pytest.approx(sum(step.seconds_by_bound.values()))
    assert step.to_table()["seconds"].sum() == pytest.approx(step.seconds)
    more = sg.explain(model="llama-3.1-70b", gpu="b200", batch=32, context=8192)
    assert more.seconds > step.seconds
    with pytest.raises(sg.InputError, match="nothing to explain"):
        sg.explain(model="llama-3.1-70b", gpu="b200", batch=0)


def test_the_command_is_there() -> None:
    assert "servegrid" in servegrid("--version")
    with pytest.raises(subprocess.CalledProcessError):
        servegrid("nothing")
