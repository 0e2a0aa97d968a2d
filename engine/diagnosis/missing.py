"""What is not there: the evidence that could change the verdict most for the least effort."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from engine.diagnosis.model import Hypothesis, Missing
from engine.diagnosis.scoring import probability
from engine.facts.manifest import Manifest
from engine.facts.model import Fact
from engine.facts.vocabulary import KindSpec, Vocabulary
from engine.facts.waits.facts import LOST_KIND
from engine.rules.model import Leaf, Text

SHOWN = 12
OPEN = ("likely", "possible", "undetermined", "confirmed")


def missing_evidence(
    hypotheses: Sequence[Hypothesis],
    leaves: Mapping[str, Leaf],
    facts: Sequence[Fact],
    vocabulary: Vocabulary,
    manifest: Manifest,
    questions: Mapping[str, str],
) -> tuple[Missing, ...]:
    """Ranked missing evidence of the open hypotheses, or of all causes where no hypothesis is open.

    ``questions`` maps a fact kind to the id of the question that asks for it.
    """
    seen = {fact.kind for fact in facts if fact.scope == "incident"}
    covered = {str(fact.fields.get("class")) for fact in facts if fact.kind == "coverage.source"}
    weights = _weights(hypotheses, leaves)
    wanted: dict[str, float] = defaultdict(float)
    reasons: dict[str, tuple[float, Text]] = {}
    causes: dict[str, list[str]] = defaultdict(list)
    for cause, weight in weights.items():
        for kind, why in leaves[cause].minimal_evidence:
            if kind in seen or kind not in vocabulary or _answered(vocabulary[kind], covered):
                continue
            wanted[kind] += weight
            causes[kind].append(cause)
            if kind not in reasons or weight > reasons[kind][0]:
                reasons[kind] = (weight, why)
    top = max(wanted.values(), default=0.0)
    items = [
        _missing(vocabulary[kind], reasons[kind][1], value / top if top else 0.0, questions.get(kind), causes[kind])
        for kind, value in wanted.items()
    ]
    items.extend(_lost_hosts(facts, vocabulary))
    items.extend(_silent_hosts(facts, manifest))
    ranked = sorted(items, key=lambda item: (-round(item.value, 3), item.fact, item.host or ""))
    return tuple(ranked[:SHOWN])


def _weights(hypotheses: Sequence[Hypothesis], leaves: Mapping[str, Leaf]) -> dict[str, float]:
    """How much is at stake for each cause: uncertain ones most, settled ones least."""
    live = [item for item in hypotheses if item.status in OPEN and item.consequence_of is None]
    if live and live[0].status == "confirmed":
        return {item.id: 0.2 * _uncertainty(item.score) for item in live}
    if live:
        return {item.id: _uncertainty(item.score) for item in live}
    return {cause: probability(leaf.prior) for cause, leaf in leaves.items()}


def _uncertainty(score: float) -> float:
    p = probability(score)
    return 4.0 * p * (1.0 - p) + 0.05


def _answered(spec: KindSpec, covered: set[str]) -> bool:
    """Absence of a kind is an answer already where its sources were read."""
    return spec.absence is not None and spec.absence in covered


def _missing(spec: KindSpec, why: Text, value: float, question: str | None, causes: Iterable[str]) -> Missing:
    collect = spec.collect
    return Missing(
        fact=spec.kind,
        why=why,
        collect=Text(collect.en, collect.zh) if collect else Text(spec.meaning_en, spec.meaning_zh),
        command=collect.command if collect else "",
        who=collect.who if collect else "",
        value=round(value, 3),
        question=question,
        hypotheses=tuple(sorted(causes)),
    )


def _silent_hosts(facts: Sequence[Fact], manifest: Manifest) -> Iterable[Missing]:
    """Nodes of the job of which the bundle has no output at all: non-reporters are suspects."""
    if len(manifest.nodes) < 2:
        return
    seen = {fact.host for fact in facts}
    for node in manifest.nodes:
        if node in seen:
            continue
        yield Missing(
            fact="coverage.source",
            why=Text(
                f"Nothing of {node} is in the bundle; a node that does not report is a suspect itself",
                f"证据包中没有 {node} 的任何内容;不上报的节点本身就是嫌疑对象",
            ),
            collect=Text(f"Job output and kernel log of {node}", f"{node} 的作业输出和内核日志"),
            command=f"ssh {node} journalctl -k -o short-iso-precise --since -6h",
            who="host",
            value=1.0,
            host=node,
        )


def _lost_hosts(facts: Sequence[Fact], vocabulary: Vocabulary) -> Iterable[Missing]:
    """Hosts of which others had to tell: they are lost, or their files were not collected, which looks the same."""
    lost = {fact.host: fact for fact in facts if fact.kind == LOST_KIND and fact.host and fact.scope == "incident"}
    for host, fact in sorted(lost.items()):
        ranks = fact.fields.get("ranks", "")
        why = Text(
            f"Nothing of {host} (ranks {ranks}) was collected: it is lost, or only its files are missing",
            f"没有收集到 {host}（rank {ranks}）的任何证据:主机丢失,或仅其文件缺失",
        )
        item = _missing(vocabulary[LOST_KIND], why, 1.0, None, ("host.node-down",))
        yield replace(item, command=item.command.replace("NODE", host), host=host)
