#!/usr/bin/env bash
# Compares our declarations of the CUDA driver (internal/cuda/include) with the cuda.h of every toolkit found on this machine,
# and with themselves. Toolkits in other places: scripts/check-cuda-abi.sh <folder with cuda.h>...
set -euo pipefail
cd "$(dirname "$0")/.."

own=internal/cuda/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The names that a header declares.
names() { # folder, flags
	{ gcc -E -P $2 -I"$1" -x c "$1/cuda.h"; grep -hE '^#define +CU' "$1/cuda.h"; } | grep -oE '\bcu[A-Z]\w*|\bCU\w+' | sort -u
}

check() { # folder, "" or the flag that leaves out what only cu refers to
	local older=-D__CUDA_API_VERSION_INTERNAL # a toolkit then declares the older forms of its calls too
	gcc -fsyntax-only -w $older -I"$1" -x c "$1/cuda.h" 2>/dev/null || older=
	names "$1" "$older" >"$work/names"
	gcc -E -P $2 -D'CUDA_CALL(name, arguments)=CALL(name, arguments)' -x c "$own/cuda_calls.h" >"$work/calls"
	awk -F'[(,]' 'NR == FNR { has[$1]; next } /^CALL/ { if ($2 in has) print "CUDA_" $0; else print $2 >missing }' \
		missing="$work/missing" "$work/names" "$work/calls" >"$work/calls.part"
	# Masks of all flags are no part of the interface: they grow with the flags.
	grep -oE '\bCU[A-Z0-9_]+ = [0-9]+' "$own/cuda.h" | grep -v '_MASK =' | awk '
		NR == FNR { has[$1]; next } $1 in has { print "VALUE(" $1 ", " $3 ")" }' "$work/names" - >"$work/values.part"
	gcc -std=gnu11 -fsyntax-only -Wno-deprecated-declarations $older -I"$1" -I"$work" internal/cuda/abi/check.c
	local without=
	[ -s "$work/missing" ] && without=", not declared there: $(xargs <"$work/missing")"
	echo "check-cuda-abi: $1/cuda.h agrees: $(wc -l <"$work/calls.part") calls, $(wc -l <"$work/values.part") values$without"
	rm -f "$work/missing"
}

check "$own" ""

toolkits=("$@")
if [ ${#toolkits[@]} -eq 0 ]; then
	nvcc=$(command -v nvcc || true)
	for folder in "${CUDA_HOME:+$CUDA_HOME/include}" "${nvcc:+$(dirname "$(readlink -f "$nvcc")")/../include}" \
		/usr/local/cuda*/include /opt/cuda*/include /usr/include; do
		[ -f "$folder/cuda.h" ] && toolkits+=("$(readlink -f "$folder")")
	done
fi
if [ ${#toolkits[@]} -eq 0 ]; then
	echo "check-cuda-abi: SKIPPED: no CUDA toolkit on this machine, so our cuda.h was compared with itself only"
	exit 0
fi
printf '%s\n' "${toolkits[@]}" | sort -u | while read -r folder; do
	version=$(sed -nE 's/^#define CUDA_VERSION ([0-9]+).*/\1/p' "$folder/cuda.h" | head -1)
	# Under the names of what only cu refers to, toolkits from 12 on know younger things.
	if [ "${version:-0}" -ge 12000 ]; then check "$folder" -DCUDA_CALLED_ONLY; else check "$folder" ""; fi
done
