"""Rotations, projection and normals in the conventions of package track: x right, y down, z away from the camera, cm."""

import math

import torch


def rotation(axis, degrees):
    """Right-handed turn about a camera axis, [B,3,3] of [B] degrees."""
    a = degrees * (math.pi / 180)
    c, s, zero, one = torch.cos(a), torch.sin(a), torch.zeros_like(a), torch.ones_like(a)
    rows = {
        "x": (one, zero, zero, zero, c, -s, zero, s, c),
        "y": (c, zero, s, zero, one, zero, -s, zero, c),
        "z": (c, -s, zero, s, c, zero, zero, zero, one),
    }[axis]
    return torch.stack(rows, -1).reshape(a.shape + (3, 3))


def head_rotation(pitch, yaw, roll):
    """Head to camera coordinates, as track/doc.go defines it."""
    return rotation("y", -yaw) @ rotation("x", -pitch) @ rotation("z", -roll)


def angles(matrix):
    """pitch, yaw, roll in degrees; the inverse of head_rotation."""
    pitch = torch.asin((matrix[..., 1, 2]).clamp(-1, 1))
    yaw = torch.atan2(-matrix[..., 0, 2], matrix[..., 2, 2])
    roll = torch.atan2(-matrix[..., 1, 0], matrix[..., 1, 1])
    return tuple(v * (180 / math.pi) for v in (pitch, yaw, roll))


def project(points, focal, centre):
    """Camera coordinates [B,N,3] to pixels and depth; focal [B] pixels, centre [B,2]."""
    z = points[..., 2:]
    safe = torch.where(z > 1e-3, z, torch.full_like(z, 1e-3))
    pixels = points[..., :2] / safe * focal[:, None, None] + centre[:, None]
    return torch.cat([pixels, z], -1)


def turned(points, matrix):
    """points [B,N,3] by matrices [B,3,3]: as a product of matrices so narrow a one is slow on a GPU."""
    columns = matrix[:, None].unbind(-1)
    return points[..., :1] * columns[0] + points[..., 1:2] * columns[1] + points[..., 2:] * columns[2]


def unit(v, dim=-1):
    return v / v.norm(dim=dim, keepdim=True).clamp_min(1e-9)


def normals(points, triangles):
    """Of vertices, weighted by the areas around them: [B,V,3]."""
    t = triangles.long()
    a, b, c = (points[:, t[:, i]] for i in range(3))
    flat = torch.cross(b - a, c - a, dim=-1)
    out = torch.zeros_like(points)
    for i in range(3):
        out.index_add_(1, t[:, i], flat)
    return unit(out)
