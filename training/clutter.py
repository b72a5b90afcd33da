"""Things in front of things: shapes of all sizes, as many of each size as cover the same area, which hide one another as leaves do
that fell. Grids of cells hold one shape each; every pixel asks the four cells whose shapes may reach it."""

import math

import torch

import painted
from light import smoothstep

LEVELS, LARGEST, RATIO = 8, 1.1, 0.62
SMALLEST_SCALE = 0.7
CUT = 9  # columns of numbers that decide about outlines; the others colour
MARGIN = 1.5  # cells beside the picture
NUMBERS, ORDERS = 2**13, 2**17  # cells are told apart by so many numbers, what is in front by so many steps
COLUMNS = CUT + 11
MASK = 0xFFFFFFFF


def uniform(seed, count, columns):
    """[B,count,columns] from 0 to 1, the same on every machine."""
    i = torch.arange(count * columns, device=seed.device).reshape(1, count, columns) + (seed.long() * 2654435 & MASK)[:, None, None]
    h = (i * 0x2545F49) & MASK
    for _ in range(3):
        h = ((h ^ (h >> 15)) * 0x45D9F3B) & MASK
    return (h >> 8).float() / 2**24


def grid(aspect):
    """For each level its cell's side, columns and rows, and the number of cells before it."""
    out, before = [], 0
    for level in range(LEVELS):
        side = LARGEST * RATIO**level
        nx, ny = (int(extent / (side * SMALLEST_SCALE)) + 4 for extent in (aspect, 1))
        out.append((side, nx, ny, before))
        before += nx * ny
    if before > NUMBERS:
        raise ValueError(f"{before} cells for a picture {aspect:.1f} times as wide as high")
    return out, before


def cells(p, table, aspect, pixel):
    """What is known of each cell: columns of shapes [B,11,count] and what decides which is in front, with the cell's number [B,count]."""
    x, y, stretch, turn, square, leaf, soft, order, there = table[..., :CUT].unbind(-1)
    levels, count = grid(aspect)
    level = torch.cat([torch.full((nx * ny,), i, device=x.device) for i, (_, nx, ny, _) in enumerate(levels)])
    side = torch.cat([torch.full((nx * ny,), s, device=x.device) for s, nx, ny, _ in levels])
    at = torch.cat([torch.stack(torch.meshgrid(torch.arange(ny, device=x.device), torch.arange(nx, device=x.device), indexing="ij")).flatten(1) for _, nx, ny, _ in levels], 1)
    side = side * p["clutter_scale"][:, None]
    a = 0.12 + 0.66 * stretch.sqrt()
    w, h = 0.5 * torch.cos(a) * side, 0.5 * torch.sin(a) * side
    # Half of all stand upright.
    t = torch.where(turn < 0.25, 0.0, torch.where(turn < 0.5, math.pi / 2, (turn - 0.5) * 4 * math.pi))
    border = (pixel / h + 0.8 * soft**6).clamp(0.01, 0.95)
    place = [(at[1] + x - MARGIN) * side, (at[0] + y - MARGIN) * side]
    matrix = [torch.cos(t) / w, torch.sin(t) / w, torch.cos(t) / h, torch.sin(t) / h]
    known = torch.stack([*place, *matrix, (leaf < p["leafy"][:, None]).float(), square, border], 1)
    rank = (order * ORDERS).int() * NUMBERS + torch.arange(count, device=x.device, dtype=torch.int32)
    return known, torch.where(there < p["clutter"][:, level], rank, torch.full_like(rank, -1))


def taken(known, index):
    """Columns [B,n,K,H,W] of the cells index [B,K,H,W]."""
    b, k, h, w = index.shape
    return known.gather(2, index.reshape(b, 1, -1).expand(-1, known.shape[1], -1)).reshape(b, -1, k, h, w)


