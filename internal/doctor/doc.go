// Package doctor finds out what this machine lets facetrack do, and what to change where it does not.
//
// Each check is a small function that looks at one thing. The last ones are no look but a trial: a child process opens
// a ring of this one, proves that it reads the same memory, and reads frames, by each way in which processes can share them.
package doctor
