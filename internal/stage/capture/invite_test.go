package capture

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// A camera's first frame comes when the stages that read it have attached, and not before.
func TestFirstFrameWaitsForReaders(t *testing.T) {
	for name, answers := range map[string][]string{"all": stage.Readers, "one never comes": stage.Readers[:1]} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			heard := make(chan ipc.Kind, 64)
			var invitation *nats.Msg
			_, err := r.NC.Subscribe(ipc.Everything(stagetest.Rig), func(m *nats.Msg) { // one subscription: in order
				_, _, kind, err := ipc.ParseSubject(m.Subject)
				if err != nil {
					t.Error(err)
				}
				if kind == ipc.KindInvite {
					invitation = m
				}
				if kind == ipc.KindInvite || kind == ipc.KindFrame || kind == ipc.KindEvents {
					heard <- kind
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.NC.Flush(); err != nil {
				t.Fatal(err)
			}
			c := r.camera(drawn("synthetic:faces=0,frames=2,size=160x120,fps=100", "realtime"))
			ended := r.run(t.Context(), c.run)
			if kind := stagetest.Next(t, heard); kind != ipc.KindInvite {
				t.Fatalf("first comes %s", kind)
			}
			for _, reader := range answers { // what capture sends before it hears of one comes before this
				if err := r.NC.Publish(ipc.Subject(stagetest.Rig, "cam0", ipc.KindEvents), nil); err != nil {
					t.Fatal(err)
				}
				if err := (ipc.Arrival{Identity: reader}).Answer(invitation); err != nil {
					t.Fatal(err)
				}
			}
			var got []ipc.Kind
			for range len(answers) + 2 {
				got = append(got, stagetest.Next(t, heard))
			}
			want := append(slices.Repeat([]ipc.Kind{ipc.KindEvents}, len(answers)), ipc.KindFrame, ipc.KindFrame)
			if !slices.Equal(got, want) {
				t.Errorf("then come %v, want %v", got, want)
			}
			for range 2 {
				r.ack(stagetest.Next(t, r.frames))
			}
			r.mustEnd(ended)
		})
	}
}
