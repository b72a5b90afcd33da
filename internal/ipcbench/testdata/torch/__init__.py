"""As much of PyTorch as torch_ipc.py uses, without a GPU: to try the script's own part out."""
import os

__version__ = "0 (imitated)"
uint8, int64 = "uint8", "int64"


class version:
    cuda = "0.0"


class Scalar:
    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


class Tensor:
    def __init__(self, data):
        self.data = bytearray(data)

    def fill_(self, value):
        self.data[:] = bytes([value]) * len(self.data)

    def to(self, device, non_blocking=False):
        data = self.data
        if os.environ.get("IMITATED_TORCH") == "torn":
            data = data[:-1] + bytes([data[-1] ^ 1])
        return Tensor(data)

    def numpy(self):
        return bytes(self.data)

    def numel(self):
        return len(self.data)

    def __getitem__(self, part):
        return Tensor(self.data[part])

    def __ne__(self, value):
        return Tensor(b != value for b in self.data)


def empty(size, dtype=None, pin_memory=False):
    return Tensor(size)


def zeros(size, device=None):
    return Tensor(size)


def from_numpy(data):
    return Tensor(data)


def sum(tensor, dtype=None):
    total = 0
    for b in tensor.data:
        total += b
    return Scalar(total)


def count_nonzero(tensor):
    return Scalar(len(tensor.data) - tensor.data.count(0))


def device(kind, ordinal):
    return (kind, ordinal)


class cuda:
    class Stream:
        def synchronize(self):
            pass

    @staticmethod
    def is_available():
        return os.environ.get("IMITATED_TORCH") != "no GPU"

    @staticmethod
    def set_device(ordinal):
        pass

    @staticmethod
    def current_stream():
        return cuda.Stream()

    @staticmethod
    def device_count():
        return 1

    @staticmethod
    def get_device_properties(ordinal):
        return None
