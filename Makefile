# make demo   tracks a clip whose truth is known      make test       every test
# make build  the programs in bin/                   make bench-cpu  the figures of docs/benchmarks
# make deb    the Debian package in bin/, tried out (nfpm is fetched)
# make eval   how good the networks are: docs/models
# make fuzz   new inputs for every fuzz target    make training-test  tests of training/ (Python, PyTorch)
# make chaos  a rig while things go wrong: docs/chaos.md

TAGS    := gocv xnnpack cuda
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X facetrack/internal/version.commit=$(VERSION)
PROGRAMS := capture detect landmarks tracker lsl-out facetrack
PACKAGES := ./...
# The parts where several goroutines or processes share memory; race knows nothing of native libraries, which are left out.
RACE    := ./lsl/... ./xdf/... ./internal/...
# The parts that talk to the CUDA driver; without a GPU their tests bring a driver of their own.
CUDA    := ./internal/cuda/... ./internal/kernels/... ./internal/nvml/... ./internal/doctor/... ./internal/ipcbench/... ./internal/app/... ./gpuring/... ./ipc/... ./internal/stage/... ./internal/inferbench/... ./internal/gpuvision/... ./infer/cuda/... ./test/gpu ./test/gpu/media/...
# Packages of one goroutine, whose tests calculate a lot.
ALONE   := ./internal/doctor/... ./internal/modeleval/... ./internal/testmodels/... ./internal/truth/... ./track/...
# Those that spend their time in emulated kernels, of which the race detector knows nothing; the stages' tests race what is around them.
KERNELS := ./internal/kernels/... ./internal/gpuvision/... ./internal/inferbench/... ./infer/cuda/... ./test/gpu/media/...

# Tag cuda builds against our own cuda.h and an empty libcuda.a, whether a toolkit is installed or not (internal/cuda/include).
# What is set here replaces Go's own "-O2 -g". What comes from outside, make's command line included, is added behind it.
override export CGO_CFLAGS  := -O2 -g -Wno-deprecated-declarations '-I$(CURDIR)/internal/cuda/include' $(CGO_CFLAGS)
override export CGO_LDFLAGS := -O2 -g '-L$(CURDIR)/internal/cuda/lib' $(CGO_LDFLAGS)

.PHONY: all setup build test demo bench-cpu eval vet lint units unit race fuzz e2e chaos group deb kernels training-test fmt clean

all: build

setup:
	@scripts/setup.sh

build: setup
	@mkdir -p bin
	go build -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/ $(addprefix ./cmd/,$(PROGRAMS))
	@scripts/check-linkage.sh $(addprefix bin/,$(PROGRAMS))

# SOURCE=/dev/video0 tracks that instead.
demo: build
	@DEMO_SOURCE='$(SOURCE)' scripts/demo.sh

bench-cpu: build
	@scripts/bench-cpu.sh

# The networks on photographs and, if there are any, rendered pictures; EVAL has more flags, as EVAL=--require.
FACETRACK_HOLDOUT ?= $(wildcard training/out/holdout)
EVAL ?=
eval: build
	FACETRACK_HOLDOUT='$(FACETRACK_HOLDOUT)' bin/facetrack eval --out docs/models $(EVAL)

# unit runs every fuzz target on its committed inputs, too.
test: vet lint units unit race e2e group

vet: setup
	go vet $(PACKAGES)
	go vet -tags '$(TAGS)' $(PACKAGES)
	go vet -tags '$(TAGS) e2e gpu' $(CUDA) ./test/...
	@scripts/check-cuda-abi.sh

lint: setup bin/golangci-lint
	bin/golangci-lint run

# What systemd says of the services.
units:
	@test/systemd/units.sh

bin/golangci-lint: scripts/tools/go.mod
	@mkdir -p bin
	cd scripts/tools && go build -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# The real nats program, for the tests of docs/nats.md; without it they are skipped.
bin/nats: scripts/tools/nats/go.mod
	@mkdir -p bin
	@cd scripts/tools/nats && go build -o ../../../bin/nats github.com/nats-io/natscli/nats || echo 'make: no nats program: tests that need it are skipped' >&2

# GPU kernels to PTX; needs nvcc 11.8. The PTX is committed, so that building needs no toolkit.
kernels:
	@scripts/kernels.sh

# With Go alone, then what has native libraries or kernels; the rest of CUDA is run by race.
unit: setup
	go test -p 3 $(PACKAGES)
	go test -p 3 -tags '$(TAGS)' $(sort ./infer/... ./vision/... ./internal/source/... ./internal/models/... $(KERNELS))

# Three packages at once: many wait for deadlines.
race: setup
	go test -p 3 -race -tags cuda $$(go list -tags cuda $(RACE) $(CUDA) | sort -u | grep -vxF "$$(go list -tags cuda $(ALONE) $(KERNELS) 2>/dev/null)")

# A few seconds of new inputs for each fuzz target (FUZZTIME); not part of test, because its builds take minutes.
fuzz:
	@scripts/fuzz.sh

e2e: build bin/nats
	FACETRACK_BIN='$(CURDIR)/bin/facetrack' go test -count=1 -tags 'e2e cuda' -parallel 3 -timeout 12m ./test/e2e/...
	FACETRACK_BIN='$(CURDIR)/bin/facetrack' go test -count=1 -tags cuda -run '^TestSoak$$' ./test/gpu/...
	go build -o bin/chaos ./test/chaos
	bin/chaos --program bin/facetrack --for 16s --seed 211

# The services under a systemd of their own; needs root and says SKIP where that cannot be.
group: build
	@test/systemd/group.sh bin

# For the release of Debian or Ubuntu that it is made on.
deb: build
	@scripts/deb.sh bin
	@test/systemd/package.sh bin

# Things go wrong for CHAOS_MINUTES, as CHAOS_SEED has it; the report goes to docs/chaos.md and docs/benchmarks/chaos.json. Full disks need root (a
# small tmpfs is mounted).
CHAOS_MINUTES ?= 30
CHAOS_SEED ?= 1
chaos: build
	go build -o bin/chaos ./test/chaos
	bin/chaos --program bin/facetrack --for $(CHAOS_MINUTES)m --seed $(CHAOS_SEED) --json docs/benchmarks/chaos.json --markdown docs/chaos.md

# Needs Python 3 with PyTorch and NumPy, and a C++ compiler; not part of test.
PYTHON ?= python3
training-test:
	cd training && $(PYTHON) -m unittest discover -s tests -t .

fmt:
	gofmt -w .

clean:
	rm -rf bin
