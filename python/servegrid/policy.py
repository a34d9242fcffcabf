"""Policies in Python: a router, an admission policy, lengths, arrivals.

Slower than the built-in ones (some 10 us a request and replica), and the same otherwise: a run stays
deterministic as long as a policy draws from the `rng` it is given and from nothing else.

A run lives in a process of its own. The policy object is copied there when the run starts; what it
has become comes back as ``result.policy``; the object you passed is not changed. What it prints is in
``result.log``. What it raises ends the run with a PolicyError that carries the traceback.
"""

from __future__ import annotations

import pickle
import sys
import traceback as traceback_module
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np

from ._core import Policies as _CorePolicies
from ._core import ReplicaView, RequestView
from .errors import InputError, PolicyError

__all__ = [
    "Admission",
    "ArrivalProcess",
    "LengthSampler",
    "Policies",
    "ReplicaView",
    "RequestView",
    "Router",
    "RouterLike",
]


@runtime_checkable
class RouterLike(Protocol):
    """Anything with a `pick`."""

    def pick(self, request: RequestView, replicas: Sequence[ReplicaView], rng: np.random.Generator) -> int:
        """Index of the replica that serves the request."""
        ...


class Router:
    """Filter, score, pick: override what you need.

    A router is asked once a request, when it arrives. Each `ReplicaView` is a replica at that moment.
    """

    def filter(self, request: RequestView, replica: ReplicaView) -> bool:
        """Whether the replica may serve the request. When none may, all may."""
        return True

    def score(self, request: RequestView, replica: ReplicaView) -> float:
        """The highest wins; ties go to the lowest index. Default: fewest outstanding requests."""
        return -float(replica.outstanding)

    def pick(self, request: RequestView, replicas: Sequence[ReplicaView], rng: np.random.Generator) -> int:
        """Index of the replica that serves the request."""
        able = [r for r in replicas if self.filter(request, r)] or list(replicas)
        return max(able, key=lambda r: (self.score(request, r), -r.index)).index


@runtime_checkable
class Admission(Protocol):
    """Lets requests in, or turns them away before they are routed."""

    def admit(
        self, request: RequestView, replicas: Sequence[ReplicaView], rng: np.random.Generator
    ) -> bool | str:
        """True: admitted. False or a reason: rejected; the reason is in ``result.reasons``."""
        ...


@runtime_checkable
class LengthSampler(Protocol):
    """Lengths of a closed or open workload."""

    def sample(self, index: int, rng: np.random.Generator) -> tuple[int, int]:
        """Prompt and output [tokens] of the index-th request; each at least 1."""
        ...


@runtime_checkable
class ArrivalProcess(Protocol):
    """Arrivals of an open workload."""

    def gap(self, index: int, now: float, rng: np.random.Generator) -> float:
        """Seconds from the arrival before (at `now`) to the index-th request; not negative."""
        ...


@dataclass(frozen=True)
class Policies:
    """The policies of a run, as they were at its end."""

    router: Any = None
    admission: Any = None
    lengths: Any = None
    arrivals: Any = None


_PURPOSES = {"router": 1, "admission": 2, "lengths": 3, "arrivals": 4}


def generator(seed: int, purpose: str, index: int) -> np.random.Generator:
    """The generator of one draw: it depends on these three only, so that the n-th request draws the
    same whatever serves it (common random numbers)."""
    key = np.array([seed & (2**64 - 1), _PURPOSES[purpose]], dtype=np.uint64)
    counter = np.array([0, 0, 0, index], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def core_policies(policies: Policies, seed: int) -> _CorePolicies:
    """What the C++ side calls. Raises InputError for a policy that could not come back."""
    try:
        pickle.dumps(policies)
    except Exception as e:
        raise InputError(
            f"a policy cannot be pickled, so its state could not come back from the run: {e}; "
            "define its class at the top of a module or notebook"
        ) from e
    return _CorePolicies(
        None if policies.router is None else _router(policies.router, seed),
        None if policies.admission is None else _admission(policies.admission, seed),
        None if policies.lengths is None else _lengths(policies.lengths, seed),
        None if policies.arrivals is None else _arrivals(policies.arrivals, seed),
        lambda: pickle.dumps(policies),
    )


def _router(policy: object, seed: int) -> Callable[..., int]:
    pick = _method(policy, "pick", "router")

    def route(request: RequestView, views: list[ReplicaView]) -> int:
        chosen = pick(request, views, generator(seed, "router", request.id))
        if isinstance(chosen, bool) or not isinstance(chosen, (int, np.integer)):
            raise TypeError(f"pick returned {chosen!r}; it returns the index of a replica")
        able = [view.index for view in views]
        if chosen not in able:
            raise ValueError(f"pick returned {chosen}; the replicas are {able}")
        return int(chosen)

    return route


def _admission(policy: object, seed: int) -> Callable[..., str]:
    decide = _method(policy, "admit", "admission")

    def admit(request: RequestView, views: list[ReplicaView]) -> str:
        said = decide(request, views, generator(seed, "admission", request.id))
        if isinstance(said, str):
            return said or "rejected by the admission policy"
        if isinstance(said, (bool, np.bool_)):
            return "" if said else "rejected by the admission policy"
        raise TypeError(f"admit returned {said!r}; it returns True, False or a reason")

    return admit


def _lengths(policy: object, seed: int) -> Callable[..., tuple[int, int]]:
    sample = _method(policy, "sample", "lengths")

    def lengths(index: int) -> tuple[int, int]:
        prompt, output = sample(index, generator(seed, "lengths", index))
        if int(prompt) != prompt or int(output) != output or prompt < 1 or output < 1:
            raise ValueError(f"sample returned ({prompt!r}, {output!r}); both are whole tokens, at least 1")
        return int(prompt), int(output)

    return lengths


def _arrivals(policy: object, seed: int) -> Callable[..., float]:
    next_gap = _method(policy, "gap", "arrivals")

    def gap(index: int, now: float) -> float:
        seconds = float(next_gap(index, now, generator(seed, "arrivals", index)))
        if not 0 <= seconds < 1e9:
            raise ValueError(f"gap returned {seconds}; it returns seconds, not negative")
        return seconds

    return gap


def _method(policy: object, name: str, what: str) -> Callable[..., Any]:
    method = getattr(policy, name, None)
    if not callable(method):
        raise TypeError(f"{what}: {type(policy).__name__} has no method {name}()")
    return method  # type: ignore[no-any-return]


def _print_to_log() -> None:
    """In the child: what policies print goes to the run's log."""
    sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115


def _describe_error(error: BaseException, trace: TracebackType | None) -> bytes:
    """In the child: message, traceback, and the exception itself when it can be pickled."""
    text = "".join(traceback_module.format_exception(type(error), error, trace))
    message = "".join(traceback_module.format_exception_only(type(error), error)).strip()
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        pickled = b""
    return pickle.dumps((message, text, pickled))


def _raise_error(described: bytes, log: str) -> NoReturn:
    message, text, pickled = pickle.loads(described)
    error = PolicyError(f"a policy raised {message}\n\n{text}")
    error.traceback = text
    error.log = log
    raise error from (pickle.loads(pickled) if pickled else None)
