package overlay

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools/act"
	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

// A fakeDialog is a dialog of ten rows.
type fakeDialog struct {
	width, height int
	theme         *theme.Theme
	root          dialog.Root
	got           []tea.Msg
}

func (d *fakeDialog) SetSize(width, height int)   { d.width, d.height = width, height }
func (d *fakeDialog) SetTheme(th *theme.Theme)    { d.theme = th }
func (d *fakeDialog) Update(msg tea.Msg) tea.Cmd  { d.got = append(d.got, msg); return nil }
func (d *fakeDialog) View() string                { return "fake" }
func (d *fakeDialog) Height() int                 { return min(10, d.height) }
func (d *fakeDialog) Attach(r dialog.Root)        { d.root = r }
func (d *fakeDialog) Cursor() (x, y int, ok bool) { return 0, 0, false }

// An awaiting dialog shows the turn that asks.
type awaiting struct{ fakeDialog }

func (*awaiting) AwaitsTurn() {}
func (*awaiting) Wide()       {}

type compact struct{ fakeDialog }

func (*compact) Compact() {}

// A scrolling dialog is a question that scrolls if it is set.
type scrolling struct {
	fakeDialog
	scrolls bool
}

func (d *scrolling) Scrolls() bool { return d.scrolls }

func request(command string) session.ApprovalRequest {
	return session.ApprovalRequest{Action: &act.Action{Tool: "shell", Access: act.AccessRun, Command: command, Input: []byte("{}")}, Policy: act.AskAlways{}}
}

func shows(o *Overlay) string {
	if o.Dialog == nil {
		return ""
	}
	o.Layout(60, 20)
	return ansi.Strip(o.Dialog.View())
}

// Calls are asked about one by one, in order, and never over another dialog.
func TestApprovals(t *testing.T) {
	o := open(t)
	expect := func(when, want string) {
		t.Helper()
		o.AskNext()
		if got := shows(o); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got\n%s\nwant %q", when, got, want)
		}
	}
	expect("nothing waits", "")
	if o.IsWaiting() {
		t.Error("it waits for nothing")
	}
	o.Approve(request("first"))
	o.Approve(request("second"))
	o.Open(&fakeDialog{})
	expect("another dialog is open", "fake")
	if !o.IsWaiting() {
		t.Error("calls wait, and it waits for nothing")
	}
	o.Close()
	expect("it was closed", "first")
	first := o.approvals.open
	expect("once more", "first")
	o.Open(&fakeDialog{})
	expect("another dialog covers the call", "fake")
	o.Interrupt()
	if expect("it was left", "first"); o.Dialog != dialog.Dialog(first) {
		t.Error("the covered question was asked again")
	}
	first.Answered()
	if o.Dialog != nil {
		t.Error("the answered question stays open")
	}
	expect("the next call", "second")
	o.DropPending()
	expect("the turn has ended", "")
	if o.IsWaiting() {
		t.Error("a call of an ended turn waits")
	}
	o.Approve(request("third"))
	expect("another turn", "third")
	o.Interrupt()
	expect("ctrl+c", "")
	o.Approve(request("fourth"))
	o.Open(&fakeDialog{})
	o.DropPending()
	expect("the turn has ended while another dialog is open", "fake")
}

// Enter answers a call with the first choice, unless the user is writing.
func TestSelectedAnswer(t *testing.T) {
	for _, writing := range []bool{false, true} {
		o := open(t)
		o.IsWriting = func() bool { return writing }
		o.Approve(request("ls"))
		o.AskNext()
		if got := strings.Contains(shows(o), "› y  Allow once"); got == writing {
			t.Errorf("writing %v: selected %v:\n%s", writing, got, shows(o))
		}
	}
}

