"""Shells around the head, which hair, coverings, beards and masks are made of: grids of points that follow the head below."""

import numpy as np
import torch
import torch.nn.functional as F

import people

AROUND, SKULL, HANG = 96, 30, 18
LEVELS = SKULL + HANG
TOP, RING, NAPE = 88.0, -5.0, -38.0


def directions(turn, rise):
    """Degrees to the subject's left of straight ahead and above it, to unit vectors."""
    t, r = np.radians(turn), np.radians(rise)
    return np.stack([np.sin(t) * np.cos(r), -np.sin(r), -np.cos(t) * np.cos(r)], -1).astype(np.float32)


def grid_triangles(rows, columns, wrap):
    """Of a grid [rows, columns]; the last column meets the first if wrap."""
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns if wrap else columns - 1), indexing="ij")
    a, b = i * columns + j, i * columns + (j + 1) % columns
    quads = np.stack([a, b, b + columns, a + columns], -1).reshape(-1, 4)
    return np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).astype(np.int32)


class Shell:
    """Rays from a centre of the mean head to its skin: the vertex that each of them meets."""

    def __init__(self, head, centre, turn, rise, vertices, rank, wrap):
        self.turn, self.rise = np.meshgrid(turn, rise)
        self.grid = np.stack([self.turn, self.rise], -1).reshape(-1, 2)
        self.rows, self.columns, self.wrap = len(rise), len(turn), wrap
        self.centre = torch.tensor(centre, device=head.device, dtype=torch.float32)
        rays = directions(self.turn, self.rise).reshape(-1, 3)
        offset = head.neutral[vertices].cpu().numpy() - np.float32(centre)
        radius = np.linalg.norm(offset, axis=1)
        near = np.argpartition(-(rays @ (offset / radius[:, None]).T), 8, axis=1)[:, :8]
        order = np.take_along_axis(near, np.argsort(radius[near], 1), 1)[:, rank]
        self.vertex = vertices[torch.as_tensor(order, device=head.device)]
        self.rays = torch.as_tensor(rays, device=head.device)
        self.radius = torch.as_tensor(radius[order], device=head.device)
        self.mean = head.neutral[self.vertex]

    def smooth(self, values, times):
        """values [B,rows*columns,3] averaged with their neighbours."""
        x = values.transpose(1, 2).reshape(len(values), -1, self.rows, self.columns)
        for _ in range(times):
            x = F.pad(x, (1, 1, 0, 0), mode="circular" if self.wrap else "replicate")
            x = F.avg_pool2d(F.pad(x, (0, 0, 1, 1), mode="replicate"), 3, 1)
        return x.flatten(2).transpose(1, 2)

    def widest(self, values, reach):
        """The largest of values [B,rows*columns] within reach cells."""
        x = values.reshape(len(values), 1, self.rows, self.columns)
        return F.max_pool2d(x, 2 * reach + 1, 1, reach).flatten(1)

    def base(self, points, times):
        """Where the rays meet a person's skin [B,N,3]."""
        straight = self.centre + self.rays * self.radius[:, None]
        return self.smooth(straight + points[:, self.vertex] - self.mean, times)


def skull(head):
    """Around the whole head without the ears, as far down as hair may grow; below, it hangs."""
    outer = (head.material <= 1).nonzero()[:, 0]
    vertices = head.triangles[outer].long().unique()
    p = head.neutral[vertices]
    ear = (p[:, 0].abs() > 7.0) & (p[:, 1] > -6) & (p[:, 1] < 3) & (p[:, 2] > 0)
    vertices = vertices[~ear & (head.fields[vertices, 0] > 0.2) & (p[:, 1] < 9)]
    rise = np.concatenate([np.linspace(TOP, RING, SKULL), np.linspace(RING, NAPE, HANG + 1)[1:]])
    return Shell(head, (0, -3.8, 4.2), np.arange(AROUND) * (360 / AROUND) - 180, rise, vertices, 4, True)


def muzzle(head):
    """Around the lower face, from the bridge of the nose to under the chin."""
    skin = head.triangles[head.material == 0].long().unique()
    p = head.neutral[skin]
    skin = skin[(p[:, 1] > -4) & (p[:, 2] < 4.5) & (head.fields[skin, 0] > 0.08)]
    return Shell(head, (0, 2.2, 0.0), np.linspace(-84, 84, 57), np.linspace(34, -72, 44), skin, 5, False)


