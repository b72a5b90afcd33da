package telemetry

// Configuration tells which revision of the rig's configuration is in effect in a process.
type Configuration struct {
	Revision uint64 `json:"revision"`                   // 0: of a file
	Later    uint64 `json:"refused_revision,omitempty"` // the latest that was refused since
	Refused  string `json:"refused,omitempty"`          // why
}

// Configuration notes which one is in effect, and what was refused since.
func (r *Recorder) Configuration(c Configuration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.configuration = c
}

// Forget leaves a camera out from now on.
func (r *Recorder) Forget(camera string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cameras, camera)
}
