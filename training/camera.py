"""From linear light to the picture that a camera delivers: lens, sensor, tone, codec. All on batches, settings per image."""

import math

import torch
import torch.nn.functional as F

from light import luminance, spread

KERNEL = 15


def distort(points, k, height, width):
    """Where the lens puts what an ideal camera sees at points [B,N,2]: the inverse of what undistort does."""
    half = torch.tensor([width / 2, height / 2], device=points.device)
    ideal = (points - half) / (width / 2)
    seen = ideal
    for _ in range(8):
        seen = ideal / (1 + k[:, None, None] * (seen**2).sum(-1, keepdim=True))
    return seen * (width / 2) + half


def warp(image, k):
    """The picture through a lens with radial distortion: what is seen at r came from r(1 + k r²), r in half widths."""
    b, _, h, w = image.shape
    y, x = torch.meshgrid((torch.arange(h, device=image.device) + 0.5 - h / 2) / (w / 2), (torch.arange(w, device=image.device) + 0.5 - w / 2) / (w / 2), indexing="ij")
    grow = 1 + k[:, None, None] * (x * x + y * y)
    grid = torch.stack([x * grow, y * grow * (w / h)], -1)
    return F.grid_sample(image, grid, align_corners=False, padding_mode="reflection")


def kernels(sigma, length, turn):
    """Point spread of defocus and motion, [B,1,KERNEL,KERNEL]."""
    r = torch.arange(KERNEL, device=sigma.device) - KERNEL // 2
    y, x = torch.meshgrid(r, r, indexing="ij")
    s, n, t = (v[:, None, None] for v in (sigma.clamp_min(0.12), length, turn))
    total = 0
    for step in torch.linspace(-0.5, 0.5, 9):
        total = total + torch.exp(-((x - step * n * torch.cos(t)) ** 2 + (y - step * n * torch.sin(t)) ** 2) / (2 * s * s))
    return (total / total.sum((1, 2), keepdim=True))[:, None]


