"""Fields on the mean head, one value per vertex: how open to light it is, distances to lips, lids and folds."""

import hashlib
import pathlib

import numpy as np
import torch

import geometry
import native
import raster

AO, LIPS, LIDS, FOLD = range(4)
DIRECTIONS, SIZE, PER_CM = 96, 384, 12


def static(pack, path):
    """[V,4], kept in the user's cache because looking from all sides takes some seconds."""
    key = hashlib.sha256(pathlib.Path(path).read_bytes() + pathlib.Path(__file__).read_bytes()).hexdigest()[:16]
    file = native.cache_folder() / f"fields-{key}.npy"
    if file.exists():
        return np.load(file)
    values = compute(pack)
    file.parent.mkdir(parents=True, exist_ok=True)
    np.save(file, values)
    return values


def compute(pack):
    out = np.zeros((len(pack.neutral), 4), np.float32)
    out[:, AO] = openness(pack.neutral, pack.triangles[pack.material <= 1])
    marks = pack.neutral[pack.landmark68]
    points = pack.neutral
    out[:, LIPS] = lips(points, marks[48:60])
    rims = [closed(marks[36:42]), closed(marks[42:48])]
    out[:, LIDS] = np.min([distance(points, r) for r in rims], 0)
    out[:, FOLD] = np.min([distance(points * [1, 1, 0], f) for f in folds(marks)], 0)
    return out


def sphere(n):
    """n directions, evenly spread."""
    i = np.arange(n) + 0.5
    z, turn = 1 - 2 * i / n, i * np.pi * (3 - 5**0.5)
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(turn), r * np.sin(turn), z], 1).astype(np.float32)


def basis(direction):
    """Rows: two axes of a screen and the depth axis, looking along direction."""
    helper = np.float32([0, 1, 0]) if abs(direction[1]) < 0.9 else np.float32([1, 0, 0])
    right = np.cross(helper, direction)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(direction, right), direction])


def openness(points, triangles):
    """The share of the sky, weighted by cosine, that each vertex sees past the rest of the head."""
    p, t = torch.as_tensor(points)[None], torch.as_tensor(triangles)
    normal = geometry.normals(p, t)[0].numpy()
    middle = (points.max(0) + points.min(0)) / 2
    seen, total = np.zeros(len(points)), np.full(len(points), 1e-6)
    for d in sphere(DIRECTIONS):
        screen = (points + normal * 0.05 - middle) @ basis(d).T.astype(np.float32)
        screen = screen * [PER_CM, PER_CM, 1] + [SIZE / 2, SIZE / 2, 100]
        depth = raster.rasterize(torch.as_tensor(screen, dtype=torch.float32)[None], t, SIZE, SIZE, False).depth[0].numpy()
        x, y = (np.clip(np.rint(screen[:, i] - 0.5).astype(int), 0, SIZE - 1) for i in (0, 1))
        weight = np.clip(-(normal @ d), 0, None)
        seen += weight * (screen[:, 2] < depth[y, x] + 0.12)
        total += weight
    return (seen / total).astype(np.float32)


def smooth(points, per=8, loop=False):
    """A Catmull-Rom curve through points."""
    p = np.concatenate([points[-1:], points, points[:2]]) if loop else np.concatenate([points[:1], points, points[-1:]])
    t = (np.arange(per) / per)[:, None]
    pieces = []
    for a, b, c, d in zip(p, p[1:], p[2:], p[3:]):
        pieces.append(b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a))))
    return np.concatenate(pieces + ([] if loop else [points[-1:]])).astype(np.float32)


def closed(points):
    curve = smooth(points, loop=True)
    return np.concatenate([curve, curve[:1]])


def distance(points, curve):
    """From each point to a polyline."""
    a, b = curve[:-1], curve[1:]
    best = np.full(len(points), np.inf, np.float32)
    for s, e in zip(a, b):
        along = np.clip((points - s) @ (e - s) / max(((e - s) ** 2).sum(), 1e-9), 0, 1)
        best = np.minimum(best, np.linalg.norm(points - s - along[:, None] * (e - s), axis=1))
    return best


def within(points, polygon):
    """Even-odd rule in x and y."""
    result = np.zeros(len(points), bool)
    for (x0, y0), (x1, y1) in zip(polygon[:-1, :2], polygon[1:, :2]):
        cross = (y0 > points[:, 1]) != (y1 > points[:, 1])
        result ^= cross & (points[:, 0] < (x1 - x0) * (points[:, 1] - y0) / (y1 - y0 + 1e-12) + x0)
    return result


def lips(points, outline):
    """Signed distance to the vermilion border seen from the front, cm, positive on the lips."""
    flat = closed(outline) * [1, 1, 0]
    d = distance(points * [1, 1, 0], flat.astype(np.float32))
    near = points[:, 2] < -2.5
    return np.where(near, np.where(within(points, flat), d, -d), -d - 1)


def folds(marks):
    """Nasolabial folds, from the wings of the nose past the corners of the mouth."""
    out = []
    for side, corner in ((-1, marks[48]), (1, marks[54])):
        curve = np.array([[side * 1.75, -0.2, 0], [side * 2.35, 1.1, 0], [side * 2.95, 2.7, 0], [corner[0] + side * 0.75, corner[1] + 0.5, 0]])
        out.append(smooth(curve.astype(np.float32)))
    return out
