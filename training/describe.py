"""Random crops and scenes as plain numbers. The same seed gives the same description, on every machine."""

import numpy as np
import torch

import people
import surroundings

FACE_HEIGHT = 17.5
NOBODY = 0.1


def generator(*seed):
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))


def around(rng):
    return {**surroundings.light(rng), **surroundings.backdrop(rng), **surroundings.camera(rng)}


def crop(seed, index):
    """One face, roughly in the middle: (person, surroundings); the face takes 30 to 62 % of the height. One in ten shows no face."""
    rng = generator(seed, 1, index)
    who, where = people.person(rng), around(rng)
    distance = np.exp(rng.uniform(np.log(28), np.log(220)))
    share = rng.uniform(0.3, 0.62)
    shift = rng.normal(0, 0.045, 2)
    who["pose"] = people.pose(rng)
    # Seen from the crop's middle; a crop of a wide picture has its own axis elsewhere.
    where["centre"] = 0.5 + rng.normal(0, 0.35, 2) * (rng.random() < 0.5) * min(1, distance / 60)
    where["focal"] = share * distance / FACE_HEIGHT
    middle = (0.5 + shift - where["centre"]) / where["focal"] * distance
    who["position"] = np.array([middle[0], middle[1] + 0.3, distance])
    where["nobody"] = float(rng.random() < NOBODY)
    if where["nobody"]:
        without_face(rng, who)
    return tidy(who), tidy(where)


def without_face(rng, who):
    """Makes of a person somebody seen from behind, clothes or hands without a head, or nothing at all."""
    kind = rng.random()
    if kind < 0.3:
        who["pose"][1] = rng.choice([-1, 1]) * rng.uniform(135, 180)
        who["front"] = people.NOTHING
        return
    who["parts"] = people.CLOTHES if kind < 0.5 else people.HELD if kind < 0.65 else people.NONE
    if who["parts"] == people.HELD or rng.random() < 0.5:
        who["front"] = people.HAND if rng.random() < 0.7 else rng.integers(people.CUP, people.BAR + 1)
        who["front_at"] = np.float32([rng.normal(0, 3), rng.normal(0, 3), -8])


def tidy(values):
    return {k: np.float32(v) for k, v in values.items()}


def overlap(a, b):
    """Share of the smaller box (x, y, size) that both cover."""
    w = min(a[0] + a[2] / 2, b[0] + b[2] / 2) - max(a[0] - a[2] / 2, b[0] - b[2] / 2)
    h = min(a[1] + a[2] / 2, b[1] + b[2] / 2) - max(a[1] - a[2] / 2, b[1] - b[2] / 2)
    return max(w, 0) * max(h, 0) / min(a[2], b[2]) ** 2


def places(rng, count, width, height):
    """Middles and sizes in pixels of faces that do not hide each other much."""
    out = []
    largest = rng.uniform(40, 1.0 * height) if count > 1 else rng.uniform(20, 1.15 * height)
    for _ in range(count * 12):
        size = float(np.clip(np.exp(rng.uniform(np.log(16), np.log(largest))), 16, largest))
        margin = 0.25 * size
        place = (rng.uniform(margin, width - margin), rng.uniform(margin, height - margin), size)
        if all(overlap(place, o) < 0.3 for o in out):
            out.append(place)
        if len(out) == count:
            break
    return sorted(out, key=lambda o: o[2])


def scene(seed, index, width=640, height=480):
    """([people], surroundings); one of sixteen scenes has nobody, others up to ten, far ones first."""
    rng = generator(seed, 2, index)
    where = around(rng)
    count = 0 if rng.random() < 1 / 16 else 1 + min(int(rng.geometric(0.36)) - 1, 9)
    focal = width / 2 / np.tan(np.radians(rng.uniform(45, 85)) / 2)
    where["centre"], where["focal"] = [0.5, 0.5], focal / height
    members = []
    for x, y, size in places(rng, count, width, height):
        who = people.person(rng)
        z = focal * FACE_HEIGHT / size
        who["position"] = np.array([(x - width / 2) / focal * z, (y - height / 2) / focal * z, z])
        who["pose"] = people.pose(rng)
        if rng.random() < 0.08:
            who["pose"][1] = rng.choice([-1, 1]) * rng.uniform(125, 180)
        members.append(tidy(who))
    return members, tidy(where)


def stack(descriptions, device):
    """A list of equal dictionaries to one of tensors."""
    return {k: torch.as_tensor(np.stack([d[k] for d in descriptions]), device=device) for k in descriptions[0]}
