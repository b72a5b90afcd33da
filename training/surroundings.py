"""Random light, backgrounds and cameras as plain numbers; no pixels here."""

import numpy as np

SHAPES = 26
WALL, FLOOR, BOX, ELLIPSE, STRIPES, LURE = range(6)


def temperature(rng):
    """The colour of a lamp from candle to overcast sky, of equal luminance."""
    warm = np.clip(rng.normal(0.08, 0.26), -0.6, 0.9)
    c = np.float32([1 + 0.45 * warm, 1.0, 1 - 0.62 * warm]) if warm > 0 else np.float32([1 + 0.3 * warm, 1.0, 1 - 0.5 * warm])
    return c / (0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2])


def towards(rng, side=60, up=35):
    """A direction to a lamp: to the side, above, on the camera's side of the face."""
    a, e = np.radians(rng.normal(0, side)), np.radians(np.clip(rng.normal(up, 22), -35, 88))
    return np.float32([np.sin(a) * np.cos(e), -np.sin(e), -np.cos(a) * np.cos(e)])


def light(rng):
    """Lamps and sky. Kinds: soft room, one hard lamp, sun, window from one side, light from behind, screen in the dark."""
    kind = rng.choice(6, p=[0.38, 0.15, 0.14, 0.17, 0.08, 0.08])
    ambient = [rng.uniform(0.5, 1.0), rng.uniform(0.06, 0.3), rng.uniform(0.25, 0.6), rng.uniform(0.15, 0.4), rng.uniform(0.4, 0.8), rng.uniform(0.02, 0.15)][kind]
    key = [rng.uniform(0.2, 0.8), rng.uniform(0.8, 2), rng.uniform(1.2, 3), rng.uniform(0.8, 1.8), rng.uniform(0.1, 0.4), rng.uniform(0.4, 1)][kind]
    main = [towards(rng), towards(rng), towards(rng, 90, 45), towards(rng, 20, 15), towards(rng), towards(rng, 12, -10)][kind]
    if kind == 3:
        main = np.float32([rng.choice([-1, 1]) * rng.uniform(0.6, 1), -rng.uniform(0, 0.5), -rng.uniform(0, 0.6)])
    back = towards(rng, 50, 25) * np.float32([1, 1, -1])
    lamps = np.stack([main, back if rng.random() < 0.6 else towards(rng, 90, 20), towards(rng, 100, 10)])
    lamps /= np.linalg.norm(lamps, axis=1, keepdims=True)
    level = np.float32([key, rng.uniform(0, 0.6) * (3 if kind == 4 else 1), rng.uniform(0, 0.25)])
    one, two = temperature(rng), temperature(rng)
    sky = ambient * temperature(rng)
    return dict(
        lamp_direction=lamps, lamp_colour=np.stack([one, two, temperature(rng)]) * level[:, None],
        lamp_soft=[rng.uniform(3, 7), rng.uniform(0.6, 2), rng.uniform(0.5, 1.2), rng.uniform(3, 8), rng.uniform(2, 6), rng.uniform(2, 6)][kind],
        sky=sky, ground=sky * rng.uniform(0.25, 0.8) * np.clip(rng.normal(1, 0.08, 3), 0.7, 1.3),
        side_light=ambient * rng.uniform(0, 0.8) * two, side_direction=towards(rng, 90, 5),
    )


def paint(rng):
    """Colours of walls and things: mostly dull."""
    grey = rng.beta(1.3, 1.6)
    return np.clip(grey + rng.normal(0, 0.04 if rng.random() < 0.7 else 0.16, 3) * (0.3 + grey), 0.005, 1)


def shape(rng, kind):
    tone = np.float32([0.6, 0.42, 0.33]) * rng.uniform(0.15, 1.1)
    return np.concatenate([
        [kind, rng.uniform(-0.1, 1.1), rng.uniform(-0.1, 1.1), rng.lognormal(-2.3, 0.8), rng.lognormal(-2.3, 0.8), rng.choice([0, 0, 0, rng.uniform(-3, 3)])],
        tone if kind == LURE else paint(rng), paint(rng), [rng.uniform(0, 0.35), rng.uniform(3, 40), rng.uniform(0.002, 0.02), rng.random()],
    ])


def backdrop(rng):
    many = rng.integers(0, SHAPES + 1) if rng.random() < 0.8 else 0
    kinds = rng.choice([BOX, ELLIPSE, STRIPES, LURE], SHAPES, p=[0.5, 0.25, 0.13, 0.12]).astype(float)
    shapes = np.stack([shape(rng, k) for k in kinds])
    if rng.random() < 0.5:
        shapes[0, 0], shapes[1, 0] = WALL, FLOOR
        shapes[0, 1], shapes[1, 2] = rng.uniform(0.1, 0.9), rng.uniform(0.55, 1.0)
    shapes[many:, 3:5] = 0
    return dict(
        shapes=shapes, fill=np.stack([paint(rng), paint(rng)]), fill_turn=rng.uniform(-3.14, 3.14),
        texture=np.float32([rng.beta(0.8, 2), rng.uniform(0.3, 3), rng.random(), rng.random(), rng.integers(0, 4)]),
        back_blur=rng.choice([0.0, rng.uniform(0.5, 2), rng.uniform(2, 5)], p=[0.3, 0.4, 0.3]), back_light=rng.lognormal(-0.3, 0.6),
    )


def camera(rng):
    """What lens, sensor and codec do to a picture."""
    clean = rng.random() < 0.2
    soft = rng.random()
    return dict(
        blur=rng.uniform(0.2, 0.6) if soft < 0.6 else rng.uniform(0.6, 2.2), motion=rng.uniform(1, 7) if rng.random() < 0.15 else 0.0,
        motion_turn=rng.uniform(0, np.pi), exposure=np.clip(rng.normal(0, 0.55), -1.8, 1.5), cast=np.clip(rng.normal(1, 0.045, 3), 0.75, 1.3),
        shot=0.0 if clean else rng.uniform(0, 0.035) * rng.choice([0.5, 1, 1.6]), read=0.0 if clean else rng.uniform(0, 0.012), grain=rng.uniform(0, 1),
        contrast=rng.normal(1, 0.12), saturation=0.0 if rng.random() < 0.06 else np.clip(rng.normal(1, 0.22), 0.2, 1.7), gamma=rng.normal(1, 0.08),
        shoulder=rng.uniform(0, 1), sharpen=rng.uniform(0, 1.2) if rng.random() < 0.4 else 0.0, vignette=rng.uniform(0, 0.5), haze=rng.uniform(0, 0.3) if rng.random() < 0.12 else 0.0,
        distortion=rng.normal(0, 0.05) if rng.random() < 0.5 else 0.0, scale=rng.choice([1, 0.75, 0.5, 0.375, 0.25], p=[0.6, 0.12, 0.15, 0.08, 0.05]),
        quality=1.0 if rng.random() < 0.3 else rng.uniform(0.15, 0.95), seed=rng.integers(0, 2**31),
    )
