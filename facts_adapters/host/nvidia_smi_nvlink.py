"""``nvidia-smi nvlink -e``, ``-ec`` and ``-s`` (driver 450 .. 580): error counters and state of the links of each GPU.

The counters run since the driver was loaded or the GPU was reset. An inactive link is told by a signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import CounterSample
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import Counting

_NAME = "nvidia_smi_nvlink"
_GPU = re.compile(r"GPU (?P<gpu>\d{1,4}): .*\(UUID: ")
_ERRORS = re.compile(
    r"\s+Link (?P<link>\d{1,3}): (?P<what>Replay|Recovery|CRC|CRC FLIT|CRC Data|CRC Error|CRC FLIT Error|ECC|"
    r"(?:Effective|Symbol) BER|Malformed packet|Buffer overrun|Rx|Rx remote|Rx General|Local link integrity|"
    r"Tx discards|Link recovery (?:successful|failed) events|Total link recovery events)"
    r"(?: Errors)?: (?P<value>\d{1,18})$"
)
_COUNTERS = {
    "Replay": "link_replay",
    "Recovery": "link_recovery",
    "CRC": "link_crc",
    "CRC FLIT": "link_crc",
    "CRC FLIT Error": "link_crc",
    "CRC Error": "link_crc",
    "Malformed packet": "link_error",
    "Buffer overrun": "link_error",
    "Local link integrity": "link_error",
    "Link recovery failed events": "link_error",
    "Total link recovery events": "link_recovery",
}


def sniff(head: Head) -> Verdict:
    """Error counters of links."""
    found = "Link 0: " in head.text and any(_ERRORS.match(line) for line in head.lines)
    return Verdict(0.9, "nvidia-smi nvlink -e") if found else Verdict(0.0, "no error counters of NVLink")


def read(file: EvidenceFile, context: Context) -> Iterator[CounterSample]:
    """Counter samples of family ``gpu``; the GPU's index is the device, the link the port."""
    counting = Counting(file, "gpu", _NAME, context.snapshot_time(file.path))
    gpu: str | None = None
    for line in file.lines():
        start, errors = _GPU.match(line.text), _ERRORS.match(line.text.rstrip())
        if start:
            gpu = start["gpu"]
        elif errors and errors["what"] in _COUNTERS:
            yield counting.sample(line, _COUNTERS[errors["what"]], int(errors["value"]), gpu, errors["link"])


_REPORT = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-8a5d0000-0000-0000-0000-000000000001)
\t Link 0: Replay Errors: 0
\t Link 0: Recovery Errors: 3
\t Link 0: CRC Errors: 12
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-8a5d0000-0000-0000-0000-000000000002)
\t Link 0: Replay Errors: 7
"""

ADAPTER = Adapter(
    name=_NAME,
    branch="host",
    emits=("host.counter_rise",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _REPORT,
            (
                ("counter", {"family": "gpu", "counter": "link_recovery", "value": 3, "device": "0", "port": "0"}),
                ("counter", {"counter": "link_replay", "value": 7, "device": "1"}),
            ),
        ),
        Sample(
            "GPU 0: NVIDIA A100 (UUID: GPU-8a5d)\n\t Link 0: CRC FLIT Error: 120\n",
            (("counter", {"counter": "link_crc", "value": 120}),),
        ),
        Sample("GPU 0: NVIDIA A100 (UUID: GPU-8a5d)\n\t Link 0: 26.562 GB/s\n"),
    ),
)
