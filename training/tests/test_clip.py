import gzip
import io
import json
import pathlib
import struct
import tempfile
import types
import unittest

import numpy as np
from PIL import Image

from tests import helpers

import arkit
import avi
import clip
import performance


class Acting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.parts = performance.parts(0, 25)

    def test_the_same_seed_gives_the_same_performance(self):
        again, other = performance.parts(0, 25), performance.parts(1, 25)
        self.assertTrue((again[0].pose == self.parts[0].pose).all() and (again[1].coefficients == self.parts[1].coefficients).all())
        self.assertTrue((other[0].coefficients != self.parts[0].coefficients).any())

    def test_it_moves_smoothly_also_from_the_end_to_the_beginning(self):
        for part in self.parts:
            for values, most in ((part.pose, 6.5), (part.position, 1.5), (part.coefficients[:, 1:], 0.85), (part.gaze, 32)):
                steps = np.abs(values - np.roll(values, 1, 0)).reshape(len(values), -1).max(1)
                self.assertLess(steps.max(), most)
                self.assertLessEqual(steps[0], np.sort(steps)[-2])
            turns = np.diff(part.pose, 2, axis=0)
            self.assertLess(np.abs(turns).max(), 3)

    def test_values_are_what_faces_have(self):
        for part in self.parts:
            self.assertTrue(((part.coefficients >= 0) & (part.coefficients <= 1)).all())
            self.assertLess(np.abs(part.gaze).max(), 30)
            self.assertLess(np.abs(part.pose[:, 1]).max(), 50)

    def test_they_do_what_the_script_says(self):
        for part in self.parts:
            self.assertGreater(np.ptp(part.pose[:, 1]), 25)
            self.assertGreater(np.ptp(part.position[:, 2]), 6)
            self.assertGreater(part.coefficients[:, arkit.INDEX["eyeBlinkLeft"]].max(), 0.9)
            self.assertGreater(part.coefficients[:, arkit.INDEX["mouthSmileLeft"]].max(), 0.4)
            jaw, silent = part.coefficients[:, arkit.INDEX["jawOpen"]], part.talking == 0
            self.assertGreater(jaw[~silent].mean(), 2 * jaw[silent].mean())
        self.assertLess((self.parts[0].talking * self.parts[1].talking).max(), 0.5)

    def test_eyes_and_head_meet_at_the_camera(self):
        part = self.parts[0]
        turn = performance.rotation("y", -part.pose[:, 1]) @ performance.rotation("x", -part.pose[:, 0]) @ performance.rotation("z", -part.pose[:, 2])
        look = (turn @ performance.direction(*part.gaze.mean(1).T)[..., None])[..., 0]
        eyes = part.position + turn @ performance.EYES
        at = int(2.8 * 25)  # she has looked there for a while
        cosine = -(look[at] * eyes[at]).sum() / np.linalg.norm(eyes[at])
        self.assertGreater(cosine, np.cos(np.radians(4)))


class Files(unittest.TestCase):
    def pictures(self):
        x = np.linspace(0, 255, 32)
        return [np.uint8(np.stack(np.broadcast_arrays(x[None] * (i + 1) / 3, x[:24, None], 40), -1)) for i in range(3)]

    def test_avi(self):
        shot = self.pictures()
        data = avi.file([avi.jpeg(p, 95) for p in shot], 32, 24, 25)
        self.assertEqual(struct.unpack("<4sI4s", data[:12]), (b"RIFF", len(data) - 8, b"AVI "))
        movi, index = data.index(b"movi"), data.index(b"idx1")
        entries = [struct.unpack("<4sIII", data[index + 8 + 16 * i :][:16]) for i in range(3)]
        for (name, _, at, size), p in zip(entries, shot):
            self.assertEqual((name, data[movi + at :][:8]), (b"00dc", b"00dc" + struct.pack("<I", size)))
            back = np.asarray(Image.open(io.BytesIO(data[movi + at + 8 :][:size])))
            self.assertLess(np.abs(back.astype(int) - p).mean(), 4)

    def test_quality_gives_way_to_size(self):
        noise = [np.random.default_rng(0).integers(0, 255, (480, 640, 3), dtype=np.uint8)]
        large, small = clip.encode(noise, 25, 10**7), clip.encode(noise, 25, 200_000)
        self.assertGreater(len(large), len(small))
        self.assertLessEqual(len(small), 200_000)
        with self.assertRaises(SystemExit):
            clip.encode(noise, 25, 1000)


@helpers.needs_pack
class Rendered(unittest.TestCase):
    def test_two_people_and_their_truth(self):
        with tempfile.TemporaryDirectory() as folder:
            args = types.SimpleNamespace(pack=helpers.PACK, device="cpu", over=1, batch=2, seed=0, fps=25, every=90, bytes=10**6, out=folder)
            pictures, truths = clip.render(args)
            clip.write(args, pictures, truths)
            known = json.loads(gzip.decompress((pathlib.Path(folder) / "truth.json.gz").read_bytes()))
        self.assertEqual((len(pictures), pictures[0].shape), (2, (480, 640, 3)))
        self.assertEqual((known["format"], known["width"], known["height"], len(known["frames"])), (clip.FORMAT, 640, 480, 2))
        for frame in known["frames"]:
            self.assertEqual([p["id"] for p in frame], [1, 2])
            self.assertLess(frame[0]["box"][0], frame[1]["box"][0])
            for p in frame:
                self.assertEqual([len(p[k]) for k in ("box", "five", "points", "coefficients", "pose", "position")], [4, 5, 68, 52, 3, 3])
                self.assertGreater(p["shown"], 0.7)
                middle = np.float64(p["position"][:2]) / p["position"][2] * known["focal"] + [320, 240]
                self.assertTrue((middle > p["box"][:2]).all() and (middle < np.add(p["box"][:2], p["box"][2:])).all())


if __name__ == "__main__":
    unittest.main()
