"""Abort records of MPI launchers: Open MPI 1.8 .. 4.1 (``mpirun``), 5.x (``prterun``), MPICH and Intel MPI (hydra).

The texts are those of ``help-orterun.txt``, ``help-prun.txt``, ``help-mpi-api.txt`` and of hydra's
``pmiserv``. A record is wrapped over lines at different words in different versions, so its lines are joined first.

Hydra's ``EXIT CODE`` is a signal where ``EXIT STRING`` follows and says so. Processes that the launcher ends itself
after a first failure appear in further records of hydra; those are told by SIGTERM only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.job._outcome import outcome
from facts_adapters.text.blocks import Block, BlockReader

_LAUNCHER = r"(?:mpirun|mpiexec|orterun|prterun|prun|\S{1,40})"
_HYDRA = re.compile(
    r"=\s+(?:BAD TERMINATION OF ONE OF YOUR|(?:RANK \d+ )?PID \d+ RUNNING AT |KILLED BY SIGNAL: \d+ \()"
    r"|YOUR APPLICATION TERMINATED WITH THE EXIT STRING: "
)
_OPEN = re.compile(
    rf"{_LAUNCHER} (?:noticed that process rank \d+ with PID|has exited due to process rank \d+ with PID"
    r"|detected that one or more processes exited with non-zero status)"
    r"|Process name: \[\S+,\d+\]|MPI_ABORT was invoked on rank \d+ in communicator|\*\*\* An error occurred in MPI_\w+"
)
_RULE = re.compile(r"\s*(?:-{20,}|={20,}|\*{20,})\s*$")
_MOST_LINES = 14

_RUNNING = re.compile(r"(?:RANK (?P<rank>\d{1,10}) )?PID (?P<pid>\d{1,10}) RUNNING AT (?P<host>\S+)")
_KILLED = re.compile(r"KILLED BY SIGNAL: (?P<signal>\d{1,10})")
_STRING = re.compile(r"EXIT STRING: .{0,60}\(signal (?P<signal>\d{1,10})\)")
_CODE = re.compile(r"EXIT CODE: (?P<code>\d{1,10})")

_NOTICED = re.compile(
    r"noticed that process rank (?P<rank>\d{1,10}) with PID (?P<pid>\d{1,10}) on node (?P<host>\S+) exited"
    r"(?: on signal (?P<signal>\d{1,10}))?"
)
_IMPROPER = re.compile(
    r"has exited due to process rank (?P<rank>\d{1,10}) with PID (?P<pid>\d{1,10}) on node (?P<host>\S+) "
    r"(?:exiting|calling)"
)
_FIRST = re.compile(
    r"Process name: \[(?:\[\d+,\d+\],|prterun-(?P<host>[\w.-]+)-\d+@\d+,|[\w.@-]+,)(?P<rank>\d{1,10})\]"
)
_FIRST_CODE = re.compile(r"Exit code: +(?P<code>\d{1,10})")
_ABORT = re.compile(r"MPI_ABORT was invoked on rank (?P<rank>\d{1,10}) in communicator (?P<comm>\S+)")
_ABORT_CODE = re.compile(r"(?:with errorcode|Errorcode:) (?P<code>-?\d{1,10})")
_PROC = re.compile(r"Proc: \[\[\d+,\d+\],(?P<rank>\d{1,10})\]")
_CALL = re.compile(r"\*\*\* An error occurred in (?P<call>MPI_\w+)")
_REPORTED = re.compile(r"\*\*\* reported by process \[\d+,(?P<rank>\d{1,10})\]")
_ERROR = re.compile(r"\*\*\* (?P<error>MPI_ERR_\w+: [^*]{1,120}?)(?: \*\*\*|$)")


def begins(message: str) -> bool:
    """True for the first line of a record, and for the middle of hydra's where the excerpt begins there."""
    return bool(_HYDRA.match(message.lstrip()) or _OPEN.search(message))


