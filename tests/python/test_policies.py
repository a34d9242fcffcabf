"""Policies in Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import servegrid as sg
from servegrid.policy import ReplicaView, RequestView, Router


class Counting(Router):
    """Least outstanding, and remembers."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def pick(self, request: RequestView, replicas: Sequence[ReplicaView], rng: np.random.Generator) -> int:
        self.seen.append(request.id)
        return super().pick(request, replicas, rng)


class Random:
    def pick(self, request: RequestView, replicas: Sequence[ReplicaView], rng: np.random.Generator) -> int:
        return int(rng.integers(len(replicas)))


class OnlyFirst(Router):
    def filter(self, request: RequestView, replica: ReplicaView) -> bool:
        return replica.index == 1


@pytest.fixture
def fleet(small: sg.Scenario) -> sg.Scenario:
    return small.with_(replicas=3)


def test_a_router_is_the_built_in_one(fleet: sg.Scenario) -> None:
    router = Counting()
    result = sg.simulate(fleet, router=router)
    assert dict(result.summary) == dict(sg.simulate(fleet.with_(router="least-outstanding")).summary)
    assert router.seen == []  # the run had a copy
    assert sorted(result.policy.router.seen) == list(range(80))
    assert result.policy.admission is None


def test_filters_and_draws(fleet: sg.Scenario) -> None:
    assert set(sg.simulate(fleet, router=OnlyFirst()).requests["replica"]) == {1}
    first, second = (sg.simulate(fleet, router=Random()).requests["replica"] for _ in range(2))
    assert first.tolist() == second.tolist()
    assert set(first) == {0, 1, 2}
    other = sg.simulate(fleet.with_(seed=2), router=Random()).requests["replica"]
    assert other.tolist() != first.tolist()


class ShortOnly:
    def admit(
        self, request: RequestView, replicas: Sequence[ReplicaView], rng: np.random.Generator
    ) -> bool | str:
        return True if request.prompt_tokens <= 600 else "too long"


class Mixed:
    def sample(self, index: int, rng: np.random.Generator) -> tuple[int, int]:
        return (400 if index % 2 else 800), int(rng.integers(10, 20))


class Steady:
    def gap(self, index: int, now: float, rng: np.random.Generator) -> float:
        return 0.25


def test_admission_and_lengths(small: sg.Scenario) -> None:
    result = sg.simulate(small, admission=ShortOnly(), lengths=Mixed())
    table = result.requests
    assert set(table["prompt_tokens"]) == {400, 800}
    assert table["output_tokens"].min() >= 10
    assert table["output_tokens"].max() < 20
    rejected = table["prompt_tokens"] == 800
    assert [label == "rejected" for label in table.labels("outcome")] == rejected.tolist()
    assert set(table["replica"][rejected]) == {-1}
    assert result.reasons == {int(i): "too long" for i in table["id"][rejected]}
    assert result.summary["rejected"] == 40


def test_arrivals() -> None:
    scenario = sg.Scenario(model="llama-3.1-8b", gpu="h100", isl=100, osl=10, request_rate=3, num_prompts=20)
    arrivals = sg.simulate(scenario, arrivals=Steady()).requests["arrival_s"]
    assert arrivals.tolist() == pytest.approx([0.25 * (i + 1) for i in range(20)])


def test_places_without_the_policy(small: sg.Scenario) -> None:
    with pytest.raises(sg.InputError, match="open workload"):
        sg.simulate(small, arrivals=Steady())
    with pytest.raises(sg.InputError, match="closed or open"):
        sg.simulate(sg.Scenario.load("llama70b_8k_conversations"), lengths=Mixed())
    with pytest.raises(TypeError, match="no method pick"):
        sg.simulate(small, router=object())  # type: ignore[arg-type]


class Broken:
    def __init__(self, value: object) -> None:
        self.value = value

    def pick(self, request: RequestView, replicas: Sequence[ReplicaView], rng: np.random.Generator) -> int:
        print("about to fail")
        if isinstance(self.value, Exception):
            raise self.value
        return self.value  # type: ignore[return-value]


def test_a_traceback_comes_back(fleet: sg.Scenario) -> None:
    with pytest.raises(sg.PolicyError, match="ZeroDivisionError: no replica today") as caught:
        sg.simulate(fleet, router=Broken(ZeroDivisionError("no replica today")))
    assert "in pick" in caught.value.traceback
    assert "about to fail" in caught.value.log
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(("value", "says"), [(3, "the replicas are"), ("a", "index"), (True, "index")])
def test_nonsense_is_refused(fleet: sg.Scenario, value: object, says: str) -> None:
    with pytest.raises(sg.PolicyError, match=says):
        sg.simulate(fleet, router=Broken(value))


class Loud(Router):
    def score(self, request: RequestView, replica: ReplicaView) -> float:
        print(f"request {request.id}")
        return 0.0


def test_what_it_prints_is_in_the_log(fleet: sg.Scenario, capfd: pytest.CaptureFixture[str]) -> None:
    result = sg.simulate(fleet, router=Loud())
    assert "request 79" in result.log
    assert capfd.readouterr() == ("", "")


def test_a_class_that_could_not_come_back_is_refused_first(fleet: sg.Scenario) -> None:
    class Local(Router):
        pass

    with pytest.raises(sg.InputError, match="cannot be pickled"):
        sg.simulate(fleet, router=Local())
