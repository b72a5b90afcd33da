import unittest

import torch

from tests import helpers  # noqa: F401

import networks


class Budgets(unittest.TestCase):
    LIMITS = {"detector": (60e6, 1.5e6), "face": (60e6, 1.5e6)}

    def test_budgets(self):
        for kind, (multiplications, size) in self.LIMITS.items():
            net = networks.KINDS[kind]()
            self.assertLessEqual(networks.macs(net), multiplications, kind)
            self.assertLessEqual(networks.parameters(net) * 2, size, kind)

    def test_counting(self):
        block = networks.Block(8, 16, 2)
        block.size = 10
        first = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 1), block)
        first.size = 10
        self.assertEqual(networks.macs(first), 100 * 24 + 25 * (72 + 128))
        # Weights, a bias for each channel where normalisation was, slopes.
        self.assertEqual(networks.parameters(block), 72 + 8 + 128 + 16 + 16)

    def test_outputs(self):
        with torch.no_grad():
            shapes = {n: tuple(o.shape) for kind in networks.KINDS.values() for net in [kind(64, 0.25).eval()] for n, o in zip(net.names(), net(torch.zeros(2, 3, 64, 64)))}
        self.assertEqual(shapes["kps_8"], (2, 64, 10))
        self.assertEqual(shapes["cls_32"], (2, 4, 1))
        self.assertEqual(shapes["points"], (2, 1, 3 * networks.POINTS))
        self.assertEqual(shapes["coefficients"], (2, 1, 52))
