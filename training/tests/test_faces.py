import unittest

import numpy as np
import torch

from tests import helpers

import arkit
import compose
import describe
import fields
import geometry
import model
import people
import props


class Meshes(unittest.TestCase):
    """Without the pack: the parts of the head that are arithmetic."""

    def test_quads_and_triangles(self):
        quads = np.array([[0, 1, 2, 3], [4, 5, 6, -1]])
        triangles, material = model.triangulate(quads, np.array([7, 8]))
        self.assertEqual(triangles.tolist(), [[0, 1, 2], [4, 5, 6], [0, 2, 3]])
        self.assertEqual(material.tolist(), [7, 8, 7])

    def test_a_floor_under_a_roof_is_less_open(self):
        def plate(y, n=5):
            g = np.linspace(-4, 4, n)
            return np.float32([[x, y, z] for x in g for z in g])
        quads = [[i * 5 + j, i * 5 + j + 1, i * 5 + j + 6, i * 5 + j + 5] for i in range(4) for j in range(4)]
        one = np.concatenate([np.array(quads)[:, [0, 1, 2]], np.array(quads)[:, [0, 2, 3]]])
        both = np.concatenate([one[:, ::-1], one[:, ::-1] + 25]).astype(np.int32)
        free = fields.openness(plate(0), both[:32])
        roofed = fields.openness(np.concatenate([plate(0), plate(-2)]), both)
        self.assertGreater(max(free[12], 1 - free[12]), 0.5)
        self.assertNotAlmostEqual(float(free[12]), float(roofed[12]), places=1)

    def test_signed_distance_to_lips(self):
        ring = np.float32([[np.cos(a), np.sin(a), -5] for a in np.linspace(0, 2 * np.pi, 12, endpoint=False)])
        d = fields.lips(np.float32([[0, 0, -5], [3, 0, -5]]), ring)
        self.assertAlmostEqual(float(d[0]), 1, delta=0.05)
        self.assertAlmostEqual(float(d[1]), -2, delta=0.05)


