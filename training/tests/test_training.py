import json
import pathlib
import tempfile
import unittest

import numpy as np
import torch

from tests import drawn, helpers  # noqa: F401

import export
import train


def arguments(folder, kind, *more):
    common = ["--steps", "24", "--batch", "16", "--chunk", "16", "--every", "2", "--window", "3", "--size", "64", "--wide", "0.25", "--held", "1", "--device", "cpu"]
    return train.arguments([kind, "--out", str(folder), *common, *more])


def trained(folder, kind, *more, crops=drawn.Crops):
    training = train.Training(arguments(folder, kind, *more), crops() if kind == "face" else drawn.Scenes())
    training.run()
    return training


def lines(folder):
    return [json.loads(line) for line in (pathlib.Path(folder) / "log.jsonl").read_text().splitlines()]


class Pieces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)

    def test_stopping_changes_nothing(self):
        for kind in ("face", "detector"):
            with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
                whole = trained(a, kind)
                trained(b, kind, "--until", "9")
                pieces = trained(b, kind)
                self.assertEqual(pieces.step, 24)
                for net in ("net", "average"):
                    for name, value in getattr(whole, net).state_dict().items():
                        self.assertTrue(torch.equal(value, getattr(pieces, net).state_dict()[name]), f"{kind} {net} {name}")

    def test_losses_fall(self):
        for kind in ("face", "detector"):
            with tempfile.TemporaryDirectory() as folder:
                trained(folder, kind, "--steps", "100", "--rate", "0.004", crops=drawn.PlainCrops)
                losses = [line["loss"] for line in lines(folder) if "loss" in line]
                self.assertEqual(len(losses), 2)
                self.assertLess(losses[-1], 0.85 * losses[0], f"{kind}: {losses}")

    def test_minutes_end_a_piece(self):
        with tempfile.TemporaryDirectory() as folder:
            training = trained(folder, "face", "--minutes", "0")
            self.assertEqual(training.step, 0)
            self.assertFalse(lines(folder)[-1]["done"])

    def test_a_folder_belongs_to_one_network(self):
        with tempfile.TemporaryDirectory() as folder:
            trained(folder, "face", "--until", "1")
            with self.assertRaisesRegex(SystemExit, "wide"):
                trained(folder, "face", "--wide", "0.5")

    def test_broken_sources_end_the_training(self):
        class Broken(drawn.Crops):
            def chunk(self, *_):
                raise ValueError("no picture")

        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "no picture"):
            train.Training(arguments(folder, "face"), Broken()).run()


class Export(unittest.TestCase):
    def test_folding_changes_nothing(self):
        for kind in ("face", "detector"):
            net = export.random_network(kind, 3, 64)
            image = torch.rand(1, 3, 64, 64)
            with torch.no_grad():
                before, after = net(image), export.fold(net)(image / net.input_scale)
            for name, a, b in zip(net.names(), before, after):
                scale = net.output_scales.get(name, 1)
                np.testing.assert_allclose((a * scale).numpy(), b.numpy(), rtol=1e-3, atol=2e-4 * scale, err_msg=name)

    def test_weights_take_half_of_the_space(self):
        net = export.halve(export.fold(export.random_network("face", 1)))
        size = len(export.onnx(net))
        self.assertLess(size, 1.5e6)
        self.assertLess(size, 0.52 * len(export.onnx(net, half=False)))

    def test_average_of_a_training(self):
        with tempfile.TemporaryDirectory() as folder:
            training = trained(folder, "detector", "--until", "2")
            net = export.trained_network("detector", pathlib.Path(folder) / "state.pt")
            for a, b in zip(net.state_dict().values(), training.average.state_dict().values()):
                self.assertTrue(torch.equal(a, b))
