package doctor

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"facetrack/internal/config"
	"facetrack/internal/fault"
)

// The test program is the second process as well, in a role that a variable names.
const roleVariable = "DOCTOR_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case "second":
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "dies":
		fmt.Fprintln(os.Stderr, "a last word")
		os.Exit(3)
	case "babbles":
		fmt.Println("no JSON")
	default: // hangs, after it has told its process id
		_ = os.WriteFile(role, []byte(strconv.Itoa(os.Getpid())), 0o600)
		time.Sleep(time.Hour)
	}
}

// examine runs the doctor with faults planned for both processes.
func examine(t *testing.T, faults string, change func(*Options)) Report {
	t.Helper()
	driver(t)
	if os.Getenv(roleVariable) == "" {
		t.Setenv(roleVariable, "second")
	}
	t.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")) // the race detector would hold every child for a second
	t.Setenv(fault.Variable, faults)
	fault.Plan(faults)
	t.Cleanup(func() { fault.Plan("") })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Config: config.Default(), Child: []string{self}, Timeout: time.Minute}
	if change != nil {
		change(&o)
	}
	return Run(context.Background(), o)
}

func (r Report) check(t *testing.T, name string) Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %+v", name, r.Checks)
	return Check{}
}
