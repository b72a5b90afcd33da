"""What a network costs: multiplications with addition, parameters."""

import torch
from torch import nn


def macs(network, size):
    """Of all convolutions for one picture [3,size,size]."""
    total = 0

    def count(layer, _, out):
        nonlocal total
        kernel = layer.kernel_size[0] * layer.kernel_size[1] * layer.in_channels // layer.groups
        total += out[0].numel() * kernel

    hooks = [m.register_forward_hook(count) for m in network.modules() if isinstance(m, nn.Conv2d)]
    with torch.no_grad():
        network.eval()(torch.zeros(1, 3, size, size))
    for h in hooks:
        h.remove()
    return total


def parameters(network):
    """Those that are left once normalisation is folded: its scale vanishes, its shift is the convolution's."""
    norms = sum(m.num_features for m in network.modules() if isinstance(m, nn.BatchNorm2d))
    return sum(p.numel() for p in network.parameters()) - norms
