"""Random expressions: single shapes, speech, emotions, mixtures; and the gaze that goes with them."""

import numpy as np

import arkit

# Degrees of an eye that a coefficient of 1 stands for.
REACH = {"eyeLookIn": 35.0, "eyeLookOut": 35.0, "eyeLookUp": 27.0, "eyeLookDown": 33.0}

# What moves together in emotions; names without a side mean both.
EMOTIONS = {
    "joy": {"mouthSmile": 0.8, "cheekSquint": 0.7, "eyeSquint": 0.35, "mouthUpperUp": 0.3, "mouthDimple": 0.25, "jawOpen": 0.12},
    "laugh": {"mouthSmile": 0.9, "jawOpen": 0.45, "cheekSquint": 0.9, "eyeSquint": 0.6, "mouthUpperUp": 0.5, "mouthLowerDown": 0.4},
    "sorrow": {"mouthFrown": 0.7, "browInnerUp": 0.8, "mouthShrugLower": 0.4, "eyeSquint": 0.2, "eyeBlink": 0.15},
    "anger": {"browDown": 0.9, "noseSneer": 0.5, "mouthPress": 0.5, "eyeSquint": 0.4, "mouthFrown": 0.3, "jawForward": 0.2},
    "surprise": {"browInnerUp": 0.8, "browOuterUp": 0.8, "eyeWide": 0.8, "jawOpen": 0.5},
    "fear": {"browInnerUp": 0.9, "eyeWide": 0.8, "mouthStretch": 0.7, "jawOpen": 0.25, "browDown": 0.3},
    "disgust": {"noseSneer": 0.9, "mouthUpperUp": 0.6, "browDown": 0.5, "mouthFrown": 0.3, "eyeSquint": 0.4},
    "doubt": {"mouthLeft": 0.5, "mouthPress": 0.5, "browOuterUpLeft": 0.7, "browDownRight": 0.4, "mouthDimpleLeft": 0.4},
    "sleep": {"eyeBlink": 1.0},
}

# Mouths of speech sounds.
SOUNDS = [
    {"jawOpen": 0.45, "mouthLowerDown": 0.25, "mouthUpperUp": 0.1},
    {"jawOpen": 0.2, "mouthStretch": 0.3, "mouthSmile": 0.2, "mouthLowerDown": 0.2},
    {"jawOpen": 0.3, "mouthFunnel": 0.6},
    {"jawOpen": 0.1, "mouthPucker": 0.8, "mouthFunnel": 0.2},
    {"mouthPress": 0.5, "mouthRollLower": 0.4, "mouthRollUpper": 0.4},
    {"jawOpen": 0.25, "mouthClose": 0.22},
    {"jawOpen": 0.45, "mouthClose": 0.45, "cheekPuff": 0.1},
    {"jawOpen": 0.08, "mouthRollLower": 0.5, "mouthUpperUp": 0.3},
    {"jawOpen": 0.15, "mouthShrugUpper": 0.3, "mouthLowerDown": 0.35},
]


def add(values, name, amount):
    for full in (name, name + "Left", name + "Right"):
        if full in arkit.INDEX:
            values[arkit.INDEX[full]] += amount


def mixture(rng, parts, jitter=0.35):
    values = np.zeros(52, np.float32)
    strength = rng.uniform(0.3, 1.1)
    for name, amount in parts.items():
        add(values, name, strength * amount * rng.uniform(1 - jitter, 1 + jitter))
    return values * rng.uniform(0.85, 1.15, 52).astype(np.float32)


def single(rng):
    """One shape alone, with its twin half of the time."""
    values = np.zeros(52, np.float32)
    name = arkit.NAMES[rng.integers(1, 52)]
    amount = rng.uniform(0.2, 1)
    values[arkit.INDEX[name]] = amount
    if rng.random() < 0.5:
        for a, b in (("Left", "Right"), ("Right", "Left")):
            if name.endswith(a):
                values[arkit.INDEX[name[: -len(a)] + b]] = amount
    if name == "mouthClose":
        values[arkit.INDEX["jawOpen"]] = amount * rng.uniform(1, 1.3)
    return values


