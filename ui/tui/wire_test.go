package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/providers/llmtest"
	"parley/ui/app"
	"parley/ui/exchange"
)

// exchanges returns three exchanges: a request, its answer, and a running one.
func exchanges(at time.Time) []exchange.Exchange {
	image := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 1000)
	events := "event: a\ndata: {\"delta\":{\"content\":\"hel\"}}\n\ndata: {\"delta\":{\"content\":\"lo\"}}\n\ndata: [DONE]\n\n"
	one := exchange.Exchange{
		ID: 1, Name: "openai/gpt-x", Method: "POST", URL: "https://api.openai.com/v1/chat/completions", Status: 200, Start: at.Add(time.Second),
		Timing: exchange.Timing{Headers: 310 * time.Millisecond, FirstByte: 312 * time.Millisecond, Total: 2204 * time.Millisecond}, Done: true,
		Request: exchange.Side{
			Headers: [][2]string{{"Authorization", "Bearer [redacted]"}, {"Content-Type", "application/json"}},
			Body:    `{"model":"gpt-x","messages":[{"role":"user","content":"one\ntwo"}],"image":"` + image + `"}`,
		},
		Response: exchange.Side{Headers: [][2]string{{"Content-Type", "text/event-stream"}}, Body: events},
		Curl:     "curl -H \"Authorization: Bearer $OPENAI_API_KEY\"\n",
	}
	one.Sent, one.Got = int64(len(one.Request.Body)), int64(len(events))
	two, three := one, one
	two.ID, two.Status, two.Error, two.Reason, two.Start = 2, 429, "rate_limit", "slow \x1b[2Jdown", at.Add(4*time.Second)
	three.ID, three.Done, three.Start = 3, false, at.Add(time.Hour)
	return []exchange.Exchange{three, two, one}
}

// wired sets up a screen with these exchanges.
func wired(list *[]exchange.Exchange) func(*Options) {
	return func(o *Options) {
		o.App.Wire = app.Wire{
			List: func() []exchange.Exchange { return *list },
			Get: func(id int) (exchange.Exchange, bool) {
				for _, e := range *list {
					if e.ID == id {
						return e, true
					}
				}
				return exchange.Exchange{}, false
			},
		}
	}
}

// TestWire goes from the list to an exchange and back.
func TestWire(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {50, 15}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			list := exchanges(time.Date(2026, 11, 20, 16, 0, 0, 0, time.Local))
			s := setUpWith(t, size[0], size[1], wired(&list))
			s.Press("ctrl+x", "w").WaitForText("429 rate limit")
			s.WaitForText("200 running")
			s.Golden(fmt.Sprintf("wire-%dx%d", size[0], size[1]))
			s.Press("down", "down", "enter").WaitForText("POST https://api.openai.com")
			s.Golden(fmt.Sprintf("exchange-%dx%d", size[0], size[1]))
			s.Press("tab", "tab").Shows("24.0 KB of base64")
			s.Type("/DONE").Press("enter").Shows("data: [DONE]")
			s.Type("/\"lo\"").Press("enter").Shows(`"lo"`)
			s.Press("enter").WaitForText(`"content": "lo"`)
			s.Press("esc").WaitForText("429 rate limit")
			s.Press("esc").WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "429 rate limit") })
		})
	}
}

// TestWireOfTurn opens the exchanges of the message under the cursor.
func TestWireOfTurn(t *testing.T) {
	var list []exchange.Exchange
	s := setUpWith(t, 80, 24, wired(&list), llmtest.Say("the answer"))
	s.ask("first", "the answer")
	s.idle()
	s.Press("tab", "w").WaitForText("--record FILE")
	s.Press("esc")
	all := exchanges(s.clock.Now())
	list = all[2:]
	s.Press("tab", "w").WaitForText("began ")
	s.Press("esc").WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "began ") })
	list = all
	s.Press("w").WaitForText("429 rate limit")
	s.Press("esc")
}
