import gzip
import json
import pathlib
import tempfile
import unittest

import torch

from tests import helpers

import compose
import holdout
import targets
import train
import truth


def made_up():
    """One face without a batch dimension, 293 points 60 cm away."""
    generator = torch.Generator().manual_seed(1)
    n = len(truth.definition()["points"])
    space = torch.randn(n, 3, generator=generator) * 4 + torch.tensor([3.0, -2, 60])
    focal, centre = torch.tensor(300.0), torch.tensor([128.0, 128])
    points = space[:, :2] / space[:, 2:] * focal + centre
    return dict(
        points=points, space=space, focal=focal, centre=centre, position=torch.tensor([3.0, -2, 60]), pose=torch.tensor([5.0, -20, 3]),
        box=torch.tensor([10.123, 20, 30, 40]), five=points[:5], shown=torch.tensor(0.8), nobody=torch.tensor(False),
        visible=torch.arange(n) % 2 == 0, coefficients=torch.linspace(0, 1, 52),
    )


class Written(unittest.TestCase):
    """Without the pack: what is written of a made-up face."""

    def test_depth_is_the_trainings_own(self):
        known = made_up()
        entry = holdout.in_crop(known)
        batch = {k: v[None] for k, v in known.items()}
        side = 100.0  # of a region, pixels: training has depth in parts of it
        focal = targets.focal_length(batch["points"], batch["space"])
        depth = (batch["space"][..., 2] - 60) * focal / 60 / side
        written = torch.tensor([p[2] for p in entry["points"]])
        self.assertLess(float((written - depth[0] * side).abs().max()), 0.01)
        self.assertLess(float((torch.tensor(entry["points"])[:, :2] - known["points"]).abs().max()), 0.006)

    def test_what_a_face_tells(self):
        known = made_up()
        scene, crop = holdout.in_scene(known), holdout.in_crop(known)
        self.assertEqual((len(scene["points"]), len(crop["points"]), len(crop["coefficients"])), (68, len(known["points"]), 52))
        self.assertEqual((scene["box"], scene["shown"], scene["nobody"]), ([10.12, 20, 30, 40], 0.8, False))
        self.assertEqual(crop["visible"], known["visible"].tolist())

    def test_the_folder(self):
        with tempfile.TemporaryDirectory() as path:
            folder = holdout.Folder(path, 90)
            folder.add("scenes", torch.full((3, 48, 64), 99, dtype=torch.uint8), dict(faces=[]))
            folder.add("crops", torch.zeros(3, 64, 64, dtype=torch.uint8), holdout.in_crop(made_up()))
            folder.close(7)
            content = json.loads(gzip.decompress(pathlib.Path(path, "truth.json.gz").read_bytes()))
            self.assertEqual((content["format"], content["seed"], content["points"]), (1, 7, "facetrack-ict-293"))
            for entry in content["scenes"] + content["crops"]:
                self.assertTrue(pathlib.Path(path, entry["file"]).is_file())

    def test_no_training_takes_its_seed(self):
        self.assertGreater(holdout.NEVER_TRAINED, 2 * train.HOLDOUT)


@helpers.needs_pack
class Rendered(unittest.TestCase):
    def test_pictures_and_truth(self):
        with tempfile.TemporaryDirectory() as path, torch.no_grad():
            args = holdout.arguments(["--out", path, "--scenes", "1", "--crops", "2", "--size", "64", "--over", "1", "--device", "cpu"])
            renderer = compose.Renderer(helpers.PACK, "cpu", 1)
            holdout.write(renderer, args)
            content = json.loads(gzip.decompress(pathlib.Path(path, "truth.json.gz").read_bytes()))
            self.assertEqual((len(content["scenes"]), len(content["crops"]), content["seed"]), (1, 2, holdout.NEVER_TRAINED))
            _, known = renderer.crops(holdout.NEVER_TRAINED, [0, 1], 64)
            for i, crop in enumerate(content["crops"]):
                self.assertLess(float((torch.tensor(crop["points"])[:, :2] - known["points"][i]).abs().max()), 0.006)
                self.assertEqual(len(crop["position"]), 3)


if __name__ == "__main__":
    unittest.main()
