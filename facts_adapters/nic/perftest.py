"""perftest programs (``ib_write_bw``, ``ib_send_bw`` ...): bandwidth between two hosts, with device, GID index, MTU.

``MB/sec`` and ``MiB/sec`` both count 2^20 bytes (``perftest_parameters.c``, ``format_factor``). The file that
``--out_json`` writes has no unit (and in 4.5 no quotes around its names): there the message rate in millions a
second times the message size counts, of messages from 64 kB. Latency tests say nothing of bandwidth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_TITLE = re.compile(r"^\s+(?P<test>(?:RDMA_(?:Write|Read)|Send|Atomic_\S+|RawEth)\s.*?(?:BW|Latency) Test)")
_DEVICE = re.compile(r"Device\s+: (?P<device>\S+)")
_MTU = re.compile(r"Mtu\s+: (?P<mtu>\d+)")
_GID = re.compile(r"GID index\s+: (?P<index>\d+)")
_COLUMNS = re.compile(r"#bytes\s+#iterations\s+BW peak\[(?P<unit>Gb|MB|MiB)/sec\]\s+BW average")
_ROW = re.compile(r"^\s*(?P<size>\d+)\s+\d+\s+(?P<peak>[\d.]+)\s+(?P<average>[\d.]+)\s+[\d.]+")
_TO_GBPS = {"Gb": 1.0, "MB": 8 * 1.048576e-3, "MiB": 8 * 1.048576e-3}
_JSON = re.compile(r'^\s*[{"]?\s*"?test_info"?\s*:\s*\{', re.MULTILINE)
_JSON_PAIR = re.compile(
    r'"?(?P<name>test|Device|Mtu|GID_index|MsgSize|BW_average|MsgRate)"?\s*:\s*(?:"(?P<text>[^"]{1,80})"|(?P<number>[\d.]{1,20}))'
)
_BARE = re.compile(
    r"^\s*(?P<size>\d{2,10})\s+\d{1,12}\s+[\d.]{1,12}\s+(?P<average>\d{1,9}\.\d{2,6})\s+(?P<rate>\d{1,5}\.\d{3,9})\s*$"
)
_LEAST_SIZE = 65_536
"""Bytes of a message from which its rate shows the bandwidth of the path."""

_ROUNDED = 0.01
"""Share by which the average and the message rate of one row may differ."""


def _sniff(head: Head) -> Verdict:
    if "test_info" in head.text and "MsgSize" in head.text and _JSON.search(head.text):
        return Verdict(0.95, "JSON of perftest")
    verdict = _ports.found(head, re.compile(_TITLE.pattern, re.MULTILINE), "perftest", 0.95)
    if verdict.score or not any(_rate_of(line) for line in head.lines):
        return verdict
    return Verdict(0.8, "rows of perftest without their heading")


def _rate_of(text: str) -> float | None:
    """Gb/s of a row that somebody copied without its heading: the message rate says which unit the average has."""
    row = _BARE.match(text)
    if not row or int(row["size"]) < _LEAST_SIZE:
        return None
    average, told = float(row["average"]), float(row["rate"]) * int(row["size"]) * 8e-3
    for factor in (_TO_GBPS["Gb"], _TO_GBPS["MB"]):
        if told and abs(average * factor - told) <= _ROUNDED * told:
            return round(average * factor, 2)
    return None


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    del context
    lines = list(_ports.lines(file))
    for begin, block in _ports.blocks(lines, _TITLE):
        yield from _run(file, begin["test"], block)
    for _, block in _ports.blocks(lines, _JSON):
        yield from _json(file, block)
    if not any(_TITLE.match(line.text) for line in lines):
        for line in lines:
            gbps = _rate_of(line.text)
            if gbps:
                fields: _ports.Fields = {"gbps": gbps, "tool": "perftest"}
                yield _ports.observe("nic.bandwidth", quote(file, line), fields, host=file.host)


def _json(file: EvidenceFile, block: list[Line]) -> Iterator[Observation]:
    said: dict[str, str] = {}
    where = block[0]
    for line in block:
        for pair in _JSON_PAIR.finditer(line.text):
            said[pair["name"]] = pair["text"] or pair["number"]
            where = line if pair["name"] == "MsgRate" else where
    size, rate = _ports.number(said.get("MsgSize", "")), _ports.decimal(said.get("MsgRate", ""))
    if size and rate and size >= _LEAST_SIZE:
        fields: _ports.Fields = {
            "gbps": round(rate * size * 8e-3, 2),
            "tool": said.get("test", "perftest"),
            "gid_index": _ports.number(said.get("GID_index", "")),
            "mtu": _ports.number(said.get("Mtu", "")),
        }
        yield _ports.observe("nic.bandwidth", quote(file, where), fields, host=file.host, device=said.get("Device"))


def _run(file: EvidenceFile, test: str, block: list[Line]) -> Iterator[Observation]:
    text = "\n".join(line.text for line in block)
    device, mtu, gid, columns = (pattern.search(text) for pattern in (_DEVICE, _MTU, _GID, _COLUMNS))
    if not columns:
        return
    best: tuple[Line, float] | None = None
    for line in block:
        row = _ROW.match(line.text)
        average = _ports.decimal(row["average"]) if row else None
        if average is not None and (best is None or average > best[1]):
            best = (line, average)
    if best:
        fields: _ports.Fields = {
            "gbps": round(best[1] * _TO_GBPS[columns["unit"]], 2),
            "tool": re.sub(r"\s+", " ", test),
            "gid_index": int(gid["index"]) if gid else None,
            "mtu": int(mtu["mtu"]) if mtu else None,
        }
        name = device["device"] if device else None
        yield _ports.observe("nic.bandwidth", quote(file, best[0]), fields, host=file.host, device=name)


ADAPTER = Adapter(
    name="perftest",
    branch="nic",
    emits=("nic.bandwidth",),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "---------------------------------------------------------------------------------------\n"
            "                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n"
            " Mtu             : 4096[B]\n GID index       : 3\n"
            " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
            " 65536      5000             390.11             388.02                   0.740088\n",
            (("nic.bandwidth", {"gbps": 388.02, "gid_index": 3, "mtu": 4096, "device": "mlx5_0"}),),
        ),
        Sample(
            "                    RDMA_Read BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_1\n"
            " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
            " 65536      5000             11670.33           11669.05\t\t   0.186705\n",
            (("nic.bandwidth", {"gbps": 97.89, "device": "mlx5_1"}),),
        ),
        Sample(
            'test_info: {\ntest: "RDMA_Write BW Test",\nDevice: "mlx5_2",\nMtu: 4096,\nGID_index: 3\n},\nresults: {\n'
            "MsgSize: 65536,\nn_iterations: 5000,\nBW_peak: 390.1,\nBW_average: 388.0,\nMsgRate: 0.740088\n}\n}\n",
            (("nic.bandwidth", {"gbps": 388.02, "gid_index": 3, "mtu": 4096, "device": "mlx5_2"}),),
        ),
        Sample(
            "                    RDMA_Write Latency Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n"
            " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]\n"
            " 2       1000          1.71           4.65         1.77     \t       1.80        \t0.11\n",
        ),
        Sample(
            "# n2\n 65536      11162210         0.00               391.12               0.745990\n",
            (("nic.bandwidth", {"gbps": 391.12, "tool": "perftest"}),),
        ),
        Sample("# five numbers\n 65536      11162210         0.00               391.12               0.845990\n"),
        Sample('{"test_info":{"test":"Send BW Test"},"results":{"MsgSize":2,"MsgRate":4.1}}\n'),
        Sample("                    RDMA_Write BW Test\n Completion with error at client\n", ()),
    ),
)
