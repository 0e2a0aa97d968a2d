"""Inference: which rules hold for the facts of an incident, and which facts follow.

:class:`Engine` compiles rules once and evaluates any number of incidents; :func:`infer` is for a single one. What a
rule means is defined in :mod:`engine.inference.reference`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from engine.facts.model import Fact
from engine.facts.vocabulary import Vocabulary
from engine.inference.aliases import told_apart
from engine.inference.chaining import Session, forward
from engine.inference.checks import refused
from engine.inference.comparison import describe
from engine.inference.compile import check_size, compile_rules
from engine.inference.fields import fields_used
from engine.inference.items import Item, admit
from engine.inference.matches import firings
from engine.inference.reference import MOST_MATCHES, ReferenceSession
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
from engine.inference.selection import Possible, Selections
from engine.inference.silence import Places, Silence
from engine.inference.strata import asked_by, layers_of, stratify
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

    For ``durable`` only the rules that can hold are compiled, when :meth:`run` first meets facts of their kinds.
    ``durable`` is replaced by ``reference`` where durable_rules cannot be imported, or fails on an incident; the
    result says so. ``both`` evaluates with both and raises :class:`BackendsDisagree` where they differ. Raises
    :class:`InvalidRules`. Use it as a context manager or call :meth:`close`. Not for several threads at once.
    """

    def __init__(self, rules: Sequence[Rule], vocabulary: Vocabulary, backend: Backend = "durable") -> None:
        refusals = refused(rules, vocabulary)
        if refusals:
            raise InvalidRules(refusals)
        ordered = sorted((told_apart(rule) for rule in rules), key=lambda rule: rule.id)
        asked = [asked_by(rule) for rule in ordered]
        placed = list(zip(layers_of(ordered, asked), ordered, asked, strict=True))
        numbers = range(max((layer for layer, _, _ in placed), default=0) + 1)
        self._layers = [[rule for layer, rule, _ in placed if layer == number] for number in numbers]
        self._asked = [[one for layer, _, one in placed if layer == number] for number in numbers]
        self._vocabulary = vocabulary
        self._fields = fields_used(ordered, vocabulary)
        self._backend = backend
        self._note = ""
        self._durable: Selections[DurableRules] | None = None
        if backend != "reference":
            self._durable = self._with_durable(ordered)

    def run(self, facts: Iterable[Fact], hosts: Iterable[str] = ()) -> Inference:
        """What follows from the facts of one incident. Raises :class:`InvalidFacts`, :class:`BackendsDisagree`.

        ``hosts`` are those of the incident, beside the ones that facts are about: what is absent everywhere is absent
        on them too.
        """
        facts = tuple(facts)
        items, notes = admit(facts, self._fields)
        places = Places(facts, hosts)
        if self._note:
            notes.insert(0, self._note)
        durable = self._by_durable(items, places, notes) if self._durable else None
        if durable is not None and self._backend == "durable":
            return durable
        reference, stopped = self._by_reference(items, places, notes)
        if durable is None or stopped:
            return reference
        if durable.firings != reference.firings or durable.derived != reference.derived:
            raise BackendsDisagree(describe(durable, reference))
        return replace(durable, backend="both", version=f"{durable.version}, {reference.version}")

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

    def _with_durable(self, rules: Sequence[Rule]) -> Selections[DurableRules] | None:
        try:
            from engine.inference.durable import DurableRules
        except ImportError as error:
            self._note = f"durable_rules cannot be used ({error}); the reference backend stands in"
            return None
        check_size(rules, self._vocabulary)
        possible = Possible(self._layers, self._asked)
        return Selections(self._layers, possible, lambda layers: DurableRules(layers, self._vocabulary))

    def _by_durable(self, items: Sequence[Item], places: Places, notes: list[str]) -> Inference | None:
        """The result of durable_rules; ``None``, and a note, where the reference has to decide."""
        from engine.inference.durable import VERSION, DurableFailed

        assert self._durable is not None
        try:
            compiled = self._durable.get({item.fact.kind for item in items})
        except DurableFailed as error:
            notes.insert(0, f"durable_rules cannot hold these rules ({error}); the reference backend stands in")
            return None
        silence = Silence(places, items)

        def session(layer: int, known: Sequence[Item], explained: frozenset[str]) -> Session:
            return compiled.session(layer, known, explained, silence)

        try:
            conclusion = forward(len(self._layers), items, self._fields, session)
        except DurableFailed as error:
            notes.insert(0, f"durable_rules did not decide this incident: {error}")
            return None
        if any(number > MOST_MATCHES for number in Counter(id(match.rule) for match in conclusion.matches).values()):
            notes.insert(0, "durable_rules did not decide this incident: a rule matches too often")
            return None
        return Inference(firings(conclusion.matches), conclusion.derived, "durable", VERSION, "; ".join(notes))

    def _by_reference(self, items: Sequence[Item], places: Places, notes: Sequence[str]) -> tuple[Inference, bool]:
        """The result of the reference, and whether it had to stop a rule."""
        stopped: dict[str, None] = {}

        def session(layer: int, known: Sequence[Item], explained: frozenset[str]) -> ReferenceSession:
            rules, asked = self._layers[layer], self._asked[layer]
            return ReferenceSession(rules, asked, self._vocabulary, known, explained, places, stopped)

        conclusion = forward(len(self._layers), items, self._fields, session)
        notes = [*notes, *(f"{rule_id} was stopped, it can be matched in too many ways" for rule_id in sorted(stopped))]
        found = firings(conclusion.matches)
        return Inference(found, conclusion.derived, "reference", REFERENCE_VERSION, "; ".join(notes)), bool(stopped)


def problems(rules: Sequence[Rule], vocabulary: Vocabulary) -> tuple[Refusal, ...]:
    """Everything for which :class:`Engine` would refuse the rules, whatever the backend."""
    found = refused(rules, vocabulary)
    if found:
        return found
    try:
        stratify(rules)
        compile_rules([told_apart(rule) for rule in rules], vocabulary)
    except InvalidRules as error:
        return error.refusals
    return ()


def infer(
    rules: Sequence[Rule], facts: Iterable[Fact], vocabulary: Vocabulary, backend: Backend = "durable"
) -> Inference:
    """What follows from the facts by the rules; as :class:`Engine`, for a single incident."""
    with Engine(rules, vocabulary, backend) as engine:
        return engine.run(facts)
