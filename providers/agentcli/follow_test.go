package agentcli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// followed reads the lines of a program until the answer ends, with a limit for the time without
// content. Say is called with a function that accepts lines, until ctx ends.
func followed(t *testing.T, kind string, limit time.Duration, say func(ctx context.Context, line func(string))) (text string, finish llm.Finish, err error) {
	t.Helper()
	m := New(Options{Kind: kind})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := &process{lines: make(chan []byte), activity: make(chan struct{}, 1), stderr: &stderrBuffer{onWrite: func([]byte) {}}}
	go say(ctx, func(line string) {
		select {
		case p.lines <- []byte(line):
		case <-ctx.Done():
		}
	})
	asked, _ := llm.WithPulse(ctx, limit)
	var said strings.Builder
	for e, fail := range llm.Produce(asked, func(ctx context.Context, out *llm.Out) error {
		return m.readLines(ctx, p, &answer{out: out, run: &run{}, flavor: m.flavor})
	}) {
		switch e := e.(type) {
		case llm.Delta:
			said.WriteString(e.Text)
		case llm.Finish:
			finish = e
		}
		err = fail
	}
	return said.String(), finish, err
}

var pieces = map[string]string{
	"claude-cli": `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}}`,
	"gemini-cli": `{"type":"message","role":"assistant","content":"%s"}`,
}

// Neither lines without content nor silence keep a program alive forever.
func TestFollowSilence(t *testing.T) {
	for kind, line := range pieces {
		for _, tt := range []struct {
			every time.Duration // between lines without content; 0 for none
			limit time.Duration
			after time.Duration
			words string
		}{
			{10 * time.Second, 15 * time.Minute, 15 * time.Minute, "said no more of its answer for 15m0s"},
			{10 * time.Second, 2 * time.Minute, 2 * time.Minute, "said no more of its answer for 2m0s"},
			{0, 15 * time.Minute, 5 * time.Minute, "said nothing for 5m0s"},
		} {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				text, _, err := followed(t, kind, tt.limit, func(ctx context.Context, say func(string)) {
					say(fmt.Sprintf(line, "a"))
					for tt.every > 0 && ctx.Err() == nil {
						select {
						case <-time.After(tt.every):
							say(`{"type":"system","subtype":"status"}`)
						case <-ctx.Done():
						}
					}
				})
				if after := time.Since(start); after != tt.after || text != "a" || llm.FaultOf(err) != llm.Network || !strings.Contains(fmt.Sprint(err), tt.words) {
					t.Errorf("%s: ended after %s with %q: %v; want %s: %s", kind, after, text, err, tt.after, tt.words)
				}
			})
		}
	}
}

// Endless output ends at the limits of an answer, which are the same for all programs: the one for
// blocks and, with PARLEY_LONG=1, the one for text.
func TestFollowFlood(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind, piece string
		limit       string
		size        int
	}{
		{"claude-cli", "x", "4096 blocks", 4096},
		{"claude-cli", strings.Repeat("x", 1<<20), "32 MB of text", 32 << 20},
		{"gemini-cli", strings.Repeat("x", 1<<20), "32 MB of text", 32 << 20},
	} {
		if len(tt.piece) > 1 && !llmtest.Long {
			continue
		}
		line := fmt.Sprintf(pieces[tt.kind], tt.piece)
		text, finish, err := followed(t, tt.kind, 0, func(ctx context.Context, say func(string)) {
			for n := 0; ctx.Err() == nil; n++ {
				say(strings.Replace(line, `"index":0`, fmt.Sprintf(`"index":%d`, n), 1))
			}
		})
		if len(text) != tt.size || finish.Reason != llm.Length || finish.Limit != tt.limit || err != nil {
			t.Errorf("%s, %s: %d bytes, then %+v, %v", tt.kind, tt.limit, len(text), finish, err)
		}
	}
}

// A line that is too long is skipped, however it is split, and the lines after it are read.
func TestLinesTooLong(t *testing.T) {
	t.Parallel()
	const limit = 100
	for _, size := range []int{0, 15, 16, 17, limit - 2, limit - 1, limit, limit + 1, 10 * limit} { // and a line end
		want := strings.Repeat("x", size)
		r := bufio.NewReaderSize(strings.NewReader(want+"\nnext\r\n"+want), 16)
		if size >= limit {
			want = ""
		}
		for i, want := range []string{want, "next", strings.Repeat("x", size)} {
			if i == 2 && size > limit {
				want = ""
			}
			if line, err := readLine(r, limit); string(line) != want || cap(line) > 2*limit || err != nil && i < 2 {
				t.Errorf("%d bytes, line %d: %q in %d bytes, %v, want %q", size, i, line, cap(line), err, want)
			}
		}
	}
	if !llmtest.Long {
		return
	}
	s := script(t, []step{{Long: maxLine + 1<<20}, {Out: "\n" + hello["codex-cli"]}})
	if got := take(t, s.model("codex-cli").Stream(t.Context(), asking("Hi"))); got.text() != "Hello" {
		t.Errorf("%+v", got)
	}
}
