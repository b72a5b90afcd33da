"""Random people as plain numbers: the same generator state, the same person. No pixels here."""

import numpy as np

import expression

# Colours are linear light, red green blue.
HAIR = {
    "black": (0.012, 0.010, 0.010), "dark": (0.024, 0.016, 0.012), "brown": (0.060, 0.036, 0.021),
    "light": (0.15, 0.10, 0.06), "blond": (0.34, 0.26, 0.165), "red": (0.18, 0.07, 0.03), "white": (0.55, 0.54, 0.52),
}
IRIS = {
    "dark": (0.035, 0.016, 0.008), "brown": (0.11, 0.045, 0.015), "hazel": (0.16, 0.10, 0.03),
    "green": (0.12, 0.15, 0.06), "grey": (0.20, 0.23, 0.25), "blue": (0.12, 0.21, 0.34),
}
BALD, SHORT, MEDIUM, LONG, AFRO, TIED, RECEDING = range(7)
NO_HAT, CAP, BEANIE, HEADSCARF, HOOD = range(5)
NOTHING, HAND, CUP, PHONE, MICROPHONE, BAR = range(6)
WHOLE, CLOTHES, HELD, NONE = range(4)


def pick(rng, table, weights):
    names = list(table)
    return names[rng.choice(len(names), p=np.array(weights) / np.sum(weights))]


def vary(rng, colour, amount=0.15):
    hue = rng.uniform(1 - 0.3 * amount, 1 + 0.3 * amount, 3)
    return np.clip(np.float32(colour) * hue * rng.uniform(1 - amount, 1 + amount), 0, 1).astype(np.float32)


def cloth(rng):
    """A colour as fabrics have: mostly muted, now and then vivid."""
    grey, vivid = rng.beta(1.2, 1.8), rng.beta(1, 3)
    return np.clip(grey * (1 - vivid) + vivid * rng.random(3), 0.01, 0.95).astype(np.float32)


def skin(rng):
    melanin = rng.beta(0.9, 1.9) if rng.random() < 0.75 else rng.uniform(0.3, 1)
    age = rng.beta(1.4, 1.6)
    return dict(
        melanin=melanin, blood=np.clip(rng.normal(0.38, 0.15), 0.08, 0.9), yellow=rng.normal(0, 0.4), age=age,
        blotch=rng.uniform(0.2, 1.2), oil=rng.uniform(0.15, 1.0), pores=rng.uniform(0.3, 1.3),
        freckles=rng.uniform(0.3, 1) if rng.random() < 0.25 * (1 - melanin) else 0.0, moles=rng.uniform(0, 1) ** 2,
        wrinkles=np.clip(1.3 * age - 0.2 + rng.normal(0, 0.15), 0.05, 1.2), bags=rng.uniform(0, 0.5) + 0.5 * age,
        zones=rng.normal(0, 0.6, 8), tile=rng.random(2).astype(np.float32) * 17,
    )


def hair_colour(rng, melanin, age):
    if rng.random() < np.clip(age - 0.55, 0, 0.45) * 1.3:
        return np.float32(HAIR["white"]) * rng.uniform(0.35, 1) * np.float32([1, 1, 1])
    fair = (1 - melanin) ** 1.5
    name = pick(rng, HAIR, [1.8, 1.6, 0.5 + fair, 0.1 + 0.8 * fair, 0.02 + 0.5 * fair, 0.01 + 0.15 * fair, 0.02])
    return vary(rng, HAIR[name])


