package formats

import (
	"net/http"
	"testing"

	"parley/providers/llm/works"
)

// moderated lists xAI's errors for results that it withholds and charges for: the current one, and an
// older one.
var moderated = []string{
	`{"code":"imagine:content-moderated","error":"Generated video rejected by content moderation.","usage":{"cost_in_usd_ticks":2500000000}}`,
	`{"code":"Client specified an invalid argument","error":"Generated video rejected by content moderation.","usage":{"cost_in_usd_ticks":2500000000}}`,
}

// TestVideoModeratedInPoll: a poll that fails because the video was withheld ends the job, which is
// charged.
func TestVideoModeratedInPoll(t *testing.T) {
	for _, body := range moderated {
		s := newVideoServer(t, videoWires[1])
		s.answers = []func(http.ResponseWriter){status(400, body)}
		j, err := s.jobs().Poll(t.Context(), s.running(t))
		if err != nil || j.State != works.JobRefused || j.Refused == nil || j.Refused.Stage != "output" || !j.Refused.Billed {
			t.Fatalf("%+v, refusal %+v, %v", j, j.Refused, err)
		}
		if j.Bill == nil || j.Bill.USD != 0.25 || !j.Bill.Reported {
			t.Errorf("bill %+v", j.Bill)
		}
	}
}

// TestImageModerated: the error is a refusal, and its cost counts.
func TestImageModerated(t *testing.T) {
	for _, body := range moderated {
		server := newImageServer(t, says(400, "application/json", body))
		o := made(t, grokImageSuite.maker(server.URL), works.ImageRequest{Prompt: "a fox"})
		if o.err != nil || len(o.refused) != 1 || !o.refused[0].Billed {
			t.Fatalf("%+v", o)
		}
		if o.bill == nil || o.bill.USD != 0.25 || !o.bill.Reported {
			t.Errorf("bill %+v", o.bill)
		}
	}
}

// TestVideoSensitivePrompt: MiniMax's error about a prompt, whose code is only in the message, is a
// refusal.
func TestVideoSensitivePrompt(t *testing.T) {
	s := newVideoServer(t, videoWires[3])
	s.create = status(422, `{"type":"error","error":{"type":"unprocessable_entity_error","message":"video description contains sensitive content (1026)","http_code":"422"},"request_id":"r"}`)
	if j, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox"}); err != nil || j.State != works.JobRefused || j.Refused.Stage != "input" {
		t.Errorf("%+v, %v", j, err)
	}
}
