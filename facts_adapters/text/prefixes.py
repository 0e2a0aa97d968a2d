"""The prefixes that log lines carry, one entry each: how it looks and what it tells.

Prefixes stack (`k8s stamp`, `host: `, `[rank3]:`, `[E1206 ... File.cpp:1]`), so each entry is matched where the one
before it ended. An entry's action stores what it knows in :class:`Parts` and returns where the rest begins, or ``None``
where the text only resembled the prefix.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.facts.model import Reading
from facts_adapters.text import stamps

LEVELS = r"(?:DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|ERR|CRITICAL|CRIT|FATAL|ALERT|EMERG|TRACE|EVENT|VERBOSE)"
_LEVEL_LETTERS = {"F": "fatal", "E": "error", "W": "warning", "I": "info", "V": "debug", "D": "debug", "C": "critical"}


@dataclass(slots=True)
class Parts:
    """What the prefixes of one line have told so far."""

    kinds: list[str] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    host: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    pid: int | None = None
    level: str | None = None
    unit: str | None = None
    service: str | None = None
    device: int | None = None
    done: bool = False
    """After this prefix only the message comes."""

    def kind(self, name: str) -> None:
        """Note a kind of envelope, once."""
        if name not in self.kinds:
            self.kinds.append(name)

    def stamp(self, found: Reading | None) -> None:
        """Note a stamp, if it is one."""
        if found is not None:
            self.readings.append(found)


Action = Callable[[re.Match[str], Parts], int | None]


@dataclass(frozen=True, slots=True)
class Prefix:
    """One prefix: what it may begin with (``""`` for anything), a text that its line holds, its pattern and action."""

    first: str
    needs: str
    pattern: re.Pattern[str]
    action: Action


PREFIXES: list[Prefix] = []


def _prefix(first: str, pattern: str, needs: str = "") -> Callable[[Action], Action]:
    def add(action: Action) -> Action:
        PREFIXES.append(Prefix(first, needs, re.compile(pattern), action))
        return action

    return add


_BRACKET = "["
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"


# --- who wrote the line: launchers and collectors ---


@_prefix(_BRACKET, r"\[rank:? ?(?P<rank>\d{1,6})\]:? ?", needs="[rank")
def _rank(match: re.Match[str], parts: Parts) -> int:
    parts.rank = int(match["rank"])
    return match.end()


@_prefix(_BRACKET, r"\[(?P<role>[A-Za-z_][A-Za-z_-]{0,30})(?P<local>\d{1,4})\]:", needs="]:")
def _tee(match: re.Match[str], parts: Parts) -> int:
    parts.local_rank = int(match["local"])
    return match.end()


@_prefix(_BRACKET, r"\[(?:prterun-(?P<host>[\w.-]+)-\d+@)?\d+,(?P<rank>\d+)\]<std(?:out|err|diag)>: ?", needs="]<std")
def _mpi(match: re.Match[str], parts: Parts) -> int:
    parts.kind("mpi")
    parts.rank = int(match["rank"])
    return match.end()


@_prefix(_BRACKET, r"\[(?P<host>[A-Za-z][\w.-]*)\]\[\[\d+,\d+\],(?P<rank>\d+)\]", needs="][[")
def _open_mpi(match: re.Match[str], parts: Parts) -> int:
    parts.kind("mpi")
    parts.host, parts.rank = match["host"], int(match["rank"])
    return match.end()


@_prefix(_BRACKET, r"\[pod/(?P<pod>[\w.-]+)/(?P<container>[\w.-]+)\] ", needs="[pod/")
def _pod(match: re.Match[str], parts: Parts) -> int:
    parts.kind("k8s")
    parts.host, parts.unit = match["pod"], match["container"]
    return match.end()


@_prefix(
    "(",
    r"\((?P<actor>[\w.:-]+)(?: rank=(?P<rank>\d+))?[, ] ?pid=(?P<pid>\d+)(?:, ip=(?P<ip>[\w.:-]+))?\) ?",
    needs="pid=",
)
def _ray(match: re.Match[str], parts: Parts) -> int:
    parts.kind("ray")
    parts.pid, parts.unit = int(match["pid"]), match["actor"]
    parts.host = match["ip"] or parts.host
    if match["rank"]:
        parts.rank = int(match["rank"])
    return match.end()


@_prefix("(", r"\((?P<actor>[A-Za-z][\w.:-]*), ip=(?P<ip>[\w.:-]+)\) ?", needs=", ip=")
def _ray_node(match: re.Match[str], parts: Parts) -> int:
    """A process of Ray itself, such as the raylet of a node."""
    parts.kind("ray")
    parts.host, parts.unit = match["ip"], match["actor"]
    return match.end()


@_prefix(_BRACKET, r"\[(?P<rank>\d{1,6})/(?P<world>\d{1,6})\] ?(?=\[\d{4}-)", needs="/")
def _rank_of_world(match: re.Match[str], parts: Parts) -> int | None:
    if int(match["rank"]) >= int(match["world"]):
        return None
    parts.rank = int(match["rank"])
    return match.end()


@_prefix(
    _BRACKET,
    r"\[(?P<host>[A-Za-z][\w.-]*):(?:pid=)?(?P<pid>\d+)(?::(?P<tid>\d+))?\](?: +(?=[\w.]+:\d+ +UCX)| ?(?!:))",
)
def _host_pid(match: re.Match[str], parts: Parts) -> int | None:
    if match["host"].endswith((".cc", ".cpp", ".py", ".c", ".h", ".cu", ".hpp", ".go", ".ts", ".rs", ".cuh")):
        return None
    parts.host, parts.pid = match["host"], int(match["pid"])
    return match.end()


# --- frameworks and libraries ---


@_prefix(
    _BRACKET,
    r"\[(?P<stamp>(?P<level>[FEWIVDC])\d{3,4} \d\d:\d\d:\d\d\.\d{6,9}) +(?P<file>[\w.\-/]+):\d+\] ?",
    needs="] ",
)
def _c10(match: re.Match[str], parts: Parts) -> int:
    parts.kind("c10")
    found = stamps.parse(match["stamp"])
    parts.stamp(found[0] if found else None)
    parts.level = _LEVEL_LETTERS.get(match["level"])
    parts.done = True
    return match.end()


@_prefix(_BRACKET, r"\[(?P<level>[FEWIV]) ?(?P<file>[\w.\-/]+\.(?:cpp|h|hpp|cu|cc|ts|py)):\d+\] ?")
def _c10_bare(match: re.Match[str], parts: Parts) -> int:
    parts.kind("c10")
    parts.level = _LEVEL_LETTERS.get(match["level"])
    return match.end()


_C_ENDINGS = ("cpp", "hpp", "cc", "h", "cu", "cuh")


@_prefix(
    _LETTERS,
    r"(?P<stamp>(?P<level>[VIWEFCD])(?:20\d\d)?\d{4} \d\d:\d\d:\d\d\.\d{6}) +(?P<pid>\d+) (?P<file>\S+?):\d+\] ?",
)
def _glog(match: re.Match[str], parts: Parts) -> int:
    found = stamps.parse(match["stamp"])
    parts.stamp(found[0] if found else None)
    ending = match["file"].rpartition(".")[2]
    parts.kind("torch_python" if ending == "py" else "c10" if ending in _C_ENDINGS else "glog")
    parts.pid, parts.level, parts.unit = int(match["pid"]), _LEVEL_LETTERS.get(match["level"]), match["file"]
    parts.done = True
    return match.end()


_NCCL_TAIL = (
    r"\[(?P<dev>-?\d+)\] (?:\d+\.\d+ )?(?:(?P<loc>[^\[\]]{1,200}?):(?P<line>\d+)(?: \([^)]*\))? )?"
    r"NCCL (?P<level>WARN|INFO|TRACE|CALL|ABORT|VERSION) ?"
)


@_prefix("", r"(?:(?P<host>[A-Za-z0-9][\w.-]*):(?P<pid>\d+):(?P<tid>\d+) ?)" + _NCCL_TAIL, needs=" NCCL ")
def _nccl(match: re.Match[str], parts: Parts) -> int:
    parts.kind("nccl")
    parts.host, parts.pid, parts.device = match["host"], int(match["pid"]), int(match["dev"])
    parts.level = match["level"].lower()
    parts.done = True
    return match.end()


@_prefix(_BRACKET, _NCCL_TAIL, needs=" NCCL ")
def _nccl_torn(match: re.Match[str], parts: Parts) -> int:
    parts.kind("nccl")
    parts.device, parts.level = int(match["dev"]), match["level"].lower()
    parts.done = True
    return match.end()


@_prefix("", r"(?:[\w./-]{1,120}:\d+ )?NCCL (?P<level>WARN|INFO) ", needs="NCCL ")
def _nccl_bare(match: re.Match[str], parts: Parts) -> int:
    parts.kind("nccl")
    parts.level = match["level"].lower()
    parts.done = True
    return match.end()


@_prefix(
    _BRACKET,
    r"\[(?P<level>[A-Z]+)\] ?(?P<module>[A-Z]\w*)\((?P<pid>\d+),(?P<process>[^)]*)\): ?"
    r"(?P<stamp>\d{4}-\d\d-\d\d-[\d:.]+) ?(?:\[(?P<file>[\w.]+):\d+\] ?)?(?:\[\d+\] ?){0,2}",
    needs="):",
)
def _plog(match: re.Match[str], parts: Parts) -> int:
    parts.kind("plog")
    parts.stamp(stamps.reading(match["stamp"]))
    parts.pid, parts.level, parts.unit = int(match["pid"]), match["level"].lower(), match["module"]
    parts.done = True
    return match.end()


@_prefix(_BRACKET, r"\[PID: (?P<pid>\d+)\] (?=\d{4}-\d\d-\d\d-)", needs="[PID: ")
def _cann_screen(match: re.Match[str], parts: Parts) -> int:
    parts.kind("plog")
    parts.pid = int(match["pid"])
    return match.end()


@_prefix(
    "l",
    r"libfabric:(?P<pid>\d+):(?P<stamp>\d{10})::(?P<unit>[\w:]+?):(?P<func>[\w()]+):\d+<(?P<level>\w+)> ?",
    needs="libfabric:",
)
def _libfabric(match: re.Match[str], parts: Parts) -> int:
    parts.kind("libfabric")
    parts.stamp(stamps.epoch(match["stamp"]))
    parts.pid, parts.level = int(match["pid"]), match["level"]
    parts.done = True
    return match.end()


@_prefix(_LETTERS, r"[\w.]+\.(?:c|cc|h):\d+ +UCX +(?P<level>[A-Z]+) +", needs=" UCX ")
def _ucx(match: re.Match[str], parts: Parts) -> int:
    parts.kind("ucx")
    parts.level = match["level"].lower()
    parts.done = True
    return match.end()


@_prefix("s", r"submitit (?P<level>[A-Z]+) \((?P<stamp>[\d :,.-]+)\) - ", needs="submitit ")
def _submitit(match: re.Match[str], parts: Parts) -> int:
    parts.kind("submitit")
    parts.stamp(stamps.reading(match["stamp"]))
    return match.end()


@_prefix(_BRACKET, r"\[(?P<level>" + LEVELS + r")\|(?P<file>[\w.]+):\d+\] (?=\d{4}-)", needs="|")
def _transformers(match: re.Match[str], parts: Parts) -> int:
    parts.kind("hf")
    parts.level = match["level"].lower()
    return match.end()


@_prefix(_LETTERS, r"(?P<level>" + LEVELS + r"):(?P<logger>[A-Za-z_][\w.]*): ?")
def _logging_default(match: re.Match[str], parts: Parts) -> int:
    parts.kind("python")
    parts.level, parts.unit = match["level"].lower(), match["logger"]
    return match.end()


@_prefix(_LETTERS, r"(?P<logger>torch[\w.]*): \[(?P<level>" + LEVELS + r")\] ", needs=": [")
def _torch_logger(match: re.Match[str], parts: Parts) -> int:
    parts.kind("torch_python")
    parts.level, parts.unit = match["level"].lower(), match["logger"]
    return match.end()


# --- kernel ---


@_prefix(_LETTERS, r"(?P<facility>[a-z]\w+) *:(?P<level>[a-z]+) *: (?=\[|\d{4}-|[A-Z])")
def _dmesg_decoded(match: re.Match[str], parts: Parts) -> int | None:
    if match["facility"] not in _FACILITIES:
        return None
    parts.kind("kernel" if match["facility"] == "kern" else "syslog")
    parts.level = match["level"]
    return match.end()


@_prefix(
    _DIGITS + _LETTERS,
    r"(?P<host>[A-Za-z0-9][\w.:-]{0,80}): (?P<facility>kern|user|daemon|syslog): +(?P<level>[a-z]+): "
    r"\[(?P<stamp>\d{4}-[^\]]{15,40})\]: ",
    needs="]: ",
)
def _talos(match: re.Match[str], parts: Parts) -> int:
    """``talosctl dmesg``: node, facility, level and the absolute time."""
    parts.kind("kernel" if match["facility"] == "kern" else "syslog")
    parts.host, parts.level = match["host"], match["level"]
    parts.stamp(stamps.reading(match["stamp"]))
    return match.end()


_FACILITIES = ("kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp")


@_prefix(_BRACKET, r"\[ *(?P<seconds>\d{1,10}\.\d{3,6})\](?: ?\[ *[TC]\d+\])? ?")
def _dmesg(match: re.Match[str], parts: Parts) -> int:
    whole = match["seconds"].partition(".")[0]
    if len(whole) == 10:
        parts.stamp(stamps.epoch(match["seconds"]))
    else:
        parts.kind("kernel")
        parts.stamp(stamps.boot(match["seconds"]))
    return match.end()


@_prefix(_BRACKET, r"\[(?: *\+\d+\.\d+|<[ +]*\d+\.\d+>)\] ", needs=".")
def _dmesg_delta(match: re.Match[str], parts: Parts) -> int:
    parts.kind("kernel")
    return match.end()


@_prefix(_DIGITS, r"\d{1,3},\d+,(?P<usec>\d+),[-\w,=.]*;", needs=";")
def _kmsg(match: re.Match[str], parts: Parts) -> int:
    parts.kind("kernel")
    at = int(match["usec"])
    parts.stamp(Reading(at, at, "boot", False))
    return match.end()


@_prefix("<", r"<\d{1,3}>(?=[\[A-Z]|\d+ \d{4}-)(?:1 )?")
def _priority(match: re.Match[str], _parts: Parts) -> int:
    return match.end()


# --- generic pieces that stand between a stamp and the message ---


@_prefix(_BRACKET, r"\[(?P<level>" + LEVELS + r") *\] ?(?:- )?")
def _level_in_brackets(match: re.Match[str], parts: Parts) -> int | None:
    if not parts.readings:
        return None
    parts.level = match["level"].lower()
    return match.end()


@_prefix(_LETTERS, r"\w[\w./-]{0,80}\.py:\d{1,6}\] ?", needs=".py:")
def _vllm_location(match: re.Match[str], _parts: Parts) -> int:
    """``worker_base.py:382]``: where a line was logged, without an opening bracket (vLLM up to 0.8)."""
    return match.end()


@_prefix(_BRACKET, r"\[[\w./-]+\.\w{1,4}:\d+(?::\w+)?\] ?")
def _place_in_brackets(match: re.Match[str], parts: Parts) -> int | None:
    return match.end() if parts.readings else None


@_prefix(_BRACKET, r"\[Rank (?P<rank>\d+)\] (?!Watchdog|Timeout|NCCL|Exception|Some NCCL|To avoid)", needs="[Rank ")
def _rank_of_logger(match: re.Match[str], parts: Parts) -> int | None:
    """DeepSpeed's and accelerate's; in c10 lines the number is the rank inside a process group instead."""
    if "python" not in parts.kinds or parts.rank is not None:
        return None
    parts.rank = int(match["rank"])
    return match.end()


@_prefix(_BRACKET, r"\[RANK (?P<rank>\d+)\] ", needs="[RANK ")
def _rank_of_accelerate(match: re.Match[str], parts: Parts) -> int:
    parts.rank = int(match["rank"]) if parts.rank is None else parts.rank
    return match.end()


@_prefix(_BRACKET, r"\[tid (?P<tid>\d+)\] ", needs="[tid ")
def _thread(match: re.Match[str], parts: Parts) -> int | None:
    return match.end() if parts.readings else None
