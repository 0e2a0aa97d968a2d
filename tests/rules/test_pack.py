"""Packs: what is read, overlays, the hash, compiled rules."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.inference import infer
from engine.rules.examples import facts_of
from engine.rules.loading import without_examples
from engine.rules.model import (
    AbsentCondition,
    AnyCondition,
    Count,
    FactCondition,
    Join,
    Place,
    Precedes,
    Test,
    Text,
    Within,
)
from engine.rules.pack import InvalidPack, Pack, compile_rules, load_packs

SMALL = Path(__file__).resolve().parent / "pack"


@pytest.fixture(scope="module")
def small() -> Pack:
    return load_packs(builtin=SMALL)


def overlay(folder: Path, files: dict[str, str], disable: str = "[]") -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pack.yaml").write_text(f'schema: 1\nname: site\nversion: "2"\ndisable: {disable}\n', encoding="utf-8")
    return folder


def small_file(name: str) -> str:
    return (SMALL / name).read_text(encoding="utf-8")


def test_contents(small: Pack) -> None:
    assert (small.name, small.version) == ("small", "1.0")
    assert list(small.leaves) == ["host.oom-kill", "job.process-exit", "nic.link-down"]
    assert list(small.propagation) == ["exit-closes-peers", "kill-ends-process"]
    assert list(small.evidence) == sorted(small.evidence)
    assert small.profiles["weights"]["decisive"] == 6
    assert small.tree is not None
    assert small.tree.branches[0].causes == ("job.process-exit",)


def test_leaf(small: Pack) -> None:
    leaf = small.leaves["host.oom-kill"]
    assert (leaf.branch, leaf.owner, leaf.phase, leaf.prior) == ("host", "host", None, -3.0)
    assert leaf.title == Text("The kernel killed a process", "内核杀死进程")
    assert [kind for kind, _ in leaf.minimal_evidence] == ["host.oom_kill"]
    assert leaf.place == Place("tree/host/oom-kill.yaml", 1, 1)


def test_evidence_rule(small: Pack) -> None:
    rule = small.evidence["host.oom-kill/kernel-killed-rank"]
    assert (rule.cause, rule.effect, rule.strength, rule.group) == ("host.oom-kill", "supports", "decisive", "kill")
    assert rule.when == (
        FactCondition(
            "host.oom_kill",
            "kill",
            tests=(Test("extent", "==", "memcg"), Test("process", "not_in", ("sshd", "slurmd"))),
        ),
        FactCondition(
            "job.process_exit",
            "exit",
            tests=(Test("signal", "==", 9),),
            joins=(Join("host", "==", "kill", "host"),),
            order=(Precedes("after", "kill"),),
            within=(Within("kill", 120_000_000),),
        ),
        AbsentCondition("job.cancelled", "kill", order=(Precedes("before", "kill"),)),
    )
    assert rule.first == "kill"
    assert rule.suspects == (("kill", "host"), ("exit", "rank"))
    assert rule.verified
    assert rule.place == Place("evidence/host/oom-kill.yaml", 6, 5)


def test_alternatives_and_counts(small: Pack) -> None:
    rule = small.evidence["host.oom-kill/symptoms-follow"]
    assert rule.group == "symptoms-follow"
    any_of = rule.when[1]
    assert isinstance(any_of, AnyCondition)
    assert [branch[0].kind for branch in any_of.branches] == [
        "host.swap",
        "comm.peer_closed",
        "comm.collective_timeout",
    ]
    symptom = any_of.branches[1][0]
    assert isinstance(symptom, FactCondition)
    assert symptom.unexplained
    counted = rule.when[2]
    assert isinstance(counted, FactCondition)
    assert counted.count == Count(2, ("rank",))


def test_propagation_with_alternatives_becomes_one_rule_for_each_choice(small: Pack) -> None:
    rule = small.propagation["exit-closes-peers"]
    pairs = {(when[0], when[1]) for when in (rule.when, *rule.variants)}
    assert len(pairs) == 4
    for cause, effect in pairs:
        assert isinstance(cause, FactCondition)
        assert isinstance(effect, FactCondition)
        assert (cause.alias, effect.alias, effect.order) == ("cause", "effect", ())
    kill = small.propagation["kill-ends-process"].when[1]
    assert isinstance(kill, FactCondition)
    assert kill.order == (Precedes("after", "cause"),)
    assert kill.within == (Within("cause", 120_000_000),)


def test_compiled_rules_are_accepted_by_inference(small: Pack) -> None:
    rules = compile_rules(small)
    assert {rule.id for rule in rules} == {*small.evidence, *small.propagation}
    assert all((rule.emits is not None) == (rule.id in small.propagation) for rule in rules)
    assert infer(rules, (), small.vocabulary, backend="reference").firings == ()
    assert small.rule("kill-ends-process") is small.propagation["kill-ends-process"]
    assert small.rule("nothing") is None


def test_vocabulary(small: Pack) -> None:
    spec = small.vocabulary["host.oom_kill"]
    assert (spec.nature, spec.absence, spec.lag, spec.fold_by) == (
        "fault",
        "kernel_log",
        (0, 500_000),
        ("process", "pid"),
    )
    assert spec.fields["extent"].values == ("memcg", "node", "unknown")
    assert spec.collect is not None
    assert spec.collect.who == "host"
    compare = small.vocabulary["job.environment"].compare
    assert compare is not None
    assert (compare.key, compare.value, compare.across) == (("name",), "value", "rank")


def test_questions(small: Pack) -> None:
    (question,) = small.questions
    assert (question.id, question.asks_for, question.who, question.branch) == (
        "was-it-killed", "host.oom_kill", "host", "host",
    )  # fmt: skip
    assert [(answer.id, answer.emits, dict(answer.fields)) for answer in question.answers] == [
        ("memcg", "host.oom_kill", {"extent": "memcg"}),
        ("no", None, {}),
        ("unknown", None, {}),
    ]


def test_overlay_replaces_by_id(small: Pack, tmp_path: Path) -> None:
    text = small_file("evidence/nic/link-down.yaml").replace("strength: strong", "strength: moderate")
    leaf = small_file("tree/nic/link-down.yaml").replace("owner: host", "owner: network")
    site = overlay(tmp_path, {"anywhere/rules.yaml": text, "leaf.yml": leaf})
    pack = load_packs([site], builtin=SMALL)
    assert pack.evidence["nic.link-down/port-down-before-timeout"].strength == "moderate"
    assert pack.leaves["nic.link-down"].owner == "network"
    assert (pack.name, pack.version) == ("small+site", "1.0+2")
    assert pack.evidence.keys() == small.evidence.keys()
    assert pack.roots == (SMALL, site)


def test_overlay_adds_a_kind_and_a_cause(tmp_path: Path) -> None:
    kinds = """schema: 1
