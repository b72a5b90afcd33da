package wire

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestAppendFixed(t *testing.T) {
	for _, c := range []struct {
		v        float64
		decimals int
		want     string
	}{
		{0, 2, "0"}, {-0.004, 2, "0"}, {math.Copysign(0, -1), 2, "0"}, {0.005, 2, "0.01"}, {-0.005, 2, "-0.01"},
		{1.5, 2, "1.5"}, {1.05, 2, "1.05"}, {-12.345, 2, "-12.35"}, {0.99999, 2, "1"}, {0.00001, 5, "0.00001"},
		{1920, 2, "1920"}, {0.1, 5, "0.1"}, {7.9, 0, "8"}, {1e15, 2, "1e+15"}, {-1e300, 2, "-1e+300"}, {90071992547409.0, 2, "90071992547409"},
	} {
		if got := string(AppendFixed(nil, c.v, c.decimals)); got != c.want {
			t.Errorf("%v with %d decimals: %s, want %s", c.v, c.decimals, got, c.want)
		}
	}
}

// TestAppendFixedIsClose compares with exact arithmetic: the text is off by half a unit at most, and the
// rounding of one multiplication.
func TestAppendFixedIsClose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		v, decimals := (r.Float64()*2-1)*math.Pow(10, float64(r.IntN(8))), r.IntN(7)
		text, ok := new(big.Float).SetPrec(200).SetString(string(AppendFixed(nil, v, decimals)))
		if !ok {
			t.Fatalf("%v: not a number", v)
		}
		off, _ := text.Sub(text, big.NewFloat(v)).Float64()
		if half := 0.5 * math.Pow(10, -float64(decimals)); math.Abs(off) > half+math.Abs(v)*0x1p-52 {
			t.Fatalf("%v with %d decimals is off by %v", v, decimals, off)
		}
	}
}

// FuzzFloat compares numbers with strconv, and their grammar with encoding/json.
func FuzzFloat(f *testing.F) {
	for _, s := range []string{"0", "-0", "1.25", "123456789012345678901234567890", "1e5", "-1.5E-7", "01", "1.", ".5", "+1", "-", "1e", "0.1", "16777217", "1e400", "0.30000000000000004", "9007199254740993"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, c32 := NewCursor([]byte(s)), NewCursor([]byte(s))
		got, got32 := c.Float(), c32.Float32()
		c.End()
		c32.End()
		var number json.Number
		valid := json.Unmarshal([]byte(s), &number) == nil && number != "" && !strings.ContainsAny(s, "\"")
		want, err := strconv.ParseFloat(strings.TrimSpace(string(number)), 64)
		if accepted := c.Err() == nil; accepted != (valid && err == nil) {
			t.Fatalf("%q: accepted %v, encoding/json %v (%v)", s, accepted, valid, c.Err())
		}
		if c.Err() == nil && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q: %v, want %v", s, got, want)
		}
		want32, err := strconv.ParseFloat(strings.TrimSpace(string(number)), 32)
		if accepted := c32.Err() == nil; accepted != (valid && err == nil) {
			t.Fatalf("%q: single precision accepted %v (%v)", s, accepted, c32.Err())
		}
		if c32.Err() == nil && math.Float32bits(got32) != math.Float32bits(float32(want32)) {
			t.Fatalf("%q: %v, want %v in single precision", s, got32, want32)
		}
	})
}

// FuzzSkip checks that exactly the texts that encoding/json takes are passed over, nesting aside.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{`{"a":[1,true,null,"x\u00e9\n"],"b":{}}`, `[[]]`, `"`, `"\ud800"`, `"\x"`, `{"a":1,}`, `[1 2]`, `tru`, "\"\x01\"", `{"a" 1}`, `{1:2}`, "1\x00", "\"\xff\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := NewCursor([]byte(s))
		c.Skip()
		c.End()
		if errors.Is(c.Err(), ErrTooDeep) {
			return
		}
		if got, want := c.Err() == nil, json.Valid([]byte(s)); got != want {
			t.Fatalf("%q: accepted %v, encoding/json %v (%v)", s, got, want, c.Err())
		}
	})
}

