"""The parametric head: ICT-FaceKit's shapes in the project's axes, with eyeballs that turn and fields that shading reads."""

import os
import pathlib

import numpy as np
import torch

import arkit
import fields
import geometry

# Of the kit's coordinates, cm: 5 cm behind and 3 cm below the nasal bridge, as package track has it.
ORIGIN = np.array([0, 0.74, 5.73], np.float32)
FLIP = np.array([1, -1, -1], np.float32)
EYE_CENTRE = np.array([3.16, 3.61, 8.05], np.float32)

SKIN, SCALP, MOUTH, TEETH, EYE_LEFT, EYE_RIGHT, LASH = range(7)
MATERIALS = {
    "M_Face": SKIN, "M_BackHead": SCALP, "M_GumsTongue": MOUTH, "M_Teeth": TEETH,
    "M_ScleraLeft": EYE_LEFT, "M_ScleraRight": EYE_RIGHT, "M_EyeLashes": LASH,
}
SIDES = ("left", "right")


def default_pack():
    """FACETRACK_ASSETS, else shared/assets beside the checkout; None if neither has the pack."""
    here = pathlib.Path(__file__).resolve().parent.parent
    folders = [os.environ.get("FACETRACK_ASSETS"), here / "shared/assets", here.parent / "shared/assets"]
    for folder in folders:
        if folder and (pathlib.Path(folder) / "ict_facekit/ict_facekit.npz").exists():
            return pathlib.Path(folder) / "ict_facekit/ict_facekit.npz"
    return None


def triangulate(quads, *others):
    """Quads, whose last corner is -1 in triangles, to triangles; values per quad or per corner go along."""
    full = quads[:, 3] >= 0

    def split(values):
        if values.ndim == 1:
            return np.concatenate([values, values[full]])
        return np.concatenate([values[:, :3], values[full][:, [0, 2, 3]]])

    return [split(v) for v in (quads,) + others]


class Pack:
    """The file's arrays, reduced to the materials that are drawn, in the project's axes."""

    def __init__(self, path):
        file = np.load(path)
        names = [str(n) for n in file["material_names"]]
        used = [i for i, n in enumerate(names) if n in MATERIALS]
        material = np.array([MATERIALS.get(n, -1) for n in names])
        keep = np.isin(file["material"], used)
        triangles, uvs, material = triangulate(file["quads"][keep], file["quads_uv"][keep], material[file["material"][keep]])
        self.kept = np.unique(triangles)
        index = np.full(len(file["neutral"]), -1)
        index[self.kept] = np.arange(len(self.kept))
        self.index = index
        self.triangles, self.material = index[triangles].astype(np.int32), material.astype(np.int64)
        self.neutral = (file["neutral"][self.kept] - ORIGIN) * FLIP
        self.identity = file["identity"][:, self.kept].astype(np.float32) * FLIP
        expression = file["expression"][:, self.kept].astype(np.float32) * FLIP
        mapping = arkit.matrix([str(n) for n in file["expression_names"]])
        self.expression = np.einsum("cs,svx->cvx", mapping, expression, optimize=True)
        self.landmark68 = index[file["landmark68"]]
        self.uv = np.zeros((len(self.kept), 2), np.float32)
        self.uv[self.triangles] = file["uv"][uvs]


class Head:
    """What every image shares: shapes, triangles, fields. Methods take batches of coefficients."""

    def __init__(self, path=None, device="cpu"):
        pack = Pack(path or default_pack())
        self.device = device
        self.triangles = self._tensor(pack.triangles, torch.int32)
        self.material = self._tensor(pack.material, torch.int64)
        self.neutral = self._tensor(pack.neutral)
        self.identity = self._tensor(pack.identity).reshape(len(pack.identity), -1)
        self.expression = self._tensor(pack.expression).reshape(len(pack.expression), -1)
        self.landmark68 = self._tensor(pack.landmark68, torch.int64)
        self.index = pack.index
        self.uv = self._tensor(pack.uv)
        self.balls = [self._vertices(pack, m) for m in (EYE_LEFT, EYE_RIGHT)]
        base = (EYE_CENTRE - ORIGIN) * FLIP
        self.centres = [self._tensor(base * np.float32([s, 1, 1])) for s in (1, -1)]
        self.fields = self._tensor(fields.static(pack, path or default_pack()))

    def _tensor(self, values, dtype=torch.float32):
        return torch.as_tensor(np.ascontiguousarray(values), device=self.device).to(dtype)

    def _vertices(self, pack, material):
        return self._tensor(np.unique(pack.triangles[pack.material == material]), torch.int64)

    def shape(self, identity):
        """[B,100] to the neutral face of each person, [B,V,3]."""
        return self.neutral + (identity @ self.identity).reshape(len(identity), -1, 3)

    def move(self, shape, coefficients, gaze):
        """Expression [B,52] and gaze [B,2,2] (left and right eye; pitch, yaw in degrees) on a person's face."""
        points = shape + (coefficients @ self.expression).reshape(shape.shape)
        for side, ball in enumerate(self.balls):
            points[:, ball] = self.turned(shape, side, gaze[:, side])
        return points

    def eye(self, shape, side):
        """Centre [B,3] and size, relative to the mean eye's, [B] of an eyeball."""
        ball, mean = shape[:, self.balls[side]], self.neutral[self.balls[side]]
        centre = self.centres[side] + (ball - mean).mean(1)
        spread = (ball - ball.mean(1, keepdim=True)).norm(dim=-1).mean(1)
        return centre, spread / (mean - mean.mean(0)).norm(dim=-1).mean()

    def turned(self, shape, side, gaze):
        centre, size = self.eye(shape, side)
        offset = (self.neutral[self.balls[side]] - self.centres[side]) * size[:, None, None]
        turn = geometry.rotation("y", -gaze[:, 1]) @ geometry.rotation("x", -gaze[:, 0])
        return centre[:, None] + geometry.turned(offset, turn)
