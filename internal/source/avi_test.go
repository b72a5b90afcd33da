package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"slices"
	"testing"
)

// riff is a chunk, or with a kind a list.
func riff(name, kind string, parts ...[]byte) []byte {
	body := append([]byte(kind), bytes.Join(parts, nil)...)
	out := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(body)))
	out = append(out, body...)
	return append(out, make([]byte, len(body)%2)...)
}

func aviStream(kind, codec string, w, h int32, rate, scale uint32) []byte {
	strh, strf := make([]byte, 56), make([]byte, 40)
	copy(strh, kind+codec)
	binary.LittleEndian.PutUint32(strh[20:], scale)
	binary.LittleEndian.PutUint32(strh[24:], rate)
	binary.LittleEndian.PutUint32(strf[4:], uint32(w))
	binary.LittleEndian.PutUint32(strf[8:], uint32(h))
	copy(strf[16:], codec)
	return riff("LIST", "strl", riff("strh", "", strh), riff("strf", "", strf))
}

// aviOf is a file whose frames are the chunks that are given.
func aviOf(w, h int32, chunks ...[]byte) []byte {
	headers := riff("LIST", "hdrl", riff("avih", "", make([]byte, 56)), aviStream("vids", "MJPG", w, h, 25, 1))
	return riff("RIFF", "AVI ", headers, riff("JUNK", "", make([]byte, 11)), riff("LIST", "movi", chunks...), riff("idx1", "", make([]byte, 16)))
}

