"""The project's own networks: a detector with five key points and a face network. Every layer is one that all backends run fast:
3×3 depthwise, 1×1, residual and PReLU, which infer/xnnpack and infer/cuda compute in one pass."""

import json
import pathlib

import torch
from torch import nn

import depth
import norm

STRIDES = (8, 16, 32)
POINTS = len(json.loads(pathlib.Path(__file__).with_name("points.json").read_text())["points"])
COEFFICIENTS = 52


class ConvNorm(nn.Module):
    """Convolution, normalisation and, unless it is the last of something that is added to, PReLU."""

    def __init__(self, inputs, outputs, kernel=3, stride=1, groups=1, padding=None, active=True):
        super().__init__()
        padding = kernel // 2 if padding is None else padding
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.act = nn.PReLU(outputs, 0.1) if active else nn.Identity()

    def forward(self, x):
        return self.finished(self.convolved(x), None, self.act)

    def convolved(self, x):
        """By our own kernel where PyTorch's is slow."""
        fast = self.conv.groups > 1 and self.training and x.is_cuda
        return depth.convolved(x, self.conv) if fast else self.conv(x)

    def finished(self, x, residual, act):
        """Normalised, residual added, activated. Without normalisation (folded), or as PyTorch has it, or all in one on a GPU."""
        if isinstance(self.norm, nn.BatchNorm2d) and self.training and x.is_cuda:
            return norm.joined(x, self.norm, residual, act if isinstance(act, nn.PReLU) else None)
        x = self.norm(x)
        return act(x if residual is None else x + residual)


class Block(nn.Module):
    """3×3 depthwise, 1×1, residual where the shape stays, PReLU: one step of XNNPACK's program and one launch on a GPU."""

    def __init__(self, inputs, outputs, stride=1, padding=1):
        super().__init__()
        self.depth = ConvNorm(inputs, inputs, 3, stride, inputs, padding, active=False)
        self.point = ConvNorm(inputs, outputs, 1, active=False)
        self.same = inputs == outputs and stride == 1 and padding == 1
        self.act = nn.PReLU(outputs, 0.1)

    def forward(self, x):
        return self.point.finished(self.point.convolved(self.depth(x)), x if self.same else None, self.act)


def stage(inputs, outputs, more, stride=2):
    return nn.Sequential(Block(inputs, outputs, stride), *(Block(outputs, outputs) for _ in range(more)))


class Cells(nn.Module):
    """[B,C,H,W] to [B,H·W,C], row by row; nothing moves where images are NHWC."""

    def __init__(self, channels):
        super().__init__()
        self.channels = channels

    def forward(self, x):
        return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, self.channels)


class Head(nn.Module):
    """1×1, then 3×3 depthwise: backends merge such heads of one level into a wide one. Losses want logits, before the sigmoid."""

    def __init__(self, inputs, outputs, sigmoid=False, bias=0.0):
        super().__init__()
        self.point = nn.Conv2d(inputs, outputs, 1)
        self.depth = nn.Conv2d(outputs, outputs, 3, padding=1, groups=outputs)
        self.cells = Cells(outputs)
        self.squash = nn.Sigmoid() if sigmoid else nn.Identity()
        nn.init.constant_(self.depth.bias, bias)

    def forward(self, x):
        x = self.cells(self.depth(self.point(x)))
        return x if self.training else self.squash(x)


class Detector(nn.Module):
    """Anchor-free at strides 8, 16, 32. Outputs are named and decoded like YuNet's: score √(cls·obj); centre and key points
    relative to the cell's top left corner and logarithms of width and height, in strides. cls is how well the box fits, obj that
    there is a face. Input BGR, 0 to 255."""

    input_scale = 1 / 255
    output_scales = {}

    def __init__(self, size=320, wide=1.0):
        super().__init__()
        c = [max(4, int(n * wide)) for n in (16, 24, 48, 96, 128)]
        self.size = size
        self.stem = ConvNorm(3, c[0], 3, 2)
        self.fine = stage(c[0], c[1], 1)
        self.s8, self.s16, self.s32 = stage(c[1], c[2], 2), stage(c[2], c[3], 2), stage(c[3], c[4], 3)
        self.down16, self.down32 = ConvNorm(c[3], c[2], 1), ConvNorm(c[4], c[2], 1)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.out8, self.out16, self.out32 = (Block(c[2], c[2]) for _ in STRIDES)
        self.cls = nn.ModuleList(Head(c[2], 1, True) for _ in STRIDES)
        self.obj = nn.ModuleList(Head(c[2], 1, True, bias=-4.0) for _ in STRIDES)
        self.bbox = nn.ModuleList(Head(c[2], 4) for _ in STRIDES)
        self.kps = nn.ModuleList(Head(c[2], 10) for _ in STRIDES)

    def names(self):
        return [f"{kind}_{stride}" for kind in ("cls", "obj", "bbox", "kps") for stride in STRIDES]

    def forward(self, x):
        a = self.s8(self.fine(self.stem(x)))
        b = self.s16(a)
        c = self.down32(self.s32(b))
        b = self.down16(b) + self.up(c)
        levels = [self.out8(a + self.up(b)), self.out16(b), self.out32(c)]
        return tuple(head(level) for heads in (self.cls, self.obj, self.bbox, self.kps) for head, level in zip(heads, levels))


