"""The networks in PyTorch with CUDA graphs: the same graphs and weights, as facetrack bench infer --export writes them.

usage: torch_infer.py FOLDER [--batches 1,8,64] [--precisions fp16,fp32,tf32] [--runs 300] [--seconds 300] [--device cuda]

Activations are NHWC in the graphs; the convolutions see them as channels-last tensors, which needs no copy. Each network is
captured as one CUDA graph for each batch size and precision. Prints one JSON object: for each network, precision and batch the
latency of one replay with a wait behind it (median and 99th percentile) and the time of a replay among many in a row, in
microseconds, and how far the first item is from what facetrack's plain Go computes of the same input, in parts of 1 + its value.
With --device cpu it only checks that.
"""
import argparse
import json
import math
import pathlib
import sys
import time

try:
    import numpy
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    sys.exit(f"PyTorch is not installed: {missing}")

NONE, RELU, RELU6, PRELU = range(4)


class Network:
    def __init__(self, path, dtype, device):
        spec = json.loads(path.read_text())
        weights = numpy.fromfile(path.with_suffix(".bin"), dtype="<f4")
        sample = numpy.fromfile(path.with_suffix(".sample"), dtype="<f4")
        self.name, self.dtype = spec["name"], dtype
        self.inputs, self.outputs, self.nodes = spec["inputs"], spec["outputs"], spec["nodes"]
        self.shapes = [v["shape"] for v in spec["values"]]
        self.constants = {}
        for i, v in enumerate(spec["values"]):
            if v["offset"] >= 0:
                data = weights[v["offset"]:v["offset"] + v["length"]].reshape(v["shape"])
                self.constants[i] = torch.from_numpy(data.copy()).to(device).to(dtype)
        for n in self.nodes:  # weights [O][H][W][I] as PyTorch wants them, channels last
            if n["Op"] == "Conv2D":
                w = self.constants[n["Inputs"][1]]
                n["weight"] = w.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)

        size = math.prod(self.shapes[self.inputs[0]])
        self.input = torch.from_numpy(sample[:size].copy()).reshape(self.shapes[self.inputs[0]]).to(device).to(dtype)
        self.expected = torch.from_numpy(sample[size:].copy())

    def off(self, outputs):
        """How far the first item of the outputs is from what was expected; None when that is not a number."""
        got = torch.cat([o[:1].reshape(-1)[:math.prod(self.shapes[i])].float().cpu() for o, i in zip(outputs, self.outputs)])
        worst = float(((got - self.expected).abs() / (1 + self.expected.abs())).max())
        return worst if math.isfinite(worst) else None

    def __call__(self, x):
        values = dict(self.constants)
        values[self.inputs[0]] = x
        batch = x.shape[0]
        for n in self.nodes:
            values[n["Outputs"][0]] = self.node(n, values, batch)
        return [values[o] for o in self.outputs]

    def node(self, n, values, batch):
        op, ins = n["Op"], [values[i] for i in n["Inputs"]]
        x = ins[0]
        if op == "Conv2D":
            return self.conv(n, ins)
        if op == "MaxPool2D":
            y = F.max_pool2d(self.padded(x.permute(0, 3, 1, 2), n["Pads"], float("-inf")), n["Kernel"], n["Stride"])
            return self.activated(n, y.permute(0, 2, 3, 1), ins)
        if op == "Pad":
            pads = [p for b, a in reversed(list(zip(n["Before"], n["After"]))) for p in (b, a)]
            return F.pad(x, pads)
        if op in ("Add", "Sub", "Mul", "Div", "SquaredDifference"):
            y = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div,
                 "SquaredDifference": lambda a, b: (a - b) ** 2}[op](ins[0], ins[1])
            return self.activated(n, y, ins)
        if op in ("Mean", "Sum"):
            return {"Mean": torch.mean, "Sum": torch.sum}[op](x, dim=n["Axes"], keepdim=n["KeepDims"])
        if op == "Transpose":
            return x.permute(n["Perm"])
        if op == "Reshape":
            shape = self.shapes[n["Outputs"][0]]
            items = x.reshape(batch, -1)
            return items if len(shape) < 2 else items.reshape([batch] + shape[1:])
        if op == "Concat":
            axis = n["Axis"]
            ins = [i.expand([batch] + list(i.shape[1:])) for i in ins]
            return torch.cat(ins, dim=axis)
        if op == "StridedSlice":
            where = [slice(None)] + [slice(b, e, s) for b, e, s in zip(n["Begin"], n["End"], n["Steps"])][1:]
            return x[tuple(where)]
        if op == "ResizeNearest":
            y = F.interpolate(x.permute(0, 3, 1, 2), scale_factor=[float(f) for f in n["Scale"]], mode="nearest")
            return y.permute(0, 2, 3, 1)
        if op == "PRelu":
            return torch.where(x >= 0, x, x * ins[1])
        return {"Neg": torch.neg, "Sqrt": torch.sqrt, "Rsqrt": torch.rsqrt, "Logistic": torch.sigmoid, "Relu": torch.relu}[op](x)

    @staticmethod
    def padded(x, pads, value=0.0):
        top, left, bottom, right = pads
        return F.pad(x, (left, right, top, bottom), value=value) if any(pads) else x

    def conv(self, n, ins):
        x, (top, left, bottom, right) = ins[0].permute(0, 3, 1, 2), n["Pads"]
        padding = (top, left)
        if top != bottom or left != right:
            x, padding = self.padded(x, n["Pads"]), 0
        slopes = 1 if n["Activation"] == PRELU else 0
        bias = ins[2] if len(ins) - slopes > 2 else None
        dilation = n["Dilation"] if any(n["Dilation"]) else (1, 1)
        y = F.conv2d(x, n["weight"], bias, n["Stride"], padding, dilation, max(1, n["Groups"]))
        if n["Activation"] == PRELU:
            return F.prelu(y, ins[-1]).permute(0, 2, 3, 1)
        return self.activated(n, y.permute(0, 2, 3, 1), ins)

    @staticmethod
    def activated(n, y, ins):
        kind = n["Activation"]
        if kind == RELU:
            return torch.relu(y)
        if kind == RELU6:
            return F.relu6(y)
        if kind == PRELU:
            return F.prelu(y.permute(0, 3, 1, 2), ins[-1]).permute(0, 2, 3, 1)
        return y


