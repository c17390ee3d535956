package tui

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app/classify"
	"parley/ui/app/flows"
)

// The palette begins with commands for beginners, then frequently used ones, of this run
// and earlier ones.
func TestSuggestedCommands(t *testing.T) {
	s := setUpWith(t, 80, 40, func(o *Options) {
		if err := o.App.Library.Set("command_uses", "theme 7\nusage 3\nmouse 1\nnew 9\ngone 5"); err != nil {
			t.Fatal(err)
		}
	})
	s.Type("/help").Press("enter").WaitForText("Input & messages").Press("esc")
	s.Press("ctrl+p").WaitForText("Suggested")
	var got []string
	rows := strings.Split(s.Screen(), "\n")
	at := slices.Index(rows, "Suggested")
	for _, row := range rows[at+1:] {
		if row != "" && row[0] != ' ' {
			break // the next group
		}
		got = append(got, strings.Fields(row)[0])
	}
	want := "model new sessions connect help theme usage"
	if all := strings.Join(got, " "); all != want && all != strings.Replace(want, "connect ", "", 1) {
		t.Errorf("suggested are %q, want %q", all, want)
	}
	kept, _ := s.m.App.Library.Get("command_uses")
	if !strings.Contains(kept, "help 1") || !strings.Contains(kept, "theme 7") {
		t.Errorf("kept is %q", kept)
	}
}

// Commands of other programs work, or their equivalent is named.
func TestNeighborsCommands(t *testing.T) {
	k := newKeymap(nil, flows.Commands())
	noPrompt := func(string) bool { return false }
	for typed, want := range map[string]string{
		"/undo": "undo", "/status": "context", "/init": "init", "/image": "image", "/file": "attach", "/save": "export", "/theme": "theme", "/resume": "sessions",
		"/cost": "usage", "/export": "export", "/quit": "quit", "/exit": "quit", "/clear": "new", "/compress": "compact", "/approvals": "mode",
		"/config": "settings", "/settings": "settings", "/branches": "tree", "/reasoning": "effort", "/models": "model", "/memory": "memory",
		"/plan": "mode", "/vim": "settings", "/statusline": "statusline", "/keymap": "settings", "/review": "review-changes", "/review-changes": "review-changes",
	} {
		if l := classify.Entered(typed, k.commands(), noPrompt); l.Kind != classify.Command || k.actions[l.Command].Name != want {
			t.Errorf("%s is %+v, want %s", typed, l, want)
		}
	}
	for _, typed := range []string{"/diff", "/logout", "/agents", "/feedback", "/import", "/version", "/terminal-setup"} {
		if l := classify.Entered(typed, k.commands(), noPrompt); l.Kind != classify.Command && l.Hint == "" {
			t.Errorf("%s is %+v, want a hint", typed, l)
		}
	}
}

// A name of another program's command is answered before commands that only resemble it.
func TestForeignNameComesFirst(t *testing.T) {
	s := setUp(t, 80, 24)
	s.Type("/plan").WaitForText("Runs /mode plan")
	s.Press("enter").WaitForText("Approval mode: plan")
	s.Type("/import").WaitForText("parley sessions import, in a shell")
}

// A command found by an alias shows the alias.
func TestAliasIsShown(t *testing.T) {
	s := setUp(t, 80, 24)
	s.Type("/").Type("cos").WaitForText("usage (cost)")
	s.Press("backspace", "backspace", "backspace").Type("usa").WaitForScreen(func(screen string) bool {
		return strings.Contains(screen, "usage") && !strings.Contains(screen, "(")
	})
}

// After /attach the files of the workspace are completed.
func TestAttachCompletesPaths(t *testing.T) {
	s := setUp(t, 80, 24)
	s.Press("ctrl+p").WaitForText("Suggested")
	s.WaitFor(func() bool { return len(s.m.input.Paths()) > 0 })
	s.Type("attach a").WaitForText("attach a.txt")
	s.Press("enter").WaitForText("a.txt: no such file") // the program runs in the workspace; this test does not
}

// After commands that take a path, and after @, a path is completed directory by directory, as in shells.
func TestPathsAreCompleted(t *testing.T) {
	s := setUp(t, 200, 24)
	at := filepath.Join(s.dir, "x")
	for _, name := range []string{"deep/deeper", "depot", ".hidden"} {
		if err := os.MkdirAll(filepath.Join(at, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(at, "denote.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	at = filepath.ToSlash(at) + "/"
	lists := func(command string, has, lacks []string) {
		t.Helper()
		s.WaitFor(func() bool {
			screen := s.Screen()
			missing := func(name string) bool { return !strings.Contains(screen, command+at+name) }
			return !slices.ContainsFunc(has, missing) && !slices.ContainsFunc(lacks, func(name string) bool { return !missing(name) })
		})
	}
	for _, command := range []string{"add-dir ", "folder ", "attach ", "export md "} {
		s.Type("/" + command + at)
		lists(command, []string{"deep/", "depot/"}, []string{".hidden/"})
		if command == "attach " || command == "export md " {
			lists(command, []string{"denote.md"}, nil)
		} else {
			lists(command, nil, []string{"denote.md"})
		}
		s.Type("dee").Press("tab")
		lists(command, []string{"deep/deeper/"}, []string{"depot/"})
		s.Type("no")
		lists(command, nil, []string{"deep/deeper/"})
		s.Press("ctrl+u", "esc", "ctrl+u")
	}
	s.Type("see @" + at + "de").WaitForText("deep/").WaitForText("denote.md")
}

// A command with an argument stays if it is refused, and up recalls it, however it was typed.
func TestCommandsComeBack(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Export = func(*session.Session, string, string) (string, string, error) {
			return "", "", errors.New(`unknown format "pdf"`)
		}
	}, llmtest.Say("an answer"))
	s.ask("hi", "an answer")
	s.idle()
	s.Type("/export pdf").Press("enter").WaitForText(`Unknown format "pdf"`).Shows(band + "/export pdf")
	s.Press("ctrl+u").Type("/mode fast").Press("enter").WaitForText(`Unknown approval mode "fast"`).Shows(band + "/mode fast")
	s.Press("ctrl+u").Press("up").WaitForText(band + "/mode fast").Press("up").WaitForText(band + "/export pdf")
}
