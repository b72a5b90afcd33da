"""Normalisation over a batch, residual and PReLU in one: norm.cu, for training on a GPU."""

import ctypes

import torch

import native


class Job(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_void_p) for name in (
            "x", "residual", "dy", "y", "dx", "dresidual", "weight", "bias", "slope", "mean", "inverse",
            "running_mean", "running_var", "dweight", "dbias", "dslope", "partial", "total")]
        + [(name, ctypes.c_int) for name in ("images", "channels", "plane", "half", "splits")]
        + [(name, ctypes.c_float) for name in ("momentum", "epsilon")]
    )


def job(x, momentum=0.0, epsilon=0.0, **tensors):
    images, channels = x.shape[:2]
    splits = native.splits(images, channels)
    partial = torch.empty(splits, channels, 3, device=x.device)
    given = {k: v.data_ptr() for k, v in dict(tensors, x=x, partial=partial).items() if v is not None}
    return Job(images=images, channels=channels, plane=x[0, 0].numel(), half=native.HALF[x.dtype], splits=splits, momentum=momentum, epsilon=epsilon, **given), partial


class Fused(torch.autograd.Function):
    """PReLU(normalised(x) + residual); residual and slope may be None."""

    @staticmethod
    def forward(ctx, x, residual, weight, bias, slope, running_mean, running_var, momentum, epsilon):
        x = x.contiguous()
        residual = None if residual is None else residual.to(x.dtype).contiguous()
        y = torch.empty_like(x)
        mean, inverse = torch.empty_like(weight), torch.empty_like(weight)
        made, _partial = job(x, momentum, epsilon, residual=residual, y=y, weight=weight, bias=bias, slope=slope, mean=mean, inverse=inverse,
                             running_mean=running_mean, running_var=running_var)
        native.run("norm.cu", "facetrack_norm_forward", made, x)
        ctx.save_for_backward(x, residual, weight, bias, slope, mean, inverse)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, residual, weight, bias, slope, mean, inverse = ctx.saved_tensors
        dy, dx = dy.to(x.dtype).contiguous(), torch.empty_like(x)
        dresidual = None if residual is None else torch.empty_like(x)
        dweight, dbias, total = torch.empty_like(weight), torch.empty_like(weight), torch.empty(len(weight), 2, device=x.device)
        dslope = None if slope is None else torch.empty_like(slope)
        made, _partial = job(x, dy=dy, dx=dx, dresidual=dresidual, residual=residual, weight=weight, bias=bias, slope=slope, mean=mean, inverse=inverse,
                             dweight=dweight, dbias=dbias, dslope=dslope, total=total)
        native.run("norm.cu", "facetrack_norm_backward", made, x)
        return dx, dresidual, dweight, dbias, dslope, None, None, None, None


def joined(x, norm, residual=None, act=None):
    """What nn.BatchNorm2d in training, an addition and nn.PReLU make of x on a GPU."""
    return Fused.apply(x, residual, norm.weight, norm.bias, None if act is None else act.weight,
                       norm.running_mean, norm.running_var, norm.momentum, norm.eps)