def captured(network, x):
    """The network as one CUDA graph, and its outputs, after runs in which cuDNN has chosen its kernels."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            network(x)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = network(x)
    return graph, outputs


WARM = 0.1  # seconds of runs that do not count, as bench infer does


@torch.inference_mode()
def measure(network, batch, runs):
    x = network.input.expand([batch] + list(network.input.shape[1:])).contiguous()
    graph, outputs = captured(network, x)
    end = time.perf_counter() + WARM
    while time.perf_counter() < end:
        graph.replay()
        torch.cuda.synchronize()
    single = []
    for _ in range(runs):
        begin = time.perf_counter_ns()
        graph.replay()
        torch.cuda.synchronize()
        single.append((time.perf_counter_ns() - begin) / 1e3)
    begin = time.perf_counter_ns()
    for _ in range(runs):
        graph.replay()
    torch.cuda.synchronize()
    row = (time.perf_counter_ns() - begin) / 1e3 / runs
    single.sort()
    return {"p50_us": single[len(single) // 2], "p99_us": single[len(single) * 99 // 100], "in_a_row_us": row, "off": network.off(outputs)}


@torch.inference_mode()
def check(network, batch, _):
    return {"off": network.off(network(network.input.expand([batch] + list(network.input.shape[1:])).contiguous()))}


DTYPES = {"fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32}


def rows(options):
    end = time.monotonic() + options.seconds
    for path in sorted(options.folder.glob("*.json")):
        for precision in options.precisions.split(","):
            torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
            network = Network(path, DTYPES[precision], options.device)
            for batch in map(int, options.batches.split(",")):
                row = {"network": network.name, "precision": precision, "batch": batch}
                try:
                    if time.monotonic() > end:
                        raise TimeoutError("no time was left")
                    row |= (check if options.device == "cpu" else measure)(network, batch, options.runs)
                except Exception as failure:  # the others are worth having
                    row["error"] = f"{type(failure).__name__}: {failure}".splitlines()[0]
                yield row


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--batches", default="1,8,64")
    arguments.add_argument("--precisions", default="fp16,fp32,tf32")
    arguments.add_argument("--runs", type=int, default=300)
    arguments.add_argument("--seconds", type=float, default=300, help="after which no measurement is begun")
    arguments.add_argument("--device", default="cuda")
    options = arguments.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA device")
    torch.backends.cudnn.benchmark = True
    print(json.dumps({
        "torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
        "gpu": torch.cuda.get_device_name() if options.device == "cuda" else "", "rows": list(rows(options)),
    }, indent=1))


if __name__ == "__main__":
    main()
