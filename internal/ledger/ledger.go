// Package ledger accounts for every captured frame: it reached tracks, or it was dropped, by stage and reason.
//
// Sequence numbers are gap-free per camera, so the highest one seen says how many frames were captured, even
// when the process that knew died. A frame is open until news of its end arrives. A frame without news for
// Patience is written off to the stage that should have spoken next; if it turns up after all, the entry is corrected.
package ledger

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"facetrack/internal/latency"
)

// Stages in the order in which a frame passes them; the index is how far a frame came.
var Stages = []string{"capture", "detect", "landmarks", "tracker"}

// Done is the progress of a frame that reached tracks.
const Done = 4

// maxCorrectable bounds how many write-offs are remembered in case the frame turns up.
const maxCorrectable = 4096

// Lost is the reason of a frame that vanished without a notice, as when its process was killed.
const Lost = "lost"

// Ledger is the book of all cameras of a rig. It is safe for concurrent use.
type Ledger struct {
	Patience time.Duration

	mu      sync.Mutex
	cameras map[string]*account
}

type account struct {
	begun       bool
	first       uint64 // first sequence number of the run
	next        uint64 // one above the highest seen
	open        map[uint64]*entry
	writtenOff  map[uint64]string // key: sequence, value: stage:reason; to be corrected when news comes late
	tracked     uint64
	dropped     map[string]uint64
	latency     *latency.Histogram // capture to tracks, µs
	stage       map[string]*latency.Histogram
	faces       uint64
	identities  map[int]uint64
	begin, late time.Time // first and latest news
	end         string    // why the camera gives no more frames; "" while it may
}

type entry struct {
	progress int // index into Stages of the stage that has the frame now
	news     time.Time
}

// New returns an empty ledger. Frames without news for patience are written off by Settle.
func New(patience time.Duration) *Ledger {
	return &Ledger{Patience: patience, cameras: map[string]*account{}}
}

func (l *Ledger) account(camera string) *account {
	a := l.cameras[camera]
	if a == nil {
		a = newAccount()
		l.cameras[camera] = a
	}
	return a
}

func newAccount() *account {
	return &account{
		open: map[uint64]*entry{}, writtenOff: map[uint64]string{}, dropped: map[string]uint64{},
		latency: latency.New(), stage: map[string]*latency.Histogram{}, identities: map[int]uint64{},
	}
}

// Empty is the account of a camera that gave no frame.
func Empty() Summary { return newAccount().summary() }

// Reached notes that frame seq left the stage before progress: 1 after its frame message, 2 after detections,
// 3 after landmarks, Done after tracks. It returns whether the frame has now come to Done for the first time.
func (l *Ledger) Reached(camera string, seq uint64, progress int, now time.Time) (tracked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(camera)
	e := a.entry(seq, now)
	if e == nil {
		return false
	}
	e.news = now
	e.progress = max(e.progress, progress)
	if e.progress == Done {
		a.tracked++
		delete(a.open, seq)
		a.reopen(seq)
	}
	return e.progress == Done
}

// Dropped notes that stage gave up frame seq for a reason.
func (l *Ledger) Dropped(camera, stage, reason string, seq uint64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(camera)
	if a.entry(seq, now) == nil {
		return
	}
	a.reopen(seq)
	a.dropped[stage+":"+reason]++
	delete(a.open, seq)
}

// Ended notes that the camera will send nothing more, and why.
func (l *Ledger) Ended(camera, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(camera).end = reason
}

// Captured notes that the camera has captured frames up to sequence number last, whoever heard of them.
func (l *Ledger) Captured(camera string, last uint64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(camera)
	if !a.begun { // frames from the first on, none of which was heard of
		a.begun, a.begin = true, now
	}
	a.extend(last, now)
}

// Latency notes for one tracked frame how long it took from capture to tracks, and in total at each stage.
func (l *Ledger) Latency(camera string, total time.Duration, stages map[string]time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(camera)
	a.latency.Record(total)
	for name, d := range stages {
		if a.stage[name] == nil {
			a.stage[name] = latency.New()
		}
		a.stage[name].Record(d)
	}
}