def continues(so_far: Sequence[str], message: str) -> bool:
    """True up to the rule below the record; hydra's exit string stands below it."""
    if len(so_far) >= _MOST_LINES:
        return False
    if so_far[0].lstrip().startswith(("=", "YOUR APPLICATION")):
        return message.startswith(("=", "YOUR APPLICATION TERMINATED")) or not message.strip()
    if "***" in so_far[0]:
        return "***" in message
    if _RULE.match(message) or (_OPEN.search(message) and "Process name" not in message):
        return False
    return bool(message.strip()) or "detected that one or more" in " ".join(so_far)


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.process_exit`` of the process that the record names, or the error of an MPI call."""
    for start, text in _records(block):
        source = block.source(start)
        found = _hydra(text) or _open_mpi(text)
        if found:
            rank, host, fields = found
            yield Observation("job.process_exit", source, {"reporter": "mpirun", **fields}, rank=rank, host=host)
        call, error = _CALL.search(text), _ERROR.search(text)
        if call and error:
            reported = _REPORTED.search(text)
            rank = int(reported["rank"]) if reported else block.rank
            detail = f"{call['call']}: {error['error'].strip()}"
            yield Observation("comm.library_error", source, {"class": "other", "detail": detail}, rank=rank)
            if error["error"].startswith("MPI_ERR_TRUNCATE"):
                yield Observation("comm.message_truncated", source, {"stage": "data"}, rank=rank)


def _records(block: Block) -> Iterator[tuple[int, str]]:
    """The records of a block (hydra prints one below the other), each with its first line and joined."""
    start, parts = block.lines[0].number, [block.lines[0].text.strip()]
    for line in block.lines[1:]:
        text = line.text.strip()
        if "BAD TERMINATION" in text:
            yield start, " ".join(parts)
            start, parts = line.number, []
        parts.append(text)
    yield start, " ".join(parts)


Found = tuple[int | None, str | None, dict[str, Scalar]]


def _hydra(text: str) -> Found | None:
    running = _RUNNING.search(text)
    signal, code = _KILLED.search(text) or _STRING.search(text), _CODE.search(text)
    if not running and not signal:
        return None
    fields: dict[str, Scalar] = {"pid": int(running["pid"])} if running else {}
    if signal:
        fields["signal"] = int(signal["signal"])
    elif code:
        fields |= outcome(int(code["code"]))
    rank = int(running["rank"]) if running and running["rank"] else None
    return rank, running["host"] if running else None, fields


def _open_mpi(text: str) -> Found | None:
    noticed = _NOTICED.search(text) or _IMPROPER.search(text)
    if noticed:
        fields: dict[str, Scalar] = {"pid": int(noticed["pid"])}
        signal = noticed.groupdict().get("signal")
        if signal:
            fields["signal"] = int(signal)
        return int(noticed["rank"]), noticed["host"], fields
    first, code = _FIRST.search(text), _FIRST_CODE.search(text)
    if first:
        return int(first["rank"]), None, outcome(int(code["code"])) if code else {}
    abort, code = _ABORT.search(text), _ABORT_CODE.search(text)
    if abort:
        process = _PROC.search(text)
        whole = abort["comm"] == "MPI_COMM_WORLD"
        rank = int(process["rank"]) if process else int(abort["rank"]) if whole else None
        return rank, None, {"signal": 0, **({"exit_code": int(code["code"])} if code else {})}
    return None


BLOCK = BlockReader(
    name="mpi_launcher",
    literals=(
        *("BAD TERMINATION OF ONE OF YOUR", " RUNNING AT ", "noticed that process rank", "has exited due to process"),
        *(
            "KILLED BY SIGNAL: ",
            "WITH THE EXIT STRING",
            "Process name: [",
            "processes exited with non-zero status",
            "MPI_ABORT was invoked",
            "*** An error occurred in MPI_",
        ),
    ),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.process_exit", "comm.library_error", "comm.message_truncated"),
    samples=(
        Sample(
            "===================================================================================\n"
            "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 31022 RUNNING AT gpu07\n"
            "=   EXIT CODE: 9\n=   CLEANING UP REMAINING PROCESSES\n=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n"
            "===================================================================================\n"
            "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
            "This typically refers to a problem with your application.\n",
            (("job.process_exit", {"pid": 31022, "host": "gpu07", "signal": 9, "reporter": "mpirun"}),),
        ),
        Sample(
            "===================================================================================\n"
            "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 5 PID 40112 RUNNING AT gpu08\n"
            "=   KILLED BY SIGNAL: 11 (Segmentation fault)\n"
            "===================================================================================\n\n"
            "===================================================================================\n"
            "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 6 PID 40113 RUNNING AT gpu08\n"
            "=   EXIT CODE: 137\n"
            "===================================================================================\n",
            (
                ("job.process_exit", {"rank": 5, "pid": 40112, "host": "gpu08", "signal": 11}),
                ("job.process_exit", {"rank": 6, "pid": 40113, "signal": 9, "exit_code": 137}),
            ),
        ),
        Sample(
            "--------------------------------------------------------------------------\n"
            "prterun noticed that process rank 3 with PID 20871 on node gpu09 exited on\nsignal 6 (Aborted).\n"
            "--------------------------------------------------------------------------\n",
            (("job.process_exit", {"rank": 3, "pid": 20871, "host": "gpu09", "signal": 6}),),
        ),
        Sample(
            "--------------------------------------------------------------------------\n"
            "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
            "the job to be terminated. The first process to do so was:\n\n"
            "  Process name: [[50121,1],17]\n  Exit code:    139\n"
            "--------------------------------------------------------------------------\n",
            (("job.process_exit", {"rank": 17, "exit_code": 139, "signal": 11}),),
        ),
        Sample(
            "--------------------------------------------------------------------------\n"
            "MPI_ABORT was invoked on rank 12 in communicator MPI_COMM_WORLD\nwith errorcode 134.\n\n"
            "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n",
            (("job.process_exit", {"rank": 12, "signal": 0, "exit_code": 134}),),
        ),
        Sample(
            "--------------------------------------------------------------------------\n"
            "mpirun has exited due to process rank 1 with PID 6032 on\n"
            "node gpu10 exiting improperly. There are two reasons this could occur:\n\n"
            '1. this process did not call "init" before exiting, but others in\nthe job did.\n',
            (("job.process_exit", {"rank": 1, "pid": 6032, "host": "gpu10"}),),
        ),
        Sample(
            "[gpu02:04711] *** An error occurred in MPI_Allreduce\n[gpu02:04711] *** reported by process [140,3]\n"
            "[gpu02:04711] *** on communicator MPI_COMM_WORLD\n[gpu02:04711] *** MPI_ERR_TRUNCATE: message truncated\n"
            "[gpu02:04711] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"
            "[gpu02:04711] ***    and potentially your MPI job)\n",
            (
                ("comm.library_error", {"detail": "MPI_Allreduce: MPI_ERR_TRUNCATE: message truncated", "rank": 3}),
                ("comm.message_truncated", {"rank": 3, "host": "gpu02"}),
            ),
        ),
        Sample("=   KILLED BY SIGNAL: 9 (Killed)\n", (("job.process_exit", {"signal": 9}),)),
        Sample(
            "   Process name: [prterun-gpu01-4711@1,3]\n   Exit code:    1\n",
            (("job.process_exit", {"rank": 3, "exit_code": 1, "signal": 0}),),
        ),
        Sample(
            "=   PID table of the node\nthe launcher noticed that process groups are slow\n"
            "MPI_ABORT was not invoked on rank 3\n"
        ),
    ),
)
