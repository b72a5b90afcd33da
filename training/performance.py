"""What two people do who sit beside each other and talk, as smooth functions of a time that goes round: the end is the beginning."""

import numpy as np

import arkit
import describe
import expression

SECONDS = 7.2
CAMERA, PARTNER, AWAY = range(3)
# Of the head, cm: where it turns on the neck, and the middle between the eyes.
NECK, EYES = np.array([0, 12.0, 6.5]), np.array([0, -3.0, -3.5])
VOWELS, CLOSURES = (0, 1, 2, 3, 8), (4, 5, 7)

# When each of the two looks where (seconds, how long the head takes, target), talks, and does what else. The first sits left in the picture.
SCRIPT = [
    dict(
        seat=(-15.5, 12.0, 65.0), aside=(38, -3, 60, -4), away=(-14, 9, -30, 14), talks=[(0.35, 1.55), (1.85, 3.05)],
        looks=[(0.55, 0.55, PARTNER), (1.95, 0.5, CAMERA), (3.0, 0.6, PARTNER), (4.85, 0.6, CAMERA)],
        near=[(2.3, 1.1, 7.0)], nods=[(4.1, 1.5, 5.5)], smiles=[(3.35, 0.7, 0.75), (6.3, 0.9, 0.6)], brows=[(0.7, 0.8), (2.3, 0.6), (5.2, 0.4)], tilt=[(4.4, 1.6, -7.0)],
    ),
    dict(
        seat=(16.0, 10.5, 68.0), aside=(-37, 1, -60, -1), away=(27, 10, 46, 17), talks=[(3.45, 4.55), (5.3, 6.5)],
        looks=[(0.25, 0.6, PARTNER), (2.75, 0.6, CAMERA), (3.8, 0.6, PARTNER), (4.5, 0.85, AWAY), (5.4, 0.6, CAMERA)],
        near=[(5.75, 1.0, 6.0), (1.6, 1.2, -5.0)], nods=[(1.5, 1.3, 5.0)], smiles=[(2.0, 0.8, 0.65), (6.75, 0.6, 0.5)], brows=[(3.6, 0.5), (5.5, 0.8)], tilt=[(1.2, 1.4, 6.0)],
    ),
]


def ease(x):
    """From 0 to 1 with neither speed nor acceleration at the ends."""
    x = np.clip(x, 0, 1)
    return x**3 * (10 - 15 * x + 6 * x * x)


def since(t, moment):
    """Seconds from a moment, the shorter way round."""
    return (t - moment + SECONDS / 2) % SECONDS - SECONDS / 2


def bump(t, middle, rise, hold, fall):
    d = since(t, middle)
    return ease((d + hold / 2 + rise) / rise) * ease((hold / 2 + fall - d) / fall)


def steps(t, keys):
    """Values [T,...] that change at each key (moment, how long it takes, value) and come back to the first from the last."""
    out = np.zeros((len(t),) + np.shape(keys[-1][2])) + keys[-1][2]
    for before, (moment, duration, value) in zip([keys[-1], *keys], keys):
        part = ease((t - moment) / duration).reshape((-1,) + (1,) * (out.ndim - 1))
        out = out + part * (np.asarray(value) - np.asarray(before[2]))
    return out


def sway(t, rng, cycles):
    """A wander of about 1 that goes so many times round at most."""
    k = np.arange(1, cycles + 1)
    waves = np.sin(2 * np.pi * k * t[:, None] / SECONDS + rng.uniform(0, 2 * np.pi, cycles)) / k**0.7
    return waves.sum(1) / np.sqrt((k**-1.4).sum() / 2)


def attention(t, keys, lead, duration):
    """How much of each target [T,3]."""
    one = np.eye(3)
    return steps(t, [(moment - lead, duration or d, one[target]) for moment, d, target in keys])


def shaped(t, moment, rise, hold, fall, parts, amount):
    values = np.zeros(52, np.float32)
    for name, strength in parts.items():
        expression.add(values, name, strength * amount)
    return bump(t, moment, rise, hold, fall)[:, None] * values


def speech(t, rng, start, end):
    """Syllables of a fifth of a second: a vowel, and often lips or jaw that close before it."""
    out, at = np.zeros((len(t), 52)), start
    while at < end:
        length = rng.uniform(0.16, 0.26)
        vowel = expression.mixture(rng, expression.SOUNDS[rng.choice(VOWELS)], 0.2) * rng.uniform(0.75, 1.15)
        out += bump(t, at + length / 2, 0.6 * length, 0.1 * length, 0.6 * length)[:, None] * vowel
        if rng.random() < 0.55:
            closure = expression.mixture(rng, expression.SOUNDS[rng.choice(CLOSURES)], 0.2)
            out += bump(t, at, 0.07, 0.02, 0.07)[:, None] * closure
        at += length
    return out


def blinks(t, rng, keys):
    """Every few seconds, and with most large turns of the eyes; 0 to 1."""
    moments = [m for m, _, _ in keys if rng.random() < 0.5]
    for m in np.arange(rng.uniform(0, 1), SECONDS, 2.7):
        moments.append((m + rng.uniform(-0.4, 0.4)) % SECONDS)
    out, taken = np.zeros(len(t)), []
    for m in moments:
        if all(abs(since(m, o)) > 0.6 for o in taken):
            taken.append(m)
            out = np.maximum(out, bump(t, m, 0.08, 0.03, 0.13))
    return out


def rotation(axis, degrees):
    """[T,3,3], as geometry.rotation."""
    a = np.radians(degrees)
    c, s, z, o = np.cos(a), np.sin(a), np.zeros_like(a), np.ones_like(a)
    rows = {"x": (o, z, z, z, c, -s, z, s, c), "y": (c, z, s, z, o, z, -s, z, c), "z": (c, -s, z, s, c, z, z, z, o)}[axis]
    return np.stack(rows, -1).reshape(a.shape + (3, 3))


