package auth

import (
	"slices"

	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// Permissions are the subjects that a role may publish to and subscribe to; everything else is refused.
type Permissions struct {
	Publish   []string `json:"publish"`
	Subscribe []string `json:"subscribe"`
}

// flow is what a role says and hears of cameras, whom it answers, and which keys of the rig's bucket it reads and writes.
type flow struct {
	says, hears   []ipc.Kind
	answers       []Role
	reads, writes []string
}

// Whoever sees results hears these kinds; requests for rings are not among them.
var results = []ipc.Kind{ipc.KindFrame, ipc.KindDetections, ipc.KindLandmarks, ipc.KindTracks, ipc.KindDrops, ipc.KindEnd, ipc.KindEvents}

// What a role that reads pixels asks capture.
var asksForPixels = []ipc.Kind{ipc.KindRing, ipc.KindPixels, ipc.KindRelease}

var flows = map[Role]flow{
	Capture: {
		says:    []ipc.Kind{ipc.KindFrame, ipc.KindEnd, ipc.KindDrops, ipc.KindInvite},
		hears:   append([]ipc.Kind{ipc.KindAck, ipc.KindDrops}, asksForPixels...),
		answers: []Role{Detect, Landmarks},
		reads:   []string{"ring.*"}, writes: []string{"ring.*"},
	},
	Detect: {
		says:    append([]ipc.Kind{ipc.KindDetections, ipc.KindDrops, ipc.KindEvents}, asksForPixels...),
		hears:   []ipc.Kind{ipc.KindFrame, ipc.KindTracks, ipc.KindInvite},
		answers: []Role{Capture},
	},
	Landmarks: {
		says:    append([]ipc.Kind{ipc.KindLandmarks, ipc.KindDrops, ipc.KindEvents}, asksForPixels...),
		hears:   []ipc.Kind{ipc.KindDetections, ipc.KindTracks, ipc.KindInvite},
		answers: []Role{Capture},
	},
	Tracker: {
		says:  []ipc.Kind{ipc.KindTracks, ipc.KindAck, ipc.KindDrops},
		hears: []ipc.Kind{ipc.KindLandmarks},
		reads: []string{"identities.*"}, writes: []string{"identities.*"},
	},
	LSLOut: {hears: []ipc.Kind{ipc.KindTracks, ipc.KindEnd, ipc.KindEvents}},
	Up:     {hears: results},
	Reader: {hears: results},
}

// PermissionsOf returns what a role needs for the work on a rig, and nothing else.
func PermissionsOf(role Role, rig string) Permissions {
	var p Permissions
	f := flows[role]
	p.publish(onCameras(rig, f.says)...)
	p.subscribe(onCameras(rig, f.hears)...)
	p.subscribe(role.inbox())
	for _, asking := range f.answers {
		p.publish(asking.inbox())
	}
	synchrony, participants := ipc.SynchronySubject(rig, ipc.Any, ipc.Any), ipc.ParticipantsSubject(rig)
	switch role {
	case Tracker:
		p.publish(synchrony, participants, Tracker.inbox())
		p.subscribe(ipc.ClockSubject(rig))
	case LSLOut, Up, Reader:
		p.subscribe(synchrony)
	}
	if role == Up || role == Reader {
		p.subscribe(participants)
	}
	if role.isStage() {
		p.tellStatus(role, rig)
	} else {
		p.publish(telemetry.StatusSubject(rig, ipc.Any))
	}
	if role == Reader {
		p.readResults(rig)
		p.publish("$SRV.PING.>", "$SRV.INFO.>", "$SRV.STATS.>", "$SRV.PING", "$SRV.INFO", "$SRV.STATS")
	}
	if role == Up {
		p.ownBucket(ipc.BucketName(rig))
		p.ownBucket(ipc.SettingsBucket(rig))
		p.ownResults(rig)
		p.subscribe(ipc.AppliedSubject(rig, ipc.Any))
	} else {
		p.useBucket(rig, f.reads, f.writes)
		p.followSettings(rig)
	}
	return p
}

func onCameras(rig string, kinds []ipc.Kind) []string {
	subjects := make([]string, len(kinds))
	for i, k := range kinds {
		subjects[i] = ipc.AllCameras(rig, k)
	}
	return subjects
}

// tellStatus lets a stage show itself as a NATS service and answer those who ask.
func (p *Permissions) tellStatus(role Role, rig string) {
	p.subscribe(telemetry.StatusSubject(rig, string(role)))
	service := telemetry.ServiceName(string(role))
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		all := "$SRV." + verb
		p.subscribe(all, all+"."+service, all+"."+service+".*")
	}
	p.publish(Up.inbox(), Reader.inbox(), ipc.AppliedSubject(rig, string(role)))
}