// A question of the model waits for other dialogs and returns after them. It is dropped when it is answered or
// replaced.
func TestModelQuestion(t *testing.T) {
	o, answers := open(t), 0
	ask := func(text string) *dialog.ModelQuestion {
		q := dialog.AskModelQuestion(text, "", [][2]string{{"yes", ""}, {"no", ""}}, o.Theme)
		q.Answered = func([]int, string) tea.Cmd { answers++; return nil }
		o.AskUser(q)
		return q
	}
	first := ask("first?")
	o.Open(&fakeDialog{})
	if o.AskNext(); !o.IsWaiting() || o.Dialog == dialog.Dialog(first) {
		t.Error("the question covers another dialog, or does not wait")
	}
	o.Close()
	if o.AskNext(); o.Dialog != dialog.Dialog(first) || !strings.Contains(shows(o), "first?") {
		t.Errorf("the question is not open:\n%s", shows(o))
	}
	second := ask("second?")
	o.DropModelQuestion(first)
	o.DropModelQuestion(nil)
	if o.approvals.asked != second {
		t.Error("dropping another question dropped this one")
	}
	o.Close()
	o.Approve(request("ls"))
	if o.AskNext(); o.Dialog != dialog.Dialog(second) {
		t.Errorf("not the question is open:\n%s", shows(o))
	}
	if second.Answered([]int{0}, ""); o.Dialog != nil || answers != 1 {
		t.Errorf("%d answers, open is %T", answers, o.Dialog)
	}
	o.DropPending()
	third := ask("third?")
	o.AskNext()
	if second.Answered(nil, ""); o.Dialog != dialog.Dialog(third) {
		t.Error("a late answer to another question closed this one")
	}
	if o.Interrupt(); o.Dialog != nil || o.IsWaiting() {
		t.Error("the question stays after ctrl+c")
	}
}

// quota returns a turn whose model fails, so that the turn asks how to continue.
func quota(t *testing.T, other string) *session.Session {
	t.Helper()
	open := func(name string) (llm.Endpoint, error) {
		if name != other {
			return llm.Endpoint{}, errors.New("no key")
		}
		return llm.Endpoint{Model: llmtest.New(llmtest.Say("whole")), Name: name, Origin: name, Strategy: "native"}, nil
	}
	failing := llm.Endpoint{Model: llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Quota})), Name: "a/a", Origin: "a/a", Strategy: "native"}
	return session.New(session.Options{Model: failing, Attended: true, OpenModel: open, Fallback: func(session.FallbackNeed) []string { return []string{other} }})
}

// A question of a turn is marked as shown unless the user is writing, and the dialog's answer is the turn's.
func TestTurnQuestion(t *testing.T) {
	for name, tt := range map[string]struct {
		writing   bool
		answer    func(o *Overlay)
		countdown bool
		want      session.Action
	}{
		"the first answer": {false, func(o *Overlay) { o.Dialog.(*dialog.Confirmation).Answered(0) }, true, session.SwitchModel},
		"esc":              {false, func(o *Overlay) { o.HandleInput(tea.KeyPressMsg{Code: tea.KeyEscape}) }, true, session.StopTurn},
		"ctrl+c":           {false, func(o *Overlay) { o.Interrupt() }, true, session.StopTurn},
		"while writing":    {true, func(o *Overlay) { o.Interrupt() }, false, session.StopTurn},
	} {
		t.Run(name, func(t *testing.T) {
			o, under := open(t), &awaiting{}
			o.IsWriting = func() bool { return tt.writing }
			o.Open(under)
			shown := false
			for e := range quota(t, "b/b").Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "hi"}) {
				switch e := e.(type) {
				case session.Question:
					o.Decide(e, "Which model?", []string{"b/b", "wait", "stop"}[:len(e.Choices)])
					if o.AskNext(); !o.IsWaiting() || !strings.Contains(shows(o), "Which model?") {
						t.Errorf("the question is not open:\n%s", shows(o))
					}
					if selected := strings.Contains(shows(o), "› "); selected == tt.writing {
						t.Errorf("an answer is selected: %v\n%s", selected, shows(o))
					}
					if !tt.countdown {
						tt.answer(o)
					}
				case session.Countdown:
					if shown = true; !e.Stopped {
						tt.answer(o)
					}
				case session.QuestionAnswered:
					if e.Choice.Action != tt.want {
						t.Errorf("answered %s, want %s", e.Choice.Action, tt.want)
					}
				}
			}
			if o.Dialog != dialog.Dialog(under) || o.IsWaiting() {
				t.Errorf("after the answer %T is open, waiting %v", o.Dialog, o.IsWaiting())
			}
			if shown != tt.countdown {
				t.Errorf("marked as shown: %v, want %v", shown, tt.countdown)
			}
		})
	}
}