// AllLatency is that of the frames of all cameras, from capture to tracks, and at each stage.
func (l *Ledger) AllLatency() (total Latency, stages map[string]latency.Percentiles) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, each := latency.New(), map[string]*latency.Histogram{}
	for _, a := range l.cameras {
		all.Add(a.latency)
		for name, h := range a.stage {
			if each[name] == nil {
				each[name] = latency.New()
			}
			each[name].Add(h)
		}
	}
	stages = map[string]latency.Percentiles{}
	for name, h := range each {
		stages[name] = h.Percentiles()
	}
	return Latency{CaptureToTracks: all.Percentiles()}, stages
}

// Faces notes which identities one tracked frame holds.
func (l *Ledger) Faces(camera string, ids []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(camera)
	a.faces += uint64(len(ids))
	for _, id := range ids {
		a.identities[id]++
	}
}

// extend opens every sequence number up to seq that was not known: a gap belongs to capture until somebody says more.
func (a *account) extend(seq uint64, now time.Time) {
	if !a.begun {
		a.begun, a.first, a.next, a.begin = true, seq, seq, now
	}
	for ; a.next <= seq; a.next++ {
		a.open[a.next] = &entry{news: now}
	}
	a.late = now
}

// entry finds the open entry of seq; nil when the frame is closed for good or older than the run.
func (a *account) entry(seq uint64, now time.Time) *entry {
	if !a.begun || seq >= a.next {
		a.extend(seq, now)
	}
	if e := a.open[seq]; e != nil {
		return e
	}
	if _, late := a.writtenOff[seq]; late {
		return &entry{news: now} // Reached or Dropped corrects the book
	}
	return nil
}

// reopen takes back the write-off of a frame that turned up.
func (a *account) reopen(seq uint64) {
	if key, ok := a.writtenOff[seq]; ok {
		delete(a.writtenOff, seq)
		if a.dropped[key]--; a.dropped[key] == 0 {
			delete(a.dropped, key)
		}
	}
}

// Settle writes off every open frame without news for Patience and reports how many frames stay open.
func (l *Ledger) Settle(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := 0
	for _, a := range l.cameras {
		for seq, e := range a.open {
			if now.Sub(e.news) < l.Patience {
				open++
				continue
			}
			a.writeOff(seq, e)
		}
	}
	return open
}

// Close writes off everything that is still open.
func (l *Ledger) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.cameras {
		for seq, e := range a.open {
			a.writeOff(seq, e)
		}
	}
}

func (a *account) writeOff(seq uint64, e *entry) {
	key := Stages[e.progress] + ":" + Lost
	a.dropped[key]++
	if len(a.writtenOff) >= maxCorrectable {
		clear(a.writtenOff)
	}
	a.writtenOff[seq] = key
	delete(a.open, seq)
}

// AllEnded tells whether every one of the named cameras has ended.
func (l *Ledger) AllEnded(cameras []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(cameras, func(c string) bool { return l.cameras[c] == nil || l.cameras[c].end == "" })
}

// Summaries returns the state of every camera.
func (l *Ledger) Summaries() map[string]Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]Summary, len(l.cameras))
	for name, a := range l.cameras {
		out[name] = a.summary()
	}
	return out
}

func (a *account) summary() Summary {
	s := Summary{
		Tracked: a.tracked, Dropped: maps.Clone(a.dropped), Open: len(a.open), End: a.end,
		Faces: a.faces, Identities: map[int]uint64{}, StageMS: map[string]latency.Percentiles{},
		LatencyMS: Latency{CaptureToTracks: a.latency.Percentiles()},
	}
	maps.Copy(s.Identities, a.identities)
	if a.begun {
		s.Captured = a.next - a.first
	}
	for name, h := range a.stage {
		s.StageMS[name] = h.Percentiles()
	}
	if d := a.late.Sub(a.begin).Seconds(); d > 0 && a.tracked > 1 {
		s.FPS = float64(a.tracked-1) / d
	}
	return s
}

// SortedDrops lists the drop reasons, most frequent first.
func (s Summary) SortedDrops() []string {
	return slices.SortedFunc(maps.Keys(s.Dropped), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Dropped[b], s.Dropped[a]), cmp.Compare(a, b))
	})
}
