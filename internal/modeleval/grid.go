package modeleval

import (
	"image"

	"golang.org/x/image/draw"

	"facetrack/vision"
)

// grid are pictures side by side, chosen evenly from so many.
type grid struct {
	of, places, columns int
	size                image.Point // of a tile
	out                 *image.RGBA
	count, placed       int
}

func newGrid(of, places, columns int, size image.Point) *grid {
	g := &grid{of: of, places: min(places, of), columns: columns, size: size}
	if g.places == 0 {
		return g
	}
	rows := (g.places + columns - 1) / columns
	g.out = image.NewRGBA(image.Rect(0, 0, columns*size.X, rows*size.Y))
	draw.Draw(g.out, g.out.Bounds(), image.NewUniform(backColour), image.Point{}, draw.Src)
	return g
}

// add draws a part of every so-manieth picture.
func (g *grid) add(m vision.Image, part vision.Box, mark func(view)) {
	g.count++
	if g.placed*g.of >= g.count*g.places {
		return
	}
	x, y := g.placed%g.columns*g.size.X, g.placed/g.columns*g.size.Y
	tile := image.Rect(x, y, x+g.size.X, y+g.size.Y)
	mark(newView(g.out, tile, picture(m), part))
	g.placed++
}
