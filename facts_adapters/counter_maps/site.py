"""Adapters with the counter maps of a site beside the built-in ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from facts_adapters.adapter import Adapter
from facts_adapters.counter_maps import exposition, query, table
from facts_adapters.counter_maps.emitting import COUNTER_KINDS
from facts_adapters.counter_maps.model import CounterMap
from facts_adapters.counter_maps.reading import FOLDER, builtin_maps, load_maps
from facts_adapters.discovery import Registry, registry


def with_packs(packs: Iterable[Path]) -> Registry:
    """All adapters, and those that the counter maps of these packs make; faulty maps are left out (lint tells them)."""
    folders = [pack for pack in packs if (pack / FOLDER).is_dir()]
    maps = load_maps(folders).maps if folders else ()
    return with_maps(registry(), maps) if maps else registry()


def with_maps(known: Registry, maps: Sequence[CounterMap]) -> Registry:
    """The registry where metrics are looked up in ``maps`` first and each map of a table is an adapter of its name."""
    metrics = tuple(item for item in maps if item.reads == "metrics")
    adapters = [_extended(adapter, metrics) if metrics else adapter for adapter in known.adapters]
    tables = {item.id: item for item in maps if item.reads == "table"}
    kept = [adapter for adapter in adapters if adapter.name not in tables]
    return Registry((*kept, *(table_adapter(item) for item in tables.values())), known.blocks)


def table_adapter(counter_map: CounterMap) -> Adapter:
    """The adapter that a map of a table is."""
    return Adapter(
        name=counter_map.id,
        branch="switch" if counter_map.covers == "switch_counters" else "nic",
        emits=emitted((counter_map,)),
        coverage=None,
        sniff=partial(table.sniff, counter_map),
        read=partial(table.read, counter_map),
    )


def emitted(maps: Sequence[CounterMap]) -> tuple[str, ...]:
    """The kinds that maps can yield, those of the engine's counters included."""
    changed = {change.emits for item in maps for changes in item.changes.values() for change in changes}
    return ("coverage.source", *COUNTER_KINDS, *sorted(changed - set(COUNTER_KINDS)))


def _extended(adapter: Adapter, metrics: tuple[CounterMap, ...]) -> Adapter:
    readers = {"prometheus_text": exposition, "prometheus_query": query}
    reader = readers.get(adapter.name)
    if reader is None:
        return adapter
    maps: Callable[[], Sequence[CounterMap]] = partial(_joined, metrics)
    return replace(
        adapter,
        emits=tuple(dict.fromkeys((*adapter.emits, *emitted(metrics)))),
        sniff=partial(reader.sniff, maps),
        read=partial(reader.read, maps, adapter.name),
    )


def _joined(metrics: tuple[CounterMap, ...]) -> Sequence[CounterMap]:
    return (*metrics, *builtin_maps())
