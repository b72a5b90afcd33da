//go:build cuda && !race

package media

const underRace = false