// useBucket lets a role find the rig's bucket and use some of its keys.
func (p *Permissions) useBucket(rig string, read, write []string) {
	bucket := ipc.BucketName(rig)
	p.publish("$JS.API.STREAM.INFO.KV_" + bucket)
	for _, key := range read {
		p.publish("$JS.API.DIRECT.GET.KV_" + bucket + ".$KV." + bucket + "." + key)
	}
	for _, key := range write {
		p.publish("$KV." + bucket + "." + key)
	}
}

// followSettings lets a role read the configuration of the rig, its history and what changes.
func (p *Permissions) followSettings(rig string) {
	stream := "KV_" + ipc.SettingsBucket(rig)
	p.publish("$JS.API.STREAM.INFO."+stream, "$JS.API.DIRECT.GET."+stream+".>", "$JS.API.CONSUMER.CREATE."+stream+".>",
		"$JS.API.CONSUMER.DELETE."+stream+".*", "$JS.FC."+stream+".>")
}

// ownBucket lets a role make a bucket, clear it and write into it.
func (p *Permissions) ownBucket(bucket string) {
	stream := "KV_" + bucket
	p.publish("$KV."+bucket+".>", "$JS.API.INFO", "$JS.API.STREAM.INFO."+stream, "$JS.API.STREAM.CREATE."+stream, "$JS.API.STREAM.UPDATE."+stream,
		"$JS.API.DIRECT.GET."+stream+".>", "$JS.API.CONSUMER.CREATE."+stream+".>", "$JS.API.CONSUMER.DELETE."+stream+".*", "$JS.FC."+stream+".>")
}

// ownResults lets a role make the stream of results and change its limits, say which sessions are in it, and empty or delete it.
func (p *Permissions) ownResults(rig string) {
	stream := ipc.ResultsStream(rig)
	p.ownBucket(ipc.SessionsBucket(rig))
	p.readResults(rig)
	p.publish(ipc.SessionSubject(rig, ipc.Any, ipc.Any), "$JS.API.STREAM.CREATE."+stream, "$JS.API.STREAM.UPDATE."+stream,
		"$JS.API.STREAM.PURGE."+stream, "$JS.API.STREAM.DELETE."+stream)
}

// readResults lets a role read what is kept of a rig, in the stream's order, and which sessions that is.
func (p *Permissions) readResults(rig string) {
	stream, sessions := ipc.ResultsStream(rig), "KV_"+ipc.SessionsBucket(rig)
	p.publish("$JS.API.STREAM.INFO."+stream, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.CONSUMER.CREATE."+stream+".>",
		"$JS.API.CONSUMER.MSG.NEXT."+stream+".*", "$JS.API.CONSUMER.INFO."+stream+".*", "$JS.API.CONSUMER.DELETE."+stream+".*",
		"$JS.API.STREAM.INFO."+sessions, "$JS.API.DIRECT.GET."+sessions+".>", "$JS.API.CONSUMER.CREATE."+sessions+".>",
		"$JS.API.CONSUMER.DELETE."+sessions+".*", "$JS.FC."+sessions+".>")
}

func (p *Permissions) publish(subjects ...string) { p.Publish = add(p.Publish, subjects) }

func (p *Permissions) subscribe(subjects ...string) { p.Subscribe = add(p.Subscribe, subjects) }

func add(to, subjects []string) []string {
	for _, s := range subjects {
		if !slices.Contains(to, s) {
			to = append(to, s)
		}
	}
	return to
}

// PermissionsOn are those for several rigs on one server.
func PermissionsOn(role Role, rigs []string) Permissions {
	var p Permissions
	for _, rig := range rigs {
		one := PermissionsOf(role, rig)
		p.publish(one.Publish...)
		p.subscribe(one.Subscribe...)
	}
	return p
}
