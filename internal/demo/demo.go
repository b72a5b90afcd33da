// Package demo holds a short clip of two people who talk, and what is known of every frame of it: both are made by training/clip.py,
// nobody was filmed. Package truth reads the second.
package demo

import _ "embed"

// Clip is an AVI file with Motion-JPEG, to be read by package source.
//
//go:embed clip.avi
var Clip []byte

// Truth is what package truth reads: gzipped JSON.
//
//go:embed truth.json.gz
var Truth []byte
