#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME (default 3s) beyond its committed corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${FUZZTIME:-3s}
grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed 's/^func //' | sort -u | while read -r target; do
		echo "fuzz $dir $target"
		go test "$dir" -run='^$' -fuzz="^$target\$" -fuzztime="$time" -fuzzminimizetime=20x
	done
done
