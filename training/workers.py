"""Processes that render chunks beside the training, which leaves them a file each. One process keeps a GPU busy with launches only in part."""

import multiprocessing
import multiprocessing.connection
import os
import pathlib
import signal
import tempfile
import threading

import torch

AHEAD = 3  # chunks that a process makes before they are asked for


def folder():
    """Memory, where a machine lends it as files."""
    shm = pathlib.Path("/dev/shm")
    return tempfile.TemporaryDirectory(prefix="facetrack-chunks-", dir=shm if os.access(shm, os.W_OK) else None)


def work(open_source, args, part, parts, first, place, asked, out):
    """Chunks part, part + parts, … from first on, never more than AHEAD rounds before the one that is asked for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        torch.set_num_threads(1)
        source = open_source(args)
        c = first + (part - first) % parts
        while True:
            asked.wait(c - AHEAD * parts)
            made = {k: v.cpu() for k, v in patient(lambda c=c: source.chunk(args.seed, c, args.chunk)).items()}
            path = pathlib.Path(place, f"{c}.pt")
            torch.save(made, path.with_suffix(".new"))
            path.with_suffix(".new").replace(path)
            out.send(c)
            c += parts
    except Exception as e:
        out.send(f"{type(e).__name__}: {e}")
        raise


@torch.no_grad()
def patient(make, tries=5):
    """What make gives; the GPU's memory is shared with the other processes, so that it may be short for a moment."""
    for left in reversed(range(tries)):
        try:
            return make()
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            if not left:
                raise


def end_with_parent():
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


class Asked:
    """The chunk that is asked for, known to all processes."""

    def __init__(self, context, first):
        self.condition, self.until = context.Condition(), context.Value("q", first, lock=False)

    def wait(self, c):
        with self.condition:
            self.condition.wait_for(lambda: self.until.value >= c)

    def raise_to(self, c):
        with self.condition:
            self.until.value = max(self.until.value, c)
            self.condition.notify_all()


class Workers:
    """make(c) for sources.Pool, by count processes. open_source(args) opens a source in each of them."""

    def __init__(self, open_source, args, count, first):
        context = multiprocessing.get_context("spawn")
        self.place = folder()
        self.asked = Asked(context, first)
        self.done, self.processes, self.pipes = set(), [], {}
        for part in range(count):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=work, args=(open_source, args, part, count, first, self.place.name, self.asked, theirs), daemon=True)
            process.start()
            theirs.close()
            self.processes.append(process)
            self.pipes[ours] = process

    def __call__(self, c):
        self.asked.raise_to(c)
        while c not in self.done:
            self._hear()
        self.done.discard(c)
        path = pathlib.Path(self.place.name, f"{c}.pt")
        made = torch.load(path)
        path.unlink()
        return made

    def _hear(self):
        for pipe in multiprocessing.connection.wait(list(self.pipes)):
            try:
                said = pipe.recv()
            except EOFError:
                raise RuntimeError(f"a rendering process ended with status {self.pipes[pipe].exitcode}") from None
            if isinstance(said, str):
                raise RuntimeError(f"a rendering process failed: {said}")
            self.done.add(said)

    def close(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join()
        self.place.cleanup()