func jpegPicture(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func grey(t testing.TB, level uint8) []byte {
	return jpegPicture(t, flat(16, 8, color.RGBA{level, level, level, 255}))
}

func frameChunk(picture []byte) []byte { return riff("00dc", "", picture) }

func greyAVI(t testing.TB, levels ...uint8) []byte {
	var chunks [][]byte
	for _, l := range levels {
		chunks = append(chunks, frameChunk(grey(t, l)))
	}
	return aviOf(16, 8, chunks...)
}

// levels plays a file whose frames have one grey each.
func levels(t *testing.T, data []byte) (out []byte, end error) {
	t.Helper()
	s := mustOpen(t, writeFile(t, "a.avi", data), Options{})
	dst := make([]byte, s.Info().FrameBytes())
	for {
		if _, err := s.Grab(t.Context()); err != nil {
			return out, err
		}
		if err := s.Retrieve(dst); err != nil {
			return out, err
		}
		out = append(out, dst[0])
	}
}

func TestAVI(t *testing.T) {
	path := writeFile(t, "a.AVI", greyAVI(t, 10, 60, 110))
	s := mustOpen(t, path, Options{})
	if want := (Info{Width: 16, Height: 8, Format: BGR, FPS: 25, Frames: 3, Seekable: true, Name: path}); s.Info() != want {
		t.Errorf("%+v, want %+v", s.Info(), want)
	}
	for _, want := range []byte{10, 60, 110} {
		near(t, "grey", next(t, s), bytes.Repeat([]byte{want}, 3*16*8), 1)
	}
	checkContract(t, 3, func() Source { return mustOpen(t, path, Options{}) })
}

func TestAVIOfPlayersAndCameras(t *testing.T) {
	a, b, c := frameChunk(grey(t, 10)), frameChunk(grey(t, 60)), frameChunk(grey(t, 110))
	sound, index, none := riff("01wb", "", make([]byte, 7)), riff("ix00", "", make([]byte, 8)), riff("00dc", "")
	more := riff("RIFF", "AVIX", riff("LIST", "movi", c))
	secondStream := riff("RIFF", "AVI ",
		riff("LIST", "hdrl", aviStream("auds", "\x01\x00\x00\x00", 0, 0, 8000, 1), aviStream("vids", "mjpg", 16, -8, 30000, 1001), aviStream("vids", "H264", 9, 9, 5, 1)),
		riff("LIST", "movi", riff("00wb", "", []byte{1}), riff("01dc", "", grey(t, 10)), riff("02dc", "", []byte{2})))
	for name, x := range map[string]struct {
		data []byte
		want []byte
	}{
		"sound and index":           {aviOf(16, 8, index, a, sound, b), []byte{10, 60}},
		"groups":                    {aviOf(16, 8, riff("LIST", "rec ", a, sound), riff("LIST", "rec ", b)), []byte{10, 60}},
		"a frame that repeats":      {aviOf(16, 8, a, none, b, none), []byte{10, 10, 60, 60}},
		"more than one RIFF":        {append(aviOf(16, 8, a, b), more...), []byte{10, 60, 110}},
		"uncompressed frames' name": {aviOf(16, 8, riff("00db", "", grey(t, 60))), []byte{60}},
		"the video is second":       {secondStream, []byte{10}},
		"no Huffman tables":         {aviOf(16, 8, frameChunk(withoutTables(t, grey(t, 110)))), []byte{110}},
		"a grey picture":            {aviOf(16, 8, frameChunk(jpegPicture(t, image.NewGray(image.Rect(0, 0, 16, 8))))), []byte{0}},
	} {
		got, err := levels(t, x.data)
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
		near(t, name, got, x.want, 1)
	}
	s := mustOpen(t, writeFile(t, "second.avi", secondStream), Options{})
	if s.Info().FPS != 30000.0/1001 {
		t.Errorf("%v frames/s", s.Info().FPS)
	}
}

// withoutTables takes the Huffman tables out of a picture.
func withoutTables(t testing.TB, picture []byte) []byte {
	t.Helper()
	tables := usualHuffmanTables()
	at := bytes.Index(picture, tables)
	if at < 0 || len(tables) < 400 {
		t.Fatalf("no tables of %d bytes in the picture", len(tables))
	}
	return slices.Concat(picture[:at], picture[at+len(tables):])
}

func TestAVIErrors(t *testing.T) {
	good, one := greyAVI(t, 10), frameChunk(grey(t, 10))
	other := bytes.ReplaceAll(good, []byte("hdrl"), []byte("xxxx"))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no RIFF":      {[]byte("hello, this is no film"), "no RIFF list"},
		"WAVE":         {riff("RIFF", "WAVE"), "no RIFF list"},
		"short":        {good[:6], "byte 6"},
		"no headers":   {other, "before the header of a video stream"},
		"only headers": {aviOf(16, 8), "no complete frame"},
		"sound alone":  {riff("RIFF", "AVI ", riff("LIST", "hdrl", aviStream("auds", "\x01\x00\x00\x00", 0, 0, 8000, 1))), "no header of a video stream"},
		"no size":      {aviOf(0, 8, one), "size 0×8"},
		"huge":         {aviOf(1<<30, 1<<30, one), "outside"},
		"another size": {aviOf(16, 16, one), "it is 16×8, the file says 16×16"},
		"no picture":   {aviOf(16, 8, frameChunk([]byte("nothing"))), "frame 0 at byte"},
		"repeats none": {aviOf(16, 8, riff("00dc", ""), one), "repeats one before it"},
		"short header": {riff("RIFF", "AVI ", riff("LIST", "hdrl", riff("LIST", "strl", riff("strh", "", []byte("vids"))))), "has 4 bytes"},
		"deep":         {aviOf(16, 8, riff("LIST", "rec ", riff("LIST", "rec ", one))), "within a group"},
		"overlong":     {bytes.Replace(good, []byte("strh\x38"), []byte("strh\xf8"), 1), "what holds it ends"},
	} {
		t.Run(name, func(t *testing.T) { openError(t, writeFile(t, "bad.avi", c.data), ErrCorrupt, c.want, "bad.avi") })
	}
}

