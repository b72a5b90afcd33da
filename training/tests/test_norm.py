import unittest

import torch
from torch import nn

from tests import helpers  # noqa: F401

import norm


class Layers:
    def __init__(self, channels):
        self.norm, self.act = nn.BatchNorm2d(channels), nn.PReLU(channels)
        with torch.no_grad():
            self.norm.weight.uniform_(0.5, 1.5)
            self.norm.bias.normal_()
            self.act.weight.uniform_(0, 0.5)

    def parameters(self):
        return [self.norm.weight, self.norm.bias, self.act.weight]


class Fused(unittest.TestCase):
    """norm.cu, compiled for the CPU, against PyTorch's layers."""

    def both(self, shape, residual, act, dtype=torch.float32):
        torch.manual_seed(1)
        layers = Layers(shape[1])
        x = torch.randn(shape).mul(3).add(1).to(dtype).requires_grad_()
        r = torch.randn(shape).to(dtype).requires_grad_() if residual else None
        push = torch.randn(shape).to(dtype)
        got = []
        for fused in (True, False):
            n = layers.norm
            n.running_mean.zero_(), n.running_var.fill_(1)
            slope = layers.act.weight if act else None
            if fused:
                y = norm.Fused.apply(x, r, n.weight, n.bias, slope, n.running_mean, n.running_var, n.momentum, n.eps)
            else:
                y = n(x.float()) + (0 if r is None else r.float())
                y = layers.act(y) if act else y
            wanted = [v for v in [x, r] + layers.parameters()[: 3 if act else 2] if v is not None]
            got.append([y] + list(torch.autograd.grad((y * push).sum(), wanted)) + [n.running_mean.clone(), n.running_var.clone()])
        return got

    def test_like_the_layers(self):
        for shape in ((5, 3, 7, 4), (16, 40, 1, 1), (3, 4, 3, 3), (3, 4, 12, 12)):
            for residual in (False, True):
                for act in (False, True):
                    for a, b in zip(*self.both(shape, residual, act)):
                        torch.testing.assert_close(a, b, rtol=2e-4, atol=2e-4, msg=f"{shape} {residual} {act}")

    def test_half_precision(self):
        for a, b in zip(*self.both((6, 5, 9, 8), True, True, torch.bfloat16)):
            scale = float(b.abs().max())
            self.assertLess(float((a.float() - b.float()).abs().max()), 0.012 * scale + 1e-3)


if __name__ == "__main__":
    unittest.main()
