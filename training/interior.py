"""Rooms: rectangles in space, seen through the same lens as the people."""

import math

import torch

import geometry
import painted
from light import spread

AT_ONCE = 8


def rays(p, x, y, aspect):
    """Directions [B,3,H,W] in the room's axes."""
    focal, centre = spread(p["focal"]), p["centre"]
    dx, dy = (x - spread(centre[:, 0]) * aspect) / focal, (y - spread(centre[:, 1])) / focal
    view = geometry.head_rotation(*p["room_view"].unbind(1))
    return torch.einsum("bij,bjhw->bihw", view, torch.cat([dx, dy, torch.ones_like(dx)], 1))


def hits(sides, d):
    """Distance and place on each of sides [B,K,9] (middle, half axes) along d; infinite where missed."""
    middle, u, v = sides[..., :3], sides[..., 3:6], sides[..., 6:9]
    normal = torch.cross(u, v, dim=-1)
    across, down = (a / (a * a).sum(-1, keepdim=True).clamp_min(1e-9) for a in (u, v))
    def along(a):
        return torch.einsum("bkc,bchw->bkhw", a, d)
    def fixed(a):
        return (a * middle).sum(-1)[..., None, None]
    slope = along(normal)
    t = fixed(normal) / torch.where(slope.abs() < 1e-9, torch.full_like(slope, 1e-9), slope)
    a, b = t * along(across) - fixed(across), t * along(down) - fixed(down)
    seen = (a.abs() <= 1) & (b.abs() <= 1) & (t > 0.05)
    return torch.where(seen, t, torch.full_like(t, math.inf)), a, b


def nearest(sides, d):
    """Distance, index and place of what is met first, [B,1,H,W] each."""
    best = None
    for start in range(0, sides.shape[1], AT_ONCE):
        t, a, b = hits(sides[:, start : start + AT_ONCE], d)
        least, i = t.min(1, keepdim=True)
        found = [least, i.float() + start, a.gather(1, i), b.gather(1, i)]
        best = found if best is None else [torch.where(least < best[0], new, old) for new, old in zip(found, best)]
    return best


def draw(p, image, x, y, aspect):
    """The room over image where it has one."""
    d = rays(p, x, y, aspect)
    t, index, a, b = nearest(p["room"][..., :9], d)
    there = torch.isfinite(t)
    rows = torch.arange(len(image), device=image.device)[:, None, None]
    looks = p["room"][rows, index[:, 0].long()].permute(0, 3, 1, 2)
    wide, high = looks[:, 3:6].norm(dim=1, keepdim=True), looks[:, 6:9].norm(dim=1, keepdim=True)
    kind, scale, share, glow, wall = (looks[:, i : i + 1] for i in range(15, 20))
    colour = painted.surface(looks[:, 9:12], looks[:, 12:15], kind, a * wide * scale, b * high * scale, a, b, share)
    place = torch.where(there, t, torch.zeros_like(t)) * d
    lamp = place - spread(p["room_lamp"])
    light = 0.45 + 1.1 / (1 + 0.35 * (lamp * lamp).sum(1, keepdim=True))
    # Where walls meet, less light comes.
    margin = torch.minimum((1 - a.abs()) * wide, (1 - b.abs()) * high).clamp(min=0)
    light = light * (1 - wall * 0.35 * torch.exp(-margin / 0.25))
    return torch.where(there, colour * torch.where(glow > 1, glow, light), image)