def shapes(known, x, y):
    """How far x, y are inside of shapes (ellipses, leaves, rounded and plain boxes), and where on them."""
    mx, my, ax, bx, ay, by, leaf, square, border = known.unbind(1)
    du, dv = x - mx, y - my
    lx, ly = du * ax + dv * bx, dv * ay - du * by
    xx = lx * lx
    bent = ly / (1 - leaf * xx.clamp(max=0.97))
    yy = bent * bent
    far = torch.where(square < 0.4, xx + yy, torch.where(square < 0.6, (xx * xx + yy * yy).sqrt(), torch.maximum(xx, yy))).sqrt()
    return smoothstep(1.0, 0.0, (far - 1) / border + 1), lx, ly


def foremost(known, rank, x, y, scale, aspect):
    """Ranks [B,1,H,W] of the foremost shape at each pixel and of the one behind it, -1 for none."""
    near = torch.tensor([[-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]], device=x.device)
    best = second = torch.full((1, 1, 1, 1), -1, device=x.device, dtype=torch.int32)
    for side, nx, _, before in grid(aspect)[0]:
        size = side * scale[:, None, None, None]
        cu, cv = ((v / size + MARGIN + near[:, i].reshape(1, 4, 1, 1)).floor() for i, v in ((0, x), (1, y)))
        index = (cv * nx + cu).long() + before
        cover, _, _ = shapes(taken(known, index), x, y)
        here = taken(rank[:, None], index)[:, 0]
        here = torch.where(cover > 0.02, here, torch.full_like(here, -1))
        for one in here.split(1, 1):
            second = torch.maximum(second, torch.minimum(best, one))
            best = torch.maximum(best, one)
    return best, second


def coloured(p, table, index, lx, ly, x, y):
    """Colour of the shapes index [B,1,H,W]."""
    rows = torch.arange(len(index), device=index.device)[:, None, None]
    values = table[..., CUT:][rows, index[:, 0]].permute(0, 3, 1, 2)
    pick, bright, kind, scale, share, slope = (values[:, i : i + 1] for i in (0, 1, 2, 3, 4, 5))
    palette = p["palette"]
    first = (pick[:, 0] * palette.shape[1]).long()
    one, two = (palette[rows, (first + step) % palette.shape[1]].permute(0, 3, 1, 2) for step in (0, 1))
    tint = 1 + 0.12 * (values[:, 6:9] - 0.5)
    level = 0.45 + 1.1 * bright
    which = p["clutter_kinds"][rows, (kind[:, 0] * p["clutter_kinds"].shape[1]).long()][:, None]
    fine = torch.exp(scale * 3.5) * 2.5
    # Half of what is drawn on things is larger on larger things.
    own = share > 0.5
    u, v = torch.where(own, lx * fine * 0.4, (x + share) * fine), torch.where(own, ly * fine * 0.4, (y + share) * fine)
    mild = torch.lerp(one, two, 0.15 + 0.85 * values[:, 9:10])
    painted_ = painted.surface(one, mild, which, u, v, lx, ly, share)
    angle = slope * 2 * math.pi
    gradient = 1 + 0.5 * values[:, 10:11] * (lx * torch.cos(angle) + ly * torch.sin(angle))
    return painted_ * tint * level * gradient.clamp(min=0.15)


def scatter(p, image, x, y, aspect):
    """Lays shapes over image [B,3,H,W], as many as p["clutter"] [B,LEVELS], 0 to 1, says."""
    table = uniform(p["clutter_seed"], grid(aspect)[1], COLUMNS)
    known, rank = cells(p, table, aspect, 1 / image.shape[2])
    front, behind = foremost(known, rank, x, y, p["clutter_scale"], aspect)
    for seen in (behind, front):
        index = (seen.clamp(min=0) % NUMBERS).long()
        cover, lx, ly = shapes(taken(known, index), x, y)
        image = torch.lerp(image, coloured(p, table, index, lx, ly, x, y), cover * (seen >= 0))
    return image
