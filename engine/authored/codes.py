"""The codes of problems: what each means and what to do, for ``firstfault explain`` and the reference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of problem. ``ignorable`` ones may be suppressed inside the file, with a reason."""

    code: str
    name: str
    meaning: str
    remedy: str
    ignorable: bool = False


_ALL = (
    # --- the file ---
    Code(
        "FF100",
        "unreadable-file",
        "The file cannot be read, is too large or is not UTF-8.",
        "Save it as UTF-8; split it if it is too large.",
    ),
    Code(
        "FF101",
        "invalid-yaml",
        "The text is not valid YAML.",
        "Look at the caret; most often quotes are missing around text with a colon, or the indentation is off.",
    ),
    Code(
        "FF102",
        "tab-in-indentation",
        "YAML allows only spaces in the indentation.",
        "Replace each tab with spaces.",
    ),
    Code(
        "FF103",
        "duplicate-key",
        "A key stands twice in one mapping; YAML readers would silently take one of them.",
        "Remove or rename one.",
    ),
    Code(
        "FF104",
        "yaml-feature-not-allowed",
        "Tags, anchors, aliases and keys that are not plain words are not part of this dialect.",
        "Write the value out: every place in a rule file stands by itself.",
    ),
    Code(
        "FF105",
        "not-a-mapping",
        "The file is empty or not a mapping.",
        "Begin with schema: 1 and kind: …",
    ),
    Code(
        "FF106",
        "unknown-file-kind",
        "The key kind is missing or names no kind of file.",
        "Use one of the kinds that the message lists.",
    ),
    Code(
        "FF107",
        "schema-version",
        "The file is written for another version of the format.",
        "Update the program, or the file.",
    ),
    Code(
        "FF108",
        "placeholder-left",
        "A text still holds TODO or FIXME.",
        "Write the text.",
    ),
    # --- one definition ---
    Code(
        "FF201",
        "unknown-key",
        "A key that this place does not have.",
        "Take the suggested one, or one of the list in the message.",
    ),
    Code(
        "FF202",
        "missing-key",
        "A key that this place must have is not there.",
        "Add it.",
    ),
    Code(
        "FF203",
        "wrong-type",
        "A value of another type or form than this place takes.",
        "Numbers are decimal; the only words for yes and no are true and false; versions such as 2.30 need quotes.",
    ),
    Code(
        "FF204",
        "unknown-word",
        "A word outside the closed list of this place.",
        "Take one of the list in the message.",
    ),
    Code(
        "FF205",
        "language-missing",
        "Every sentence is given in English and in Chinese.",
        "Write {en: …, zh: …}.",
    ),
    Code(
        "FF206",
        "malformed-id",
        "An id or alias of another form than this place takes.",
        "Small letters, digits and hyphens; aliases with _ in place of hyphens; causes as branch.name.",
    ),
    Code(
        "FF210",
        "unknown-fact-kind",
        "The vocabulary has no such fact kind.",
        "Correct the name, or add the kind to knowledge/…/vocabulary and an adapter or signature that emits it.",
    ),
    Code(
        "FF211",
        "unknown-field",
        "The fact kind has no such field.",
        "Correct the name; every kind has job, host, rank, device, port and peer besides its own fields.",
    ),
    Code(
        "FF212",
        "value-not-in-vocabulary",
        "The vocabulary lists all values of this field and this is none of them: the test could never hold.",
        "Take a listed value, or extend the list in the vocabulary.",
    ),
    Code(
        "FF213",
        "wrong-value-type",
        "A field is compared with a value of another type, or in a way that its type does not allow.",
        "Put quotes around text, remove them from numbers; min, max, above and below are for numbers.",
    ),
    Code(
        "FF214",
        "contradictory-test",
        "The tests of one field exclude each other: the condition could never hold.",
        "Correct the bounds.",
    ),
    Code(
        "FF220",
        "unknown-alias",
        "An alias that no earlier condition binds.",
        "Bind it with as: before this place; aliases inside any are not visible outside.",
    ),
    Code(
        "FF221",
        "alias-bound-twice",
        "Two conditions of one rule bind the same alias.",
        "Rename one.",
    ),
    Code(
        "FF222",
        "condition-about-itself",
        "A condition is ordered against or joined with itself.",
        "Name an earlier alias.",
    ),
    Code(
        "FF223",
        "join-of-different-types",
        "Two fields of different types can never be equal.",
        "Join fields of one type.",
    ),
    Code(
        "FF224",
        "absence-cannot-be-shown",
        "Silence is not absence: only a kind with a class of coverage can be shown to be absent.",
        "Drop the condition, or give the kind an absence class in the vocabulary.",
    ),
    Code(
        "FF225",
        "impossible-order",
        "The order or the time window that the conditions ask for cannot exist.",
        "Correct before, after or within.",
    ),
    Code(
        "FF226",
        "no-anchor",
        "A rule without a fact, or an absence without a fact that says when.",
        "Put a fact condition first.",
    ),
    Code(
        "FF227",
        "alternatives-not-allowed",
        "A list of kinds, or any, at a place where alternatives have no meaning.",
        "Write one rule for each.",
    ),
    Code(
        "FF228",
        "bad-use-of-counted-alias",
        "An alias with count stands for several facts; another count, any, or a second such alias in one absence "
        "cannot refer to it.",
        "Relate both conditions to a plain alias instead.",
    ),
    Code(
        "FF229",
        "cannot-propagate",
        "Facts that say what was read, or that rules derive, neither cause nor follow from anything.",
        "Name the kind that was observed.",
    ),
    Code(
        "FF230",
        "bad-reference-in-text",
        "A {reference} in a text that names no alias of the rule or no field of its kind.",
        "Write {alias.field}.",
    ),
    Code(
        "FF231",
        "bad-suspect",
        "A suspect that is not a host, rank, device, port or peer.",
        "Name alias.host, alias.rank, alias.device, alias.port or alias.peer.",
    ),
    Code(
        "FF232",
        "decisive-without-verification",
        "Only a rule that was verified against a source may settle a cause.",
        "Say on what it was verified and where that is written, or use strong.",
    ),
    Code(
        "FF233",
        "texts-differ",
        "The English and the Chinese text mention different facts.",
        "Use the same references in both.",
        ignorable=True,
    ),
    Code(
        "FF240",
        "no-matching-example",
        "A rule that no example shows at work.",
        "Add an example that expects it.",
    ),
    Code(
        "FF241",
        "no-near-miss",
        "A rule that no example shows at rest.",
        "Add an example that differs from the match in the one point that matters.",
    ),
    Code(
        "FF242",
        "unknown-expectation",
        "An example expects a rule that its file does not have.",
        "Correct the id.",
    ),
    Code(
        "FF243",
        "example-fails",
        "An example yields other rules than it expects.",
        "Correct the rule or the example; `rules try` shows which condition failed.",
    ),
    Code(
        "FF244",
        "rules-refused",
        "Inference cannot give the rules a meaning, or cannot encode them exactly; the message says which and why.",
        "Simplify the rule, or split it.",
    ),
    Code(
        "FF250",
        "test-without-effect",
        "A list of values that holds every value of the field.",
        "Write {known: true} if that is meant.",
        ignorable=True,
    ),
    Code(
        "FF260",
        "bad-suppression",
        "A suppression of a code that does not exist or cannot be suppressed.",
        "Correct it.",
    ),
    Code(
        "FF261",
        "suppression-ran-out",
        "The date until which a problem was to be ignored is past.",
        "Solve the problem, or set a new date with a new reason.",
    ),
    # --- the pack ---
    Code(
        "FF301",
        "duplicate-id",
        "Two definitions of one pack have the same id.",
        "Rename one.",
    ),
    Code(
        "FF302",
        "unknown-cause",
        "A cause that has no leaf in the tree.",
        "Correct the id, or write the leaf.",
    ),
    Code(
        "FF303",
        "cause-without-support",
        "No rule speaks for this cause: it could never be named.",
        "Write its evidence.",
    ),
    Code(
        "FF304",
        "cause-without-leaf",
        "The fault tree lists a cause that has no leaf.",
        "Write the leaf.",
    ),
    Code(
        "FF305",
        "kind-never-emitted",
        "No adapter, signature or answer yields this fact kind.",
        "Write a signature or an adapter, or remove the kind.",
        ignorable=True,
    ),
    Code(
        "FF306",
        "kind-never-used",
        "No rule uses this fact kind.",
        "Write a rule, or remove the kind.",
        ignorable=True,
    ),
    Code(
        "FF307",
        "question-without-effect",
        "No rule uses what the question asks for.",
        "Write a rule, or remove the question.",
        ignorable=True,
    ),
    Code(
        "FF308",
        "minimal-evidence-unused",
        "What a leaf calls its minimal evidence is used by none of its rules.",
        "Write the rule, or correct the leaf.",
        ignorable=True,
    ),
    Code(
        "FF309",
        "network-from-symptoms",
        "A network cause supported strongly by nothing but symptoms. Time-outs and closed connections look the "
        "same whatever failed first.",
        "Ask for a fact of the network as well, or lower the strength.",
    ),
    Code(
        "FF310",
        "no-way-to-collect",
        "Evidence that a leaf needs and that nobody is told how to get.",
        "Give the kind `collect` in the vocabulary, or write a question that asks for it.",
        ignorable=True,
    ),
    Code(
        "FF311",
        "not-a-pack",
        "A folder given as a pack has no pack.yaml, or does not exist.",
        "Add pack.yaml with schema, name and version.",
    ),
    Code(
        "FF312",
        "nothing-to-disable",
        "pack.yaml disables an id that nothing has.",
        "Correct the id.",
        ignorable=True,
    ),
    Code(
        "FF313",
        "only-weak-support",
        "All support of a cause is weak: it could never be likely.",
        "Look for better evidence.",
        ignorable=True,
    ),
    # --- the vocabulary ---
    Code(
        "FF401",
        "kind-outside-branch",
        "A fact kind begins with the name of its branch.",
        "Rename it, or move it to the file of its branch.",
    ),
    Code(
        "FF402",
        "unknown-field-of-kind",
        "fold_by or compare names a field that the kind does not have.",
        "Correct the name.",
    ),
    Code(
        "FF403",
        "bad-field",
        "A field of a kind is declared in a way that cannot work.",
        "See the message.",
    ),
    # --- signatures and incident.yaml ---
    Code(
        "FF410",
        "bad-literal",
        "literals is a list of texts of which one must stand in the line; they spare most lines the pattern.",
        "Take a piece of the line that never changes and is rare elsewhere.",
    ),
    Code("FF411", "bad-pattern", "The pattern is not a regular expression.", "See the message."),
    Code(
        "FF412",
        "unsafe-pattern",
        "The pattern uses what can take unbounded time on a hostile line (look-around, back-references, nested "
        "repetition) or matches an empty text.",
        "Write it without; several signatures may match one line.",
    ),
    Code(
        "FF413",
        "bad-translation",
        "map translates a named group of the pattern: {from: group, values: {…}, default: …}.",
        "Correct it.",
    ),
    Code("FF414", "bad-lag", "lag is {min_s, max_s}; lag_from is {group, unit}.", "Correct it."),
    Code(
        "FF415",
        "sample-missing",
        "A signature needs a sample line that it matches and a near miss that it must not match.",
        "Add whole lines as they stand in a file.",
    ),
    Code(
        "FF416",
        "sample-fails",
        "A sample yields other facts than it states, or a near miss yields one.",
        "Correct the pattern or the sample.",
    ),
    Code("FF450", "bad-manifest", "incident.yaml holds something that cannot be used.", "See the message."),
    Code("FF451", "manifest-too-long", "incident.yaml is too long to be one and is not read.", "Shorten it."),
)

CODES = {code.code: code for code in _ALL}
"""All codes by code."""


def find(name: str) -> Code | None:
    """A code by its code or its name."""
    return CODES.get(name.upper()) or next((code for code in _ALL if code.name == name), None)
