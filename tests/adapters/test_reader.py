"""A bundle is read whole: files placed, given to their readers, and one failure never stops the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.facts.model import CounterSample, Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Verdict
from facts_adapters.bundle import UnreadableBundle
from facts_adapters.discovery import Forced, Registry, choose, registry
from facts_adapters.explain import explain
from facts_adapters.reader import read_bundle
from facts_adapters.result import BundleReading
from facts_adapters.streams import Limits
from facts_adapters.text.reader import TextReader
from facts_adapters.text.signatures import load_signatures
from facts_adapters.text.stamps import reading
from facts_adapters.trial import try_samples
from tests.adapters.text.conftest import SIGNATURES, VOCABULARY


def sniff_state(head: Head) -> Verdict:
    return Verdict(1.0, "begins with STATE") if head.text.startswith("STATE") else Verdict(0.0, "no STATE")


def read_state(file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    for line in file.lines():
        if line.text.startswith("port "):
            yield Observation("comm.lost", Source(file.path, line.number, line.text), {"text": line.text})
        elif line.text.startswith("count "):
            yield CounterSample(Source(file.path, line.number), "toy", "c", int(line.text.split()[1]), host=file.host)
        elif line.text == "fail":
            raise ValueError("a line that cannot be")


def sniff_never(head: Head) -> Verdict:
    raise KeyError("sniff")


def read_nothing(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    context.warn(file.path, 1, "nothing in it")
    return ()


STATE = Adapter("state", "comm", ("comm.lost",), "comm_state", sniff_state, read_state)
NEVER = Adapter("never", "comm", (), None, sniff_never, read_nothing)
TOYS = Registry((STATE, NEVER), ())


@pytest.fixture(scope="module")
def toy_reader(tmp_path_factory: pytest.TempPathFactory) -> TextReader:
    path = tmp_path_factory.mktemp("signatures") / "toy.yaml"
    path.write_text(SIGNATURES, encoding="utf-8")
    return TextReader(load_signatures([path], VOCABULARY).signatures)


class Reader:
    """Writes files and reads them as a bundle."""

    def __init__(self, root: Path, reader: TextReader) -> None:
        self.root = root
        self.reader = reader

    def __call__(self, files: dict[str, str | bytes], *forced: str) -> BundleReading:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        chosen = [Forced.parse(text) for text in forced]
        return read_bundle(self.root, reader=self.reader, adapters=TOYS, forced=chosen)


@pytest.fixture
def read(tmp_path: Path, toy_reader: TextReader) -> Reader:
    return Reader(tmp_path / "inc-9", toy_reader)


LOST = "2026-01-01 10:00:00,000 INFO x: lost peer p status=1\n"


def lost(result: BundleReading) -> list[tuple[str, str | None, int | None]]:
    return [(o.source.path, o.host, o.rank) for o in result.observations if o.kind != "coverage.source"]


def covered(result: BundleReading) -> list[tuple[str, object, str | None]]:
    return [(o.source.path, o.fields["class"], o.host) for o in result.observations if o.kind == "coverage.source"]


def test_files_are_placed(read: Reader) -> None:
    result = read({"logs/n1/rank_003.log": LOST, "logs/n2/train.log": LOST})
    assert result.manifest.id == "inc-9"
    assert lost(result) == [("logs/n1/rank_003.log", "n1", 3), ("logs/n2/train.log", "n2", None)]
    assert covered(result) == [("logs/n1/rank_003.log", "job_log", "n1"), ("logs/n2/train.log", "job_log", "n2")]
    assert not result.warnings


def test_the_manifest_places_files(read: Reader) -> None:
    manifest = "sources: [{path: 'a/*.log', host: gpu1, rank: 5, job: j7}]\njob: {nodes: [gpu1]}\n"
    manifest += "labels: {x: lost peer l status=1}\n"
    result = read({"incident.yaml": manifest, "a/x.log": LOST, "gpu1/y.log": LOST})
    assert lost(result) == [("a/x.log", "gpu1", 5), ("gpu1/y.log", "gpu1", None)]
    assert [o.job for o in result.observations if o.kind == "comm.lost"] == ["j7", None]


def test_problems_of_the_manifest_are_warnings(read: Reader) -> None:
    result = read({"incident.yaml": "id: a\njbo: 1\n", "a.log": LOST})
    assert [(w.path, w.line) for w in result.warnings] == [("incident.yaml", 2)]
    assert str(result.warnings[0]).startswith('incident.yaml:2: unknown key "jbo"')


def test_coverage_spans_the_stamps(read: Reader) -> None:
    result = read({"n1/dmesg.txt": "[1.000000] a\nnoise\n[9.500000] b\n", "notes.txt": "plain\n"})
    (cover,) = result.observations
    assert cover.fields == {"class": "kernel_log", "lines": 3}
    assert (cover.after, cover.until) == (reading("[1.000000]"), reading("[9.500000]"))


def test_a_system_log_with_kernel_lines_covers_both(read: Reader) -> None:
    text = "Jan  1 10:00:00 n7 systemd[1]: a\nJan  1 10:00:01 n7 kernel: [1.0] b\n"
    assert covered(read({"syslog": text})) == [("syslog", "kernel_log", "n7"), ("syslog", "system_log", "n7")]


def test_whole_file_adapters(read: Reader) -> None:
    files: dict[str, str | bytes] = {
        "c/before/n1/s.txt": "STATE\nport 1\ncount 3\n",
        "c/before/date.txt": "Thu Jan  1 10:00:00 UTC 2026\n",
        "c/t1/n1/s.txt": "STATE\ncount 4\n",
        "prev/s.txt": "STATE\nport 2\n",
    }
    result = read(files)
    first, second = result.samples
    at = reading("2026-01-01 10:00:00 UTC")
    assert (first.host, first.group, first.when, first.adapter) == ("n1", "before", at, "state")
    assert (second.host, second.group, second.when) == ("n1", "t1", None)
    ports = [o for o in result.observations if o.kind == "comm.lost"]
    assert [(o.host, o.when, o.run, o.adapter) for o in ports] == [
        ("n1", at, None, "state"),
        (None, None, "prev", "state"),
    ]
    assert ("c/t1/n1/s.txt", "comm_state", "n1") in covered(result)


def test_a_log_in_a_dated_snapshot_is_older_than_it(read: Reader) -> None:
    result = read({"x/t0/a.txt": "lost peer p status=1\n", "x/t0/date.txt": "2026-01-01T10:00:00Z\n"})
    (found,) = [o for o in result.observations if o.kind == "comm.lost"]
    assert (found.when, found.after, found.until) == (None, None, reading("2026-01-01T10:00:00Z"))


def test_only_a_file_named_after_a_date_dates_its_folder(read: Reader) -> None:
    result = read({"x/t0/s.txt": "STATE\nport 1\n", "x/t0/last_reboot.txt": "2026-01-01T10:00:00Z\n"})
    assert result.observations[0].when is None


def test_the_stamp_of_a_folder(read: Reader) -> None:
    result = read({"c/20260101T100000Z/s.txt": "STATE\ncount 3\n"})
    assert result.samples[0].when == reading("20260101T100000Z")


def test_an_adapter_that_fails(read: Reader) -> None:
    result = read({"a.txt": "STATE\nport 1\nfail\nport 2\n", "b.log": LOST})
    assert lost(result) == [("a.txt", None, None), ("b.log", None, None)]
    assert [str(w) for w in result.warnings] == ["a.txt: the adapter state failed: ValueError: a line that cannot be"]


def test_an_adapter_can_be_forced(read: Reader) -> None:
    result = read({"a.txt": "port 1\n", "b.txt": "STATE\nport 2\n"}, "state=a.*", "never=b.txt")
    assert lost(result) == [("a.txt", None, None)]
    assert [(w.path, w.reason) for w in result.warnings] == [("b.txt", "nothing in it")]
    for text in ("state", "=x", "state="):
        with pytest.raises(ValueError, match="NAME=GLOB"):
            Forced.parse(text)


def test_the_manifest_forces_an_adapter(read: Reader) -> None:
    result = read({"incident.yaml": "sources: [{path: a.txt, adapter: state}]", "a.txt": "port 1\n"})
    assert lost(result) == [("a.txt", None, None)]


def test_a_sniff_that_fails_is_a_no() -> None:
    choices = choose(Head("a", "STATE", ("STATE",)), TOYS.adapters)
    assert [(c.adapter, c.taken) for c in choices] == [("state", True), ("never", False)]
    assert "KeyError" in choices[1].verdict.why


def test_hosts_from_the_lines(read: Reader) -> None:
    central = "".join(f"Jan  1 10:00:00 n{i} app[1]: lost peer p status={i}\n" for i in (1, 2))
    result = read({"all/messages": central})
    assert lost(result) == [("all/messages", "n1", None), ("all/messages", "n2", None)]


def test_a_pod_is_known_by_the_host_of_its_path(read: Reader) -> None:
    own = "trainer-0:7:8 [0] x.cc:1 NCCL WARN lost peer a status=1\n"
    both = own + "trainer-1:7:8 [0] x.cc:1 NCCL WARN lost peer b status=1\n"
    result = read({"logs/gpu-17/train.log": own, "merged.log": both})
    assert lost(result) == [
        ("logs/gpu-17/train.log", "gpu-17", None),
        ("merged.log", "gpu-17", None),
        ("merged.log", "trainer-1", None),
    ]


def test_local_ranks_of_a_launchers_folder(read: Reader) -> None:
    stated = "rank 10/16 local_rank 2 host n2 pid 5\n"
    result = read({"r/attempt_0/2/stderr.log": stated + LOST, "r/attempt_0/3/stderr.log": LOST})
    assert [rank for _, _, rank in lost(result)] == [10, None]


def test_one_node_needs_no_map(read: Reader) -> None:
    result = read({"incident.yaml": "job: {world_size: 8, gpus_per_node: 8}", "r/attempt_0/3/stderr.log": LOST})
    assert [rank for _, _, rank in lost(result)] == [3]


def test_attempts_before_the_last_are_marked(read: Reader) -> None:
    result = read({"r/attempt_0/0/stderr.log": LOST, "r/attempt_1/0/stderr.log": LOST})
    assert [o.run for o in result.observations if o.kind == "comm.lost"] == ["attempt_0", None]


def test_wide_and_marked_encodings(read: Reader) -> None:
    result = read(
        {"a.log": LOST.encode("utf-16"), "b.log": b"\xef\xbb\xbf" + LOST.encode(), "c.log": b"\x00\x01\x02" * 99}
    )
    assert [path for path, *_ in lost(result)] == ["a.log", "b.log"]
    assert [(report.path, report.text) for report in result.files] == [
        ("a.log", True),
        ("b.log", True),
        ("c.log", False),
    ]


def test_a_file_that_cannot_be_opened(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    from facts_adapters.bundle import Opener

    real = Opener.__call__

    def refuse(self: Opener) -> object:
        if self.path.endswith("a.log"):
            raise PermissionError(13, "Permission denied")
        return real(self)

    monkeypatch.setattr(Opener, "__call__", refuse)
    result = read({"a.log": LOST, "b.log": LOST})
    assert lost(result) == [("b.log", None, None)]
    assert "Permission denied" in str(result.warnings[0])


def test_folding_is_told(read: Reader) -> None:
    result = read({"a.log": "lost peer p status=1\n" * 1_500})
    assert len(lost(result)) == 1_001
    assert "499 more equal lines of toy/lost" in str(result.warnings[0])


def test_the_order_of_files_is_fixed(read: Reader) -> None:
    names = [f"logs/n{i}/x.log" for i in (10, 2, 1)]
    first = read(dict.fromkeys(names, LOST))
    assert [report.path for report in first.files] == ["logs/n1/x.log", "logs/n10/x.log", "logs/n2/x.log"]
    assert read({}).observations == first.observations


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(UnreadableBundle):
        read_bundle(tmp_path / "absent")


def test_explain(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "n1" / "rank_3.log"
    path.parent.mkdir(parents=True)
    path.write_text(LOST, encoding="utf-8")
    (tmp_path / "incident.yaml").write_text("id: x\nlabels: {causes: [secret-cause]}\n", encoding="utf-8")
    text = "\n".join(explain(path))
    assert 'n1  because folder "n1"' in text
    assert '3  because "rank_3.log" names the rank' in text
    assert "2026-01-01 10:00:00.000000 local time" in text
    assert "secret" not in text
    assert "not a file of" in "\n".join(explain(tmp_path / "absent.log", tmp_path))


def test_every_reader_keeps_its_word() -> None:
    assert not list(try_samples())


def test_names_are_unique() -> None:
    names = [adapter.name for adapter in registry().adapters]
    assert len(names) == len(set(names))


NAMES = ["a.log", "n1/dmesg", "x/before/s.json", "r.gz", "y.tar", "sacct.txt", "trace_rank_0", "date.txt"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40, derandomize=True)
@given(
    st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=200) | st.text(max_size=200).map(str.encode), min_size=1)
)
def test_any_files(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    """All built-in readers on random files."""
    root = tmp_path_factory.mktemp("b")
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    try:
        result = read_bundle(root)
    except UnreadableBundle:
        return
    assert len(result.files) <= len(files)


SAMPLES = [
    (adapter.name, sample.path, sample.text)
    for adapter in registry().adapters
    for sample in adapter.samples
    if sample.expect
]


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.sampled_from(SAMPLES), st.randoms(use_true_random=False))
def test_mutated_samples(
    tmp_path_factory: pytest.TempPathFactory, sample: tuple[str, str, str], random: object
) -> None:
    """Every adapter on damaged samples of its own: no adapter may fail."""
    from random import Random

    assert isinstance(random, Random)
    name, path, text = sample
    raw = bytearray(text.encode())
    for _ in range(random.randint(1, 6)):
        at = random.randrange(len(raw) + 1)
        action = random.randrange(4)
        if action == 0:
            del raw[at : at + random.randint(1, 40)]
        elif action == 1:
            raw[at:at] = random.choice(
                [b"\0", b"\n", b"9" * 30, b"-1", b"{", b"}", b"[", b'"', b"\xff", b": ", b"|", b"1e999"]
            )
        elif action == 2:
            raw[at:at] = raw[: random.randint(0, 200)]
        else:
            raw = raw[:at] or bytearray(b"x")
    root = tmp_path_factory.mktemp("m")
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(bytes(raw))
    result = read_bundle(root, forced=[Forced(name, "*")])
    failures = [str(w) for w in result.warnings if "failed" in w.reason]
    assert not failures, (failures, bytes(raw))


def test_long_files_are_mapped(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    from facts_adapters.text import content

    monkeypatch.setattr(content, "IN_MEMORY", 100)
    result = read({"a.log": "noise\n" * 100 + LOST, "b.log": "noise\r" * 100 + LOST})
    assert [o.source.line for o in result.observations if o.kind == "comm.lost"] == [101, 1]


def test_the_total_is_limited(tmp_path: Path, toy_reader: TextReader) -> None:
    for name in "abc":
        (tmp_path / f"{name}.log").write_text(LOST * 10, encoding="utf-8")
    result = read_bundle(tmp_path, reader=toy_reader, adapters=TOYS, limits=Limits(total_bytes=len(LOST) * 15))
    assert {o.source.path for o in result.observations} == {"a.log", "b.log"}
    assert [w.path for w in result.warnings] == ["c.log"]


def test_over_long_lines_are_told(read: Reader) -> None:
    result = read({"a.log": "lost peer p status=1 " + "x" * 70_000 + "\n"})
    assert len(lost(result)) == 1
    assert [(w.path, w.line) for w in result.warnings] == [("a.log", 1)]


def test_a_switch_that_runs_linux(read: Reader) -> None:
    text = "Jan  1 10:00:00 leaf1 switchd[7]: a\nJan  1 10:00:01 leaf1 kernel: [1.0] b\n"
    classes = {name for _, name, _ in covered(read({"switches/leaf1/syslog": text}))}
    assert classes == {"kernel_log", "switch_log", "system_log"}


def test_peers_by_the_name_of_the_bundle(read: Reader) -> None:
    text = "2026-01-01 10:00:00 lost peer {} status=1\n"
    names = ("n2.cluster.local", "10.0.0.1", "elsewhere")
    result = read({"incident.yaml": "job: {nodes: [n1, n2]}", "a.log": "".join(map(text.format, names))})
    assert [o.peer for o in result.observations if o.kind == "comm.lost"] == ["n2", "10.0.0.1", "elsewhere"]


def test_refusals_are_kept_only_for_people_who_ask(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("nothing\n")
    assert read_bundle(tmp_path).files[0].choices == []
    assert len(read_bundle(tmp_path, only=lambda path: path == "a.log").files[0].choices) == len(registry().adapters)