// A question covers only a dialog of its own turn, which returns after it.
func TestCoveredByQuestion(t *testing.T) {
	question := session.Question{ID: 2, Choices: []session.Choice{{Action: session.TryAgain}, {Action: session.StopTurn}}}
	for name, tt := range map[string]struct {
		under dialog.Dialog
		end   func(o *Overlay)
		asked bool
		stays bool
	}{
		"a dialog of the turn":       {&awaiting{}, func(o *Overlay) { o.CloseQuestion(question) }, true, false},
		"the turn ends":              {&awaiting{}, (*Overlay).DropPending, true, false},
		"another question is closed": {&awaiting{}, func(o *Overlay) { o.CloseQuestion(session.Question{ID: 1}) }, true, true},
		"another dialog":             {&fakeDialog{}, func(o *Overlay) { o.CloseQuestion(question) }, false, false},
	} {
		o := open(t)
		o.Open(tt.under)
		o.Decide(question, "Again?", []string{"again", "stop"})
		o.AskNext()
		if asked := o.Dialog != tt.under; asked != tt.asked {
			t.Errorf("%s: asked %v, want %v", name, asked, tt.asked)
		}
		if asked := strings.Contains(shows(o), "› 1  again"); asked {
			t.Errorf("%s: enter would send something:\n%s", name, shows(o))
		}
		tt.end(o)
		if stays := o.Dialog != tt.under; stays != tt.stays || o.IsWaiting() != tt.stays {
			t.Errorf("%s: the question stays %v, waits %v; want %v", name, stays, o.IsWaiting(), tt.stays)
		}
	}
	o := open(t)
	o.Decide(session.Question{ID: 3, Default: 1, Choices: question.Choices}, "Again?", []string{"again", "stop"})
	if o.AskNext(); !strings.Contains(shows(o), "› 2  stop") {
		t.Errorf("the harmless default is not selected:\n%s", shows(o))
	}
	o.Open(&fakeDialog{}) // covers it
	o.Close()
	if o.AskNext(); !strings.Contains(shows(o), "Again?") {
		t.Errorf("the covered question is not asked again:\n%s", shows(o))
	}
}

// The height of a dialog depends on its kind.
func TestLayout(t *testing.T) {
	for _, tt := range []struct {
		room, question, list, page int
	}{
		{0, 0, 0, 0}, {3, 3, 3, 3}, {4, 3, 3, 4}, {8, 6, 6, 8}, {12, 9, 9, 12}, {14, 11, 10, 14}, {40, 37, 30, 40},
	} {
		o := open(t)
		for i, d := range []interface {
			dialog.Dialog
			limit() int
		}{&fakeDialog{}, &compact{}} {
			o.Open(d)
			if got := o.Layout(50, tt.room); d.limit() != []int{tt.question, tt.list}[i] || got != min(10, d.limit()) {
				t.Errorf("%d rows: a %T may have %d and has %d", tt.room, d, d.limit(), got)
			}
		}
		page := dialog.Pages("page", nil, o.Theme)
		o.Open(page)
		if got := o.Layout(50, tt.room); got != tt.page || !o.IsFullScreen() || !o.IsWide() {
			t.Errorf("%d rows: a page has %d, want %d", tt.room, got, tt.page)
		}
	}
}

func (d *fakeDialog) limit() int { return d.height }

// The wheel scrolls the transcript above a dialog, and everywhere if the dialog is a question with nothing to scroll.
func TestScrollsTranscript(t *testing.T) {
	wheel := func(y int) tea.MouseMsg { return tea.MouseWheelMsg{Y: y} }
	for _, tt := range []struct {
		name   string
		dialog dialog.Dialog
		msg    tea.MouseMsg
		rows   int
		want   bool
	}{
		{"above", &fakeDialog{height: 10}, wheel(9), 20, true},
		{"in the first row", &fakeDialog{height: 10}, wheel(10), 20, false},
		{"a click", &fakeDialog{height: 10}, tea.MouseClickMsg{Y: 1}, 20, false},
		{"no dialog", nil, wheel(1), 20, false},
		{"a question that scrolls", &scrolling{fakeDialog{height: 10}, true}, wheel(12), 20, false},
		{"one that does not", &scrolling{fakeDialog{height: 10}, false}, wheel(12), 20, true},
		{"no transcript is visible", &scrolling{fakeDialog{height: 10}, false}, wheel(5), 10, false},
		{"less than none", &scrolling{fakeDialog{height: 10}, false}, wheel(5), 9, false},
	} {
		o := open(t)
		if o.Dialog = tt.dialog; o.ScrollsTranscript(tt.msg, tt.rows) != tt.want {
			t.Errorf("%s: want %v", tt.name, tt.want)
		}
	}
}

