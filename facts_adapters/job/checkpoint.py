"""Checkpoints that begin and of which no end is seen: Megatron-LM, DeepSpeed, Hugging Face, Lightning, home-made loops.

A record goes from the line that announces a save or load to the line that reports its end. Later steps count as an end
too: many programs print none. What is left at the end of the writer's log is unfinished.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import LONGEST_BLOCK, Block, BlockReader

_BEGIN = re.compile(
    r"(?i)(?:^|[^a-z])(?:"
    r"(?P<save>saving (?:the |a |async )?(?:model |training |sharded |full |optimizer )*(?:checkpoint|ckpt"
    r"|snapshot|train state)"
    r"|saving current state to|saving fsdp model to|checkpoint \S+ is about to be saved!)"
    r"|(?P<load>(?:loading|begin load) (?:release |distributed )?checkpoint from|restoring states from the checkpoint))"
)
_END = re.compile(
    r"(?i)successfully (?:saved|loaded)|scheduled an async checkpoint|is ready now!|end load checkpoint"
    r"|loaded checkpoint from"
    r"|restored all states|fsdp model saved|(?:saved|wrote|finished saving|done saving) (?:the |a "
    r"|async )?(?:\w+ )?(?:checkpoint|ckpt|snapshot)"
    r"|(?:checkpoint|ckpt|snapshot)\b.{0,80}(?:saved|written|committed|finalized|complete)|model weights saved in"
)
_GOES_ON = re.compile(
    r"(?i)\biteration +\d+/ *\d+ \||\bstep[=: ]+\d+.{0,200}loss|'loss': |\d+%\|[^|]*\| \d+/\d+ \["
    r"|after training is done"
    r"|training completed|trainer\.fit. stopped|datetime: \d{4}-"
)
_STEP = re.compile(r"(?i)(?:iteration|step|epoch)[ =_]*(?P<step>\d+)")
_PATH = re.compile(r"(?:^|[\s=>])(?P<path>/[\w./+=-]+)")
_SMALLEST_PATH = 2


def begins(message: str) -> bool:
    """True for the line that announces a save or load."""
    return bool(_BEGIN.search(message)) and not _END.search(message)


def _ended(message: str) -> bool:
    return bool(_END.search(message) or _GOES_ON.search(message))


def continues(so_far: Sequence[str], message: str) -> bool:
    """True up to and with the line that shows the end."""
    ended = len(so_far) > 1 and _ended(so_far[-1])
    return not ended and not (len(so_far) > 1 and begins(message))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.checkpoint_unfinished`` where no end was seen."""
    first = block.lines[0]
    begin = _BEGIN.search(first.text)
    if not begin or len(block.lines) >= LONGEST_BLOCK or any(_ended(line.text) for line in block.lines[1:]):
        return
    fields: dict[str, Scalar] = {"direction": "save" if begin["save"] else "load"}
    step, path = _STEP.search(first.text), _PATH.search(first.text)
    if step:
        fields["step"] = int(step["step"])
    if path and len(path["path"]) >= _SMALLEST_PATH:
        fields["path"] = path["path"]
    yield Observation("job.checkpoint_unfinished", block.source(first.number), fields)


BLOCK = BlockReader(
    name="checkpoint",
    literals=(
        *("aving checkpoint", "aving the ", "aving model", "aving current state", "aving FSDP", "aving sharded"),
        *("aving a ", "aving async", "aving training", "aving full", "aving optimizer", "aving snapshot", "aving ckpt"),
        *("is about to be saved!", "oading checkpoint", "oading distributed checkpoint", "oading release checkpoint"),
        *("egin Load checkpoint", "estoring states from"),
    ),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.checkpoint_unfinished",),
    samples=(
        Sample(
            "saving checkpoint at iteration     161 to /nfs/models/asr in torch_dist format\n"
            "  successfully saved checkpoint from iteration     161 to /nfs/models/asr [ t 1/8, p 1/1 ]\n"
            "saving checkpoint at iteration     322 to /nfs/models/asr in torch_dist format\n"
            "[rank0]:[E916 03:17:36.926735901 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) Rank 0] "
            "Observed "
            "flight recorder dump signal from another rank via TCPStore.\n",
            (("job.checkpoint_unfinished", {"step": 322, "path": "/nfs/models/asr", "direction": "save"}),),
        ),
        Sample(
            "2025-11-18 09:05:49,541 INFO trainer: saving checkpoint step 2368 -> /ckpt/run/step_2368\n"
            "2025-11-18 09:06:25,965 INFO trainer: checkpoint step 2368 saved in 36.4s\n"
        ),
        Sample(
            "Saving model checkpoint to /out/checkpoint-500\n{'loss': '1.2', 'learning_rate': '5e-05', 'epoch': "
            "'0.1'}\n"
        ),
    ),
)
