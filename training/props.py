"""Shapes that are no head: glasses, hands and things held, buns of hair, brims, torsos. All in head coordinates, cm."""

import numpy as np
import torch

import geometry
import people
from shells import grid_triangles

BLOB = (13, 22)
ABSENT = 1e6


def blob_grid(device):
    rise = torch.linspace(-np.pi / 2, np.pi / 2, BLOB[0], device=device)
    turn = torch.arange(BLOB[1], device=device) * (2 * np.pi / BLOB[1])
    r, t = torch.meshgrid(rise, turn, indexing="ij")
    return r.flatten(), t.flatten()


def power(x, e):
    return torch.sign(x) * x.abs().clamp_min(1e-6) ** e


def blob(size, square, start, end, device):
    """Superellipsoids stretched from start to end [B,3]; size [B,3] (for what points up: z, x, y), square [B,2] of 1 (round) to 0.1."""
    r, t = blob_grid(device)
    e1, e2 = square[:, :1], square[:, 1:]
    x = power(torch.cos(r), e1) * power(torch.cos(t), e2)
    y = power(torch.cos(r), e1) * power(torch.sin(t), e2)
    z = power(torch.sin(r)[None], e1)
    local = torch.stack([x, y, z.expand_as(x)], -1) * size[:, None]
    axis = end - start
    along = geometry.unit(axis + 1e-6)
    helper = torch.tensor([1.0, 0.13, 0.07], device=device).expand_as(along)
    side = geometry.unit(torch.cross(helper, along, dim=-1))
    frame = torch.stack([side, torch.cross(along, side, dim=-1), along], -1)
    half = axis.norm(dim=-1) / 2
    local = torch.cat([local[..., :2], local[..., 2:] + torch.sign(r)[None, :, None] * half[:, None, None]], -1)
    return local @ frame.transpose(1, 2) + ((start + end) / 2)[:, None]


def blob_triangles(count):
    one = grid_triangles(*BLOB, True)
    return np.concatenate([one + i * BLOB[0] * BLOB[1] for i in range(count)])


def fingers(p):
    """Capsules of a hand that points up with its palm to the face: (size, start, end) each [B,3]."""
    scale = p["front_size"][:, None]
    parts = []
    for i, (x, length, thick) in enumerate([(-3.1, 5.6, 0.72), (-1.1, 7.4, 0.82), (0.9, 8.0, 0.84), (2.8, 7.2, 0.78)]):
        bend = p["fingers"][:, i : i + 1] * 0.9 - 0.1
        spread = (i - 1.5) * 0.12 * (0.3 + p["fingers"][:, 4:])
        root = torch.cat([x + 0 * bend, -3.6 + 0 * bend, 0 * bend], 1)
        step = torch.cat([torch.sin(spread), -torch.cos(bend * 0.6), torch.sin(bend * 0.6)], 1) * (length * 0.52)
        tip = torch.cat([torch.sin(spread), -torch.cos(bend * 1.7), torch.sin(bend * 1.7)], 1) * (length * 0.45)
        parts += [(thick, root, root + step), (thick * 0.88, root + step, root + step + tip)]
    thumb = torch.tensor([[4.0, 1.5, 0.3]], device=scale.device).expand(len(scale), 3)
    knee = thumb + torch.cat([2.4 + 0 * scale, -2.4 + 0 * scale, 0.8 * p["fingers"][:, :1]], 1)
    parts += [(0.95, thumb, knee), (0.82, knee, knee + torch.tensor([[0.9, -2.3, 0.4]], device=scale.device))]
    return parts


def hand(p, device):
    """[B,11 blobs,3]."""
    b = len(p["front"])
    round_ = torch.ones(b, 2, device=device)
    def vec(*v):
        return torch.tensor([v], device=device, dtype=torch.float32).expand(b, 3)
    blobs = [blob(vec(1.3, 4.2, 2.2),
                  round_ * 0.75, vec(0.2, -2.0, 0.1), vec(0.3, 3.4, 0), device)]
    for thick, start, end in fingers(p):
        blobs.append(blob(torch.full((b, 3), thick, device=device), round_, start, end, device))
    blobs.append(blob(vec(2.2, 2.9, 3.0), round_, vec(0.3, 5.0, 0.2), vec(0.8, 16, 1.0), device))
    return torch.cat(blobs, 1)


