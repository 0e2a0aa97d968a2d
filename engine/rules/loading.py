"""Finds and reads the files of packs; what a pack and the linter are made from."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.authored.document import Document, InvalidDocument, parse_document, read_text
from engine.authored.problem import Problem, did_you_mean, listed
from engine.authored.sheet import Sheet
from engine.facts.vocabulary import KindSpec, Vocabulary, coverage_problems, read_vocabulary
from engine.rules.model import EvidenceRule, Leaf, Profile, PropagationRule, Question, Tree
from engine.rules.reader import KINDS, head, read_evidence, read_leaf, read_propagation
from engine.rules.reader_lists import read_profile, read_questions, read_tree

HEAD = "pack.yaml"
"""The file that makes a folder a pack."""

_OF_ADAPTERS = re.compile(r"^kind:[ ]+(?:signatures|counter_map)\b", re.MULTILINE)
"""Files that the adapters read themselves."""
_EMITS = re.compile(r"\bemits:\s*[\"']?([a-z]+\.[a-z_0-9]+)")
_OTHER_KEY = re.compile(r"\n[^\s#-]")


@dataclass(frozen=True, slots=True)
class PackHead:
    """What ``pack.yaml`` says."""

    root: Path
    name: str = ""
    version: str = ""
    disable: tuple[str, ...] = ()
    document: Document | None = None


@dataclass(slots=True)
class EvidenceFile:
    """The rules of one cause and the file they stand in."""

    cause: str
    rules: tuple[EvidenceRule, ...]
    document: Document


@dataclass(slots=True)
class Loaded:
    """All that was read from some packs, later packs over earlier ones."""

    heads: list[PackHead] = field(default_factory=list)
    vocabulary: Vocabulary = field(default_factory=lambda: Vocabulary({}))
    vocabulary_files: list[tuple[Document, list[KindSpec]]] = field(default_factory=list)
    leaves: dict[str, tuple[Leaf, Document]] = field(default_factory=dict)
    evidence: dict[str, EvidenceFile] = field(default_factory=dict)
    propagation: dict[str, tuple[PropagationRule, Document]] = field(default_factory=dict)
    questions: dict[str, tuple[Question, Document]] = field(default_factory=dict)
    profiles: dict[str, tuple[Profile, Document]] = field(default_factory=dict)
    tree: tuple[Tree, Document] | None = None
    signature_emits: set[str] = field(default_factory=set)
    """Kinds that signature files yield; collected only where examples are read."""
    problems: list[Problem] = field(default_factory=list)
    hash: str = ""


@dataclass(slots=True)
class _File:
    path: Path
    name: str
    shown: str
    text: str
    pack: int


def load(roots: Sequence[Path], *, examples: bool) -> Loaded:
    """Read packs; ``examples=False`` leaves the examples of rule files unread, which only lint and tests need.

    A root may be a folder with a pack or a single file, which is then a pack of its own. Never raises for what
    authors wrote: see ``problems``.
    """
    with _no_collection():
        return _Loader(examples).load(roots)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Parsing makes many small objects and no garbage: collecting meanwhile would take most of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def shown(path: Path) -> str:
    """A path as problems show it: relative to the working directory where it lies below it."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def _readable(path: Path) -> bool:
    """Whether reading ``path`` can end: a pipe or a device named like a rule file would be waited for."""
    return path.is_file() or not path.exists()


