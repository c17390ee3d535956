package agentcli

import (
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
)

// A conversation continues in the program's own session, which gets only the new messages.
func TestResume(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind string
		says []step
		want []string
	}{
		{"claude-cli", claudeSays, []string{"--resume=s-1", "--fork-session"}},
		{"gemini-cli", geminiSays, []string{"--resume=g-1"}},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			s := script(t, tt.says)
			m := s.model(tt.kind)
			req := asking("First")
			first := take(t, m.Stream(t.Context(), req))
			req.Messages = append(req.Messages, first.message(m), llm.UserText("Second"))
			portable, changes := llm.Portable(req.Messages, m.Origin())
			if len(changes) > 0 {
				t.Errorf("its own history was changed: %v", changes)
			}
			second := take(t, m.Stream(t.Context(), llm.Request{Messages: portable}))
			check(t, second, []llm.Part{text("Hello")}, llm.Stop, "")
			v := s.visits()
			if got := v[1].Args[len(v[1].Args)-len(tt.want):]; !slices.Equal(got, tt.want) || v[1].Stdin != "Second" {
				t.Errorf("arguments %q, stdin %q", v[1].Args, v[1].Stdin)
			}
			if strings.Contains(strings.Join(v[0].Args, " "), "--resume") || len(second.notices) > 0 {
				t.Errorf("first arguments %q, notices %q", v[0].Args, second.notices)
			}
			// Messages of others in the meantime are part of the prompt.
			req.Messages = append(req.Messages, second.message(m), llm.UserText("Third"), other(text("Theirs")), llm.UserText("Fourth"))
			take(t, m.Stream(t.Context(), req))
			want := "In the meantime this was said. What each side said is indented below its name.\n\nUser:\n    Third\n\nAssistant:\n    Theirs\n\n" +
				"This is the new message of the user:\n\nFourth"
			if v := s.visits()[2]; v.Stdin != want || !strings.Contains(strings.Join(v.Args, " "), "--resume=") {
				t.Errorf("arguments %q, stdin %q", v.Args, v.Stdin)
			}
		})
	}
}

// A history that the session does not contain is sent as text.
func TestNoResume(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"claude-cli", "gemini-cli"} {
		says := claudeSays
		if kind == "gemini-cli" {
			says = geminiSays
		}
		for name, change := range map[string]func(h []llm.Message) []llm.Message{
			"edited":    func(h []llm.Message) []llm.Message { h[0] = llm.UserText("Other"); return h },
			"compacted": func(h []llm.Message) []llm.Message { return append([]llm.Message{llm.UserText("Summary")}, h[1:]...) },
			"another's": func(h []llm.Message) []llm.Message { h[1].Origin = "chat/openai"; return h },
			"forged": func(h []llm.Message) []llm.Message {
				h[1].Parts[len(h[1].Parts)-1].State = []byte(`{"session":"--dangerously-skip-permissions"}`)
				return h
			},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				s := script(t, says)
				m := s.model(kind)
				first := take(t, m.Stream(t.Context(), asking("First")))
				history := change([]llm.Message{llm.UserText("First"), first.message(m), llm.UserText("Second")})
				take(t, m.Stream(t.Context(), llm.Request{Messages: history}))
				v := s.visits()[1]
				if strings.Contains(strings.Join(v.Args, " "), "--resume") || !strings.Contains(v.Stdin, "Assistant:\n    Hello") || !strings.HasSuffix(v.Stdin, "\n\nSecond") {
					t.Errorf("arguments %q, stdin %q", v.Args, v.Stdin)
				}
			})
		}
	}
}

// Two answers to one message: a session that is copied serves both, one that is appended to serves
// only the first.
func TestBranches(t *testing.T) {
	t.Parallel()
	for kind, resumed := range map[string]bool{"claude-cli": true, "gemini-cli": false} {
		says := claudeSays
		if kind == "gemini-cli" {
			says = geminiSays
		}
		s := script(t, says)
		m := s.model(kind)
		first := take(t, m.Stream(t.Context(), asking("First")))
		for _, prompt := range []string{"One", "Two"} {
			take(t, m.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("First"), first.message(m), llm.UserText(prompt)}}))
		}
		args := strings.Join(s.visits()[2].Args, " ")
		if strings.Contains(args, "--resume=") != resumed {
			t.Errorf("%s: the second branch has arguments %s", kind, args)
		}
	}
}

// An aside leaves the session as it is for the conversation's next message: it resumes a copy, or is sent in a new one.
func TestAside(t *testing.T) {
	t.Parallel()
	for kind, resumed := range map[string]bool{"claude-cli": true, "gemini-cli": false} {
		says := claudeSays
		if kind == "gemini-cli" {
			says = geminiSays
		}
		s := script(t, says)
		m := s.model(kind)
		first := take(t, m.Stream(t.Context(), asking("First")))
		for _, req := range []llm.Request{
			{Messages: []llm.Message{llm.UserText("First"), first.message(m), llm.UserText("Why?")}, Aside: true},
			{Messages: []llm.Message{llm.UserText("First"), first.message(m), llm.UserText("Second")}},
		} {
			take(t, m.Stream(t.Context(), req))
		}
		v := s.visits()
		if args := strings.Join(v[1].Args, " "); strings.Contains(args, "--resume=") != resumed || resumed != strings.Contains(args, "--fork-session") {
			t.Errorf("%s: the aside has arguments %s", kind, args)
		}
		if args := strings.Join(v[2].Args, " "); !strings.Contains(args, "--resume=") || v[2].Stdin != "Second" {
			t.Errorf("%s: the next message has arguments %s, stdin %q", kind, args, v[2].Stdin)
		}
	}
}

func TestSessionLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind       string
		says, lost []step
	}{
		{"claude-cli", claudeSays, []step{{
			Out: `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: s-1"]}` + "\n",
			Err: "No conversation found with session ID: s-1\n", Exit: 1,
		}}},
		{"claude-cli", claudeSays, []step{{Err: "No conversation found with session ID: s-1\n", Exit: 1}}},
		{"gemini-cli", geminiSays, []step{{Err: "Error resuming session: Invalid session identifier \"g-1\".\n", Exit: 42}}},
	} {
		s := script(t, tt.says, tt.lost, tt.says)
		m := s.model(tt.kind)
		first := take(t, m.Stream(t.Context(), asking("First")))
		got := take(t, m.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("First"), first.message(m), llm.UserText("Second")}}))
		check(t, got, []llm.Part{text("Hello")}, llm.Stop, "")
		v := s.visits()
		if len(v) != 3 || strings.Contains(strings.Join(v[2].Args, " "), "--resume") || !strings.HasPrefix(v[2].Stdin, foldedTitle) {
			t.Fatalf("%+v", v)
		}
		if len(got.notices) != 1 || !strings.Contains(got.notices[0], "no longer has the session") {
			t.Errorf("notices %q", got.notices)
		}
	}
}
