#!/usr/bin/env python3
"""Averaged weights of a training, or random ones, to ONNX as infer/onnx reads it: opset 13, weights as float16.

    training/export.py face --checkpoint runs/face/state.pt --out face.onnx
    training/export.py detector --random 1 --out detector.onnx --sample folder

Everything that is known beforehand is in the weights: normalisation of layers, the scale of the input, pixels as the unit of points.
--sample writes an input as NHWC float32 and what PyTorch makes of it, for tests."""

import argparse
import copy
import operator
import pathlib

import numpy as np
import torch
from torch import fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

import losses
import networks
import onnx_file


def fold(net):
    """A copy without normalisation, for whole images of the runtime's range, with outputs in its units."""
    net = copy.deepcopy(net).eval()
    for module in list(net.modules()):
        if isinstance(module, networks.ConvNorm):
            module.conv, module.norm = fuse_conv_bn_eval(module.conv, module.norm), nn.Identity()
    first = next(m for m in net.modules() if isinstance(m, nn.Conv2d))
    with torch.no_grad():
        first.weight.mul_(net.input_scale)
        for name, scale in net.output_scales.items():
            conv = getattr(net, name).conv
            conv.weight.mul_(scale)
            conv.bias.mul_(scale)
    return net


def halve(net):
    """What half precision leaves of the weights that the file keeps so."""
    first = True
    with torch.no_grad():
        for module in net.modules():
            if isinstance(module, nn.Conv2d):
                if not first and module.weight.numel() >= onnx_file.HALVED:
                    module.weight.copy_(module.weight.half().float())
                first = False
    return net


class Writer:
    """Goes through a traced network and adds what each step is in ONNX."""

    def __init__(self, net, half):
        self.net, self.file = net, onnx_file.File(type(net).__name__.lower(), half)
        self.names, self.called, self.first = {}, {}, True

    def write(self):
        steps = list(Tracer().trace(self.net).nodes)
        self.called = {self.producer(a): name for a, name in zip(steps[-1].args[0], self.net.names())}
        for step in steps[:-1]:
            self.names[step] = self.step(step)
        self.declare()
        return self.file.bytes()

    def module(self, step):
        return self.net.get_submodule(step.target) if step.op == "call_module" else None

    def producer(self, step):
        """What computes a value; Identity does not."""
        return self.producer(step.args[0]) if isinstance(self.module(step), nn.Identity) else step

    def declare(self):
        side = self.net.size
        self.file.inputs.append(onnx_file.value("image", ["batch", 3, side, side]))
        with torch.no_grad():
            outputs = self.net(torch.zeros(1, 3, side, side))
        for name, out in zip(self.net.names(), outputs):
            self.file.outputs.append(onnx_file.value(name, ["batch"] + list(out.shape[1:])))

    def step(self, step):
        if step.op == "placeholder":
            return "image"
        inputs = [self.names[a] for a in step.args if isinstance(a, fx.Node)]
        name = self.called.get(step, step.name)
        if step.op == "call_function" and step.target in (operator.add, torch.add):
            return self.file.add("Add", inputs, name)
        if step.op != "call_module":
            raise NotImplementedError(f"{step.op} {step.target}")
        module = self.module(step)
        return getattr(self, "on_" + type(module).__name__.lower())(module, inputs, name)

    def on_identity(self, _, inputs, name):
        return inputs[0]

    def on_conv2d(self, m, inputs, name):
        """The first layer stays float32: with the input's scale in it its weights are small."""
        weights = [self.file.constant(name + ".weight", m.weight.detach().numpy(), precise=self.first)]
        weights.append(self.file.constant(name + ".bias", m.bias.detach().numpy()))
        self.first = False
        return self.file.add("Conv", inputs + weights, name, kernel_shape=list(m.kernel_size), strides=list(m.stride),
                             pads=list(m.padding) * 2, dilations=list(m.dilation), group=m.groups)

    def on_prelu(self, m, inputs, name):
        slope = self.file.constant(name + ".slope", m.weight.detach().numpy().reshape(-1, 1, 1))
        return self.file.add("PRelu", inputs + [slope], name)

    def on_sigmoid(self, _, inputs, name):
        return self.file.add("Sigmoid", inputs, name)

    def on_upsample(self, m, inputs, name):
        scales = self.file.constant(name + ".scales", np.float32([1, 1, m.scale_factor, m.scale_factor]))
        return self.file.add("Resize", inputs + ["", scales], name, mode="nearest",
                             coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def on_cells(self, m, inputs, name):
        turned = self.file.add("Transpose", inputs, name + ".nhwc", perm=[0, 2, 3, 1])
        shape = self.file.constant(name + ".shape", np.int64([0, -1, m.channels]))
        return self.file.add("Reshape", [turned, shape], name)


class Tracer(fx.Tracer):
    def is_leaf_module(self, module, name):
        return isinstance(module, networks.Cells) or super().is_leaf_module(module, name)


def random_network(kind, seed, size=None):
    """Untrained, but normalisation has statistics of noise and settings of its own, so that folding shows."""
    torch.manual_seed(seed)
    net = networks.KINDS[kind](size) if size else networks.KINDS[kind]()
    with torch.no_grad():
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = 1.0
                module.weight.uniform_(0.6, 1.4)
                module.bias.normal_(0, 0.2)
            if isinstance(module, nn.PReLU):
                module.weight.uniform_(0, 0.4)
        net.train()(torch.rand(4, 3, net.size, net.size))
    return net.eval()


def trained_network(kind, path):
    state = torch.load(path, map_location="cpu")
    net = networks.KINDS[kind](state["size"], state["wide"])
    net.load_state_dict(state["average"])
    return net


def onnx(net, half=True):
    return Writer(net, half).write()


def sample(net, folder, seed=0):
    """input.f32 as NHWC in the runtime's range, an .f32 of each output, and the faces that a detector's outputs mean."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    image = torch.rand(1, net.size, net.size, 3, generator=torch.Generator().manual_seed(seed)) / net.input_scale
    keep(folder, "input", image)
    with torch.no_grad():
        outputs = net(image.permute(0, 3, 1, 2).contiguous())
    for name, out in zip(net.names(), outputs):
        keep(folder, name, out)
    if isinstance(net, networks.Detector):
        _, _, boxes, five = losses.Priors(net.size, "cpu").decode(outputs)
        keep(folder, "faces", torch.cat([boxes, five.flatten(2)], -1))


def keep(folder, name, values):
    values.numpy().astype("<f4").tofile(folder / (name + ".f32"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(networks.KINDS))
    parser.add_argument("--checkpoint")
    parser.add_argument("--random", type=int, help="seed of an untrained network")
    parser.add_argument("--full", action="store_true", help="keep weights as float32")
    parser.add_argument("--out", required=True)
    parser.add_argument("--sample", help="folder for an input and its outputs")
    args = parser.parse_args()
    if (args.checkpoint is None) == (args.random is None):
        parser.error("either --checkpoint or --random")
    torch.set_num_threads(1)
    net = trained_network(args.kind, args.checkpoint) if args.checkpoint else random_network(args.kind, args.random)
    net = fold(net)
    net = net if args.full else halve(net)
    pathlib.Path(args.out).write_bytes(onnx(net, not args.full))
    if args.sample:
        sample(net, args.sample)


if __name__ == "__main__":
    main()
