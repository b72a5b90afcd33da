// Package top is the live view of a rig in a terminal: its cameras, stages, GPUs, and what happened last.
//
// A watcher asks the rig's services as `facetrack status` does. A [Model] makes rates and messages of one answer after the other, and
// [Model.Screen] draws them as lines of text, which a terminal shows or, where there is none, are printed as tables.
package top