def things(p, device):
    """Cup, phone, microphone or bar in place of the first two blobs."""
    b = len(p["front"])
    table = {
        people.CUP: ((3.6, 3.6, 4.8), (0.12, 1.0), (0, -0.1, 0), (0, 0.1, 0)),
        people.PHONE: ((0.45, 3.6, 7.2), (0.15, 0.2), (0, -0.1, 0), (0, 0.1, 0)),
        people.MICROPHONE: ((2.3, 2.3, 2.3), (1, 1), (0, -0.4, 0), (0, 0.4, 0)),
        people.BAR: ((1.3, 1.3, 0.5), (0.3, 1), (0, -26, 0), (0, 26, 0)),
    }
    size, square = torch.ones(b, 3, device=device), torch.ones(b, 2, device=device)
    start, end = torch.zeros(b, 3, device=device), torch.zeros(b, 3, device=device)
    for kind, values in table.items():
        here = (p["front"] == kind)[:, None]
        for target, value in zip((size, square, start, end), values):
            target.copy_(torch.where(here, torch.tensor([value], device=device, dtype=torch.float32), target))
    first = blob(size, square, start, end, device)
    handle = blob(torch.full((b, 3), 1.2, device=device), torch.ones(b, 2, device=device), start + torch.tensor([0, 2.0, 0], device=device), end + torch.tensor([0, 14.0, 0], device=device), device)
    only = (p["front"] == people.MICROPHONE)[:, None, None]
    return torch.cat([first, torch.where(only, handle, torch.full_like(handle, ABSENT))], 1)


def front(p, device):
    """What is held before the face [B,12 blobs,3]; blobs that are absent lie far away."""
    made = hand(p, device)
    thing = things(p, device)
    rest = torch.full_like(made[:, thing.shape[1] :], ABSENT)
    made = torch.where((p["front"] == people.HAND)[:, None, None], made, torch.cat([thing, rest], 1))
    pitch, yaw, roll = p["front_turn"].unbind(1)
    turn = geometry.head_rotation(pitch, yaw, roll)
    placed = (made * p["front_size"][:, None, None]) @ turn.transpose(1, 2) + p["front_at"][:, None]
    nobody = (p["front"] == people.NOTHING)[:, None, None] | (made[..., :1].abs() > ABSENT / 2)
    return torch.where(nobody, torch.full_like(placed, ABSENT), placed)


FRONT_BLOBS = 12


def tube(path, radius, sides=6):
    """A tube [B,n*sides,3] along path [B,n,3]; radius [B]."""
    along = geometry.unit(torch.cat([path[:, 1:2] - path[:, :1], path[:, 2:] - path[:, :-2], path[:, -1:] - path[:, -2:-1]], 1))
    helper = torch.tensor([0.05, 0.08, 1.0], device=path.device).expand_as(along)
    a = geometry.unit(torch.cross(along, helper, dim=-1))
    b = torch.cross(along, a, dim=-1)
    turn = torch.arange(sides, device=path.device) * (2 * np.pi / sides)
    ring = a[:, :, None] * torch.cos(turn)[:, None] + b[:, :, None] * torch.sin(turn)[:, None]
    return (path[:, :, None] + ring * radius[:, None, None, None]).flatten(1, 2)


RIM, TEMPLE, SIDES = 40, 14, 6
LENS = (8, 32)


def glasses_triangles():
    """Of frames (two rims, bridge, two temples), then of lenses."""
    frame, at = [], 0
    for n, wrap in ((RIM, True), (RIM, True), (TEMPLE, False), (TEMPLE, False), (TEMPLE, False)):
        t = grid_triangles(n + 1 if wrap else n, SIDES, True)
        frame.append((t % (n * SIDES) if wrap else t) + at)
        at += n * SIDES
    lens = [grid_triangles(*LENS, True) + at + i * LENS[0] * LENS[1] for i in range(2)]
    return np.concatenate(frame), np.concatenate(lens)


def outline(p, n, device):
    """The lens's edge around its middle [B,n,2]: a superellipse."""
    t = torch.arange(n, device=device) * (2 * np.pi / n)
    e = (2 / p["lens_shape"])[:, None]
    x, y = power(torch.cos(t)[None], e), power(torch.sin(t)[None], e)
    x = x * (1 - 0.09 * y)
    return torch.stack([x * p["lens_size"][:, :1], y * p["lens_size"][:, 1:]], -1)