def scatter(rng):
    """A few shapes that nobody meant to go together."""
    values = np.zeros(52, np.float32)
    chosen = rng.choice(np.arange(1, 52), rng.integers(2, 7), replace=False)
    values[chosen] = rng.beta(1.2, 2, len(chosen))
    return values


def lids(rng, values):
    """Blinks at every stage come on top of everything else; one eye alone is a wink."""
    kind = rng.random()
    if kind < 0.18:
        add(values, "eyeBlink", rng.uniform(0.1, 1))
    elif kind < 0.23:
        values[arkit.INDEX[rng.choice(["eyeBlinkLeft", "eyeBlinkRight"])]] += rng.uniform(0.4, 1)
    elif kind < 0.6:
        add(values, "eyeBlink", rng.uniform(0, 0.2))


def gaze(rng):
    """pitch and yaw of both eyes [2,2] in degrees relative to the head, with some vergence."""
    wide = rng.random() < 0.3
    pitch = np.clip(rng.normal(-3, 11 if wide else 6), -28, 24)
    yaw = np.clip(rng.normal(0, 18 if wide else 8), -33, 33)
    meet = abs(rng.normal(1.5, 2.0))
    return np.float32([[pitch + rng.normal(0, 0.4), yaw - meet], [pitch + rng.normal(0, 0.4), yaw + meet]])


def look(values, eyes):
    """Coefficients eyeLook* that stand for a gaze, so that the lids follow the eyes."""
    for side, (pitch, yaw), outward in (("Left", eyes[0], 1), ("Right", eyes[1], -1)):
        parts = {"eyeLookUp": pitch, "eyeLookDown": -pitch, "eyeLookOut": yaw * outward, "eyeLookIn": -yaw * outward}
        for name, angle in parts.items():
            values[arkit.INDEX[name + side]] = np.clip(angle / REACH[name], 0, 1)


def tidy(values):
    """Coefficients that exclude each other give way; none leaves 0 to 1."""
    v = np.clip(values, 0, 1)
    get = arkit.INDEX
    v[get["mouthClose"]] = min(v[get["mouthClose"]], v[get["jawOpen"]])
    for side in ("Left", "Right"):
        v[get["eyeWide" + side]] *= 1 - v[get["eyeBlink" + side]]
        v[get["eyeSquint" + side]] *= 1 - 0.7 * v[get["eyeBlink" + side]]
        # The kit's lids meet at 1; looking down has closed a part of the way already.
        down = v[get["eyeLookDown" + side]]
        v[get["eyeBlink" + side]] = min(v[get["eyeBlink" + side]], 1 - 0.45 * down)
        v[get["mouthSmile" + side]] *= 1 - 0.6 * v[get["mouthFrown" + side]]
        v[get["browOuterUp" + side]] *= 1 - 0.5 * v[get["browDown" + side]]
    for a, b in (("jawLeft", "jawRight"), ("mouthLeft", "mouthRight")):
        v[get[a if v[get[a]] < v[get[b]] else b]] = 0
    jaw = v[get["jawOpen"]]
    for name in ("mouthPucker", "mouthFunnel", "mouthRollLower", "mouthRollUpper", "mouthPressLeft", "mouthPressRight"):
        v[get[name]] *= 1 - 0.5 * jaw
    return v


def sample(rng):
    """Coefficients [52] and gaze [2,2]."""
    kind = rng.random()
    if kind < 0.15:
        values = np.zeros(52, np.float32)
    elif kind < 0.35:
        values = single(rng)
    elif kind < 0.6:
        values = mixture(rng, EMOTIONS[rng.choice(list(EMOTIONS))])
    elif kind < 0.8:
        values = mixture(rng, SOUNDS[rng.integers(len(SOUNDS))])
    elif kind < 0.9:
        values = 0.7 * mixture(rng, EMOTIONS[rng.choice(list(EMOTIONS))]) + mixture(rng, SOUNDS[rng.integers(len(SOUNDS))])
    else:
        values = scatter(rng)
    if kind >= 0.35:
        values += np.where(rng.random(52) < 0.2, rng.uniform(0, 0.15, 52), 0).astype(np.float32)
    lids(rng, values)
    eyes = gaze(rng)
    look(values, eyes)
    return arkit.with_neutral(tidy(values)).astype(np.float32), eyes