// passed are values for Pass, with what it does at once and what it does step by step.
var passed = []string{
	`[[1,2.5,-3e2],[4,5,6]]`, `[[1],[2],[3],[4],[5],[6],[7],[8],[9],[10],[11]]`, `[[1],2]`, `[[1] ,[2]]`, `[[1],[2] ]`, `[[[1],[2]],[3]]`, `[[],[[]]]`,
	`[[1],["],["]]`, `[[1],[{"a":"]]"}]]`, `[[{}],[]]`, `{"a":[[1,2],[3,4]],"b":[]}`, `[{"a":[[1],[2]]},[[3]]]`, `[]`, `"]"`, `-1.5`, `null`,
}

// FuzzPass checks that a valid value is passed over to the same end as by Skip, whatever follows it.
func FuzzPass(f *testing.F) {
	for _, s := range passed {
		f.Add(s, `,[[1],[2]]`)
		f.Add(s, `],[[1]]`)
		f.Add(s, ` }`)
	}
	f.Fuzz(func(t *testing.T, s, behind string) {
		if !json.Valid([]byte(s)) || len(behind) > 0 && !strings.ContainsRune(",]} ", rune(behind[0])) {
			return // or the value would go on
		}
		skip, pass := NewCursor([]byte(s+behind)), NewCursor([]byte(s+behind))
		if skip.Skip(); skip.err != nil {
			return // too deep
		}
		if pass.Pass(); pass.err != nil || pass.pos != skip.pos {
			t.Fatalf("%q, then %q: passed to %d, %v; want %d", s, behind, pass.pos, pass.err, skip.pos)
		}
	})
}

// What begins like a table and does not end is refused, in time that grows with its length alone.
func TestPassOfBrokenTables(t *testing.T) {
	for _, s := range []string{`[[`, `[[1`, `[[1]`, `[[1],`, `[[1],[`, strings.Repeat(`[[1],`, 200_000), "[" + strings.Repeat(`[1],`, 200_000)} {
		c := NewCursor([]byte(s))
		if c.Pass(); !errors.Is(c.err, ErrSyntax) {
			t.Errorf("%.20s… of %d bytes: %v", s, len(s), c.err)
		}
	}
}

// FuzzString checks that strings are read, and written, as encoding/json does.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "quo\"te\\", "ü€😀", "\x00\n\x1f", "\xff", "<a>&"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var e Encoder
		e.String("", s)
		text, err := e.Result()
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(text, &want); err != nil || want != string([]rune(s)) {
			t.Fatalf("%q became %s: %v", s, text, err)
		}
		c := NewCursor(text)
		if got := c.String(len(want)); got != want || c.Err() != nil {
			t.Fatalf("%s was read as %q: %v", text, got, c.Err())
		}
		if len(want) > 0 {
			c := NewCursor(text)
			if c.String(len(want) - 1); !errors.Is(c.Err(), ErrTooLong) {
				t.Fatalf("%s is not too long for %d: %v", text, len(want)-1, c.Err())
			}
		}
	})
}

func TestAnErrorIsKept(t *testing.T) {
	c := NewCursor([]byte(`{"a":{"b":[1,2,"x"]},"c":1}`))
	c.Fields([]string{"a", "c"}, func(int) {
		c.Fields([]string{"b"}, func(int) { c.Floats(10) })
	})
	if want := "a.b[2]: value of another kind expected: a number expected at byte 15, found '\"'"; c.Err() == nil || c.Err().Error() != want {
		t.Errorf("%v, want %s", c.Err(), want)
	}
	first := c.Err().Error()
	if c.Uint() != 0 || c.Float() != 0 || c.Bool() || c.String(9) != "" || c.Err().Error() != first {
		t.Errorf("values after an error, or another error: %v", c.Err())
	}
}
