"""One subject for all names of a thing: applied once, between what the adapters read and the timeline.

``join_hosts`` gives every host one name, ``join_devices`` every port and every GPU; the decisions are in
``docs/adr/identity.md``. What a line states about names is learnt from the bundle itself. A name that is stated for two
things is left as it stands: nothing is guessed.
"""

from engine.facts.identity.joining import assumptions, join_devices, join_hosts
from engine.facts.identity.table import IDENTITY_KINDS

__all__ = ["IDENTITY_KINDS", "assumptions", "join_devices", "join_hosts"]
