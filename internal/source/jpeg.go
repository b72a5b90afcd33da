package source

import (
	"bytes"
	"image"
	"image/jpeg"
	"sync"
)

// isYCbCr tells pictures that jpegToBGR converts.
func isYCbCr(img image.Image) bool {
	switch img.(type) {
	case *image.YCbCr, *image.Gray:
		return true
	}
	return false
}

// jpegToBGR converts the full-range samples of a decoded JPEG picture by JFIF's formula; img is one that isYCbCr accepts.
func jpegToBGR(dst []byte, img image.Image) {
	switch p := img.(type) {
	case *image.YCbCr:
		ycbcrToBGR(dst, p)
	case *image.Gray:
		w := p.Rect.Dx()
		for y := range p.Rect.Dy() {
			for x, v := range p.Pix[y*p.Stride:][:w] {
				o := 3 * (y*w + x)
				dst[o], dst[o+1], dst[o+2] = v, v, v
			}
		}
	}
}

func ycbcrToBGR(dst []byte, p *image.YCbCr) {
	w := p.Rect.Dx()
	shift := 0 // a sample of colour is for 1, 2 or 4 pixels
	switch p.SubsampleRatio {
	case image.YCbCrSubsampleRatio420, image.YCbCrSubsampleRatio422:
		shift = 1
	case image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410:
		shift = 2
	}
	for y := range p.Rect.Dy() {
		luma, c := p.Y[y*p.YStride:][:w], p.COffset(p.Rect.Min.X, p.Rect.Min.Y+y)
		cb, cr, row := p.Cb[c:], p.Cr[c:], dst[3*y*w:][:3*w]
		for x, v := range luma {
			l, u, v := int(v)<<16+1<<15, int(cb[x>>shift])-128, int(cr[x>>shift])-128
			row[3*x], row[3*x+1], row[3*x+2] = clamp8((l+116130*u)>>16), clamp8((l-22554*u-46802*v)>>16), clamp8((l+91881*v)>>16)
		}
	}
}

// withHuffmanTables gives a picture the tables of JPEG's annex K if it brings none, as those of many cameras do: in Motion-JPEG they may be
// left out.
func withHuffmanTables(picture []byte) []byte {
	scan := scanWithoutTables(picture)
	if scan == 0 {
		return picture
	}
	return bytes.Join([][]byte{picture[:scan], usualHuffmanTables(), picture[scan:]}, nil)
}

// scanWithoutTables returns where the first scan begins if there are no tables before it, else 0.
func scanWithoutTables(picture []byte) int {
	const tables, scan, head = 0xC4, 0xDA, 4
	for at := 2; at+head <= len(picture) && picture[at] == 0xFF; {
		switch picture[at+1] {
		case tables:
			return 0
		case scan:
			return at
		case 0xFF: // filling
			at++
		default:
			at += 2 + int(picture[at+2])<<8 + int(picture[at+3])
		}
	}
	return 0
}

// usualHuffmanTables are the segment with annex K's tables: those that the standard library writes into every picture.
var usualHuffmanTables = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 1, 1)), nil); err != nil {
		panic(err) // a buffer takes everything
	}
	from := bytes.Index(b.Bytes(), []byte{0xFF, 0xC4})
	return b.Bytes()[from : from+2+int(b.Bytes()[from+2])<<8+int(b.Bytes()[from+3])]
})
