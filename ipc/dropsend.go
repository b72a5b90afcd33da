package ipc

import "github.com/nats-io/nats.go"

// Flush sends every notice that waits and returns when the server has them; on an error they are kept.
func (d *Drops) Flush() error {
	d.sending.Lock()
	defer d.sending.Unlock()
	batch, count := d.take()
	if count == 0 {
		return nil
	}
	err := d.send(batch)
	if err != nil {
		d.putBack(batch, count)
	}
	return err
}

func (d *Drops) take() (map[dropKey][]uint64, int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	batch, count := d.pending, d.count
	if count > 0 {
		d.pending, d.count = map[dropKey][]uint64{}, 0
	}
	return batch, count
}

// putBack restores a batch in front of what was added meanwhile; the limit may be passed by as much.
func (d *Drops) putBack(batch map[dropKey][]uint64, count int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, newer := range d.pending {
		batch[key] = append(batch[key], newer...)
	}
	d.pending = batch
	d.count += count
}

func (d *Drops) send(batch map[dropKey][]uint64) error {
	if !d.nc.IsConnected() {
		return nats.ErrDisconnected
	}
	for key, seqs := range batch {
		subject := Subject(d.rig, key.camera, KindDrops)
		for len(seqs) > 0 {
			n := min(len(seqs), dropBatch)
			err := d.out.Publish(subject, &Drop{Camera: key.camera, Stage: d.stage, Reason: key.reason, Seqs: seqs[:n]})
			if err != nil {
				return err
			}
			seqs = seqs[n:]
		}
	}
	return d.nc.FlushTimeout(writeTimeout)
}