class _Loader:
    def __init__(self, examples: bool) -> None:
        self.examples = examples
        self.loaded = Loaded()
        self.documents: list[tuple[str, Document, int]] = []
        self.owner: dict[tuple[str, str], tuple[int, str]] = {}

    def load(self, roots: Sequence[Path]) -> Loaded:
        digest = hashlib.sha256()
        for number, root in enumerate(roots):
            self._head(root)
            for file in self._files(root, number):
                normal = file.text.replace("\r\n", "\n").encode()
                digest.update(f"{number}\0{file.name}\0{len(normal)}\0".encode() + normal)
                self._parse(file)
        self.loaded.hash = digest.hexdigest()
        self._vocabulary()
        readers = {
            "cause": self._cause,
            "evidence": self._evidence,
            "propagation": self._propagation,
            "questions": self._questions,
            "profile": self._profile,
            "tree": self._tree,
        }
        for number, head_of in enumerate(self.loaded.heads):
            self._disable(head_of)
            for kind, document, pack in self.documents:
                if pack == number and kind in readers:
                    self.loaded.problems += readers[kind](document, pack).problems
        return self.loaded

    def _files(self, root: Path, number: int) -> Iterator[_File]:
        paths = (
            sorted(p for p in root.rglob("*") if p.suffix in (".yaml", ".yml") and _readable(p))
            if root.is_dir()
            else [root]
        )
        prefix = shown(root)
        for path in paths:
            name = path.relative_to(root).as_posix() if root.is_dir() else path.name
            label = f"{prefix}/{name}" if root.is_dir() else prefix
            label = name if prefix == "." else label
            try:
                yield _File(path, name, label, read_text(path, label), number)
            except InvalidDocument as error:
                self.loaded.problems += error.problems

    def _head(self, root: Path) -> None:
        path = root / HEAD
        if not root.is_dir():
            self.loaded.heads.append(PackHead(root))
            return
        if not path.is_file():
            reason = "a pack is a folder with this file" if root.exists() else "the folder does not exist"
            self._fail_file(path, "FF311", f"no {HEAD} in {shown(root)}", reason)
            self.loaded.heads.append(PackHead(root))
            return
        try:
            document = parse_document(read_text(path, shown(path)), shown(path), name=HEAD)
        except InvalidDocument:
            self.loaded.heads.append(PackHead(root))  # reported when the file is parsed with the others
            return
        sheet = Sheet(document)
        given = head(sheet, "pack", ("schema", "name", "version"), ("kind", "disable", "description", "lint")) or {}
        name = sheet.string(given["name"], ("name",), "name") if "name" in given else ""
        version = sheet.string(given["version"], ("version",), "version") if "version" in given else ""
        disable = sheet.strings(given["disable"], ("disable",), "disable", least=0) if "disable" in given else ()
        self.loaded.problems += sheet.problems
        self.loaded.heads.append(PackHead(root, name, version, disable, document))

    def _fail_file(self, path: Path, code: str, message: str, reason: str = "") -> None:
        self.loaded.problems.append(Problem(shown(path), 0, 0, code, message, reason=reason))

    def _parse(self, file: _File) -> None:
        if file.name == HEAD and file.path.parent == self.loaded.heads[file.pack].root:
            if self.loaded.heads[file.pack].document is None:
                self._document(file, file.text)
            return
        if _OF_ADAPTERS.search(file.text):
            if self.examples:
                self.loaded.signature_emits.update(_EMITS.findall(file.text))
            return
        document = self._document(file, file.text if self.examples else without_examples(file.text))
        if document is None:
            return
        sheet = Sheet(document)
        value: Any = document.value
        if not isinstance(value, dict):
            sheet.fail(
                "FF105", (), "the file holds no mapping", reason=f"it begins with schema: 1 and kind: {listed(KINDS)}"
            )
        elif "kind" not in value:
            sheet.fail("FF106", (), 'the file lacks the key "kind"', reason=f"kind is one of: {listed(KINDS)}")
        elif value["kind"] not in KINDS:
            sheet.fail(
                "FF106", ("kind",), f'unknown kind of file "{value["kind"]}"', label=did_you_mean(value["kind"], KINDS),
                reason=f"kind is one of: {listed(KINDS)}",
            )  # fmt: skip
        else:
            self.documents.append((value["kind"], document, file.pack))
        self.loaded.problems += sheet.problems

    def _document(self, file: _File, text: str) -> Document | None:
        try:
            return parse_document(text, file.shown, name=file.name)
        except InvalidDocument as error:
            self.loaded.problems += error.problems
            return None

    def _vocabulary(self) -> None:
        kinds: dict[str, KindSpec] = {}
        for kind, document, pack in self.documents:
            if kind != "vocabulary":
                continue
            specs, problems = read_vocabulary(document)
            self.loaded.problems += problems
            for spec in specs:
                if self._claim(document, ("facts", spec.kind), "kind", spec.kind, pack, key=True):
                    kinds[spec.kind] = spec
            self.loaded.vocabulary_files.append((document, specs))
        self.loaded.vocabulary = Vocabulary(kinds)
        self.loaded.problems += coverage_problems(self.loaded.vocabulary_files, self.loaded.vocabulary)

    def _claim(
        self, document: Document, path: tuple[str | int, ...], what: str, name: str, pack: int, *, key: bool = False
    ) -> bool:
        """Whether this is the first with its id in its pack; a later pack may replace what an earlier one has."""
        known, other = self.owner.get((what, name), (-1, ""))
        if known == pack:
            self.loaded.problems.append(
                document.problem(
                    "FF301",
                    path,
                    f'the {what} "{name}" stands twice in this pack',
                    key=key,
                    reason=f"the other one is in {other}",
                )
            )
            return False
        self.owner[(what, name)] = (pack, document.path)
        return True

    def _cause(self, document: Document, pack: int) -> Sheet:
        leaf, sheet = read_leaf(document, self.loaded.vocabulary)
        if leaf is not None and leaf.id and self._claim(document, ("id",), "cause", leaf.id, pack):
            self.loaded.leaves[leaf.id] = (leaf, document)
        return sheet

    def _evidence(self, document: Document, pack: int) -> Sheet:
        rules, sheet = read_evidence(document, self.loaded.vocabulary)
        cause = document.value.get("cause")
        if isinstance(cause, str) and self._claim(document, ("cause",), "evidence of", cause, pack):
            self.loaded.evidence[cause] = EvidenceFile(cause, rules, document)
        return sheet

    def _propagation(self, document: Document, pack: int) -> Sheet:
        rule, sheet = read_propagation(document, self.loaded.vocabulary)
        if rule is not None and rule.id and self._claim(document, ("id",), "propagation", rule.id, pack):
            self.loaded.propagation[rule.id] = (rule, document)
        return sheet

    def _questions(self, document: Document, pack: int) -> Sheet:
        questions, sheet = read_questions(document, self.loaded.vocabulary)
        for index, question in enumerate(questions):
            if self._claim(document, ("questions", index, "id"), "question", question.id, pack):
                self.loaded.questions[question.id] = (question, document)
        return sheet

    def _profile(self, document: Document, pack: int) -> Sheet:
        profile, sheet = read_profile(document)
        if profile is not None and self._claim(document, ("id",), "profile", profile.id, pack):
            self.loaded.profiles[profile.id] = (profile, document)
        return sheet

    def _tree(self, document: Document, pack: int) -> Sheet:
        tree, sheet = read_tree(document)
        if tree is not None and self._claim(document, (), "tree", "tree", pack):
            self.loaded.tree = (tree, document)
        return sheet

    def _disable(self, head_of: PackHead) -> None:
        """Take away what earlier packs brought and this one does not want."""
        for index, name in enumerate(head_of.disable):
            if head_of.document is not None and not self._remove(name):
                known = [*self.loaded.leaves, *self.loaded.propagation, *self.loaded.questions]
                known += [rule.id for file in self.loaded.evidence.values() for rule in file.rules]
                self.loaded.problems.append(
                    head_of.document.problem(
                        "FF312",
                        ("disable", index),
                        f'nothing below this pack has the id "{name}"',
                        label=did_you_mean(name, known),
                    )
                )

    def _remove(self, name: str) -> bool:
        cause, _, rule = name.partition("/")
        if rule and cause in self.loaded.evidence:
            file = self.loaded.evidence[cause]
            kept = tuple(r for r in file.rules if r.id != name)
            found = len(kept) < len(file.rules)
            file.rules = kept
            return found
        tables: tuple[dict[str, Any], ...] = (
            self.loaded.leaves,
            self.loaded.evidence,
            self.loaded.propagation,
            self.loaded.questions,
        )
        return sum(table.pop(name, None) is not None for table in tables) > 0


def without_examples(text: str) -> str:
    """The text up to a last top-level key ``examples``, else all of it."""
    start = text.rfind("\nexamples:") + 1
    return text[:start] if start and not _OTHER_KEY.search(text, start) else text