def bump(x, low, high, soft):
    """1 between low and high, 0 outside, soft wide flanks."""
    return torch.sigmoid((x - low) / soft * 4) * torch.sigmoid((high - x) / soft * 4)


def column(values, *keys):
    """Parameters [B] as [B,1]."""
    return [values[k][:, None] for k in keys]


def hairline(turn, p):
    """Degrees above the horizon at which hair begins, [B,N] for turn [1,N]."""
    away = turn.abs()
    height, receding, fringe, side, style, opening, swept, peak = column(p, "hairline", "receding", "fringe", "fringe_side", "style", "opening", "swept", "peak")
    front = 31 - 4 * height + receding * 17 * bump(away, 18, 52, 16) + receding * 5
    combed = 1 + 0.35 * side * torch.sin(turn / 40)
    front = front - fringe * 7 * combed * bump(away, -50, 50, 12) - 5 * peak * torch.exp(-((turn / 9) ** 2))
    # A lock combed over one brow or eye.
    front = front - swept.abs() * 36 * bump(turn * torch.sign(swept), 8, 56, 14)
    long = (style == people.LONG) | (style == people.MEDIUM)
    turn_down = torch.where(long, opening, torch.full_like(opening, 66.0))
    down = torch.sigmoid((away - turn_down - 6) / 3)
    ear = torch.where(long, torch.zeros_like(opening), 9 + 0 * opening) * bump(away, 84, 116, 10)
    low = torch.where(long, torch.full_like(opening, -90), torch.full_like(opening, -14)) + ear - 20 * torch.sigmoid((away - 118) / 4)
    # Sideburns end above the ears before hair that hangs begins.
    temple = torch.sigmoid((away - 56 - 5 * side) / 2.5)
    front = front * (1 - temple) + (1 + 3 * height) * temple
    return front * (1 - down) + low * down


def hair_points(shell, shape, p, waves):
    """Points [B,N,3] of the hair and how far above its edge each lies, in degrees [B,N]; waves [B,N] is noise."""
    rise = torch.as_tensor(shell.rise.reshape(1, -1), device=shape.device, dtype=torch.float32)
    turn = torch.as_tensor(shell.turn.reshape(1, -1), device=shape.device, dtype=torch.float32)
    inside = rise - hairline(turn, p)
    top, side, mess, length, curl, parting, style = column(p, "top", "side", "mess", "length", "curl", "parting", "style")
    thick = side + (top - side) * ((rise - 5) / 60).clamp(0, 1)
    part = 1 - 0.5 * torch.exp(-(((turn - parting) / 14) ** 2)) * bump(rise, 25, 85, 20) * (style != people.AFRO)
    waves = torch.where(style == people.AFRO, 0.3 * waves, waves)
    thick = thick * part * (inside / 16 + 0.12).clamp(0.08, 1) * (1 + mess * waves).clamp(0.35, 2)
    points = shell.base(shape, 3) + shell.rays * thick[..., None]
    return hang(shell, points, length, curl * waves), inside


def hang(shell, points, length, sway, taper=0.1):
    """Lets the lower levels fall from the ring instead of following the nape, where length > 0."""
    grid = points.reshape(len(points), shell.rows, shell.columns, 3)
    ring = grid[:, SKULL - 1 : SKULL]
    s = torch.linspace(0, 1, HANG + 1, device=points.device)[1:].reshape(1, -1, 1)
    drop = s * length[:, :, None]
    out = (ring - shell.centre) * torch.tensor([1.0, 0, 1], device=points.device)
    sway = sway.reshape(len(points), shell.rows, shell.columns)[:, SKULL:]
    taper = taper[:, :, None] if torch.is_tensor(taper) else taper
    out = out * (1 - taper * s + 0.05 * sway * s)[..., None]
    fallen = torch.stack([out[..., 0], ring[..., 1] - shell.centre[1] + drop + 0 * sway, out[..., 2] + 0.3 * drop * (out[..., 2] < 0)], -1) + shell.centre
    lower = torch.where(length[:, :, None, None] > 0.01, fallen, grid[:, SKULL:])
    return torch.cat([grid[:, :SKULL], lower], 1).flatten(1, 2)


