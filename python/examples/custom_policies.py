"""A router, an admission policy, lengths and arrivals in Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import servegrid as sg
from servegrid.policy import ReplicaView, RequestView, Router


class Lanes(Router):
    """Long prompts on the last replica, so that short ones do not wait behind them."""

    def __init__(self) -> None:
        self.sent: dict[int, int] = {}

    def filter(self, request: RequestView, replica: ReplicaView) -> bool:
        return request.prompt_tokens < 4000 or replica.index == 1

    def score(self, request: RequestView, replica: ReplicaView) -> float:
        return -float(replica.waiting)

    def pick(self, request: RequestView, replicas: Sequence[ReplicaView], rng: np.random.Generator) -> int:
        chosen = super().pick(request, replicas, rng)
        self.sent[chosen] = self.sent.get(chosen, 0) + 1
        return chosen


class Shed:
    """Turns requests away while every queue is long."""

    def admit(
        self, request: RequestView, replicas: Sequence[ReplicaView], rng: np.random.Generator
    ) -> bool | str:
        return True if min(r.waiting for r in replicas) < 4 else "every queue is long"


class Lengths:
    """Mostly short prompts, now and then a long one."""

    def sample(self, index: int, rng: np.random.Generator) -> tuple[int, int]:
        prompt = int(rng.integers(5000, 9000) if rng.random() < 0.1 else rng.integers(100, 1000))
        return prompt, int(rng.integers(20, 200))


class Bursts:
    """Twenty at once, then a pause."""

    def gap(self, index: int, now: float, rng: np.random.Generator) -> float:
        return 0.001 if index % 20 else float(rng.exponential(4.0))


def main() -> None:
    scenario = sg.Scenario(
        model="llama-3.1-8b", gpu="h100", replicas=2, isl=500, osl=100, request_rate=5, num_prompts=200
    )
    result = sg.simulate(scenario, router=Lanes(), admission=Shed(), lengths=Lengths(), arrivals=Bursts())
    print(result)
    print("sent:", result.policy.router.sent)
    print("turned away:", len(result.reasons))


if __name__ == "__main__":
    main()
