"""What the path of a file tells: host, rank, snapshot, other run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise

from facts_adapters.text import stamps

_SOSREPORT = re.compile(
    r"(?:sosreport|sos|supportconfig|scc|nvidia-bug-report|sysinfo-snapshot)-(?P<host>[\w.-]+?)(?:-\d{5,})?"
    r"-(?:20\d\d-\d\d-\d\d|20\d{6})(?:[-_].*)?$"
)
_HOSTLIKE = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*$")
_NOT_A_HOST = re.compile(
    r"(?:t|step|run|attempt|try|rank|local_?rank|mlx\d_|bond|eth|ens|enp|ib|eno|irdma|bnxt|rdma|hfi|qib|port|job|"
    r"node_?rank|day|round|trial|exp|epoch|iter|checkpoint|ckpt|v|version|before|after|sample|snapshot|part|chunk|vol|log|"
    r"python|cuda|nccl|lib)"
    r"[-_]?\d+.*$|[gn]pu[-_]?\d$|.*20\d{6}.*|.*\d{4}-\d\d-\d\d.*|(?:inc|incident|case|ticket|issue)-.*",
    re.IGNORECASE,
)
_HOLDS_HOSTS = re.compile(
    r"(?:hosts?|nodes?|machines?|servers?|switch(?:es)?|leafs?|leaves|spines?|tors?|workers?|agents?)$",
    re.IGNORECASE,
)
_MAY_HOLD_HOSTS = re.compile(
    r"(?:logs?|outputs?|evidence|collect(?:ed|ion)?|data|dumps?|diag(?:nostics)?|train(?:ing)?|job|host[_-]?\w*)$",
    re.IGNORECASE,
)
_NAMED_HOST = re.compile(
    r"(?:^|[-_.])(?:host|node|worker|master|server|leaf|spine|tor|switch)(?:[-_.][A-Za-z]{1,2})?$", re.IGNORECASE
)
_POD_FOLDER = re.compile(r"pods?$|containers?$", re.IGNORECASE)
_POD_FILE = re.compile(r"(?P<pod>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)\.(?:log|txt|out|err)(?:\.(?:gz|xz|zst|bz2))?$")
_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
    prev previous earlier before after baseline incident during old new current now start end good bad healthy var log
    logs sys proc etc usr home tmp class net infiniband ports kernel dmesg syslog journal system job jobs train training
    data output stdout stderr k8s pods nic network fabric switches counters nic_counters host_data env config conf app
    ray mpi slurm flight_recorder fr nccl hccl rdma ib ibstat chrony pyspy py-spy gpu nvidia monitoring metrics
    sos_commands commands command files misc other all common shared topology torchelastic
    """,
    )
)

_RANK = re.compile(r"(?:^|[_.\-])(?:global[_-]?)?rank[_\-=]?(?P<rank>\d{1,6})(?=$|[_.\-])", re.IGNORECASE)
_LOCAL = re.compile(r"(?:^|[_.\-])local[_-]?rank[_\-=]?(?P<rank>\d{1,4})(?=$|[_.\-])", re.IGNORECASE)
_ATTEMPT = re.compile(r"attempt[_-]?(?P<n>\d+)$", re.IGNORECASE)
_COMPRESSED = re.compile(r"\.(?:gz|xz|zst|bz2)$")

_SNAPSHOT = re.compile(
    r"(?:before|after|baseline|incident|during|healthy|hang|start|end|first|last|pre|post|old|new|begin|final)$"
    r"|(?:before|after|during|t\d{1,3}|(?:sample|snapshot|snap|round|pass)[-_]?\d{0,4})[-_]\d\d[-:h]?\d\d(?:[-:]?\d\d)?$"
    r"|(?:t|T|sample|snapshot|snap|round|pass)[-_]?\d{1,4}$",
    re.IGNORECASE,
)
_PAIRED = {"old": "new", "new": "old"}
_SNAPSHOT_IN_NAME = re.compile(
    r"(?:^|[_.\-])(?P<label>before|after|baseline|during|t\d{1,3})(?=$|[_.\-])", re.IGNORECASE
)

