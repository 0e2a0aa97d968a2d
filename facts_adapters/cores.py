"""Work on many files spread over the cores, with the results in order."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

T = TypeVar("T")

MOST_WORKERS = 16


def cores() -> int:
    """Cores that this process may use; 1 where it cannot be divided safely (threads run, or the system has no fork)."""
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, MOST_WORKERS)


def in_order(work: Callable[[int], T], numbers: Sequence[int], workers: int) -> Generator[T]:
    """``work`` of each number, in order. The results must pickle.

    Each of the workers (forked, so that they share what is in memory) does every n-th number and waits while nobody
    fetches its results: memory stays bounded. What a worker that was killed left undone is done here.
    """
    workers = min(workers, len(numbers))
    if workers < 2:
        yield from map(work, numbers)
        return
    import multiprocessing  # it takes a while, and small bundles do not need it

    context = multiprocessing.get_context("fork")
    running: list[tuple[ForkProcess, Connection]] = []
    for first in range(workers):
        ours, theirs = context.Pipe(duplex=False)
        readers = [*(reader for _, reader in running), ours]
        arguments = (work, numbers[first::workers], theirs, readers, os.getpid())
        process = context.Process(target=_run, args=arguments, daemon=True)
        process.start()
        theirs.close()
        running.append((process, ours))
    try:
        for place, number in enumerate(numbers):
            results: Connection = running[place % workers][1]
            try:
                found: T = results.recv()
            except (EOFError, OSError):  # the worker was killed
                found = work(number)
            yield found
    finally:
        for process, ours in running:
            ours.close()
            process.terminate()
        for process, _ in running:
            process.join()


def _run(
    work: Callable[[int], T],
    numbers: Sequence[int],
    results: Connection,
    readers: Sequence[Connection],
    parent: int,
) -> None:
    for reader in readers:
        reader.close()  # else this process would not notice that nobody reads any more
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def leave(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, leave)  # the parent may be killed while a long file is read
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    try:
        for number in numbers:
            results.send(work(number))
    except BrokenPipeError:
        pass  # nobody wants the rest
