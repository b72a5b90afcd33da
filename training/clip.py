#!/usr/bin/env python3
"""The demo clip, two people in conversation, and its truth: clip.avi and truth.json.gz. The seed decides everything.

    training/clip.py --device cuda --over 3 --out clip
    training/clip.py --every 12 --over 1 --sheet sheet.png      # a look at it
"""

import argparse
import gzip
import json
import math
import pathlib

import numpy as np
import torch

import avi
import compose
import describe
import furniture
import model
import people
import performance
import sheet

WIDTH, HEIGHT, HFOV = 640, 480, 60.0
FORMAT = "facetrack-truth-1"

# Seeds of faces that are clear and unlike each other, and what is to be otherwise about them. They are others when people.py draws its
# numbers in another order; then these have to be chosen anew.
CAST = [
    dict(seed=6, shirt=(0.40, 0.27, 0.09), shirt_two=(0.36, 0.24, 0.08), lean=(0, 10, 0)),
    dict(seed=4, shirt=(0.10, 0.14, 0.11), shirt_two=(0.09, 0.125, 0.10), lean=(0, -10, 0), oil=0.4, rim=0.14, rim_colour=(0.04, 0.035, 0.035)),
]
ROOM = 18


def member(seed, **otherwise):
    who = people.person(describe.generator(seed, 7))
    who.update(
        front=people.NOTHING, mask=0.0, hat=people.NO_HAT, tint=0.0, reflection=0.15, moles=0.2, pattern=np.zeros(5), bare=0.0,
        arms=[[0.03, 0.0, 0.0, -1.0]] * 2, collar=-0.6, fray=0.2, wisps=0.15,
    )
    who.update(otherwise)
    return who


def room(seed=ROOM):
    """A room out of focus, a window to the right behind the camera."""
    rng = describe.generator(seed, 8)
    where = describe.around(rng)
    where.update(furniture.room(rng))
    sky = np.array([0.62, 0.63, 0.65])
    lamps = np.array([[0.6, -0.5, -0.8], [-0.8, -0.4, 0.5], [-0.7, -0.2, -0.8]])
    where.update(
        lamp_direction=lamps / np.linalg.norm(lamps, axis=1, keepdims=True), lamp_colour=[[0.85, 0.79, 0.71], [0.35, 0.38, 0.45], [0.13, 0.12, 0.11]],
        lamp_soft=4.5, sky=sky, ground=sky * 0.55, side_light=sky * 0.25, side_direction=[-0.9, -0.1, -0.4],
        clutter=np.zeros_like(where["clutter"]), limbs=np.zeros_like(where["limbs"]), lures=np.zeros_like(where["lures"]), back_blur=2.4, back_light=0.9,
        blur=0.35, motion=0.0, exposure=0.1, cast=[1, 1, 1], shot=0.003, read=0.001, grain=0.4, contrast=1.0, saturation=1.0, gamma=1.0, shoulder=0.6,
        sharpen=0.1, vignette=0.12, haze=0.0, distortion=0.0, scale=1.0, quality=1.0, dead=0.0,
        infrared=0.0, flicker=np.zeros(3), colours=0.0, centre=[0.5, 0.5], focal=focal() / HEIGHT, nobody=0.0,
    )
    return where


def focal():
    return WIDTH / 2 / math.tan(math.radians(HFOV / 2))


def described(seed, fps):
    """A description for each frame, as describe.scene gives them."""
    where, cast = room(), [member(**c) for c in CAST]
    parts = performance.parts(seed, fps)
    for i in range(len(parts[0].t)):
        # The camera's noise alone is another in each frame.
        yield [describe.tidy({**who, **part.at(i)}) for who, part in zip(cast, parts)], describe.tidy({**where, "seed": i})


def rounded(values, digits):
    return np.round(np.asarray(values, np.float64), digits).tolist()


def person(identity, known):
    """One person of a frame; the documentation of package truth says what each is."""
    k = {name: value[0].cpu().numpy() for name, value in known.items()}
    return dict(
        id=identity, box=rounded(k["box"], 2), shown=round(float(k["shown"]), 3), five=rounded(k["five"], 2), points=rounded(k["points"][:68], 2),
        hidden=np.flatnonzero(~k["visible"][:68]).tolist(), coefficients=rounded(k["coefficients"], 3),
        pose=rounded(k["pose"], 2), position=rounded(k["position"], 2), gaze=dict(left=rounded(k["gaze"][0], 2), right=rounded(k["gaze"][1], 2)),
    )


def render(args):
    """Pictures [H,W,3] and for each frame its people."""
    renderer = compose.Renderer(args.pack, args.device, args.over)
    frames = list(described(args.seed, args.fps))[:: args.every]
    pictures, truths, exposure = [], [], None
    with torch.no_grad():
        for start in range(0, len(frames), args.batch):
            images, faces, metered = renderer.arranged(frames[start : start + args.batch], WIDTH, HEIGHT, exposure)
            # One exposure throughout: a camera whose own follows the faces would flicker.
            exposure = metered[:1] if exposure is None else exposure
            pictures += [image.permute(1, 2, 0).cpu().numpy() for image in images]
            truths += [[person(i + 1, known) for i, known in enumerate(each)] for each in faces]
            print(f"{len(pictures)} of {len(frames)} frames", flush=True)
    return pictures, truths


def encode(pictures, fps, most):
    """The clip in the best quality that most bytes allow."""
    for quality in range(95, 20, -3):
        clip = avi.file([avi.jpeg(p, quality) for p in pictures], WIDTH, HEIGHT, fps)
        if len(clip) <= most:
            print(f"JPEG quality {quality}, {len(clip)} bytes")
            return clip
    raise SystemExit(f"clip.py: {len(pictures)} frames do not fit into {most} bytes; allow more with --bytes")


def write(args, pictures, truths):
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    fps = args.fps / args.every
    (out / "clip.avi").write_bytes(encode(pictures, fps, args.bytes))
    head = dict(format=FORMAT, width=WIDTH, height=HEIGHT, fps=fps, focal=round(focal(), 3))
    lines = ",\n".join(json.dumps(t, separators=(",", ":")) for t in truths)
    text = json.dumps(head)[:-1] + ', "frames": [\n' + lines + "\n]}\n"
    (out / "truth.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", help="ict_facekit.npz; found in FACETRACK_ASSETS or shared/assets without it")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=0, help="of what happens; who they are stays")
    parser.add_argument("--over", type=int, default=2, help="pixels are drawn so many times finer along each side")
    parser.add_argument("--batch", type=int, default=4, help="frames drawn together")
    parser.add_argument("--fps", type=float, default=25)
    parser.add_argument("--every", type=int, default=1, help="only each so many-th frame")
    parser.add_argument("--bytes", type=int, default=2_750_000, help="of the clip, at most")
    parser.add_argument("--out", default="clip", help="folder for clip.avi and truth.json.gz")
    parser.add_argument("--sheet", help="a contact sheet instead of the clip")
    return parser.parse_args()


def main():
    args = arguments()
    if not (args.pack or model.default_pack()):
        raise SystemExit("clip.py: no ict_facekit/ict_facekit.npz in FACETRACK_ASSETS or shared/assets; name it with --pack")
    pictures, truths = render(args)
    if not args.sheet:
        write(args, pictures, truths)
        return
    drawn = [sheet.picture(torch.as_tensor(p).permute(2, 0, 1)) for p in pictures]
    sheet.tiled(drawn, 4).save(args.sheet)


if __name__ == "__main__":
    main()
