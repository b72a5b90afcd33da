"""Skin, lips, brows, beards and lids: colour and relief from positions on the mean face, cm."""

import math

import torch

import fields
import noise
import people
import shells
from light import smoothstep, spread, towards

DERMIS = (0.72, 0.585, 0.46)
MELANIN = (1.85, 2.5, 2.9)
BLOOD = (0.06, 0.50, 0.40)


def colour(like, values):
    return torch.tensor(values, device=like.device, dtype=like.dtype).reshape(1, -1, 1, 1)


class Surface:
    """Where on the face each pixel is, and what textures may show at this resolution."""

    def __init__(self, rest, field, p, per_cm):
        self.rest, self.p = rest, p
        self.x, self.y, self.z = (rest[:, i : i + 1] for i in range(3))
        self.field = lambda i: field[:, i : i + 1]
        self.per_cm = per_cm
        self.side = self.x.abs()
        around = torch.atan2(self.x, 6.5 - self.z) * 10
        self.u, self.v = around, self.y

    def get(self, key, i=None):
        return spread(self.p[key] if i is None else self.p[key][:, i])

    def visible(self, wavelength):
        """0 for a pattern finer than the pixels, 1 for one that they resolve."""
        return smoothstep(0.8, 3.0, self.per_cm * wavelength)

    def noise(self, kind, scale, wavelength, turn=0.0, key="tile"):
        c, s = math.cos(turn), math.sin(turn)
        u = (self.u * c - self.v * s) / scale + self.get(key, 0)
        v = (self.u * s + self.v * c) / scale + self.get(key, 1)
        return noise.sample(kind, u, v) * self.visible(wavelength)

    def spot(self, x, y, wide, high):
        """A soft spot and its twin on the other side."""
        return torch.exp(-(((self.side - x) / wide) ** 2) - ((self.y - y) / high) ** 2) * (self.z < 1)


def pigments(s):
    """Melanin and blood of each pixel."""
    cloud, coarse = s.noise(noise.CLOUD, 9, 0.4), s.noise(noise.COARSE, 21, 2)
    fine = s.noise(noise.FINE, 4.1, 0.1)
    blotch = s.get("blotch")
    melanin = s.get("melanin") * (1 + 0.05 * blotch * coarse + 0.025 * blotch * cloud + 0.03 * fine) + 0.006 * blotch * cloud
    blood = s.get("blood") * (1 + 0.12 * blotch * cloud + 0.06 * fine)
    flush = 0.5 * s.spot(4.3, 0.6, 2.0, 1.7) + 0.55 * s.spot(0, 0.4, 1.3, 1.2) + 0.35 * s.spot(0, 7.4, 1.3, 0.8) + 0.5 * smoothstep(7.2, 8.4, s.side) * (s.y < 3) * (s.y > -6)
    blood = blood + flush * (0.35 + 0.4 * s.get("blush"))
    zones = s.get("zones", 0) * s.spot(0, -7.2, 5, 2.2) + s.get("zones", 1) * s.spot(4.2, 0.8, 2.4, 2.6) + s.get("zones", 2) * s.spot(0, 7.2, 2.6, 1.9)
    zones = zones + s.get("zones", 3) * smoothstep(3.5, 6, s.y + 0.45 * s.side) + s.get("zones", 4) * coarse * 0.5
    melanin = melanin + (0.07 + 0.1 * s.get("melanin")) * zones
    blood = blood + 0.22 * (s.get("zones", 5) * s.spot(4.2, 0.8, 2.2, 2) + s.get("zones", 6) * s.spot(0, 0.2, 1.4, 1.5) + s.get("zones", 7) * s.spot(0, 7.2, 2, 1.5))
    eye = smoothstep(1.1, 0.1, s.field(fields.LIDS))
    low = smoothstep(-2.9, -2.2, s.y) * smoothstep(1.5, 0.3, s.field(fields.LIDS))
    melanin = melanin + eye * 0.10 + low * 0.10 * s.get("bags") - 0.05 * s.spot(0, -7, 5, 2)
    blood = blood + 0.35 * eye + 0.3 * low * s.get("bags") + 0.25 * smoothstep(0.5, 0.1, s.field(fields.FOLD))
    return melanin + dots(s), blood


def dots(s):
    freckle = s.noise(noise.SPOTS, 5.3, 0.15) * smoothstep(0.2, 0.9, 0.25 + 0.9 * s.spot(2.8, -0.6, 3.4, 2.2) + 0.35 * s.spot(0, -6, 4, 2.5))
    mole = smoothstep(0.75, 1.0, s.noise(noise.SPOTS, 9.7, 0.2)) * smoothstep(1.35, 1.5, s.noise(noise.CLOUD, 53, 1))
    return 0.25 * freckle * s.get("freckles") + 0.6 * mole * s.get("moles")


def tone(melanin, blood):
    """Light that comes back through pigments of these amounts, by Beer and Lambert's law."""
    return colour(melanin, DERMIS) * torch.exp(-melanin * colour(melanin, MELANIN) - blood * colour(melanin, BLOOD))


