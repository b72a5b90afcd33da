"""Writes points.json: which vertices of ICT-FaceKit are the project's dense face points. Run again only for another set.

The left half is chosen along curves and on a grid of the mean face, the right half is its mirror image.
"""

import json
import pathlib
import sys

import numpy as np

import fields
import model

FILE = pathlib.Path(__file__).with_name("points.json")
PAIRS68 = {i: 16 - i for i in range(17)} | {i: 43 - i for i in range(17, 27)} | {i: i for i in (*range(27, 31), 33, 51, 57, 62, 66)}
PAIRS68 |= {31: 35, 32: 34, 36: 45, 37: 44, 38: 43, 39: 42, 40: 47, 41: 46, 48: 54, 49: 53, 50: 52, 55: 59, 56: 58, 60: 64, 61: 63, 65: 67}
PAIRS68 |= {b: a for a, b in PAIRS68.items()}


def resample(curve, n):
    """n points, evenly along a polyline, ends included."""
    along = np.r_[0, np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))]
    return np.stack([np.interp(np.linspace(0, along[-1], n), along, curve[:, i]) for i in range(3)], 1)


class Chooser:
    def __init__(self, pack):
        skin = np.unique(pack.triangles[pack.material == model.SKIN])
        self.skin, self.points, self.pack = skin, pack.neutral[skin], pack
        self.original = pack.kept
        self.entries, self.taken = [], {}

    def nearest(self, target, flat=False):
        d = (self.points - target) ** 2
        if not flat:
            return self.skin[d.sum(1).argmin()]
        # Seen from the front: the foremost of those around.
        near = np.flatnonzero(d[:, :2].sum(1) < 0.3**2)
        near = near[self.points[near, 2] < self.points[near, 2].min() + 0.6]
        return self.skin[near[d[near, :2].sum(1).argmin()]]

    def mirrored(self, vertex):
        return self.nearest(self.pack.neutral[vertex] * [-1, 1, 1])

    def add(self, name, vertex):
        if vertex in self.taken:
            return
        self.taken[vertex] = len(self.entries)
        self.entries.append({"name": name, "vertex": int(self.original[vertex])})

    def both(self, name, vertices):
        for i, v in enumerate(vertices):
            if abs(self.pack.neutral[v][0]) < 0.06:
                self.add(f"{name} {i}", v)
                continue
            self.add(f"{name} left {i}", v)
            self.add(f"{name} right {i}", self.mirrored(v))

    def along(self, name, marks, n, loop=False):
        curve = fields.closed(marks) if loop else fields.smooth(marks)
        samples = resample(curve, n + 1 if loop else n)
        self.both(name, [self.nearest(s) for s in (samples[:-1] if loop else samples)])

    def grid(self, name, places):
        self.both(name, [self.nearest(np.float32([x, y, 0]), True) for x, y in places])


def choose(pack):
    c = Chooser(pack)
    marks = pack.neutral[pack.landmark68]
    for i, v in enumerate(pack.landmark68):
        c.add(f"landmark {i}", v)
    c.along("lid", marks[42:48], 20, loop=True)
    c.along("jaw", marks[8:17], 17)
    c.along("lip outside upper", marks[51:55], 8)
    c.along("lip outside lower", np.r_[marks[54:55], marks[55:58]], 8)
    c.along("lip inside upper", marks[62:65], 6)
    c.along("lip inside lower", np.r_[marks[64:65], marks[65:67]], 6)
    brow = marks[22:27]
    c.along("brow upper", brow + np.float32([0, -0.15, 0]), 6)
    c.along("brow lower", brow + np.float32([0, 0.6, 0]), 6)
    c.along("nose ridge", marks[27:31], 7)
    c.along("nose base", marks[33:36], 4)
    c.grid("nose side", [(0.75, -2.2), (0.95, -1.2), (0.9, -0.3), (1.55, 0.0), (1.75, 0.9), (1.5, 1.55), (0.6, 0.9), (0.0, 1.2)])
    c.grid("forehead", [(x, y) for y in (-6.6, -7.8, -8.9) for x in (0.0, 1.6, 3.2, 4.7)])
    c.grid("glabella", [(0, -4.6), (0.7, -5.2), (0, -5.7)])
    c.grid("cheek", [(2.2, -0.9), (3.5, -0.9), (4.8, -1.0), (6.0, -1.3), (2.6, 0.4), (3.9, 0.4), (5.2, 0.4), (6.3, 0.4), (3.0, 1.8), (4.3, 1.8), (5.6, 1.8),
                     (3.5, 3.2), (4.8, 3.2), (3.4, 4.8), (4.6, 4.8), (2.6, 6.0), (3.7, 6.0)])
    c.grid("temple", [(6.0, -3.2), (6.4, -4.6), (6.1, -6.0), (5.8, -7.4)])
    c.grid("lip above", [(0, 2.3), (1.0, 2.3), (2.0, 2.7)])
    c.grid("chin", [(0, 5.7), (1.2, 5.9), (0, 6.7), (1.3, 7.0), (0, 7.6)])
    return c


def mirror_of(c, pack):
    """Index of every entry's mirror image."""
    out = []
    for vertex, index in c.taken.items():
        twin = c.taken[pack.landmark68[PAIRS68[index]]] if index < 68 else c.taken[c.mirrored(vertex)]
        out.append(twin)
    return out


def irises(entries, mirror):
    """Centre and eight places on the limbus of each eye, counted from the subject's outer side upwards."""
    start = len(entries)
    for side in ("left", "right"):
        entries.append({"name": f"iris {side}", "iris": side})
        entries += [{"name": f"iris {side} {k * 45}", "iris": side, "turn": k * 45} for k in range(8)]
    mirror += [start + (i + 9) % 18 for i in range(18)]


def main():
    pack = model.Pack(sys.argv[1] if len(sys.argv) > 1 else model.default_pack())
    c = choose(pack)
    mirror = mirror_of(c, pack)
    irises(c.entries, mirror)
    name = f"facetrack-ict-{len(c.entries)}"
    lines = ",\n".join("  " + json.dumps({**e, "mirror": m}) for e, m in zip(c.entries, mirror))
    FILE.write_text(f'{{"name": "{name}", "mesh": "ICT-FaceKit vertices, counted from 0", "points": [\n{lines}\n]}}\n')
    print(name)


if __name__ == "__main__":
    main()