class Tail(nn.Module):
    """From the last image to one vector without a mean over it, so that where something is stays known."""

    def __init__(self, inputs, middle, outputs, side):
        super().__init__()
        steps = [Block(inputs, middle, 2), Block(middle, middle)]
        side = (side + 1) // 2
        while side > 3:
            steps.append(Block(middle, middle, 2))
            side = (side + 1) // 2
        steps.append(Block(middle, outputs, padding=0) if side == 3 else Block(middle, outputs, 2 if side == 2 else 1))
        self.steps = nn.Sequential(*steps)

    def forward(self, x):
        return self.steps(x)


class Linear(nn.Module):
    """A list of numbers from an image of one pixel."""

    def __init__(self, inputs, outputs, start=0.0, gain=0.1, sigmoid=False):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 1)
        self.cells = Cells(outputs)
        self.squash = nn.Sigmoid() if sigmoid else nn.Identity()
        with torch.no_grad():
            self.conv.weight.mul_(gain)
            self.conv.bias.copy_(torch.as_tensor(start).expand(outputs))

    def forward(self, x):
        x = self.cells(self.conv(x))
        return x if self.training else self.squash(x)


class Face(nn.Module):
    """Points of points.json (x, y, z; here in parts of the input's side, in the file in its pixels), log of each point's standard
    deviation in the same unit as x and y here, presence (logit), coefficients (0 to 1), the first two columns of the head's
    rotation as six numbers. Input RGB, 0 to 1."""

    input_scale = 1.0

    def __init__(self, size=192, wide=1.0):
        super().__init__()
        c = [max(4, int(n * wide)) for n in (16, 48, 64, 128, 192, 224, 128)]
        self.size = size
        self.output_scales = {"points": float(size)}
        self.trunk = nn.Sequential(
            ConvNorm(3, c[0], 3, 2), Block(c[0], c[0]), stage(c[0], c[1], 2), stage(c[1], c[2], 4), stage(c[2], c[3], 4), stage(c[3], c[4], 3))
        side = size // 32
        self.where, self.what = Tail(c[4], c[4], c[5], side), Tail(c[4], c[6], c[6], side)
        self.points = Linear(c[5], 3 * POINTS, torch.tensor([0.5, 0.5, 0.0]).repeat(POINTS))
        self.spread = Linear(c[5], POINTS, -3.0)
        self.presence = Linear(c[6], 1)
        self.coefficients = Linear(c[6], COEFFICIENTS, -2.0, sigmoid=True)
        self.pose = Linear(c[6], 6, torch.tensor([1.0, 0, 0, 0, 1, 0]))

    def names(self):
        return ["points", "spread", "presence", "coefficients", "pose"]

    def forward(self, x):
        x = self.trunk(x)
        where, what = self.where(x), self.what(x)
        return self.points(where), self.spread(where), self.presence(what), self.coefficients(what), self.pose(what)


KINDS = {"detector": Detector, "face": Face}


def macs(net, size=None):
    """Multiplications of one image; those of PReLU and sigmoid do not count."""
    total = 0

    def count(module, _, out):
        nonlocal total
        total += out[0].numel() * module.weight[0].numel()

    hooks = [m.register_forward_hook(count) for m in net.modules() if isinstance(m, nn.Conv2d)]
    device = next(net.parameters()).device
    with torch.no_grad():
        net.eval()(torch.zeros(1, 3, size or net.size, size or net.size, device=device))
    for hook in hooks:
        hook.remove()
    return total


def parameters(net):
    """Numbers that the file holds: normalisation is folded into a bias for each channel."""
    norms = [m for m in net.modules() if isinstance(m, nn.BatchNorm2d)]
    return sum(p.numel() for p in net.parameters()) - sum(m.num_features for m in norms)


if __name__ == "__main__":
    for kind, make in KINDS.items():
        net = make()
        print(f"{kind} {net.size}: {macs(net) / 1e6:.1f} M MAC, {parameters(net) / 1e3:.0f} k parameters, {parameters(net) * 2 / 1e6:.2f} MB as float16")
