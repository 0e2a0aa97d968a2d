"""Inference: which rules hold for the facts of an incident, and which facts follow.

:class:`Engine` compiles rules once and evaluates any number of incidents; :func:`infer` is for a single one. What a
rule means is defined in :mod:`engine.inference.reference`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from engine.facts.model import Fact
from engine.facts.vocabulary import Vocabulary
from engine.inference.aliases import told_apart
from engine.inference.chaining import Conclusion, forward
from engine.inference.checks import problems
from engine.inference.comparison import describe
from engine.inference.fields import fields_used
from engine.inference.items import Item, admit
from engine.inference.matches import firings
from engine.inference.reference import MOST_CHECKS, MOST_MATCHES, ReferenceSession
from engine.inference.results import (
    Backend,
    BackendsDisagree,
    Derived,
    Firing,
    Inference,
    InvalidFacts,
    InvalidRules,
    Refusal,
)
from engine.inference.strata import stratify
from engine.rules.model import Rule

if TYPE_CHECKING:
    from engine.inference.durable import DurableRules

REFERENCE_VERSION = "reference 1"

__all__ = [
    "Backend",
    "BackendsDisagree",
    "Derived",
    "Engine",
    "Firing",
    "Inference",
    "InvalidFacts",
    "InvalidRules",
    "Refusal",
    "infer",
    "problems",
]


class Engine:
    """Rules ready for use. Rules with one id are alternatives of one rule.

    ``durable`` is replaced by ``reference`` where durable_rules cannot be imported, or fails on an incident; the
    result says so. ``both`` evaluates with both and raises :class:`BackendsDisagree` where they differ. Raises
    :class:`InvalidRules`. Use it as a context manager or call :meth:`close`.
    """

    def __init__(self, rules: Sequence[Rule], vocabulary: Vocabulary, backend: Backend = "durable") -> None:
        refusals = problems(rules, vocabulary)
        if refusals:
            raise InvalidRules(refusals)
        ordered = sorted((told_apart(rule) for rule in rules), key=lambda rule: rule.id)
        self._layers = stratify(ordered)
        self._vocabulary = vocabulary
        self._fields = fields_used(ordered, vocabulary)
        self._backend = backend
        self._note = ""
        self._durable: DurableRules | None = None
        if backend != "reference":
            self._durable = self._compiled()

    def run(self, facts: Iterable[Fact]) -> Inference:
        """What follows from the facts of one incident. Raises :class:`InvalidFacts`, :class:`BackendsDisagree`."""
        items, notes = admit(facts, self._fields)
        if self._note:
            notes.insert(0, self._note)
        if self._durable is None:
            return self._reference(items, notes)
        from engine.inference.durable import VERSION, DurableFailed

        try:
            conclusion = forward(len(self._layers), items, self._fields, self._durable.session)
        except DurableFailed as error:
            return self._reference(items, [f"durable_rules did not decide this incident: {error}", *notes])
        if any(count > MOST_MATCHES for count in _matches_by_rule(conclusion).values()):
            return self._reference(items, ["durable_rules found too many matches of a rule", *notes])
        found = Inference(firings(conclusion.matches), conclusion.derived, "durable", VERSION, "; ".join(notes))
        if self._backend == "both":
            return _agreed(found, self._reference(items, notes))
        return found

    def close(self) -> None:
        """Free what the durable backend holds; the engine cannot be used after."""
        if self._durable is not None:
            self._durable.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _compiled(self) -> DurableRules | None:
        try:
            from engine.inference.durable import DurableRules
        except ImportError as error:
            self._note = f"durable_rules cannot be used ({error}); the reference backend stands in"
            return None
        return DurableRules(self._layers, self._vocabulary)

    def _reference(self, items: Sequence[Item], notes: Sequence[str]) -> Inference:
        stopped: dict[str, None] = {}

        def session(layer: int, known: Sequence[Item], explained: frozenset[str]) -> ReferenceSession:
            opened = ReferenceSession(self._layers[layer], self._vocabulary, known, explained)
            opened.stopped = stopped
            return opened

        conclusion = forward(len(self._layers), items, self._fields, session)
        warnings = [
            f"the rule {rule_id} was stopped after {MOST_MATCHES} matches or {MOST_CHECKS} checks"
            for rule_id in sorted(stopped)
        ]
        note = "; ".join([*notes, *warnings])
        return Inference(firings(conclusion.matches), conclusion.derived, "reference", REFERENCE_VERSION, note)


def infer(
    rules: Sequence[Rule], facts: Iterable[Fact], vocabulary: Vocabulary, backend: Backend = "durable"
) -> Inference:
    """What follows from the facts by the rules; as :class:`Engine`, for a single incident."""
    with Engine(rules, vocabulary, backend) as engine:
        return engine.run(facts)


def _matches_by_rule(conclusion: Conclusion) -> dict[int, int]:
    counts: dict[int, int] = {}
    for match in conclusion.matches:
        counts[id(match.rule)] = counts.get(id(match.rule), 0) + 1
    return counts


def _agreed(durable: Inference, reference: Inference) -> Inference:
    if durable.firings != reference.firings or durable.derived != reference.derived:
        raise BackendsDisagree(describe(durable, reference))
    version = f"{durable.version}, {reference.version}"
    return Inference(durable.firings, durable.derived, "both", version, durable.note)
