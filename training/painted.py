"""Textures of things in backgrounds, from coordinates on their surfaces: all kinds at once, each pixel takes its own."""

import math

import torch

import noise
from light import smoothstep

PLAIN, CLOUDY, MOTTLED, WOOD, GRAINY, BARS, TILES, TEXT, BOOKS, SPOTS, PICTURE, LURE = range(12)


def hashed(a, b):
    """Something between about -2 and 2 for whole numbers a, b."""
    return noise.sample(noise.FINE, a * 0.618034, b * 0.754878)


def lettering(u, v, share):
    """Rows of ink with gaps between words; 1 is paper."""
    row, inside = v.floor(), torch.frac(v) % 1
    band = smoothstep(0.2, 0.3, inside) * smoothstep(0.8, 0.7, inside)
    words = smoothstep(-0.75, -0.6, hashed((u * 0.45).floor() + 31 * share, row))
    strokes = smoothstep(-0.2, 0.5, noise.sample(noise.FINE, u * 0.055 + share, row * 0.37))
    return 1 - band * words * (0.35 + 0.65 * strokes)


def spines(u, v, share):
    """Books on shelves: a tone for each, and what is shelf or shadow (0)."""
    row, inside = v.floor(), torch.frac(v) % 1
    column = (u * (1.5 + share)).floor()
    tone = hashed(column, row + 17 * share)
    height = 0.2 + 0.08 * hashed(column + 40, row)
    gap = (torch.frac(u * (1.5 + share)) % 1 - 0.5).abs()
    there = smoothstep(height, height + 0.04, inside) * smoothstep(0.95, 0.93, inside) * smoothstep(0.5, 0.4, gap)
    return (0.5 + 0.3 * tone).clamp(0, 1), 0.12 + 0.88 * there


def lure(lx, ly, share):
    """How dark spots are where a face's eyes and mouth might be."""
    apart, up = 0.36 + 0.1 * share, -0.2
    eyes = torch.exp(-(((lx.abs() - apart) / 0.16) ** 2) - ((ly - up) / 0.12) ** 2)
    mouth = torch.exp(-((lx / 0.35) ** 2) - ((ly - 0.45) / 0.09) ** 2)
    return (0.9 * eyes * (share > 0.25) + 0.8 * mouth * (share < 0.8)).clamp(0, 0.95)


def surface(one, two, kind, u, v, lx, ly, share):
    """Colour [B,3,H,W]: u and v run along the surface, lx and ly from -1 to 1 across the thing; share, 0 to 1, varies it."""
    cloud, coarse, strand, fine = (noise.sample(k, u / 8 + share * 5, v / 8 + share * 3) for k in (noise.CLOUD, noise.COARSE, noise.STRAND, noise.FINE))
    bars = smoothstep(-0.2, 0.2, torch.sin((u + v * (share > 0.7)) * 2 * math.pi))
    joint = torch.maximum((torch.frac(u * 0.7 + 0.5 * (v.floor() % 2) * (share > 0.5)) % 1 - 0.5).abs(), (torch.frac(v) % 1 - 0.5).abs())
    tone, shelf = spines(u, v * 0.4, share)
    spots = smoothstep(0.3, 0.5, torch.sin(u * math.pi) * torch.sin(v * math.pi))
    mixes = {
        PLAIN: 0.2 + 0.2 * ly, CLOUDY: 0.5 + 0.3 * cloud, MOTTLED: 0.5 + 0.4 * coarse, WOOD: 0.5 + 0.35 * strand, GRAINY: 0.5 + 0.3 * fine, BARS: bars,
        TILES: smoothstep(0.46, 0.48, joint), TEXT: 1 - lettering(u * 2, v * 2, share), BOOKS: tone, SPOTS: spots, PICTURE: smoothstep(-0.3, 0.3, coarse + ly * (share - 0.5)),
    }
    mix = torch.zeros_like(lx + u)
    for k, values in mixes.items():
        mix = torch.where(kind == k, values, mix)
    colour = torch.lerp(one, two, mix.clamp(0, 1))
    hue = torch.cat([cloud, coarse, strand], 1) * ((kind == PICTURE) * 0.25 + (kind == BOOKS) * 0.15)
    dark = torch.where(kind == LURE, 1 - lure(lx, ly, share), torch.where(kind == BOOKS, shelf, torch.ones_like(lx)))
    return (colour * (1 + hue) * dark).clamp(min=0)
