"""Random rooms as plain numbers: rectangles with textures, in metres, the camera at the origin, x right, y down, z ahead."""

import numpy as np

import painted as kinds

SIDES, COLUMNS = 48, 20


def muted(rng, low=0.03, high=0.9, vivid=0.1):
    grey = rng.uniform(low, high)
    return np.clip(grey * (1 + rng.normal(0, 0.35 if rng.random() < vivid else 0.05, 3)), 0.005, 1)


class Room:
    def __init__(self, rng):
        self.rng, self.sides = rng, []
        r = rng.uniform
        self.half, self.back, self.eye = r(1.3, 5), r(1.6, 9), r(0.9, 1.6) if rng.random() < 0.7 else r(1.6, 2.4)
        self.top = max(r(2.4, 3.3), self.eye + 0.3) - self.eye
        self.shift = r(-0.6, 0.6) * self.half
        self.light = r(0.6, 1.1)

    def add(self, middle, across, down, one, two=None, kind=kinds.PLAIN, scale=1.0, glow=0.0, wall=0.0):
        if len(self.sides) < SIDES:
            two = one * 0.8 if two is None else two
            self.sides.append(np.concatenate([middle, across, down, one * self.light, two * self.light, [kind, scale, self.rng.random(), glow, wall]]))

    def walls(self):
        rng, h, d, e, t, s = self.rng, self.half, self.back, self.eye, self.top, self.shift
        paint = np.clip(rng.beta(3.5, 1.6) * (1 + rng.normal(0, 0.03, 3)), 0.05, 0.92)
        middle, tall, deep = (e - t) / 2, (e + t) / 2, (d + 3) / 2
        at = d / 2 - 1.5
        for centre, across in (((s, middle, d), (h, 0, 0)), ((s - h, middle, at), (0, 0, deep)), ((s + h, middle, at), (0, 0, deep))):
            own = paint if rng.random() < 0.75 else muted(rng, 0.1, 0.8, 0.6)
            kind = rng.choice([kinds.PLAIN, kinds.CLOUDY, kinds.GRAINY, kinds.TILES, kinds.BARS, kinds.WOOD], p=[0.55, 0.14, 0.12, 0.08, 0.04, 0.07])
            self.add(centre, across, (0, tall, 0), own, own * rng.uniform(0.75, 0.97), kind, rng.choice([0.5, 2, 5]), wall=1)
        floor = muted(rng, 0.03, 0.5, 0.4)
        self.add((s, e, at), (h, 0, 0), (0, 0, deep), floor, floor * rng.uniform(0.6, 0.95), rng.choice([kinds.PLAIN, kinds.GRAINY, kinds.WOOD, kinds.TILES]), rng.uniform(1, 5), wall=1)
        ceiling = muted(rng, 0.5, 0.9, 0)
        self.add((s, -t, at), (h, 0, 0), (0, 0, deep), ceiling, ceiling * 0.85, rng.choice([kinds.PLAIN, kinds.TILES]), rng.uniform(1, 2), wall=1)

    def hung(self, wall, along, level, wide, high, *look, off=0.02, **more):
        """Something on the wall at the back (0), left (-1) or right (1)."""
        if wall == 0:
            middle, across = (self.shift + along * self.half, level, self.back - off), (wide, 0, 0)
        else:
            z = 0.6 + (along * 0.5 + 0.5) * (self.back - 0.8)
            middle, across = (self.shift + wall * (self.half - off), level, z), (0, 0, wide)
        self.add(middle, across, (0, high, 0), *look, **more)

    def windows(self):
        rng = self.rng
        wall, count = rng.choice([-1, 0, 1]), rng.integers(1, 4)
        level, high, wide = -rng.uniform(0, 0.4) * self.top, rng.uniform(0.4, 0.9), rng.uniform(0.3, 0.9)
        glow = np.exp(rng.uniform(0.3, 2.3))
        sky = np.float32([0.85, 0.95, 1.05]) * rng.uniform(0.7, 1)
        outside = rng.choice([kinds.PLAIN, kinds.CLOUDY, kinds.MOTTLED, kinds.BARS, kinds.PICTURE], p=[0.4, 0.2, 0.1, 0.15, 0.15])
        for i in range(count):
            along = (i - (count - 1) / 2) * 0.6 + rng.normal(0, 0.05)
            self.hung(wall, along, level, wide + 0.07, high + 0.07, muted(rng, 0.3, 0.9, 0))
            self.hung(wall, along, level, wide, high, sky, sky * rng.uniform(0.2, 0.9), outside, rng.uniform(1, 15), off=0.03, glow=glow)

    def pictures(self):
        rng = self.rng
        for _ in range(rng.integers(0, 6)):
            kind = rng.choice([kinds.PICTURE, kinds.TEXT, kinds.MOTTLED, kinds.SPOTS, kinds.LURE, kinds.PLAIN], p=[0.35, 0.25, 0.1, 0.05, 0.1, 0.15])
            wide, high = rng.uniform(0.1, 0.6, 2)
            paper, ink = (muted(rng, 0.5, 0.95), muted(rng, 0.01, 0.4, 0.4)) if rng.random() < 0.6 else (muted(rng, vivid=0.6), muted(rng, vivid=0.6))
            self.hung(rng.choice([-1, 0, 0, 0, 1]), rng.uniform(-0.9, 0.9), rng.normal(-0.2, 0.25), wide, high, paper, ink, kind, rng.uniform(2, 12), off=0.04)

    def large(self):
        """A board or screen, a door, shelves."""
        rng = self.rng
        if rng.random() < 0.35:
            lit = rng.random() < 0.4
            self.hung(0, rng.uniform(-0.5, 0.5), -0.3, rng.uniform(0.6, 1.5), rng.uniform(0.4, 0.8), muted(rng, 0.7, 0.95, 0) if rng.random() < 0.7 else muted(rng, 0.01, 0.1),
                      muted(rng, 0.05, 0.5, 0.5), rng.choice([kinds.PLAIN, kinds.TEXT, kinds.PICTURE]), rng.uniform(3, 9), off=0.05, glow=rng.uniform(1.1, 3) if lit else 0)
        if rng.random() < 0.35:
            self.hung(rng.choice([-1, 0, 1]), rng.uniform(-0.9, 0.9), self.eye - 1.0, 0.45, 1.0, muted(rng, 0.1, 0.8, 0.3), kind=rng.choice([kinds.PLAIN, kinds.WOOD]), scale=4, off=0.03)
        for _ in range(rng.integers(1, 3) if rng.random() < 0.4 else 0):
            tall = rng.uniform(0.4, 1.1)
            self.hung(rng.choice([-1, 0, 0, 1]), rng.uniform(-0.9, 0.9), self.eye - tall, rng.uniform(0.3, 1.2), tall, muted(rng, 0.05, 0.7, 0.6), muted(rng, 0.1, 0.8, 0.6), kinds.BOOKS, rng.uniform(6, 12), off=0.3)

    def floor_things(self):
        rng = self.rng
        z_far = max(self.back - 0.5, 1.3)
        top = muted(rng, 0.1, 0.9, 0.2)
        for _ in range(rng.integers(0, 5)):
            x, z, wide, deep = self.shift + rng.uniform(-1, 1) * self.half, rng.uniform(0.9, z_far), rng.uniform(0.4, 1.1), rng.uniform(0.3, 0.5)
            y = self.eye - 0.74
            self.add((x, y, z), (wide, 0, 0), (0, 0, deep), top, top * 0.85, rng.choice([kinds.PLAIN, kinds.WOOD]), 5)
            self.add((x, y + 0.03, z - deep), (wide, 0, 0), (0, 0.03, 0), top * 0.6)
            if rng.random() < 0.4:
                self.add((x, y + 0.37, z - deep + 0.05), (wide * 0.95, 0, 0), (0, 0.34, 0), muted(rng))
            if rng.random() < 0.5:
                screen = muted(rng, 0.01, 0.08) if rng.random() < 0.6 else muted(rng, 0.3, 0.9, 0.4)
                self.add((x + rng.uniform(-0.4, 0.4) * wide, y - 0.25, z), (rng.uniform(0.15, 0.35), 0, 0), (0, rng.uniform(0.1, 0.2), 0), screen, muted(rng), rng.choice([kinds.PLAIN, kinds.TEXT, kinds.PICTURE]), 12)
        seat = muted(rng, 0.01, 0.5, 0.7)
        for _ in range(rng.integers(0, 8) if rng.random() < 0.6 else 0):
            x, z = self.shift + rng.uniform(-1, 1) * self.half, rng.uniform(0.9, z_far)
            a = rng.normal(0, 0.5)
            self.add((x, self.eye - 0.7, z), (0.22 * np.cos(a), 0, 0.22 * np.sin(a)), (0, 0.22, 0), seat, seat * 0.6)
            self.add((x, self.eye - 0.44, z - 0.2), (0.22, 0, 0), (0, 0, 0.2), seat * 0.8)

    def lamps(self):
        rng = self.rng
        wide, deep, glow = rng.uniform(0.1, 0.35), rng.uniform(0.25, 0.6), rng.uniform(1.5, 6)
        for i in range(rng.integers(0, 7)):
            x = self.shift + (i % 2 - 0.5) * self.half
            self.add((x, -self.top + 0.01, 1 + (i // 2) * self.back * 0.3), (wide, 0, 0), (0, 0, deep), np.ones(3), glow=glow)


def room(rng):
    """Sides [SIDES,COLUMNS], the camera's turn in degrees and the place of most light."""
    r = Room(rng)
    r.walls()
    for part in (r.lamps, r.windows, r.large, r.pictures, r.floor_things):
        if rng.random() < 0.75:
            part()
    sides = np.zeros((SIDES, COLUMNS), np.float32)
    sides[: len(r.sides)] = r.sides
    view = np.float32([rng.normal(-2, 6), np.clip(rng.normal(0, 18), -40, 40), rng.normal(0, 1.5)])
    return dict(room=sides, room_view=view, room_lamp=np.float32([r.shift + rng.uniform(-1, 1) * r.half, -r.top, rng.uniform(0, r.back)]))


def none():
    return dict(room=np.zeros((SIDES, COLUMNS), np.float32), room_view=np.zeros(3, np.float32), room_lamp=np.zeros(3, np.float32))
