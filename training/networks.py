"""Drafts of the detector and the face network, of the operators that infer/onnx reads: convolutions (plain, 1×1, depthwise), ReLU, PReLU,
addition, nearest ×2, sigmoid, reshape, transpose."""

import torch
from torch import nn
import torch.nn.functional as F

POINTS = 293
STRIDES = (8, 16, 32)


class ConvNorm(nn.Sequential):
    """Convolution and normalisation, which export folds into it."""

    def __init__(self, c_in, c_out, kernel=3, stride=1, groups=1, active=nn.ReLU):
        layers = [nn.Conv2d(c_in, c_out, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(c_out)]
        super().__init__(*layers, *([active()] if active else []))


class Block(nn.Module):
    """Depthwise, then 1×1; with a shortcut where the shape stays."""

    def __init__(self, c_in, c_out, stride=1, active=lambda c: nn.ReLU()):
        super().__init__()
        self.depth = ConvNorm(c_in, c_in, 3, stride, c_in, None)
        self.point = ConvNorm(c_in, c_out, 1, active=None)
        self.active = active(c_out)
        self.shortcut = stride == 1 and c_in == c_out

    def forward(self, x):
        y = self.point(self.depth(x))
        return self.active(x + y if self.shortcut else y)


def stage(c_in, c_out, count, active=lambda c: nn.ReLU()):
    """Halves the size, then count - 1 blocks at that size."""
    return nn.Sequential(Block(c_in, c_out, 2, active), *[Block(c_out, c_out, 1, active) for _ in range(count - 1)])


class Head(nn.Module):
    """Scores, box and key points of every cell, in YuNet's units: the box's middle and the points from the cell's corner, in strides."""

    WIDTHS = {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}

    def __init__(self, channels):
        super().__init__()
        self.shared = Block(channels, channels)
        self.out = nn.ModuleDict({name: nn.Conv2d(channels, width, 1) for name, width in self.WIDTHS.items()})
        for name in ("cls", "obj"):
            nn.init.constant_(self.out[name].bias, -4.0)  # faces are rare

    def forward(self, x):
        x = self.shared(x)
        # A plain number, so that export writes a constant shape.
        cells = int(x.shape[2]) * int(x.shape[3])
        made = {name: conv(x).permute(0, 2, 3, 1).reshape(-1, cells, self.WIDTHS[name]) for name, conv in self.out.items()}
        return {n: torch.sigmoid(v) if n in ("cls", "obj") else v for n, v in made.items()}


class Detector(nn.Module):
    """BGR 0 to 255 [B,3,N,N], N a multiple of 32, to YuNet's twelve outputs: vision decodes it without a change."""

    def __init__(self, widths=(16, 24, 40, 96, 160), neck=40):
        super().__init__()
        a, b, c, d, e = widths
        self.stem = ConvNorm(3, a, 3, 2)
        self.stages = nn.ModuleList([stage(a, b, 2), stage(b, c, 3), stage(c, d, 3), stage(d, e, 3)])
        self.lateral = nn.ModuleList([ConvNorm(w, neck, 1) for w in (c, d, e)])
        self.merge = nn.ModuleList([Block(neck, neck) for _ in range(2)])
        self.heads = nn.ModuleList([Head(neck) for _ in STRIDES])

    def forward(self, x):
        x, levels = self.stem(x / 255), []
        for s in self.stages:
            x = s(x)
            levels.append(x)
        fine, middle, coarse = (f(v) for f, v in zip(self.lateral, levels[1:]))
        middle = self.merge[1](middle + F.interpolate(coarse, scale_factor=2, mode="nearest"))
        fine = self.merge[0](fine + F.interpolate(middle, scale_factor=2, mode="nearest"))
        made = {}
        for head, level, stride in zip(self.heads, (fine, middle, coarse), STRIDES):
            made |= {f"{name}_{stride}": value for name, value in head(level).items()}
        return made


class FaceNetwork(nn.Module):
    """RGB 0 to 1 [B,3,192,192] to points, how sure of each, whether there is a face, coefficients, and two columns of the head's rotation."""

    SIZE = 192

    def __init__(self, widths=(16, 32, 64, 128), squeeze=32, hidden=192):
        super().__init__()
        a, b, c, d = widths
        self.trunk = nn.Sequential(
            nn.Conv2d(3, a, 3, 2, 1, bias=False), nn.BatchNorm2d(a), nn.PReLU(a), Block(a, a, 1, nn.PReLU), stage(a, b, 4, nn.PReLU),
            stage(b, c, 5, nn.PReLU), stage(c, d, 5, nn.PReLU), stage(d, d, 3, nn.PReLU), ConvNorm(d, squeeze, 1),
        )
        self.whole = nn.Sequential(nn.Conv2d(squeeze, hidden, self.SIZE // 32), nn.PReLU(hidden))
        self.out = nn.ModuleDict({name: nn.Conv2d(hidden, width, 1) for name, width in self.widths().items()})

    @staticmethod
    def widths():
        return {"points": 2 * POINTS, "confidence": POINTS, "presence": 1, "coefficients": 52, "pose": 6}

    def forward(self, x):
        x = self.whole(self.trunk(x))
        made = {name: conv(x).reshape(-1, conv.out_channels) for name, conv in self.out.items()}
        made["points"] = made["points"] * (self.SIZE / 2) + self.SIZE / 2
        return {n: torch.sigmoid(v) if n in ("confidence", "presence", "coefficients") else v for n, v in made.items()}


NETWORKS = {"detector": (Detector, 320), "face": (FaceNetwork, 192)}
