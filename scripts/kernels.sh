#!/usr/bin/env bash
# Compiles the GPU kernels to PTX that drivers from CUDA 11.8 on can load, and writes each folder's MANIFEST. Needs nvcc 11.8
# (Debian: nvidia-cuda-toolkit).  kernels.sh [folder…]   folders below internal/kernels, "." for itself; without any, all of them
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
portable=$PWD/portable
folders=("$@")
[ ${#folders[@]} -gt 0 ] || mapfile -t folders < <(find . -name '*.cu' -printf '%h\n' | sort -u)
for folder in "${folders[@]}"; do
	(
		cd "$folder"
		for source in *.cu; do
			"$nvcc" -ptx -arch=compute_75 -O3 -Werror all-warnings -I "$portable" -o "${source%.cu}.ptx" "$source"
		done
		{
			echo "# nvcc $version -ptx -arch=compute_75 -O3"
			{ sha256sum -- *.cu *.ptx && find . -maxdepth 1 -name '*.cuh' -printf '%f\0' | xargs -0r sha256sum -- && (cd "$portable" && sha256sum portable.cuh); } |
				LC_ALL=C sort -k 2
		} >MANIFEST
	)
done
