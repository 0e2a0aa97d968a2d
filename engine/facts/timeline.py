"""Observations become facts: placed in time, marked for run and window, folded, compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from engine.facts import identity
from engine.facts.bring_up import mark_bring_up
from engine.facts.clocks import ClockBook, Placed, align_by_shared_events, collect_boots, collect_offsets
from engine.facts.collectives import GroupState
from engine.facts.comparison import differing_settings, silent_ranks
from engine.facts.counters import CounterProfile, counter_facts
from engine.facts.daemons import name_daemons
from engine.facts.defects import known_defects, read_defects
from engine.facts.episodes import fold
from engine.facts.identity.hosts import ADDRESS_KINDS, bare_address
from engine.facts.log_ends import compare_ends, read_log_ends
from engine.facts.manifest import MOST_RANKS, Manifest
from engine.facts.model import SECOND, CounterSample, Fact, Observation, Span
from engine.facts.patterns import failure_patterns
from engine.facts.retries import KIND as RETRY
from engine.facts.retries import classify, read_windows, set_windows
from engine.facts.stack_samples import mark_lasting
from engine.facts.steps import diverging_steps
from engine.facts.stretches import OPEN, covered, joined
from engine.facts.switch_boots import name_switch_boots
from engine.facts.vocabulary import COVERAGE_KIND, Vocabulary
from engine.facts.waits import Waits, analyse, in_ranks_of_job, observations_of, settled, states_in_logs, states_told
from engine.facts.waits.standstill import read_standstill, stands_still

TIMED = ("fault", "symptom", "activity")
"""Natures whose facts happen at a time; only these can lie outside the window."""

JOB_SOURCES = ("job_log", "scheduler", "orchestrator", "comm_state")
"""Classes of sources whose stamps are those of jobs and their managers, which need not share a zone with the host."""

WINDOW_MARGIN = 120 * SECOND
SHARED_EVENT_SPREAD = 2 * SECOND
SHARED_EVENTS = ("rendezvous_complete",)
"""``job.phase_mark`` marks that every host prints at one moment."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The facts of an incident in order, what was assumed to place them, and what could not be placed."""

    facts: tuple[Fact, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    waits: Waits | None = None
    """Who waits for whom, where anything tells."""


def build_timeline(
    readings: Iterable[Observation | CounterSample | GroupState],
    vocabulary: Vocabulary,
    manifest: Manifest,
    counters: CounterProfile,
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
) -> Timeline:
    """Place, fold and compare everything that the adapters read.

    ``profiles`` are those of the pack, by id. Facts of a kind that the vocabulary does not know are dropped with a
    warning. The result does not depend on the order of ``readings``; fact ids ``f1``, ``f2`` … follow the order of
    onset, path and line.
    """
    observations: list[Observation] = []
    samples: list[CounterSample] = []
    states: list[GroupState] = []
    unknown: set[str] = set()
    for item in readings:
        if isinstance(item, CounterSample):
            samples.append(item)
        elif isinstance(item, GroupState):
            states.append(item)
        elif item.kind in vocabulary:
            observations.append(replace(item))
        else:
            unknown.add(item.kind)
    samples, host_notes = identity.join_hosts(observations, samples, manifest)
    observations = name_daemons(_without_repeats(observations), (profiles or {}).get("system_daemons", {}))
    _fill_hosts(observations)
    _fill_ranks(observations, manifest)
    observations = in_ranks_of_job(observations, states, manifest.ranks)
    observations, samples, device_notes = identity.join_devices(observations, samples)
    observations = mark_bring_up(name_switch_boots(observations))
    mark_lasting(observations)
    windows = read_windows((profiles or {}).get("nccl_retry_windows", {}))
    lags = set_windows(observations, windows, vocabulary[RETRY].lag if RETRY in vocabulary else (0, 0))
    samples.sort(key=lambda sample: (sample.source.path, sample.source.line, sample.counter))
    book = _clock_book(observations, manifest)
    place = _Placer(book, vocabulary, _families(observations))
    risen = counter_facts(samples, counters, place.sample)
    observations.extend(item for item in risen if item.kind in vocabulary)
    _name_peers(observations)
    placed = _trust_lines([place.fact(item) for item in observations])
    facts = classify(fold(placed, vocabulary), windows, lags)
    covered = _covered_ranks(facts, manifest)
    ends = read_log_ends((profiles or {}).get("log_ends", {}))
    stopped, goes_on = compare_ends(zip(observations, placed, strict=True), ends)
    silent = silent_ranks(facts, _known_ranks(facts, manifest), covered, goes_on)
    compared = [*silent, *stopped, *diverging_steps(observations)]
    complaint = read_standstill((profiles or {}).get("standstill", {}))
    hangs = stands_still(facts, manifest.title, complaint, vocabulary)
    waits, waiting = _waits(facts, [place.fact(item) for item in compared], states, covered, manifest, hangs)
    derived = [
        *differing_settings(facts, vocabulary),
        *compared,
        *(item for item in (*waiting, *failure_patterns(facts, vocabulary)) if item.kind in vocabulary),
    ]
    _fill_hosts(derived, _rank_hosts(observations))
    facts = settled(facts, fold([place.fact(item) for item in derived], vocabulary))
    table = read_defects((profiles or {}).get("defects", {}))
    facts.extend(item for item in known_defects(facts, observations, table) if item.kind in vocabulary)
    ordered = sorted(facts, key=_fact_order)
    named = tuple(replace(fact, id=f"f{number}") for number, fact in enumerate(ordered, 1))
    warnings = tuple(f"no vocabulary entry for {kind}: its statements are left out" for kind in sorted(unknown))
    timed = [fact for fact in named if _timed(fact, vocabulary)]
    clock_notes = sorted({note for fact in timed for note in fact.assumptions})
    wrong = [fact for fact in timed if vocabulary[fact.kind].nature != "activity"]
    name_notes = identity.assumptions(wrong, {**host_notes, **device_notes})
    return Timeline(named, (*clock_notes, *name_notes), warnings, waits)


def _waits(
    facts: Sequence[Fact],
    compared: Sequence[Fact],
    recorded: Sequence[GroupState],
    covered: set[int],
    manifest: Manifest,
    hangs: bool,
) -> tuple[Waits | None, list[Observation]]:
    """Who waits for whom, by recorders, library reports and log lines, and the facts that follow."""
    world = manifest.ranks
    states = [*recorded, *states_in_logs(facts, covered, world), *states_told(facts, world)]
    if not states:
        return None, []
    hints = [*facts, *compared]
    per_node = manifest.gpus_per_node
    waits = analyse(states, world=world, hints=hints, nodes=manifest.nodes, per_node=per_node, hangs=hangs)
    return waits, observations_of(waits, states)


def _without_repeats(observations: Iterable[Observation]) -> list[Observation]:
    """In the order of files and lines; what two signatures say alike of one line is said once."""
    ordered = sorted(observations, key=lambda item: (*_statement(item), item.adapter))
    return [next(same) for _, same in groupby(ordered, key=_statement)]


def _statement(item: Observation) -> tuple[str, int, str, str]:
    subject = (item.job, item.host, item.rank, item.device, item.port, item.peer, item.run, item.when)
    return (item.source.path, item.source.line, item.kind, f"{sorted(item.fields.items())} {subject}")


def _fact_order(fact: Fact) -> tuple[int, str, int, str, str]:
    span = fact.reported if fact.kind == COVERAGE_KIND else fact.onset
    earliest = span.earliest if span.earliest is not None else 2**62
    subject = f"{fact.rank}|{fact.device}|{fact.port}|{fact.peer}|{fact.host}|{sorted(fact.fields.items())}"
    return (earliest, fact.source.path, fact.source.line, fact.kind, subject)


def _timed(fact: Fact, vocabulary: Vocabulary) -> bool:
    return vocabulary[fact.kind].nature in TIMED


class _Placer:
    """Turns observations into facts with the clocks of one incident."""

    def __init__(self, book: ClockBook, vocabulary: Vocabulary, families: Mapping[str, str]) -> None:
        self.book = book
        self.vocabulary = vocabulary
        self.families = families

    def fact(self, item: Observation) -> Fact:
        spec = self.vocabulary[item.kind]
        lag = item.lag if item.lag is not None else spec.lag
        ends = self._ends(item)
        placed = joined(item.source.path, *ends)
        onset, local = _back(placed.utc, lag), _back(placed.local, lag)
        if spec.nature == "coverage":
            onset, local = covered(*ends)
        fact = Fact(
            id="",
            kind=item.kind,
            fields=dict(item.fields),
            source=item.source,
            job=item.job,
            host=item.host,
            rank=item.rank,
            device=item.device,
            port=item.port,
            peer=item.peer,
            ranks=(item.rank,) if item.rank is not None else (),
            reported=placed.utc,
            onset=onset,
            local=local,
            clock=placed.clock,
            sequence=item.source.line if lag == (0, 0) else None,
            adapter=item.adapter,
            assumptions=placed.assumptions,
            as_read=item.as_read,
            sparse=item.sparse,
        )
        if item.run:
            return replace(fact, scope="other_run")
        if spec.nature in TIMED and self._outside_window(onset, placed.utc):
            return replace(fact, scope="outside_window")
        return fact

    def sample(self, sample: CounterSample) -> Span:
        if sample.when is None:
            return Span()
        return self.book.place(sample.when, sample.source.path, sample.host, "state").utc

    def _ends(self, item: Observation) -> tuple[Placed, Placed]:
        """The stamp of an observation, twice, or else the stamps that it lies between."""
        path, host = item.source.path, item.host
        family = self.families.get(path) or ("job" if item.kind.startswith(("job.", "comm.")) else "host")
        if item.when is not None:
            placed = self.book.place(item.when, path, host, family)
            return placed, placed
        first, last = (
            self.book.place(reading, path, host, family) if reading is not None else OPEN
            for reading in (item.after, item.until)
        )
        return first, last

    def _outside_window(self, onset: Span, reported: Span) -> bool:
        window = self.book.manifest.window
        if window is None:
            return False
        starts, ends = window.earliest, window.latest
        too_early = starts is not None and reported.latest is not None and reported.latest < starts - WINDOW_MARGIN
        too_late = ends is not None and onset.earliest is not None and onset.earliest > ends + WINDOW_MARGIN
        return too_early or too_late


def _families(observations: Iterable[Observation]) -> dict[str, str]:
    """By file, whether its stamps are those of jobs or of hosts, where what it covers tells."""
    found: dict[str, set[str]] = defaultdict(set)
    for item in observations:
        if item.kind == COVERAGE_KIND:
            found[item.source.path].add("job" if item.fields.get("class") in JOB_SOURCES else "host")
    return {path: next(iter(families)) for path, families in found.items() if len(families) == 1}


def _back(span: Span, lag: tuple[int, int]) -> Span:
    least, most = lag
    return Span(
        span.earliest - most if span.earliest is not None else None,
        span.latest - least if span.latest is not None else None,
    )


def _trust_lines(facts: Sequence[Fact]) -> list[Fact]:
    """Drop the trust in line order where a file's own stamps run backwards (several writers in one file)."""
    latest_start: dict[tuple[str, str], int] = {}
    result: list[Fact] = []
    for fact in facts:
        key = (fact.source.path, fact.clock)
        start, end = fact.local.earliest, fact.local.latest
        if fact.sequence is not None and end is not None and latest_start.get(key, end) > end:
            fact = replace(fact, sequence=None)
        if start is not None:
            latest_start[key] = max(start, latest_start.get(key, start))
        result.append(fact)
    return result


def _clock_book(observations: Sequence[Observation], manifest: Manifest) -> ClockBook:
    book = ClockBook(manifest, collect_offsets(observations, manifest), collect_boots(observations))
    stamps = [
        reading
        for item in observations
        for reading in (item.when, item.until)
        if reading is not None and reading.year_known and reading.basis != "boot"
    ]
    if stamps:
        book.known_days = Span(min(r.earliest for r in stamps), max(r.latest for r in stamps))
    zones: dict[str, list[int]] = defaultdict(list)
    for item in observations:
        ahead = item.fields.get("ahead_us")
        if item.kind == "clock.zone" and isinstance(ahead, int):
            zones[item.source.path].append(ahead)
    book.zones = {path: values[0] for path, values in zones.items() if len(set(values)) == 1}
    events = _shared_events(observations, book)
    book.offsets = {**align_by_shared_events(events, SHARED_EVENT_SPREAD, book.offsets), **book.offsets}
    return book


def _shared_events(observations: Sequence[Observation], book: ClockBook) -> Mapping[str, Mapping[str, Span]]:
    """Events that every host prints at one moment and printed exactly once."""
    seen: dict[str, dict[str, list[Span]]] = defaultdict(lambda: defaultdict(list))
    for item in observations:
        if item.kind != "job.phase_mark" or item.fields.get("what") not in SHARED_EVENTS:
            continue
        if item.host is None or item.when is None or item.run:
            continue
        placed = book.place(item.when, item.source.path, item.host, "job")
        if placed.clock.startswith("wall:"):
            seen[str(item.fields["what"])][item.host].append(placed.local)
    return {
        event: {host: spans[0] for host, spans in hosts.items() if len(spans) == 1} for event, hosts in seen.items()
    }


def _rank_hosts(observations: Iterable[Observation]) -> dict[int, str]:
    """Rank to host where all statements agree."""
    hosts: dict[int, set[str]] = defaultdict(set)
    for item in observations:
        if item.rank is not None and item.host is not None and not item.run:
            hosts[item.rank].add(item.host)
    return {rank: next(iter(names)) for rank, names in hosts.items() if len(names) == 1}


def _fill_hosts(observations: Iterable[Observation], hosts: Mapping[int, str] | None = None) -> None:
    """Give an observation that names only a rank the host on which that rank runs."""
    items = list(observations)
    known = _rank_hosts(items) if hosts is None else hosts
    for item in items:
        if item.host is None and item.rank is not None and item.rank in known:
            item.host = known[item.rank]


def _name_peers(observations: Sequence[Observation]) -> None:
    """A peer given by address or full name gets the name of the host that it belongs to."""
    hosts = {item.host for item in observations if item.host}
    owners: dict[str, set[str]] = defaultdict(set)
    for item in observations:
        address = item.fields.get("address")
        if item.host and isinstance(address, str) and item.kind in ADDRESS_KINDS:
            owners[bare_address(address)].add(item.host)
    for item in observations:
        if item.peer is None or item.peer in hosts:
            continue
        known = owners.get(item.peer, set())
        short = item.peer.partition(".")[0]
        if len(known) == 1:
            item.peer = next(iter(known))
        elif short in hosts and not short.isdigit():
            item.peer = short


def _fill_ranks(observations: Sequence[Observation], manifest: Manifest) -> None:
    """Ranks from local ranks, where it is certain which ranks run on the host."""
    first_ranks = _first_ranks(observations, manifest)
    alone = bool(manifest.world_size) and len(manifest.nodes) <= 1
    if alone and manifest.gpus_per_node in (None, manifest.world_size):
        first_ranks = {**dict.fromkeys([item.host for item in observations], 0), **first_ranks}
    for item in observations:
        local = item.fields.get("local_rank")
        if item.rank is None and isinstance(local, int) and local >= 0 and item.host in first_ranks:
            rank = first_ranks[item.host] + local
            if manifest.world_size is None or rank < manifest.world_size:
                item.rank = rank


def _first_ranks(observations: Sequence[Observation], manifest: Manifest) -> dict[str | None, int]:
    """Per host the first of its ranks, where they are known to form a whole block."""
    ranks: dict[str, set[int]] = defaultdict(set)
    for rank, host in _rank_hosts(observations).items():
        ranks[host].add(rank)
    size = manifest.gpus_per_node
    blocks: dict[str | None, int] = {}
    for host, own in ranks.items():
        start, count = min(own), len(own)
        whole = count == size if size else count > 1 and start % count == 0
        if whole and own == set(range(start, start + count)):
            blocks[host] = start
    return blocks


def _known_ranks(facts: Sequence[Fact], manifest: Manifest) -> set[int]:
    world = manifest.ranks
    return set(range(world)) if world else {rank for fact in facts for rank in fact.ranks}


def _covered_ranks(facts: Sequence[Fact], manifest: Manifest) -> set[int]:
    """Ranks whose output is in the bundle: named by a line, or of a node whose merged output names several ranks."""
    covered: set[int] = set()
    by_file: dict[str, set[int]] = defaultdict(set)
    for fact in facts:
        if fact.scope != "incident":
            continue
        if "rank" in (fact.as_read or ()):
            continue  # the rank of its GPU, not of who wrote the line
        covered.update(fact.ranks)
        by_file[fact.source.path].update(fact.ranks)
    size = manifest.gpus_per_node or (manifest.world_size if len(manifest.nodes) <= 1 else None)
    if size and size <= MOST_RANKS:
        for ranks in by_file.values():
            if len(ranks) > 1:
                for node in {rank // size for rank in ranks}:
                    covered.update(range(node * size, (node + 1) * size))
    return covered & _known_ranks(facts, manifest)
