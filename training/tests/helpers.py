"""What tests share: the import path, small meshes, and the pack if it is there."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import numpy as np
import torch

import model

PACK = model.default_pack()
MISSING = "no ict_facekit/ict_facekit.npz in FACETRACK_ASSETS or shared/assets"
if not PACK:
    print(f"SKIPPED: tests on the head: {MISSING}", file=sys.stderr)


def needs_pack(test):
    """Skips aloud without ict_facekit.npz; each such test has a twin on small meshes."""
    return unittest.skipUnless(PACK, MISSING)(test)


def slow_raster(points, triangles, height, width, perspective=True):
    """One image of rasterize, a pixel and a triangle at a time: ids, weights, depth."""
    ids = np.full((height, width), -1)
    weights, depth = np.zeros((2, height, width)), np.full((height, width), np.inf)
    grid = np.array([[(int(v * 256 + (0.5 if v >= 0 else -0.5))) for v in p[:2]] for p in points.astype(np.float64)], dtype=object)
    for f, corners in enumerate(triangles):
        if (points[corners, 2] <= 1e-3).any():
            continue
        order = list(corners)
        if doubled(grid, order) < 0:
            order[1], order[2] = order[2], order[1]
        area = doubled(grid, order)
        if area == 0:
            continue
        for y in range(height):
            for x in range(width):
                w = corner_weights(grid, order, x * 256 + 128, y * 256 + 128, area)
                if w is not None:
                    settle(points, corners, order, w, f, ids, weights, depth, y, x, perspective)
    return ids, weights, depth


def doubled(grid, order, at=None):
    a, b = grid[order[0]], grid[order[1]]
    c = grid[order[2]] if at is None else at
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def corner_weights(grid, order, px, py, area):
    out = []
    for c in range(3):
        a, b = order[(c + 1) % 3], order[(c + 2) % 3]
        e = doubled(grid, [a, b], (px, py))
        dx, dy = grid[b][0] - grid[a][0], grid[b][1] - grid[a][1]
        if e < 0 or (e == 0 and not (dy < 0 or (dy == 0 and dx > 0))):
            return None
        out.append(e / area)
    return out


def settle(points, corners, order, w, f, ids, weights, depth, y, x, perspective):
    z = points[order, 2].astype(np.float64)
    d = 1 / sum(wi / zi for wi, zi in zip(w, z)) if perspective else float(np.dot(w, z))
    if d >= depth[y, x] - 1e-7:
        return
    if perspective:
        w = [wi * d / zi for wi, zi in zip(w, z)]
    ids[y, x], depth[y, x] = f, d
    weights[0, y, x], weights[1, y, x] = w[order.index(corners[0])], w[order.index(corners[1])]


def tensor(values):
    return torch.as_tensor(np.asarray(values), dtype=torch.float32)
