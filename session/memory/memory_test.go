package memory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/session/memory"
	"parley/session/trust"
)

type decisions map[string]string

func (d decisions) Get(key string) (string, error) { return d[key], nil }
func (d decisions) Set(key, value string) error    { d[key] = value; return nil }

// A place has the lines of a user and of a folder with files.
type place struct {
	*memory.Memory
	dir     string
	path    string
	decided decisions
}

func open(t *testing.T, files map[string]string) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := place{dir: dir, path: filepath.Join(t.TempDir(), "parley", "memory.md"), decided: decisions{}}
	found, err := trust.Load(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Memory = memory.Open(p.path, dir, func() trust.Project { return found }, func() (trust.Store, func()) { return p.decided, func() {} }, func(text string) string {
		return strings.ReplaceAll(text, "configured", "***")
	})
	return p
}

// asks reports whether the next start of parley asks about the folder.
func (p place) asks(t *testing.T) bool {
	t.Helper()
	o, err := trust.Load(p.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, known := trust.Decision(p.decided, o)
	return !known && !o.Empty()
}

// TestLine: texts become one line, or are refused with the reason.
func TestLine(t *testing.T) {
	m := open(t, nil)
	for text, want := range map[string]string{
		"I use tabs":                              "I use tabs",
		"  - two\n\tlines ":                       "two lines",
		"the primary key: an id":                  "the primary key: an id",
		"see https://example.org/task-management": "see https://example.org/task-management",
		"":                                                      "nothing to remember",
		"a family: 👨‍👩‍👧":                                       "a family: 👨‍👩‍👧",
		" \n ":                                                  "nothing to remember",
		"the key is sk-proj-abcdef1234567890":                   "a key or a password",
		"export KEY='AKIAABCDEFGHIJKLMNOP'":                     "a key or a password",
		"https://me:hunter22@example.org/":                      "a key or a password",
		"token:ghp_0123456789abcdefABCDEF/x.":                   "a key or a password",
		"the configured key":                                    "a key or a password",
		"api key 0123456789abcdef0123456789abcdef":              "a key or a password",
		"token deadbeefcafebabedeadbeefcafebabedeadbeef":        "a key or a password",
		"use wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY":          "a key or a password",
		"npm_abcdefghijklmnopqrstuvwxyz0123456789":              "a key or a password",
		"curl -u admin:hunter22":                                "a key or a password",
		"my password: correct horse":                            "a key or a password",
		"the db password is hunter2":                            "a key or a password",
		"DB_PASSWORD=x":                                         "a key or a password",
		"never print a password":                                "never print a password",
		"docker run -u 1000:1000":                               "-u 1000:1000",
		"docker run -u $(id -u):$(id -g)":                       "-u $(id -u)",
		"see internal/FooBar/v2/SomeComponent/BigTable/main.go": "see internal/",
		"set npm_config_cache":                                  "set npm_config_cache",
		"tokens: count them":                                    "tokens: count them",
		"tabs\u202eand more":                                    "hidden characters",
		"tabs\u200b\u200b":                                      "hidden characters",
		strings.Repeat("long ", 20_000):                         "may have 2048 bytes, and this one has 100000",
	} {
		got, err := m.Line(text)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || err != nil && strings.Contains(got, "hunter22") {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
}

// TestChange: lines are added, replaced and forgotten; everything else in the file stays.
func TestChange(t *testing.T) {
	for _, here := range []bool{false, true} {
		p := open(t, nil)
		check := func(err error, wantErr, want string) {
			t.Helper()
			text, _ := os.ReadFile(p.Path(here))
			if got := strings.ReplaceAll(string(text), "\n", "|"); got != want || (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
				t.Errorf("here %v: %q, error %v; want %q, %q", here, got, err, want, wantErr)
			}
		}
		check(p.Add("one", here), "", "- one|")
		check(p.Add("one", here), "has this line already", "- one|")
		check(p.Add("two", here), "", "- one|- two|")
		check(p.Replace(here, "one", "three"), "", "- three|- two|")
		check(p.Replace(here, "one", ""), `no longer has the line "one"`, "- three|- two|")
		check(p.Replace(here, "three", "sk-proj-abcdef1234567890"), "a key or a password", "- three|- two|")
		check(p.Replace(here, "three", ""), "", "- two|")
		if err := os.WriteFile(p.Path(here), []byte("# Mine\n\n* two\nthree"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := p.Edited(here); err != nil {
			t.Error(err)
		}
		check(p.Add("four", here), "", "# Mine||* two|three|- four|")
		if got := strings.Join(p.Lines(here), "|"); got != "# Mine|two|three|four" {
			t.Errorf("lines %q", got)
		}
		if p.asks(t) {
			t.Error("the next start asks about lines that the user wrote")
		}
		long := strings.Repeat("x ", 500)
		for n := 0; n < 40; n++ {
			if err := p.Add(long+strings.Repeat("y", n), here); err != nil {
				check(err, "may have 32 KB", strings.ReplaceAll(read(t, p.Path(here)), "\n", "|"))
				break
			}
		}
		if size := len(read(t, p.Path(here))); size > 32<<10 || size < 30<<10 {
			t.Errorf("the file has %d bytes", size)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFolder: lines of a folder count only if the user wrote or trusted exactly them.
func TestFolder(t *testing.T) {
	const lines = ".parley/memory.md"
	p := open(t, map[string]string{lines: "- from others\n"})
	if text, err := p.Prompt(); text != "" || err != nil || len(p.Lines(true)) > 0 {
		t.Errorf("untrusted lines are sent: %q, %v", text, err)
	}
	if err := p.Add("mine", true); err == nil || !strings.Contains(err.Error(), "was not written by you") {
		t.Errorf("added to untrusted lines: %v", err)
	}
	o, err := trust.Load(p.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if review := o.Review(); !strings.Contains(review, "from others") {
		t.Errorf("the question does not show the lines: %q", review)
	}
	if err := trust.SaveDecision(p.decided, o, true); err != nil {
		t.Fatal(err)
	}
	if err := p.Add("mine", true); err != nil || p.asks(t) {
		t.Errorf("after trust: %v, asks %v", err, p.asks(t))
	}
	if text, err := p.Prompt(); !strings.Contains(text, "<memory file=\".parley/memory.md\">\n- from others\n- mine\n</memory>") || err != nil {
		t.Errorf("sent: %q, %v", text, err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, lines), []byte("- other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, _ := p.Prompt(); text != "" || !p.asks(t) {
		t.Errorf("changed lines are sent: %q, asks %v", text, p.asks(t))
	}

	p = open(t, map[string]string{"AGENTS.md": "Be kind."})
	if err := p.Add("mine", true); err == nil || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("added in an untrusted folder: %v", err)
	}
	if o, err = trust.Load(p.dir, nil); err != nil {
		t.Fatal(err)
	}
	_ = trust.SaveDecision(p.decided, o, true)
	if err := p.Add("mine", true); err != nil || p.asks(t) {
		t.Errorf("in a trusted folder: %v, asks %v", err, p.asks(t))
	}
	_ = trust.SaveDecision(p.decided, o, false)
	if text, _ := p.Prompt(); text != "" {
		t.Errorf("sent after the folder lost its trust: %q", text)
	}
}

// TestLinks: a link does not lead parley to another file.
func TestLinks(t *testing.T) {
	outside := t.TempDir()
	for _, link := range []string{".parley", ".parley/memory.md"} {
		p := open(t, nil)
		at := filepath.Join(p.dir, link)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside), at); err != nil {
			t.Skip(err)
		}
		if err := p.Add("mine", true); err == nil {
			t.Errorf("%s: written through the link", link)
		}
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("%s: %v", link, left)
		}
	}
}

// TestSecretsAreNotSent: lines that look like keys are left out of requests, even if they were written by hand.
func TestSecretsAreNotSent(t *testing.T) {
	p := open(t, nil)
	if err := p.Add("I use tabs", false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.path, []byte("- I use tabs\n- key sk-proj-abcdef1234567890\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := p.Prompt()
	if strings.Contains(text, "sk-proj") || !strings.Contains(text, "I use tabs") || err == nil || !strings.Contains(err.Error(), "not sent (1)") {
		t.Errorf("sent %q, error %v", text, err)
	}
}
