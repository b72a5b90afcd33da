"""From rendered pictures and their truth to what networks learn from: regions cut as package vision cuts them, frames in a letterbox."""

import functools
import math

import torch
import torch.nn.functional as F

import arkit
import geometry
import truth

MARGIN = 1.5  # vision.Margin
RIGHT_CORNER, LEFT_CORNER = 36, 45  # outer corners of the eyes
SMALLEST = 12.0  # side of the smallest face that is asked for, pixels of the detector's input; smaller ones are neither wanted nor wrong
SHOWN = 0.3  # share of a face's points that must be seen
LEAST = 0.7  # of the whole picture's scale in the letterbox
SHRINK = 0.75  # scale from which on the next smaller level is sampled
NEGATIVES, FAR, DETECTED = 0.12, 0.08, 0.3  # shares of regions


class Dice:
    """Random numbers of a seed, drawn on the device itself, so that it need not wait; CPU and GPU draw different ones."""

    def __init__(self, device, *seed):
        mixed = 0
        for part in seed:
            mixed = (mixed * 1000003 + int(part) + 1) % (1 << 62)
        self.device, self.generator = device, torch.Generator(device).manual_seed(mixed)

    def uniform(self, shape, low=0.0, high=1.0):
        return torch.rand(shape, generator=self.generator, device=self.device) * (high - low) + low

    def normal(self, shape, sigma=1.0):
        return torch.randn(shape, generator=self.generator, device=self.device) * sigma

    def chance(self, count, share):
        return self.uniform((count,)) < share


class Regions:
    """Rotated squares: vision.ROI for a batch. turn is clockwise on the screen."""

    def __init__(self, centre, size, turn):
        self.centre, self.size, self.turn = centre, size, turn

    @staticmethod
    def axes(turn):
        return torch.stack([turn.cos(), turn.sin()], -1), torch.stack([-turn.sin(), turn.cos()], -1)

    @classmethod
    def of_points(cls, points):
        """vision.ROIFromPoints with this point set's corners of the eyes."""
        across = points[:, LEFT_CORNER] - points[:, RIGHT_CORNER]
        turn = torch.atan2(across[:, 1], across[:, 0])
        x, y = cls.axes(turn)
        along = torch.stack([(points * x[:, None]).sum(-1), (points * y[:, None]).sum(-1)], -1)
        low, high = along.amin(1), along.amax(1)
        middle = (low + high) / 2
        return cls(middle[:, :1] * x + middle[:, 1:] * y, (high - low).amax(-1) * MARGIN, turn)

    @classmethod
    def of_faces(cls, box, five):
        """vision.ROIFromFace."""
        across = five[:, 1] - five[:, 0]
        return cls(box[:, :2] + box[:, 2:] / 2, box[:, 2:].amax(-1) * MARGIN, torch.atan2(across[:, 1], across[:, 0]))

    def where(self, chosen, other):
        return Regions(torch.where(chosen[:, None], self.centre, other.centre), torch.where(chosen, self.size, other.size), torch.where(chosen, self.turn, other.turn))

    def moved(self, shift, scale, turn):
        """shift in parts of the side."""
        return Regions(self.centre + shift * self.size[:, None], self.size * scale, self.turn + turn)

    def unit(self, points):
        """Points [B,N,2] of the picture in the square, whose sides are 1."""
        x, y = (a[:, None] for a in self.axes(self.turn))
        d = (points - self.centre[:, None]) / self.size[:, None, None]
        return torch.stack([(d * x).sum(-1), (d * y).sum(-1)], -1) + 0.5

    def cut(self, images, n):
        """Bytes [B,3,H,W] to [B,3,n,n], 0 to 1: one bilinear sample a pixel, the mean of four where the region is more than twice as
        large, the border repeated outside, as vision.Cropper has it."""
        out = self._sampled(images, n)
        if max(images.shape[2:]) <= 2 * n:  # so small a picture has no such regions but empty ones
            return out
        large = self.size > 2 * n
        return torch.where(large[:, None, None, None], F.avg_pool2d(self._sampled(images, 2 * n), 2), out)

    def _sampled(self, images, n):
        h, w = images.shape[2:]
        steps = (torch.arange(n, device=images.device) + 0.5) / n - 0.5
        x, y = (a[:, None, None] * self.size[:, None, None, None] for a in self.axes(self.turn))
        at = self.centre[:, None, None] + steps[None, None, :, None] * x + steps[None, :, None, None] * y
        grid = at / torch.tensor([w / 2, h / 2], device=images.device) - 1
        return F.grid_sample(images.float() / 255, grid, align_corners=False, padding_mode="border")


