package faces

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"facetrack/infer"
	"facetrack/internal/kernels/image"
	"facetrack/vision"
)

// sides of frames: bars above and below, at the sides, none, enlarged.
var sides = [][2]int{{128, 96}, {90, 160}, {320, 320}, {40, 30}}

// detection is a detector's outputs for a number of frames.
type detection struct {
	kind      string
	size      int
	frames    int
	threshold float64
	iou       float64
	most      int
	net       *network
}

var strides = []int{8, 16, 32}

// yunet has outputs that values(name, prior) fills.
func yunet(size, frames int, threshold float64, fill func(kind, frame int, v []float32)) *detection {
	d := &detection{kind: "yunet", size: size, frames: frames, threshold: threshold, iou: 0.3, most: 32,
		net: &network{in: []infer.Info{{Shape: []int{1, size, size, 3}}}}}
	for _, stride := range strides {
		cells := size / stride * (size / stride)
		for k, o := range []struct {
			name  string
			width int
		}{{"cls", 1}, {"obj", 1}, {"bbox", 4}, {"kps", 10}} {
			d.add(infer.Info{Name: fmt.Sprintf("%s_%d", o.name, stride), Shape: []int{1, cells, o.width}}, k, fill)
		}
	}
	return d
}

func blazeface(frames int, threshold float64, fill func(kind, frame int, v []float32)) *detection {
	d := &detection{kind: "blazeface", size: 128, frames: frames, threshold: threshold, iou: 0.3, most: 32,
		net: &network{in: []infer.Info{{Shape: []int{1, 128, 128, 3}}}}}
	d.add(infer.Info{Shape: []int{1, 896, 1}}, 0, fill)
	d.add(infer.Info{Shape: []int{1, 896, 16}}, 1, fill)
	return d
}

func (d *detection) add(info infer.Info, kind int, fill func(kind, frame int, v []float32)) {
	all := make([]float32, d.frames*info.Len())
	for f := range d.frames {
		fill(kind, f, all[f*info.Len():(f+1)*info.Len()])
	}
	d.net.out, d.net.values = append(d.net.out, info), append(d.net.values, all)
}

func (d *detection) side(frame int) [2]int { return sides[frame%len(sides)] }

// want is what vision finds.
func (d *detection) want() ([][]vision.Face, error) {
	v, err := vision.NewDetector(d.kind, d.net, vision.DetectorOptions{ScoreThreshold: d.threshold, NMSThreshold: d.iou, MaxFaces: d.most, MaxBatch: d.frames})
	if err != nil {
		return nil, err
	}
	var frames []vision.Image
	for i := range d.frames {
		s := d.side(i)
		frames = append(frames, vision.Image{Format: vision.BGR, Width: s[0], Height: s[1], Pix: make([]byte, 3*s[0]*s[1])})
	}
	return v.DetectBatch(frames)
}

// reduction and the records that the kernels make, from candidates in memory that was used before.
func (r *rig) detect(d *detection) (Reduction, [][]byte) {
	r.Helper()
	var items []byte
	for i := range d.frames {
		s := d.side(i)
		l, err := image.NewLetterbox(vision.BGR, s[0], s[1], d.size)
		r.must(err)
		items, err = l.Append(items, 512, 512)
		r.must(err)
	}
	var out []uint64
	for _, v := range d.net.values {
		out = append(out, r.floats(v))
	}
	reduction := Reduction{Merge: true, KeyPoints: 6, IoU: d.iou, MaxFaces: d.most}
	priors := BlazeFacePriors
	if d.kind == "yunet" {
		reduction.Merge, reduction.KeyPoints, priors = false, 5, YuNetPriors(d.size)
	}
	c := CandidatesAt(r.take(int(CandidateBytes(priors, d.frames))), priors, d.frames)
	if d.kind == "yunet" {
		y := YuNet{Size: d.size}
		for i := range strides {
			y.Cls[i], y.Obj[i], y.Box[i], y.Points[i] = out[4*i], out[4*i+1], out[4*i+2], out[4*i+3]
		}
		r.must(r.set.DecodeYuNet(r.stream, y, d.threshold, c, d.frames))
	} else {
		r.must(r.set.DecodeBlazeFace(r.stream, out[1], out[0], d.threshold, c, d.frames))
	}
	each := reduction.RecordBytes()
	records := r.take(d.frames * each)
	r.must(r.set.Reduce(r.stream, reduction, c, r.put(items)+image.LetterboxMapping, image.LetterboxBytes, records, d.frames))
	raw := r.download(records, d.frames*each)
	var list [][]byte
	for i := range d.frames {
		list = append(list, raw[i*each:(i+1)*each])
	}
	r.taken = 0
	return reduction, list
}

// compare returns how many faces and candidates there were.
func (r *rig) compare(what string, d *detection) (found, candidates int) {
	r.Helper()
	want, err := d.want()
	r.must(err)
	reduction, records := r.detect(d)
	for i, w := range want {
		got, n, err := reduction.Parse(records[i])
		r.must(err)
		found, candidates = found+len(got), candidates+n
		if len(got) != len(w) {
			r.Fatalf("%s, frame %d: %d faces, want %d", what, i, len(got), len(w))
		}
		for k := range w {
			r.sameFace(fmt.Sprintf("%s, frame %d, face %d", what, i, k), got[k], w[k])
		}
	}
	return found, candidates
}

func (r *rig) sameFace(what string, got, want vision.Face) {
	r.Helper()
	r.near(what+", score", got.Score, want.Score, 1e-7)
	for i := range want.Box {
		r.near(what+", box", got.Box[i], want.Box[i], 1e-3)
	}
	for i, p := range want.KeyPoints {
		r.near(what+", x", got.KeyPoints[i][0], p[0], 1e-3)
		r.near(what+", y", got.KeyPoints[i][1], p[1], 1e-3)
	}
}

