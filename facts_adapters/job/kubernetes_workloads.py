"""Status of training jobs: ``kubectl get pytorchjobs|mpijobs|jobs|jobsets|vcjob|rayjobs|workloads ... -o json``.

JSON, YAML and ``kubectl describe`` of Kubeflow, MPI operator, batch, JobSet, Volcano, Kueue and KubeRay objects. What a
status means is in :mod:`facts_adapters.job._workloads`; pods, nodes and events have readers of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.job._describe import described
from facts_adapters.job._kubernetes import EMITS, documents
from facts_adapters.job._workloads import KINDS, workload_facts

_OBJECT = re.compile(r"\"?kind\"?: ?\"?(?:[A-Z]\w*Job|Job|JobSet|RayCluster|PodGroup|Workload)(?:List)?\"?\s*[,\n}]")
_DESCRIBED = re.compile(r"^Kind: +(?P<kind>[A-Z]\w+)$", re.MULTILINE)


def sniff(head: Head) -> Verdict:
    """Objects of a job kind with a status, or the description of one."""
    text = head.text
    if "kind" in text and "status" in text:
        shape = text.lstrip()[:1] in ("{", "[") or re.match(r"\s*(?:---\s*)?apiVersion:", text)
        if shape and _OBJECT.search(text):
            return Verdict(0.95, "status of training jobs")
    named = "\nKind: " in text and re.search(r"^Name: +\S+$", text, re.MULTILINE)
    if named and any(KINDS.fullmatch(match["kind"]) for match in _DESCRIBED.finditer(text)):
        return Verdict(0.9, "kubectl describe of a training job")
    return Verdict(0.0, "no status of a training job")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """Facts of every job in the file."""
    first = next((line.text.lstrip() for line in file.lines() if line.text.strip()), "")
    if first[:1] in ("{", "[") or first.startswith(("apiVersion:", "---", "kind:", "items:", "- apiVersion:")):
        for item, line, name in documents(file, context):
            yield from workload_facts(item, name, _Places(file.path, line), context)
    else:
        for found in described(file.lines()):
            name = str(found.value.get("name") or "")
            yield from workload_facts(found.value, name, _Places(file.path, found.line.number), context)


class _Places:
    """Makes sources in one file at one line."""

    def __init__(self, path: str, line: int) -> None:
        self.path = path
        self.line = line

    def __call__(self, text: str) -> Source:
        return Source(self.path, self.line, text.strip()[:500])


ADAPTER = Adapter(
    name="kubernetes_workloads",
    branch="job",
    emits=(*EMITS, "job.dependency_not_ready"),
    coverage="orchestrator",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            '{"kind": "PyTorchJob", "metadata": {"name": "bert"}, "status": {"conditions": [{"type": "Succeeded",\n'
            '"status": "True", "reason": "PyTorchJobSucceeded", "lastTransitionTime": "2026-02-01T10:00:00Z"}]}}\n',
            (("job.finished", {"what": "kubernetes", "job": "bert"}),),
            path="k8s/pytorchjob.json",
        ),
        Sample(
            "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata:\n  name: llm\nspec:\n  mpiReplicaSpecs:\n"
            "    Launcher: {replicas: 1}\n    Worker: {replicas: 8}\nstatus:\n  conditions:\n  - type: Created\n"
            '    status: "True"\n    reason: MPIJobCreated\n  replicaStatuses:\n    Launcher: {active: 1}\n'
            "    Worker: {active: 6}\n",
            (("job.rendezvous_incomplete", {"joined": 7, "expected": 9, "job": "llm"}),),
            path="k8s/mpijob.yaml",
        ),
        Sample(
            "Name:         llm\nNamespace:    ml\nAPI Version:  kubeflow.org/v1\nKind:         PyTorchJob\nStatus:\n"
            "  Conditions:\n    Last Transition Time:  2026-02-01T09:00:00Z\n    Message:               PyTorchJob llm "
            "is created.\n    Reason:                PyTorchJobCreated\n    Status:                True\n"
            "    Type:                  Created\n    Last Transition Time:  2026-02-01T10:00:00Z\n"
            "    Message:               PyTorchJob llm is failed because 1 Worker replica(s) failed.\n"
            "    Reason:                PyTorchJobFailed\n    Status:                True\n"
            "    Type:                  Failed\n  Replica Statuses:\n    Worker:\n      Failed:  1\n",
            (("job.scheduler_end", {"state": "FAILED", "reason": "PyTorchJobFailed", "job": "llm"}),),
            path="k8s/describe-pytorchjob.txt",
        ),
        Sample(
            "apiVersion: v1\nitems:\n- apiVersion: batch.volcano.sh/v1alpha1\n  kind: Job\n  metadata:\n"
            "    name: vc-llm\n  status:\n    minAvailable: 16\n    running: 12\n    pending: 4\n    state:\n"
            "      phase: Pending\n"
            '      lastTransitionTime: "2026-02-01T10:00:00Z"\n'
            "- apiVersion: scheduling.volcano.sh/v1beta1\n  kind: PodGroup\n  metadata:\n    name: vc-llm-pg\n"
            "  status:\n"
            '    conditions:\n    - type: Unschedulable\n      status: "True"\n      reason: NotEnoughResources\n'
            "      message: '4/16 tasks in gang unschedulable: pod group is not ready, 4 Pending, 12 Running, 16 "
            "minAvailable'\nkind: List\n",
            (
                ("job.rendezvous_incomplete", {"joined": 12, "expected": 16, "job": "vc-llm"}),
                ("job.rendezvous_incomplete", {"joined": 12, "expected": 16, "job": "vc-llm-pg"}),
            ),
            path="k8s/volcano.yaml",
        ),
        Sample(
            '{"kind":"JobSet","metadata":{"name":"js"},"spec":{"replicatedJobs":[{"name":"workers","replicas":4}]},'
            '"status":{"restarts":2,"conditions":[{"type":"Failed","status":"True","reason":"ReachedMaxRestarts",'
            '"message":"jobset failed due to reaching max number of restarts","lastTransitionTime":'
            '"2026-02-01T10:00:00Z"}],"replicatedJobsStatus":[{"name":"workers","ready":0,"failed":1}]}}\n',
            (
                ("job.scheduler_end", {"reason": "ReachedMaxRestarts", "job": "js"}),
                ("job.restart", {"attempt": 2, "what": "operator"}),
            ),
            path="k8s/jobset.json",
        ),
        Sample(
            '{"kind":"List","items":[{"kind":"RayCluster","metadata":{"name":"ray-a"},"status":{"state":"failed","reason":'
            '"pods quota exceeded","desiredWorkerReplicas":4,"readyWorkerReplicas":3,"conditions":[{"type":'
            '"HeadPodReady","status":"False","reason":"ContainersNotReady","message":'
            '"containers with unready status: [ray-head]"}]}},'
            '{"kind":"RayJob","metadata":{"name":"ray-b"},"status":{"jobStatus":"FAILED","jobDeploymentStatus":"Failed",'
            '"reason":"AppFailed","message":"Job entrypoint command failed with exit code 1","endTime":'
            '"2026-02-01T10:00:00Z"}}]}\n',
            (
                ("job.dependency_not_ready", {"what": "ray_head", "job": "ray-a"}),
                ("job.rendezvous_incomplete", {"joined": 3, "expected": 4}),
                ("job.scheduler_end", {"reason": "AppFailed", "job": "ray-b"}),
            ),
            path="k8s/kuberay.json",
        ),
        Sample(
            '{"kind":"Workload","metadata":{"name":"job-llm-1a2b"},"status":{"conditions":[{"type":"Evicted","status":'
            '"True","reason":"Preempted","message":"Preempted to accommodate a workload","lastTransitionTime":'
            '"2026-02-01T10:00:00Z"}]}}\n',
            (("job.cancelled", {"reason": "preemption", "entity": "job"}),),
            path="k8s/workload.json",
        ),
        Sample(
            '{"kind": "CronJob", "metadata": {"name": "x"}, "status": {"lastScheduleTime": "2026-02-01T10:00:00Z"}}\n',
            path="k8s/cronjob.json",
        ),
        Sample(
            '{"kind": "PyTorchJob", "metadata": {"name": "bert"}, "status": {"conditions": [{"type": "Failed",\n'
            '"status": "False", "reason": "PyTorchJobRunning"}]}}\n',
            path="k8s/running.json",
        ),
    ),
)
