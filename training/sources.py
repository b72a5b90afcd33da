"""Pictures to learn from, rendered while the training runs. Chunk c of a seed is always the same, whatever was rendered before."""

import threading

import torch

import targets

PLACES = 12  # for faces of a scene
AHEAD = 2  # chunks made before they are needed
FACE = ("points", "space", "position", "pose", "coefficients", "visible", "shown", "box", "five", "nobody")


class Crops:
    """Faces for the face network."""

    def __init__(self, renderer, size=256):
        self.renderer, self.size = renderer, size

    def chunk(self, seed, c, count):
        images, known = self.renderer.crops(seed, range(c * count, (c + 1) * count), self.size)
        return dict(image=images, **{k: known[k] for k in FACE})

    def batch(self, chosen, size, dice, varied=True):
        return targets.face(chosen["image"], chosen, size, dice, varied)


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
    taken = [(i, g) for i, known in enumerate(faces) for g in range(min(len(known), PLACES))]
    if taken:
        i, g = torch.tensor(taken).T
        for name in ("box", "five", "shown"):
            out[name][i, g] = torch.stack([faces[a][b][name][0] for a, b in taken]).cpu().float()
        out["there"][i, g] = True
    return {k: v.to(device) for k, v in out.items()}


def span(step, every, window):
    """The chunks that a step draws from: the first, and the one after the last."""
    end = step // every + 2
    return max(0, end - window), end


class Pool:
    """The window of chunks that batches are drawn from, kept on the training's device. Step s draws from the chunks that end with
    s // every + 1, so what a step sees does not depend on how fast chunks are made. make(c) runs in a thread of its own."""

    def __init__(self, make, device, window, every, first):
        self.make, self.device, self.window, self.every = make, device, window, every
        self.made, self.error, self.closed = {}, None, False
        self.kept, self.size, self.low, self.end = {}, 0, 0, 0
        self.next, self.limit = span(first, every, window)[0], 0
        self.taken = self.next
        self.changed = threading.Condition()
        self._until(first)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _until(self, step):
        self.low, self.end = span(step, self.every, self.window)
        self.limit = self.end + AHEAD

    def at(self, step):
        """Makes draw take from a step's window; waits for chunks that are still being made. Steps only rise."""
        with self.changed:
            self._until(step)
            self.changed.notify_all()
            while self.taken < self.end:
                self.changed.wait_for(lambda: self.error or self.taken in self.made)
                if self.error:
                    raise self.error
                self._keep(self.taken, self.made.pop(self.taken))
                self.taken += 1
        return self

    def _keep(self, c, chunk):
        if not self.kept:
            self.size = len(chunk["image"])
            self.kept = {k: torch.empty((self.window * self.size,) + v.shape[1:], dtype=v.dtype, device=self.device) for k, v in chunk.items()}
        start = c % self.window * self.size
        for name, values in chunk.items():
            self.kept[name][start : start + self.size].copy_(values, non_blocking=True)

    def draw(self, count, dice):
        """count pictures of the window, each as likely as any other."""
        pick = (dice.uniform((count,)) * ((self.end - self.low) * self.size)).long()
        slot = (self.low + pick // self.size) % self.window * self.size + pick % self.size
        return {k: v[slot] for k, v in self.kept.items()}

    def close(self):
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.thread.join()

    def _run(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.closed or self.next < self.limit)
                if self.closed:
                    return
                c = self.next
                self.next += 1
            try:
                made = self._made(c)
            except Exception as e:  # ends the training, in the thread that waits
                made, self.error = {}, e
            with self.changed:
                self.made[c] = made
                self.changed.notify_all()
                if self.error:
                    return

    def _made(self, c):
        with torch.no_grad():
            made = self.make(c)
        if self.device.startswith("cuda"):
            if made["image"].is_cuda:
                torch.cuda.synchronize()
            else:
                made = {k: v.pin_memory() for k, v in made.items()}
        return made
