package gpuvision

import "facetrack/internal/kernels/image"

// locate looks at the regions of the tasks, as many at a time as there is room for. A result that cannot be read becomes its Look's error.
func (x *Landmarker) locate(found []Found) error {
	p := x.pass
	x.latest = sized(x.latest, len(x.tasks))
	items, which := p.up[:0], x.which[:0]
	for i, t := range x.tasks {
		if found[t.look].Err != nil {
			continue
		}
		a := &x.arrivals[t.look]
		var err error
		if items, err = image.AppendRegion(items, a.at(a.address), t.roi, x.mesh.Size); err != nil {
			return err // it was checked
		}
		if which = append(which, i); len(which) == p.most {
			if err := x.run(which, found); err != nil {
				return err
			}
			items, which = p.up[:0], which[:0]
		}
	}
	x.which = which
	if len(which) == 0 {
		return p.stream.Synchronize() // waits and uploads in vain
	}
	return x.run(which, found)
}

func (x *Landmarker) run(which []int, found []Found) error {
	if err := x.pass.run(len(which)); err != nil {
		return err
	}
	for k, i := range which {
		t := x.tasks[i]
		var err error
		if x.latest[i], err = x.mesh.Parse(x.pass.of(k), t.roi, x.threshold, x.with); err != nil && found[t.look].Err == nil {
			found[t.look].Err = err
		}
	}
	return nil
}
