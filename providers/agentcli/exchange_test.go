package agentcli

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/wire"
	"parley/providers/wire/recording"
	proc "parley/tools/process"
)

// TestRecordThenReplay: a recorded program is replayed without running it; a different request is
// an error.
func TestRecordThenReplay(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("be brief. ", 4000) // passed in a file
	for _, tt := range []struct {
		name, kind string
		scripts    [][]step
		req        llm.Request
	}{
		{"claude", "claude-cli", [][]step{claudeSays}, asking("hi")},
		{"claude, by files", "claude-cli", [][]step{claudeSays}, llm.Request{System: long, Messages: []llm.Message{user(text("Look"), png)}}},
		{"gemini, by files", "gemini-cli", [][]step{geminiSays}, llm.Request{System: long, Messages: []llm.Message{user(text("Look"), png)}}},
		{"an older one", "claude-cli", [][]step{{{Err: "error: unknown option '--effort'\n", Exit: 1}}, claudeSays}, llm.Request{Effort: llm.EffortHigh, Messages: []llm.Message{llm.UserText("hi")}}},
		{"not logged in", "gemini-cli", [][]step{{{Err: "Please set an Auth method", Exit: 41}}}, asking("hi")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rec")
			rec, err := recording.Record(path, func(err error) { t.Error(err) })
			if err != nil {
				t.Fatal(err)
			}
			tap := &wire.Tap{Recorder: rec}
			s := script(t, tt.scripts...)
			want := take(t, s.model(tt.kind, func(o *Options) { o.Tap = tap }).Stream(t.Context(), tt.req))
			rec.Close()
			if got := tap.List(); len(got) != len(tt.scripts) || got[0].Method != wire.Run || !got[0].Done {
				t.Fatalf("kept %+v", got)
			}
			last, _ := tap.Exchange(len(tt.scripts))
			if script := tt.scripts[len(tt.scripts)-1][0]; last.Response.Body != script.Out || last.Status != script.Exit {
				t.Errorf("kept %q and status %d", last.Response.Body, last.Status)
			}

			played, err := recording.OpenReplay(path)
			if err != nil {
				t.Fatal(err)
			}
			replayed := func(o *Options) { o.Replay, o.Command = played, proc.CommandLine{Words: []string{"/nowhere"}} }
			got := take(t, s.model(tt.kind, replayed).Stream(t.Context(), tt.req))
			if !reflect.DeepEqual(got.parts, want.parts) || got.finish != want.finish || llm.FaultOf(got.err) != llm.FaultOf(want.err) || !reflect.DeepEqual(got.notices, want.notices) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
			if n := len(s.visits()); n != len(tt.scripts) || played.Remaining() != 0 {
				t.Errorf("%d runs, %d left", n, played.Remaining())
			}

			played, err = recording.OpenReplay(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range []llm.Request{asking("something else"), {System: "Be long.", Messages: tt.req.Messages}} {
				if got := take(t, s.model(tt.kind, replayed).Stream(t.Context(), other)); llm.FaultOf(got.err) != llm.Mismatch {
					t.Errorf("got %+v", got)
				}
			}
		})
	}
}

// TestTapMasks: a tap does not keep a key that a program prints.
func TestTapMasks(t *testing.T) {
	const key = "sk-ant-0123456789-canary"
	tap := &wire.Tap{}
	s := script(t, []step{{Out: "the key is " + key + "\n", Err: "no, " + key, Exit: 1}})
	take(t, s.model("claude-cli", func(o *Options) { o.Tap, o.Key, o.Secrets = tap, key, []string{key} }).Stream(t.Context(), asking("is it "+key)))
	e, _ := tap.Exchange(1)
	all := e.Request.Body + e.Response.Body + e.Reason + strings.Join(e.Args, " ") + e.Curl() + strings.Join(e.Response.Header["Stderr"], "")
	if strings.Contains(all, key) || strings.Count(all, "[redacted]") < 4 {
		t.Errorf("kept %q", all)
	}
}