def jittered(ideal, detected, dice):
    """Regions as the loop of a tracked face meets them. Also which of them show no face, and which are so far off that only the
    points, which lead back, are asked for."""
    b = len(ideal.size)
    r = detected.where(dice.chance(b, DETECTED), ideal)
    near = dict(shift=dice.normal((b, 2), 0.025), scale=dice.normal((b,), 0.06).exp(), turn=dice.normal((b,), math.radians(5)))
    off = dict(shift=dice.uniform((b, 2), -0.22, 0.22), scale=dice.normal((b,), 0.25).exp(), turn=dice.uniform((b,), -1.0, 1.0))
    away = dice.uniform((b,), -math.pi, math.pi)
    distance = dice.uniform((b,), 0.85, 1.6)
    none = dict(shift=torch.stack([away.cos(), away.sin()], -1) * distance[:, None], scale=dice.uniform((b,), 0.5, 1.5), turn=away)
    inside = dict(shift=dice.uniform((b, 2), -0.3, 0.3), scale=dice.uniform((b,), 0.1, 0.22), turn=away)
    far, negative, part = dice.chance(b, FAR), dice.chance(b, NEGATIVES), dice.chance(b, 0.3)
    out = r.moved(**off).where(far, r.moved(**near))
    out = r.moved(**inside).where(part, r.moved(**none)).where(negative, out)
    return out, negative, far & ~negative


@functools.lru_cache(maxsize=None)
def twins(device):
    """For each point and each coefficient its mirror image's index."""
    points = [e["mirror"] for e in truth.definition()["points"]]

    def other(name):
        for a, b in (("Left", "Right"), ("Right", "Left")):
            if name.endswith(a):
                return name[: -len(a)] + b
        return name

    return torch.tensor(points, device=device), torch.tensor([arkit.INDEX[other(n)] for n in arkit.NAMES], device=device)


def mirrored(made, chosen):
    """Faces of a batch as a mirror shows them, where chosen [B]."""
    points, coefficients = twins(made["image"].device)
    flipped = made["points"][:, points] * torch.tensor([-1.0, 1, 1], device=points.device) + torch.tensor([1.0, 0, 0], device=points.device)
    turn = made["rotation"] * torch.tensor([[1.0, -1, -1], [-1, 1, 1], [-1, 1, 1]], device=points.device)
    changed = dict(image=made["image"].flip(-1), points=flipped, visible=made["visible"][:, points], coefficients=made["coefficients"][:, coefficients], rotation=turn)
    return {k: torch.where(chosen.reshape((-1,) + (1,) * (v.dim() - 1)), changed[k], v) if k in changed else v for k, v in made.items()}


def disturbed(image, dice):
    """Each picture with light, colours, sharpness and noise of its own: the same one is seen several times."""
    b, _, h, w = image.shape

    def draw(low, high):
        return dice.uniform((b, 1, 1, 1), low, high)

    grey = image.mean(1, keepdim=True)
    colour = draw(0.4, 1.5) * (dice.uniform((b, 1, 1, 1)) > 0.07)
    out = grey + (image - grey) * colour
    out = out * (1 + dice.normal((b, 3, 1, 1), 0.06)) * dice.normal((b, 1, 1, 1), 0.22).exp()
    middle = out.mean((1, 2, 3), keepdim=True)
    out = (middle + (out - middle) * dice.normal((b, 1, 1, 1), 0.18).exp() + dice.normal((b, 1, 1, 1), 0.04)).clamp(1e-4, 1)
    out = out ** dice.normal((b, 1, 1, 1), 0.18).exp()
    soft = F.interpolate(F.avg_pool2d(out, 2, ceil_mode=True), size=(h, w), mode="bilinear", align_corners=False)
    out = out + (soft - out) * draw(-0.5, 1.2).clamp_min(-0.35)
    noise = dice.normal(image.shape)
    return (out + noise * draw(-0.04, 0.05).clamp_min(0)).clamp(0, 1)


