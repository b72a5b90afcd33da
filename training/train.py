#!/usr/bin/env python3
"""Trains one of the networks on pictures that are rendered meanwhile. A run can be stopped and goes on where it was:

    training/train.py face --out runs/face --total-minutes 120 --minutes 9
    training/train.py face --out runs/face --total-minutes 120 --minutes 9     (the next piece)

The folder gets state.pt, which export.py reads, and log.jsonl."""

import argparse
import copy
import json
import math
import os
import pathlib
import signal
import time

import torch

import losses
import metrics
import networks
import sources
import targets
import workers

TASKS = {"detector": (losses.detector, metrics.detector), "face": (losses.face, metrics.face)}
HOLDOUT = 1 << 20  # what is added to the seed for pictures that no training sees
WARM = 0.02  # share of the training in which the rate rises
WARM_STEPS = 5  # before one is captured


def arguments(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kind", choices=sorted(TASKS))
    p.add_argument("--out", required=True)
    p.add_argument("--pack", help="ict_facekit.npz; found in FACETRACK_ASSETS or shared/assets without it")
    p.add_argument("--minutes", type=float, default=math.inf, help="of this piece")
    p.add_argument("--total-minutes", type=float, default=120, help="of all pieces; the rate falls to its end")
    p.add_argument("--steps", type=int, help="of all pieces, instead of minutes: the same on every machine")
    p.add_argument("--until", type=int, default=1 << 60, help="step at which this piece ends")
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--chunk", type=int, default=64, help="pictures that are rendered together")
    p.add_argument("--every", type=int, default=2, help="steps for each new chunk")
    p.add_argument("--window", type=int, default=96, help="chunks that batches are drawn from")
    p.add_argument("--renderers", type=int, default=0, help="processes that render; without any a thread of this one does")
    p.add_argument("--no-replay", action="store_true", help="do not replay steps as a CUDA graph")
    p.add_argument("--size", type=int, help="side of the network's input")
    p.add_argument("--wide", type=float, default=1.0, help="factor for all channels")
    p.add_argument("--over", type=int, default=2, help="as in render.py")
    p.add_argument("--rate", type=float, default=2e-3)
    p.add_argument("--decay", type=float, default=0.02)
    p.add_argument("--average", type=float, default=0.999)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--check-minutes", type=float, default=8, help="between checks on held-out pictures")
    p.add_argument("--held", type=int, default=4, help="chunks that are held out")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return p.parse_args(argv)


def rate_at(progress):
    return min(1, (progress + 1e-3) / WARM) * 0.5 * (1 + math.cos(math.pi * min(progress, 1)))


def grouped(net, decay):
    """Convolutions decay; slopes, biases and normalisation do not."""
    weights = [p for p in net.parameters() if p.dim() > 1]
    others = [p for p in net.parameters() if p.dim() <= 1]
    return [dict(params=weights, weight_decay=decay), dict(params=others, weight_decay=0.0)]


def in_float(module):
    """Keeps a layer out of half precision: of a point in the middle bfloat16 knows no more than half a pixel."""
    inner = module.forward

    def forward(x):
        with torch.autocast(x.device.type, enabled=False):
            return inner(x.float())

    module.forward = forward


def on(chunk, device):
    return {k: v.to(device) for k, v in chunk.items()}


class Training:
    """Everything that a piece goes on with. All chance comes from the seed and the step's number."""

    def __init__(self, args, source):
        self.args, self.source, self.device = args, source, args.device
        self.loss, self.measure = TASKS[args.kind]
        torch.manual_seed(args.seed)
        make = networks.KINDS[args.kind]
        self.net = (make(args.size, args.wide) if args.size else make(wide=args.wide)).to(self.device)
        self.average = copy.deepcopy(self.net).eval().requires_grad_(False)
        for module in self.net.modules():
            if isinstance(module, (networks.Head, networks.Linear)):
                in_float(module)
        # With pictures from other processes nothing else of this one uses the GPU, as a capture demands.
        self.replays, self.warm, self.graph = self.device.startswith("cuda") and args.renderers > 0 and not args.no_replay, 0, None
        known = dict(lr=torch.tensor(args.rate, device=self.device), fused=True, capturable=True) if self.replays else dict(lr=args.rate)
        self.optimizer = torch.optim.AdamW(grouped(self.net, args.decay), **known)
        self.follows = [(a, b) for a, b in zip(self.average.state_dict().values(), self.net.state_dict().values())]
        self.step, self.used, self.checked, self.stopped = 0, 0.0, 0.0, False
        self.folder = pathlib.Path(args.out)
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / "state.pt").exists():
            self.load()

    def load(self):
        state = torch.load(self.folder / "state.pt", map_location=self.device)
        fixed = dict(kind=self.args.kind, size=self.net.size, wide=self.args.wide, seed=self.args.seed)
        for name, value in fixed.items():
            if state[name] != value:
                raise SystemExit(f"train.py: {self.folder} was begun with {name} {state[name]}, not {value}; use another folder")
        self.net.load_state_dict(state["net"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.used, self.checked = state["step"], state["used"], state["checked"]

    def save(self):
        a = self.args
        state = dict(kind=a.kind, size=self.net.size, wide=a.wide, seed=a.seed, step=self.step, used=self.used, checked=self.checked,
                     net=self.net.state_dict(), average=self.average.state_dict(), optimizer=self.optimizer.state_dict())
        torch.save(state, self.folder / "state.new")
        os.replace(self.folder / "state.new", self.folder / "state.pt")

    def progress(self):
        return self.step / self.args.steps if self.args.steps else self.used / (60 * self.args.total_minutes)

    def chunk(self, c):
        return self.source.chunk(self.args.seed, c, self.args.chunk)

    def log(self, **values):
        line = json.dumps({k: round(v, 6) if isinstance(v, float) else v for k, v in values.items()})
        with open(self.folder / "log.jsonl", "a") as f:
            f.write(line + "\n")
        return line

    def learn(self, target):
        """One step; the parts of its loss."""
        rate = self.args.rate * rate_at(self.progress())
        for group in self.optimizer.param_groups:
            if torch.is_tensor(group["lr"]):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        self.net.train()
        parts = self.replayed(target) if self.replays else self.update(target)
        self.step += 1
        self.follow()
        return parts

    def update(self, target):
        with torch.autocast(self.device.split(":")[0], torch.bfloat16, enabled=self.device.startswith("cuda")):
            outputs = self.net(target["image"])
        parts = self.loss(outputs, target)
        self.optimizer.zero_grad(set_to_none=True)
        sum(parts.values()).backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 30.0)
        self.optimizer.step()
        return {k: v.detach() for k, v in parts.items()}

    def replayed(self, target):
        """After some steps as they are, one is captured as a graph, whose replay needs no time of the CPU."""
        if self.warm < WARM_STEPS:
            self.warm += 1
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                parts = self.update(target)
            torch.cuda.current_stream().wait_stream(side)
            return parts
        if self.graph is None:
            self.static = {k: v.clone() for k, v in target.items()}
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self.parts = self.update(self.static)
            self.graph = graph
        for name, value in target.items():
            self.static[name].copy_(value)
        self.graph.replay()
        return {k: v.clone() for k, v in self.parts.items()}

    @torch.no_grad()
    def follow(self):
        """The average follows faster at first, when what it has is not worth keeping."""
        keep = min(self.args.average, self.step / (self.step + 9))
        ours, theirs = zip(*((a, b) for a, b in self.follows if a.dtype.is_floating_point))
        torch._foreach_mul_(ours, keep)
        torch._foreach_add_(ours, theirs, alpha=1 - keep)

    @torch.no_grad()
    def hold_out(self):
        """Chunks of another seed, rendered before the pool's thread begins: the renderer belongs to one thread at a time."""
        a = self.args
        self.held = [on(self.source.chunk(a.seed + HOLDOUT, c, a.chunk), "cpu") for c in range(a.held)]

    @torch.no_grad()
    def check(self):
        """The averaged network on what is held out."""
        dice = (targets.Dice(self.device, HOLDOUT, c) for c in range(len(self.held)))
        return self.measure(self.average, (self.source.batch(on(chunk, self.device), self.net.size, d, varied=False) for chunk, d in zip(self.held, dice)))

    def helpers(self):
        """Rendering processes, if there are to be any."""
        a = self.args
        return workers.Workers(source_of, a, a.renderers, sources.span(self.step, a.every, a.window)[0]) if a.renderers else None

    def stop(self, *_):
        self.stopped = True

    def run(self):
        """A piece; returns whether the whole training is done."""
        a = self.args
        begun, before, sums, count = time.monotonic(), self.used, {}, 0
        helpers = self.helpers()
        try:
            self.hold_out()
            pool = sources.Pool(helpers or self.chunk, self.device, a.window, a.every, self.step)
        except BaseException:
            if helpers:
                helpers.close()
            raise
        try:
            while self.progress() < 1 and self.step < a.until and not self.stopped and self.used - before < 60 * a.minutes:
                for name, part in self.learn(self.batch(pool)).items():
                    sums[name] = sums.get(name, 0) + part.detach()
                count += 1
                self.used = before + time.monotonic() - begun
                if self.step % 50 == 0:
                    self.report(sums, count)
                    sums, count = {}, 0
                if self.used - self.checked > 60 * a.check_minutes:
                    self.keep()
        finally:
            if helpers:
                helpers.close()
            pool.close()
        if count:
            self.report(sums, count)
        self.keep(done=self.progress() >= 1)
        return self.progress() >= 1

    def batch(self, pool):
        dice = targets.Dice(self.device, self.args.seed, self.step)
        return self.source.batch(pool.at(self.step).draw(self.args.batch, dice), self.net.size, dice)

    def keep(self, **values):
        """Saves, then says how good the network is."""
        self.checked = self.used
        self.save()
        print(self.log(step=self.step, minutes=self.used / 60, **values, **self.check()), flush=True)

    def report(self, sums, count):
        parts = {name: float(v) / count for name, v in sums.items()}
        self.log(step=self.step, minutes=self.used / 60, loss=sum(parts.values()), **parts)


def source_of(args):
    import compose  # not needed by those who bring pictures of their own

    renderer = compose.Renderer(args.pack, args.device, args.over)
    return sources.Crops(renderer) if args.kind == "face" else sources.Scenes(renderer)


def main():
    args = arguments()
    torch.backends.cudnn.deterministic = True
    if args.device == "cpu":
        torch.set_num_threads(1)
    training = Training(args, source_of(args))
    signal.signal(signal.SIGTERM, training.stop)
    signal.signal(signal.SIGINT, training.stop)
    print("done" if training.run() else "to be continued")


if __name__ == "__main__":
    main()
