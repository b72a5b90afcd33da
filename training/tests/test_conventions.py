import pathlib
import re
import unittest

import numpy as np
import torch

from tests import helpers

import arkit
import camera
import expression
import geometry

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def one(*angles):
    return geometry.head_rotation(*(torch.tensor([float(a)]) for a in angles))[0]


class Conventions(unittest.TestCase):
    def test_names_are_those_of_the_program(self):
        source = (ROOT / "vision/blendshapes.go").read_text()
        body = source.split("BlendshapeNames = [52]string{")[1].split("\n}")[0]
        self.assertEqual(re.findall(r'"(\w+)"', body), arkit.NAMES)

    def test_angles_as_package_track_has_them(self):
        nose = torch.tensor([0.0, 0, -1])
        self.assertGreater(float((one(0, 30, 0) @ nose)[0]), 0.4)  # yaw > 0: the nose moves to image right
        self.assertLess(float((one(30, 0, 0) @ nose)[1]), -0.4)  # pitch > 0: to image top
        crown = torch.tensor([0.0, -1, 0])
        self.assertLess(float((one(0, 0, 30) @ crown)[0]), -0.4)  # roll > 0: the top moves to image left

    def test_angles_come_back(self):
        for angles in ((0, 0, 0), (20, -75, 30), (-40, 120, -60)):
            back = geometry.angles(one(*angles)[None])
            np.testing.assert_allclose([float(a) for a in back], angles, atol=1e-3)

    def test_projection(self):
        p = geometry.project(torch.tensor([[[2.0, -1, 10]]]), torch.tensor([100.0]), torch.tensor([[32.0, 24]]))
        np.testing.assert_allclose(p[0, 0].numpy(), [52, 14, 10])

    def test_every_coefficient_has_shapes_of_the_kit(self):
        kit = [n for n in KIT.split()]
        m = arkit.matrix(kit)
        self.assertEqual([arkit.NAMES[i] for i in np.flatnonzero(m.sum(1) == 0)], ["_neutral"])
        self.assertEqual([kit[j] for j in np.flatnonzero(m.sum(0) == 0)], ["PupilDilate_L", "PupilDilate_R"])

    def test_neutral_is_what_others_leave(self):
        v = np.zeros(52, np.float32)
        self.assertEqual(arkit.with_neutral(v)[0], 1)
        v[arkit.INDEX["jawOpen"]] = 0.75
        self.assertEqual(arkit.with_neutral(v)[0], 0.25)

    def test_lids_follow_the_gaze(self):
        v = np.zeros(52, np.float32)
        expression.look(v, np.float32([[13.5, 17.5], [-33, 17.5]]))
        named = {arkit.NAMES[i]: round(float(v[i]), 3) for i in np.flatnonzero(v)}
        self.assertEqual(named, {"eyeLookUpLeft": 0.5, "eyeLookOutLeft": 0.5, "eyeLookDownRight": 1.0, "eyeLookInRight": 0.5})

    def test_points_follow_the_lens(self):
        image = torch.zeros(1, 3, 96, 128)
        image[:, :, 20, 100] = 1
        for k in (-0.12, 0.1):
            k = torch.tensor([k])
            warped = camera.warp(torch.nn.functional.avg_pool2d(image, 3, 1, 1), k)[0, 0]
            y, x = torch.meshgrid(torch.arange(96.0), torch.arange(128.0), indexing="ij")
            found = torch.stack([(warped * x).sum(), (warped * y).sum()]) / warped.sum() + 0.5
            said = camera.distort(torch.tensor([[[100.5, 20.5]]]), k, 96, 128)[0, 0]
            self.assertLess(float((found - said).norm()), 0.15)


KIT = """PupilDilate_L PupilDilate_R browDown_L browDown_R browInnerUp_L browInnerUp_R browOuterUp_L browOuterUp_R cheekPuff_L cheekPuff_R
cheekRaiser_L cheekRaiser_R cheekSquint_L cheekSquint_R eyeBlink_L eyeBlink_R eyeLookDown_L eyeLookDown_R eyeLookIn_L eyeLookIn_R
eyeLookOut_L eyeLookOut_R eyeLookUp_L eyeLookUp_R eyeSquint_L eyeSquint_R eyeWide_L eyeWide_R jawForward jawLeft jawOpen jawRight mouthClose
mouthDimple_L mouthDimple_R mouthFrown_L mouthFrown_R mouthFunnel mouthLeft mouthLowerDown_L mouthLowerDown_R mouthPress_L mouthPress_R
mouthPucker mouthRight mouthRollLower mouthRollUpper mouthShrugLower mouthShrugUpper mouthSmile_L mouthSmile_R mouthStretch_L mouthStretch_R
mouthUpperUp_L mouthUpperUp_R noseSneer_L noseSneer_R"""

if __name__ == "__main__":
    unittest.main()