def patched(made, dice):
    """Something flat or noisy in front of a part of some regions; points behind it are not seen."""
    image = made["image"]
    b, _, h, w = image.shape
    size, at = dice.uniform((b, 2), 0.08, 0.38), dice.uniform((b, 2), 0.1, 0.9)
    on = dice.chance(b, 0.2)
    x, y = (((torch.arange(n, device=image.device) + 0.5) / n)[None] for n in (w, h))
    across, down = (((v - at[:, i : i + 1]).abs() < size[:, i : i + 1] / 2) & on[:, None] for i, v in enumerate((x, y)))
    inside = (down[:, :, None] & across[:, None, :])[:, None]
    rough = dice.uniform(image.shape, -0.5, 0.5)
    fill = (dice.uniform((b, 3, 1, 1)) + rough * dice.uniform((b, 1, 1, 1), -0.5, 1).clamp_min(0)).clamp(0, 1)
    hidden = ((made["points"][..., :2] - at[:, None]).abs() < size[:, None] / 2).all(-1) & on[:, None]
    return dict(made, image=torch.where(inside, fill, image), visible=made["visible"] & ~hidden)


def focal_length(points, space):
    """Pixels, from where points of space [B,N,3] are seen."""
    ideal = space[..., :2] / space[..., 2:]
    a, b = ideal - ideal.mean(1, keepdim=True), points - points.mean(1, keepdim=True)
    return (a * b).sum((1, 2)) / (a * a).sum((1, 2)).clamp_min(1e-9)


def view(position):
    """The smallest turn that brings the direction to a position [B,3] onto the camera's axis."""
    d = geometry.unit(position)
    x, y, z = d.unbind(-1)
    k = 1 / (1 + z.clamp_min(-0.99))
    rows = (1 - x * x * k, -x * y * k, -x, -x * y * k, 1 - y * y * k, -y, x, y, z)
    return torch.stack(rows, -1).reshape(-1, 3, 3)


def apparent_rotation(pose, position, turn):
    """Head to region [B,3,3]: as seen along the line to the head, in the region's own axes."""
    head = geometry.head_rotation(*pose.unbind(-1))
    return geometry.rotation("z", -turn * (180 / math.pi)) @ view(position) @ head


def face(images, known, size, dice, varied=True):
    """A batch for the face network from crops with one face each; those with nobody are examples of no face. varied ones are also
    mirrored, recoloured and partly covered."""
    points, space, position = known["points"], known["space"], known["position"]
    region, negative, far = jittered(Regions.of_points(points), Regions.of_faces(known["box"], known["five"]), dice)
    depth = (space[..., 2] - position[:, None, 2]) * (focal_length(points, space) / position[:, 2] / region.size)[:, None]
    negative, far = negative | known["nobody"], far & ~known["nobody"]
    seen = known["shown"] >= SHOWN
    made = dict(
        image=region.cut(images, size), points=torch.cat([region.unit(points), depth[..., None]], -1), visible=known["visible"],
        coefficients=known["coefficients"], rotation=apparent_rotation(known["pose"], position, region.turn),
        presence=(~negative).float(), asked=negative | (seen & ~far), located=~negative & (known["shown"] > 0.1), described=~negative & seen & ~far,
    )
    if not varied:
        return made
    made = patched(made, dice)
    made["image"] = disturbed(made["image"], dice)
    return mirrored(made, dice.chance(len(images), 0.5))


