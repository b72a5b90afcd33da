"""Random light, backgrounds and cameras as plain numbers; no pixels here."""

import numpy as np

import clutter
import furniture
import painted

LURES, LIMBS, PALETTE, KINDS = 2, 16, 8, 12


def temperature(rng):
    return warmth(np.clip(rng.normal(0.08, 0.26), -0.6, 0.9))


def warmth(warm):
    """The colour of a lamp from overcast sky (-0.6) to candle (0.9), of equal luminance."""
    c = np.float32([1 + 0.45 * warm, 1.0, 1 - 0.62 * warm]) if warm > 0 else np.float32([1 + 0.3 * warm, 1.0, 1 - 0.5 * warm])
    return c / (0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2])


def towards(rng, side=60, up=35):
    """A direction to a lamp: to the side, above, on the camera's side of the face."""
    a, e = np.radians(rng.normal(0, side)), np.radians(np.clip(rng.normal(up, 22), -35, 88))
    return np.float32([np.sin(a) * np.cos(e), -np.sin(e), -np.cos(a) * np.cos(e)])


def light(rng):
    """Lamps and sky. Kinds: soft room, one hard lamp, sun, window from one side, light from behind, screen in the dark, lamps in a ceiling."""
    kind = rng.choice(7, p=[0.27, 0.13, 0.11, 0.19, 0.08, 0.07, 0.15])
    ambient = [rng.uniform(0.5, 1.0), rng.uniform(0.06, 0.3), rng.uniform(0.25, 0.6), rng.uniform(0.06, 0.4), rng.uniform(0.4, 0.8), rng.uniform(0.02, 0.15), rng.uniform(0.15, 0.6)][kind]
    key = [rng.uniform(0.2, 0.8), rng.uniform(0.8, 2), rng.uniform(1.2, 3), rng.uniform(0.8, 2.4), rng.uniform(0.1, 0.4), rng.uniform(0.4, 1), rng.uniform(0.5, 1.6)][kind]
    main = [towards(rng), towards(rng), towards(rng, 90, 45), towards(rng, 20, 15), towards(rng), towards(rng, 12, -10), towards(rng, 70, 72)][kind]
    if kind == 3:
        main = np.float32([rng.choice([-1, 1]) * rng.uniform(0.6, 1), -rng.uniform(0, 0.5), -rng.uniform(0, 0.6)])
    back = towards(rng, 50, 25) * np.float32([1, 1, -1])
    lamps = np.stack([main, back if rng.random() < 0.6 else towards(rng, 90, 20), towards(rng, 100, 10)])
    lamps /= np.linalg.norm(lamps, axis=1, keepdims=True)
    level = np.float32([key, rng.uniform(0, 0.6) * (3 if kind == 4 else 1), rng.uniform(0, 0.25)])
    one, two = temperature(rng), temperature(rng)
    sky = ambient * temperature(rng)
    if rng.random() < 0.2:
        # Daylight from one side, lamps from the other.
        one, two = (warmth(rng.uniform(-0.6, -0.2)), warmth(rng.uniform(0.3, 0.9)))[:: rng.choice([-1, 1])]
        level[1] = max(level[1], rng.uniform(0.2, 0.9))
        lamps[1, 0] = -np.sign(lamps[0, 0] + 1e-6) * abs(lamps[1, 0])
    return dict(
        lamp_direction=lamps, lamp_colour=np.stack([one, two, temperature(rng)]) * level[:, None],
        lamp_soft=[rng.uniform(3, 7), rng.uniform(0.6, 2), rng.uniform(0.5, 1.2), rng.uniform(3, 8), rng.uniform(2, 6), rng.uniform(2, 6), rng.uniform(2, 7)][kind],
        sky=sky, ground=sky * rng.uniform(0.25, 0.8) * np.clip(rng.normal(1, 0.08, 3), 0.7, 1.3),
        side_light=ambient * rng.uniform(0, 0.8) * two, side_direction=towards(rng, 90, 5),
    )


def paint(rng):
    """Colours of walls and things: mostly dull."""
    grey = rng.beta(1.3, 1.6)
    return np.clip(grey + rng.normal(0, 0.025 if rng.random() < 0.75 else 0.16, 3) * (0.3 + grey), 0.005, 1)