kind: vocabulary
branch: nic
facts:
  nic.hot: {nature: fault, meaning: {en: "Too hot", zh: "过热"}, fields: {celsius: {type: float}}}
"""
    rules = small_file("evidence/nic/link-down.yaml").replace("nic.link_down", "nic.hot")
    rules = rules.replace("nic.link-down", "nic.overheating")
    leaf = small_file("tree/nic/link-down.yaml").replace("link-down", "overheating").replace("link_down", "hot")
    pack = load_packs([overlay(tmp_path, {"a.yaml": kinds, "b.yaml": rules, "c.yaml": leaf})], builtin=SMALL)
    assert "nic.hot" in pack.vocabulary
    assert "nic.overheating" in pack.leaves
    assert "nic.link-down" in pack.leaves


def test_overlay_disables(tmp_path: Path) -> None:
    site = overlay(tmp_path, {}, "[nic.link-down, host.oom-kill/symptoms-follow, kill-ends-process, was-it-killed]")
    pack = load_packs([site], builtin=SMALL)
    assert list(pack.leaves) == ["host.oom-kill", "job.process-exit"]
    assert [name for name in pack.evidence if name.startswith("host")] == ["host.oom-kill/kernel-killed-rank"]
    assert list(pack.propagation) == ["exit-closes-peers"]
    assert pack.questions == ()


def test_later_pack_brings_back_what_an_earlier_one_disabled(tmp_path: Path) -> None:
    first = overlay(tmp_path / "a", {}, "[kill-ends-process]")
    second = overlay(tmp_path / "b", {"p.yaml": small_file("propagation/kill-ends-process.yaml")})
    assert "kill-ends-process" in load_packs([first, second], builtin=SMALL).propagation
    assert "kill-ends-process" not in load_packs([second, first], builtin=SMALL).propagation


def test_invalid_pack_names_every_problem(tmp_path: Path) -> None:
    site = overlay(tmp_path, {"a.yaml": "kind: cause\nschema: 1\n", "b.yaml": "kind: nothing\n", "c.yaml": "a: [\n"})
    with pytest.raises(InvalidPack) as caught:
        load_packs([site, tmp_path / "missing"], builtin=SMALL)
    codes = [problem.code for problem in caught.value.problems]
    assert {"FF202", "FF106", "FF101", "FF100"} <= {*codes}
    assert "errors in 4 files" in str(caught.value)


def test_warnings_do_not_refuse_a_pack(tmp_path: Path) -> None:
    text = small_file("evidence/nic/link-down.yaml").replace("{down.host} 的 {down.port} 先断开", "端口先断开")
    load_packs([overlay(tmp_path, {"a.yaml": text})], builtin=SMALL)


def test_loading_does_not_look_at_examples(tmp_path: Path) -> None:
    text = small_file("evidence/nic/link-down.yaml")
    broken = text[: text.index("examples:")] + "examples:\n  - {name: [unclosed\n"
    load_packs([overlay(tmp_path, {"a.yaml": broken})], builtin=SMALL)


def test_examples_are_cut_only_where_they_come_last() -> None:
    assert without_examples("a: 1\nexamples:\n  - x\n# note\n- y\n") == "a: 1\n"
    for text in ("a: 1\nexamples:\n  - x\nb: 2\n", "a: |\n  examples:\n", "examples\n"):
        assert without_examples(text) == text


def copy(folder: Path) -> Path:
    shutil.copytree(SMALL, folder)
    return folder


def test_hash_depends_on_contents_only(small: Pack, tmp_path: Path) -> None:
    same = copy(tmp_path / "same")
    windows = copy(tmp_path / "windows")
    for path in windows.rglob("*.yaml"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_packs(builtin=same).hash == small.hash
    assert load_packs(builtin=windows).hash == small.hash


def test_hash_sees_every_change(small: Pack, tmp_path: Path) -> None:
    hashes = {small.hash}
    for name in ("pack.yaml", "vocabulary/all.yaml", "evidence/nic/link-down.yaml", "profiles/weights.yaml"):
        changed = copy(tmp_path / name.replace("/", "-"))
        with (changed / name).open("a", encoding="utf-8") as file:
            file.write("# changed\n")
        hashes.add(load_packs(builtin=changed).hash)
    moved = copy(tmp_path / "moved")
    (moved / "propagation" / "exit-closes-peers.yaml").rename(moved / "propagation" / "other.yaml")
    hashes.add(load_packs(builtin=moved).hash)
    site = overlay(tmp_path / "site", {})
    hashes.add(load_packs([site], builtin=SMALL).hash)
    assert len(hashes) == 7


def test_loading_leaves_the_collector_as_it_was() -> None:
    import gc

    gc.disable()
    try:
        load_packs(builtin=SMALL)
        assert not gc.isenabled()
    finally:
        gc.enable()
    load_packs(builtin=SMALL)
    assert gc.isenabled()


def test_rule_that_is_nothing_but_alternatives_binds_what_its_branches_bind(tmp_path: Path) -> None:
    text = small_file("evidence/nic/link-down.yaml")
    old = """      - {fact: nic.link_down, as: down}
      - {fact: comm.collective_timeout, as: timeout, after: down}
