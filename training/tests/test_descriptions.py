import threading
import unittest

import numpy as np
import torch

from tests import helpers

import arkit
import backdrop
import camera
import clutter
import describe
import furniture
import interior
import noise
import surroundings
import truth


def flat(values):
    return np.concatenate([np.ravel(values[k]) for k in sorted(values)])


class Descriptions(unittest.TestCase):
    def test_the_same_seed_gives_the_same_description(self):
        for index in range(5):
            a, b, c = describe.crop(3, index), describe.crop(3, index), describe.crop(4, index)
            self.assertTrue(all((flat(x) == flat(y)).all() for x, y in zip(a, b)))
            self.assertTrue((flat(a[0]) != flat(c[0])).any())
        first, second = describe.scene(3, 7), describe.scene(3, 7)
        self.assertTrue(all((flat(x) == flat(y)).all() for x, y in zip(first[0], second[0])))

    def test_ranges(self):
        poses = []
        for index in range(300):
            who, where = describe.crop(0, index)
            self.assertTrue(np.isfinite(flat(who)).all() and np.isfinite(flat(where)).all())
            self.assertTrue((who["coefficients"] >= 0).all() and (who["coefficients"] <= 1).all())
            self.assertLessEqual(np.abs(who["identity"]).max(), 2.31)
            self.assertLessEqual(who["coefficients"][arkit.INDEX["mouthClose"]], who["coefficients"][arkit.INDEX["jawOpen"]])
            poses.append(who["pose"])
        self.assertGreater(np.abs(poses)[:, 1].max(), 75)

    def test_every_shape_occurs(self):
        total = sum(describe.crop(1, i)[0]["coefficients"] > 0.2 for i in range(600))
        self.assertEqual([arkit.NAMES[i] for i in np.flatnonzero(total == 0)], [])

    def test_scenes_have_none_to_ten_from_far_to_near(self):
        counts = []
        for index in range(200):
            members, _ = describe.scene(0, index)
            z = [m["position"][2] for m in members]
            self.assertEqual(z, sorted(z, reverse=True))
            counts.append(len(members))
        self.assertEqual(min(counts), 0)
        self.assertGreater(max(counts), 5)
        self.assertLessEqual(max(counts), 10)

    def test_half_of_the_faces_of_scenes_are_small(self):
        sizes = []
        for index in range(200):
            members, where = describe.scene(0, index)
            sizes += [480 * where["focal"] * describe.FACE_HEIGHT / m["position"][2] for m in members]
        sizes = np.array(sizes)
        self.assertGreater(sizes.min(), 15.9)
        self.assertTrue(0.45 < (sizes <= 70).mean() < 0.75)
        self.assertGreater((sizes > 160).mean(), 0.04)

    def test_points_file(self):
        d = truth.definition()
        points = d["points"]
        self.assertEqual(d["name"], f"facetrack-ict-{len(points)}")
        mirror = [p["mirror"] for p in points]
        self.assertEqual([mirror[m] for m in mirror], list(range(len(points))))
        self.assertEqual([p["name"] for p in points[:68]], [f"landmark {i}" for i in range(68)])
        vertices = [p["vertex"] for p in points if "vertex" in p]
        self.assertEqual(len(vertices), len(set(vertices)))


class Noise(unittest.TestCase):
    def test_threads_that_come_together_make_the_tiles_once(self):
        noise._bank.cache_clear()
        start, got = threading.Barrier(4), []

        def ask():
            start.wait()
            got.append(noise.bank(torch.device("cpu")))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(noise._bank.cache_info().misses, 1)
        self.assertTrue(all(g is got[0] for g in got) and len(got) == 4)