def skin(rng):
    """A tone of skin as skin.tone calculates it."""
    melanin, blood = rng.beta(0.9, 1.7), rng.uniform(0.1, 0.8)
    return np.float32([0.72, 0.585, 0.46]) * np.exp(-melanin * np.float32([1.85, 2.5, 2.9]) - blood * np.float32([0.06, 0.5, 0.4]))


def palette(rng, green):
    """What things of one place are coloured like: related, dull, one or two of them vivid or like skin."""
    base = paint(rng)
    out = [np.clip((0.5 * base + 0.5 * paint(rng)) * np.exp(rng.uniform(-2.2, 0.5)), 0.004, 1) for _ in range(PALETTE)]
    if rng.random() < 0.5:
        out[0] = rng.uniform(0.05, 0.8) * rng.random(3) ** 1.5
    if rng.random() < 0.35:
        out[1] = skin(rng)
    if rng.random() < 0.3:
        out[2], out[3] = np.full(3, rng.uniform(0.003, 0.02)), np.full(3, rng.uniform(0.7, 1))
    if green:
        for k in range(0, PALETTE - 2):
            out[k] = np.float32([0.16, 0.26, 0.06]) * rng.uniform(0.15, 1.3) * rng.uniform(0.7, 1.3, 3)
    return np.stack(out)


def things(rng, much):
    """Densities of things by size. much: they fill the picture."""
    levels = np.arange(clutter.LEVELS)
    if much:
        density = np.where(levels >= rng.integers(0, 3), rng.uniform(0.75, 1), 0) * (levels <= rng.integers(4, clutter.LEVELS))
    else:
        density = rng.uniform(0.02, 0.3) * np.exp(-(((levels - rng.uniform(1, 6)) / 2) ** 2))
    green = rng.random() < 0.2
    kinds = rng.choice(np.arange(painted.LURE + 1), KINDS, p=np.float32([30, 12, 8, 6, 8, 8, 5, 6, 3, 3, 7, 4]) / 100)
    return dict(clutter=density, leafy=0.9 if green else rng.choice([0.0, 0.2]), palette=palette(rng, green), clutter_kinds=np.where(green, 0, kinds))


def hand(rng):
    """Forearm, palm and fingers as capsules (ends, radius, height) in heights of the picture."""
    size, turn = np.exp(rng.uniform(np.log(0.025), np.log(0.28))), rng.normal(0, 1.1)
    at = rng.uniform((0, 0.1), (1.3, 1.05))
    ahead, side = np.float32([np.sin(turn), -np.cos(turn)]), np.float32([np.cos(turn), np.sin(turn)]) * rng.choice([-1, 1])
    def capsule(x0, y0, x1, y1, radius, height):
        return np.concatenate([at + size * (x0 * side + y0 * ahead), at + size * (x1 * side + y1 * ahead), [radius * size, height * size]])
    parts = [capsule(0, -6, 0, -0.9, 0.5, 0), capsule(0, -0.45, 0, 0.45, 0.56, 0.05)]
    spread, bent = rng.uniform(-0.05, 0.3), rng.uniform(0, 1, 4) * rng.choice([0.1, 1])
    for i in range(4):
        a, length = (i - 1.5) * spread, (1.2 - 0.12 * (i - 1.3) ** 2) * (1 - 0.8 * bent[i])
        root = (i - 1.5) * 0.29
        parts.append(capsule(root, 0.75, root + length * np.sin(a), 0.75 + length * np.cos(a), 0.16, 0.06 + 0.02 * (i % 2)))
    parts.append(capsule(-0.5, -0.1, -0.5 - 0.75 * np.sin(0.4 + spread), 0.75 * rng.uniform(0, 1), 0.18, 0.1))
    return np.stack(parts)


def limbs(rng):
    out = np.zeros((LIMBS, 6))
    if rng.random() < 0.15:
        hands = np.concatenate([hand(rng) for _ in range(rng.integers(1, 3))])
        out[: len(hands)] = hands
    elif rng.random() < 0.08:
        blobs = rng.integers(1, LIMBS)
        middle = rng.uniform((0, 0), (1.3, 1), (blobs, 2))
        out[:blobs] = np.concatenate([middle, middle + rng.normal(0, 0.08, (blobs, 2)), rng.lognormal(-2.7, 0.6, (blobs, 1)), rng.uniform(0, 0.3, (blobs, 1))], 1)
    return out


