"""Pictures with bright squares for faces: enough to learn something within seconds, without a head to render."""

import torch

import networks
import sources
import targets

IDENTITY = dict(pose=torch.zeros(3), position=torch.tensor([0.0, 0, 50]))


def squares(dice, count, side, low, high):
    """Bytes [B,3,side,side] and boxes x, y, w, h."""
    size = dice.uniform((count,), low, high)
    corner = dice.uniform((count, 2)) * (side - size[:, None])
    at = torch.arange(side) + 0.5
    x, y = (((at - corner[:, i : i + 1]) > 0) & ((at - corner[:, i : i + 1]) < size[:, None]) for i in (0, 1))
    image = dice.uniform((count, 3, side, side), 0, 60)
    image = torch.where((y[:, None, :, None] & x[:, None, None, :]).expand_as(image), image + 160, image)
    return image.to(torch.uint8), torch.cat([corner, size[:, None].expand(-1, 2)], -1)


def five(box):
    part = torch.tensor([[0.3, 0.35], [0.7, 0.35], [0.5, 0.55], [0.35, 0.8], [0.65, 0.8]])
    return box[:, None, :2] + part * box[:, None, 2:]


class Scenes(sources.Scenes):
    def __init__(self, side=64):
        self.side = side

    def chunk(self, seed, c, count):
        image, box = squares(targets.Dice("cpu", seed, c), count, self.side, 20, 40)
        known = dict(box=box[:, None], five=five(box)[:, None], shown=torch.ones(count, 1), there=torch.ones(count, 1, dtype=torch.bool))
        return dict(image=image, **known)


class Crops(sources.Crops):
    """Points lie on a grid in the square; the corners of the eyes are level."""

    def __init__(self, side=64):
        self.side = side

    def chunk(self, seed, c, count):
        dice = targets.Dice("cpu", seed, c)
        image, box = squares(dice, count, self.side, 28, 40)
        grid = torch.rand(networks.POINTS, 2, generator=torch.Generator().manual_seed(0))
        grid[targets.RIGHT_CORNER], grid[targets.LEFT_CORNER] = torch.tensor([0.2, 0.4]), torch.tensor([0.8, 0.4])
        points = box[:, None, :2] + grid * box[:, None, 2:]
        space = torch.cat([(points - self.side / 2) * 0.5, torch.full_like(points[..., :1], 50.0)], -1)
        known = {k: v.expand(count, 3) for k, v in IDENTITY.items()}
        return dict(image=image, points=points, space=space, visible=torch.ones(count, networks.POINTS, dtype=torch.bool), box=box, five=five(box),
                    shown=torch.ones(count), nobody=torch.zeros(count, dtype=torch.bool), coefficients=dice.uniform((count, 1), 0, 1).expand(count, 52) * 0.3, **known)


class PlainCrops(Crops):
    """Without variation: for seeing soon whether something is learnt."""

    def batch(self, chosen, size, dice, varied=True):
        return super().batch(chosen, size, dice, False)


def open_crops(_):
    return Crops()


def open_nothing(_):
    raise ValueError("no such head")
