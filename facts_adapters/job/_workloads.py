"""What the status of a training job in Kubernetes says, whichever operator runs it.

Kubeflow v1 (PyTorchJob, MPIJob, TFJob ...) and v2 (TrainJob), batch Job, JobSet, Volcano Job and PodGroup, Kueue
Workload, KubeRay (RayCluster, RayJob). The fields are those of the operators' API types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.facts.model import Observation, Reading, Scalar, Source
from facts_adapters.adapter import Context
from facts_adapters.documents import at, mapping, mappings
from facts_adapters.job._kubernetes import TEXT_KEPT, Happening, observe, stamp

KINDS = re.compile(r"[A-Z]\w*Job|Job|JobSet|RayCluster|PodGroup|Workload")
"""Kinds of objects that are read."""

_DONE = ("Succeeded", "Complete", "Completed")
_ENDED = (*_DONE, "Failed", "Finished", "FailureTarget")
_GANG = re.compile(r"(?P<running>\d+) Running.*?(?P<needed>\d+) minAvailable")
_PREEMPTED = re.compile(r"[Pp]reempt|InCohort|InClusterQueue")

Place = Callable[[str], Source]


class Workload:
    """An object with its status, and how its facts are made."""

    def __init__(self, item: Mapping[str, Any], name: str, place: Place, context: Context) -> None:
        self.item = item
        self.kind = str(item.get("kind") or "")
        self.name = name
        self.place = place
        self.context = context
        self.status = mapping(item.get("status"))
        listed = self.status.get("conditions")
        self.conditions = mappings(listed if isinstance(listed, list) else [listed])

    def made(self, kind: str, text: str, fields: dict[str, Scalar], when: Reading | None = None) -> Observation:
        """A fact about this job."""
        return Observation(kind, self.place(f"{self.name} {text}"), fields, job=self.name or None, when=when)

    def when(self, *keys: str) -> Reading | None:
        """The time that a field of the status states."""
        return stamp(at(self.status, *keys), self.context)

    def ended(self) -> bool:
        """Whether a condition says that the job is over."""
        return any(
            str(condition.get("type")) in _ENDED and str(condition.get("status")) == "True"
            for condition in self.conditions
        )

    def waits(self, joined: int, expected: int, text: str) -> Iterator[Observation]:
        """``job.rendezvous_incomplete`` where fewer run than belong to the job and it is not over."""
        if 0 <= joined < expected and not self.ended():
            yield self.made("job.rendezvous_incomplete", text, {"joined": joined, "expected": expected})


def workload_facts(item: Mapping[str, Any], name: str, place: Place, context: Context) -> Iterator[Observation]:
    """Facts of one object; none for kinds that are no job."""
    job = Workload(item, name, place, context)
    if not KINDS.fullmatch(job.kind):
        return
    for condition in job.conditions:
        yield from _condition(job, condition)
    if job.kind == "RayCluster":
        yield from _ray_cluster(job)
    elif job.kind == "RayJob":
        yield from _ray_job(job)
    elif job.kind == "JobSet":
        yield from _job_set(job)
    elif isinstance(job.status.get("state"), dict):
        yield from _volcano(job)
    else:
        yield from _replicas(job)


def _condition(job: Workload, condition: Mapping[str, Any]) -> Iterator[Observation]:
    what, reason = str(condition.get("type") or ""), str(condition.get("reason") or "")
    message, state = str(condition.get("message") or ""), str(condition.get("status"))
    when = stamp(condition.get("lastTransitionTime"), job.context)
    text = f"{what}: {reason} {message}"
    if what == "HeadPodReady" and state == "False":
        fields: dict[str, Scalar] = {"what": "ray_head", "text": (message or reason)[:TEXT_KEPT]}
        yield job.made("job.dependency_not_ready", text, fields, when)
    if state != "True":
        return
    if what in _DONE:
        yield job.made("job.finished", text, {"what": "kubernetes"}, when)
    elif what == "Restarting":
        yield job.made("job.restart", text, {"what": "operator"}, when)
    elif what == "Failed":
        yield _failed(job, reason, text, when)
        yield from _by_reason(job, reason, message, text, when)
    elif what in ("Suspended", "Evicted", "Preempted"):
        preempted = what == "Preempted" or _PREEMPTED.search(reason)
        ended: dict[str, Scalar] = {"reason": "preemption" if preempted else "other", "entity": "job"}
        yield job.made("job.cancelled", text, ended, when)
    elif what == "Unschedulable":
        gang = _GANG.search(message)
        waiting: dict[str, Scalar] = {"missing": message[:TEXT_KEPT]}
        if gang:
            waiting |= {"joined": int(gang["running"][:9]), "expected": int(gang["needed"][:9])}
        yield job.made("job.rendezvous_incomplete", text, waiting, when)
    elif what == "RayClusterReplicaFailure":
        yield job.made("host.pod_event", text, {"reason": reason or what, "text": message[:TEXT_KEPT]}, when)


def _failed(job: Workload, reason: str, text: str, when: Reading | None) -> Observation:
    fields: dict[str, Scalar] = {"state": "FAILED", "reporter": "kubernetes", "entity": "job"}
    if reason:
        fields["reason"] = reason[:TEXT_KEPT]
    return job.made("job.scheduler_end", text, fields, when)


def _by_reason(job: Workload, reason: str, message: str, text: str, when: Reading | None) -> Iterator[Observation]:
    """What the table of reasons adds to the bare failure."""
    found = observe(Happening(reason, message, job.place(f"{job.name} {text}"), "", None, when))
    if found.kind != "host.pod_event":
        found.job = job.name or None
        yield found


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000_000 else 0


def _replicas(job: Workload) -> Iterator[Observation]:
    """Kubeflow: the specs of the roles against the pods that exist."""
    spec = mapping(job.item.get("spec"))
    specs = next((mapping(value) for key, value in spec.items() if str(key).endswith("ReplicaSpecs")), None)
    states = mapping(job.status.get("replicaStatuses"))
    if not specs or not states:
        return
    expected = sum(_count(mapping(role).get("replicas", 1)) for role in specs.values())
    joined = sum(_count(mapping(role).get(part)) for role in states.values() for part in ("active", "succeeded"))
    yield from job.waits(joined, expected, f"{joined} of {expected} replicas are active")


def _job_set(job: Workload) -> Iterator[Observation]:
    restarts = _count(job.status.get("restarts"))
    if restarts:
        yield job.made("job.restart", f"restarts: {restarts}", {"attempt": restarts, "what": "operator"})
    wanted, listed = at(job.item, "spec", "replicatedJobs"), job.status.get("replicatedJobsStatus")
    groups = mappings(wanted if isinstance(wanted, list) else [wanted])
    states = mappings(listed if isinstance(listed, list) else [listed])
    if groups and states:
        expected = sum(_count(group.get("replicas", 1)) for group in groups)
        joined = sum(_count(state.get(part)) for state in states for part in ("ready", "succeeded"))
        yield from job.waits(joined, expected, f"{joined} of {expected} jobs are ready")


def _volcano(job: Workload) -> Iterator[Observation]:
    state = mapping(job.status.get("state"))
    phase, reason = str(state.get("phase") or ""), str(state.get("reason") or "")
    message = str(state.get("message") or "")
    when = stamp(state.get("lastTransitionTime"), job.context)
    text = f"{phase}: {reason} {message}"
    if phase == "Completed":
        yield job.made("job.finished", text, {"what": "kubernetes"}, when)
    elif phase in ("Failed", "Terminated"):
        yield _failed(job, reason or phase, text, when)
        yield from _by_reason(job, reason, message, text, when)
    elif phase in ("Aborted", "Aborting"):
        yield job.made("job.cancelled", text, {"reason": "other", "entity": "job"}, when)
    elif phase == "Restarting":
        yield job.made("job.restart", text, {"what": "operator"}, when)
    elif phase in ("Pending", "Inqueue"):
        joined, expected = _count(job.status.get("running")), _count(job.status.get("minAvailable"))
        yield from job.waits(joined, expected, f"{phase}: {joined} of {expected} run")
    retries = _count(job.status.get("retryCount"))
    if retries:
        yield job.made("job.restart", f"retryCount: {retries}", {"attempt": retries, "what": "operator"})


def _ray_cluster(job: Workload) -> Iterator[Observation]:
    state, reason = str(job.status.get("state") or ""), str(job.status.get("reason") or "")
    if state == "failed":
        yield _failed(job, reason, f"state failed {reason}", job.when("stateTransitionTimes", "failed"))
    expected = _count(job.status.get("desiredWorkerReplicas"))
    ready = job.status.get("readyWorkerReplicas", job.status.get("availableWorkerReplicas"))
    if state != "suspended":
        yield from job.waits(_count(ready), expected, f"{_count(ready)} of {expected} workers are ready")


def _ray_job(job: Workload) -> Iterator[Observation]:
    state, deployment = str(job.status.get("jobStatus") or ""), str(job.status.get("jobDeploymentStatus") or "")
    reason, message = str(job.status.get("reason") or ""), str(job.status.get("message") or "")
    when = job.when("endTime")
    text = f"{state} {deployment}: {reason} {message}"
    if reason == "DeadlineExceeded":
        yield job.made("job.cancelled", text, {"reason": "time_limit", "entity": "job"}, when)
    elif state == "FAILED" or deployment == "Failed":
        yield _failed(job, reason or "AppFailed", text, when)
    elif state == "STOPPED" or deployment == "Suspended":
        yield job.made("job.cancelled", text, {"reason": "other", "entity": "job"}, when)
    elif state == "SUCCEEDED":
        yield job.made("job.finished", text, {"what": "kubernetes"}, when)
    retries = _count(job.status.get("failed"))
    if retries and (deployment == "Retrying" or state in ("RUNNING", "SUCCEEDED", "PENDING")):
        yield job.made("job.restart", f"failed: {retries}", {"attempt": retries, "what": "operator"})
