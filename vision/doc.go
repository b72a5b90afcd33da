// Package vision turns camera frames into faces: bilinear sampling straight from the camera's pixel format,
// detector decoding, regions of interest, face points and blendshape scores.
//
// Coordinates. Everything the package hands out is in pixels of the full-resolution frame, origin at the
// top-left corner, x right, y down. Coordinates are continuous and the centre of pixel (i, j) is
// (i+0.5, j+0.5): the frame covers [0, Width] × [0, Height], and scaling an image scales its coordinates
// by the same factor with no half-pixel remainder. Outside the frame the nearest border pixel is repeated,
// except for a letterbox's bars, which are constant.
//
// Colour. NV12 and YUYV are BT.601, limited range (Y 16..235, Cb and Cr 16..240). A chroma sample belongs
// to all pixels of its 2×2 (NV12) or 2×1 (YUYV) block.
//
// Networks run behind infer.Session; nothing here knows which backend computes.
package vision
