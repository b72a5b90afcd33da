"""Depthwise 3×3 convolution: depth.cu, for training on a GPU."""

import ctypes

import torch

import native


class Job(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_void_p) for name in ("x", "dy", "y", "dx", "weight", "dweight", "partial")]
        + [(name, ctypes.c_int) for name in (
            "images", "channels", "height", "width", "out_height", "out_width", "stride", "padding", "half", "splits")]
    )


def job(x, out, stride, padding, **tensors):
    images, channels, height, width = x.shape
    given = {k: v.data_ptr() for k, v in dict(tensors, x=x).items() if v is not None}
    return Job(images=images, channels=channels, height=height, width=width, out_height=out[0], out_width=out[1], stride=stride, padding=padding,
               half=native.HALF[x.dtype], splits=native.splits(images, channels), **given)


class Depthwise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, stride, padding):
        x, weight = x.contiguous(), weight.float().contiguous()
        out = tuple((n + 2 * padding - 3) // stride + 1 for n in x.shape[2:])
        y = x.new_empty(x.shape[:2] + out)
        native.run("depth.cu", "facetrack_depth_forward", job(x, out, stride, padding, y=y, weight=weight), x)
        ctx.save_for_backward(x, weight)
        ctx.stride, ctx.padding = stride, padding
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        dy, dx, dweight = dy.to(x.dtype).contiguous(), torch.empty_like(x), torch.empty_like(weight)
        made = job(x, dy.shape[2:], ctx.stride, ctx.padding, dy=dy, dx=dx, weight=weight, dweight=dweight)
        partial = torch.empty(made.splits, x.shape[1], 9, device=x.device)
        made.partial = partial.data_ptr()
        native.run("depth.cu", "facetrack_depth_backward", made, x)
        return dx, dweight, None, None


def convolved(x, conv):
    """What a depthwise nn.Conv2d without bias makes of x on a GPU, under autocast in half precision."""
    if torch.is_autocast_enabled():
        x = x.to(torch.get_autocast_gpu_dtype())
    return Depthwise.apply(x, conv.weight, conv.stride[0], conv.padding[0])
