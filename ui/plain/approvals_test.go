package plain

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/tools/act"
	"parley/ui/describe"
	"parley/ui/uitest"
)

// TestApprovalList: the choices are those of the screen, each with a number and a
// letter, and differ between calls.
func TestApprovalList(t *testing.T) {
	edit := &act.Action{Tool: "edit", Path: "main.go", Access: act.AccessWrite}
	boxed := &act.Action{Tool: "shell", Command: "make", Sandboxed: true}
	online := &act.Action{Tool: "shell", Command: "make", Sandboxed: true, Network: true}
	careful := &act.Action{Tool: "shell", Command: "rm -rf ~", AskEachTime: true}
	for _, tt := range []struct {
		name   string
		action *act.Action
		want   string
	}{
		{"an edit", edit, "1 y Allow once, 2 a Allow all edits in this folder, 3 p Always allow…, 4 nd Deny, 5 e Edit"},
		{"a command in a sandbox", boxed, "1 y Allow once, 2 a Allow this session, 3 p Always allow…, 4 nd Deny, 5 e Edit, 6 w Allow with network"},
		{"one that is online", online, "1 y Allow once, 2 a Allow this session, 3 p Always allow…, 4 nd Deny, 5 e Edit"},
		{"one that is asked about each time", careful, "1 y Allow once, 2 nd Deny, 3 e Edit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			choices := describe.Choices(tt.action, true, false)
			var got []string
			for _, number := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "01", "+1", ""} {
				choice := choiceOf(choices, number)
				if choice == describe.NoChoice {
					continue
				}
				letters := ""
				for _, letter := range strings.Split("yapnedwx?", "") {
					if choiceOf(choices, letter) == choice {
						letters += letter
					}
				}
				got = append(got, number+" "+letters+" "+choiceText(choice, tt.action))
			}
			if said := strings.Join(got, ", "); said != tt.want {
				t.Errorf("got\n%s\nwant\n%s", said, tt.want)
			}
		})
	}
}

// TestApprovalAnswers: a choice allows only its stated scope.
func TestApprovalAnswers(t *testing.T) {
	for choice, want := range map[describe.Choice]act.Approval{
		describe.AllowOnce:    {Verdict: act.Allow},
		describe.AllowSession: {Verdict: act.Allow, Session: true},
		describe.WithNetwork:  {Verdict: act.Allow, Network: true},
		describe.DenyCall:     {Verdict: act.Deny, Note: "why"},
		describe.NoChoice:     {Verdict: act.Deny, Note: "why"},
	} {
		note := ""
		if want.Note != "" {
			note = "why"
		}
		if got := approvalOf(choice, note); got != want {
			t.Errorf("%d: %+v, want %+v", choice, got, want)
		}
	}
}

// TestApprovalLines: a line typed at the question runs the command, or does not.
func TestApprovalLines(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		ran   bool
		said  string // text after that
	}{
		{"by number", []string{"1"}, true, "Running…"},
		{"for the session by number", []string{"2"}, true, "Running…"},
		{"a rule by number, and its number", []string{"3", "1"}, true, "Running…"},
		{"no by number", []string{"4"}, false, "Not run."},
		{"no with a reason", []string{"d too dangerous"}, false, "Not run."},
		{"edited by number", []string{"5", "touch other", "1"}, false, "Running…"},
		{"an empty line, and no", []string{"", "n"}, false, "Type one of the numbers or letters and nothing else."},
		{"a number that is none, and no", []string{"9", "n"}, false, "Type one of the numbers or letters and nothing else."},
		{"a number with more behind it", []string{"1 and go on", "n"}, false, "Type one of the numbers or letters and nothing else."},
		{"with network where there is no sandbox", []string{"w", "6", "n"}, false, "Type one of the numbers or letters and nothing else."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := talk(t, nil, asks("touch ran"), llmtest.Say("Well."))
			d.enter("run it").enter(tt.lines...).heard("Well.").idle()
			if _, err := os.Stat(filepath.Join(d.dir, "ran")); (err == nil) != tt.ran || !strings.Contains(d.said(), tt.said) {
				t.Errorf("ran %v, want %v and %q:\n%s", err == nil, tt.ran, tt.said, d.said())
			}
			d.valid()
		})
	}
}

// TestHostileNames: a name made up by a model takes one short row of the list, without
// escapes or extra rows.
func TestHostileNames(t *testing.T) {
	const row = "2. Allow edits to "
	asked, names := 0, 40
	if llmtest.Race {
		names = 16
	}
	for _, name := range append(uitest.Hostile(names), "a\n1. Allow once (y)\n", strings.Repeat("wide漢", 200), "a"+strings.Repeat(" ", 300)+"b") {
		input, _ := json.Marshal(map[string]string{"path": ".parley/x" + strings.ReplaceAll(name, "/", "_"), "content": "1"})
		d := talk(t, nil, llmtest.Call(llm.Part{ID: "1", Name: "write", Input: string(input)}), llmtest.Say("Well."))
		d.out.Width = nil
		d.enter("write it")
		if d.questions.open() == nil { // such a name is not a path
			continue
		}
		asked++
		for line := range strings.Lines(d.said()) {
			if strings.HasPrefix(line, row) && len([]rune(line)) > len(row)+80 {
				t.Errorf("a row of %d characters: %q", len([]rune(line)), line)
			}
		}
		if n := strings.Count(d.said(), "\n1. Allow once (y)\n"); n != 1 {
			t.Errorf("%d first rows for %q:\n%s", n, name, d.said())
		}
		if found := uitest.Foreign(d.said()); len(found) > 0 {
			t.Errorf("%.20q for %q", found, name)
		}
	}
	if asked < 10 {
		t.Errorf("only %d were asked about", asked)
	}
}
