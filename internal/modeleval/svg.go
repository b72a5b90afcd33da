package modeleval

import (
	"fmt"
	"strings"
)

const offsetsFile = "offsets.svg"

// offsetsSVG draws the reference's mean face, and from each point a line to where ours lies on average: green on photographs, grey where the
// truth of rendered faces is, if that is known.
func offsetsSVG(p *Points, definitions *marks) []byte {
	const scale, left, top, width, height = 400, 400, 220, 800, 860 // px in a distance between the corners of the eyes
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" stroke-width="3">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#181818"/>`+"\n", width, height)
	line := func(i int, to [2]float64, colour string) {
		x, y := left+scale*p.shape[i][0], top+scale*p.shape[i][1]
		fmt.Fprintf(&b, `<path d="M%.1f %.1fl%.1f %.1f" stroke="%s"/>`+"\n", x, y, scale*to[0], scale*to[1], colour)
	}
	for i, at := range p.shape {
		if definitions != nil {
			line(i, definitions[i], "#aaaaaa")
		}
		line(i, p.Offsets[i], "#00ffc8")
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="4" fill="#ffc800"/>`+"\n", left+scale*at[0], top+scale*at[1])
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
