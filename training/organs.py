"""Eyeballs, teeth and the inside of the mouth."""

import math

import torch

import noise
from light import smoothstep, spread
from skin import colour


def iris_plane(local, view, level):
    """Where the line of sight meets the iris behind the cornea: local and view [B,3,H,W] in the eye's axes."""
    depth = -level - local[:, 2:]
    travel = depth / (-view[:, 2:]).clamp_max(-0.25)
    inside = local[:, :2] - view[:, :2] * travel * -0.8
    r = local[:, :2].norm(dim=1, keepdim=True)
    return torch.where(r < 0.75, inside, local[:, :2])


def paint_eye(local, view, p, level, per_cm):
    """Colour of a ball, local [B,3,H,W] from its centre with the gaze along -z."""
    flat = iris_plane(local, view, level)
    x, y = flat[:, :1], flat[:, 1:]
    r = (x * x + y * y).sqrt()
    radius = spread(p["iris_radius"])
    edge = 0.6 / per_cm.clamp_min(1) + 0.02
    turn = torch.atan2(y, x) / (2 * math.pi)
    fibres = noise.sample(noise.STRAND, 2 * turn + spread(p["eye_tile"][:, :1]), r / 3 + spread(p["eye_tile"][:, 1:])) * smoothstep(4, 14, per_cm)
    s = (r / radius).clamp(0, 1)
    pupil = spread(p["pupil"])
    collar = torch.exp(-(((s - pupil - 0.18) / 0.12) ** 2))
    iris = spread(p["iris"]) * (1 + 0.35 * fibres) * (0.75 + 0.5 * collar)
    iris = iris * (1 - 0.8 * spread(p["limbus"]) * smoothstep(0.78, 1.0, s)) * (0.85 + 0.3 * smoothstep(-0.4, 0.5, y / radius))
    iris = iris * smoothstep(pupil * radius - edge, pupil * radius + edge, r) + 0.004
    white = sclera(local, r, p, per_cm)
    return torch.lerp(iris, white, smoothstep(radius - edge, radius + 1.6 * edge, r))


def sclera(local, r, p, per_cm):
    vein = noise.sample(noise.CLOUD, local[:, :1] / 1.3 + spread(p["eye_tile"][:, :1]), local[:, 1:2] / 0.8 + spread(p["eye_tile"][:, 1:]))
    red = (smoothstep(0.75, 1.5, r) * (0.35 + 0.5 * spread(p["veins"])) * (0.6 + 0.4 * vein * smoothstep(4, 12, per_cm))).clamp(0, 1)
    return spread(p["sclera"]) * (1 - red * colour(local, (0.12, 0.42, 0.42)))


def paint_mouth(rest, p):
    """Gums and tongue."""
    wet = noise.sample(noise.CLOUD, rest[:, :1] / 2, rest[:, 1:2] / 2 + rest[:, 2:] / 3)
    return colour(rest, (0.36, 0.105, 0.10)) * (1 + 0.12 * wet) * (1 - 0.4 * spread(p["melanin"]))


def paint_teeth(rest, p):
    age = spread(p["age"])
    return colour(rest, (0.66, 0.60, 0.50)) * (1 - age * colour(rest, (0.12, 0.2, 0.35)))


def depth_in_mouth(rest):
    """How much light comes past the lips to a place behind them."""
    return torch.exp(-(rest[:, 2:] + 4.9).clamp(min=0) * 0.75)
