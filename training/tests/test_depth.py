import unittest

import torch
import torch.nn.functional as F

from tests import helpers  # noqa: F401

import depth


class Depthwise(unittest.TestCase):
    """depth.cu, compiled for the CPU, against PyTorch's convolution."""

    def both(self, shape, stride, padding, dtype):
        torch.manual_seed(2)
        x, w = torch.randn(shape).to(dtype), torch.randn(shape[1], 1, 3, 3)
        got = []
        for ours in (True, False):
            a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
            y = depth.Depthwise.apply(a, b, stride, padding) if ours else F.conv2d(a.float(), b, stride=stride, padding=padding, groups=shape[1])
            push = torch.randn(y.shape, generator=torch.Generator().manual_seed(3)).to(dtype)
            got.append([y, *torch.autograd.grad((y * push).sum(), [a, b])])
        return got

    def test_like_pytorchs(self):
        for shape in ((2, 3, 8, 8), (3, 5, 7, 9), (5, 4, 3, 3), (1, 40, 12, 6), (2, 2, 1, 5)):
            for stride in (1, 2):
                for padding in (0, 1):
                    if min(shape[2:]) + 2 * padding < 3:
                        continue
                    for a, b in zip(*self.both(shape, stride, padding, torch.float32)):
                        torch.testing.assert_close(a, b, rtol=1e-5, atol=2e-5, msg=f"{shape} {stride} {padding}")

    def test_half_precision(self):
        for stride in (1, 2):
            for a, b in zip(*self.both((4, 6, 11, 10), stride, 1, torch.bfloat16)):
                self.assertLess(float((a.float() - b.float()).abs().max()), 0.01 * float(b.abs().max()))


if __name__ == "__main__":
    unittest.main()
