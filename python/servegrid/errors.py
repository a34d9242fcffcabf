"""What can go wrong, as the C++ library says it.

Every message says where, what is wrong, and what to do about it.
"""

from __future__ import annotations

__all__ = [
    "InfeasibleError",
    "InputError",
    "PolicyError",
    "RunError",
    "ServeGridError",
    "UnknownNameError",
]


class ServeGridError(Exception):
    """Base of all errors that a user is meant to read."""


class InputError(ServeGridError, ValueError):
    """Bad input.

    Attributes:
        file: the file (or the name of the text) it was found in, or None.
        line: counted from 1, or None when not known.
        column: counted from 1, or None when not known.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None


class UnknownNameError(InputError, KeyError):
    """A name that no GPU, model, engine or price sheet has; the message lists the nearest."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InfeasibleError(ServeGridError):
    """What was asked for cannot be: it does not fit, or the engine does not run on the GPU."""


class RunError(ServeGridError, RuntimeError):
    """A run failed for a reason that is not the input's: killed, out of memory, disk full.

    Attributes:
        log: the end of what the run's process wrote to standard error.
    """

    log: str = ""


class PolicyError(RunError):
    """A Python router, admission policy, length sampler or arrival process raised.

    The exception it raised is the `__cause__` when it can be pickled.

    Attributes:
        traceback: the traceback inside the run's process, as text.
    """

    traceback: str = ""
