"""Writes ONNX files without the package onnx: the few messages of its protobuf schema that a network needs."""

import numpy as np

FLOAT, INT64, FLOAT16 = 1, 7, 10
OPSET, IR = 13, 7

# Constants of fewer numbers stay float32: they are hardly any space, and biases want the digits.
HALVED = 1024


def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def number(field, n):
    return varint(field << 3) + varint(n)


def data(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(name, values):
    kind = {"float32": FLOAT, "float16": FLOAT16, "int64": INT64}[values.dtype.name]
    little = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
    return b"".join(number(1, d) for d in values.shape) + number(2, kind) + data(8, name) + data(9, little.tobytes())


def attribute(name, value):
    """Integers, strings, lists of integers."""
    if isinstance(value, int):
        return data(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return data(1, name) + data(4, value) + number(20, 3)
    return data(1, name) + data(8, b"".join(varint(v) for v in value)) + number(20, 7)


def node(kind, inputs, output, attributes):
    out = b"".join(data(1, i) for i in inputs) + data(2, output) + data(3, output) + data(4, kind)
    return out + b"".join(data(5, attribute(k, v)) for k, v in attributes.items())


def value(name, shape):
    """A float32 input or output; a dimension that is a string is free and has that name."""
    dims = b"".join(data(1, data(2, d) if isinstance(d, str) else number(1, d)) for d in shape)
    return data(1, name) + data(2, data(1, number(1, FLOAT) + data(2, dims)))


class File:
    """Nodes in the order in which they are added. With half, large constants are kept as float16, and the file makes float32 of them."""

    def __init__(self, name, half=False):
        self.name, self.half = name, half
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []

    def add(self, kind, inputs, output, **attributes):
        self.nodes.append(node(kind, inputs, output, attributes))
        return output

    def constant(self, name, values, precise=False):
        values = np.asarray(values)
        if values.dtype != np.float32 or not self.half or precise or values.size < HALVED:
            self.constants.append(tensor(name, values))
            return name
        self.constants.append(tensor(name + "/half", values.astype(np.float16)))
        return self.add("Cast", [name + "/half"], name, to=FLOAT)

    def bytes(self):
        graph = b"".join(data(1, n) for n in self.nodes) + data(2, self.name) + b"".join(data(5, t) for t in self.constants)
        graph += b"".join(data(11, v) for v in self.inputs) + b"".join(data(12, v) for v in self.outputs)
        return number(1, IR) + data(2, "facetrack") + data(7, graph) + data(8, data(1, "") + number(2, OPSET))
