"""What training minimises. Each function returns a dictionary of parts; train.py adds them up."""

import functools

import torch
import torch.nn.functional as F

import networks

NEAR = 0.001  # distance below which a point is as good as there, in parts of the region's side
HIDDEN = 0.5  # what a point counts that is not seen
SPARSE, FIRST = 68, 3.0  # the 68 points come first in the list, and what each counts: those are measured
NEAREST = 2.5  # strides from a face's middle to cells that may answer for it


class Priors:
    """The cells of all levels [N]: corner and stride."""

    def __init__(self, size, device):
        corners, strides = [], []
        for stride in networks.STRIDES:
            n = size // stride
            y, x = torch.meshgrid(torch.arange(n, device=device), torch.arange(n, device=device), indexing="ij")
            corners.append(torch.stack([x, y], -1).reshape(-1, 2) * float(stride))
            strides.append(torch.full((n * n,), float(stride), device=device))
        self.corner, self.stride = torch.cat(corners), torch.cat(strides)
        self.middle = self.corner + self.stride[:, None] / 2

    def decode(self, outputs):
        """cls, obj [B,N]; boxes x0, y0, x1, y1 and key points in pixels of the input: vision's yuNet.face."""
        n = len(networks.STRIDES)
        cls, obj, box, five = (torch.cat([o.float() for o in outputs[k * n : (k + 1) * n]], 1) for k in range(4))
        s = self.stride[:, None]
        middle, half = self.corner + box[..., :2] * s, box[..., 2:].clamp(max=6).exp() * s / 2
        five = five.reshape(five.shape[:2] + (5, 2)) * s[:, None] + self.corner[:, None]
        return cls[..., 0], obj[..., 0], torch.cat([middle - half, middle + half], -1), five


def area(sides):
    """Of [...,2]; the gradient of a product over an axis would make a GPU wait."""
    return sides[..., 0] * sides[..., 1]


def overlaps(a, b):
    """IoU and generalised IoU of boxes [...,4]."""
    cut = area((torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).clamp_min(0))
    hull = area((torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])).clamp_min(1e-6))
    both = area(a[..., 2:] - a[..., :2]) + area(b[..., 2:] - b[..., :2]) - cut
    iou = cut / both.clamp_min(1e-6)
    return iou, iou - (hull - both) / hull


def inside(points, boxes):
    """Which points [N,2] lie in which boxes [B,G,4]: [B,G,N]."""
    p, b = points[None, None], boxes[:, :, None]
    return ((p > b[..., :2]) & (p < b[..., 2:])).all(-1)


@torch.no_grad()
def assign(priors, cls, obj, boxes, target):
    """For each cell the face that it answers for [B,N], -1 for none, and whether it counts as none. A face gets as many cells as the
    best overlaps add up to, those that already answer best."""
    faces, real = target["box"], target["state"] == 1
    middle = (faces[..., :2] + faces[..., 2:]) / 2
    close = ((priors.middle - middle[:, :, None]).abs() < NEAREST * priors.stride[:, None]).all(-1)
    candidate = inside(priors.middle, faces) & close & real[..., None]
    iou = overlaps(boxes[:, None], faces[:, :, None])[0] * candidate
    score = 0.5 * (F.logsigmoid(cls) + F.logsigmoid(obj))
    cost = torch.where(candidate, -score[:, None] - 3 * iou.clamp_min(1e-4).log(), torch.full_like(iou, 1e6))
    k = iou.topk(min(10, iou.shape[-1]), -1)[0].sum(-1).clamp_min(1)
    chosen = (cost.argsort(-1).argsort(-1) < k[..., None].floor()) & candidate
    best, owner = torch.where(chosen, cost, torch.full_like(cost, 1e7)).min(1)
    owner = torch.where(best < 1e6, owner, torch.full_like(owner, -1))
    maybe = (inside(priors.middle, faces) & (target["state"] == -1)[..., None]).any(1)
    return owner, (owner >= 0) | ~maybe


