"""Where two results differ, in as few words as help."""

from __future__ import annotations

from engine.inference.results import Derived, Firing, Inference

_SHOWN = 3


def describe(one: Inference, other: Inference) -> str:
    """The first rule on which the results differ, with the firings or derived facts that only one of them has."""
    for rule_id in sorted({firing.rule_id for firing in (*one.firings, *other.firings)}):
        left = [firing for firing in one.firings if firing.rule_id == rule_id]
        right = [firing for firing in other.firings if firing.rule_id == rule_id]
        if left != right:
            lines = [f"{one.backend} and {other.backend} differ on rule {rule_id}"]
            lines += _only(one.backend, [_firing(f) for f in left if f not in set(right)])
            lines += _only(other.backend, [_firing(f) for f in right if f not in set(left)])
            return "\n".join(lines)
    lines = [f"{one.backend} and {other.backend} derive different facts"]
    lines += _only(one.backend, [_derived(d) for d in one.derived if d not in other.derived])
    lines += _only(other.backend, [_derived(d) for d in other.derived if d not in one.derived])
    return "\n".join(lines)


def _only(backend: str, texts: list[str]) -> list[str]:
    shown = [f"  only {backend}: {text}" for text in texts[:_SHOWN]]
    return shown + ([f"  and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else [])


def _firing(firing: Firing) -> str:
    parts = [", ".join(f"{alias} = {fact}" for alias, fact in firing.bindings)]
    if firing.others:
        parts.append("also " + ", ".join(f"{alias} = {fact}" for alias, fact in firing.others))
    if firing.coverage:
        parts.append("covered by " + ", ".join(firing.coverage))
    return "; ".join(part for part in parts if part) or "(no alias)"


def _derived(derived: Derived) -> str:
    return f"{derived.id} by {derived.rule_id} from {', '.join(derived.sources)}"
