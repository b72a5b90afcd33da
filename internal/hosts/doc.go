// Package hosts has the tracker of a hub merge the participants of other hosts with its own.
//
// Each host runs a whole rig, whose server joins the hub's as a leaf node. The hub hears their tracks, measures how far their clocks are from its own, moves
// the frames' times onto its own clock, and says who is where. A host whose link is cut goes on alone; here it is away until it answers again.
// Frames that come before a clock is known, or again after its host was away, are counted and used for nothing.
package hosts
