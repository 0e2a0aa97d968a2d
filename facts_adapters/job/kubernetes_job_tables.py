"""Tables of training jobs: ``kubectl get pytorchjobs|mpijobs|jobs|vcjob|jobset|rayjob|raycluster``; they have no times.

The columns are the printer columns of the operators' resource definitions: Kubeflow 1.3 .. 1.9, batch Job (``STATUS``
from 1.30 on), Volcano 1.4 .. 1.10, JobSet 0.2 .. 0.8, KubeRay 1.0 .. 1.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import quote

_GAP = re.compile(r"\s{2,}|\t")
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,252}")
_STATES = ("state", "status", "terminalstate", "job status")
_TELLING = ("minavailable", "terminalstate", "job status", "desired workers", "completions")
_DONE = ("succeeded", "completed", "complete")
_FAILED = ("failed", "terminated", "failuretarget")
_STOPPED = ("aborted", "aborting", "suspended", "stopped")
_WAITING = ("pending", "inqueue", "created")
_MOST_COLUMNS = 40


def _columns(line: str) -> list[str]:
    """The names of the columns in small letters, where the line heads a table of jobs."""
    if not line.startswith(("NAME ", "NAMESPACE ")) or line != line.upper():
        return []
    names = [name.lower() for name in _GAP.split(line.strip(), maxsplit=_MOST_COLUMNS)]
    kubeflow = names[-3:] == ["name", "state", "age"]
    return names if kubeflow or any(name in names for name in _TELLING) else []


def sniff(head: Head) -> Verdict:
    """The header of such a table."""
    table = "NAME" in head.text and any(_columns(line) for line in head.lines)
    return Verdict(0.9, "table of training jobs") if table else Verdict(0.0, "no table of training jobs")


def read(file: EvidenceFile, _context: Context) -> Iterator[Observation]:
    """How each job stands."""
    columns: list[str] = []
    for line in file.lines():
        header = _columns(line.text)
        if header:
            columns = header
        elif not line.text.strip() or line.text.startswith(("NAME ", "NAMESPACE ")):
            columns = []
        elif columns:
            cells = _GAP.split(line.text.strip(), maxsplit=_MOST_COLUMNS)
            row = dict(zip(columns, cells, strict=False))
            whole = len(cells) == len(columns) and _NAME.fullmatch(row.get("name", ""))
            for kind, fields in _facts(row) if whole else ():
                yield Observation(kind, quote(file, line), fields, job=row["name"])


def _facts(row: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Scalar]]]:
    state = next((row[name].lower() for name in _STATES if row.get(name)), "")
    if state in _DONE:
        yield "job.finished", {"what": "kubernetes"}
    elif state in _FAILED:
        yield "job.scheduler_end", {"state": "FAILED", "reporter": "kubernetes", "entity": "job"}
    elif state in _STOPPED:
        yield "job.cancelled", {"reason": "other", "entity": "job"}
    elif state == "restarting":
        yield "job.restart", {"what": "operator"}
    for running, needed in (("runnings", "minavailable"), ("available workers", "desired workers")):
        joined, expected = row.get(running, "").strip() or "0", row.get(needed, "")
        waits = state in _WAITING or needed == "desired workers"
        if waits and joined.isdecimal() and expected.isdecimal() and int(joined[:9]) < int(expected[:9]):
            yield "job.rendezvous_incomplete", {"joined": int(joined[:9]), "expected": int(expected[:9])}
    restarts = row.get("restarts", "")
    if restarts.isdecimal() and int(restarts[:9]) > 0:
        yield "job.restart", {"attempt": int(restarts[:9]), "what": "operator"}


ADAPTER = Adapter(
    name="kubernetes_job_tables",
    branch="job",
    emits=("job.finished", "job.scheduler_end", "job.cancelled", "job.restart", "job.rendezvous_incomplete"),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "NAME       STATE        AGE\nbert       Failed       3h\n"
            "llm        Running      2h\nvit        Succeeded    1d\n",
            (
                ("job.scheduler_end", {"job": "bert", "state": "FAILED", "reporter": "kubernetes"}),
                ("job.finished", {"job": "vit"}),
            ),
            path="k8s/pytorchjobs.txt",
        ),
        Sample(
            "NAMESPACE   NAME     STATUS    MINAVAILABLE   RUNNINGS   AGE\n"
            "ml          vc-llm   Pending   16             12         9m\n"
            "ml          vc-old   Aborted   16             0          9h\n",
            (
                ("job.rendezvous_incomplete", {"job": "vc-llm", "joined": 12, "expected": 16}),
                ("job.cancelled", {"job": "vc-old", "reason": "other"}),
            ),
            path="k8s/vcjob.txt",
        ),
        Sample(
            "NAME    DESIRED WORKERS   AVAILABLE WORKERS   CPUS   MEMORY   GPUS   STATUS   AGE\n"
            "ray-a   4                 3                   512    4Ti      32     failed   2h\n",
            (
                ("job.rendezvous_incomplete", {"job": "ray-a", "joined": 3, "expected": 4}),
                ("job.scheduler_end", {"state": "FAILED"}),
            ),
            path="k8s/raycluster.txt",
        ),
        Sample(
            "NAME       STATE        AGE\nllm        Running      2h\n\nNAME    STATUS   AGE\nml      Active   90d\n",
            path="k8s/running.txt",
        ),
    ),
)