def scattered(lights, normal, smooth, base, openness, shadow):
    """Light on skin: red travels farther below it and so shows less relief; folds bounce it in the skin's own colour."""
    wrap = colour(base, (0.32, 0.16, 0.11))
    soft = towards(normal + 0.9 * smooth)
    each = [lights.diffuse(soft if i == 0 else normal, openness, shadow, wrap[:, i : i + 1])[:, i : i + 1] for i in range(3)]
    return torch.cat(each, 1) * torch.lerp(base.clamp(0, 1) ** 0.35, torch.ones_like(base), openness.clamp(0, 1))


def skin_colour(s):
    melanin, blood = pigments(s)
    out = tone(melanin.clamp(0.02, 1.3), blood.clamp(0, 2.5))
    yellow = s.get("yellow") * 0.08
    return out * torch.cat([1 + 0 * yellow, 1 + 0.3 * yellow, 1 - yellow], 1)


def lip_mask(s):
    return smoothstep(-0.07, 0.10, s.field(fields.LIPS) + 0.035 * s.noise(noise.CLOUD, 3, 0.2))


def paint_lips(s, base):
    mask = lip_mask(s)
    red = s.get("lip_red")
    tint = torch.cat([0.92 - 0.06 * red, 0.72 - 0.25 * red, 0.74 - 0.2 * red], 1) * (1 + 0.08 * s.noise(noise.STRAND, 1.5, 0.08))
    natural = base * tint
    made = torch.lerp(natural, s.get("lip_colour"), s.get("lipstick"))
    inner = smoothstep(0.3, 0.75, s.field(fields.LIPS))
    return torch.lerp(base, made * (1 - 0.18 * inner), mask), mask


def brow(s):
    """How much of a pixel is brow hair."""
    thick, density, height, tilt, arch = (s.get("brow", i) for i in range(5))
    t = (s.side - 1.15) / 4.7
    own = torch.sign(s.x)
    height, tilt = height + own * s.get("brow_uneven", 0), tilt + own * s.get("brow_uneven", 1)
    middle = -4.92 - height - 0.45 * torch.sin((t * 1.35).clamp(0, 1.6) * 2.0) - arch * torch.exp(-(((t - 0.68) / 0.22) ** 2)) + tilt * (t - 0.4) * -1.2 + 0.45 * (t - 0.75).clamp(min=0) * 4 + 0.14 * smoothstep(0.3, 0.8, t)
    half = thick * (1.05 - 0.75 * smoothstep(0.45, 1.05, t)) * smoothstep(-0.12, 0.12, t + s.get("brow_join") * 0.3)
    lean = 1.05 * (1 - t.clamp(0, 1))
    du, dv = s.side, s.y - middle
    along, across = du * torch.cos(lean) - dv * torch.sin(lean), du * torch.sin(lean) + dv * torch.cos(lean)
    hairs = noise.sample(noise.STRAND, across / 1.9 + s.get("tile", 0), along / 6 + s.get("tile", 1)) * s.visible(0.1)
    ends = smoothstep(1.16, 0.95, t) * smoothstep(-0.16, 0.14, t + s.get("brow_join") * 0.35)
    # Hairs grow out of the upper edge and towards the nose one by one; the lower edge is clean.
    ragged = s.get("brow_ragged")
    far = dv / half.clamp_min(0.02)
    upper = torch.where(far < 0, 0.75 + 0.35 * ragged, torch.ones_like(far)) * far.abs()
    sparse = 0.45 + 0.55 * smoothstep(-0.1, 0.35, t)
    loose = torch.where(far < 0, 0.15 + 0.5 * ragged, 0.12 + 0.15 * ragged) + 0.3 * ragged * (1 - sparse)
    inside = smoothstep(1.25, 0.3, upper - loose * hairs) * ends * (s.z < -0.5)
    return (inside * density * sparse ** (0.5 * ragged) * (0.95 + (0.25 + 0.35 * ragged) * hairs)).clamp(0, 0.96)


def stubble(s):
    area = shells.beard_area(s.rest.permute(0, 2, 3, 1), s.p)[:, None]
    grain = 0.5 + 0.35 * s.noise(noise.FINE, 3.3, 0.1) + 0.25 * s.noise(noise.STRAND, 3.1, 0.1) + 0.2 * s.noise(noise.CLOUD, 6, 0.5)
    area = area * (1 - smoothstep(-0.12, 0.05, s.field(fields.LIPS)))
    return (area * (0.35 + grain) * smoothstep(0, 0.3, area)).clamp(0, 0.93)


def scalp(s, inside):
    """Roots and shaved hair; inside is degrees above the hairline."""
    cover = smoothstep(-4, 7, inside + 4 * s.noise(noise.CLOUD, 8, 0.5))
    grain = 0.7 + 0.3 * s.noise(noise.FINE, 3, 0.1)
    amount = torch.where(s.get("style") == people.BALD, 0.45 * s.get("stubble"), 0.85 + 0 * s.get("stubble"))
    return (cover * amount * grain).clamp(0, 0.95)