def direction(pitch, yaw):
    """Where a head or an eye with these angles points, in the camera's axes."""
    p, y = np.radians(pitch), np.radians(yaw)
    return np.stack([np.sin(y) * np.cos(p), -np.sin(p), -np.cos(y) * np.cos(p)], -1)


def facing(d):
    """pitch and yaw of a direction; the inverse of direction."""
    d = d / np.linalg.norm(d, axis=-1, keepdims=True)
    return np.degrees(np.arcsin(-d[..., 1])), np.degrees(np.arctan2(d[..., 0], -d[..., 2]))


class Part:
    """Everything about one of the two at times t: pose, position, gaze, coefficients."""

    def __init__(self, t, script, rng):
        self.t, self.script = t, script
        self.talking = sum(bump(t, (a + b) / 2, 0.2, b - a, 0.2) for a, b in script["talks"])
        neck = self._neck(rng)
        self.pose = self._pose(rng, neck)
        turn = rotation("y", -self.pose[:, 1]) @ rotation("x", -self.pose[:, 0]) @ rotation("z", -self.pose[:, 2])
        self.position = neck - turn @ NECK
        self.gaze = self._gaze(rng, self.position + turn @ EYES, turn)
        self.coefficients = self._face(rng)

    def _neck(self, rng):
        """Leaning nearer goes with bending down a little."""
        out = np.array(self.script["seat"]) + np.stack([0.7 * sway(self.t, rng, 3), 0.25 * sway(self.t, rng, 3), 1.0 * sway(self.t, rng, 3)], 1)
        for moment, duration, cm in self.script["near"]:
            out += bump(self.t, moment, 0.7, duration, 0.8)[:, None] * np.array([0, 0.12, -1]) * cm
        return out

    def _pose(self, rng, neck):
        """The head goes most of the way to what is looked at, and later than the eyes."""
        t, s = self.t, self.script
        to_camera = np.stack(facing(-neck), 1) * [0.3, 0.8] + [-1.5, 0]
        targets = np.stack([to_camera, np.tile([s["aside"][1], s["aside"][0]], (len(t), 1)), np.tile([s["away"][1], s["away"][0]], (len(t), 1))], 1)
        pitch, yaw = (attention(t, s["looks"], 0, 0)[..., None] * targets).sum(1).T
        yaw = yaw + 1.4 * sway(t, rng, 5) + 1.6 * self.talking * sway(t, rng, 12)
        pitch = pitch + 0.9 * sway(t, rng, 5) + 2.0 * self.talking * sway(t, rng, 14)
        roll = 1.3 * sway(t, rng, 4) + 1.0 * self.talking * sway(t, rng, 9)
        for moment, duration, size in s["nods"]:
            pitch = pitch - size * bump(t, moment, 0.3, duration - 0.5, 0.4) * np.sin(2 * np.pi * 1.7 * since(t, moment - duration / 2))
        for moment, duration, size in s["tilt"]:
            roll = roll + size * bump(t, moment, 0.6, duration, 0.7)
        return np.stack([pitch, yaw, roll], 1)

    def _gaze(self, rng, eyes, turn):
        """The eyes arrive before the head and then keep their target while it follows; fixations last some tenths of a second."""
        t, s = self.t, self.script
        def fixed(pitch, yaw):
            return np.tile([pitch, yaw], (len(t), 1))
        targets = np.stack([np.stack(facing(-eyes), 1), fixed(s["aside"][3], s["aside"][2]), fixed(s["away"][3], s["away"][2])], 1)
        wanted = (attention(t, s["looks"], 0.06, 0.12)[..., None] * targets).sum(1)
        moments = np.cumsum(rng.uniform(0.4, 1.1, 20))
        wanted += steps(t, [(m, 0.06, rng.normal(0, 1, 2) * [0.7, 1.3]) for m in moments if m < SECONDS - 0.2])
        pitch, yaw = facing((turn.transpose(0, 2, 1) @ direction(*wanted.T)[..., None])[..., 0])
        pitch, yaw = np.clip(pitch, -22, 18), np.clip(yaw, -25, 25)
        return np.stack([np.stack([pitch, yaw - 1.5], 1), np.stack([pitch, yaw + 1.5], 1)], 1)

    def _face(self, rng):
        t, s = self.t, self.script
        out = np.tile(expression.mixture(rng, {"mouthSmile": 0.12}, 0), (len(t), 1)).astype(np.float64)
        for start, end in s["talks"]:
            out += speech(t, rng, start, end)
        for moment, duration, amount in s["smiles"]:
            out += shaped(t, moment, 0.35, duration, 0.5, expression.EMOTIONS["joy"], amount)
        for moment, amount in s["brows"]:
            out += shaped(t, moment, 0.16, 0.3, 0.3, {"browInnerUp": 0.7, "browOuterUp": 0.7, "eyeWide": 0.2}, amount)
        shut = blinks(t, rng, s["looks"])
        for values, closed, eyes in zip(out, shut, self.gaze):
            expression.add(values, "eyeBlink", closed)
            expression.look(values, eyes)
        return np.stack([arkit.with_neutral(expression.tidy(values)) for values in out])

    def at(self, i):
        return {k: np.float32(v[i]) for k, v in (("pose", self.pose), ("position", self.position), ("gaze", self.gaze), ("coefficients", self.coefficients))}


def parts(seed, fps):
    """Both people over the whole time, one value a frame."""
    t = np.arange(round(SECONDS * fps)) / fps
    return [Part(t, script, describe.generator(seed, 3, i)) for i, script in enumerate(SCRIPT)]
