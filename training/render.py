#!/usr/bin/env python3
"""Contact sheets of random faces and scenes, with and without the truth drawn in, and how long a picture takes.

    training/render.py crops --count 24 --seed 1 --out crops.png
    training/render.py scenes --count 6 --overlay --out scenes.png
"""

import argparse
import time

import torch

import compose
import model
import sheet


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["crops", "scenes", "time"])
    parser.add_argument("--pack", help="ict_facekit.npz; found in FACETRACK_ASSETS or shared/assets without it")
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--first", type=int, default=0, help="index of the first picture")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=256, help="of a crop, pixels")
    parser.add_argument("--over", type=int, default=2, help="pixels are drawn so many times finer along each side")
    parser.add_argument("--columns", type=int, default=6)
    parser.add_argument("--zoom", type=int, default=1)
    parser.add_argument("--overlay", action="store_true")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", default="sheet.png")
    return parser.parse_args()


def batches(args):
    indices = list(range(args.first, args.first + args.count))
    return [indices[i : i + args.batch] for i in range(0, len(indices), args.batch)]


def pictures(renderer, what, args):
    """Yields the pictures of each batch as a list of (bytes, faces)."""
    for indices in batches(args):
        if what == "crops":
            images, known = renderer.crops(args.seed, indices, args.size)
            yield [(images[i], [sheet.one(known, i)]) for i in range(len(indices))]
        else:
            images, faces = renderer.scenes(args.seed, indices)
            yield [(images[i], [sheet.one(f, 0) for f in faces[i]]) for i in range(len(indices))]


def synchronize(args):
    if args.device.startswith("cuda"):
        torch.cuda.synchronize()


def timed(renderer, what, args):
    """Milliseconds a picture; the first batch, which compiles and allocates, does not count."""
    starts, count = [], 0
    for made in pictures(renderer, what, args):
        synchronize(args)
        starts.append(time.monotonic())
        count += len(made) if len(starts) > 1 else 0
    return (starts[-1] - starts[0]) / max(count, 1) * 1e3


def main():
    args = arguments()
    if not (args.pack or model.default_pack()):
        raise SystemExit("render.py: no ict_facekit/ict_facekit.npz in FACETRACK_ASSETS or shared/assets; name it with --pack")
    renderer = compose.Renderer(args.pack, args.device, args.over)
    with torch.no_grad():
        if args.what == "time":
            for what in ("crops", "scenes"):
                print(f"{what}: {timed(renderer, what, args):.1f} ms a picture on {args.device}, batches of {args.batch}")
            return
        made = [p for batch in pictures(renderer, args.what, args) for p in batch]
    drawn = [sheet.overlay(i, f, zoom=args.zoom) if args.overlay else sheet.picture(i, args.zoom) for i, f in made]
    sheet.tiled(drawn, args.columns).save(args.out)
    print(args.out)


if __name__ == "__main__":
    main()
