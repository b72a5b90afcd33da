package ipc

import (
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ResultsSynchrony is the word for the synchrony of pairs among the kinds of results; it has no subject of a camera.
const ResultsSynchrony = "synchrony"

// ResultsStream is the name of the stream that keeps a rig's results.
func ResultsStream(rig string) string { return "facetrack-results_" + rig }

// SessionsBucket is the name of the bucket that says which sessions lie in a rig's [ResultsStream].
func SessionsBucket(rig string) string { return "facetrack-sessions_" + rig }

// SessionSubject is where facetrack up says, into that stream, that a session begins or ends; [Any] for all.
func SessionSubject(rig, session, what string) string {
	return subjectRoot + "." + rig + ".session." + session + "." + what
}

// ResultsSubjects are the subjects of kinds of results; [ResultsSynchrony] may be among them.
func ResultsSubjects(rig string, kinds []string) []string {
	var subjects []string
	for _, kind := range kinds {
		subject := AllCameras(rig, Kind(kind))
		if kind == ResultsSynchrony {
			subject = SynchronySubject(rig, Any, Any)
		}
		if !slices.Contains(subjects, subject) {
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

// FromStream tells that a message is no news: a server sends it out of a stream, as a consumer's or as the answer to a request for one
// message, which it does to whatever subject the reader of the stream names. Who may read old results, or write a key of a bucket, must
// not be able to have that taken for new ones.
func FromStream(m *nats.Msg) bool {
	return strings.HasPrefix(m.Reply, "$JS.ACK.") || m.Header.Get(jetstream.StreamHeader) != "" || m.Header.Get("Status") != ""
}
