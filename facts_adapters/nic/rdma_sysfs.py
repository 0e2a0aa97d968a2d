"""Files of ``/sys/class/infiniband``: one counter a file, or a listing ``path:value`` as ``grep -H .`` prints it.

Counters of a port carry no time of their own; the snapshot folder's ``date.txt`` gives it. The port state files of the
same tree (``state``, ``phys_state``, ``rate``, ``link_layer``) and the traffic class are settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Reading, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_COUNTER = re.compile(
    r"(?:^|/)(?P<device>[A-Za-z][\w-]*)/(?:ports/(?P<port>\d+)/)?(?P<folder>hw_counters|counters)/(?P<name>\w+)$"
)
_LISTING = re.compile(
    r"\s{0,8}(?:(?P<host>[\w.-]{1,64}): ?)?(?:[^\s:]*/)?(?P<device>[A-Za-z][\w-]*)/(?:ports/(?P<port>\d+)/)?"
    r"(?P<folder>hw_counters|counters)/(?P<name>\w+)[:=\s]\s{0,20}(?P<value>\d+)\s*$"
)
_BARE = re.compile(
    r"\s{0,20}(?P<name>req_transport_retries_exceeded|req_rnr_retries_exceeded|local_ack_timeout_err|packet_seq_err"
    r"|out_of_sequence|rnr_nak_retry_err|implied_nak_seq_err|duplicate_request|roce_adp_retrans(?:_to)?|rp_cnp_ignored"
    r"|roce_slow_restart(?:_cnps|_trans)?|rp_cnp_handled|np_cnp_sent|np_ecn_marked_roce_packets|rx_icrc_encapsulated"
    r"|(?:req|resp)_cqe_(?:flush_)?error|(?:req|resp)_remote_access_errors|req_remote_invalid_request"
    r"|resp_local_length_error|rx_(?:read|write|atomic)_requests|out_of_buffer)"
    r"\s{0,20}[:=]?\s{0,20}(?P<value>\d{1,20})\s*$"
)
_OTHER_COUNTER = re.compile(r"\s{0,20}[a-z]\w{0,60}\s{0,20}[:=]\s{0,20}\d{1,20}\s*$")
_HEADING = 100
"""Characters of a line that may be a heading with the name of a device."""
_VALUE = re.compile(r"\s*(\d+)\s*$")
_BROADCOM = {"to_retransmits", "max_retry_exceeded", "seq_err_naks_rcvd", "missing_resp", "oos_drop_count", "dup_req"}
_AMAZON = re.compile(r"rdma_(?:read|write)_\w+|(?:send|recv)_(?:wrs|bytes)|no_completion_cmds|retrans_\w+|\w+_events")


def _listed(text: str) -> re.Match[str] | None:
    """A line of a listing; long lines are something else."""
    return _LISTING.match(text) if "counters/" in text and len(text) < 600 else None


def family_of(device: str, folder: str, name: str) -> str:
    """The naming scheme of a counter: by the folder, the device's name, and names that only one driver has."""
    if folder == "counters":
        return "ib_port"
    if device.startswith("bnxt") or name in _BROADCOM:
        return "bnxt_re_hw"
    if re.search(r"[a-z][A-Z]|^RxECN", name):
        return "irdma_hw"
    if device.startswith(("efa", "rdmap")) or _AMAZON.fullmatch(name):
        return "efa_hw"
    return "mlx5_hw"


