"""How surfaces answer to light: up to three lamps, the first with a shadow, and a sky. Images are [B,C,H,W], light is linear."""

import torch

import geometry
import raster

LAMPS = 3
SHADOW, REACH = 320, 26.0


def spread(values):
    """Parameters [B] or [B,C] as images of one pixel."""
    return values.reshape(values.shape + (1,) * (4 - values.dim())) if values.dim() > 1 else values[:, None, None, None]


def dot(a, b):
    # A sum over so short an axis is slow as a reduction.
    return a[:, :1] * b[:, :1] + a[:, 1:2] * b[:, 1:2] + a[:, 2:] * b[:, 2:]


def towards(v):
    """Images of vectors, made 1 long."""
    return v * torch.rsqrt(dot(v, v).clamp_min(1e-18))


def smoothstep(low, high, x):
    t = ((x - low) / (high - low)).clamp(0, 1)
    return t * t * (3 - 2 * t)


def luminance(x):
    return 0.2126 * x[:, :1] + 0.7152 * x[:, 1:2] + 0.0722 * x[:, 2:3]


class Sky:
    """Light from everywhere: above, below and from one side."""

    def __init__(self, p):
        self.above, self.below, self.side = (spread(p[k]) for k in ("sky", "ground", "side_light"))
        self.aside = spread(p["side_direction"])

    def __call__(self, direction):
        up = 0.5 - 0.5 * direction[:, 1:2]
        return self.above * up + self.below * (1 - up) + self.side * dot(direction, self.aside).clamp(min=0)


class Lights:
    def __init__(self, p):
        self.p, self.sky = p, Sky(p)
        self.to = [spread(p["lamp_direction"][:, i]) for i in range(LAMPS)]
        self.colour = [spread(p["lamp_colour"][:, i]) for i in range(LAMPS)]
        self.shadows = None

    def cast(self, points, triangles, middle):
        """A map of what the first lamp sees; points [B,V,3] and middle [B,3] in camera coordinates."""
        towards = self.p["lamp_direction"][:, 0]
        helper = torch.tensor([0.1, 1.0, 0.2], device=points.device).expand_as(towards)
        right = geometry.unit(torch.cross(helper, towards, dim=-1))
        self.frame = torch.stack([right, torch.cross(towards, right, dim=-1), -towards], 1)
        self.middle = middle
        self.shadows = raster.rasterize(self._to_map(points), triangles, SHADOW, SHADOW, False).depth

    def _to_map(self, points):
        x = geometry.turned(points - self.middle[:, None], self.frame)
        scale = SHADOW / (2 * REACH)
        return torch.cat([x[..., :2] * scale + SHADOW / 2, x[..., 2:] + 100], -1)

    def at(self, p, image):
        """The same lights for single pixels of the images whose numbers are given; p holds their parameters."""
        out = Lights(p)
        out.frame, out.middle, out.shadows, out.image = self.frame[image], self.middle[image], self.shadows, image
        return out

    def shadow(self, position, normal):
        """1 in the lamp's light, 0 in shadow; for pixels [M,3,1,1]."""
        place = self._to_map((position + normal * 0.25)[:, None, :, 0, 0])[:, 0]
        base = self.image * SHADOW**2
        soft = self.p["lamp_soft"]
        lit = 0
        for dx, dy in TAPS:
            x, y = ((place[:, i] + soft * d).clamp(0, SHADOW - 1).long() for i, d in ((0, dx), (1, dy)))
            depth = self.shadows.flatten()[base + y * SHADOW + x]
            lit = lit + 1 - ((place[:, 2] - depth) / 0.35).clamp(0, 1)
        return (lit / len(TAPS))[:, None, None, None]

    def diffuse(self, normal, openness, shadow, wrap):
        """Light on a surface; wrap, for red, green and blue, is how far it creeps around corners below the skin."""
        total = self.sky(normal) * openness
        for i in range(LAMPS):
            c = dot(normal, self.to[i])
            lit = ((c + wrap) / (1 + wrap)).clamp(min=0) ** (1 + wrap)
            seen = self._seen(i, shadow, openness)
            # Where a shadow ends, skin glows red.
            total = total + self.colour[i] * lit * torch.where(wrap > 0, seen ** (1 / (1 + 2 * wrap)), seen.expand_as(lit))
        return total

    def _seen(self, i, shadow, openness):
        return shadow if i == 0 else smoothstep(0.0, 0.55, openness)

    def gloss(self, normal, view, openness, shadow, roughness, base=0.04):
        """What a smooth layer throws back: lamps, and the sky more at grazing angles. view points to the camera."""
        facing = dot(normal, view).clamp(0, 1)
        mirror = 2 * facing * normal - view
        fresnel = base + (1 - base) * (1 - facing) ** 4 * (1 - roughness)
        total = self.sky(mirror) * fresnel * openness * (1 - 0.5 * roughness)
        a2 = (roughness * roughness).square().clamp_min(1e-5)
        for i in range(LAMPS):
            half = towards(self.to[i] + view)
            c = dot(normal, half).clamp(0, 1)
            lobe = a2 / (torch.pi * (c * c * (a2 - 1) + 1).square()).clamp_min(1e-6)
            f = base + (1 - base) * (1 - dot(view, half).clamp(0, 1)) ** 4
            reach = dot(normal, self.to[i]).clamp(0, 1)
            k = roughness / 2
            mask = reach / ((facing * (1 - k) + k) * (reach * (1 - k) + k)).clamp_min(1e-3) / 4
            total = total + self.colour[i] * lobe * f * mask * self._seen(i, shadow, openness) * torch.pi
        return total


TAPS = [(0, 0), (-1, 0.4), (0.9, -0.5), (0.3, 1), (-0.4, -0.9), (1.6, 1.2), (-1.7, 1.1), (1.3, -1.6), (-1.2, -1.5)]


def bumped(normal, right, below, rise_right, rise_below):
    """Normals of a surface with a relief: steps in place [.,3,.,.] and in height, cm, to the next pixel to the right and below."""
    # Across an outline there is no surface to take differences on.
    whole = torch.maximum(dot(right, right), dot(below, below)) < 0.5
    a, b = torch.cross(below, normal, dim=1), torch.cross(normal, right, dim=1)
    det = dot(right, a)
    moved = towards(det.abs() * normal - torch.sign(det) * (rise_right * a + rise_below * b))
    return torch.where(whole & (det.abs() > 1e-9), moved, normal)
