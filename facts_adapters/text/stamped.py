"""Prefixes that begin with a time stamp, and what may follow one: a host and a tag, a level, a logger's name."""

from __future__ import annotations

import re

from facts_adapters.text import stamps
from facts_adapters.text.prefixes import LEVELS, Parts

_SYSLOG = re.compile(
    r" (?P<host>[A-Za-z0-9][\w.:-]*) (?:(?P<severity>EMERG|ALERT|CRIT|ERR|ERROR|WARNING|NOTICE|INFO|DEBUG) )?"
    r"(?P<tag>[A-Za-z_][\w./#@()-]{0,80})(?:\[(?P<pid>\d+)\])?: ?"
)
_BRAND = re.compile(
    r":?(?: [A-Z]{3,4}:)? (?:(?P<host>[A-Za-z0-9][\w.:-]*?) ?:? )?"
    r"(?P<code>(?:%{1,2}[A-Z0-9_]+[-/]|[A-Z][A-Z0-9_]+/\d/)\S*?:)"
)
_RFC5424 = re.compile(r" (?P<host>(?!\d{4}-\d\d-\d\d )\S+) (?P<tag>\S+) (?P<pid>\S+) (?P<id>\S+) (?:-|\[.*?\]) ")
_CRI = re.compile(r" (?:stdout|stderr) [FP](?: |$)")
_LOGURU = re.compile(r" \| (?P<level>[A-Z]+) *\| (?P<place>[^|]*?) - ")
_OPENSM = re.compile(r" (?P<usec>\d{6}) \[[0-9A-F]+\] 0x\w+ -> ")
_TRANSFORMERS = re.compile(r" >> ")
_LEVELLED = re.compile(
    r"(?:,? ?[-:|]?,? ?\[?(?P<level>" + LEVELS + r")\]?(?![\w])[ :|\]-]*)"
    r"(?:(?P<logger>[A-Za-z_][\w.]*)(?: - |: |:\d+ ?[-:]? ))?"
)
_DASHED = re.compile(
    r" - (?:(?P<only>" + LEVELS + r") - (?:(?P<named>[\w./<>-]+) - )?"
    r"|(?P<logger>[\w./<>-]+) - (?:(?P<level>" + LEVELS + r")(?: -)? ?[:-]? ?)?)"
)
_FABRICMANAGER = re.compile(r" \[(?P<level>[A-Z]+)\] \[tid \d+\] ?")
_PYTORCH_OLD = re.compile(r" (?P<logger>[A-Za-z_][\w.]*): \[(?P<level>" + LEVELS + r")\] ?")
_HYDRA = re.compile(r"(?:\[(?P<logger>[\w./<>-]+)\])?\[(?P<level>" + LEVELS + r")\](?: - )?")

_WEEKDAY = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ")


def leading(text: str, position: int, parts: Parts) -> int | None:
    """A line that begins with a bare stamp; returns where the rest begins, ``None`` where no stamp begins here."""
    start = position
    if text[start : start + 1] in "*.:%" and text[start + 1 : start + 2].isalpha():
        start += 1  # Cisco marks an unsynchronised clock that way, Comware every line
    found = stamps.parse(text, start)
    if not found:
        return _unix(text, position, parts)
    reading, end = found
    if text[end : end + 1] not in ("", " ", "\t", "|", ":", ",", "[", "]", "-", ">", "("):
        return None
    parts.stamp(reading)
    return _after(text, end, parts, reading.zone is not None)


def _unix(text: str, position: int, parts: Parts) -> int | None:
    match = re.compile(r"(\d{10}\.\d{3,6})(?= )").match(text, position)
    if not match:
        return None
    parts.stamp(stamps.epoch(match[1]))
    return _after(text, match.end(), parts, True)