_OTHER_RUN = re.compile(
    r"(?:prev(?:ious)?|earlier|older|past|old|former)"
    r"(?:[-_. ]?(?:run|job|attempt|hang|event|incident|try|fail|log|\d).*)?$"
    r"|other[-_. ]?(?:run|job|attempt).*$|re-?run.*$|retr(?:y|ies)[-_]?\w*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Told:
    """A value and why it is believed, in words for ``explain``."""

    value: str
    why: str


class Paths:
    """All paths of a bundle looked at together: what repeats as a folder of several collections is a host."""

    def __init__(self, paths: Collection[str], known: Collection[str] = ()) -> None:
        self.known = set(known)
        self._paths = tuple(paths)
        self._hosts = _host_folders(paths)
        self._attempts = _attempts(paths)

    def host(self, path: str) -> Told | None:
        """Host that a folder or the file's name tells."""
        *folders, name = path.split("/")
        for folder in reversed(folders):
            if folder in self.known:
                return Told(folder, f'folder "{folder}" is a known host')
            match = _SOSREPORT.match(_COMPRESSED.sub("", folder).removesuffix(".tar"))
            if match:
                return Told(match["host"], f'folder "{folder}" is a report of that host')
        for host in sorted(self.known, key=len, reverse=True):
            if host in name and re.search(rf"(?:^|[_.\-]){re.escape(host)}(?=$|[_.\-])", name):
                return Told(host, f'the file name holds the known host "{host}"')
        for index in range(len(folders) - 1, -1, -1):
            why = self._hosts.get("/".join(folders[: index + 1]))
            if why:
                return Told(folders[index], why)
        if folders and _POD_FOLDER.match(folders[-1]):
            match = _POD_FILE.match(name)
            if match:
                return Told(match["pod"], f'a log below "{folders[-1]}" is named after its pod')
        return None

    def rank(self, path: str) -> Told | None:
        """Global rank that the file's name or a folder tells."""
        for part in reversed(path.split("/")):
            if not _LOCAL.search(part):
                match = _RANK.search(part)
                if match:
                    return Told(str(int(match["rank"])), f'"{part}" names the rank')
        return None

    def local_rank(self, path: str) -> Told | None:
        """Local rank that the path tells (``attempt_0/3/stderr.log``, ``local_rank_3``)."""
        parts = path.split("/")
        for part in reversed(parts):
            match = _LOCAL.search(part)
            if match:
                return Told(match["rank"], f'"{part}" names the local rank')
        for attempt, local in pairwise(parts[:-1]):
            if _ATTEMPT.match(attempt) and local.isdigit():
                return Told(local, f'"{attempt}/{local}" is the launcher\'s folder of the local rank')
        return None

    def group(self, path: str) -> Told | None:
        """Snapshot label: a folder such as ``before``, ``t1`` or a stamp, else a mark in the file's name."""
        *folders, name = path.split("/")
        for index in range(len(folders) - 1, -1, -1):
            folder = folders[index]
            if _snapshot(folder) and not self._alone("/".join(folders[:index]), folder):
                return Told(folder, f'folder "{folder}" is a snapshot')
        match = _SNAPSHOT_IN_NAME.search(_COMPRESSED.sub("", name))
        return Told(match["label"], f'the file name holds "{match["label"]}"') if match else None

    def _alone(self, parent: str, folder: str) -> bool:
        """Whether ``old`` or ``new`` stands without the other: then it is no snapshot."""
        partner = _PAIRED.get(folder.lower())
        if partner is None:
            return False
        prefix = f"{parent}/{partner}/" if parent else f"{partner}/"
        return not any(path.lower().startswith(prefix.lower()) for path in self._paths)

    def run(self, path: str) -> Told | None:
        """Mark of another run or of an attempt before the last."""
        folders = path.split("/")[:-1]
        for index, folder in enumerate(folders):
            pair = folder.lower() in _PAIRED and not self._alone("/".join(folders[:index]), folder)
            if _OTHER_RUN.match(folder) and folder not in self.known and not pair:
                return Told(folder, f'folder "{folder}" holds another run')
            match = _ATTEMPT.match(folder)
            if match and int(match["n"]) < self._attempts["/".join(folders[:index])]:
                return Told(folder, f'"{folder}" is an attempt before the last')
        return None


def _snapshot(folder: str) -> bool:
    return bool(_SNAPSHOT.match(folder)) or stamps.label_reading(folder) is not None


def _attempts(paths: Iterable[str]) -> dict[str, int]:
    """The last attempt below each folder."""
    last: dict[str, int] = defaultdict(int)
    for path in paths:
        folders = path.split("/")[:-1]
        for index, folder in enumerate(folders):
            match = _ATTEMPT.match(folder)
            if match:
                parent = "/".join(folders[:index])
                last[parent] = max(last[parent], int(match["n"]))
    return last


def _host_folders(paths: Iterable[str]) -> dict[str, str]:
    """Folders that look like hosts, with the reason."""
    parents: dict[str, set[str]] = defaultdict(set)
    children: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        folders = path.split("/")[:-1]
        for index, folder in enumerate(folders):
            parent = "/".join(folders[:index])
            parents[folder].add(parent)
            children[parent].add(folder)
    found: dict[str, str] = {}
    for name, above in parents.items():
        for parent in above:
            why = _why_host(name, parent, above, children[parent])
            if why:
                found[f"{parent}/{name}" if parent else name] = why
    return found


_AMBIGUOUS = re.compile(r"(?:[gn]pu[-_]?|v)\d{1,4}$", re.IGNORECASE)
"""Hosts, or the devices of one host, or versions."""

_ADDRESS = re.compile(r"\d{1,3}(?:[._-]\d{1,3}){3}$")


def _alike(name: str, siblings: set[str]) -> set[int]:
    """The numbers of the folders beside each other that differ only in their last number."""
    shape = re.sub(r"\d+$", "", name)
    return {int(s[len(shape) :]) for s in siblings if s.startswith(shape) and s[len(shape) :].isdigit()}


def _why_host(name: str, parent: str, parents: set[str], siblings: set[str]) -> str:
    above = parent.rpartition("/")[2]
    if _ADDRESS.match(name):
        return f'folder "{name}" is an address'
    if _AMBIGUOUS.match(name) and (not parent or _HOLDS_HOSTS.match(above) or _MAY_HOLD_HOSTS.match(above)):
        numbers = _alike(name, siblings)
        if _HOLDS_HOSTS.match(above) or (len(numbers) > 1 and 0 not in numbers):
            return f'folder "{name}" is one of {len(numbers)} alike'
    if name.lower() in _WORDS or not _HOSTLIKE.match(name) or _NOT_A_HOST.match(name):
        return ""
    if "sys/class" in parent or above in ("net", "infiniband", "ports"):
        return ""
    if _HOLDS_HOSTS.match(above):
        return f'folder "{name}" below "{above}"'
    digit = any(c.isdigit() for c in name)
    if not digit and not _NAMED_HOST.search(name):
        return ""
    if len(parents) > 1:
        return f'folder "{name}" stands below several collections'
    shape = re.sub(r"\d+", "0", name)
    alike = sum(re.sub(r"\d+", "0", sibling) == shape for sibling in siblings)
    if digit and alike > 1:
        return f'folder "{name}" is one of {alike} alike'
    if _MAY_HOLD_HOSTS.match(above) or not parent or _snapshot(above):
        return f'folder "{name}" below "{above or "the top"}" looks like a host'
    return ""
