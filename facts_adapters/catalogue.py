"""Everything that can be read: whole-file adapters and signature sources, with the fact kinds that they emit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from engine.authored.document import load_document
from engine.authored.problem import Problem
from engine.facts.bring_up import BRING_UP_KIND
from engine.facts.comparison import KINDS as COMPARED
from engine.facts.counters import read_profile, yielded_kinds
from engine.facts.defects import KINDS as DEFECTS
from engine.facts.log_ends import KIND as STOPPED
from engine.facts.patterns import KIND as PATTERN
from engine.facts.steps import STEP_KIND
from engine.facts.vocabulary import Vocabulary, load_vocabulary
from engine.facts.waits import KINDS as WAITS
from facts_adapters.counter_maps.check import check as check_maps
from facts_adapters.counter_maps.reading import builtin_profile, load_maps
from facts_adapters.discovery import registry
from facts_adapters.text.check import check
from facts_adapters.text.signatures import load_signatures
from knowledge import BUILTIN


def catalogue() -> Iterable[str]:
    """One line for each adapter and each signature source."""
    for adapter in registry().adapters:
        yield f"{adapter.branch + '/' + adapter.name:<34} file        {', '.join(sorted(adapter.emits))}"
    sources: dict[str, set[str]] = defaultdict(set)
    for signature in load_signatures((BUILTIN / "signatures",), load_vocabulary()).signatures:
        sources[f"{signature.emits.partition('.')[0]}/{signature.source}"].add(signature.emits)
    for source in sorted(sources):
        yield f"{source:<34} signatures  {', '.join(sorted(sources[source]))}"


def signature_problems(packs: Sequence[Path], vocabulary: Vocabulary) -> list[Problem]:
    """What is wrong with the signatures and counter maps of overlay packs: shape, kinds, samples and near misses.

    ``vocabulary`` holds the fact kinds of the built-in pack and of ``packs``.
    """
    folders = [pack / "signatures" for pack in packs if (pack / "signatures").is_dir()]
    loaded = load_signatures(folders, vocabulary)
    maps = load_maps(packs, profile=builtin_profile(), vocabulary=vocabulary)
    return [*loaded.problems, *check(loaded.signatures), *maps.problems, *check_maps(maps.maps)]


def emitted_kinds() -> frozenset[str]:
    """All fact kinds that an adapter, a signature or the timeline itself can emit."""
    kinds = {kind for adapter in registry().adapters for kind in adapter.emits}
    kinds |= {kind for block in registry().blocks for kind in block.emits}
    kinds |= {item.emits for item in load_signatures((BUILTIN / "signatures",), load_vocabulary()).signatures}
    kinds |= {BRING_UP_KIND, STEP_KIND, STOPPED, PATTERN, *WAITS, *COMPARED, *DEFECTS}
    profile = load_document(BUILTIN / "profiles" / "counters.yaml").value
    return frozenset(kinds | yielded_kinds(read_profile(profile)))
