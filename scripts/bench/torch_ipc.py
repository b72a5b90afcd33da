#!/usr/bin/env python3
"""The PyTorch side of `facetrack bench ipc`: producer and consumer are two Python processes.

Orders come as JSON lines on stdin, answers go to stdout. Times are taken as facetrack takes its own: t0 when the frame is complete
in page-locked host memory, t1 when the consumer's host knows that its kernel has ended, both CLOCK_MONOTONIC; a paced frame
is not begun before the one before is acknowledged. Two kernels take turns: one that reads 32 bytes, and one that reads
every byte. Every frame is compared byte by byte afterwards.
"""
import argparse
import json
import os
import sys
import threading
import time

PRIME = 251  # frames differ from their neighbours


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def end_with_parent():
    """A consumer whose producer was killed ends as well."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


def consume(gpu, queues, acks):
    import torch

    end_with_parent()
    torch.cuda.set_device(gpu)
    device = torch.device("cuda", gpu)
    stream = torch.cuda.current_stream()
    torch.zeros(1, device=device)
    acks.send({"ready": True})
    while True:
        name = acks.recv()  # the order that a round begins
        if name is None:
            return
        queue = queues[name]
        up = 0
        while True:
            message = queue.get()
            if message is None:
                break
            t0, value, whole, pixels = message
            if name == "pickled numpy":
                pixels = torch.from_numpy(pixels).to(device, non_blocking=True)
                up += pixels.numel()
            read = torch.sum(pixels if whole else pixels[:32], dtype=torch.int64)
            stream.synchronize()
            t1 = now()
            wrong = int(torch.count_nonzero(pixels != value).item())
            wrong += int(read.item()) != value * (pixels.numel() if whole else 32)
            del pixels, message
            acks.send((t1 - t0, whole, wrong))
        acks.send({"up": up})


class Producer:
    def __init__(self, torch, gpu):
        import torch.multiprocessing as mp

        self.torch, self.gpu = torch, gpu
        self.device = torch.device("cuda", gpu)
        context = mp.get_context("spawn")
        self.queues = {"torch queue": context.Queue(), "torch simple queue": context.SimpleQueue(), "pickled numpy": context.Queue()}
        self.acks, theirs = context.Pipe()
        self.child = context.Process(target=consume, args=(gpu, self.queues, theirs), daemon=True)
        self.child.start()
        theirs.close()
        self.acks.recv()
        self.frames = {}
        self.serial = 0

    def hosts(self, name, size):
        """As many frames in host memory as are under way at most."""
        key = (name, size)
        if key not in self.frames:
            pinned = name != "pickled numpy"
            self.frames[key] = [self.torch.empty(size, dtype=self.torch.uint8, pin_memory=pinned) for _ in range(8)]
            for i, frame in enumerate(self.frames[key]):
                frame.fill_(i + 1)
        return self.frames[key]

    def send(self, name, host, value, whole):
        """Returns what has to stay until the consumer is done."""
        t0 = now()
        if name == "pickled numpy":
            self.queues[name].put((t0, value, whole, host.numpy()))
            return host
        tensor = host.to(self.device, non_blocking=True)
        self.queues[name].put((t0, value, whole, tensor))
        return tensor

    def round(self, o):
        name, size, timed = o["transport"], o["bytes"], o["timed"]
        hosts = self.hosts(name, size)
        self.acks.send(name)
        read = {"minimal_ns": [], "whole_ns": [], "frames": 0, "mismatches": 0, "failed": 0, "bytes_up": 0, "bytes_down": 0}
        held = []  # tensors that the consumer may still read

        def acknowledged():
            took, whole, wrong = self.acks.recv()
            held.pop(0)
            read["frames"] += 1
            if wrong:
                read["mismatches"] += 1
            elif timed and read["frames"] > o["warm_up"]:
                read["whole_ns" if whole else "minimal_ns"].append(took)

        begin, n, values = time.monotonic(), 0, [None] * len(hosts)
        while o["frames"] == 0 or n < o["frames"] + o["warm_up"]:
            if n > o["warm_up"] and time.monotonic() - begin > o["limit_s"]:
                break
            while len(held) >= o["window"]:
                acknowledged()
            if n == o["warm_up"]:
                begin = time.monotonic()
            wait = begin + (n - o["warm_up"]) * o["interval_s"] - time.monotonic()
            if n >= o["warm_up"] and wait > 0:
                time.sleep(wait)
            place = n % len(hosts)
            value = place + 1
            if timed:
                self.serial += 1
                value = self.serial % PRIME + 1
            if timed or values[place] != value:
                hosts[place].fill_(value)
                values[place] = value
            whole = not timed or n % 2 == 1
            held.append(self.send(name, hosts[place], value, whole))
            n += 1
        while held:
            acknowledged()
        seconds = time.monotonic() - begin
        self.queues[name].put(None)
        read["bytes_up"] = self.acks.recv()["up"]
        return {"read": read, "seconds": seconds, "counted": n - o["warm_up"], "producer_up": 0 if name == "pickled numpy" else n * size}


def ordinal(torch, uuid):
    """The device that facetrack uses: ordinals can differ between processes."""
    for i in range(torch.cuda.device_count()):
        found = str(getattr(torch.cuda.get_device_properties(i), "uuid", ""))
        if found and found.removeprefix("GPU-").lower() == uuid.removeprefix("GPU-").lower():
            return i
    return 0


def say(out, answer):
    out.write(json.dumps(answer) + "\n")
    out.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", default="", help="UUID of the GPU")
    arguments = parser.parse_args()
    # What libraries print must not get between the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        import torch
    except ImportError as e:
        return say(out, {"error": f"PyTorch cannot be imported by {sys.executable}: {e}"})
    if not torch.cuda.is_available():
        return say(out, {"error": f"PyTorch {torch.__version__} finds no CUDA device"})
    gpu = ordinal(torch, arguments.gpu)
    torch.cuda.set_device(gpu)
    producer = Producer(torch, gpu)
    say(out, {"torch": torch.__version__, "cuda": str(torch.version.cuda)})
    for line in sys.stdin:
        try:
            say(out, producer.round(json.loads(line)))
        except Exception as e:  # the order failed; whoever gave it decides
            say(out, {"error": f"{type(e).__name__}: {e}"})
            break
    producer.acks.send(None)
    producer.child.join(5)


if __name__ == "__main__":
    main()
