from __future__ import annotations

import os
from pathlib import Path

import pytest

import servegrid as sg

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("SERVEGRID_DATA", str(ROOT))


@pytest.fixture
def small() -> sg.Scenario:
    """A closed loop that takes a few milliseconds to simulate."""
    return sg.Scenario(model="llama-3.1-8b", gpu="h100", isl=500, osl=100, concurrency=8)


@pytest.fixture
def long() -> sg.Scenario:
    """Takes minutes step by step."""
    return sg.Scenario(
        model="llama-3.1-8b", gpu="h100", isl=2000, osl=20000, concurrency=256, num_prompts=20000
    )
