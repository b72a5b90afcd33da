#!/usr/bin/env python3
"""Writes a network as ONNX for infer/onnx.

    training/export.py detector --weights detector.pt --size 320 --out detector.onnx
"""

import argparse
import inspect
import warnings

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

import networks

OPSET = 11


class Named(nn.Module):
    """Outputs in a fixed order in place of a dictionary."""

    def __init__(self, network, names):
        super().__init__()
        self.network, self.names = network, names

    def forward(self, x):
        made = self.network(x)
        return tuple(made[n] for n in self.names)


def folded(module):
    """Takes every normalisation into the convolution before it, in place."""
    if isinstance(module, nn.Sequential):
        names = list(module._modules)
        for a, b in zip(names, names[1:]):
            if isinstance(module[int(a)], nn.Conv2d) and isinstance(module[int(b)], nn.BatchNorm2d):
                module._modules[a] = fuse_conv_bn_eval(module[int(a)], module[int(b)])
                module._modules[b] = nn.Identity()
    for child in module.children():
        folded(child)
    return module


def write(network, size, path):
    network = folded(network.eval())
    example = torch.zeros(1, 3, size, size)
    with torch.no_grad():
        names = list(network(example))
    options = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    # Shapes are meant to become constants.
    warnings.simplefilter("ignore", torch.jit.TracerWarning)
    torch.onnx.export(Named(network, names), example, path, opset_version=OPSET, input_names=["input"], output_names=names, **options)
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=list(networks.NETWORKS))
    parser.add_argument("--weights", help="state_dict; random weights without it")
    parser.add_argument("--size", type=int, help="of the input, pixels")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    kind, size = networks.NETWORKS[args.network]
    network = kind()
    if args.weights:
        network.load_state_dict(torch.load(args.weights, map_location="cpu"))
    print(", ".join(write(network, args.size or size, args.out)))


if __name__ == "__main__":
    main()