"""
    assert old in text
    new = """      - any:
          - [{fact: nic.link_down, as: down, where: {reason: admin}}]
          - - {fact: [nic.link_down, job.cancelled], as: down}
            - {fact: comm.collective_timeout, as: timeout, after: down}
"""
    pack = load_packs([overlay(tmp_path, {"a.yaml": text.replace(old, new)})], builtin=SMALL)
    rule = pack.evidence["nic.link-down/port-down-before-timeout"]
    assert [len(when) for when in (rule.when, *rule.variants)] == [1, 2, 2]
    facts = facts_of([{"kind": "nic.link_down", "reason": "admin"}], pack.vocabulary)
    found = infer(compile_rules(pack), facts, pack.vocabulary, backend="reference")
    assert [(firing.rule_id, firing.bindings) for firing in found.firings] == [(rule.id, (("down", "f1"),))]


def test_a_profile_that_its_reader_refuses_makes_the_pack_invalid(tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").write_text('schema: 1\nname: site\nversion: "1"\n', encoding="utf-8")
    (tmp_path / "defects.yaml").write_text(
        "schema: 1\nkind: profile\nid: defects\nsource: ours\ndefects:\n  - {id: x}\n", encoding="utf-8"
    )
    with pytest.raises(InvalidPack) as caught:
        load_packs([tmp_path])
    assert [(problem.code, Path(problem.path).name) for problem in caught.value.problems] == [("FF244", "defects.yaml")]
