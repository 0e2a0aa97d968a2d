"""How a container was started: ``docker run`` lines, ``docker inspect``, compose files, pod specifications.

A shared memory size that is stated becomes ``host.shm_size``: it is the size of /dev/shm inside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import size_kb, state

_RUN = re.compile(
    r"\b(?:docker|podman|nerdctl)\s+(?:container\s+)?(?:run|create)\b|\bsrun\b.*--container-|\bapptainer\b"
)
_RUNNERS = ("docker", "podman", "nerdctl", "--container-", "apptainer")
_CONTINUED = re.compile(r"\\\s*$")
_OPTIONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("shm_size_kb", re.compile(r"--shm-size[ =](?P<value>\S+)")),
    ("ipc", re.compile(r"--ipc[ =](?P<value>\S+)")),
    ("network", re.compile(r"--net(?:work)?[ =](?P<value>[^\s-]\S*)")),
    ("memlock", re.compile(r"--ulimit[ =]memlock=(?P<value>\S+)")),
    ("pids", re.compile(r"--pids-limit[ =](?P<value>\S+)")),
    ("memory_kb", re.compile(r"(?:--memory|-m)[ =](?P<value>\d{1,18}[bkmgBKMG]?)")),
    ("capability", re.compile(r"--cap-add[ =](?P<value>\S+)")),
    ("device", re.compile(r"--device[ =](?P<value>\S+)")),
    ("gpus", re.compile(r"--gpus[ =](?P<value>\S+)")),
    ("privileged", re.compile(r"(?P<value>--privileged)")),
)
_COMPOSE = re.compile(
    r"\s{0,80}(?:- {1,20})?(?P<name>shm_size|ipc|network_mode|pids_limit|mem_limit): *['\"]?(?P<value>[\w:.]+)"
)
_POD = re.compile(r"\s{0,80}(?:- {1,20})?(?P<name>hostNetwork|hostIPC|sizeLimit): *['\"]?(?P<value>[\w.]+)")
_NAMES = {
    "shm_size": "shm_size_kb",
    "ipc": "ipc",
    "network_mode": "network",
    "pids_limit": "pids",
    "mem_limit": "memory_kb",
    "hostNetwork": "network",
    "hostIPC": "ipc",
}


def sniff(head: Head) -> Verdict:
    """A start command, the host part of an inspection, or a specification in YAML."""
    if '"HostConfig"' in head.text and '"ShmSize"' in head.text:
        return Verdict(0.9, "docker inspect")
    if any(word in head.text for word in _RUNNERS) and any(_RUN.search(line) for line in head.lines):
        return Verdict(0.6, "a container start command")
    services = "services:" in head.text and re.search(r"^services:\s*$", head.text, re.M)
    compose = services and any(_COMPOSE.match(line) for line in head.lines)
    pod = "kind: " in head.text and re.search(r"^ *kind: (?:Pod|\w*Job|Deployment|StatefulSet)\b", head.text, re.M)
    return Verdict(0.6, "a specification of containers") if compose or pod else Verdict(0.0, "no start of a container")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.container_option`` and ``host.shm_size``."""
    lines = list(file.lines())
    if any('"HostConfig"' in line.text for line in lines):
        yield from _inspected(file, lines, context)
        return
    inside = memory_volume = False
    for line in lines:
        inside = inside or _RUN.search(line.text) is not None
        if inside:
            for name, pattern in _OPTIONS:
                for match in pattern.finditer(line.text):
                    yield from _option(file, line, name, match["value"])
            inside = _CONTINUED.search(line.text) is not None
        written = _COMPOSE.match(line.text) or _POD.match(line.text)
        memory_volume = "medium: Memory" in line.text or (memory_volume and written is not None)
        if written and written["name"] in _NAMES:
            value = "host" if written["name"].startswith("host") and written["value"] == "true" else written["value"]
            yield from _option(file, line, _NAMES[written["name"]], value)
        elif written and memory_volume:
            yield from _option(file, line, "shm_size_kb", written["value"])


def _inspected(file: EvidenceFile, lines: list[Line], context: Context) -> Iterator[Observation]:
    text = "\n".join(line.text for line in lines)
    try:
        document = json.loads(text[text.index("[") if text.lstrip().startswith("[") else text.index("{") :])
    except ValueError:
        context.warn(file.path, 1, "this JSON cannot be read")
        return
    for entry in document if isinstance(document, list) else [document]:
        options: dict[str, Any] = (entry.get("HostConfig") or {}) if isinstance(entry, dict) else {}
        for name, key in (("shm_size_kb", "ShmSize"), ("ipc", "IpcMode"), ("network", "NetworkMode"),
                          ("pids", "PidsLimit"), ("memory_kb", "Memory"), ("privileged", "Privileged")):  # fmt: skip
            value = options.get(key)
            line = next((item for item in lines if f'"{key}"' in item.text), lines[0])
            if value not in (None, "", 0, False):
                yield from _option(file, line, name, str(value))


def _option(file: EvidenceFile, line: Line, name: str, value: str) -> Iterator[Observation]:
    text = value.strip("'\"\\")
    if name in ("shm_size_kb", "memory_kb"):
        size = size_kb(text)
        if size is None:
            return
        text = str(size)
        if name == "shm_size_kb":
            yield state(file, line, "host.shm_size", {"size_kb": size})
    yield state(file, line, "host.container_option", {"name": name, "value": text})


_COMMAND = """\
$ docker run --gpus all --ipc=private --shm-size=64m \\
    --ulimit memlock=-1 --network none --cap-add=IPC_LOCK \\
    registry.lan/train:1 python train.py
"""
_INSPECT = '[{"Id": "0f", "HostConfig": {"ShmSize": 67108864, "IpcMode": "private", "NetworkMode": "host"}}]\n'
_SPEC = """\
kind: Pod
spec:
  hostNetwork: true
  volumes:
  - name: shm
    emptyDir:
      medium: Memory
      sizeLimit: 1Gi
"""

ADAPTER = Adapter(
    name="container_options",
    branch="host",
    emits=("host.container_option", "host.shm_size"),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _COMMAND,
            (
                ("host.shm_size", {"size_kb": 65536}),
                ("host.container_option", {"name": "network", "value": "none"}),
                ("host.container_option", {"name": "ipc", "value": "private"}),
                ("host.container_option", {"name": "memlock", "value": "-1"}),
            ),
        ),
        Sample(_INSPECT, (("host.shm_size", {"size_kb": 65536}),), path="inspect.json"),
        Sample(
            _SPEC,
            (
                ("host.container_option", {"name": "network", "value": "host"}),
                ("host.shm_size", {"size_kb": 1048576}),
            ),
            path="pod.yaml",
        ),
        Sample(
            "+ apptainer exec --nv --net --network none train.sif mpirun -np 4 python trainer.py\n",
            (("host.container_option", {"name": "network", "value": "none"}),),
        ),
        Sample("docker ps shows the container\n"),
    ),
)