def spread_points(image, sigma, length=None, turn=None):
    zero = torch.zeros_like(sigma)
    k = kernels(sigma, zero if length is None else length, zero if turn is None else turn)
    b, c, h, w = image.shape
    pad = F.pad(image, (KERNEL // 2,) * 4, mode="reflect").reshape(1, b * c, h + KERNEL - 1, w + KERNEL - 1)
    return F.conv2d(pad, k.repeat_interleave(c, 0), groups=b * c).reshape(b, c, h, w)


def expose(image, p, target):
    """Brings target [B], the luminance that counts, to a grey that the camera's exposure may miss."""
    gain = 0.20 / target.clamp_min(1e-3) * 2 ** p["exposure"]
    return image * spread(gain) * spread(p["cast"])


def white(p, shape, device):
    """Noise from each image's own seed, whatever the batch is."""
    out = []
    for seed in p["seed"].tolist():
        g = torch.Generator(device=device).manual_seed(int(seed))
        out.append(torch.randn(shape, generator=g, device=device))
    return torch.stack(out)


def sense(image, p):
    """Shot and read noise, partly as blotches that denoising leaves."""
    n = white(p, image.shape[1:], image.device)
    coarse = F.interpolate(F.avg_pool2d(n, 2), size=n.shape[2:], mode="bilinear", align_corners=False) * 2
    n = torch.lerp(n, coarse, spread(p["grain"]))
    scale = (spread(p["read"]) ** 2 + spread(p["shot"]) ** 2 * image.clamp(min=0)).sqrt()
    return image + n * scale


def tone(image, p):
    """Highlights roll off, then the display's gamma, contrast and saturation."""
    x = image.clamp(min=0)
    rolled = x * (1 + x / 9) / (1 + x * 0.55)
    x = torch.lerp(x, rolled, spread(p["shoulder"])).clamp(0, 1)
    x = torch.where(x < 0.0031308, 12.92 * x, 1.055 * x.clamp_min(1e-6) ** (1 / 2.4) - 0.055)
    x = x ** spread(p["gamma"])
    x = (x - 0.45) * spread(p["contrast"]) + 0.45
    grey = luminance(x)
    x = grey + (x - grey) * spread(p["saturation"])
    return torch.lerp(x, torch.full_like(x, 0.6), spread(p["haze"])).clamp(0, 1)


def vignette(image, p):
    h, w = image.shape[2:]
    y, x = torch.meshgrid(torch.linspace(-1, 1, h, device=image.device), torch.linspace(-1, 1, w, device=image.device), indexing="ij")
    return image * (1 - spread(p["vignette"]) * (x * x + y * y) / 2)


def resized(image, scale):
    """Each picture [B] times as large, in the upper left corner of one of the same size; the border repeats."""
    b, _, h, w = image.shape
    y, x = torch.meshgrid(torch.arange(h, device=image.device) + 0.5, torch.arange(w, device=image.device) + 0.5, indexing="ij")
    grid = torch.stack([x * 2 / w, y * 2 / h], -1) / scale[:, None, None, None] - 1
    return F.grid_sample(image, grid, align_corners=False, padding_mode="border")


def shrink(image, p):
    """Some pictures were smaller once."""
    s = p["scale"]
    return resized(spread_points(image, 0.42 * (1 / s**2 - 1).clamp(min=0).sqrt()), s)


def enlarge(image, p):
    h, w = image.shape[2:]
    s = p["scale"]
    y, x = torch.meshgrid(torch.arange(h, device=image.device) + 0.5, torch.arange(w, device=image.device) + 0.5, indexing="ij")
    # Beyond the middles of its last pixels a small picture has nothing.
    x, y = (torch.minimum(v * s[:, None, None], n * s[:, None, None] - 0.5) for v, n in ((x, w), (y, h)))
    return F.grid_sample(image, torch.stack([x * 2 / w, y * 2 / h], -1) - 1, align_corners=False, padding_mode="border")


def flicker(image, p):
    """Bands that lamps leave where rows are read one after another."""
    h = image.shape[2]
    y = torch.arange(h, device=image.device).reshape(1, 1, h, 1) / h
    much, often, phase = (spread(p["flicker"][:, i]) for i in range(3))
    return image * (1 + much * torch.sin(y * often * 2 * math.pi + phase))


def infrared(image, p):
    """Skin and cloth are pale where only long waves count."""
    grey = (0.9 * image[:, :1] + 0.1 * image[:, 1:2]).clamp(min=0) ** 0.75
    return torch.where(spread(p["infrared"]) > 0, grey.expand_as(image), image)


BAYER = ((0, 8, 2, 10), (12, 4, 14, 6), (3, 11, 1, 9), (15, 7, 13, 5))


def few_colours(image, p):
    """As pictures with a palette are: so many steps of each colour, mixed in a pattern."""
    h, w = image.shape[2:]
    pattern = torch.tensor(BAYER, device=image.device, dtype=image.dtype) / 16 - 0.47
    pattern = pattern.repeat(-(-h // 4), -(-w // 4))[:h, :w]
    steps = spread(p["colours"].clamp_min(2)) - 1
    return torch.where(spread(p["colours"]) > 0, ((image * steps + 0.8 * pattern).round() / steps).clamp(0, 1), image)


def sharpen(image, p):
    low = F.avg_pool2d(F.pad(image, (1, 1, 1, 1), mode="replicate"), 3, 1)
    return (image + spread(p["sharpen"]) * (image - low)).clamp(0, 1)


def cosines(device):
    k, n = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
    d = torch.cos((2 * n + 1) * k * math.pi / 16) / 2
    d[0] /= math.sqrt(2)
    return d.to(device)


def quantized(plane, step, dead=None):
    """Blocks of 8×8 whose cosines are rounded to multiples of step [B,8,8]; plane [B,H,W] of 0 to 255. dead [B], up to 0.5, rounds small ones down,
    as video codecs do."""
    b, h, w = plane.shape
    full = F.pad(plane[:, None], (0, -w % 8, 0, -h % 8), mode="replicate")[:, 0]
    blocks = full.reshape(b, full.shape[1] // 8, 8, full.shape[2] // 8, 8).transpose(2, 3) - 128
    d = cosines(plane.device)
    q = step[:, None, None]
    level = d @ blocks @ d.T / q
    floor = 0 if dead is None else dead[:, None, None, None, None]
    rounded = torch.sign(level) * (level.abs() + 0.5 - floor).floor()
    back = d.T @ (rounded * q) @ d
    return (back + 128).transpose(2, 3).reshape(full.shape)[:, :h, :w]


def compress(image, p):
    """Losses of a codec that rounds cosines, colour at half the resolution."""
    u = torch.arange(8.0, device=image.device)
    ramp = 6 + 5.5 * (u[:, None] + u[None]) + 0.7 * u[:, None] * u[None]
    strength = (1 / p["quality"].clamp(0.05, 1) - 1).clamp(max=5) * 0.9
    step = (ramp * strength[:, None, None]).clamp_min(1.0)
    r, g, b = (image * 255).unbind(1)
    y = 0.299 * r + 0.587 * g + 0.114 * b
    small = F.avg_pool2d(torch.stack([(b - y) * 0.564, (r - y) * 0.713], 1), 2)
    y = quantized(y, step, p["dead"])
    chroma = [quantized(small[:, i] + 128, step * 1.5, p["dead"]) - 128 for i in (0, 1)]
    cb, cr = F.interpolate(torch.stack(chroma, 1), size=y.shape[1:], mode="bilinear", align_corners=False).unbind(1)
    out = torch.stack([y + 1.403 * cr, y - 0.344 * cb - 0.714 * cr, y + 1.773 * cb], 1)
    return torch.where(spread(p["quality"]) >= 1, image, (out / 255).clamp(0, 1))


def photograph(image, p, target):
    """Linear light [B,3,H,W] to bytes."""
    image = infrared(warp(image, p["distortion"]), p)
    image = spread_points(image.clamp(0, 60), p["blur"], p["motion"], p["motion_turn"])
    image = shrink(flicker(vignette(expose(image, p, target), p), p), p)
    image = compress(sharpen(tone(sense(image, p), p), p), p)
    return (enlarge(few_colours(image, p), p) * 255).round().clamp(0, 255).to(torch.uint8)
