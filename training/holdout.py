#!/usr/bin/env python3
"""Pictures that no training has seen, with their truth, for facetrack eval (internal/modeleval).

    training/holdout.py --scenes 400 --crops 400 --out training/out/holdout

writes scenes/*.jpg, crops/*.jpg and truth.json.gz: format, seed, points (name of the set) and lists scenes and crops. A scene has its file and faces, a crop
is a file and a face. A face has box, five, shown, nobody, pose as README.md has them, in crops also coefficients, position and visible; points
are x and y of the first 68 in scenes, in crops x, y and depth of all, px: depth is 0 at the head's origin and smaller nearer."""

import argparse
import gzip
import json
import pathlib

import torch

import compose
import model
import render
import sheet
import truth

NEVER_TRAINED = 3 << 20  # added to the seed: training takes small seeds, its own checks those from 1 << 20 on


def arguments(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--pack", help="ict_facekit.npz; found in FACETRACK_ASSETS or shared/assets without it")
    p.add_argument("--scenes", type=int, default=400)
    p.add_argument("--crops", type=int, default=400)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--size", type=int, default=256, help="of a crop, pixels")
    p.add_argument("--over", type=int, default=2, help="as in render.py")
    p.add_argument("--quality", type=int, default=93, help="of JPEG")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return p.parse_args(argv)


def numbers(values, digits=2):
    """A tensor as rounded lists."""
    scale = 10**digits
    return (values.detach().double().cpu() * scale).round().div(scale).tolist()


def any_face(known):
    """What scenes and crops tell of a face without a batch dimension."""
    return dict(
        box=numbers(known["box"]), five=numbers(known["five"]), shown=numbers(known["shown"], 3), nobody=bool(known["nobody"]),
        pose=numbers(known["pose"]),
    )


def in_scene(known):
    return dict(any_face(known), points=numbers(known["points"][:68]))


def in_crop(known):
    nearness = (known["space"][:, 2] - known["position"][2]) * (known["focal"].reshape(()) / known["position"][2])
    return dict(
        any_face(known), points=numbers(torch.cat([known["points"], nearness[:, None]], -1)), visible=known["visible"].bool().tolist(),
        coefficients=numbers(known["coefficients"], 4), position=numbers(known["position"], 3),
    )


class Folder:
    """Where pictures and their truth are written."""

    def __init__(self, path, quality):
        self.path, self.quality = pathlib.Path(path), quality
        self.known = {"scenes": [], "crops": []}
        for name in self.known:
            (self.path / name).mkdir(parents=True, exist_ok=True)

    def add(self, kind, image, entry):
        name = f"{kind}/{len(self.known[kind]):04d}.jpg"
        sheet.picture(image).save(self.path / name, quality=self.quality)
        self.known[kind].append(dict(entry, file=name))

    def close(self, seed):
        content = dict(format=1, seed=seed, points=truth.definition()["name"], **self.known)
        text = json.dumps(content, separators=(",", ":"))
        (self.path / "truth.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def write(renderer, args):
    folder, seed = Folder(args.out, args.quality), args.seed + NEVER_TRAINED
    for kind, count in (("scenes", args.scenes), ("crops", args.crops)):
        asked = argparse.Namespace(seed=seed, first=0, count=count, batch=args.batch, size=args.size)
        for made in render.pictures(renderer, kind, asked):
            for image, faces in made:
                if kind == "scenes":
                    folder.add(kind, image, dict(faces=[in_scene(f) for f in faces]))
                else:
                    folder.add(kind, image, in_crop(faces[0]))
    folder.close(seed)


def main():
    args = arguments()
    if not (args.pack or model.default_pack()):
        raise SystemExit("holdout.py: no ict_facekit/ict_facekit.npz in FACETRACK_ASSETS or shared/assets; name it with --pack")
    if args.device == "cpu":
        torch.set_num_threads(1)
    with torch.no_grad():
        write(compose.Renderer(args.pack, args.device, args.over), args)
    print(args.out)


if __name__ == "__main__":
    main()