// uniform are numbers between two limits.
func uniform(rng *rand.Rand, v []float32, low, high float64) {
	for i := range v {
		v[i] = float32(low + (high-low)*rng.Float64())
	}
}

// randomYuNet fills with scores of which a share passes 0.6, and boxes of up to e^grown strides.
func randomYuNet(seed uint64, share, grown float64) func(kind, frame int, v []float32) {
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(kind, _ int, v []float32) {
		switch kind {
		case 0:
			uniform(rng, v, 0, 1)
			for i := range v {
				if rng.Float64() > share {
					v[i] /= 4
				}
			}
		case 1:
			uniform(rng, v, 0.5, 1.05) // products above one are ties
		case 2:
			uniform(rng, v, -0.5, grown)
		default:
			uniform(rng, v, -2, 2)
		}
	}
}

func TestYuNetIsVisions(t *testing.T) {
	r := newRig(t)
	for seed, c := range []struct {
		size, frames int
		share, grown float64
	}{{32, 1, 1, 1}, {64, 4, 0.5, 0.5}, {160, 3, 0.1, 1.5}, {320, 2, 0.02, 2}, {100, 2, 0.2, 1}} {
		found, n := r.compare(fmt.Sprintf("%+v", c), yunet(c.size, c.frames, 0.6, randomYuNet(uint64(seed), c.share, c.grown)))
		t.Logf("%+v: %d faces of %d candidates", c, found, n)
	}
}

// More candidates than are looked at, many of them with equal scores: those of lower index come first.
func TestManyCandidates(t *testing.T) {
	r := newRig(t)
	d := yunet(320, 2, 0.1, func(kind, frame int, v []float32) {
		randomYuNet(uint64(frame), 1, -0.4)(kind, frame, v)
		for i := range v {
			if kind < 2 {
				v[i] = float32(math.Ceil(float64(v[i])*4) / 4)
			}
		}
	})
	if _, n := r.compare("many", d); n < 2*1500 {
		t.Errorf("%d candidates are not many", n)
	}
	for range 3 { // whatever order the threads come in
		_, a := r.detect(d)
		_, b := r.detect(d)
		if string(a[0]) != string(b[0]) || string(a[1]) != string(b[1]) {
			t.Fatal("two runs differ")
		}
	}
	d.most = 200
	r.compare("many faces", d)
}

func randomBlazeFace(seed uint64, lift float64) func(kind, frame int, v []float32) {
	rng := rand.New(rand.NewPCG(seed, 2))
	return func(kind, _ int, v []float32) {
		if kind == 0 {
			uniform(rng, v, -6, lift)
			return
		}
		uniform(rng, v, -10, 30) // some sides are negative: empty boxes
	}
}

func TestBlazeFaceIsVisions(t *testing.T) {
	r := newRig(t)
	for seed, lift := range []float64{0.2, 1, 6, 200} {
		d := blazeface(2, 0.5, randomBlazeFace(uint64(seed), lift))
		found, n := r.compare(fmt.Sprintf("up to %v", lift), d)
		t.Logf("up to %v: %d faces of %d candidates", lift, found, n)
		d.most = 3
		r.compare("at most three", d)
		d.most, d.iou = 1000, 0.01
		r.compare("much is merged", d)
	}
	d := blazeface(1, 0.5, randomBlazeFace(9, 0.5))
	d.most, d.iou = 60, 1
	r.compare("nothing is merged", d)
}

// Sides of e^12 strides and more, which are cut there: finite still.
func TestAbsurdBoxes(t *testing.T) {
	r := newRig(t)
	r.compare("e^1 to e^60", yunet(64, 2, 0.6, func(kind, frame int, v []float32) {
		randomYuNet(uint64(frame), 0.2, 60)(kind, frame, v)
	}))
}

func TestNoFaces(t *testing.T) {
	r := newRig(t)
	none := func(int, int, []float32) {}
	if found, n := r.compare("yunet", yunet(64, 3, 0.6, none)); found != 0 || n != 0 {
		t.Errorf("%d faces, %d candidates", found, n)
	}
	d := blazeface(2, 0.6, none) // logit 0 is 0.5
	if found, n := r.compare("blazeface", d); found != 0 || n != 0 {
		t.Errorf("%d faces, %d candidates", found, n)
	}
}

// What is not finite is an error of its frame alone.
func TestOutputsThatAreNotFinite(t *testing.T) {
	r := newRig(t)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for kind := range 4 {
			y := func(k, frame int, v []float32) {
				randomYuNet(uint64(frame), 0.5, 1)(k, frame, v)
				if k == kind && frame == 1 {
					v[len(v)-1] = float32(bad)
				}
			}
			r.compareNonFinite(yunet(64, 3, 0.6, y))
		}
		for kind := range 2 {
			r.compareNonFinite(blazeface(3, 0.5, func(k, frame int, v []float32) {
				randomBlazeFace(uint64(frame), 1)(k, frame, v)
				if k == kind && frame == 1 {
					v[77] = float32(bad)
				}
			}))
		}
	}
}

func (r *rig) compareNonFinite(d *detection) {
	r.Helper()
	if _, err := d.want(); !errors.Is(err, vision.ErrNonFinite) {
		r.Fatalf("vision: %v", err)
	}
	reduction, records := r.detect(d)
	for i, record := range records {
		found, _, err := reduction.Parse(record)
		if errors.Is(err, vision.ErrNonFinite) != (i == 1) || len(found) > 0 != (i != 1) {
			r.Fatalf("frame %d: %d faces, %v", i, len(found), err)
		}
	}
}
