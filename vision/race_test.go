//go:build race

package vision

const underRace = true
