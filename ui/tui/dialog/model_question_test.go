package dialog_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

// modelQuestion asks a question with three choices, with its own clock.
func modelQuestion(several bool, text string) (*dialog.ModelQuestion, *clock) {
	_, c := confirm("")
	q := dialog.AskModelQuestion(text, "1 of 2", [][2]string{{text, "one file"}, {"Postgres", ""}, {"None", text}}, theme.Plain())
	q.Gate.Now, q.Several = c.now, several
	return q, c
}

// Digits and arrows choose; any other text is an answer too. Esc answers nothing.
func TestModelQuestion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		several, writing bool
		keys, want       string
	}{
		"recommended":             {keys: "enter", want: "[0]"},
		"digit":                   {keys: "2", want: "[1]"},
		"arrows":                  {keys: "down down up enter", want: "[1]"},
		"text":                    {keys: "n o 2 backspace enter", want: "[]no"},
		"text by its digit":       {keys: "4 x enter", want: "[]x"},
		"no text":                 {keys: "4 enter esc", want: "[]"},
		"esc":                     {keys: "esc", want: "[]"},
		"esc leaves a text first": {keys: "x esc 3", want: "[2]"},
		"several":                 {several: true, keys: "1 3 1 2 enter", want: "[1 2]"},
		"several by space":        {several: true, keys: "space down space enter", want: "[0 1]"},
		"several and a text":      {several: true, keys: "2 x enter", want: "[1]x"},
		"several, one by enter":   {several: true, keys: "down enter", want: "[1]"},
		"a draft is continued":    {writing: true, keys: "x", want: "{x}"},
		"enter after a draft":     {writing: true, keys: "enter", want: ""},
		"a choice, after a draft": {writing: true, keys: "down enter", want: "[0]"},
		"a text, after a draft":   {writing: true, keys: "4 x enter", want: "[]x"},
		"a space, after a draft":  {several: true, writing: true, keys: "space", want: "{space}"},
	} {
		t.Run(name, func(t *testing.T) {
			q, clock := modelQuestion(tt.several, "SQLite")
			q.Uncover(clock.now(), tt.writing)
			rows(t, q, 80, 24)
			q.Drawn(clock.now())
			clock.pass(1000)
			got := ""
			for _, key := range strings.Fields(tt.keys) {
				rows(t, q, 80, 24)
				if said := press(t, q, key); said != nil {
					got = fmt.Sprint(said)
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A key pressed right after the question opened, or while the user types, answers nothing: digits are dropped, and text
// goes to the composer.
func TestModelQuestionSettles(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"enter", "1", "x"} {
		q, clock := modelQuestion(false, "SQLite")
		q.Uncover(clock.now(), false)
		rows(t, q, 80, 24)
		q.Drawn(clock.now())
		clock.pass(200)
		want := map[string]string{"1": "<nil>", "x": "{x}", "enter": "<nil>"}[key]
		if got := fmt.Sprint(press(t, q, key)); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
		clock.pass(1000)
		if got := fmt.Sprint(press(t, q, "y")); key == "x" && got != "{y}" {
			t.Errorf("text after a pause: got %s, and the draft is torn", got)
		}
	}
}

// A user who has just answered the question before it is not writing: digits pressed too early are dropped, and text is
// an answer. Enter and digits answer after a pause.
func TestModelQuestionFollows(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{"1 | enter": "[0]", "1 | 2": "[1]", "n 1 | enter": "[]n1"} {
		_, clock := confirm("")
		q := dialog.AskModelQuestion("Which?", "2 of 2", [][2]string{{"SQLite"}, {"Postgres"}}, theme.Plain())
		q.Gate.Now = clock.now
		q.Uncover(clock.now(), false)
		rows(t, q, 80, 24)
		q.Drawn(clock.now())
		clock.pass(200)
		got := ""
		for _, key := range strings.Fields(keys) {
			if key == "|" {
				clock.pass(1000)
			} else if said := press(t, q, key); said != nil {
				got += fmt.Sprint(said)
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", keys, got, want)
		}
	}
}

// While nothing is selected, the last row says where text goes.
func TestModelQuestionNamesTheDraft(t *testing.T) {
	t.Parallel()
	q, clock := modelQuestion(false, "SQLite")
	q.Uncover(clock.now(), true)
	for _, size := range [][2]int{{80, 24}, {50, 15}} {
		if page := strings.Join(rows(t, q, size[0], size[1]), "\n"); !strings.Contains(page, "typing goes to your draft") {
			t.Errorf("%v:\n%s", size, page)
		}
	}
}

// In every size the selected choice is in sight.
func TestModelQuestionScrolls(t *testing.T) {
	t.Parallel()
	q, clock := modelQuestion(true, strings.Repeat("SQLite or another one? ", 20))
	q.Uncover(clock.now(), false)
	for _, size := range [][2]int{{40, 8}, {20, 6}, {80, 10}} {
		for range 4 {
			press(t, q, "down")
		}
		for range 4 {
			if page := strings.Join(rows(t, q, size[0], size[1]), "\n"); !strings.Contains(page, "› ") {
				t.Errorf("%v:\n%s", size, page)
			}
			press(t, q, "up")
		}
	}
}
