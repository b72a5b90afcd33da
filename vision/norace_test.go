//go:build !race

package vision

const underRace = false
