import pathlib
import tempfile
import unittest

import torch

from tests import helpers

import count
import export
import networks
import truth

LIMIT_MACS, LIMIT_BYTES = 60e6, 1.5e6


class Networks(unittest.TestCase):
    def test_cost(self):
        for name, (kind, size) in networks.NETWORKS.items():
            macs, parameters = count.macs(kind(), size), count.parameters(kind())
            print(f"{name}: {macs / 1e6:.1f} M MAC at {size}, {parameters / 1e3:.0f} k parameters, {2 * parameters / 1e6:.2f} MB in fp16")
            self.assertLess(macs, LIMIT_MACS)
            self.assertLess(2 * parameters, LIMIT_BYTES)

    def test_counter(self):
        self.assertEqual(count.macs(torch.nn.Conv2d(3, 8, 3, 2, 1), 16), 8 * 8 * 8 * 27)
        self.assertEqual(count.macs(torch.nn.Conv2d(3, 3, 3, 1, 1, groups=3), 16), 16 * 16 * 3 * 9)

    def test_detector_has_the_outputs_that_vision_decodes(self):
        with torch.no_grad():
            made = networks.Detector().eval()(torch.rand(2, 3, 64, 96) * 255)
        for stride in networks.STRIDES:
            for name, width in networks.Head.WIDTHS.items():
                self.assertEqual(tuple(made[f"{name}_{stride}"].shape), (2, 64 * 96 // stride**2, width))

    def test_face_network_gives_every_point(self):
        self.assertEqual(networks.POINTS, len(truth.definition()["points"]))
        with torch.no_grad():
            made = networks.FaceNetwork().eval()(torch.rand(2, 3, 192, 192))
        self.assertEqual({k: v.shape[1] for k, v in made.items()}, networks.FaceNetwork.widths())

    def test_folding_changes_nothing(self):
        network = networks.Detector().eval()
        for m in network.modules():
            if isinstance(m, torch.nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.1)
                m.running_var.uniform_(0.5, 2)
        x = torch.rand(1, 3, 64, 64) * 255
        with torch.no_grad():
            before = {k: v.clone() for k, v in network(x).items()}
            after = export.folded(network)(x)
        for name, value in before.items():
            torch.testing.assert_close(after[name], value, atol=1e-3, rtol=1e-3)

    def test_export_uses_known_operators(self):
        known = operators()
        for kind, size in networks.NETWORKS.values():
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "network.onnx"
                export.write(kind(), size, str(path))
                used = node_types(path.read_bytes())
            self.assertIn("Conv", used)
            self.assertEqual(sorted(used - known), [])


def operators():
    """The names that infer/onnx has converters for."""
    import re

    source = (pathlib.Path(__file__).resolve().parents[2] / "infer/onnx/operators.go").read_text()
    table = source.split("var converters")[1].split("\n}")[0]
    return set(re.findall(r'"(\w+)":', table))


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def messages(data, wanted):
    """Length-delimited fields of one number in a protocol buffer."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            _, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            if key >> 3 == wanted:
                yield data[at : at + size]
            at += size
        else:
            at += 4 if kind == 5 else 8


def node_types(model):
    """op_type of every node: ModelProto.graph is 7, GraphProto.node 1, NodeProto.op_type 4."""
    graph = next(messages(model, 7))
    return {next(messages(node, 4)).decode() for node in messages(graph, 1)}


if __name__ == "__main__":
    unittest.main()