def letterboxed(images, size, dice, varied=True):
    """Bytes [B,3,H,W] to [B,3,size,size] as BGR, 0 to 1, black outside; scale [B] and offset [B,2]. Half of varied ones are not the
    whole picture in the middle, but any part of it, enlarged or smaller."""
    b, _, h, w = images.shape
    scale = torch.full((b,), size / max(h, w), device=images.device)
    if varied:
        other = scale * dice.uniform((b,), math.log(LEAST), math.log(2.4)).exp()
        scale = torch.where(dice.chance(b, 0.5), other, scale)
    room = size - scale[:, None] * torch.tensor([w, h], device=images.device, dtype=torch.float32)
    offset = room * (dice.uniform((b, 2)) if varied else 0.5)
    steps = torch.arange(size, device=images.device) + 0.5
    x, y = ((steps[None] - offset[:, i : i + 1]) / scale[:, None] for i in (0, 1))
    grid = torch.stack([(x * 2 / w - 1)[:, None].expand(b, size, size), (y * 2 / h - 1)[:, :, None].expand(b, size, size)], -1)
    return shrunk(images, grid, scale, size / max(h, w) * (LEAST if varied else 1)).flip(1), scale, offset


def shrunk(images, grid, scale, least):
    """Every pixel that is covered counts: levels of half the size, then bilinear. least is the smallest scale that there may be."""
    level, power = images.float() / 255, 1
    out = F.grid_sample(level, grid, align_corners=False)
    while least * power <= SHRINK:
        level = F.avg_pool2d(level, 2, ceil_mode=True)
        smaller = scale * power <= SHRINK
        out = torch.where(smaller[:, None, None, None], F.grid_sample(level, grid, align_corners=False), out)
        power *= 2
    return out


def detector(images, known, size, dice, varied=True):
    """A batch for the detector. known has for each picture G places for faces: box, five, shown, and there for those that are taken.
    state is 1 for faces to be found, -1 for those that may be found or not, 0 for nobody."""
    image, scale, offset = letterboxed(images, size, dice, varied)
    box = known["box"] * scale[:, None, None]
    box = torch.cat([box[..., :2] + offset[:, None], box[..., :2] + offset[:, None] + box[..., 2:]], -1)
    five = known["five"] * scale[:, None, None, None] + offset[:, None, None]
    clipped = box.clamp(0, size)
    sides, cut = box[..., 2:] - box[..., :2], clipped[..., 2:] - clipped[..., :2]
    inside = cut.prod(-1) / sides.prod(-1).clamp_min(1e-6)
    wanted = known["there"] & (sides.prod(-1).clamp_min(0).sqrt() >= SMALLEST) & (inside > 0.5) & (known["shown"] >= SHOWN)
    possible = known["there"] & (inside > 0.02)
    state = wanted.long() - (possible & ~wanted).long()
    if not varied:
        return dict(image=image, box=box, five=five, state=state)
    flip = dice.chance(len(images), 0.5)
    other = torch.stack([size - box[..., 2], box[..., 1], size - box[..., 0], box[..., 3]], -1)
    marks = five[:, :, [1, 0, 2, 4, 3]] * torch.tensor([-1.0, 1], device=five.device) + torch.tensor([float(size), 0], device=five.device)
    image = torch.where(flip[:, None, None, None], image.flip(-1), image)
    outside = bordered(scale, offset, images.shape, size, flip)
    return dict(image=disturbed(image, dice) * ~outside, box=torch.where(flip[:, None, None], other, box), five=torch.where(flip[:, None, None, None], marks, five), state=state)


def bordered(scale, offset, shape, size, flip):
    """Pixels [B,1,size,size] outside the picture, which stay black."""
    steps = torch.arange(size, device=scale.device) + 0.5
    x, y = (((steps[None] - offset[:, i : i + 1]) / scale[:, None]) for i in (0, 1))
    across, down = (x > 0) & (x < shape[3]), (y > 0) & (y < shape[2])
    across = torch.where(flip[:, None], across.flip(-1), across)
    return ~(across[:, None, None, :] & down[:, None, :, None])