def glasses(p, eyes, ears, device):
    """eyes [B,2,3]: centres of the balls; ears [B,2,3]: temples' ends. Frames and lenses [B,n,3]."""
    edge = outline(p, RIM, device)
    middle = eyes.mean(1)
    plane = middle[:, 2] - 2.95
    height = middle[:, 1] + 0.25 + p["slide"]
    apart = p["lens_size"][:, 0] + 0.85
    tilt = torch.tan(p["lens_tilt"] * (np.pi / 180))

    def place(flat, side):
        x = middle[:, 0, None] + side * apart[:, None] + side * flat[..., 0]
        bow = 0.035 * (x - middle[:, :1]) ** 2
        return torch.stack([x, height[:, None] + flat[..., 1], plane[:, None] + bow + flat[..., 1] * tilt[:, None]], -1)

    rims = [place(edge, s) for s in (1, -1)]
    t = torch.linspace(-1, 1, TEMPLE, device=device)
    bridge = torch.stack([middle[:, :1] + t * 0.9, height[:, None] - 0.4 - 0.25 * (1 - t * t) + 0 * t, plane[:, None] - 0.2 * (1 - t * t) + 0 * t], -1)
    paths = rims + [bridge]
    s = torch.linspace(0, 1, TEMPLE, device=device)[None, :, None]
    for i, side in enumerate((1, -1)):
        corner = place(torch.stack([p["lens_size"][:, 0] * 0.97, -0.55 * p["lens_size"][:, 1]], -1)[:, None], side)
        end = ears[:, i][:, None]
        arm = corner + (end - corner) * s
        arm = torch.cat([arm[..., :1] + side * 0.45 * torch.sin(np.pi * s) , arm[..., 1:]], -1)
        paths.append(arm)
    frame = torch.cat([tube(path, p["rim"]) for path in paths], 1)
    share = torch.linspace(0, 1, LENS[0], device=device)[:, None, None]
    lens = torch.cat([place((outline(p, LENS[1], device)[:, None] * share).flatten(1, 2), s) for s in (1, -1)], 1)
    gone = (p["glasses"] == 0)[:, None, None]
    return torch.where(gone, torch.full_like(frame, ABSENT), frame), torch.where(gone, torch.full_like(lens, ABSENT), lens)


TORSO = (56, 64)


def torso(p, device):
    """Clothes from the collar down in the body's axes [B,n,3]."""
    v = torch.linspace(0, 1, TORSO[0], device=device)[None, :, None]
    t = (torch.arange(TORSO[1], device=device) * (2 * np.pi / TORSO[1]))[None, None]
    collar, build = p["collar"][:, None, None], p["build"][:, None, None]
    open_ = torch.sigmoid((v - 0.045) * 52)
    legs = torch.sigmoid((v - 0.5) * 20)
    wide = (6.6 + 0.35 * collar) * (1 - open_) + open_ * (17.5 - 1.5 * v - 3.0 * legs) * build
    deep = (6.6 + 0.35 * collar) * (1 - open_) + open_ * (9.5 + 2 * v - 3 * legs) * build
    fall = 6.5 * (torch.cos(t).abs() ** 3) * torch.exp(-(((v - 0.12) / 0.07) ** 2)) * -0.1
    y = 13.2 + collar + 135 * v**1.6 + 4.5 * open_ * (1 - torch.exp(-7 * v)) + fall + 1.4 * torch.sin(t).clamp(max=0) * (1 - open_) * -1
    x = wide * power(torch.cos(t), torch.tensor(0.85, device=device))
    y = y + p["slope"][:, None, None] * (x.abs() - 6.5).clamp(min=0) * open_
    z = 5.5 + deep * power(torch.sin(t), torch.tensor(0.85, device=device)) + 0 * y
    return torch.stack(torch.broadcast_tensors(x, y, z), -1).flatten(1, 2)


ARM_BLOBS = 8  # upper arm, forearm, palm, fingers, each left and right


