"""Z-buffers of many images at once: raster.cu."""

import ctypes

import torch

import native


class Job(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_void_p) for name in ("points", "triangles")]
        + [(name, ctypes.c_int) for name in ("images", "vertices", "faces", "height", "width", "perspective")]
        + [(name, ctypes.c_void_p) for name in ("keys", "ids", "weights", "depth")]
    )


class Buffers:
    """What is seen at each pixel: triangle (-1: none), weights of its three corners, depth (inf: none)."""

    def __init__(self, ids, weights, depth):
        self.ids, self.weights, self.depth = ids, weights, depth

    @property
    def covered(self):
        return self.ids >= 0

    def interpolate(self, triangles, values):
        """values [B,V,C] of corners at the covered pixels alone, most of a picture being background: [M,C], and where the row of
        each pixel is, [B,H,W], -1 where nothing is."""
        image, place = self.covered.flatten(1).nonzero(as_tuple=True)
        corners = triangles[self.ids.flatten(1)[image, place].long()].long()
        first, second = (self.weights[:, i].flatten(1)[image, place, None] for i in (0, 1))
        seen = values[image, corners[:, 0]] * first + values[image, corners[:, 1]] * second
        seen += values[image, corners[:, 2]] * (1 - first - second)
        rows = torch.full_like(self.ids, -1)
        rows.flatten(1)[image, place] = torch.arange(len(image), device=image.device, dtype=rows.dtype)
        return seen, rows


def rasterize(points, triangles, height, width, perspective=True):
    """points [B,V,3]: pixels right and down, depth in front of the camera; triangles [T,3], the same for every image."""
    device = points.device
    points = points.to(torch.float32).contiguous()
    triangles = triangles.to(device=device, dtype=torch.int32).contiguous()
    b = points.shape[0]
    keys = torch.empty(b, height, width, dtype=torch.int64, device=device)
    ids = torch.empty(b, height, width, dtype=torch.int32, device=device)
    weights = torch.empty(b, 2, height, width, device=device)
    depth = torch.empty(b, height, width, device=device)
    job = Job(points.data_ptr(), triangles.data_ptr(), b, points.shape[1], len(triangles), height, width, int(perspective),
              keys.data_ptr(), ids.data_ptr(), weights.data_ptr(), depth.data_ptr())
    native.run("raster.cu", "facetrack_raster", job, points)
    return Buffers(ids, weights, depth)