def lure(rng):
    """A thing with two dark spots above a line: place, size, turn, share, colour."""
    size = np.exp(rng.uniform(np.log(0.02), np.log(0.3)))
    tone = skin(rng) * rng.uniform(0.5, 1.3) if rng.random() < 0.6 else paint(rng)
    return np.concatenate([rng.uniform((0, 0), (1.3, 1)), [size * rng.uniform(0.7, 1.1), size, rng.normal(0, 0.3), rng.random()], tone])


def backdrop(rng):
    kind = rng.choice(5, p=[0.2, 0.38, 0.2, 0.12, 0.1])
    inside = kind in (1, 3)
    out = dict(things(rng, kind == 2), clutter_seed=rng.integers(0, 2**23), clutter_scale=rng.uniform(clutter.SMALLEST_SCALE, 1.4))
    if kind in (0, 1):
        out["clutter"] = np.zeros(clutter.LEVELS)
    lures = np.stack([lure(rng) for _ in range(LURES)])
    lures[rng.integers(0, 3) if rng.random() < 0.3 else 0 :, 2:4] = 0
    return dict(
        out, **(furniture.room(rng) if inside else furniture.none()), fill=np.stack([paint(rng), paint(rng)]), fill_turn=rng.uniform(-3.14, 3.14),
        fill_range=rng.uniform(0, 0.35) if rng.random() < 0.7 else 1.0,
        texture=np.float32([rng.beta(0.6, 4.5), rng.uniform(0.2, 0.7), rng.random(), rng.random(), rng.integers(0, 4)]),
        limbs=limbs(rng), limb_colour=skin(rng), lures=lures,
        back_blur=rng.choice([0.45, rng.uniform(0.5, 2), rng.uniform(2, 5)], p=[0.45, 0.35, 0.2]), back_light=rng.lognormal(-0.3, 0.5),
    )


def codec(rng):
    """A smaller original, and losses: none, as of photographs, as of video calls."""
    kind = rng.choice(3, p=[0.18, 0.5, 0.32])
    scale = np.exp(rng.uniform(np.log(0.22), 0)) if rng.random() < 0.45 else 1.0
    # What is small and badly coded at once shows nothing.
    worst = 0.07 if scale > 0.7 else 0.3
    return dict(scale=scale, quality=[1.0, rng.uniform(0.25, 0.95), rng.uniform(worst, worst + 0.3)][kind], dead=[0.0, 0.0, rng.uniform(0.1, 0.4)][kind])


def exposure(rng):
    """Stops; now and then far off."""
    if rng.random() < 0.07:
        return rng.choice([rng.uniform(-3, -1.3), rng.uniform(1.2, 2.2)])
    return np.clip(rng.normal(0, 0.55), -1.8, 1.5)


def camera(rng):
    """What lens, sensor and codec do to a picture."""
    clean = rng.random() < 0.15
    soft = rng.random()
    return dict(
        blur=rng.uniform(0.2, 0.6) if soft < 0.6 else rng.uniform(0.6, 2.4), motion=rng.uniform(1, 9) if rng.random() < 0.2 else 0.0,
        motion_turn=rng.uniform(0, np.pi), exposure=exposure(rng), cast=np.clip(rng.normal(1, 0.045, 3), 0.75, 1.3),
        shot=0.0 if clean else rng.uniform(0, 0.035) * rng.choice([0.5, 1, 1.6]), read=0.0 if clean else rng.uniform(0, 0.012), grain=rng.uniform(0, 1),
        contrast=rng.normal(1, 0.12), saturation=0.0 if rng.random() < 0.04 else np.clip(rng.normal(1, 0.22), 0.2, 1.7), gamma=rng.normal(1, 0.08),
        shoulder=rng.uniform(0, 1), sharpen=rng.uniform(0, 1.2) if rng.random() < 0.4 else 0.0, vignette=rng.uniform(0, 0.5), haze=rng.uniform(0, 0.3) if rng.random() < 0.12 else 0.0,
        distortion=rng.normal(0, 0.05) if rng.random() < 0.5 else 0.0,
        infrared=float(rng.random() < 0.03), flicker=np.float32([rng.uniform(0.05, 0.35) if rng.random() < 0.07 else 0.0, rng.uniform(0.5, 4), rng.uniform(0, 6.3)]),
        colours=rng.uniform(4.5, 10) if rng.random() < 0.05 else 0.0, **codec(rng), seed=rng.integers(0, 2**31),
    )
