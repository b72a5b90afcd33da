package lsl

import (
	"fmt"
	"strings"
	"testing"
)

func queryInfo() *Element {
	info := StreamInfo{
		Name: "Face (rig-1)", Type: "MoCap", ChannelCount: 3, NominalRate: 60, Format: Float32, SourceID: "rig-1.head", SessionID: "default",
		Desc: Desc{
			Channels: []Channel{{Label: "X", Type: "PositionX", Unit: "meters"}, {Label: "Y", Type: "PositionY"}, {Label: "ok", Type: "Confidence"}},
			Extra:    []*Element{Node("rig", Leaf("serial", "42"), Leaf("empty", ""))},
		},
	}
	return document(info, identity{uid: "u-1", createdAt: 12.5, hostname: "lab", dataPort: 16572, servicePort: 16573}, info.Desc.element())
}

func TestQueries(t *testing.T) {
	m := newMatcher(queryInfo())
	for query, want := range map[string]bool{
		"":                     true,
		"session_id='default'": true,
		"session_id='default' and name='Face (rig-1)'": true,
		`name="Face (rig-1)"`:                          true,
		"session_id='default' and type='EEG'":          false,
		"source_id='rig-1.head'":                       true,
		"channel_count='3' and name='Face (rig-1)' and type='MoCap' and source_id='rig-1.head' and channel_format='float32'":                        true,
		"channel_count='3' and name='Face (rig-1)' and type='MoCap' and source_id='rig-1.head' and channel_format='float32' and nominal_srate='60'": true,
		"nominal_srate='60.0'":                           false, // text
		"nominal_srate=60.0":                             true,  // number
		"channel_count=3":                                true,
		"channel_count='3.0'":                            false,
		"channel_count>2 and channel_count<4":            true,
		"channel_count!=3":                               false,
		"nominal_srate>=60 and nominal_srate<=60":        true,
		"created_at>12":                                  true,
		"starts-with(name,'Face')":                       true,
		"starts-with(name,'face')":                       false,
		"contains(name,'rig-1')":                         true,
		"contains(hostname,'x')":                         false,
		"not(type='EEG')":                                true,
		"not(contains(name,'Face'))":                     false,
		"type='EEG' or type='MoCap'":                     true,
		"(type='EEG' or type='MoCap') and name='x'":      false,
		"type='MoCap' or type='EEG' and name='x'":        true,
		"count(//info/desc/channels/channel)=3":          true,
		"count(desc/channels/channel)=3":                 true,
		"count(desc/channels/channel)>3":                 false,
		"desc/channels/channel/label='ok'":               true,
		"desc/channels/channel/label='nose'":             false,
		"desc/channels/channel[2]/label='Y'":             true,
		"desc/channels/channel[label='X']/unit='meters'": true,
		"desc/channels/channel[label='Y']/unit":          false, // an element without text is not written
		"//channel/type='Confidence'":                    true,
		"/info/desc/rig/serial=42":                       true,
		"desc/rig":                                       true,
		"desc/nothing":                                   false,
		"desc/rig/empty":                                 true, // the element is there
		"desc/rig/empty=''":                              true,
		"string(desc/rig/empty)":                         false,
		"string(name)":                                   true,
		"v6data_port":                                    true,
		"number(v6data_port)":                            false,
		"channel_count - 3":                              false,
		"count(//channel)":                               true,
		"string-length(uid)=3":                           true,
		"true()":                                         true,
		"false()":                                        false,
		// Not XPath: no match, no crash.
		"name=": false, "name='x": false, "((": false, "]": false, "sum('x')": false, "foo:bar='x'": false, "nope(1)": false,
		"true()) or (true()": false, "true() true()": false, "name='Face (rig-1)' x": false, "1 2": false, "contains(')',')": false, "')' = ')'": true, "$x": false, "\x00": false, "matches(name,'(')": false, "name='\xff'": false,
	} {
		if got := m.matches(query); got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
		if got := m.matches(query); got != want {
			t.Errorf("%s: %v the second time", query, got)
		}
	}
}

func TestQueryWorkIsBounded(t *testing.T) {
	info := queryInfo()
	for i := range 300 {
		info.Add(Leaf(fmt.Sprint("e", i), "text"))
	}
	m := newMatcher(info)
	// Each level multiplies the work by the size of the document.
	greedy := "count(//*" + strings.Repeat("[count(//*", 6) + ">0" + strings.Repeat(")>0]", 6) + ")>0"
	if m.matches(greedy) {
		t.Error("a query without bound was finished")
	}
	if !m.matches("count(//*)>300") {
		t.Error("an honest query fails after it")
	}
	if m.matches(strings.Repeat(" ", maxQuery) + "true()") {
		t.Error("a query longer than the limit was evaluated")
	}
	for i := range 10 * cachedQueries {
		m.matches(fmt.Sprintf("channel_count=%d", i))
	}
	if len(m.known) > cachedQueries {
		t.Errorf("%d results are cached, limit %d", len(m.known), cachedQueries)
	}
}

// TestQueriesOnLargeStreams makes sure that the bound leaves room for a face mesh with a labelled channel per coordinate.
func TestQueriesOnLargeStreams(t *testing.T) {
	var desc Desc
	for i := range 478 * 3 {
		desc.Channels = append(desc.Channels, Channel{Label: fmt.Sprint("p", i), Type: "PositionX", Unit: "pixels"})
	}
	m := newMatcher(document(StreamInfo{}, identity{}, desc.element()))
	for _, query := range []string{
		"count(//info/desc/channels/channel)=1434", "count(desc/channels/channel)=1434", "desc/channels/channel/label='p1433'", "//label='p1433'",
	} {
		if !m.matches(query) {
			t.Errorf("%s does not match", query)
		}
	}
}
