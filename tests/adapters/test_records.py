"""Records over several lines are read as the one line that they are elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from facts_adapters.reader import read_bundle
from facts_adapters.records import joiner

MESSAGE = "nfs: server filer-a not responding, still trying"
EPOCH = 1718187742000123

DMESG = f"""\
{{
   "dmesg": [
      {{
         "pri":6,
         "time":     0.000000,
         "msg":"Command line: root=/dev/sda1 \\"quoted\\""
      }},{{
         "pri":4,
         "time":   812.500000,
         "msg":"{MESSAGE}"
      }}
   ]
}}
"""
PRETTY = f"""\
{{
\t"__CURSOR" : "s=1;i=2",
\t"__REALTIME_TIMESTAMP" : "{EPOCH}",
\t"_TRANSPORT" : "kernel",
\t"_HOSTNAME" : "n032",
\t"MESSAGE" : "{MESSAGE}"
}}
"""
EXPORT = f"""\
__CURSOR=s=1;i=2
__REALTIME_TIMESTAMP={EPOCH}
_TRANSPORT=kernel
_HOSTNAME=n032
MESSAGE={MESSAGE}

__CURSOR=s=1;i=3
__REALTIME_TIMESTAMP={EPOCH}
_TRANSPORT=stdout
MESSAGE=hello
"""
VERBOSE = f"""\
Wed 2024-06-12 10:22:22.000123 UTC [s=1;i=2;b=3;m=4;t=5;x=6]
    _TRANSPORT=kernel
    _HOSTNAME=n032
    MESSAGE={MESSAGE}
Wed 2024-06-12 10:22:23.000123 UTC [s=1;i=3;b=3;m=4;t=5;x=6]
    _TRANSPORT=stdout
    SYSLOG_IDENTIFIER=train
    _PID=4711
    MESSAGE=hello
"""


@pytest.mark.parametrize(
    ("text", "line", "basis", "time"),
    [
        (DMESG, 10, "boot", 812_500_000),
        (PRETTY, 6, "utc", EPOCH),
        (EXPORT, 5, "utc", EPOCH),
        (VERBOSE, 4, "utc", EPOCH),
    ],
    ids=["dmesg", "pretty", "export", "verbose"],
)
def test_time_and_message_meet(text: str, line: int, basis: str, time: int, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(text)
    result = read_bundle(tmp_path)
    (found,) = [record for record in result.observations if record.kind.startswith("host.")]
    assert (found.kind, found.source.line) == ("host.storage_not_responding", line)
    assert found.when is not None
    assert (found.when.basis, found.when.earliest) == (basis, time)
    assert "kernel_log" in {r.fields["class"] for r in result.observations if r.kind == "coverage.source"}
    assert not result.warnings


@pytest.mark.parametrize(
    "text",
    [
        '{"MESSAGE": "one line", "__REALTIME_TIMESTAMP": "1"}\n',
        '{\n  "time": 0.5,\n  "msg": "a trainer"\n}\n',
        "Wed 2024-06-12 10:22:22 UTC n032 kernel: plain\n",
        "MESSAGE=hello\n_HOSTNAME=n\n",
        "",
    ],
)
def test_other_lines_stand_for_themselves(text: str) -> None:
    assert joiner(text.splitlines()) is None


@pytest.mark.parametrize("text", [DMESG, PRETTY, EXPORT, VERBOSE])
def test_a_torn_record_never_raises(text: str, tmp_path: Path) -> None:
    for length in range(0, len(text), 7):
        (tmp_path / "log.txt").write_text(text[:length] + "\x00\xff\n{\n}\n")
        result = read_bundle(tmp_path)
        assert not [warning for warning in result.warnings if "failed" in warning.reason]
