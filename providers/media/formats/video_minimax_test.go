package formats

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
)

// MiniMax has two versions of the video API; the model decides which is used.
func TestVideoVersionOfMiniMax(t *testing.T) {
	for model, v1 := range map[string]bool{
		"MiniMax-H3": false, "MiniMax-H4": false, "MiniMax-Hailuo-2.3": true, "MiniMax-Hailuo-02": true, "T2V-01-Director": true,
		"I2V-01-live": true, "S2V-01": true, "video-01": true,
	} {
		w := videoWires[3]
		w.model = model
		if got := newVideoServer(t, w).jobs().service.files.lookup != ""; got != v1 {
			t.Errorf("%s is asked for by version 1: %t", model, got)
		}
	}
}

// MiniMax reports refusals and missing credit with status 200 in base_resp, in both
// versions.
func TestVideoBaseResp(t *testing.T) {
	eachVideoWire(t, func(t *testing.T, s *videoServer) {
		if s.wire.kind != "minimax" {
			return
		}
		s.create = say(`{"task_id":"","base_resp":{"status_code":1026,"status_msg":"input new_sensitive"}}`)
		j, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox"})
		if err != nil || j.State != works.JobRefused || !strings.Contains(j.Refused.Text, "new_sensitive") || j.Refused.Stage != "input" {
			t.Errorf("1026: %+v, %v", j, err)
		}
		for code, want := range map[string]llm.Fault{"1002": llm.RateLimit, "1004": llm.Authentication, "1008": llm.Quota, "2013": llm.InvalidRequest} {
			s.creates, s.create = nil, say(`{"base_resp":{"status_code":`+code+`,"status_msg":"not so"}}`)
			_, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox"})
			if llm.FaultOf(err) != want || len(s.creates) != 1 || media.MayBePaid(err) {
				t.Errorf("%s: %v (%v), %d requests", code, err, llm.FaultOf(err), len(s.creates))
			}
		}
		if s.wire.lookup != "" {
			return
		}
		s.create = nil
		j = s.running(t)
		s.answers = []func(http.ResponseWriter){say(`{"task":{"status":"failed","error":{"code":1027,"message":"output new_sensitive"}}}`)}
		if j, err = s.jobs().Poll(t.Context(), j); err != nil || j.State != works.JobRefused {
			t.Errorf("1027: %+v, %v", j, err)
		}
	})
}

// A file of version 1 is requested by an id from the server, and downloaded from the returned URL.
func TestVideoFileOfMiniMax(t *testing.T) {
	i := slices.IndexFunc(videoWires, func(w videoWire) bool { return w.name == "minimax-v1" })
	for _, test := range []struct{ id, located, words string }{
		{`"../../x"`, `{}`, "is not an id"},
		{`"1\n2"`, `{}`, "is not an id"},
		{`7`, `{"file":{"file_id":7},"base_resp":{"status_code":0}}`, "does not tell where the video is"},
		{`7`, ``, "does not tell where the video is"},
		{`7`, `{"base_resp":{"status_code":1004,"status_msg":"login fail"}}`, "login fail"},
		{`7`, `{"file":{"download_url":"file:///etc/passwd"}}`, "not https"},
	} {
		w := videoWires[i]
		w.done, w.lookup, w.located = strings.ReplaceAll(w.done, `"176844028768320"`, test.id), "GET /v1/files/retrieve?file_id="+test.id, test.located
		s := newVideoServer(t, w)
		s.answers = []func(http.ResponseWriter){s.text(w.done)}
		_, err := s.jobs().Fetch(t.Context(), s.running(t), works.VideoOutput{}, io.Discard)
		if e := (*llm.Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s, %s: %v, want %q", test.id, test.located, err, test.words)
		}
	}
}

// A video that Hailuo cannot make is rejected before anything is sent.
func TestVideoOfHailuo(t *testing.T) {
	i := slices.IndexFunc(videoWires, func(w videoWire) bool { return w.name == "minimax-v1" })
	s := newVideoServer(t, videoWires[i])
	for words, r := range map[string]works.VideoRequest{
		"6 seconds of 1080P, not 10": {Resolution: "1080p", Seconds: 10},
		"1 reference image, not 2":   {References: []works.Blob{*aFrame, *aFrame}},
		"both reference images":      {References: []works.Blob{*aFrame}, FirstFrame: aFrame},
		"an aspect ratio":            {Ratio: "16:9"},
	} {
		r.Prompt = "a fox"
		if _, err := s.jobs().Start(t.Context(), r); llm.FaultOf(err) != llm.Unsupported || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
	if len(s.creates) > 0 {
		t.Errorf("sent %v", s.creates)
	}
	if _, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox", FirstFrame: aFrame, LastFrame: aFrame, Seconds: 10, Resolution: "768p"}); err != nil {
		t.Fatal(err)
	}
	want := `{"duration":10,"first_frame_image":"data:image/png;base64,cG5n","last_frame_image":"data:image/png;base64,cG5n","model":"MiniMax-Hailuo-2.3","prompt":"a fox","resolution":"768P"}`
	if s.creates[0] != want {
		t.Errorf("sent %s\nwant %s", s.creates[0], want)
	}
	if _, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox", References: []works.Blob{*aFrame}}); err != nil || !strings.Contains(s.creates[1], `"subject_reference":[{"image":["data:image/png;base64,cG5n"],"type":"character"}]`) {
		t.Errorf("sent %s, %v", s.creates[1], err)
	}
}

// MiniMax reports the length of a video and no cost: the estimate of the cost stays.
func TestMiniMaxReportsSeconds(t *testing.T) {
	answer := map[string]any{"task": map[string]any{"usage": map[string]any{"output_seconds": json.Number("6")}}}
	estimate := works.Bill{Seconds: 5, USD: 1.5, Priced: true}
	got := minimaxVideo.bill.update(&estimate, answer)
	if want := (works.Bill{Seconds: 6, USD: 1.5, Priced: true}); got == nil || *got != want {
		t.Errorf("bill %+v, want %+v", got, want)
	}
	if estimate.Seconds != 5 {
		t.Error("the bill before was changed")
	}
	if got := minimaxVideo.bill.update(nil, answer); got != nil {
		t.Errorf("bill %+v although no cost is known", *got)
	}
}