def _after(text: str, end: int, parts: Parts, zoned: bool) -> int:
    opensm = _OPENSM.match(text, end)
    if opensm:
        parts.kind("opensm")
        return opensm.end()
    for pattern, kind in ((_CRI, "k8s"), (_LOGURU, "loguru"), (_TRANSFORMERS, "hf")):
        match = pattern.match(text, end)
        if match:
            parts.kind(kind)
            return match.end()
    brand = _BRAND.match(text, end)
    if brand:
        parts.kind("switch")
        parts.host = brand["host"] or parts.host
        return brand.start("code")
    dashed = _DASHED.match(text, end)
    if dashed:
        parts.kind("python")
        level = dashed["level"] or dashed["only"]
        parts.level = level.lower() if level else None
        return dashed.end()
    levelled = _LEVELLED.match(text, end)
    if levelled:
        parts.kind("python")
        parts.level = levelled["level"].lower()
        return levelled.end()
    return _syslog(text, end, parts, zoned)


def _syslog(text: str, end: int, parts: Parts, zoned: bool) -> int:
    modern = _RFC5424.match(text, end) if zoned else None
    match = _SYSLOG.match(text, end)
    if match is None and modern is None:
        if zoned and not parts.kinds and text[end : end + 1] in (" ", ""):
            parts.kind("kernel" if "," in text[end - 14 : end] else "k8s")  # only dmesg writes a comma and a zone
        return end + (1 if text[end : end + 1] in (" ", "\t") else 0)
    if match is None and modern is not None:
        parts.kind("syslog")
        parts.host, parts.unit = modern["host"], modern["tag"]
        parts.kind("kernel" if modern["tag"] == "kernel" else "syslog")
        return modern.end()
    assert match is not None
    parts.host, parts.unit = match["host"], match["tag"]
    parts.pid = int(match["pid"]) if match["pid"] else parts.pid
    branded = text[match.end() : match.end() + 1] == "%"
    parts.kind("switch" if match["severity"] or branded else "syslog")
    if match["tag"] == "kernel":
        parts.kind("kernel")
    elif match["tag"] == "systemd":
        parts.kind("journal")
    return match.end()


_IN_BRACKETS = re.compile(r"(?: [^\]\[]{1,40})?\](?P<blank> ?)")


def bracketed(text: str, position: int, parts: Parts) -> int | None:
    """``[stamp] …`` in its many uses; returns where the rest begins, ``None`` where no stamp stands in the bracket."""
    found = stamps.parse(text, position + 1)
    if not found:
        return None
    reading, end = found
    close = _IN_BRACKETS.match(text, end)
    if not close:
        return None
    rank = re.match(r" (?:.* )?(?:TP|DP|PP|EP)\d+", text[end : close.start("blank")])
    parts.stamp(reading)
    if rank:
        parts.kind("python")
    end = close.end()
    before = close.end() - len(close["blank"])
    fabric = _FABRICMANAGER.match(text, before)
    hydra = _HYDRA.match(text, before)
    old = _PYTORCH_OLD.match(text, before)
    if fabric:
        parts.kind("fabricmanager")
        return fabric.end()
    if old:
        parts.kind("torch_python" if old["logger"].startswith("torch") else "python")
        parts.level = old["level"].lower()
        return old.end()
    if hydra and not rank:
        parts.kind("python")
        parts.level = hydra["level"].lower()
        return hydra.end()
    return _bracket_kind(text, position, end, parts)


_SLURM = re.compile(r"(?:(?:error|fatal|debug\d?|info|verbose|sched|backfill)(?:: |_)|_slurm|slurm)")


def _bracket_kind(text: str, position: int, end: int, parts: Parts) -> int:
    inside = text[position + 1 : end]
    if _WEEKDAY.match(inside) or re.match(r"[A-Z][a-z]{2}\d\d? \d\d:\d\d\]", inside):
        parts.kind("kernel")
    elif inside[10:11] == "T" and "." in inside and _SLURM.match(text, end):
        parts.kind("slurm")
    elif text.startswith("iteration", end):
        parts.kind("megatron")
    elif text[end : end + 1] == "[" or re.match(LEVELS, text[end : end + 10]):
        parts.kind("python")
    return end