// A dialog gets keys and the theme, also while another one covers it. The root's functions reach the overlay.
func TestDialog(t *testing.T) {
	o, d := open(t), &awaiting{}
	o.Open(d)
	if o.IsFullScreen() || !o.IsWide() || o.Current() != dialog.Dialog(d) {
		t.Errorf("full screen %v, wide %v, current %T", o.IsFullScreen(), o.IsWide(), o.Current())
	}
	if o.HandleInput(tea.KeyPressMsg{Code: 'x'}); len(d.got) != 1 {
		t.Errorf("it got %v", d.got)
	}
	light, refreshed := theme.Light(), 0
	o.OnRefresh(func() { refreshed++ })
	o.Refresh()
	if o.SetTheme(light); d.theme != light || refreshed != 1 {
		t.Errorf("refreshed %d times, theme %v", refreshed, d.theme)
	}
	var left dialog.Left
	o.OnLeave(func(how dialog.Left) tea.Cmd { left = how; return nil })
	if d.root.Left(dialog.Left{Typed: "x"}); left.Typed != "x" || o.Dialog != nil {
		t.Errorf("left as %+v, %T is open", left, o.Dialog)
	}
	if o.Refresh(); refreshed != 1 || o.ConfirmDrawn() != nil {
		t.Error("a closed dialog is refreshed or drawn")
	}
	o.SetTheme(light)
	for answer, want := range map[int]bool{0: true, 1: false} {
		q, got := dialog.Confirm("Sure?", "yes", "no", o.Theme), !want
		o.Ask(q, func(yes bool) tea.Cmd { got = yes; return nil })
		if q.Answered(answer); got != want || o.Dialog != nil {
			t.Errorf("answer %d is yes: %v, %T is open", answer, got, o.Dialog)
		}
	}
}

// Dialogs that need consent are told when they are on the terminal.
func TestDrawn(t *testing.T) {
	o := open(t)
	var sent []tea.Msg
	o.Tick = func(_ time.Duration, msg tea.Msg) tea.Cmd { sent = append(sent, msg); return nil }
	o.Open(&fakeDialog{})
	if len(sent) > 0 {
		t.Errorf("%v was sent for a dialog without consent", sent)
	}
	o.Open(dialog.Confirm("Sure?", "yes", "no", o.Theme))
	if len(sent) != 1 {
		t.Errorf("%v was sent, want one DrawnMsg", sent)
	}
	for _, tt := range []struct {
		msg  tea.Msg
		want bool
	}{{DrawnMsg{}, true}, {LoneMsg{}, true}, {tea.KeyPressMsg{}, false}} {
		if _, got := o.Update(tt.msg); got != tt.want {
			t.Errorf("%T is handled: %v", tt.msg, got)
		}
	}
	o.Close()
	if _, ok := o.Update(DrawnMsg{}); !ok {
		t.Error("a late DrawnMsg is not handled")
	}
}

// Covered questions get a new theme as well.
func TestThemeOfCovered(t *testing.T) {
	o := open(t)
	o.Approve(request("ls"))
	o.AskNext()
	o.AskUser(dialog.AskModelQuestion("which?", "", [][2]string{{"yes", ""}}, o.Theme))
	covered := []dialog.Dialog{o.approvals.open, o.approvals.asked}
	o.Open(&fakeDialog{})
	var before []string
	for _, d := range covered {
		d.SetSize(60, 20)
		before = append(before, d.View())
	}
	o.SetTheme(theme.Plain())
	for i, d := range covered {
		if d.View() == before[i] {
			t.Errorf("%T has the old theme", d)
		}
	}
}
