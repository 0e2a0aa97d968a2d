"""Running the samples and near misses that signatures carry, each as a file of one line."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from engine.authored import Problem
from engine.facts.model import SUBJECT_FIELDS, Observation, Scalar
from facts_adapters.text.envelope import profile
from facts_adapters.text.lines import split
from facts_adapters.text.match import matches, segments
from facts_adapters.text.signatures import Signature


def hits(line: str, signatures: Sequence[Signature]) -> list[tuple[Signature, Observation]]:
    """What the signatures make of a text; its lines are read one by one."""
    found: list[tuple[Signature, Observation]] = []
    texts = [text for raw in line.split("\n") for text in split(raw.encode())]
    known = profile(texts)
    for number, text in enumerate(texts, start=1):
        for segment in segments(text, known):
            for hit in matches("sample", number, text, segment, signatures):
                observation = hit.observation
                if observation.rank is None:
                    observation.rank = segment.envelope.rank
                if observation.host is None:
                    observation.host = segment.envelope.host
                found.append((hit.signature, observation))
    return found


def value_of(observation: Observation, name: str) -> Scalar | None:
    """A field or subject field of an observation."""
    if name in SUBJECT_FIELDS:
        value: Scalar | None = getattr(observation, name)
        return value
    return observation.fields.get(name)


def check(signatures: Iterable[Signature]) -> list[Problem]:
    """Patterns that cannot be used or are slow, samples that do not come out as stated, near misses that hit."""
    problems: list[Problem] = []
    for signature in signatures:
        fault = signature.pattern.fault
        if fault:
            code = "FF208" if "compile" in fault else "FF209"
            problems.append(_problem(signature, f"the pattern {fault}", signature.pattern.text, code))
            continue
        for index, sample in enumerate(signature.samples, start=1):
            found = [observation for _, observation in hits(sample.line, (signature,))]
            if not found:
                problems.append(_problem(signature, f"sample {index} does not match", sample.line))
                continue
            wrong = min((_differences(observation, sample.fields) for observation in found), key=len)
            problems += [_problem(signature, f"sample {index}: {text}", sample.line) for text in wrong]
        problems += _slow(signature)
        for index, miss in enumerate(signature.near_misses, start=1):
            if hits(miss, (signature,)):
                problems.append(_problem(signature, f"near miss {index} matches", miss))
    return problems


SLOWEST_S = 0.1
_UNITS = (":", "-", "a", " ", "0", ".", "a ", "1:", "[", "=", ",", "/")


def _slow(signature: Signature) -> list[Problem]:
    """A pattern whose cost explodes on a long line of one character after its own literal."""
    for unit in _UNITS:
        line = f"{signature.literals[0]} {unit * 500}"
        started = time.process_time()
        signature.pattern.compiled.search(line)
        if time.process_time() - started > SLOWEST_S:
            message = f"the pattern takes more than {SLOWEST_S} s on a line of 500 times {unit!r}"
            return [_problem(signature, message, signature.pattern.text)]
    return []


def _differences(observation: Observation, expected: object) -> list[str]:
    assert isinstance(expected, dict)
    return [
        f"{name} is {value_of(observation, name)!r}, expected {value!r}"
        for name, value in expected.items()
        if value_of(observation, name) != value or type(value_of(observation, name)) is not type(value)
    ]


def _problem(signature: Signature, message: str, line: str, code: str = "FF220") -> Problem:
    path, number = signature.place
    return Problem(path, number, 1, code, message, snippet=line.partition("\n")[0], where=f"signature {signature.name}")
