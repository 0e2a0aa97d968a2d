"""Slurm's accounting and job records (20.11 .. 26.05).

``sacct`` with ``--parsable`` or ``--parsable2`` or as a table, ``scontrol show job``, and ``--json`` of ``sacct``,
``squeue`` and ``scontrol`` (data_parser v0.0.37 .. v0.0.44) with the steps. Times are local to the cluster, in JSON
epoch seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.facts.model import SECOND, Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.documents import at
from facts_adapters.job._outcome import CANCELLATIONS, SLURM_STATES
from facts_adapters.quoting import LineCounter

_HOST = re.compile(r"[A-Za-z0-9][\w.-]*")
_NO_HOST = ("None", "Unknown", "(null)")
_UNFINISHED = ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "REQUEUED", "RESIZING")
"""States in which the end is a forecast."""

_OOM_SIGNAL = 125
"""Slurm writes 0:125 where the step was killed for memory (SIG_OOM 253 without its high bit)."""

_PAIR = re.compile(
    r"(?P<key>JobId|JobState|Reason|ExitCode|EndTime|NodeList|BatchHost|StartTime|Restarts|RunTime)=(?P<value>\S*)"
)
_ELAPSED = re.compile(r"(?:(?P<d>\d+)-)?(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d\d)")


def sniff(head: Head) -> Verdict:
    """A header with JobID and State, ``scontrol`` pairs, or JSON with jobs and their exit codes."""
    text = head.text
    if text.lstrip().startswith("{") and '"jobs"' in text and '"exit_code"' in text:
        return Verdict(0.9, "sacct, squeue or scontrol --json")
    if "JobState=" in text and re.search(r"^JobId=\d+ ", text, re.M):
        return Verdict(0.9, "scontrol show job")
    header = any(_columns(line) for line in head.lines if "jobid" in line.lower())
    return Verdict(0.95, "sacct table") if header else Verdict(0.0, "no JobID and State columns")


def _columns(line: str) -> list[str]:
    names = line.strip().strip("|").split("|") if "|" in line else line.split()
    lower = [name.strip().lower() for name in names]
    return lower if lower and lower[0] in ("jobid", "jobidraw") and "state" in lower else []


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """End states, and what they say of cancellation, memory and lost nodes."""
    lines = [(line.number, line.text) for line in file.lines()]
    text = "\n".join(text for _, text in lines)
    if text.lstrip().startswith("{"):
        yield from _json(file, text, context)
    elif "JobState=" in text:
        yield from _scontrol(file, lines, context)
    else:
        yield from _table(file, lines, context)


def _table(file: EvidenceFile, lines: list[tuple[int, str]], context: Context) -> Iterator[Observation]:
    columns: list[str] = []
    spans: list[tuple[int, int]] = []
    for number, text in lines:
        header = _columns(text)
        if header:
            columns, spans = header, []
        elif columns and "|" not in text and re.fullmatch(r"[-\s]+", text) and text.strip():
            spans = [match.span() for match in re.finditer(r"-+", text)]
        elif columns and text.strip():
            cells = text.split("|") if "|" in text else [text[a:b].strip() for a, b in spans]
            row = dict(zip(columns, (cell.strip() for cell in cells), strict=False))
            if row.get("state", "").split(" ")[0].rstrip("+") in SLURM_STATES:
                yield from _row(file, number, text, row, context)


def _row(file: EvidenceFile, number: int, text: str, row: Mapping[str, str], context: Context) -> Iterator[Observation]:
    state, _, rest = row["state"].partition(" ")
    code, _, signal = row.get("exitcode", "").partition(":")
    fields: dict[str, Scalar] = {}
    if code.isdigit():
        fields["exit_code"] = int(code)
    if signal.isdigit():
        fields["signal"] = int(signal)
    if row.get("reason", "None") not in ("None", ""):
        fields["reason"] = row["reason"]
    elapsed = _seconds(row.get("elapsed", ""))
    if elapsed is not None:
        fields["elapsed_s"] = elapsed
    when = context.reading(row["end"]) if row.get("end", "Unknown") not in ("Unknown", "None", "") else None
    nodes = row.get("nodelist", "")
    host = _one_host(nodes)
    jobid = row.get("jobid") or row.get("jobidraw") or ""
    by = re.match(r"by (\d+)", rest)
    yield from _ends(Source(file.path, number, text[:2000]), jobid, state.rstrip("+"), fields, host, when, bool(by))


def _ends(
    source: Source,
    jobid: str,
    state: str,
    fields: dict[str, Scalar],
    host: str | None,
    when: Reading | None,
    by_somebody: bool,
) -> Iterator[Observation]:
    entity = "step" if "." in jobid else "job"
    job = jobid.partition(".")[0] or None

    def made(kind: str, values: dict[str, Scalar]) -> Observation:
        return Observation(kind, source, values, job=job, host=host, when=when)

    yield made("job.scheduler_end", {"state": state, "reporter": "slurm", "entity": entity, **fields})
    if state == "OUT_OF_MEMORY" or fields.get("signal") == _OOM_SIGNAL:
        yield made("host.oom_event", {"reporter": "slurm accounting"})
    if entity == "step":
        return
    if state in CANCELLATIONS:
        yield made("job.cancelled", {"reason": CANCELLATIONS[state], "entity": "job"})
    elif state == "CANCELLED":
        yield made("job.cancelled", {"reason": "user" if by_somebody else "none", "entity": "job"})
    if state == "NODE_FAIL":
        yield made("host.node_lost", {"reason": "state NODE_FAIL", "reporter": "slurm accounting"})


def _seconds(text: str) -> int | None:
    match = _ELAPSED.fullmatch(text)
    if not match:
        return None
    parts = {name: int(value or 0) for name, value in match.groupdict().items()}
    return parts["d"] * 86_400 + parts["h"] * 3_600 + parts["m"] * 60 + parts["s"]


def _scontrol(file: EvidenceFile, lines: list[tuple[int, str]], context: Context) -> Iterator[Observation]:
    job: dict[str, str] = {}
    place = (1, "")
    for number, text in lines:
        for match in _PAIR.finditer(text):
            if match["key"] == "JobId" and job:
                yield from _record(file, place, job, context)
                job = {}
            if match["key"] == "JobState":
                place = (number, text)
            job.setdefault(match["key"], match["value"])
    if job:
        yield from _record(file, place, job, context)


def _record(
    file: EvidenceFile, place: tuple[int, str], job: Mapping[str, str], context: Context
) -> Iterator[Observation]:
    row = {
        "jobid": job.get("JobId", ""),
        "state": job.get("JobState", ""),
        "exitcode": job.get("ExitCode", ""),
        "reason": job.get("Reason", "None"),
        "end": job.get("EndTime", "Unknown"),
        "nodelist": job.get("NodeList", ""),
        "elapsed": job.get("RunTime", ""),
    }
    if row["state"] in SLURM_STATES:
        yield from _row(file, place[0], place[1], row, context)
    if job.get("Restarts", "0").isdigit() and int(job.get("Restarts", "0")) > 0:
        fields: dict[str, Scalar] = {"attempt": int(job["Restarts"]), "what": "requeue"}
        yield Observation("job.restart", Source(file.path, place[0], place[1][:2000]), fields, job=row["jobid"] or None)


def _json(file: EvidenceFile, text: str, context: Context) -> Iterator[Observation]:
    try:
        jobs = json.loads(text)["jobs"]
    except (ValueError, KeyError, TypeError, RecursionError):
        context.warn(file.path, 1, "no valid JSON of sacct, squeue or scontrol")
        return
    place, lines = 0, LineCounter(text)
    for job in jobs if isinstance(jobs, list) else ():
        if isinstance(job, dict):
            named = re.compile(rf'"job_id"\s*:\s*{_number(job.get("job_id")) or 0}\b').search(text, place)
            place = named.start() if named else place
            yield from _json_job(Source(file.path, lines.at(place)), job)


def _json_job(place: Source, job: Mapping[str, Any]) -> Iterator[Observation]:
    """``sacct`` has ``state`` and ``time``, ``squeue`` and ``scontrol`` have ``job_state`` and ``end_time``."""
    jobid = str(job.get("job_id", ""))
    state = _first(at(job, "state", "current") or job.get("job_state"))
    fields = _json_exit(job.get("exit_code"))
    reason = at(job, "state", "reason") or job.get("state_reason")
    if isinstance(reason, str) and reason not in ("None", ""):
        fields["reason"] = reason
    when = _epoch(at(job, "time", "end") or job.get("end_time")) if state not in _UNFINISHED else None
    failed = job.get("failed_node") or job.get("nodes") or ""
    source = replace(place, text=f"job {jobid} {state}")
    yield from _ends(source, jobid, state, fields, _one_host(failed), when, bool(job.get("kill_request_user")))
    for step in job.get("steps") or () if isinstance(job.get("steps"), list) else ():
        if isinstance(step, dict):
            yield from _json_step(place, jobid, step)
    restarts = _number(job.get("restart_cnt"))
    if restarts:
        yield Observation("job.restart", source, {"attempt": restarts, "what": "requeue"}, job=jobid or None)


def _json_step(place: Source, jobid: str, step: Mapping[str, Any]) -> Iterator[Observation]:
    identity = at(step, "step", "id")
    if isinstance(identity, dict):
        identity = identity.get("step_id", "")
    name = str(identity) if "." in str(identity) else f"{jobid}.{identity}"
    state = _first(step.get("state"))
    nodes = at(step, "nodes", "list")
    host = _one_host(_first(nodes) if isinstance(nodes, list) and len(nodes) == 1 else nodes)
    if state in SLURM_STATES:
        source = replace(place, text=f"step {name} {state}")
        fields = _json_exit(step.get("exit_code"))
        yield from _ends(source, name, state, fields, host, _epoch(at(step, "time", "end")), False)


def _json_exit(value: Any) -> dict[str, Scalar]:
    """Exit code and signal; the signal is ``signal_id`` up to data_parser v0.0.38, ``id`` from v0.0.39 on."""
    fields: dict[str, Scalar] = {}
    code = _number(at(value, "return_code"))
    signal = _number(at(value, "signal", "id"))
    if signal is None:
        signal = _number(at(value, "signal", "signal_id"))
    if code is not None:
        fields["exit_code"] = code
    fields["signal"] = signal or 0
    return fields


def _one_host(value: Any) -> str | None:
    return value if isinstance(value, str) and _HOST.fullmatch(value) and value not in _NO_HOST else None


def _epoch(value: Any) -> Reading | None:
    end = _number(value)
    return Reading(end * SECOND, end * SECOND + SECOND - 1, "utc") if end and 0 < end < 1 << 36 else None


def _number(value: Any) -> int | None:
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _first(value: Any) -> str:
    if isinstance(value, list) and value:
        value = value[0]
    return str(value) if value is not None else ""


_SAMPLES: Iterable[Sample] = (
    Sample(
        "JobID|JobName|State|ExitCode|Start|End|Elapsed|NodeList|Reason\n"
        "9771|pretrain|OUT_OF_MEMORY|0:125|2026-02-15T19:41:28|2026-02-15T21:40:03|01:58:35|gpu[31,36]|None\n"
        "9771.0|pretrain|OUT_OF_MEMORY|0:125|2026-02-15T19:41:30|2026-02-15T21:40:03|01:58:33|gpu[31,36]|\n",
        (
            ("job.scheduler_end", {"state": "OUT_OF_MEMORY", "signal": 125, "entity": "job", "elapsed_s": 7115}),
            ("host.oom_event", {"reporter": "slurm accounting", "job": "9771"}),
        ),
    ),
    Sample(
        "JobID           State      ExitCode                 End     NodeList\n"
        "------------ ---------- ----------- ------------------- ------------\n"
        "9772          COMPLETED         0:0 2026-02-15T21:40:03        gpu31\n"
        "9773         CANCELLED+         0:0 2026-02-15T21:41:03        gpu32\n",
        (
            ("job.scheduler_end", {"state": "COMPLETED", "exit_code": 0, "host": "gpu31"}),
            ("job.cancelled", {"reason": "none", "entity": "job", "host": "gpu32"}),
        ),
    ),
    Sample(
        "JobID|State|ExitCode|End\n9774|CANCELLED by "
        "1012|0:15|2026-02-15T21:41:03\n9775|NODE_FAIL|1:0|2026-02-15T21:42:03\n",
        (
            ("job.cancelled", {"reason": "user", "job": "9774"}),
            ("host.node_lost", {"job": "9775"}),
            ("job.cancelled", {"reason": "node_failure"}),
        ),
    ),
    Sample(
        "JobId=9776 JobName=pretrain\n   JobState=TIMEOUT Reason=TimeLimit Dependency=(null)\n"
        "   Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:0\n   RunTime=02:00:10 TimeLimit=02:00:00\n"
        "   StartTime=2026-02-15T19:40:00 EndTime=2026-02-15T21:40:10 Deadline=N/A\n   NodeList=gpu[31,36]\n",
        (
            ("job.cancelled", {"reason": "time_limit"}),
            ("job.restart", {"attempt": 2, "what": "requeue"}),
            ("job.scheduler_end", {"state": "TIMEOUT", "reason": "TimeLimit"}),
        ),
    ),
    Sample(
        '{"jobs": [{"job_id": 9777, "state": {"current": ["FAILED"], "reason": "None"}, "nodes": "gpu31", '
        '"restart_cnt": 0, '
        '"exit_code": {"return_code": {"set": true, "number": 1}, "signal": {"id": {"set": false, "number": 0}}}, '
        '"time": {"end": 1771191603}}]}',
        (("job.scheduler_end", {"state": "FAILED", "exit_code": 1, "job": "9777", "host": "gpu31"}),),
        path="slurm/sacct.json",
    ),
    Sample(
        '{\n  "jobs": [\n    {\n      "job_id": 9778,\n      '
        '"state": {"current": "FAILED", "reason": "NonZeroExitCode"},\n'
        '      "nodes": "gpu[31,36]", "exit_code": {"status": "ERROR", "return_code": 1},\n'
        '      "time": {"end": 1771191603},\n      "steps": [{"step": {"id": {"job_id": 9778, "step_id": "0"}, '
        '"name": "pretrain"},\n'
        '        "state": ["FAILED"], "nodes": {"count": 1, "list": ["gpu36"]}, "time": {"end": {"set": true, '
        '"number": 1771191600}},\n'
        '        "exit_code": {"status": "SIGNALED", "return_code": 0, "signal": {"signal_id": 9, "name": "KILL"}}}]\n'
        "    }\n  ]\n}\n",
        (
            ("job.scheduler_end", {"state": "FAILED", "exit_code": 1, "entity": "job", "reason": "NonZeroExitCode"}),
            ("job.scheduler_end", {"entity": "step", "signal": 9, "host": "gpu36", "job": "9778"}),
        ),
        path="slurm/sacct.json",
    ),
    Sample(
        '{"jobs": [{"job_id": 9779, "job_state": ["TIMEOUT"], "state_reason": "TimeLimit", "nodes": "gpu31", '
        '"exit_code": {"return_code": {"set": true, "number": 0}}, "end_time": {"set": true, "number": 1771191603}, '
        '"restart_cnt": 1}]}',
        (
            ("job.cancelled", {"reason": "time_limit", "job": "9779"}),
            ("job.restart", {"attempt": 1, "what": "requeue"}),
        ),
        path="slurm/squeue.json",
    ),
    Sample("NODELIST   STATE\ngpu31   idle\n"),
)

ADAPTER = Adapter(
    name="sacct",
    branch="job",
    emits=("job.scheduler_end", "job.cancelled", "job.restart", "host.oom_event", "host.node_lost"),
    coverage="scheduler",
    sniff=sniff,
    read=read,
    samples=tuple(_SAMPLES),
)
