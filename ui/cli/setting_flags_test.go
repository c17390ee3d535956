package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/session"
)

// startSession opens a conversation as parley does for args, and returns it with the program. Done closes both.
func startSession(t *testing.T, args ...string) (a *program, s *session.Session, done func()) {
	t.Helper()
	a = newProgram()
	root := a.rootCommand(nil)
	err := root.ParseFlags(args)
	if err == nil {
		err = a.flags.validate(root, nil, "text")
	}
	if err == nil {
		err = a.load()
	}
	if err == nil {
		s, _, err = a.openSession(false)
	}
	if err != nil {
		t.Fatalf("parley %s: %v", strings.Join(args, " "), err)
	}
	return a, s, func() {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		a.closeLibrary()
	}
}

// ask adds a prompt to the conversation and does not wait for an answer.
func ask(t *testing.T, s *session.Session) {
	for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "hello"}) {
		break
	}
}

// TestPromptFileHoldsForItsTurn: the model and the effort of a prompt file apply to one answer only, in new and in
// continued conversations. Values of flags are stored.
func TestPromptFileHoldsForItsTurn(t *testing.T) {
	settingFlagsHome(t, map[string]string{"review.md": "---\nmodel: local/other\neffort: high\n---\nReview it\n"})
	for _, test := range []struct {
		args, during, after string
	}{
		{"-P review", "local/other high", "local/m "},
		{"-c -P review", "local/other high", "local/m low"},
		{"-P review -m local/third", "local/third high", "local/third "},
		{"-P review --effort max", "local/other max", "local/m max"},
		{"-c -P review --effort max", "local/other max", "local/m max"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Setenv("XDG_DATA_HOME", t.TempDir())
			if strings.HasPrefix(test.args, "-c") {
				_, s, done := startSession(t, "--effort", "low")
				ask(t, s)
				done()
			}
			look := func(s *session.Session) string { return fmt.Sprint(s.Model().Name, " ", s.Next.Effort()) }
			_, s, done := startSession(t, strings.Fields(test.args)...)
			if got := look(s); got != test.during {
				t.Errorf("while it is answered: %q, want %q", got, test.during)
			}
			ask(t, s)
			done()
			_, s, done = startSession(t, "-c")
			if got := look(s); got != test.after {
				t.Errorf("continued: %q, want %q", got, test.after)
			}
			done()
		})
	}
}

// settingFlagsHome makes a home with a configuration and prompt files, and a working directory, which it enters. Beside
// is a sibling of that directory.
func settingFlagsHome(t *testing.T, promptFiles map[string]string) (beside string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(home, "config", "parley")
	work, beside, prompts := filepath.Join(home, "work"), filepath.Join(home, "beside"), filepath.Join(config, "prompts")
	for _, dir := range []string{work, beside, prompts} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{filepath.Join(config, "config.toml"): "model = \"local/m\"\n[providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n"}
	for name, text := range promptFiles {
		files[filepath.Join(prompts, name)] = text
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_CACHE_HOME": filepath.Join(home, "cache"), "XDG_STATE_HOME": filepath.Join(home, "state")} {
		t.Setenv(name, value)
	}
	t.Chdir(work)
	return beside
}

// TestSettingFlags: the value of a flag with an equivalent chat command is stored with its conversation until it is
// changed there, and affects no other conversation.
func TestSettingFlags(t *testing.T) {
	beside := settingFlagsHome(t, map[string]string{"teacher.md": "---\nsystem: Teach.\ntools: [read]\n---\n"})
	request := func(s *session.Session) llm.Request { _, req := s.Next.Request(); return req }
	system := func(s *session.Session) string {
		first, _, _ := strings.Cut(request(s).System, "\n")
		return strings.TrimPrefix(first, strings.SplitN(session.Instructions, "\n", 2)[0])
	}
	for _, test := range []struct {
		flag, unset, set string
		look             func(*session.Session) string
	}{
		{"-m local/other", "local/m", "local/other", func(s *session.Session) string { return s.Model().Name }},
		{"--effort high", "", "high", func(s *session.Session) string { return string(s.Next.Effort()) }},
		{"--web", "false", "true", func(s *session.Session) string { return fmt.Sprint(request(s).Web) }},
		{"-O temperature=0.2", "", "0.2", func(s *session.Session) string { return s.OwnSettings.Get().Values["temperature"] }},
		{"--detail low", "", "low", func(s *session.Session) string { return request(s).Detail }},
		{"-s Rhyme.", "", "Rhyme.", system},
		{"--persona teacher", "", "Teach. 1", func(s *session.Session) string {
			if _, offered := s.Next.Tools(); len(offered) == 1 {
				return system(s) + " 1"
			}
			return system(s)
		}},
		{"--add-dir " + beside, "[] false", fmt.Sprint([]string{beside}, true), func(s *session.Session) string {
			return fmt.Sprint(s.Directories.Reachable(), strings.Contains(request(s).System, beside))
		}},
	} {
		t.Run(test.flag, func(t *testing.T) {
			t.Setenv("XDG_DATA_HOME", t.TempDir())
			flags := strings.Fields(test.flag)
			check := func(when string, s *session.Session, want string) {
				t.Helper()
				if got := test.look(s); got != want {
					t.Errorf("%s: %q, want %q", when, got, want)
				}
			}
			_, s, done := startSession(t)
			check("without the flag", s, test.unset)
			ask(t, s)
			plain := s.ID()
			done()

			a, s, done := startSession(t, flags...)
			check("a new conversation", s, test.set)
			ask(t, s)
			if log, err := a.library.Resume(plain); err != nil {
				t.Error(err)
			} else if other, _, err := a.resumeSession(log, nil); err != nil {
				t.Error(err)
			} else {
				check("another one, opened in the chat", other, test.unset)
				other.Close()
			}
			done()
			_, s, done = startSession(t, "-c")
			check("continued", s, test.set)
			done()

			_, s, done = startSession(t, slices.Concat(flags, []string{"--dry-run", "-r", plain})...)
			check("a dry run of an old conversation", s, test.set)
			done()
			_, s, done = startSession(t, "-r", plain)
			check("after a dry run", s, test.unset)
			done()

			again := slices.Concat(flags, []string{"-r", plain})
			_, s, done = startSession(t, again...)
			check("an old conversation", s, test.set)
			if _, err := s.OwnSettings.Change(func(own *session.Settings) error { return own.Set("seed", "7") }); err != nil {
				t.Error(err)
			}
			ask(t, s)
			check("after /set", s, test.set)
			done()
			_, s, done = startSession(t, "-r", plain)
			check("opened again", s, test.set)
			before := len(slices.Concat(s.Annotations(s.Path())...))
			done()
			_, s, done = startSession(t, again...)
			check("given once more", s, test.set)
			if now := len(slices.Concat(s.Annotations(s.Path())...)); now != before {
				t.Errorf("given once more: %d events are kept, want %d", now, before)
			}
			done()
		})
	}
}
