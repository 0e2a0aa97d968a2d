"""Codes of problems inside one definition: FF2xx."""

from __future__ import annotations

from engine.authored.code import Code

RULE_CODES = (
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
        "FF251",
        "facts-unrelated",
        "Facts of which an incident may have many, and nothing says what they have to do with each other.",
        "Add same, differ, after, before or within; or apart: true if any of them will do, wherever it is.",
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
)