def _sniff(head: Head) -> Verdict:
    if _COUNTER.search(head.path):
        plain = bool(_VALUE.match(head.text)) or "N/A" in head.text[:20]
        return Verdict(1.0 if plain else 0.0, "path of a counter of an RDMA port")
    hits = sum(1 for line in head.lines[:40] if _listed(line) or _BARE.match(line))
    return Verdict(0.95 if hits else 0.0, f"{hits} lines name a counter of an RDMA port")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    match = _COUNTER.search(file.path)
    if match:
        yield from _single(file, match, when)
        return
    device = _ports.rdma_of_path(file.path)
    seen: set[str] = set()
    for line in _ports.lines(file):
        listed, bare = _listed(line.text), _BARE.match(line.text)
        if bare and bare["name"] in seen:
            continue  # of another device, or later: nothing tells which
        if bare:
            seen.add(bare["name"])
            yield _bare(file, device, bare, quote(file, line), when)
        elif listed:
            source = quote(file, line)
            yield _sample(listed, int(listed["value"]), source, listed["host"] or file.host, file.group, when)
        elif line.text.strip() and not _OTHER_COUNTER.match(line.text):
            stamp = context.reading(line.text)
            when = stamp or when
            seen.clear()
            if len(line.text) <= _HEADING:
                device = _ports.rdma_of_path(line.text.replace(" ", "/")) or device


def _single(file: EvidenceFile, match: re.Match[str], when: Reading | None) -> Iterator[CounterSample]:
    for line in _ports.lines(file):
        value = _VALUE.match(line.text)
        if value:
            yield _sample(match, int(value[1]), quote(file, line), file.host, file.group, when)
        return


def _bare(
    file: EvidenceFile, device: str | None, match: re.Match[str], source: Source, when: Reading | None
) -> CounterSample:
    """A counter of which only the name stands there; its device is the one of the heading or the file's name."""
    return CounterSample(
        source=source,
        family="mlx5_hw",
        counter=match["name"],
        value=int(match["value"]),
        host=file.host,
        device=device,
        group=file.group,
        when=when,
        adapter="rdma_sysfs",
    )


def _sample(
    match: re.Match[str], value: int, source: Source, host: str | None, group: str, when: Reading | None
) -> CounterSample:
    device = match["device"]
    return CounterSample(
        source=source,
        family=family_of(device, match["folder"], match["name"]),
        counter=match["name"],
        value=value,
        host=host,
        device=device,
        port=f"{device}:{match['port']}" if match["port"] else None,
        group=group,
        when=when,
        adapter="rdma_sysfs",
    )


ADAPTER = Adapter(
    name="rdma_sysfs",
    branch="nic",
    emits=("nic.counter_rise", "nic.counter_symptom", "nic.counter_activity", "nic.counter_value", "nic.counter_idle"),
    coverage="nic_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err:3655\n"
            "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:2\n",
            (
                ("counter", {"family": "mlx5_hw", "counter": "packet_seq_err", "value": 3655, "device": "mlx5_0"}),
                ("counter", {"family": "ib_port", "counter": "link_downed", "value": 2, "port": "mlx5_0:1"}),
            ),
        ),
        Sample(
            "259\n",
            (("counter", {"counter": "local_ack_timeout_err", "value": 259}),),
            "t0/n1/mlx5_2/ports/1/hw_counters/local_ack_timeout_err",
        ),
        Sample(
            "mlx5_0 after the run\nlocal_ack_timeout_err: 61\npacket_seq_err  12\n",
            (
                (
                    "counter",
                    {"family": "mlx5_hw", "counter": "local_ack_timeout_err", "value": 61, "device": "mlx5_0"},
                ),
                ("counter", {"counter": "packet_seq_err", "value": 12}),
            ),
        ),
        Sample(
            "lifespan:10\nout_of_sequence:12\nrx_write_requests:880\n",
            (("counter", {"counter": "rx_write_requests", "value": 880, "device": "mlx5_3"}),),
            "n1/hw_counters_mlx5_3.txt",
        ),
        Sample(
            "mlx5_0\nout_of_buffer:0\npacket_seq_err:3\nmlx5_1\nout_of_buffer:0\npacket_seq_err:9000\n",
            (
                ("counter", {"counter": "packet_seq_err", "value": 3, "device": "mlx5_0"}),
                ("counter", {"counter": "packet_seq_err", "value": 9000, "device": "mlx5_1"}),
            ),
        ),
        Sample("local_ack_timeout_err 4 times the last\n"),
        Sample("259\n", (), "t0/n1/notes/answer.txt"),
    ),
)
