package gpuring

import "sync"

// localWriters are the device rings whose writers are in this process: no process can import its own memory.
var localWriters struct {
	sync.Mutex
	rings map[string]*stagedPixels // by ring id and nonce
}

func localKey(d Descriptor) string { return d.Ring + " " + d.Nonce }

func announceLocal(d Descriptor, p *stagedPixels) {
	localWriters.Lock()
	defer localWriters.Unlock()
	if localWriters.rings == nil {
		localWriters.rings = map[string]*stagedPixels{}
	}
	localWriters.rings[localKey(d)] = p
}

func forgetLocal(d Descriptor) {
	localWriters.Lock()
	defer localWriters.Unlock()
	delete(localWriters.rings, localKey(d))
}

func localWriter(d Descriptor) *stagedPixels {
	localWriters.Lock()
	defer localWriters.Unlock()
	return localWriters.rings[localKey(d)]
}
