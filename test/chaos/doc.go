// Chaos does to a running rig what happens to rigs, at random but from a seed, and looks on whether the rig keeps its promises.
//
// It starts `facetrack up` as a user does, on a NATS server that is a process of its own behind a proxy, with eight looped clips and a network
// camera. A plan, drawn from the seed before anything runs, says what is done when: processes killed and stopped, the server
// killed, stopped and cut off, disks filled, the camera unplugged, CPUs taken away, the configuration changed. What it checks, the invariants of
// ARCHITECTURE.md, it sees from outside: it listens to the bus past the proxy, reads /proc and /dev/shm, asks the services.
//
//	go run ./test/chaos --program bin/facetrack --for 3m --seed 7
//
// The exit status is 0 if no promise was broken, 1 if one was, 2 if the run could not be done.
package main
