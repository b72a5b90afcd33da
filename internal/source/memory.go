package source

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/image/draw"
	"golang.org/x/sync/errgroup"

	"facetrack/internal/clock"
)

// memorySpec is "memory:size=1920x1080,format=NV12,frames=300,start=7,phase=0.5:PATH".
type memorySpec struct {
	path          string
	width, height int // 0: the material's
	format        string
	frames        int     // at most so many are kept
	start         int     // first frame, so that cameras with the same film differ
	phase         float64 // see Info.Phase: cameras that nobody synchronises do not all have a frame at the same instant
}

// memoryBytes bounds what one film may take.
const memoryBytes = 4 << 30

// SplitMemory parts a specification "memory:OPTIONS:PATH" before its path; of any other one all is the path.
func SplitMemory(spec string) (before, path string) {
	const kind = "memory:"
	options, path, ok := strings.Cut(strings.TrimPrefix(spec, kind), ":")
	if !ok || !strings.HasPrefix(spec, kind) {
		return "", spec
	}
	return kind + options + ":", path
}

func parseMemory(spec string) (memorySpec, error) {
	m := memorySpec{format: NV12, frames: 300}
	options, path, ok := strings.Cut(strings.TrimPrefix(spec, "memory:"), ":")
	if m.path = path; !ok || path == "" || IsLive(path) {
		return m, fmt.Errorf("%w: %s: want memory:size=1920x1080,format=NV12:PATH with the path of a recording", ErrSpec, spec)
	}
	p := SyntheticParams{Format: m.format}
	for field := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(field, "=")
		var err error
		switch key {
		case "":
			continue
		case "size":
			err = synthSize(&p, value)
		case "format":
			err = synthKeys["format"](&p, value)
		case "frames":
			err = synthInt(value, 1, 1<<20, &m.frames)
		case "start":
			err = synthInt(value, 0, 1<<20, &m.start)
		case "phase":
			err = phase(value, &m.phase)
		default:
			return m, fmt.Errorf("%w: %s: unknown key %q; the keys are format, frames, phase, size, start", ErrSpec, spec, key)
		}
		if err != nil {
			return m, fmt.Errorf("%w: %s: %s=%s: %w", ErrSpec, spec, key, value, err)
		}
	}
	m.width, m.height, m.format = p.Width, p.Height, p.Format
	return m, nil
}

func phase(text string, to *float64) (err error) {
	*to, err = strconv.ParseFloat(text, 64)
	if err != nil || !(*to >= 0 && *to <= 1) {
		return errors.New("a number from 0 to 1 is expected")
	}
	return nil
}

// shared is what sources with the same film have in common.
func (m *memorySpec) shared() memorySpec {
	s := *m
	s.start, s.phase = 0, 0
	return s
}

// film is decoded material. Sources of the same material share it: it is there once, however many cameras play it.
type film struct {
	info   Info
	frames [][]byte

	users int // guarded by films
	ready chan struct{}
	err   error
}

var films = struct {
	sync.Mutex
	open map[memorySpec]*film
}{open: map[memorySpec]*film{}}

// takeFilm returns the film of a specification, which the first who asks decodes. It wants to be given back.
func takeFilm(ctx context.Context, m memorySpec, opts Options) (*film, error) {
	m = m.shared()
	films.Lock()
	f := films.open[m]
	if f == nil {
		f = &film{ready: make(chan struct{})}
		films.open[m] = f
		go func() {
			defer close(f.ready)
			f.err = f.decode(context.WithoutCancel(ctx), m, opts)
		}()
	}
	f.users++
	films.Unlock()
	var err error
	select {
	case <-f.ready:
		err = f.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		f.give(m)
		return nil, err
	}
	return f, nil
}

func (f *film) give(m memorySpec) {
	m = m.shared()
	films.Lock()
	defer films.Unlock()
	if f.users--; f.users == 0 && films.open[m] == f {
		delete(films.open, m)
	}
}

func (f *film) decode(ctx context.Context, m memorySpec, opts Options) error {
	src, err := Open(ctx, m.path, opts)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	from := src.Info()
	f.info = from
	f.info.Format, f.info.Seekable = m.format, true
	if m.width > 0 {
		f.info.Width, f.info.Height = m.width, m.height
	}
	if f.info.Format != BGR && (f.info.Width%2 != 0 || f.info.Height%2 != 0) {
		return fmt.Errorf("%w: %s of %s: a %s frame has even sides; name one with size=", ErrSpec, from.geometry(), m.path, f.info.Format)
	}
	var scaling errgroup.Group // takes longer than decoding
	scaling.SetLimit(runtime.GOMAXPROCS(0))
	scalers := sync.Pool{New: func() any { return newScaler(from, f.info) }}
	for len(f.frames) < m.frames && len(f.frames)*f.info.FrameBytes() < memoryBytes {
		if _, err = src.Grab(ctx); err != nil {
			break
		}
		raw, frame := make([]byte, from.FrameBytes()), make([]byte, f.info.FrameBytes())
		if err = src.Retrieve(raw); err != nil {
			break
		}
		f.frames = append(f.frames, frame)
		scaling.Go(func() error {
			s := scalers.Get().(*scaler) //nolint:forcetypeassert // see above
			defer scalers.Put(s)
			s.scale(frame, raw)
			return nil
		})
	}
	_ = scaling.Wait() // none fails
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if f.info.Frames = len(f.frames); len(f.frames) == 0 {
		return fmt.Errorf("%w: %s has no frames", ErrCorrupt, m.path)
	}
	return nil
}