def hair(rng, woman, melanin, age):
    weights = [0.01, 0.1, 0.3, 0.9, 0.1 + 0.5 * melanin, 0.35, 0] if woman else [0.12, 1.0, 0.35, 0.1, 0.03 + 0.25 * melanin, 0.04, 0.15 + 0.5 * age]
    style = pick(rng, range(7), weights)
    height = rng.normal(0, 0.6) - (1.3 * rng.random() if style == RECEDING else 0)
    fringe = rng.random() < (0.45 if style in (MEDIUM, LONG) else 0.15)
    return dict(
        style=float(style), hairline=height, receding=rng.uniform(0.5, 1) if style == RECEDING else abs(rng.normal(0, 0.15)),
        fringe=rng.uniform(1.2, 3.6) if fringe else 0.0, fringe_side=rng.uniform(-1, 1), opening=rng.uniform(48, 88),
        top={SHORT: rng.uniform(0.25, 1.6), MEDIUM: rng.uniform(0.8, 2.2), LONG: rng.uniform(0.6, 1.8), AFRO: rng.uniform(1.5, 6),
             TIED: rng.uniform(0.35, 0.8), RECEDING: rng.uniform(0.1, 0.5)}.get(style, 0.1),
        side={SHORT: rng.uniform(0.1, 0.9), MEDIUM: rng.uniform(0.8, 1.8), LONG: rng.uniform(0.8, 2.2), AFRO: rng.uniform(1.2, 6),
              TIED: rng.uniform(0.3, 0.6), RECEDING: rng.uniform(0.12, 0.5)}.get(style, 0.1),
        length={MEDIUM: rng.uniform(2, 9), LONG: rng.uniform(8, 30)}.get(style, 0.0),
        curl=rng.uniform(0.5, 1) if style == AFRO else rng.beta(0.8, 2) + 0.25 * melanin, mess=rng.uniform(0.05, 0.6),
        bun=float(rng.choice([0, 1, 2])) if style == TIED else 0.0, stubble=rng.uniform(0, 1), streaks=rng.uniform(0.1, 0.6),
        swept=rng.uniform(0.3, 1.1) * rng.choice([-1, 1]) if style in (SHORT, MEDIUM, LONG) and rng.random() < 0.14 else 0.0, peak=rng.normal(0, 0.5),
        wisps=rng.beta(1.3, 2), fray=rng.uniform(0.15, 1) * (0.3 if style == TIED else 1), grey=rng.beta(1, 2.5) * np.clip(2.2 * age - 0.6, 0, 1), softness=rng.uniform(0.1, 1),
        hair=hair_colour(rng, melanin, age), parting=rng.uniform(-40, 40), hair_tile=rng.random(2).astype(np.float32) * 11,
    )


def beard(rng, woman, colour):
    kind = 0 if woman else rng.choice(6, p=[0.4, 0.2, 0.08, 0.08, 0.12, 0.12])
    level = {1: rng.uniform(0.15, 0.6)}.get(kind, rng.uniform(0.5, 1))
    area = np.float32([[0, 0, 0], [1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 1]][kind]) * level
    return dict(
        beard=area, beard_length=rng.uniform(0.25, 1.1) if kind == 5 else 0.0, beard_line=rng.normal(0, 0.5),
        beard_colour=vary(rng, colour * rng.uniform(0.7, 1.1) + rng.uniform(0, 0.1) * (rng.random() < 0.2), 0.2),
    )


def brows(rng, woman, colour):
    thick = rng.uniform(0.24, 0.42) if woman else rng.uniform(0.28, 0.52)
    # Below the places that the kit calls brows: drawn there they looked raised.
    height = rng.normal(-0.44 if woman else -0.56, 0.15)
    return dict(
        brow=np.float32([thick, rng.uniform(0.28, 0.85), height, rng.normal(0, 0.12), rng.uniform(-0.1, 0.35) * (1 if woman else 0.6)]),
        brow_uneven=np.float32([rng.normal(0, 0.06), rng.normal(0, 0.06)]), brow_ragged=rng.uniform(0.2, 1),
        brow_join=rng.uniform(0.2, 0.7) if rng.random() < 0.08 else 0.0,
        brow_colour=vary(rng, np.minimum(colour * rng.uniform(0.3, 0.75), 0.2), 0.15),
    )


def eyes(rng, melanin):
    fair = (1 - melanin) ** 2
    name = pick(rng, IRIS, [1.2, 1.0, 0.05 + 0.5 * fair, 0.005 + 0.35 * fair, 0.005 + 0.3 * fair, 0.005 + 0.6 * fair])
    return dict(
        iris=vary(rng, IRIS[name], 0.2), iris_radius=rng.uniform(0.555, 0.605), pupil=rng.uniform(0.26, 0.58), limbus=rng.uniform(0.3, 1),
        veins=rng.uniform(0, 1) ** 2, sclera=vary(rng, (0.46, 0.425, 0.39), 0.15) * (1 - 0.3 * melanin), lashes=rng.uniform(0.25, 1), lid_fold=rng.uniform(0.1, 1), lid_height=rng.uniform(0.25, 0.62), eye_tile=rng.random(2).astype(np.float32),
    )


def makeup(rng, woman):
    some = rng.random() < (0.5 if woman else 0.02)
    lip = np.float32([rng.uniform(0.25, 0.6), rng.uniform(0.01, 0.1), rng.uniform(0.02, 0.14)])
    return dict(
        lipstick=rng.uniform(0.3, 0.95) if some else 0.0, lip_colour=lip, lip_red=rng.uniform(0.2, 1), lip_gloss=rng.uniform(0.1, 1) * (1.0 if some else 0.5),
        shadow=rng.uniform(0.1, 0.8) if some and rng.random() < 0.6 else 0.0, shadow_colour=cloth(rng) * 0.4, blush=rng.uniform(0, 0.6) if some else 0.0,
        liner=rng.uniform(0.3, 1) if some and rng.random() < 0.6 else 0.0,
    )


