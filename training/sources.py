"""Pictures to learn from, rendered while the training runs. Chunk c of a seed is always the same, whatever was rendered before."""

import threading

import torch

import targets

PLACES = 12  # for faces of a scene
FACE = ("points", "space", "position", "pose", "coefficients", "visible", "shown", "box", "five")


class Crops:
    """Faces for the face network."""

    def __init__(self, renderer, size=256):
        self.renderer, self.size = renderer, size

    def chunk(self, seed, c, count):
        images, known = self.renderer.crops(seed, range(c * count, (c + 1) * count), self.size)
        return dict(image=images, **{k: known[k] for k in FACE})

    def batch(self, chosen, size, dice, varied=True):
        return targets.face(chosen["image"], chosen, size, dice)


class Scenes:
    """Pictures with any number of faces for the detector."""

    def __init__(self, renderer, width=640, height=480):
        self.renderer, self.width, self.height = renderer, width, height

    def chunk(self, seed, c, count):
        images, faces = self.renderer.scenes(seed, range(c * count, (c + 1) * count), self.width, self.height)
        return dict(image=images, **places(faces, images.device))

    def batch(self, chosen, size, dice, varied=True):
        return targets.detector(chosen["image"], chosen, size, dice, varied)


def places(faces, device):
    """Lists of truths to tensors with PLACES for each picture."""
    b = len(faces)
    out = dict(box=torch.zeros(b, PLACES, 4), five=torch.zeros(b, PLACES, 5, 2), shown=torch.zeros(b, PLACES), there=torch.zeros(b, PLACES, dtype=torch.bool))
    out = {k: v.to(device) for k, v in out.items()}
    for i, known in enumerate(faces):
        for g, face in enumerate(known[:PLACES]):
            for name in ("box", "five", "shown"):
                out[name][i, g] = face[name][0]
            out["there"][i, g] = True
    return out


class Pool:
    """The chunks from which batches are drawn, made by a thread of their own, on a GPU on a stream of their own. Step s draws from the
    window of chunks that ends with s // every + 1, so what a step sees does not depend on how fast chunks are made."""

    def __init__(self, make, device, window, every, first):
        self.make, self.device, self.window, self.every = make, device, window, every
        self.chunks, self.error, self.closed = {}, None, False
        self.step = first
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def range(self, step):
        end = step // self.every + 2
        return max(0, end - self.window), end

    def at(self, step):
        """All chunks of a step's window; waits for those that are still being made."""
        low, end = self.range(step)
        with self.changed:
            self.step = step
            for c in [c for c in self.chunks if c < low]:
                del self.chunks[c]
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.error or all(c in self.chunks for c in range(low, end)))
            if self.error:
                raise self.error
            return [self.chunks[c] for c in range(low, end)]

    def close(self):
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.thread.join()

    def _next(self):
        low, end = self.range(self.step)
        missing = [c for c in range(low, end + 2) if c not in self.chunks]  # two ahead
        return missing[0] if missing else None

    def _run(self):
        stream = torch.cuda.Stream() if self.device.startswith("cuda") else None
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.closed or self._next() is not None)
                if self.closed:
                    return
                c = self._next()
            try:
                made = self._made(c, stream)
            except Exception as e:  # ends the training, in the thread that waits
                made, self.error = {}, e
            with self.changed:
                self.chunks[c] = made
                self.changed.notify_all()
                if self.error:
                    return

    def _made(self, c, stream):
        with torch.no_grad():
            if stream is None:
                return self.make(c)
            with torch.cuda.stream(stream):
                made = self.make(c)
            stream.synchronize()
            for values in made.values():  # whose memory may be reused here only when the training's stream is done with it
                values.record_stream(torch.cuda.default_stream())
            return made


def draw(chunks, count, dice):
    """count pictures out of all chunks; each as likely as any other."""
    sizes = [len(c["image"]) for c in chunks]
    picks = (torch.rand(count, generator=dice.generator) * sum(sizes)).long()
    parts, start = [], 0
    for chunk, size in zip(chunks, sizes):
        here = (picks[(picks >= start) & (picks < start + size)] - start).to(chunk["image"].device)
        start += size
        if len(here):
            parts.append({k: v[here] for k, v in chunk.items()})
    return {k: torch.cat([p[k] for p in parts]) for k in parts[0]}
