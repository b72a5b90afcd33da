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
        without_face(rng, who, where)
    return tidy(who), tidy(where)


def without_face(rng, who, where):
    """Makes of a person somebody seen from behind, clothes or hands without a head, or nothing but background or a thing like a face."""
    kind = rng.random()
    if kind < 0.3:
        who["pose"][1] = rng.choice([-1, 1]) * rng.uniform(135, 180)
        who["front"] = people.NOTHING
        return
    who["parts"] = people.CLOTHES if kind < 0.5 else people.HELD if kind < 0.65 else people.NONE
    if who["parts"] == people.HELD or rng.random() < 0.5:
        who["front"] = people.HAND if rng.random() < 0.7 else rng.integers(people.CUP, people.BAR + 1)
        who["front_at"] = np.float32([rng.normal(0, 3), rng.normal(0, 3), -8])
    if who["parts"] == people.NONE and rng.random() < 0.4:
        where["lures"][0, :4] = *rng.normal(0.5, 0.06, 2), *rng.uniform(0.1, 0.26, 2)


def tidy(values):
    return {k: np.float32(v) for k, v in values.items()}


def overlap(a, b):
    """Share of the smaller box (x, y, size) that both cover."""
    w = min(a[0] + a[2] / 2, b[0] + b[2] / 2) - max(a[0] - a[2] / 2, b[0] - b[2] / 2)
    h = min(a[1] + a[2] / 2, b[1] + b[2] / 2) - max(a[1] - a[2] / 2, b[1] - b[2] / 2)
    return max(w, 0) * max(h, 0) / min(a[2], b[2]) ** 2


def free(rng, count, width, height):
    """Middles and sizes in pixels of faces anywhere."""
    largest = rng.uniform(60, 1.1 * height) if count > 1 else rng.uniform(20, 1.15 * height)
    for _ in range(count * 12):
        size = float(np.clip(np.exp(rng.uniform(np.log(18), np.log(largest))), 18, largest))
        margin = 0.25 * size
        yield rng.uniform(margin, width - margin), rng.uniform(margin, height - margin), size


def rows(rng, nearest, width, height):
    """As people sit in a classroom or stand side by side: rows one behind the other, heads below or above a camera's eye."""
    horizon, below = rng.uniform(0.2, 0.6) * height, rng.normal(1.0, 1.6)
    gap, shrink, empty = rng.uniform(1.3, 3.2), rng.uniform(0.62, 0.88), rng.uniform(0, 0.5)
    size = nearest
    for row in range(rng.integers(1, 5)):
        x = rng.uniform(-1, 1) * size
        while x < width + 0.5 * size:
            one = size * rng.uniform(0.88, 1.12)
            if rng.random() > empty:
                yield x, horizon + (below + rng.normal(0, 0.25)) * one, one
            x += size * gap * rng.uniform(0.75, 1.4)
        size *= shrink


def layout(rng, width, height):
    """Candidates for places of faces, and how many are wanted."""
    kind = rng.random()
    if kind < 1 / 16:
        return [], 0
    if kind < 0.38:
        found = list(rows(rng, np.exp(rng.uniform(np.log(40), np.log(120))) * height / 480, width, height))
        return [found[i] for i in rng.permutation(len(found))], rng.integers(3, 11)
    if kind < 0.57:
        found = list(rows(rng, rng.uniform(70, 200) * height / 480, width, height))
        return found, rng.integers(2, 6)
    count = 1 + min(int(rng.geometric(0.36)) - 1, 9)
    return free(rng, count, width, height), count


def places(rng, width, height):
    """Middles and sizes of faces that do not hide each other much and do not lie outside, far ones first."""
    out = []
    candidates, count = layout(rng, width, height)
    for x, y, size in candidates:
        inside = 0 <= x <= width and 0 <= y <= height and size >= 16
        if inside and len(out) < count and all(overlap((x, y, size), o) < 0.3 for o in out):
            out.append((x, y, size))
    return sorted(out, key=lambda o: o[2])


def facing(rng, common):
    """People of a scene look anywhere, or where the others look."""
    pose = people.pose(rng)
    if rng.random() < 0.7 and common is not None:
        pose[:2] = np.clip(common + rng.normal(0, (7, 16)), (-50, -90), (50, 90))
    if rng.random() < 0.08:
        pose[1] = rng.choice([-1, 1]) * rng.uniform(125, 180)
    return pose


def scene(seed, index, width=640, height=480):
    """([people], surroundings), far ones first: nobody in one of ten, else up to ten, anywhere or in rows."""
    rng = generator(seed, 2, index)
    where = around(rng)
    focal = width / 2 / np.tan(np.radians(rng.uniform(45, 85)) / 2)
    where["centre"], where["focal"] = [0.5, 0.5], focal / height
    common = rng.normal((4, 0), (8, 25)) if rng.random() < 0.6 else None
    members = []
    for x, y, size in places(rng, width, height):
        who = people.person(rng)
        z = focal * FACE_HEIGHT / size
        who["position"] = np.array([(x - width / 2) / focal * z, (y - height / 2) / focal * z, z])
        who["pose"] = facing(rng, common)
        members.append(tidy(who))
    return members, tidy(where)


def stack(descriptions, device):
    """A list of equal dictionaries to one of tensors."""
    return {k: torch.as_tensor(np.stack([d[k] for d in descriptions]), device=device) for k in descriptions[0]}
