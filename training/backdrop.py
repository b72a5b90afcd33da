"""Backgrounds: plain walls, rooms, heaps of things, and before them hands and things with two dark spots above a line as faces have."""

import torch

import clutter
import interior
import noise
import painted
import surroundings
from light import smoothstep, spread


def canvas(height, width, device):
    y, x = torch.meshgrid((torch.arange(height, device=device) + 0.5) / height, (torch.arange(width, device=device) + 0.5) / height, indexing="ij")
    return x[None, None], y[None, None]


def fill(p, x, y):
    turn = spread(p["fill_turn"])
    t = (0.5 + (x - 0.5) * torch.cos(turn) + (y - 0.5) * torch.sin(turn)).clamp(0, 1) * spread(p["fill_range"])
    base = torch.lerp(spread(p["fill"][:, 0]), spread(p["fill"][:, 1]), t)
    amount, size, u, v, which = (spread(p["texture"][:, i]) for i in range(5))
    tiles = [noise.sample(kind, x * size + u, y * size + v) for kind in (noise.CLOUD, noise.COARSE, noise.STRAND, noise.FINE)]
    texture = sum(t * (which == i) for i, t in enumerate(tiles))
    return base * (1 + 0.45 * amount * texture).clamp(0.1, 2)


def lured(image, s, x, y):
    """One thing with a face's spots for each image of the batch, s [B,9]."""
    cx, cy, w, h, turn, share = (spread(s[:, i]) for i in range(6))
    dx, dy = x - cx, y - cy
    lx = (dx * torch.cos(turn) + dy * torch.sin(turn)) / w.clamp_min(1e-4)
    ly = (dy * torch.cos(turn) - dx * torch.sin(turn)) / h.clamp_min(1e-4)
    round_ = (lx * lx + ly * ly).clamp_min(1e-8).sqrt()
    cover = smoothstep(1.05, 0.95, round_) * (w > 0)
    shade = (1.15 - 0.5 * round_ * round_).clamp(min=0.2)
    return torch.lerp(image, spread(s[:, 6:9]) * shade * (1 - painted.lure(lx, ly, share)), cover)


def limbed(p, image, x, y):
    """Arms, hands and other round shapes of one colour, lit from the first lamp."""
    ax, ay, bx, by, radius, level = (p["limbs"][:, :, i, None, None] for i in range(6))
    ex, ey = bx - ax, by - ay
    along = (((x - ax) * ex + (y - ay) * ey) / (ex * ex + ey * ey).clamp_min(1e-8)).clamp(0, 1)
    r = radius.clamp_min(1e-5)
    nx, ny = (x - ax - along * ex) / r, (y - ay - along * ey) / r
    far = (nx * nx + ny * ny) * (radius > 0) + 4 * (radius <= 0)
    nz = (1 - far).clamp(min=0).sqrt()
    best, i = torch.where(far < 1, level + nz * radius, -1e3).max(1, keepdim=True)
    nx, ny, nz = (v.gather(1, i) for v in (nx, ny, nz))
    to = p["lamp_direction"][:, 0]
    lit = (nx * spread(to[:, 0]) + ny * spread(to[:, 1]) - nz * spread(to[:, 2])).clamp(min=0)
    mottled = 1 + 0.06 * noise.sample(noise.CLOUD, x * 3 + nx * 0.1, y * 3 + ny * 0.1)
    colour = spread(p["limb_colour"]) * (0.35 + 0.65 * lit + 0.15 * nz) * mottled
    return torch.where(best > -1, colour, image)


def make(p, height, width):
    """[B,3,H,W] linear light; edges as hard as pixels are."""
    x, y = canvas(height, width, p["fill_turn"].device)
    aspect = width / height
    image = interior.draw(p, fill(p, x, y), x, y, aspect)
    image = clutter.scatter(p, image, x, y, aspect)
    for i in range(surroundings.LURES):
        image = lured(image, p["lures"][:, i], x, y)
    return limbed(p, image, x, y) * spread(p["back_light"])
