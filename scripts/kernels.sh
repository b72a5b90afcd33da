#!/usr/bin/env bash
# Compiles the GPU kernels to PTX that drivers from CUDA 11.8 on can load, and writes MANIFEST. Needs nvcc 11.8 (Debian: nvidia-cuda-toolkit).
set -euo pipefail
cd "$(dirname "$0")/../internal/kernels"
nvcc=${NVCC:-nvcc}
command -v "$nvcc" >/dev/null || {
	echo "kernels: no nvcc here; install nvidia-cuda-toolkit (11.8) or set NVCC" >&2
	exit 1
}
version=$("$nvcc" --version | sed -n 's/.*release .*, V//p')
[ "${version%.*}" = 11.8 ] || {
	echo "kernels: nvcc $version writes PTX that older drivers refuse; 11.8 is needed" >&2
	exit 1
}
for source in *.cu; do
	"$nvcc" -ptx -arch=compute_75 -O3 -Werror all-warnings -o "${source%.cu}.ptx" "$source"
done
{
	echo "# nvcc $version -ptx -arch=compute_75 -O3"
	LC_ALL=C sha256sum -- *.cu *.cuh *.ptx
} >MANIFEST