@helpers.needs_pack
class Faces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.renderer = compose.Renderer(helpers.PACK, "cpu", 1)
        cls.head = cls.renderer.stock.head

    def test_landmarks_stand_where_faces_have_them(self):
        p = self.head.neutral[self.head.landmark68]
        self.assertLess(float(p[36, 0]), 0)  # point 36 is of the subject's right eye, image left
        self.assertGreater(float(p[8, 1]), float(p[30, 1]))  # the chin is below the nose
        self.assertEqual(int(p[:, 2].argmin()), 30)  # whose tip is foremost

    def test_eyes_turn_by_what_is_said(self):
        shape = self.head.shape(torch.zeros(1, 100))
        gaze = torch.tensor([[[10.0, 25.0], [-20.0, 5.0]]])
        moved = self.head.move(shape, torch.zeros(1, 52), gaze)
        for side in (0, 1):
            centre, _ = self.head.eye(shape, side)
            ball = moved[0, self.head.balls[side]] - centre
            apex = self.head.neutral[self.head.balls[side]][:, 2].argmin()
            still = self.head.neutral[self.head.balls[side]][apex] - self.head.centres[side]
            turn = geometry.rotation("y", -gaze[:, side, 1]) @ geometry.rotation("x", -gaze[:, side, 0])
            torch.testing.assert_close(ball[apex], (turn[0] @ still), atol=1e-4, rtol=0)

    def test_jaw_and_lids(self):
        shape = self.head.shape(torch.zeros(1, 100))
        def gap(name, upper, lower):
            c = torch.zeros(1, 52)
            c[0, arkit.INDEX[name]] = 1
            p = self.head.move(shape, c, torch.zeros(1, 2, 2))[0, self.head.landmark68]
            return float(p[lower, 1] - p[upper, 1])
        self.assertGreater(gap("jawOpen", 62, 66), 2)
        self.assertLess(gap("eyeBlinkLeft", 43, 47), 0.25)
        self.assertGreater(gap("eyeBlinkRight", 43, 47), 0.4)

    def plain(self, seed, count):
        """Crops of a face with nothing before it."""
        def shows(i):
            who, where = describe.crop(seed, i)
            return not (where["nobody"] or who["front"] or who["mask"] or abs(who["pose"][1]) > 60)
        return [i for i in range(100) if shows(i)][:count]

    def test_pictures_and_truth(self):
        with torch.no_grad():
            chosen = self.plain(7, 2)
            images, known = self.renderer.crops(7, chosen, 96)
            again, _ = self.renderer.crops(7, chosen[:1], 96)
        self.assertEqual(tuple(images.shape), (2, 3, 96, 96))
        self.assertLessEqual(int((images[0].int() - again[0].int()).abs().max()), 3)
        self.assertGreater(float(images.float().std()), 5)
        n = self.renderer.points.count
        self.assertEqual(tuple(known["points"].shape), (2, n, 2))
        x, y, w, h = known["box"].unbind(1)
        self.assertTrue(((x + w / 2 - 48).abs() < 25).all() and (h > 18).all())
        self.assertTrue((known["visible"].float().mean(1) > 0.05).all())

    def test_focal_length_and_centre_project_what_they_stand_for(self):
        chosen = [i for i in range(20) if abs(describe.crop(7, i)[1]["distortion"]) == 0][:2]
        with torch.no_grad():
            _, known = self.renderer.crops(7, chosen, 96)
        for k in ({n: v[:1] for n, v in known.items()}, {n: v[1:] for n, v in known.items()}):
            again = geometry.project(k["space"], k["focal"], k["centre"])[..., :2]
            self.assertLess(float((again - k["points"]).abs().max()), 0.01)

    def test_focal_length_and_centre_in_scenes(self):
        def plain(i):
            members, where = describe.scene(1, i, 128, 96)
            return len(members) == 2 and where["distortion"] == 0
        index = next(i for i in range(200) if plain(i))
        with torch.no_grad():
            _, faces = self.renderer.scenes(1, [index], 128, 96)
        for k in faces[0]:
            again = geometry.project(k["space"], k["focal"], k["centre"])[..., :2]
            self.assertLess(float((again - k["points"]).abs().max()), 0.01)

    def test_some_crops_show_nobody(self):
        kinds = {}
        for i in range(400):
            who, where = describe.crop(3, i)
            if where["nobody"]:
                kinds.setdefault(int(who["parts"]), i)
        self.assertEqual(set(kinds), {people.WHOLE, people.CLOTHES, people.HELD, people.NONE})
        chosen = [0, *kinds.values()]
        with torch.no_grad():
            _, known = self.renderer.crops(3, chosen, 64)
        self.assertEqual(known["nobody"].tolist(), [False, True, True, True, True])
        self.assertTrue(bool(known["visible"][0].any()) and not bool(known["visible"][1:].any()))
        self.assertEqual(known["shown"][1:].tolist(), [0, 0, 0, 0])

    def test_hands_stay_below_the_chin(self):
        members = [describe.crop(4, i)[0] for i in range(64)]
        p = describe.stack(members, "cpu")
        arms = props.arms(p, "cpu")
        self.assertEqual(arms.shape[1], len(props.arms_still("cpu")))
        chin = float(self.head.neutral[self.head.landmark68[8], 1])
        self.assertGreater(float(arms[..., 1].min()), chin)

    def test_clothes_without_a_head(self):
        who, where = describe.crop(2, 0)
        w = describe.stack([where], "cpu")
        def skin(parts):
            who.update(parts=np.float32(parts), pose=np.zeros(3, np.float32), position=np.float32([0, 0, 60]), front=np.float32(0))
            with torch.no_grad():
                seen, _ = self.renderer._people([who], w, torch.tensor([150.0]), torch.tensor([[64.0, 64]]), 128)
            return float(seen.alpha[0, 0, 48:72, 56:72].mean()), float(seen.alpha.mean())
        whole, clothes, nothing = skin(people.WHOLE), skin(people.CLOTHES), skin(people.NONE)
        self.assertGreater(whole[0], 0.9)
        self.assertEqual(clothes[0], 0)
        self.assertGreater(clothes[1], 0.05)
        self.assertEqual(nothing, (0, 0))

    def test_a_profile_hides_the_far_half(self):
        known = self.posed((0, 80, 0))
        seen = known["visible"][0, :17]
        self.assertGreater(int(seen[:8].sum()), 5)
        self.assertLess(int(seen[9:].sum()), 4)

    def test_closed_lids_hide_irises(self):
        count = len(self.renderer.points.irises)
        self.assertGreater(int(self.posed((0, 0, 0))["visible"][0, -count:].sum()), 7)
        self.assertEqual(int(self.posed((0, 0, 0), eyeBlinkLeft=1, eyeBlinkRight=1)["visible"][0, -count:].sum()), 0)

    def test_from_behind_and_out_of_sight(self):
        everything = dict(hat=1, glasses=1, front=1, mask=1)
        for pose, place in (((0, 180, 0), (0, 0, 60)), ((0, 0, 0), (900, 0, 60)), ((0, 0, 0), (0, 0, -60))):
            known = self.posed(pose, place, **everything)
            self.assertFalse(known["visible"].any())

    def posed(self, pose, place=(0, 0, 60), hat=0, glasses=0, front=0, mask=0, **coefficients):
        who, where = describe.crop(2, 0)
        values = np.zeros(52, np.float32)
        for name, v in coefficients.items():
            values[arkit.INDEX[name]] = v
        who.update(pose=np.float32(pose), position=np.float32(place), identity=0 * who["identity"], coefficients=values,
                   gaze=np.zeros((2, 2), np.float32), glasses=np.float32(glasses), hat=np.float32(hat), front=np.float32(front), mask=np.float32(mask),
                   style=np.float32(0), beard_length=np.float32(0), parts=np.float32(people.WHOLE), iris_radius=np.float32(0.58))
        w = describe.stack([where], "cpu")
        with torch.no_grad():
            return self.renderer._people([who], w, torch.tensor([300.0]), torch.tensor([[64.0, 64]]), 128)[1]

    def test_scenes(self):
        index = next(i for i in range(50) if len(describe.scene(1, i, 128, 96)[0]) == 2)
        with torch.no_grad():
            images, faces = self.renderer.scenes(1, [index], 128, 96)
        self.assertEqual(tuple(images.shape), (1, 3, 96, 128))
        self.assertLessEqual(len(faces[0]), 2)


if __name__ == "__main__":
    unittest.main()
