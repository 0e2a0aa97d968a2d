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

_WHAT = (
    r"(?:the |a |async )?(?:model |training |sharded |full |optimizer |latest |best |last )*"
    r"(?:checkpoint|ckpt|snapshot|train state)"
)
_BEGIN = re.compile(
    rf"(?i)(?:^|[^a-z])(?:(?P<save>saving {_WHAT}|saving current state to|saving fsdp model to"
    r"|saving (?:to )?\S{0,200}/(?:checkpoint|ckpt|global_step|step)[-_]?\d+\b"
    r"|saving (?:latest|best|last|final|new|current|periodic|intermediate) (?:model )?checkpoint"
    r"|preparing to save checkpoint|scheduled async checkpoint save|starting async checkpoint save"
    r"|(?:uploading|dumping|storing) (?:the |a )?(?:checkpoint|snapshot)|writing model weights to"
    r"|starting checkpointmanager save finalize|torch\.save: writing"
    r"|checkpoint \S+ is about to be saved!|\[torch\] saving \S|saving model to '/)"
    r"|(?P<load>(?:loading|begin load) (?:the |release |distributed )?checkpoint from"
    r"|restoring states from the checkpoint|loading states from|loading \d+ zero partition checkpoints))"
)
_END = re.compile(
    rf"(?i)successfully (?:saved|loaded)|finalized successfully|save finalize is done|checkpoint (?:save )?took \d"
    rf"|(?:^|[^a-z])(?:saved|wrote|finished saving|done saving) {_WHAT}"
    r"|(?:checkpoint|ckpt|snapshot)\b[^!]{0,80}\b(?:saved|written|committed|finalized|completed"
    r"|complete(?! [a-z]))\b[^!]*$"
    r"|scheduled an async checkpoint|is ready now!|end load checkpoint|loaded checkpoint from|restored all states"
    r"|fsdp model saved|(?:model weights|random states) saved in|\[torch\] saved \S|finished loading the checkpoint"
    r"|all (?:model weights|random states) loaded successfully|successfully read \d+ zero state_dicts"
)
_GOES_ON = re.compile(
    r"(?i)\biteration +\d+/ *\d+ \||\b(?:step|iter(?:ation)?|epoch)s?[=: ]+\d+.{0,200}(?:loss|\blr\b|elapsed"
    r"|samples|tok/s)"
    r"|'loss': |\d+%\|[^|]*\| \d+/\d+ \[|SamplesPerSec|after training is done|training completed|trainer\.fit. stopped"
    r"|datetime: \d{4}-"
)
_STEP = re.compile(r"(?i)(?:iteration|step)[ =_]*(?P<step>\d+)")
_EPOCH = re.compile(r"(?i)epoch[ =_]*(?P<step>\d+)")
_PATH = re.compile(r"(?:^|[\s=>'])(?P<path>/[\w./+=-]+)")
_SMALLEST_PATH = 2


def begins(message: str) -> bool:
    """True for the line that announces a save or load."""
    return bool(_BEGIN.search(message)) and not _END.search(message)


def _ended(message: str) -> bool:
    return bool(_END.search(message) or _GOES_ON.search(message))