func TestCutAVIPlaysUpToTheCut(t *testing.T) {
	data := greyAVI(t, 10, 60, 110)
	last := bytes.LastIndex(data, []byte("00dc"))
	for name, cut := range map[string]int{"within a frame": last + 30, "within a chunk's head": last + 3, "between frames": last} {
		got, err := levels(t, data[:cut])
		wantError(t, err, ErrCorrupt, "a.avi", "after frame 1", "ends at byte")
		near(t, name, got, []byte{10, 60}, 1)
	}
	noise := slices.Clone(data)
	copy(noise[last+4:], "\xff\xff\xff\xff")
	got, err := levels(t, noise)
	wantError(t, err, ErrCorrupt, "after frame 1", "goes on to byte")
	near(t, "noise", got, []byte{10, 60}, 1)
}

// twelve bits a sample are sound JPEG that the standard library does not read.
func TestJPEGThatIsNotRead(t *testing.T) {
	picture := grey(t, 10)
	frame := bytes.Index(picture, []byte{0xFF, 0xC0})
	picture[frame+4] = 12
	data := aviOf(16, 8, frameChunk(picture))
	_, err := newAVI(bytes.NewReader(data), int64(len(data)), "deep.avi", Options{})
	wantError(t, err, ErrUnsupported, "deep.avi", "not Motion-JPEG as it is read here", "precision")
}

func TestDamagedPictureOfAVIIsNamed(t *testing.T) {
	data := greyAVI(t, 10, 60)
	last := bytes.LastIndex(data, []byte("00dc"))
	data[last+8] = 0
	got, err := levels(t, data)
	wantError(t, err, ErrCorrupt, "a.avi: frame 1 at byte")
	near(t, "before it", got, []byte{10}, 1)
}

func TestJPEGColours(t *testing.T) {
	for _, ratio := range []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420, image.YCbCrSubsampleRatio440,
		image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	} {
		img := image.NewYCbCr(image.Rect(0, 0, 13, 7), ratio)
		for _, plane := range [][]byte{img.Y, img.Cb, img.Cr} {
			for i := range plane {
				plane[i] = byte(i*89 + len(plane)*31)
			}
		}
		got, want := make([]byte, 3*13*7), []byte{}
		jpegToBGR(got, img)
		for y := range 7 {
			for x := range 13 {
				c := img.YCbCrAt(x, y)
				r, g, b := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
				want = append(want, b, g, r)
			}
		}
		near(t, ratio.String(), got, want, 1)
	}
}

func TestDemo(t *testing.T) {
	s := mustOpen(t, Demo, Options{})
	info := s.Info()
	if info.Width != 640 || info.Height != 480 || info.Format != BGR || info.Frames < 2 || info.Live || info.Name != "demo" {
		t.Errorf("%+v", info)
	}
	first := next(t, s)
	if err := s.Skip(int64(info.Frames) - 2); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(first, next(t, s)) {
		t.Error("the last frame is the first")
	}
	if n, err := drain(s); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d frames more, %v", n, err)
	}
	kept := mustOpen(t, "memory:size=320x240,frames=2:"+Demo, Options{})
	if kept.Info().Width != 320 || len(next(t, kept)) != 320*240*3/2 {
		t.Errorf("held in memory: %+v", kept.Info())
	}
}

func FuzzAVI(f *testing.F) {
	data := greyAVI(f, 10, 60)
	f.Add(data)
	f.Add(data[:len(data)-100])
	f.Add(append(slices.Clone(data), riff("RIFF", "AVIX", riff("LIST", "movi", frameChunk(grey(f, 10))))...))
	f.Add(aviOf(16, 8, riff("LIST", "rec ", frameChunk(withoutTables(f, grey(f, 10)))), riff("00dc", "")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := newAVI(bytes.NewReader(data), int64(len(data)), "fuzz.avi", Options{})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("error %v has no sentinel", err)
			}
			return
		}
		dst := make([]byte, s.Info().FrameBytes())
		for n := 0; ; n++ {
			if _, err := s.Grab(context.Background()); err != nil {
				if n != s.Info().Frames || !errors.Is(err, ErrCorrupt) && !errors.Is(err, io.EOF) {
					t.Fatalf("after %d of %d frames: %v", n, s.Info().Frames, err)
				}
				return
			}
			if err := s.Retrieve(dst); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
		}
	})
}
