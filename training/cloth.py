"""Hair, fabrics, masks and lashes: colour and alpha of layers from where on their grids a pixel lies."""

import math

import torch

import noise
import people
import shells
import skin
from light import dot, smoothstep, spread, towards


def tile(kind, u, v):
    return noise.sample(kind, u, v)


def pattern(u, v, one, two, choice, share):
    """Plain, stripes, checks, dots or blotches in two colours; choice and share are 0 to 1 for each image, u and v in cm."""
    wide = 0.8 + 3.5 * share
    stripe = smoothstep(-0.15, 0.15, torch.sin(v * (2 * math.pi) / wide))
    bars = smoothstep(-0.15, 0.15, torch.sin(u * (2 * math.pi) / wide))
    check = 0.5 * stripe + 0.5 * bars
    spots = smoothstep(0.35, 0.6, torch.sin(u * 2 * math.pi / wide) * torch.sin(v * 2 * math.pi / wide))
    cloud = smoothstep(-0.2, 0.4, tile(noise.COARSE, u / 40, v / 40))
    which = (choice * 10).floor()
    mix = torch.zeros_like(stripe)
    for i, texture in ((5, stripe), (6, bars), (7, check), (8, spots), (9, cloud)):
        mix = torch.where(which == i, texture, mix)
    return torch.lerp(one.expand(-1, -1, *u.shape[-2:]), two.expand(-1, -1, *u.shape[-2:]), mix)


def shirt(around, down, p, per_cm):
    u, v = around * 110 + 5 * spread(p["shirt_tile"][:, :1]), 135 * down.clamp_min(1e-6) ** 1.6 + 8 * down
    choice, share = (spread(p["pattern"][:, i]) for i in (0, 1))
    base = pattern(u, v, spread(p["shirt"]), spread(p["shirt_two"]), choice, share)
    base = torch.lerp(base, spread(p["shirt_two"]) * 0.5, smoothstep(52, 53, v))
    folds = tile(noise.CLOUD, u / 45, v / 70)
    weave = tile(noise.FINE, u / 9, v / 9) * smoothstep(0.8, 3, per_cm * 0.15)
    collar = 1 - 0.35 * smoothstep(2.2, 1.8, v) * smoothstep(0.3, 0.6, v)
    return (base * (1 + 0.14 * folds + 0.06 * weave) * collar).clamp(0.004, 1)


def lash_alpha(attributes, p, per_cm):
    """Strands across the cards that stand for rows of lashes."""
    u, v = attributes[:, :1], attributes[:, 1:2]
    upper = attributes[:, 3:4] < -3.0
    strands = smoothstep(-0.1, 0.9, tile(noise.STRAND, u * 2.6, v * 0.05 + 0.3))
    clear = smoothstep(10, 40, per_cm)
    fill = 0.28 + (strands - 0.28) * clear
    return fill * spread(p["lashes"]) * torch.where(upper, 0.85, 0.12)


def crown(rays, p):
    """Turn and distance around the crown, from which strands run, both 0 to 1."""
    a = torch.deg2rad(spread(p["parting"])) * 0.6
    tilt = torch.full_like(a, math.radians(28))
    axis = torch.cat([torch.sin(a) * torch.cos(tilt), -torch.cos(a) * torch.cos(tilt), torch.sin(tilt)], 1)
    first = towards(torch.cross(axis, skin.colour(axis, (0.0, 0.0, 1.0)).expand_as(axis), dim=1))
    second = torch.cross(axis, first, dim=1)
    turn = torch.atan2(dot(rays, second), dot(rays, first)) / (2 * math.pi)
    return turn, torch.acos(dot(rays, axis).clamp(-0.9999, 0.9999)) / math.pi


def wisps(turn, away, p, per_cm):
    """Single strands and tufts, 0 where there are none: what makes edges of hair ragged."""
    su, sv = spread(p["hair_tile"][:, :1]), spread(p["hair_tile"][:, 1:])
    bend = 0.03 * tile(noise.CLOUD, 3 * turn + sv, 2 * away + su) * (0.3 + spread(p["curl"]))
    fine = tile(noise.STRAND, 4.3 * (turn + bend) + sv, 0.7 * away + su) * smoothstep(0.8, 3.5, per_cm * 0.25)
    tufts = tile(noise.STRAND, 1.4 * (turn + 2 * bend) + su, 0.5 * away + sv)
    return fine, tufts


