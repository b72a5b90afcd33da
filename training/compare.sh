#!/bin/sh
# Untrained networks through PyTorch and through our backends: reference, XNNPACK where it is installed, and CUDA's kernels
# compiled for the CPU with TAGS='training xnnpack cuda'. PYTHON names a Python with PyTorch.
set -eu
cd "$(dirname "$0")/.."
exec go test -count=1 -tags "${TAGS:-training xnnpack}" -run TestTraining ${V:+-v} ./infer/goldentest ./vision