// scaler brings frames to another size and format; the picture fills the frame and is cut at its longer sides.
type scaler struct {
	from, to Info
	bgr      []byte
	picture  *image.RGBA
	scaled   *image.RGBA
}

func newScaler(from, to Info) *scaler {
	return &scaler{
		from: from, to: to, bgr: make([]byte, 3*to.Width*to.Height),
		picture: image.NewRGBA(image.Rect(0, 0, from.Width, from.Height)), scaled: image.NewRGBA(image.Rect(0, 0, to.Width, to.Height)),
	}
}

// scale makes a frame of what the source has given.
func (s *scaler) scale(frame, raw []byte) {
	if s.from.SameGeometry(s.to) {
		copy(frame, raw)
		return
	}
	toRGBA(s.picture.Pix, raw, s.from)
	draw.BiLinear.Scale(s.scaled, s.scaled.Rect, s.picture, s.cut(), draw.Src, nil)
	for i, o := 0, 0; o < len(s.bgr); i, o = i+4, o+3 {
		s.bgr[o], s.bgr[o+1], s.bgr[o+2] = s.scaled.Pix[i+2], s.scaled.Pix[i+1], s.scaled.Pix[i]
	}
	convertRect(frame, s.bgr, s.to.Format, s.to.Width, s.to.Height, 0, 0, s.to.Width, s.to.Height)
}

// cut is the largest centred part of the picture that has the frame's shape.
func (s *scaler) cut() image.Rectangle {
	w, h := s.from.Width, s.from.Height
	if w*s.to.Height > h*s.to.Width {
		w = max(1, h*s.to.Width/s.to.Height)
	} else {
		h = max(1, w*s.to.Height/s.to.Width)
	}
	x, y := (s.from.Width-w)/2, (s.from.Height-h)/2
	return image.Rect(x, y, x+w, y+h)
}

func toRGBA(dst, src []byte, info Info) {
	w, n := info.Width, info.Width*info.Height
	for p := range n {
		var b, g, r byte
		switch info.Format {
		case NV12:
			c := n + p/w/2*w + p%w&^1
			b, g, r = bgrOf(src[p], src[c], src[c+1])
		case YUYV:
			c := 4 * (p / 2)
			b, g, r = bgrOf(src[2*p], src[c+1], src[c+3])
		default:
			b, g, r = src[3*p], src[3*p+1], src[3*p+2]
		}
		dst[4*p], dst[4*p+1], dst[4*p+2], dst[4*p+3] = r, g, b, 0xff
	}
}

// memory plays a film from its start and, around its end, as many frames as it has.
type memory struct {
	spec memorySpec
	film *film
	info Info
	at   int64 // frames grabbed so far
}

func openMemory(ctx context.Context, spec string, opts Options) (Source, error) {
	m, err := parseMemory(spec)
	if err != nil {
		return nil, err
	}
	f, err := takeFilm(ctx, m, opts)
	if err != nil {
		return nil, err
	}
	info := f.info
	info.Name, info.InStep, info.Phase = spec, true, m.phase
	return &memory{spec: m, film: f, info: info}, nil
}

func (s *memory) Info() Info { return s.info }

func (s *memory) Grab(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.film == nil {
		return 0, ErrClosed
	}
	if s.at >= int64(len(s.film.frames)) {
		return 0, io.EOF
	}
	s.at++
	return clock.Now(), nil
}

func (s *memory) Retrieve(dst []byte) error {
	if s.film == nil {
		return ErrClosed
	}
	if s.at == 0 {
		return ErrNoFrame
	}
	if err := checkBuffer(dst, s.info); err != nil {
		return err
	}
	copy(dst, s.film.frames[(s.at-1+int64(s.spec.start))%int64(len(s.film.frames))])
	return nil
}

func (s *memory) Skip(n int64) error {
	if s.film == nil {
		return ErrClosed
	}
	if left := int64(len(s.film.frames)) - s.at; n > left {
		s.at += left
		return io.EOF
	}
	s.at += n
	return nil
}

func (s *memory) Close() error {
	if s.film != nil {
		s.film.give(s.spec)
		s.film = nil
	}
	return nil
}
