"""What a return code, a Slurm state or a pod status says about the end of a process, job or pod."""

from __future__ import annotations

from engine.facts.model import Scalar

SHELL_SIGNAL = 128
"""Codes above it are 128 + signal in shells, containers and Slurm's derived codes."""

LAST_SIGNAL = 64


def outcome(code: int) -> dict[str, Scalar]:
    """``signal`` and ``exit_code`` for a return code: negative = signal, 128 + n = signal n behind a shell."""
    if code < 0:
        return {"signal": -code}
    if SHELL_SIGNAL < code <= SHELL_SIGNAL + LAST_SIGNAL:
        return {"signal": code - SHELL_SIGNAL, "exit_code": code}
    return {"signal": 0, "exit_code": code}


CANCELLATIONS = {
    "TIMEOUT": "time_limit",
    "DEADLINE": "time_limit",
    "PREEMPTED": "preemption",
    "NODE_FAIL": "node_failure",
    "REQUEUED": "requeue",
    "REVOKED": "other",
}
"""Slurm end states that say that the scheduler ended the job, with the reason of ``job.cancelled``."""

SLURM_STATES = frozenset(
    [
        "PENDING",
        "RUNNING",
        "SUSPENDED",
        "COMPLETING",
        "COMPLETED",
        "CANCELLED",
        "FAILED",
        "TIMEOUT",
        "NODE_FAIL",
        "PREEMPTED",
        "BOOT_FAIL",
        "DEADLINE",
        "OUT_OF_MEMORY",
        "REQUEUED",
        "RESIZING",
        "REVOKED",
    ]
)
"""States of jobs and steps in sacct and scontrol."""
