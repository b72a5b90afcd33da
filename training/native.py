"""Our own CUDA sources as libraries, compiled on first use for the device that the tensors are on: by nvcc, or by a C++ compiler for the CPU."""

import ctypes
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import torch


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "facetrack" / "training"


def compiler(cuda):
    if not cuda:
        return [os.environ.get("CXX", "g++"), "-x", "c++", "-O3", "-fPIC", "-shared", "-fopenmp", "-ffp-contract=off"]
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    # Without contraction a GPU decides between two triangles as the CPU does.
    return [nvcc, "-O3", "-fmad=false", "-Xcompiler", "-fPIC", "-shared"]


def architecture():
    major, minor = torch.cuda.get_device_capability()
    return [f"-arch=sm_{major}{minor}"]


@functools.lru_cache(maxsize=None)
def library(name, cuda):
    source = pathlib.Path(__file__).with_name(name)
    command = compiler(cuda) + (architecture() if cuda else [])
    shared = b"".join(header.read_bytes() for header in sorted(source.parent.glob("*.cuh")))
    key = hashlib.sha256(source.read_bytes() + shared + " ".join(command).encode()).hexdigest()[:16]
    path = cache_folder() / f"{source.stem}-{key}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            built = pathlib.Path(folder) / "built.so"
            subprocess.run(command + ["-o", str(built), str(source)], check=True)
            built.replace(path)
    return ctypes.CDLL(str(path))


def function(name, symbol, cuda, *arguments):
    f = getattr(library(name, cuda), symbol)
    f.argtypes, f.restype = list(arguments), ctypes.c_int
    return f


HALF = {torch.float32: 0, torch.bfloat16: 1}  # how norm.cu and depth.cu tell types of elements
BLOCKS = 2000  # that sums over a batch are spread over


def splits(images, channels):
    """Parts of a batch whose sums are made apart."""
    return max(1, min(images, BLOCKS // channels))


def run(name, symbol, job, tensor):
    """Calls a function of a source with a job and the stream of a tensor's device."""
    call(function(name, symbol, tensor.device.type == "cuda", type(job), ctypes.c_void_p), tensor, job)


def call(f, tensor, *arguments):
    """Calls f with the stream of a tensor's device last."""
    cuda = tensor.device.type == "cuda"
    stream = torch.cuda.current_stream(tensor.device).cuda_stream if cuda else None
    status = f(*arguments, stream)
    if status:
        raise RuntimeError(f"{f.__name__} failed with CUDA error {status}")
