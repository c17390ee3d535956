package formats

import (
	"net/http"
	"testing"

	"parley/providers/llm"
)

// moderated are the errors of xAI about results that it withholds, and bills: of today, and of before.
var moderated = []string{
	`{"code":"imagine:content-moderated","error":"Generated video rejected by content moderation.","usage":{"cost_in_usd_ticks":2500000000}}`,
	`{"code":"Client specified an invalid argument","error":"Generated video rejected by content moderation.","usage":{"cost_in_usd_ticks":2500000000}}`,
}

// TestVideoModeratedInPoll takes a poll that fails because the video was withheld for the end of the
// job, which was paid for.
func TestVideoModeratedInPoll(t *testing.T) {
	for _, body := range moderated {
		s := newVideoServer(t, videoWires[1])
		s.answers = []func(http.ResponseWriter){status(400, body)}
		j, err := s.jobs().Poll(t.Context(), s.running(t))
		if err != nil || j.State != llm.JobRefused || j.Refused == nil || j.Refused.Stage != "output" || !j.Refused.Billed {
			t.Fatalf("%+v, refusal %+v, %v", j, j.Refused, err)
		}
		if j.Bill == nil || j.Bill.USD != 0.25 || !j.Bill.Reported {
			t.Errorf("bill %+v", j.Bill)
		}
	}
}

// TestImageModerated takes the error for a refusal, and counts its cost.
func TestImageModerated(t *testing.T) {
	for _, body := range moderated {
		server := newImageServer(t, says(400, "application/json", body))
		o := made(t, grokImageSuite.maker(server.URL), llm.ImageRequest{Prompt: "a fox"})
		if o.err != nil || len(o.refused) != 1 || !o.refused[0].Billed {
			t.Fatalf("%+v", o)
		}
		if o.bill == nil || o.bill.USD != 0.25 || !o.bill.Reported {
			t.Errorf("bill %+v", o.bill)
		}
	}
}

// TestVideoSensitivePrompt takes MiniMax's error about a prompt, which has its code in the words
// alone, for a refusal.
func TestVideoSensitivePrompt(t *testing.T) {
	s := newVideoServer(t, videoWires[3])
	s.create = status(422, `{"type":"error","error":{"type":"unprocessable_entity_error","message":"video description contains sensitive content (1026)","http_code":"422"},"request_id":"r"}`)
	if j, err := s.jobs().Start(t.Context(), llm.VideoRequest{Prompt: "a fox"}); err != nil || j.State != llm.JobRefused || j.Refused.Stage != "input" {
		t.Errorf("%+v, %v", j, err)
	}
}
