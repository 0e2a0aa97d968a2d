"""The codes of problems: what each means and what to do, for ``firstfault explain`` and the reference."""

from __future__ import annotations

from engine.authored.code import Code
from engine.authored.codes_rules import RULE_CODES

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
    *RULE_CODES,
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