def hair(attributes, facing, p, per_cm):
    """Colour, alpha, openness, relief and strand noise of the hair's shell; facing is 1 towards the camera and 0 at its outline."""
    rays, level, inside = towards(attributes[:, :3] + 1e-6), attributes[:, 4:5], attributes[:, 5:6]
    turn, away = crown(rays, p)
    hanging = smoothstep(0.60, 0.66, level) * (spread(p["length"]) > 0.1)
    away = away + hanging * (level - 0.62) * 2.5
    strands, locks = hair_noise(turn, away, p, per_cm)
    fine, tufts = wisps(turn, away, p, per_cm)
    streaks, loose, fray = spread(p["streaks"]), spread(p["wisps"]), spread(p["fray"]) * (1 - 0.75 * hanging)
    colour = spread(p["hair"]) * (1 + 0.45 * streaks * strands + 0.25 * locks * streaks).clamp(0.25, 2.2)
    grey = spread(p["grey"]) * (0.6 + 0.6 * smoothstep(20, 4, inside))
    white = smoothstep(1.0, 3.2, 0.8 * fine + 0.8 * tufts + 3 * grey) * (grey > 0.05) * 0.75
    colour = torch.lerp(colour, skin.colour(colour, (0.38, 0.37, 0.36)), white)
    ragged = inside + 2.2 * strands + 2.6 * locks + 1.5 + loose * (4.5 * fine + 4.5 * tufts)
    tips = smoothstep(1.0, 0.93, level + 0.03 * locks + 0.02 * strands) + (level < 0.8)
    thin = smoothstep(-3.5, 4.5, ragged) * tips.clamp(0, 1)
    short = (1 - smoothstep(0.1, 0.5, spread(p["side"]))) * 0.5
    alpha = thin * (1 - short * (0.4 - 0.3 * strands).clamp(0, 1))
    # Seen along the surface, hair is single strands.
    rim = (facing - 0.3 * fray) / (0.06 + 0.5 * fray)
    alpha = alpha * smoothstep(-0.75, 0.35, rim + 0.45 * fine + 0.4 * tufts) * torch.lerp(torch.ones_like(fray), smoothstep(0.0, 0.2, facing), fray)
    openness = (0.55 + 0.22 * locks + 0.14 * strands).clamp(0.12, 1) * (0.55 + 0.45 * smoothstep(-2, 10, inside))
    return colour, alpha, openness, 0.035 * locks + 0.012 * strands, strands


def hair_noise(turn, away, p, per_cm):
    """Strands and locks around the crown; curls in tight hair."""
    su, sv = spread(p["hair_tile"][:, :1]), spread(p["hair_tile"][:, 1:])
    curl = spread(p["curl"])
    bend = curl * 0.05 * tile(noise.CLOUD, 2 * turn + su, 1.5 * away + sv) + curl * 0.012 * torch.sin(away * 60 + 8 * tile(noise.COARSE, turn + su, away + sv))
    strands = tile(noise.STRAND, 5 * (turn + bend) + su, 0.8 * away + sv)
    locks = tile(noise.STRAND, 1.0 * (turn + 1.5 * bend) + sv, 0.5 * away + su)
    curls = tile(noise.CLOUD, 9 * turn + su, 7 * away + sv)
    tight = spread(p["style"]) == people.AFRO
    fine = smoothstep(0.5, 2.5, per_cm * 0.25)
    return torch.where(tight, curls * 0.9, strands) * fine, torch.where(tight, curls, locks)


def combed(normal, fall, strands):
    """The way strands run on a surface: down the head, each a little aside."""
    side = torch.cross(fall, normal, dim=1)
    return towards(fall - normal * dot(fall, normal) + 0.25 * strands * side)


def hair_light(lights, normal, to_camera, colour, openness, shadow, tangent, softness):
    """Diffuse light of a rough volume and two bands of shine, the second in the hair's own colour; softness, 0 to 1, widens them."""
    wrap = torch.full((1, 1, 1, 1), 0.35, device=colour.device)
    total = colour * lights.diffuse(normal, openness, shadow, wrap)
    for i, (to, lamp) in enumerate(zip(lights.to, lights.colour)):
        half = towards(to + to_camera)
        front = smoothstep(-0.2, 0.5, dot(normal, to)) * (shadow if i == 0 else openness)
        for shift, power, tint in ((-0.08, 90, 0.035), (0.10, 22, None)):
            t = towards(tangent + shift * normal)
            sine = (1 - dot(t, half) ** 2).clamp(0, 1).sqrt()
            band = sine ** (power * (1 - 0.8 * softness)) * front * openness * (1 - 0.5 * softness)
            total = total + lamp * band * (tint if tint is not None else colour * 0.55)
    return total