def focal(logits, target, gamma=2.0, alpha=0.4):
    p = torch.sigmoid(logits)
    miss = target * (1 - p) + (1 - target) * p
    weight = (target * alpha + (1 - target) * (1 - alpha)) * miss**gamma
    return F.binary_cross_entropy_with_logits(logits, target, reduction="none") * weight


@functools.lru_cache(maxsize=4)
def priors_of(size, device):
    return Priors(size, device)


def detector(outputs, target):
    """outputs are logits; obj learns where faces are, cls how well each box fits, so that √(cls·obj) is a score. Every cell is worked
    out and most are weighted 0: shapes that never change can be replayed on a GPU."""
    priors = priors_of(target["image"].shape[-1], target["image"].device)
    cls, obj, boxes, five = priors.decode(outputs)
    owner, counts = assign(priors, cls, obj, boxes, target)
    found = (owner >= 0).float()
    total = found.sum().clamp_min(1)
    face = owner.clamp_min(0)
    want = target["box"].gather(1, face[..., None].expand(-1, -1, 4))
    marks = target["five"].flatten(2).gather(1, face[..., None].expand(-1, -1, 10)).reshape(five.shape)
    iou, general = overlaps(boxes, want)
    sides = area(want[..., 2:] - want[..., :2]).clamp_min(1).sqrt()
    off = (five - marks) / sides[..., None, None] * found[..., None, None]
    fit = F.binary_cross_entropy_with_logits(cls, iou.detach().clamp(0, 1), reduction="none")
    return dict(
        obj=8 * (focal(obj, found) * counts).sum() / total, cls=(fit * found).sum() / total,
        box=3 * ((1 - general) * found).sum() / total, five=4 * F.smooth_l1_loss(off, torch.zeros_like(off), beta=0.05, reduction="sum") / 10 / total,
    )


def distance(error):
    """How far points are off, smooth at 0, for errors [...,2]: what the measure takes the mean of."""
    return (error.square().sum(-1) + NEAR**2).sqrt() - NEAR


def rotation(six):
    """[B,6] to matrices: the first two columns made orthogonal, the third follows."""
    a = F.normalize(six[:, :3], dim=-1)
    b = F.normalize(six[:, 3:] - (a * six[:, 3:]).sum(-1, keepdim=True) * a, dim=-1)
    return torch.stack([a, b, torch.cross(a, b, dim=-1)], -1)


def mean(values, weight):
    """Mean of values [B,...] over those with weight [B,...] or [B]."""
    weight = weight.float().reshape(weight.shape + (1,) * (values.dim() - weight.dim())).expand_as(values)
    return (values * weight).sum() / weight.sum().clamp_min(1)


def face(outputs, target):
    points, spread, presence, coefficients, pose = (o.float()[:, 0] for o in outputs)
    points = points.reshape(len(points), -1, 3)
    error = points - target["points"]
    weight = target["located"][:, None] * (target["visible"] + HIDDEN * ~target["visible"])
    weight = torch.cat([weight[:, :SPARSE] * FIRST, weight[:, SPARSE:]], 1)
    square = (error[..., :2].detach() ** 2).sum(-1).clamp(max=0.25)
    spread = spread.clamp(-7, 0)
    # The spread learns from the error and leaves it alone: else doubtful points would be given up.
    doubt = 0.5 * square * torch.exp(-2 * spread) + 2 * spread
    seen, want = target["described"], target["coefficients"]
    turn = rotation(pose) - target["rotation"]
    return dict(
        points=150 * mean(distance(error[..., :2]), weight), depth=20 * mean(F.smooth_l1_loss(points[..., 2], target["points"][..., 2], beta=0.02, reduction="none"), weight),
        spread=0.02 * mean(doubt, target["located"]), presence=mean(F.binary_cross_entropy_with_logits(presence[:, 0], target["presence"], reduction="none"), target["asked"]),
        coefficients=30 * mean(F.smooth_l1_loss(torch.sigmoid(coefficients), want, beta=0.05, reduction="none") * (1 + 2 * want), seen),
        pose=3 * mean((turn**2).sum((1, 2)), seen) + 0.3 * mean((pose - target["rotation"][:, :, :2].transpose(1, 2).flatten(1)).abs(), seen),
    )
