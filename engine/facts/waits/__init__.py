"""Who waits for whom: the states of all ranks in all process groups compared, and what follows from them.

:func:`analyse` is clock-free: sequence numbers and the order of each rank's own operations suffice.
"""

from engine.facts.waits.analysis import analyse
from engine.facts.waits.facts import KINDS, observations_of
from engine.facts.waits.logs import states_in_logs
from engine.facts.waits.model import Circle, Front, LostHost, Mismatch, Suspected, Wait, Waits
from engine.facts.waits.numbering import in_ranks_of_job
from engine.facts.waits.settling import settled
from engine.facts.waits.told import states_told

__all__ = [
    "KINDS",
    "Circle",
    "Front",
    "LostHost",
    "Mismatch",
    "Suspected",
    "Wait",
    "Waits",
    "analyse",
    "in_ranks_of_job",
    "observations_of",
    "settled",
    "states_in_logs",
    "states_told",
]
