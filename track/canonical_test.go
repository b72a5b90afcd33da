package track

import (
	"archive/zip"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"facetrack/internal/testutil"
	"facetrack/topology"
)

// canonicalMesh reads the canonical mesh out of the public landmark bundle: a zip whose geometry
// member is a message with the mesh in field 1, and there the vertices, as floats x y z u v, in field 3.
func canonicalMesh(t testing.TB) [][3]float64 {
	t.Helper()
	bundle, err := zip.OpenReader(filepath.Join(testutil.Assets(t), "models", "face_landmarker_v2_with_blendshapes.task"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bundle.Close() }()
	member, err := bundle.Open("geometry_pipeline_metadata_landmarks.binarypb")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(member)
	if err != nil {
		t.Fatal(err)
	}
	var floats []float64
	fields(t, data, func(field int, mesh []byte) {
		if field != 1 {
			return
		}
		fields(t, mesh, func(field int, value []byte) {
			if field == 3 {
				floats = append(floats, float64(math.Float32frombits(binary.LittleEndian.Uint32(value))))
			}
		})
	})
	var mesh [][3]float64
	for i := 0; i+4 < len(floats); i += 5 {
		mesh = append(mesh, [3]float64(floats[i:i+3]))
	}
	if len(mesh) != 468 {
		t.Fatalf("the canonical mesh has %d points, want 468", len(mesh))
	}
	return mesh
}

func canonicalSolver(t testing.TB) *PoseSolver {
	t.Helper()
	s, err := NewPoseSolver(topology.MediaPipe, canonicalMesh(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fields calls each with every length-delimited or 4-byte field of a protocol buffer message.
func fields(t testing.TB, data []byte, each func(field int, value []byte)) {
	t.Helper()
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		data = data[n:]
		size := 4
		switch key & 7 {
		case 0:
			_, n = binary.Uvarint(data)
			data = data[n:]
			continue
		case 2:
			length, n := binary.Uvarint(data)
			data, size = data[n:], int(length)
		case 5:
		default:
			t.Fatalf("wire type %d is not in this message", key&7)
		}
		each(int(key>>3), data[:size])
		data = data[size:]
	}
}

// TestGenericHeadAgreesWithCanonical fits the built-in head to images of the canonical one.
func TestGenericHeadAgreesWithCanonical(t *testing.T) {
	canonical, generic := canonicalSolver(t), GenericPoseSolver()
	worst, sum, n, depthError := 0.0, 0.0, 0, 0.0
	grid(func(pitch, yaw, roll, depth float64) {
		want := RotationFromAngles(pitch, yaw, roll)
		pose, err := generic.Solve(project(t, canonical, testCamera, want, [3]float64{0, 0, depth}, 0, rand.New(rand.NewPCG(0, 0))), testCamera, nil)
		if err != nil {
			t.Fatal(err)
		}
		e := turnBetween(want, pose.Rotation())
		worst, sum, n = max(worst, e), sum+e, n+1
		depthError = max(depthError, math.Abs(pose.Z/depth-1))
	})
	t.Logf("mean %.2f°, worst %.2f°, depth within %.1f %%", sum/float64(n), worst, 100*depthError)
	if worst > 3 || depthError > 0.05 {
		t.Errorf("worst %.2f° (want ≤ 3), depth off by %.1f %% (want ≤ 5)", worst, 100*depthError)
	}
}

// TestGenericHeadFitsOtherHeads is the twin that needs no file: heads with other proportions.
func TestGenericHeadFitsOtherHeads(t *testing.T) {
	generic := GenericPoseSolver()
	rng := rand.New(rand.NewPCG(5, 5))
	for head := range 10 {
		stretch := [3]float64{1 + 0.04*rng.NormFloat64(), 1 + 0.04*rng.NormFloat64(), 1 + 0.04*rng.NormFloat64()}
		other := &PoseSolver{set: generic.set}
		for _, p := range generic.points {
			for k := range 3 {
				p.at[k] = p.at[k]*stretch[k] + 0.15*rng.NormFloat64()
			}
			other.points = append(other.points, p)
		}
		for yaw := -45.0; yaw <= 45; yaw += 15 {
			want := RotationFromAngles(-yaw/3, yaw, yaw/4)
			pose, err := generic.Solve(project(t, other, testCamera, want, [3]float64{0, 0, 70}, 0, rng), testCamera, nil)
			if err != nil {
				t.Fatal(err)
			}
			if e := turnBetween(want, pose.Rotation()); e > 6 {
				t.Errorf("head %d, yaw %g: off by %.2f°, want ≤ 6°", head, yaw, e)
			}
		}
	}
}

func TestStablePointsAreMirrored(t *testing.T) {
	seen := map[int]bool{}
	for _, p := range topology.MediaPipe.Stable {
		if seen[p.Index] || p.Index < 0 || p.Index >= 468 {
			t.Errorf("point %d is listed twice or outside the mesh", p.Index)
		}
		seen[p.Index] = true
	}
	for _, p := range canonicalSolver(t).points {
		found := false
		for _, o := range canonicalSolver(t).points {
			mirror := [3]float64{-o.at[0], o.at[1], o.at[2]}
			found = found || math.Abs(p.at[0]-mirror[0])+math.Abs(p.at[1]-mirror[1])+math.Abs(p.at[2]-mirror[2]) < 1e-4 && p.weight == o.weight
		}
		if !found {
			t.Errorf("point %d at %v has no mirror image in the list", p.index, p.at)
		}
	}
}

// The corners, lids and irises that the public set lists, the 68 among them, lie where those of the project's own points do once the
// canonical mesh is laid over the mean head.
func TestBothSetsMeanTheSamePlaces(t *testing.T) {
	mesh, head := canonicalMesh(t), topology.ICT.Head()
	worst, sum := 0.0, 0.0
	for i, own := range topology.ICT.MultiPIE {
		public := mesh[topology.MediaPipe.MultiPIE[i]]
		d := math.Sqrt((public[0]-head[own][0])*(public[0]-head[own][0]) + (public[1]-head[own][1])*(public[1]-head[own][1]) + (public[2]-head[own][2])*(public[2]-head[own][2]))
		worst, sum = max(worst, d), sum+d
		limit := 1.0
		if i < 17 { // along the jaw a line may slide
			limit = 2.2
		}
		if d > limit {
			t.Errorf("point %d of 68: %.2f cm from the other set's", i, d)
		}
	}
	t.Logf("mean %.2f cm, worst %.2f cm", sum/68, worst)
	for k, e := range topology.MediaPipe.Eyes {
		o := topology.ICT.Eyes[k]
		for n, pair := range [][2]int{{e.Outer, o.Outer}, {e.Inner, o.Inner}, {e.Upper, o.Upper}, {e.Lower, o.Lower}} {
			a, b := mesh[pair[0]], head[pair[1]]
			if d := math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]); d > 0.7 {
				t.Errorf("eye %d, point %d: %.2f cm apart", k, n, d)
			}
		}
	}
}