def continues(so_far: Sequence[str], _message: str) -> bool:
    """True up to and with the line that shows the end."""
    return len(so_far) == 1 or not _ended(so_far[-1])


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.checkpoint_unfinished`` for the last announcement in the block where no end was seen, at its time."""
    if len(block.lines) >= LONGEST_BLOCK or any(_ended(line.text) for line in block.lines[1:]):
        return
    first = next(line for line in reversed(block.lines) if line is block.lines[0] or begins(line.text))
    begin = _BEGIN.search(first.text)
    if not begin:
        return
    fields: dict[str, Scalar] = {"direction": "save" if begin["save"] else "load"}
    step = _STEP.search(first.text) or _EPOCH.search(first.text)
    path = _PATH.search(first.text)
    if step:
        fields["step"] = int(step["step"])
    if path and len(path["path"]) >= _SMALLEST_PATH:
        fields["path"] = path["path"]
    yield Observation("job.checkpoint_unfinished", block.source(first.number), fields, when=first.when)


BLOCK = BlockReader(
    name="checkpoint",
    literals=(
        *("aving checkpoint", "aving the ", "aving model", "aving current state", "aving FSDP", "aving sharded"),
        *("aving a ", "aving async", "aving training", "aving full", "aving optimizer", "aving snapshot", "aving ckpt"),
        *("is about to be saved!", "oading checkpoint", "oading distributed checkpoint", "oading release checkpoint"),
        *("aving latest", "aving best", "aving last", "aving final", "aving new", "aving current", "aving periodic"),
        *("aving intermediate", "eparing to save checkpoint", "cheduled async checkpoint", "tarting async checkpoint"),
        *("ploading ", "umping ", "toring ", "riting model weights", "CheckpointManager Save Finalize"),
        *("orch.save: writing",),
        *("egin Load checkpoint", "estoring states from", "oading states from", "oading the checkpoint"),
        *("[Torch] Saving ", "aving model to '", "aving /", "aving to /", "zero partition checkpoints"),
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
            "[rank0]:[E823 11:50:09.374108265 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) Rank 0] "
            "Observed flight recorder dump signal from another rank via TCPStore.\n",
            (("job.checkpoint_unfinished", {"step": 322, "path": "/nfs/models/asr", "direction": "save"}),),
        ),
        Sample(
            "2026-07-13 10:09:31,118 - root - INFO - Saving latest checkpoint, 3 epochs and 412 batches done\n",
            (("job.checkpoint_unfinished", {"direction": "save"}),),
        ),
        Sample(
            "[2026-07-13 10:09:31] rank=1 saving /model/trained/checkpoint-420 ...\n",
            (("job.checkpoint_unfinished", {"path": "/model/trained/checkpoint-420", "direction": "save"}),),
        ),
        Sample(
            "2025-10-06 13:27:14,038 INFO trainer: saving checkpoint step 1920 -> /ckpt/run/step_1920\n"
            "2025-10-06 13:27:45,391 INFO trainer: checkpoint step 1920 saved in 31.3s\n"
        ),
        Sample(
            "[2026-03-05 11:52:11,826] [INFO] [logging.py:128:log_dist] [Rank 0] [Torch] Checkpoint global_step617 is "
            "about to be saved!\n"
            "[2026-03-05 11:53:11,826] [INFO] [logging.py:128:log_dist] [Rank 0] step=500, skipped=0, lr=[0.1], "
            "mom=[0.9]\n"
        ),
        Sample(
            "[2026-03-05 11:52:11,826] [INFO] [logging.py:128:log_dist] [Rank 0] [Torch] Checkpoint global_step617 is "
            "about to be saved!\n",
            (("job.checkpoint_unfinished", {"step": 617, "direction": "save"}),),
        ),
        Sample(
            "Epoch 0, global step 1000: 'val_loss' reached 0.12000, saving model to '/ckpt/e.ckpt' as top 1\n",
            (("job.checkpoint_unfinished", {"step": 1000, "path": "/ckpt/e.ckpt", "direction": "save"}),),
        ),
        Sample(
            "[2024-01-01 12:00:00,123] [INFO] [engine.py:2962:_load_zero_checkpoint] loading 8 zero partition "
            "checkpoints for rank 3\n"
            "[2024-01-01 12:00:09,123] [INFO] [engine.py:3012:_get_all_zero_checkpoint_state_dicts] successfully read "
            "8 ZeRO state_dicts for rank 3\n"
        ),
        Sample(
            "Saving model checkpoint to /out/checkpoint-500\n{'loss': '1.2', 'learning_rate': '5e-05', 'epoch': "
            "'0.1'}\n"
        ),
    ),
)