def arms(p, device):
    """Arms that hang, rest or are raised, in the body's axes [B,8 blobs,3]; hands stay below the chin."""
    b = len(p["slope"])
    side = torch.tensor([1.0, -1.0], device=device).repeat(b)[:, None]
    def each(values):
        return values.repeat_interleave(2, 0)
    build, swing = each(p["build"][:, None]), p["arms"].reshape(2 * b, 4)
    shoulder = torch.cat([16.2 * side * build, each(19.5 + p["collar"] + 10 * p["slope"])[:, None], 5.5 + 0 * side], 1)

    def towards(out, ahead, up):
        return geometry.unit(torch.cat([side * out[:, None], -up[:, None], -ahead[:, None]], 1))

    elbow = shoulder + 28 * towards(swing[:, 0], swing[:, 1], torch.full_like(swing[:, 0], -1.0))
    along = towards(-swing[:, 2], 0.3 + 0.5 * (swing[:, 3] + 1) * (1 - swing[:, 3]), swing[:, 3])
    wrist = elbow + 24 * along
    knuckles = wrist + 8 * along
    def part(thick, start, end):
        size = torch.tensor([thick], device=device, dtype=torch.float32) * build
        made = blob(size, torch.ones(2 * b, 2, device=device), start, end, device)
        return made.reshape(b, 2, -1, 3).flatten(1, 2)
    parts = [part((5.2, 5.2, 5.2), shoulder, elbow), part((4.0, 4.0, 4.0), elbow, wrist), part((2.0, 4.0, 3.0), wrist, knuckles), part((1.3, 3.6, 3.0), knuckles, knuckles + 5 * along)]
    return torch.cat(parts, 1)


def arms_still(device):
    """What each vertex of arms carries [n,3]: around and down as on the torso, and 0 for upper arms, 0.5 for forearms, 1 for hands."""
    r, t = blob_grid(device)
    around, down = 0.25 * t / (2 * np.pi), 0.12 + 0.06 * (r / np.pi + 0.5)
    rows = [torch.stack([down + 0.07 * i, around + 0.3 * s, torch.full_like(r, (0.0, 0.5, 1.0, 1.0)[i])], -1) for i in range(4) for s in range(2)]
    return torch.cat(rows)


BRIM = (9, 33)


def brim(p, shell, points, device):
    """A cap's brim [B,n,3], grown from the front of the cap's edge."""
    turn = torch.linspace(-58, 58, BRIM[1], device=device)
    t = turn[None] * (np.pi / 180)
    level = 22 + 8 * p["hat_level"][:, None] - 3
    rows = torch.as_tensor(shell.rise[:, 0], device=device, dtype=torch.float32)
    row = (rows[None] - level).abs().argmin(1)
    column = ((turn + 180) / 360 * shell.columns).round().long() % shell.columns
    edge = points.reshape(len(points), shell.rows, shell.columns, 3)[torch.arange(len(points), device=device), row][:, column]
    s = torch.linspace(0, 1, BRIM[0], device=device)[None, :, None]
    out = p["brim"][:, None, None] * s * torch.cos(t * 1.5).clamp(min=0)[:, None] ** 0.6
    grid = torch.stack([edge[:, None, :, 0] + 0 * out, edge[:, None, :, 1] + 0.22 * out + 0.35 * s * (1 - torch.cos(t))[:, None] * 6, edge[:, None, :, 2] - out], -1)
    gone = (p["hat"] != people.CAP)[:, None, None]
    return torch.where(gone, torch.full_like(grid.flatten(1, 2), ABSENT), grid.flatten(1, 2))


def bun(p, head_shape, device):
    """A knot or tail of hair [B,1 blob,3]."""
    b = len(p["bun"])
    def vec(*v):
        return torch.tensor([v], device=device, dtype=torch.float32).expand(b, 3)
    high = (p["bun"] == 1)[:, None]
    at = torch.where(high, vec(0, -13.2, 8.0), vec(0, -5.5, 15.0))
    end = torch.where(high, at + vec(0, -0.8, 0.3), at + vec(0, 14, 2.5))
    knot = blob(torch.where(high, vec(2.9, 2.9, 2.3), vec(2.2, 2.2, 3.0)), torch.ones(b, 2, device=device), at, end, device)
    gone = ((p["bun"] == 0) | (p["hat"] > 0))[:, None, None]
    return torch.where(gone, torch.full_like(knot, ABSENT), knot)