def hat_edge(turn, p):
    """Degrees above the horizon at which a covering begins."""
    hat, level = column(p, "hat", "hat_level")
    away = turn.abs()
    edges = {
        people.CAP: 22 + 8 * level - 16 * torch.sigmoid((away - 85) / 12),
        people.BEANIE: 19 + 7 * level - 24 * torch.sigmoid((away - 70) / 9) - 8 * torch.sigmoid((away - 120) / 8),
        people.HEADSCARF: 30 + 5 * level - 140 * torch.sigmoid((away - 60 - 4 * level) / 2.5),
        people.HOOD: 38 + 5 * level - 150 * torch.sigmoid((away - 64 - 5 * level) / 3),
    }
    out = torch.full_like(turn + hat, 200.0)
    for kind, edge in edges.items():
        out = torch.where(hat == kind, edge, out)
    return out


def hat_points(shell, shape, p, waves):
    """As hair_points, for what covers the head."""
    rise = torch.as_tensor(shell.rise.reshape(1, -1), device=shape.device, dtype=torch.float32)
    turn = torch.as_tensor(shell.turn.reshape(1, -1), device=shape.device, dtype=torch.float32)
    inside = rise - hat_edge(turn, p)
    hat, thick = column(p, "hat", "hat_thick")
    cap = (hat == people.CAP) * (0.5 + 0.6 * bump(rise, 35, 100, 20))
    loose = (hat == people.HOOD) * 1.6 + cap
    soft = (hat == people.HOOD) | (hat == people.HEADSCARF)
    depth = thick + 0.35 + loose + (0.04 + 0.12 * soft) * waves
    depth = depth * (inside / 14 + 0.12).clamp(0.12, 1) + 0.12
    points = shell.base(shape, 3) + shell.rays * depth[..., None]
    scarf = hat == people.HEADSCARF
    long = torch.where(scarf, 22 + 0 * thick, torch.where(soft, 14 + 0 * thick, 0 * thick))
    # A scarf closes below the chin.
    inside = torch.where(scarf, torch.maximum(inside, (-23 - rise) * 3), inside)
    return hang(shell, points, long, 2 * waves * soft, 0.1 + 0.28 * scarf), inside


def beard_area(rest, p):
    """How much beard grows at rest positions [..,3]: parameters [B] shaped to fit; moustache, chin, jaw and cheeks."""
    x, y, z = rest.unbind(-1)
    shape = [-1] + [1] * (x.dim() - 1)
    line = p["beard_line"].reshape(shape)
    parts = [p["beard"][:, i].reshape(shape) for i in range(3)]
    x = x.abs()
    lip = bump(y - 0.16 * x * x, 1.75, 3.3, 0.6) * bump(x, -3, 3.0, 0.8) * (z < -3.5)
    chin = bump(y, 4.9, 13, 0.7) * bump(x, -3, 3.0, 0.9) + 0.9 * bump(y, 2.6, 9, 0.6) * bump(x, 2.5, 3.4, 0.5)
    edge = 5.0 - 0.62 * (x - 2.6).clamp(min=0) * 1.45 - line
    jaw = torch.sigmoid((y - edge) * 3) * bump(x, 2.7, 9, 0.9) * torch.sigmoid((11 - y) * 2) * torch.sigmoid((3.4 - z) * 2)
    neck = torch.sigmoid((9.4 - y) * 2.5)
    return torch.maximum(torch.maximum(lip * parts[0], chin * parts[1] * neck), jaw * parts[2] * neck)


def muzzle_points(shell, points, p):
    """Points of a mask or a full beard [B,N,3]."""
    mask = p["mask"][:, None] > 0
    rest = shell.base(shell_mean(shell, points), 1)
    base = shell.base(points, 1)
    tight = shell.smooth(base, 14)
    over = ((base - tight) * shell.rays).sum(-1)
    cover = tight + shell.rays * (over.clamp(min=0) + 0.3)[..., None]
    cover = shell.smooth(cover, 2)
    # Noses would come through what smoothing flattened.
    short = ((shell.base(points, 0) - cover) * shell.rays).sum(-1) + 0.3
    cover = cover + shell.rays * (shell.widest(short.clamp(min=0), 2) + 0.08)[..., None]
    area = beard_area(rest, p).clamp(0, 1)
    grown = base + shell.rays * (p["beard_length"][:, None] * area + 0.12 * area - 0.02)[..., None]
    return torch.where(mask[..., None], cover, grown), rest


def shell_mean(shell, points):
    """The mean face in place of points, for positions at rest."""
    out = torch.zeros_like(points)
    out[:, shell.vertex] = shell.mean
    return out