def glasses(rng):
    on = rng.random() < 0.27
    dark = on and rng.random() < 0.2
    return dict(
        glasses=float(on), lens_size=np.float32([rng.uniform(2.3, 3.1), rng.uniform(1.6, 2.7)]), lens_shape=rng.uniform(2, 5),
        rim=rng.uniform(0.03, 0.26), rim_colour=cloth(rng) * rng.choice([0.15, 0.6]), rim_metal=float(rng.random() < 0.35),
        tint=rng.uniform(0.55, 0.95) if dark else rng.uniform(0, 0.06), lens_colour=vary(rng, (0.05, 0.045, 0.04), 0.5),
        slide=np.clip(rng.normal(0.1, 0.3), -0.3, 1.2), reflection=rng.uniform(0.1, 1), lens_tilt=rng.normal(6, 4),
    )


def covering(rng, woman):
    hat = pick(rng, range(5), [0.8, 0.06, 0.05, 0.07 if woman else 0.005, 0.03])
    mask = rng.random() < 0.07
    return dict(
        hat=float(hat), hat_colour=cloth(rng), hat_level=rng.normal(0, 0.5), hat_thick=rng.uniform(0.3, 0.9), brim=rng.uniform(4, 7), hat_turn=rng.normal(0, 8),
        hat_pattern=rng.random(4).astype(np.float32), mask=float(mask), mask_colour=vary(rng, (0.35, 0.55, 0.7), 0.3) if rng.random() < 0.5 else cloth(rng),
        mask_low=rng.uniform(2.2, 4.5) if rng.random() < 0.15 else rng.normal(0, 0.4),
    )


def front(rng):
    """Something held before the face."""
    kind = pick(rng, range(6), [0.86, 0.07, 0.02, 0.02, 0.015, 0.015])
    angle = rng.uniform(0, 2 * np.pi)
    return dict(
        front=float(kind), front_at=np.float32([rng.uniform(1, 8) * np.cos(angle), 2 + rng.uniform(1, 8) * np.sin(angle), rng.uniform(-13, -8.5)]),
        front_turn=np.float32([rng.normal(0, 25), rng.normal(0, 35), rng.uniform(-180, 180)]), front_size=rng.uniform(0.8, 1.2),
        front_colour=cloth(rng), fingers=rng.uniform(0, 1, 5).astype(np.float32),
    )


def arm(rng):
    """How far an upper arm is out and forward, a forearm inward and up (-1 hangs, 0 is level)."""
    kind = rng.random()
    if kind < 0.35:
        return np.float32([rng.uniform(0.02, 0.3), rng.normal(0, 0.15), rng.normal(0.05, 0.1), rng.uniform(-1, -0.8)])
    return np.float32([rng.uniform(0.05, 0.5), rng.uniform(0, 0.6), rng.uniform(-0.2, 0.8), rng.uniform(-0.3, 0.1) if kind < 0.7 else rng.uniform(0.1, 0.7)])


def clothes(rng):
    return dict(
        shirt=cloth(rng), shirt_two=cloth(rng), pattern=rng.random(5).astype(np.float32), collar=rng.normal(0, 1.2), slope=rng.uniform(0.15, 0.45), arms=np.stack([arm(rng) for _ in range(2)]), bare=float(rng.random() < 0.4), build=rng.uniform(0.85, 1.2),
        lean=np.float32([rng.normal(0, 5), rng.normal(0, 12), rng.normal(0, 4)]), shirt_tile=rng.random(2).astype(np.float32) * 7,
    )


def person(rng, spread=0.85):
    """Everything about one person but where they are."""
    woman = rng.random() < 0.5
    base = skin(rng)
    base.update(identity=np.clip(rng.normal(0, spread, 100), -2.3, 2.3))
    base["identity"][0] = np.clip(base["identity"][0] * 0.8, -1.8, 1.8)
    base.update(hair(rng, woman, base["melanin"], base["age"]))
    base.update(beard(rng, woman, base["hair"]))
    base.update(brows(rng, woman, base["hair"]))
    for part in (eyes(rng, base["melanin"]), makeup(rng, woman), glasses(rng), covering(rng, woman), front(rng), clothes(rng)):
        base.update(part)
    base["parts"] = WHOLE
    base["coefficients"], base["gaze"] = expression.sample(rng)
    return {k: np.float32(v) for k, v in base.items()}


def pose(rng, limit=90):
    """pitch, yaw, roll in degrees: half of all look towards the camera, the others anywhere up to profile."""
    if rng.random() < 0.5:
        yaw, pitch = rng.normal(0, 14), rng.normal(0, 9)
    else:
        yaw, pitch = rng.uniform(-limit, limit), rng.normal(0, 17)
    roll = rng.normal(0, 9) if rng.random() < 0.85 else rng.normal(0, 30)
    return np.float32([np.clip(pitch, -50, 50), np.clip(yaw, -limit, limit), np.clip(roll, -75, 75)])