def hat(attributes, p, per_cm):
    """Colour, alpha and relief of a covering."""
    turn, level, inside = attributes[:, 3:4], attributes[:, 4:5], attributes[:, 5:6]
    kind = spread(p["hat"])
    u, v = turn * 60, level * 40
    choice, share = (spread(p["hat_pattern"][:, i]) for i in (0, 1))
    base = pattern(u, v, spread(p["hat_colour"]), spread(p["shirt_two"]), choice, share)
    fine = smoothstep(0.8, 3, per_cm * 0.2)
    folds = tile(noise.COARSE, u / 20 + choice, v / 45) + 0.5 * tile(noise.COARSE, u / 60 + choice, v / 25)
    ribs = torch.sin(turn * 2 * math.pi * 70) * (kind == people.BEANIE)
    soft = ((kind == people.HEADSCARF) | (kind == people.HOOD)).float()
    height = 0.05 * ribs * fine + 0.16 * soft * folds
    electrodes = (kind == people.BEANIE) & (share > 0.6)
    dot_ = smoothstep(0.62, 0.72, torch.cos(turn * 2 * math.pi * 14) * torch.cos(v * 1.1))
    base = torch.where(electrodes, torch.lerp(base, (1 - base) * 0.6, dot_), base)
    base = base * (1 + 0.05 * tile(noise.FINE, u / 8, v / 8) * fine) * (1 - 0.3 * smoothstep(1.5, 0, inside) * (inside > -5))
    return base.clamp(0.004, 1), smoothstep(-1.0, 0.6, inside), height


def mask(attributes, p, per_cm):
    """A mask over nose and mouth: colour, alpha, relief."""
    rest, turn, rise = attributes[:, :3], attributes[:, 3:4], attributes[:, 4:5]
    x, y = rest[:, :1].abs(), rest[:, 1:2]
    low = spread(p["mask_low"])
    top = -1.75 + low + 0.16 * x**1.25
    bottom = 8.6 - 0.04 * x**2
    shape = smoothstep(0, 0.12, y - top) * torch.where(y > 6, smoothstep(0, 0.25, 72 - turn.abs() - 0.3 * (rise + 30).clamp(max=0).abs()), smoothstep(0, 0.2, 6.1 + 0.08 * y - x))
    straps = (smoothstep(0.16, 0.08, (y - top - 0.9 - (x - 6) * -0.9).abs()) + smoothstep(0.16, 0.08, (y - 5.3 + (x - 5.6) * 1.4).abs())) * (x > 5.6)
    pleats = torch.sin(y * 4.2) * smoothstep(0.3, 1.5, 5.5 - x) * (y > 0.5) * (y < 6.5)
    folds = tile(noise.CLOUD, rest[:, :1] / 18, y / 25)
    base = spread(p["mask_colour"]) * (1 - 0.12 * smoothstep(0.5, 1, pleats)) * (1 + 0.04 * tile(noise.FINE, rest[:, :1] / 6, y / 6) * smoothstep(1, 3, per_cm * 0.1))
    return base.expand_as(rest).clamp(0, 1), (shape + straps).clamp(0, 1) * (y < bottom + 6), 0.035 * pleats + 0.015 * folds


def full_beard(rest, facing, p, per_cm):
    """How open, alpha and colour of a beard that stands off the skin; facing as for hair."""
    area = shells.beard_area(rest.permute(0, 2, 3, 1), p)[:, None]
    u, v = torch.atan2(rest[:, :1], 2 - rest[:, 2:]) * 9, rest[:, 1:2]
    tiles = spread(p["hair_tile"][:, :1])
    strands = tile(noise.STRAND, u / 5 + tiles, v / 14) * smoothstep(0.6, 2.5, per_cm * 0.2)
    locks = tile(noise.CLOUD, u / 9 + tiles, v / 14)
    mouth = smoothstep(0.0, 0.25, (((rest[:, :1] / 2.35) ** 2 + ((v - 4.05) / 0.82) ** 2) - 1))
    fray = spread(p["fray"])
    alpha = smoothstep(0.12, 0.75, area + (0.12 + 0.16 * fray) * strands + 0.16 * locks) * mouth * (0.9 + 0.2 * strands).clamp(0, 1)
    alpha = alpha * smoothstep(-0.6, 0.35, (facing - 0.35 * fray) / (0.06 + 0.5 * fray) + 0.5 * strands + 0.25 * locks)
    grey = smoothstep(1.0, 2.8, 0.7 * strands + 0.6 * locks + 2.6 * spread(p["grey"])) * (spread(p["grey"]) > 0.05) * 0.8
    colour = torch.lerp(spread(p["beard_colour"]), skin.colour(area, (0.40, 0.39, 0.38)), grey) * (1 + 0.4 * strands + 0.2 * locks).clamp(0.3, 2)
    return (0.6 + 0.3 * strands + 0.25 * locks).clamp(0, 1), alpha, colour
