"""Tiles of noise, made once from a fixed seed, that textures are put together from."""

import functools
import threading

import torch
import torch.nn.functional as F

SIZE = 512
FINE, CLOUD, COARSE, STRAND, SPOTS, WEAVE = range(6)


def _filtered(generator, spectrum):
    """White noise through a filter over (frequency down, frequency right), mean 0, deviation 1, seamless."""
    white = torch.fft.rfft2(torch.randn(SIZE, SIZE, generator=generator))
    fy = torch.fft.fftfreq(SIZE, 1 / SIZE)[:, None]
    fx = torch.fft.rfftfreq(SIZE, 1 / SIZE)[None]
    gain = spectrum(fy, fx)
    gain[0, 0] = 0
    out = torch.fft.irfft2(white * gain, s=(SIZE, SIZE))
    return (out - out.mean()) / out.std()


def _power(slope, low=1.0):
    return lambda fy, fx: (fy**2 + fx**2 + low**2) ** (-slope / 2)


def _strand(fy, fx):
    return torch.exp(-((fy / 5) ** 2)) * (1 + (fx / 60) ** 2) ** -0.75


def _spots(g):
    grain = _filtered(g, lambda fy, fx: torch.exp(-((fy**2 + fx**2) / 40**2)))
    return ((grain - 1.3) / 0.5).clamp(0, 1)


def _weave():
    y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    return torch.sin(x * (2 * torch.pi * 64 / SIZE)) * torch.sin(y * (2 * torch.pi * 64 / SIZE))


_lock = threading.Lock()


def bank(device):
    # Two threads that come first together would make it twice.
    with _lock:
        return _bank(device)


@functools.lru_cache(maxsize=None)
def _bank(device):
    g = torch.Generator().manual_seed(20)
    tiles = [
        _filtered(g, lambda fy, fx: torch.exp(-((fy**2 + fx**2) / 140**2)) * ((fy**2 + fx**2) / 30**2).clamp(0, 1)),
        _filtered(g, _power(1.6, 3)),
        _filtered(g, _power(2.4, 2)),
        _filtered(g, _strand),
        _spots(g),
        _weave(),
    ]
    # One more row and column on each side, so that interpolation wraps.
    return F.pad(torch.stack(tiles)[:, None], (1, 1, 1, 1), mode="circular").to(device)


def sample(kind, u, v):
    """A tile at u, v of any shape; one tile is one unit wide and repeats."""
    u, v = torch.broadcast_tensors(u, v)
    if u.numel() == 0:
        return torch.zeros_like(u)
    tile = bank(u.device)[kind]
    grid = torch.stack([torch.frac(u) % 1, torch.frac(v) % 1], -1).reshape(1, 1, -1, 2) * SIZE + 1
    grid = grid * (2 / (SIZE + 2)) - 1
    return F.grid_sample(tile[None], grid, align_corners=False).reshape(u.shape)