class Pictures(unittest.TestCase):
    def around(self, n=3):
        return describe.stack([describe.crop(5, i)[1] for i in range(n)], "cpu")

    def test_backgrounds_and_cameras(self):
        w = self.around()
        back = backdrop.make(w, 48, 64)
        self.assertEqual(tuple(back.shape), (3, 3, 48, 64))
        self.assertTrue(torch.isfinite(back).all() and (back >= 0).all())
        shot = camera.photograph(back, w, torch.full((3,), 0.2))
        self.assertEqual(shot.dtype, torch.uint8)
        self.assertTrue(torch.equal(shot, camera.photograph(back, w, torch.full((3,), 0.2))))

    def test_a_picture_does_not_depend_on_its_batch(self):
        w = self.around()
        back = backdrop.make(w, 48, 64)
        alone = {k: v[1:2] for k, v in w.items()}
        together = camera.photograph(back, w, torch.full((3,), 0.2))[1:2].int()
        single = camera.photograph(back[1:2], alone, torch.full((1,), 0.2)).int()
        self.assertLessEqual(int((together - single).abs().max()), 3)

    def test_a_codec_of_full_quality_changes_nothing(self):
        image = torch.rand(1, 3, 24, 40)
        self.assertTrue(torch.equal(camera.compress(image, {"quality": torch.ones(1), "dead": torch.zeros(1)}), image))
        lossy = camera.compress(image, {"quality": torch.full((1,), 0.5), "dead": torch.zeros(1)})
        self.assertGreater(float((lossy - image).abs().mean()), 0.005)

    def test_video_drops_more_detail(self):
        image = torch.rand(1, 3, 24, 40, generator=torch.Generator().manual_seed(1))
        left = [float(camera.compress(image, {"quality": torch.full((1,), 0.2), "dead": torch.full((1,), d)}).std()) for d in (0.0, 0.4)]
        self.assertLess(left[1], 0.95 * left[0])

    def test_small_originals(self):
        x = torch.linspace(0, 1, 64).reshape(1, 1, 1, 64).expand(2, 3, 32, 64)
        p = dict(scale=torch.tensor([0.37, 1.0]))
        again = camera.enlarge(camera.shrink(x, p), p)
        # Places stay where they are; only the borders are flat.
        self.assertLess(float((again - x)[0, ..., 4:-4].abs().max()), 0.02)
        self.assertLess(float((again - x)[1].abs().max()), 1e-3)
        noise = torch.rand(2, 3, 32, 64, generator=torch.Generator().manual_seed(1))
        kept = camera.enlarge(camera.shrink(noise, p), p).std((1, 2, 3)) / noise.std((1, 2, 3))
        self.assertLess(float(kept[0]), 0.6)
        self.assertGreater(float(kept[1]), 0.95)

    def test_few_colours(self):
        image = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
        out = camera.few_colours(image, dict(colours=torch.tensor([4.0, 0.0])))
        self.assertEqual(len(out[0].unique()), 4)
        self.assertAlmostEqual(float(out[0].mean()), float(image[0].mean()), delta=0.02)
        self.assertTrue(torch.equal(out[1], image[1]))

    def test_lures_are_drawn(self):
        s = torch.tensor([[0.5, 0.5, 0.3, 0.3, 0, 0.5, 1, 1, 1]])
        x, y = backdrop.canvas(32, 32, "cpu")
        image = backdrop.lured(torch.zeros(1, 3, 32, 32), s, x, y)[0, 0]
        self.assertLess(float(image[14, 12]), 0.6 * float(image[16, 16]))
        self.assertEqual(float(image[0, 0]), 0)

    def test_limbs_are_drawn_where_they_are(self):
        limbs = torch.zeros(1, surroundings.LIMBS, 6)
        limbs[0, 0] = torch.tensor([0.2, 0.5, 0.8, 0.5, 0.1, 0])
        p = dict(limbs=limbs, limb_colour=torch.ones(1, 3), lamp_direction=torch.tensor([[[0.0, 0, -1]]]))
        x, y = backdrop.canvas(32, 32, "cpu")
        image = backdrop.limbed(p, torch.zeros(1, 3, 32, 32), x, y)[0, 0]
        self.assertTrue(bool((image[14:18, 4:28] > 0.2).all()) and not bool(image[:10].any()))

    def test_things_of_all_sizes_and_the_same_ones_again(self):
        p = dict(clutter=torch.ones(2, clutter.LEVELS), clutter_seed=torch.tensor([5.0, 6.0]), clutter_scale=torch.ones(2), leafy=torch.zeros(2),
                 palette=torch.rand(2, 8, 3) + 0.5, clutter_kinds=torch.zeros(2, 4))
        x, y = backdrop.canvas(64, 96, "cpu")
        nothing = torch.zeros(2, 3, 64, 96)
        image = clutter.scatter(p, nothing, x, y, 1.5)
        self.assertGreater(float((image.sum(1) > 0).float().mean()), 0.7)
        self.assertFalse(torch.allclose(image[0], image[1]))
        torch.testing.assert_close(image[1:], clutter.scatter({k: v[1:] for k, v in p.items()}, nothing[1:], x, y, 1.5))
        self.assertTrue(torch.equal(clutter.scatter(dict(p, clutter=0 * p["clutter"]), nothing, x, y, 1.5), nothing))

    def test_a_wall_ahead_is_seen_through_the_lens(self):
        room = torch.zeros(1, furniture.SIDES, furniture.COLUMNS)
        room[0, 0, :12] = torch.tensor([0.0, 0, 4, 1, 0, 0, 0, 1, 0, 1, 1, 1])
        p = dict(room=room, room_view=torch.zeros(1, 3), room_lamp=torch.zeros(1, 3), focal=torch.tensor([1.0]), centre=torch.tensor([[0.5, 0.5]]))
        x, y = backdrop.canvas(40, 40, "cpu")
        seen = interior.draw(p, torch.zeros(1, 3, 40, 40), x, y, 1.0)[0, 0] > 0
        self.assertEqual(seen.sum().item(), 20 * 20)
        self.assertTrue(bool(seen[10:30, 10:30].all()))

    def test_of_two_sides_the_nearer_is_seen(self):
        sides = torch.zeros(1, 12, 9)
        for i, z in ((2, 3.0), (10, 2.0)):
            sides[0, i] = torch.tensor([0, 0, z, 1, 0, 0, 0, 1, 0])
        t, index, _, _ = interior.nearest(sides, torch.tensor([0.0, 0, 1]).reshape(1, 3, 1, 1))
        self.assertEqual((float(t), int(index)), (2, 10))


if __name__ == "__main__":
    unittest.main()
