"""Backgrounds: gradients, textures, rooms and clutter, some of it with two dark spots above a line as faces have."""

import math

import torch

import noise
import surroundings
from light import smoothstep, spread


def canvas(height, width, device):
    y, x = torch.meshgrid((torch.arange(height, device=device) + 0.5) / height, (torch.arange(width, device=device) + 0.5) / height, indexing="ij")
    return x[None, None], y[None, None]


def fill(p, x, y):
    turn = spread(p["fill_turn"])
    t = (0.5 + (x - 0.5) * torch.cos(turn) + (y - 0.5) * torch.sin(turn)).clamp(0, 1)
    base = torch.lerp(spread(p["fill"][:, 0]), spread(p["fill"][:, 1]), t)
    amount, size, u, v, _ = (spread(p["texture"][:, i]) for i in range(5))
    tiles = [noise.sample(kind, x * size + u, y * size + v) for kind in (noise.CLOUD, noise.COARSE, noise.STRAND, noise.FINE)]
    which = spread(p["texture"][:, 4])
    texture = sum(t * (which == i) for i, t in enumerate(tiles))
    return base * (1 + 0.45 * amount * texture).clamp(0.1, 2)


def lure(colour, lx, ly, share):
    """Spots where a face's eyes and mouth might be."""
    apart, up = 0.36 + 0.1 * share, -0.2
    eyes = torch.exp(-(((lx.abs() - apart) / 0.16) ** 2) - ((ly - up) / 0.12) ** 2)
    mouth = torch.exp(-((lx / 0.35) ** 2) - ((ly - 0.45) / 0.09) ** 2)
    return colour * (1 - (0.9 * eyes * (share > 0.25) + 0.8 * mouth * (share < 0.8)).clamp(0, 0.95))


def draw(image, s, x, y, aspect):
    """One shape for each image of the batch, s [B,16]."""
    kind, cx, cy, w, h, turn = (spread(s[:, i]) for i in range(6))
    one, two = spread(s[:, 6:9]), spread(s[:, 9:12])
    grain, period, soft, share = (spread(s[:, i]) for i in range(12, 16))
    dx, dy = x - cx * aspect, y - cy
    lx = (dx * torch.cos(turn) + dy * torch.sin(turn)) / w.clamp_min(1e-4)
    ly = (dy * torch.cos(turn) - dx * torch.sin(turn)) / h.clamp_min(1e-4)
    edge = soft / torch.maximum(w, h).clamp_min(0.02)
    box = smoothstep(1 + edge, 1 - edge, torch.maximum(lx.abs(), ly.abs()))
    ellipse = smoothstep(1 + edge, 1 - edge, (lx * lx + ly * ly).clamp_min(1e-8).sqrt())
    cover = torch.where((kind == surroundings.ELLIPSE) | (kind == surroundings.LURE), ellipse, box)
    cover = torch.where(kind == surroundings.WALL, smoothstep(-0.004, 0.004, dx + 0.15 * share * dy), cover)
    cover = torch.where(kind == surroundings.FLOOR, smoothstep(-0.004, 0.004, dy + 0.2 * (share - 0.5) * dx), cover)
    cover = cover * ((w > 0) | (kind <= surroundings.FLOOR))
    texture = noise.sample(noise.CLOUD, lx * w * 2 + share, ly * h * 2)
    bars = smoothstep(-0.2, 0.2, torch.sin((dx + dy * (share > 0.5)) * period * 2 * math.pi))
    colour = torch.where(kind == surroundings.STRIPES, torch.lerp(one, two, bars), torch.lerp(one, two, (0.5 + 0.3 * ly).clamp(0, 1) * (share > 0.4)))
    colour = torch.where(kind == surroundings.LURE, lure(one.expand_as(image), lx, ly, share), colour) * (1 + grain * texture)
    return torch.lerp(image, colour.clamp(0, 1.5), cover)


def make(p, height, width):
    """[B,3,H,W] linear light, without blur of its own beyond that of the smaller size at which it may be drawn."""
    x, y = canvas(height, width, p["fill_turn"].device)
    image = fill(p, x, y)
    for i in range(surroundings.SHAPES):
        if bool(((p["shapes"][:, i, 3] > 0) | (p["shapes"][:, i, 0] <= surroundings.FLOOR)).any()):
            image = draw(image, p["shapes"][:, i], x, y, width / height)
    return image * spread(p["back_light"])
