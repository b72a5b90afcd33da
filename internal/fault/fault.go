// Package fault makes chosen steps fail, so that tests can see what happens then. Nothing fails unless the environment
// variable FACETRACK_FAULTS asks for it: a list of step=value, with commas between, for example
// "cuIpcOpenEventHandle=205,canary=zeros". A step of the CUDA driver is the name of its function, the value its error
// number. "step=value@n" spares the first n passes.
package fault

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Variable is the environment variable that lists faults.
const Variable = "FACETRACK_FAULTS"

type planned struct {
	value  string
	spared int // passes that go well yet
}

var (
	some atomic.Bool // so that a program without faults pays nothing
	mu   sync.Mutex
	plan map[string]*planned
	once sync.Once
)

func fromEnvironment() { set(os.Getenv(Variable)) }

// Plan replaces what fails; tests of one process use it instead of the variable.
func Plan(list string) {
	once.Do(func() {}) // what is planned here is not overwritten by the environment later
	set(list)
}

func set(list string) {
	mu.Lock()
	defer mu.Unlock()
	plan = map[string]*planned{}
	for item := range strings.SplitSeq(list, ",") {
		step, value, found := strings.Cut(strings.TrimSpace(item), "=")
		if !found {
			continue
		}
		value, after, _ := strings.Cut(value, "@")
		spared, _ := strconv.Atoi(after)
		plan[step] = &planned{value: value, spared: spared}
	}
	some.Store(len(plan) > 0)
}

// At returns the value with which the step is to fail now, "" when it is not.
func At(step string) string {
	once.Do(fromEnvironment)
	if !some.Load() {
		return ""
	}
	mu.Lock()
	defer mu.Unlock()
	p := plan[step]
	if p == nil {
		return ""
	}
	if p.spared > 0 {
		p.spared--
		return ""
	}
	return p.value
}

// Code is At for steps whose value is a number; 0 when it does not fail.
func Code(step string) int {
	value := At(step)
	if value == "" {
		return 0
	}
	code, _ := strconv.Atoi(value)
	return code
}