def inside_hairline(s):
    """Degrees above the hairline as the shells count them, from positions at rest."""
    x, y, z = s.x, s.y + 3.8, s.z - 4.2
    turn = torch.rad2deg(torch.atan2(x, -z))
    rise = torch.rad2deg(torch.atan2(-y, (x * x + z * z).sqrt()))
    b = len(x)
    return rise - shells.hairline(turn.reshape(b, -1), s.p).reshape(rise.shape)


def paint(s):
    """Colour [B,3,..], masks of lips and of hair on the skin."""
    base = skin_colour(s)
    lid = smoothstep(0.95, 0.2, s.field(fields.LIDS)) * smoothstep(-2.9, -3.3, s.y)
    base = torch.lerp(base, s.get("shadow_colour"), (lid * s.get("shadow")).clamp(0, 0.8))
    crease = torch.exp(-(((s.field(fields.LIDS) - s.get("lid_height")) / 0.07) ** 2)) * smoothstep(-2.9, -3.4, s.y) * s.get("lid_fold")
    base = base * (1 - 0.4 * crease * colour(base, (0.8, 1.0, 1.0)))
    liner = smoothstep(0.15, 0.03, s.field(fields.LIDS)) * (0.5 * s.get("lashes") + 0.75 * s.get("liner"))
    base = base * (1 - 0.8 * liner.clamp(0, 1) * smoothstep(-2.4, -3.2, s.y))
    rim = smoothstep(0.12, 0.0, s.field(fields.LIDS)) * smoothstep(-3.1, -2.5, s.y)
    base = torch.lerp(base, base * colour(base, (1.05, 0.72, 0.70)), 0.6 * rim)
    base, lips = paint_lips(s, base)
    brows, beard, roots = brow(s), stubble(s), scalp(s, inside_hairline(s))
    base = torch.lerp(base, s.get("beard_colour"), beard)
    base = torch.lerp(base, s.get("brow_colour"), brows)
    roots = roots * smoothstep(2.5, 0.5, s.y)
    base = torch.lerp(base, s.get("hair") * 0.8, roots)
    return base, lips, torch.maximum(torch.maximum(brows, beard), roots)


def relief(s, brows_up, smile, hair):
    """Height of the skin above the mesh, cm."""
    age = s.get("wrinkles")
    fine = 0.0035 * s.get("pores") * s.noise(noise.FINE, 3.2, 0.09) + 0.004 * s.noise(noise.CLOUD, 5, 0.25) * (0.5 + age)
    wobble = 0.3 * s.noise(noise.COARSE, 14, 1) + 0.1 * s.noise(noise.CLOUD, 6, 0.4)
    lines = torch.sin((s.y + wobble + 0.02 * s.x**2) * 5.2)
    forehead = lines.clamp(max=0.3) * smoothstep(-5.9, -6.8, s.y) * smoothstep(-10.2, -8.6, s.y) * smoothstep(5.5, 3.0, s.side) * (s.z < 0)
    feet = torch.sin(torch.atan2(s.y + 2.9 + 0.3 * wobble, s.side - 4.2) * 11) * torch.exp(-(((s.side - 5.3) / 0.7) ** 2) - ((s.y + 2.8) / 1.0) ** 2)
    frown = -torch.exp(-(((s.side - 0.55 - 0.08 * wobble) / 0.14) ** 2) - ((s.y + 5.2) / 0.7) ** 2)
    under = -torch.exp(-(((s.field(fields.LIDS) - 0.62) / 0.16) ** 2)) * smoothstep(-2.6, -2.0, s.y) * s.get("bags")
    fold = -torch.exp(-((s.field(fields.FOLD) / 0.22) ** 2)) * (0.35 * age + 0.8 * spread(smile))
    lid = -torch.exp(-(((s.field(fields.LIDS) - s.get("lid_height")) / 0.10) ** 2)) * smoothstep(-3.1, -3.5, s.y) * (0.2 + 1.2 * s.get("lid_fold"))
    deep = 0.02 * forehead * (0.55 * age + 1.3 * spread(brows_up)) + 0.014 * feet * (age + spread(smile)) + 0.05 * frown * age
    grooves = 0.005 * lip_mask(s) * s.noise(noise.STRAND, 1.6, 0.08)
    strands = 0.02 * hair * s.noise(noise.STRAND, 2, 0.1)
    return strands + fine + deep * s.visible(0.2) + 0.05 * under + 0.07 * fold + 0.03 * lid + grooves


def gloss_of(s, lips, hair):
    """Roughness and strength of the shine."""
    zone = 0.3 * s.spot(0, -6.5, 4, 2) + 0.45 * s.spot(0, -0.6, 1.1, 2.5) + 0.2 * s.spot(3.9, -0.4, 1.6, 1.2)
    oil = s.get("oil")
    rough = 0.56 - 0.14 * oil - 0.1 * zone * oil + 0.04 * s.noise(noise.FINE, 3.2, 0.09)
    rough = torch.lerp(rough, 0.46 - 0.22 * s.get("lip_gloss"), lips)
    strength = (0.55 + 0.6 * oil + zone * oil) * (1 - 0.75 * hair) + 0.3 * lips * s.get("lip_gloss")
    return rough.clamp(0.15, 0.9), strength
