package dialog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/ui/describe"
	"parley/ui/theme"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
)

func init() { permission.Register() }

func shell(command string) *act.Action {
	input, _ := json.Marshal(map[string]any{"command": command, "timeout": 120})
	return &act.Action{Tool: "shell", Input: input, Access: act.AccessRun, Title: command, Command: command}
}

func describeHunk() *act.Action {
	return &act.Action{
		Tool: "edit", Access: act.AccessWrite, Title: "edit main.go", Path: "cmd/main.go",
		Input: json.RawMessage(`{"path":"cmd/main.go","old":"-- a","new":"b"}`),
		Diff: "--- a/cmd/main.go\n+++ b/cmd/main.go\n@@ -9,4 +9,5 @@ func main() {\n \tflag.Parse()\n--- a removed line that looks like a head\n" +
			"+\tif err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {\n+\t\tos.Exit(1)\n \t}\n }\n\\ No newline at end of file\n",
	}
}

// eachTime returns a change that no answer can allow for later.
func eachTime() *act.Action {
	a := describeHunk()
	a.Caution, a.AskEachTime = "this folder is no workspace: it is your home folder", true
	return a
}

// The reason why a call asks is above it, and keys without effect are not offered.
func TestCautionIsShown(t *testing.T) {
	d, clock := asked(eachTime(), theme.Plain())
	rows(t, d, 100, 20)
	d.Drawn(clock.now())
	clock.pass(400)
	view := d.View()
	if !strings.Contains(view, "this folder is no workspace: it is your home folder") || strings.Contains(view, "always") || strings.Contains(view, "allow edits") {
		t.Errorf("got\n%s", view)
	}
	press(t, d, "a")
	if view := d.View(); !strings.Contains(view, "This asks every time") {
		t.Errorf("after a key that cannot count, got\n%s", view)
	}
	if told := strings.Join(describe.Words(eachTime(), false), "\n"); !strings.Contains(told, "is no workspace") {
		t.Errorf("in plain lines: %s", told)
	}
}

// The irreversible part of a call is shown above it, on the screen and in plain mode.
func TestIrreversibleIsShown(t *testing.T) {
	a := describeHunk()
	a.Irreversible = "3 files (1.2 GB) cannot be undone"
	d, _ := asked(a, theme.Plain())
	rows(t, d, 100, 20)
	for name, text := range map[string]string{"screen": d.View(), "plain lines": strings.Join(describe.Words(a, false), "\n")} {
		if !strings.Contains(text, a.Irreversible) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// boxed returns a sandboxed command.
func boxed(command string) *act.Action {
	a := shell(command)
	a.Sandboxed = true
	return a
}

// ofPrompt returns a command that a prompt runs: a reason for its denial reaches no model.
func ofPrompt(command string) *act.Action {
	a := shell(command)
	a.OfPrompt = true
	return a
}

func page() *act.Action {
	const url = "https://docs.example.com/a?b=c"
	return &act.Action{Tool: "fetch", Access: act.AccessFetch, Title: url, Host: "docs.example.com", URL: url, Input: json.RawMessage(`{"url":"` + url + `"}`)}
}

func proposal() *act.Action {
	const plan = "Write it.\n\n- [ ] new.txt"
	a := &act.Action{Tool: "plan", Title: "1 step", Input: json.RawMessage(`{"text":"Write it.\n\n- [ ] new.txt"}`)}
	a.Proposal = plan
	return a
}

// clock is a time that tests move.
type clock struct{ time.Time }

func (c *clock) now() time.Time        { return c.Time }
func (c *clock) pass(ms time.Duration) { c.Time = c.Add(ms * time.Millisecond) }

// asked returns an approval with an editor and its own clock.
func asked(a *act.Action, th *theme.Theme) (*dialog.Approval, *clock) {
	c := &clock{time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
	d := dialog.Approve(a, c.now(), th)
	d.Gate.Now, d.Workspace, d.Editor, d.Policy = c.now, "~/src/parley", composer.New(th), &tools.Policy{}
	d.SetSize(60, 12)
	listen(d)
	return d, c
}

func allow(a act.Approval) answered {
	a.Verdict = act.Allow
	return answered{a}
}

func deny(note string) answered {
	return answered{act.Approval{Verdict: act.Deny, Note: note}}
}

func TestApprovalAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		action *act.Action
		keys   []string
		want   tea.Msg
	}{
		"once":                            {shell("ls"), []string{"y"}, allow(act.Approval{})},
		"this session":                    {shell("ls"), []string{"a"}, allow(act.Approval{Session: true})},
		"all edits":                       {describeHunk(), []string{"a"}, allow(act.Approval{Session: true})},
		"all edits, by its other key":     {describeHunk(), []string{"shift+tab"}, allow(act.Approval{Session: true})},
		"all edits, selected":             {describeHunk(), []string{"down", "enter"}, allow(act.Approval{Session: true})},
		"shift+tab about a command":       {shell("ls"), []string{"shift+tab", "enter"}, allow(act.Approval{})},
		"shift+tab where it asks again":   {eachTime(), []string{"tab", "shift+tab", "enter"}, allow(act.Approval{})},
		"always":                          {shell("git log -3"), []string{"p", "enter"}, allow(act.Approval{Always: true})},
		"always, wider":                   {shell("git log -3"), []string{"p", "left", "left", "enter"}, allow(act.Approval{Always: true, PrefixWords: 2})},
		"no wider than that":              {shell("git log -3"), []string{"p", "-", "-", "-", "-", "enter"}, allow(act.Approval{Always: true, PrefixWords: 2})},
		"and narrower":                    {shell("git log -3"), []string{"p", "-", "-", "+", "enter"}, allow(act.Approval{Always: true, PrefixWords: 3})},
		"exactly again":                   {shell("git log -3"), []string{"p", "left", "right", "right", "enter"}, allow(act.Approval{Always: true})},
		"what has no prefix":              {shell("git log | sh"), []string{"p", "left", "enter"}, allow(act.Approval{Always: true})},
		"a pipe, by its parts":            {shell("git log -3 | wc -l"), []string{"p", "left", "left", "left", "left", "enter"}, allow(act.Approval{Always: true, PrefixWords: 2})},
		"a wrapper":                       {shell("env ls"), []string{"p", "left", "left", "left", "enter"}, allow(act.Approval{Always: true, PrefixWords: 0})},
		"a file":                          {describeHunk(), []string{"p", "left", "enter"}, allow(act.Approval{Always: true})},
		"back from always":                {shell("ls"), []string{"p", "esc", "y"}, allow(act.Approval{})},
		"y is no answer there":            {shell("ls"), []string{"p", "y", "a", "w"}, nil},
		"with network":                    {boxed("ls"), []string{"w", "y"}, allow(act.Approval{Network: true})},
		"network for this time only":      {boxed("ls"), []string{"w", "p", "a"}, nil},
		"without network after all":       {boxed("ls"), []string{"w", "w", "a"}, allow(act.Approval{Session: true})},
		"no sandbox, no network to allow": {shell("ls"), []string{"w", "y"}, allow(act.Approval{})},
		"esc denies at once":              {shell("ls"), []string{"esc"}, deny("")},
		"n denies":                        {shell("ls"), []string{"n", "enter"}, deny("")},
		"n to a command of a prompt":      {ofPrompt("ls"), []string{"n"}, deny("")},
		"n and a note":                    {shell("ls"), []string{"n", "use fd, please", "enter"}, deny("use fd, please")},
		"n and esc":                       {shell("ls"), []string{"n", "use", "esc"}, deny("")},
		"y in a note is a letter":         {shell("ls"), []string{"n", "y"}, nil},
		"other keys":                      {shell("ls"), []string{"f5", "ctrl+y", "up", "left"}, nil},
		"enter takes what is selected":    {shell("ls"), []string{"enter"}, allow(act.Approval{})},
		"the next":                        {shell("ls"), []string{"down", "enter"}, allow(act.Approval{Session: true})},
		"by tab, and back":                {shell("ls"), []string{"tab", "tab", "shift+tab", "enter"}, allow(act.Approval{Session: true})},
		"always, from the list":           {shell("git log -3"), []string{"down", "down", "enter", "enter"}, allow(act.Approval{Always: true})},
		"deny, from the list":             {shell("ls"), []string{"down", "down", "down", "enter", "use fd", "enter"}, deny("use fd")},
		"edit, from the list":             {shell("ls"), []string{"down", "down", "down", "down", "down", "enter", " -l", "enter"}, allow(act.Approval{Input: `{"command":"ls -l","timeout":120}`})},
		"with network, from the list":     {boxed("ls"), []string{"up", "down", "down", "down", "down", "down", "down", "enter", "enter"}, allow(act.Approval{Network: true})},
		"the list of what asks each time": {eachTime(), []string{"down", "enter", "enter"}, deny("")},
		"enter may end what was written":  {shell("ls"), []string{"x", "enter"}, nil},
		"until an arrow selects":          {shell("ls"), []string{"x", "down", "enter"}, allow(act.Approval{})},
		"once only":                       {shell("ls"), []string{"y", "esc"}, allow(act.Approval{})},
		"edited command":                  {shell("ls"), []string{"e", " -l", "enter"}, allow(act.Approval{Input: `{"command":"ls -l","timeout":120}`})},
		"emptied command":                 {shell("ls"), []string{"e", "ctrl+u", "enter"}, nil},
		"edited JSON":                     {describeHunk(), []string{"e", "backspace", "backspace", `,"n":1}`, "enter"}, allow(act.Approval{Input: `{"path":"cmd/main.go","old":"-- a","new":"b","n":1}`})},
		"broken JSON":                     {describeHunk(), []string{"e", "x", "enter"}, nil},
		"JSON that is no object":          {describeHunk(), []string{"e", "alt+>", "alt+<", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "null", "enter"}, nil},
		"back from editing":               {shell("ls"), []string{"e", "x", "esc", "y"}, allow(act.Approval{})},
		"what asks each time":             {eachTime(), []string{"a", "p", "enter"}, nil},
		"what asks each time, once":       {eachTime(), []string{"a", "p", "y"}, allow(act.Approval{})},
		"what was edited is still there":  {shell("ls"), []string{"e", " -l", "esc", "e", "enter"}, allow(act.Approval{Input: `{"command":"ls -l","timeout":120}`})},
		"hidden bytes are edited as such": {shell("ls\x1b"), []string{"e", "enter"}, allow(act.Approval{Input: `{"command":"ls\u001b","timeout":120}`})},
	} {
		t.Run(name, func(t *testing.T) {
			d, clock := asked(c.action, theme.Plain())
			rows(t, d, 100, 20)
			d.Drawn(clock.now())
			clock.pass(400)
			var got tea.Msg
			for _, key := range c.keys {
				switch msg := press(t, d, key).(type) {
				case nil, typed: // for the composer
				default:
					got = msg
				}
				d.View()
				d.Drawn(clock.now()) // the effect of a key is visible before the next one
				clock.pass(400)
			}
			if got != c.want {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
			rows(t, d, 100, 20)
		})
	}
}

// A plan is edited as text, without the name of its argument.
func TestEditedPlan(t *testing.T) {
	d, clock := asked(proposal(), theme.Plain())
	rows(t, d, 100, 20)
	d.Drawn(clock.now())
	clock.pass(400)
	press(t, d, "e")
	if view := d.View(); !strings.Contains(view, "Edit the plan") {
		t.Errorf("the title is missing:\n%s", view)
	}
}

// Keys pressed before the question was visible were meant for something else.
func TestKeysSleepUntilTheQuestionWasSeen(t *testing.T) {
	inert := func(d *dialog.Approval, when string, keys ...string) {
		t.Helper()
		for _, key := range keys {
			switch got := press(t, d, key).(type) {
			case nil, typed:
			default:
				t.Fatalf("%s: %s is answered by %#v", when, key, got)
			}
		}
	}
	d, clock := asked(shell("ls"), theme.Plain())
	opened := clock.now()
	inert(d, "before anything was drawn", "y", "a", "e", "n", "enter", "esc")
	for _, key := range []string{"y", "a", "e", "n", "enter", "esc"} { // each as the first key for some time
		d, clock := asked(shell("ls"), theme.Plain())
		rows(t, d, 60, 12)
		clock.pass(10_000)
		inert(d, "before it was painted", key, "enter") // enter would send the reason of a denial
		clock.pass(10_000)
		d.Drawn(opened.Add(-time.Millisecond)) // the terminal got another frame then
		clock.pass(10_000)
		inert(d, "with an older frame painted", key, "enter")
	}
	rows(t, d, 60, 12)
	clock.pass(10_000)
	inert(d, "before it was painted", "y", "a", "e", "n", "enter", "esc")
	d.View()
	if d.Drawn(clock.now()) == nil {
		t.Error("nothing will paint the keys when they wake up")
	}
	clock.pass(399)
	inert(d, "399 ms after a key", "y")
	clock.pass(399)
	inert(d, "and after another", "backspace")
	clock.pass(400)
	if got := press(t, d, "y"); got != allow(act.Approval{}) {
		t.Errorf("400 ms after the last key: %#v", got)
	}
}

func TestKeysSleepUntilTheQuestionWasRead(t *testing.T) {
	for key, want := range map[string]tea.Msg{"y": allow(act.Approval{}), "a": allow(act.Approval{Session: true})} {
		d, clock := asked(shell("ls"), theme.Plain())
		rows(t, d, 60, 12)
		clock.pass(10_000)
		d.Drawn(clock.now())
		clock.pass(299)
		if got := press(t, d, key); got == want {
			t.Errorf("%s answers after 299 ms", key)
		}
		clock.pass(400)
		if got := press(t, d, key); got != want {
			t.Errorf("%s 400 ms later: %#v", key, got)
		}
	}
	d, clock := asked(shell("ls"), theme.Plain())
	rows(t, d, 60, 12)
	d.Drawn(clock.now())
	if got := press(t, d, "y", "esc"); got != deny("") {
		t.Errorf("esc, painted a moment ago: %#v", got)
	}
}

// A user who types a sentence, or begins one with a key that answers nothing, continues typing it:
// nothing is answered, and nothing is lost.
func TestTypingGoesOnElsewhere(t *testing.T) {
	d, clock := asked(shell("ls"), theme.Plain())
	rows(t, d, 60, 12)
	d.Drawn(clock.now())
	draft := ""
	for _, r := range "yes, and make any nice examples easy" {
		clock.pass(390)
		rows(t, d, 60, 12)
		d.Drawn(clock.now())
		stray, ok := press(t, d, string(r)).(typed)
		if !ok {
			t.Fatalf("%q behind %q is swallowed", r, draft)
		}
		draft += stray.Msg.(tea.KeyPressMsg).Text
	}
	if draft != "yes, and make any nice examples easy" {
		t.Errorf("the draft is %q", draft)
	}
	if got, want := press(t, d, "paste:yyy"), (typed{Msg: tea.PasteMsg{Content: "yyy"}}); got != want {
		t.Errorf("a paste: %#v", got)
	}
	if got := press(t, d, "backspace"); got != nil {
		t.Errorf("backspace writes nothing: %#v", got)
	}
	clock.pass(400)
	for i, r := range "how, any?" {
		if _, ok := press(t, d, string(r)).(typed); !ok {
			t.Errorf("letter %d, %q, is swallowed", i, r)
		}
	}
	clock.pass(399)
	press(t, d, "down", "pgup", "ctrl+o", "ctrl+o") // this is not typing
	rows(t, d, 60, 12)
	d.Drawn(clock.now())
	clock.pass(300)
	if got := press(t, d, "a"); got != allow(act.Approval{Session: true}) {
		t.Errorf("an answer after a pause: %#v", got)
	}
}

// The keys are redrawn when they begin to work, however late that is.
func TestKeysWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, clock := asked(shell("ls"), theme.Plain())
		rows(t, d, 60, 12)
		settled := d.Drawn(clock.now())
		clock.pass(300)
		press(t, d, "x")
		asleep := d.View()
		again := d.Update(settled())
		if again == nil || d.View() != asleep {
			t.Fatal("awake though somebody typed")
		}
		clock.pass(400)
		if d.Update(again()) != nil || d.View() == asleep {
			t.Error("the keys do not wake up")
		}
		again = d.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
		press(t, d, "up") // removes the hint
		if again == nil || d.View() != asleep {
			t.Fatal("typing puts them to sleep for good, or not at all")
		}
		clock.pass(400)
		if d.Update(again()) != nil || d.View() == asleep {
			t.Error("the keys do not wake up again")
		}
	})
}

func TestLongTextHasToBeSeenWhole(t *testing.T) {
	long := shell("true\n" + strings.Repeat("echo harmless\n", 300) + "rm -rf ~")
	paint := func(d *dialog.Approval, clock *clock) string {
		view := strings.Join(rows(t, d, 60, 12), "\n")
		d.Drawn(clock.now())
		clock.pass(400)
		return view
	}
	t.Run("jump to the end", func(t *testing.T) {
		d, clock := asked(long, theme.Plain())
		paint(d, clock)
		press(t, d, "end")
		if view := paint(d, clock); !strings.Contains(view, "120") || !strings.Contains(view, "scroll back") {
			t.Errorf("the end is\n%s", view)
		}
		if got := press(t, d, "y"); got == allow(act.Approval{}) {
			t.Errorf("allowed with the middle unseen: %#v", got)
		}
	})
	t.Run("page by page", func(t *testing.T) {
		d, clock := asked(long, theme.Plain())
		for i := 0; !strings.Contains(paint(d, clock), "120"); i++ {
			if got := press(t, d, "y"); got != nil || i > 100 {
				t.Fatalf("page %d: %#v", i, got)
			}
			if view := strings.Join(rows(t, d, 60, 12), "\n"); !strings.Contains(view, "scroll to the end first") {
				t.Fatalf("it does not say why nothing is allowed\n%s", view)
			}
			press(t, d, "pgdown")
		}
		press(t, d, "ctrl+o") // with more rows the delays restart
		if got := press(t, d, "y"); got != nil {
			t.Fatalf("with the details unseen: %#v", got)
		}
		for range 100 {
			paint(d, clock)
			press(t, d, "pgdown")
		}
		rows(t, d, 40, 9)
		d.Drawn(clock.now())
		if got := press(t, d, "y"); got != allow(act.Approval{}) {
			t.Errorf("seen whole, then in another width: %#v", got)
		}
	})
}

// Paging misses no row and repeats none, with any key.
func TestPaging(t *testing.T) {
	long := shell("true" + strings.Repeat("\necho", 99)) // 100 rows, a blank one, and 3 of other arguments
	for _, key := range []string{"pgdown", "space"} {
		d, clock := asked(long, theme.Plain())
		for page := range 11 { // 10 rows each
			rows(t, d, 60, 12)
			d.Drawn(clock.now())
			clock.pass(400)
			if got := press(t, d, "y"); (got == allow(act.Approval{})) != (page == 10) {
				t.Fatalf("%s, page %d: %#v", key, page, got)
			}
			clock.pass(400)
			press(t, d, key)
		}
	}
	d, clock := asked(long, theme.Plain())
	rows(t, d, 60, 12)
	d.Drawn(clock.now())
	if _, ok := press(t, d, "G").(typed); !ok {
		t.Error("G scrolls for who is typing")
	}
	clock.pass(400)
	press(t, d, "G")
	if view := strings.Join(rows(t, d, 60, 12), "\n"); !strings.Contains(view, "timeout") || !strings.Contains(view, "not all was shown (9%)") {
		t.Errorf("G leads to\n%s", view)
	}
}

// compact returns the foot of a completely seen approval, in a window one row too low for the list.
func compact(t *testing.T, d *dialog.Approval, c *clock, width int) string {
	t.Helper()
	rows(t, d, width, 100)
	d.Drawn(c.now())
	c.pass(400)
	rows(t, d, width, d.Height()-1) // without empty rows
	lines := rows(t, d, width, d.Height()-1)
	return strings.TrimPrefix(lines[len(lines)-1], "  ")
}

// The label of a key tells what it allows, also for later calls.
func TestSessionKeyNamesItsScope(t *testing.T) {
	deep := describeHunk()
	deep.Path = "a/very/long/way/down/to/the/.parley"
	mcp := &act.Action{Tool: "mcp__github__create_issue", Access: act.AccessRun, Input: json.RawMessage(`{"title":"Bug"}`)}
	for _, c := range []struct {
		action *act.Action
		width  int
		want   string // the row of keys
		list   string // the same, in the list
	}{
		{shell("ls"), 80, "› y once · n deny · a this session · p always… · e edit · ctrl+o details", "a  Allow this session"},
		{describeHunk(), 80, "› y once · n deny · a all edits · p always… · e edit · ctrl+o details", "a  Allow all edits in this folder  shift+tab"},
		{describeHunk(), 50, "› y once · n deny · a all edits · p always…", "a  Allow all edits in this folder  shift+tab"},
		{describeHunk(), 44, "› y once · n deny · a all edits · e edit", "a  Allow all edits in this folder\n"},
		{deep, 80, "› y once · n deny · a edits to …he/.parley this session · p always… · e edit", "a  Allow edits to a/very/long/way/down/to/the/.parley this session"},
		{deep, 120, "› y allow once · n deny · a allow edits to …/to/the/.parley this session · p always allow… · e edit · ctrl+o details", "a  Allow edits to a/very/long/way/down/to/the/.parley this session"},
		{deep, 60, "› y once · n deny · a edits to …the/.parley this session", "a  Allow edits to …ay/down/to/the/.parley this session"},
		{deep, 50, "› y once · n deny · p always… · e edit", "a  Allow edits to …/the/.parley this session"},
		{mcp, 80, "› y once · n deny · a …ate_issue of github this session · p always… · e edit", "a  Allow create_issue of github this session"},
		{page(), 80, "› y once · n deny · a docs.example.com this session · p always… · e edit", "a  Allow docs.example.com this session"},
		{boxed("ls"), 100, "› y once · n deny · a this session · p always… · e edit · w with network · ctrl+o details", "a  Allow this session"},
		{boxed("ls"), 80, "› y once · n deny · a this session · p always… · e edit · w with network", "a  Allow this session"},
		{deep, 20, "› y once · n deny", "a  Allow edits …"},
	} {
		d, clock := asked(c.action, theme.Plain())
		if list := strings.Join(rows(t, d, c.width, 100), "\n"); !strings.Contains(list, c.list) {
			t.Errorf("%s in %d cells: no %q in\n%s", c.action.Tool, c.width, c.list, list)
		}
		if got := compact(t, d, clock, c.width); got != c.want {
			t.Errorf("%s in %d cells\n got %s\nwant %s", c.action.Tool, c.width, got, c.want)
		}
	}
}

// Choices do not hide a command: they are a list if all of the command stays visible above it,
// or if the command has to be scrolled anyway and keeps ten rows. Otherwise they are a row, in
// which the same keys select. In a window narrower than 20 cells there are only letters.
func TestListLeavesRoomForWhatRuns(t *testing.T) {
	lines := func(n int) *act.Action {
		a := shell("echo" + strings.Repeat("\necho", n-1))
		a.Input = json.RawMessage(`{}`)
		return a
	}
	for _, c := range []struct {
		rows, width, height int
		list                bool
	}{
		{4, 50, 11, true}, {5, 50, 11, false}, {9, 50, 11, false}, {40, 50, 11, false},
		{13, 80, 20, true}, {14, 80, 20, false}, {18, 80, 20, false}, {19, 80, 20, true}, {400, 80, 20, true},
		{3, 20, 24, true}, {3, 19, 24, false},
	} {
		d, clock := asked(lines(c.rows), theme.Plain())
		view := rows(t, d, c.width, c.height)
		if got := slices.Contains(view, "▌   n  Deny"); got != c.list {
			t.Errorf("%d rows in %d by %d: a list %v, want %v\n%s", c.rows, c.width, c.height, got, c.list, strings.Join(view, "\n"))
		}
		d.Drawn(clock.now())
		clock.pass(400)
		if shown := c.rows <= c.height-2; (press(t, d, "y") == allow(act.Approval{})) != shown {
			t.Errorf("%d rows in %d by %d: what is in sight whole can be allowed, and nothing else", c.rows, c.width, c.height)
		}
	}
	d, clock := asked(lines(5), theme.Plain())
	for _, c := range []struct{ key, want string }{
		{"", "› y once · n deny · a this session · p always…"}, {"tab", "y once · › n deny · a this session · p always…"},
		{"right", "y once · n deny · › a this session · p always…"}, {"right", "y once · n deny · a this session · › p always…"},
		{"right", "› e edit · n deny · a this session · p always…"}, {"left", "y once · n deny · a this session · › p always…"},
	} {
		rows(t, d, 50, 11)
		d.Drawn(clock.now())
		clock.pass(400)
		if c.key != "" {
			press(t, d, c.key)
		}
		view := rows(t, d, 50, 11)
		if got := strings.TrimPrefix(view[len(view)-1], "  "); got != c.want {
			t.Errorf("%q leads to %q, want %q", c.key, got, c.want)
		}
	}
	press(t, d, "left")
	if got := press(t, d, "enter"); got != allow(act.Approval{Session: true}) {
		t.Errorf("enter in a row: %#v", got)
	}
}

// After another dialog covered an approval, seen rows stay seen, the scroll position stays,
// and no key meant for that dialog answers anything, in any state.
func TestUncovered(t *testing.T) {
	for name, c := range map[string]struct {
		before []string
		keys   []string // pressed within the delay
		after  []string
		want   tea.Msg
	}{
		"reviewing":       {nil, []string{"enter", "y", "esc", "a", "n"}, []string{"down", "enter"}, allow(act.Approval{})},
		"a selection":     {[]string{"down"}, []string{"enter", "esc"}, []string{"enter"}, allow(act.Approval{Session: true})},
		"a note":          {[]string{"n", "use fd"}, []string{"enter", "esc"}, []string{"enter"}, deny("use fd")},
		"an edit":         {[]string{"e", " -l"}, []string{"enter", "esc"}, []string{"enter"}, allow(act.Approval{Input: `{"command":"ls -l","timeout":120}`})},
		"a rule":          {[]string{"p"}, []string{"enter", "esc"}, []string{"enter"}, allow(act.Approval{Always: true})},
		"with network":    {[]string{"w"}, []string{"enter", "y", "esc"}, []string{"y"}, allow(act.Approval{Network: true})},
		"esc once it was": {nil, []string{"esc", "esc"}, []string{"esc"}, deny("")},
	} {
		t.Run(name, func(t *testing.T) {
			d, clock := asked(boxed("ls"), theme.Plain())
			awake(d, clock)
			press(t, d, c.before...)
			d.Uncover(clock.now())
			inert := func(when string) {
				t.Helper()
				for _, key := range c.keys {
					if got, ok := press(t, d, key).(answered); ok {
						t.Fatalf("%s: %s answers %#v", when, key, got)
					}
				}
			}
			d.Drawn(clock.now()) // for a frame that was drawn before
			inert("before it was painted")
			rows(t, d, 60, 20)
			d.Drawn(clock.now())
			clock.pass(299)
			inert("after 299 ms")
			clock.pass(400)
			rows(t, d, 60, 20)
			d.Drawn(clock.now())
			clock.pass(400)
			if got := press(t, d, c.after...); got != c.want {
				t.Errorf("later: %#v, want %#v", got, c.want)
			}
		})
	}
}

func TestSmallWindow(t *testing.T) {
	d, _ := asked(shell("one\ntwo\nthree\nfour\nfive\nsix"), theme.Plain())
	if got, want := strings.Join(rows(t, d, 20, 6), "\n"), "Run this command?\nnot sandboxed\n$ one\n> two\n> three\npgdn 0% · n deny"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct {
		width int
		want  string
	}{{60, "pgdn scroll to the end to allow (50%) · n deny"}, {20, "pgdn 50% · n deny"}, {16, "pgdn · n deny"}, {15, "n deny"}} {
		d, clock := asked(shell("one\ntwo\nthree\nfour\nfive\nsix"), theme.Plain())
		rows(t, d, c.width, 6)
		d.Drawn(clock.now())
		lines := rows(t, d, c.width, 6)
		if got := strings.TrimPrefix(lines[len(lines)-1], "  "); got != c.want {
			t.Errorf("%d cells: got %q, want %q", c.width, got, c.want)
		}
	}
}

// A diff shows the name of its file once.
func TestDiffHeads(t *testing.T) {
	hunk := "@@ -0,0 +1 @@\n+--- a/x\n"
	for name, c := range map[string]struct{ path, diff, want string }{
		"a change":        {"x", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "path  x|  1 - a|  1 + b"},
		"a new file":      {"x", "--- /dev/null\n+++ b/x\n" + hunk, "new file  x|  1 + --- a/x"},
		"of another file": {"x", "--- a/y\n+++ b/y\n" + hunk, "path  x|  --- a/y|  +++ b/y|  @@ -0,0 +1 @@|1 +--- a/x"},
		"of two files":    {"x", "--- a/y\n+++ b/x\n" + hunk, "path  x|  --- a/y|  +++ b/x|  @@ -0,0 +1 @@|1 +--- a/x"},
		"no heads":        {"x", hunk, "path  x|  1 + --- a/x"},
		"no path":         {"", "--- a/x\n+++ b/x\n" + hunk, "  --- a/x|  +++ b/x|  @@ -0,0 +1 @@|1 +--- a/x"},
	} {
		d, _ := asked(&act.Action{Tool: "write", Access: act.AccessWrite, Path: c.path, Diff: c.diff}, theme.Plain())
		lines := rows(t, d, 60, 20)
		band := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "▌") })
		if got := strings.Trim(strings.Join(lines[:band], "|"), "|"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// shift+tab allows nothing before the whole change has been seen and the user has had time to read.
func TestAllEditsWaitForTheEyes(t *testing.T) {
	d, clock := asked(describeHunk(), theme.Plain())
	rows(t, d, 60, 6)
	d.Drawn(clock.now())
	clock.pass(1000)
	if got := press(t, d, "shift+tab"); got != nil || !strings.Contains(d.View(), "scroll to the end first") {
		t.Errorf("before the end: %#v\n%s", got, d.View())
	}
	d, clock = asked(describeHunk(), theme.Plain())
	rows(t, d, 100, 40)
	d.Drawn(clock.now())
	if got := press(t, d, "shift+tab"); got != nil {
		t.Errorf("at once: %#v", got)
	}
}

func TestNothingIsAllowedWhereNothingCanBeRead(t *testing.T) {
	d, clock := asked(shell("ls"), theme.Plain())
	for range 50 {
		rows(t, d, 15, 12)
		d.Drawn(clock.now())
		clock.pass(400)
		press(t, d, "down")
	}
	if got := press(t, d, "y"); got == allow(act.Approval{}) {
		t.Errorf("allowed: %#v", got)
	}
}

// awake returns an approval whose keys work.
func awake(d *dialog.Approval, c *clock) dialog.Dialog {
	d.SetSize(500, 500)
	d.View()
	d.Drawn(c.now())
	c.pass(400)
	return d
}

// chosen returns an approval on the page of the rule.
func chosen(d *dialog.Approval, c *clock) dialog.Dialog {
	awake(d, c)
	d.Update(tea.KeyPressMsg{Code: 'p', Text: "p"})
	d.View()
	d.Drawn(c.now())
	c.pass(300)
	return d
}

// An empty note is recognizable as an input field.
func TestTheNoteIsSeenAsAField(t *testing.T) {
	for _, c := range []struct {
		width       int
		typed, want string
		x           int
	}{
		{60, "", "▌ › ", 4}, {60, "use fd", "▌ › use fd", 10}, {10, "abcdefghijklm", "▌ › ijklm", 9},
	} {
		d := awake(asked(shell("ls"), theme.Plain()))
		press(t, d, "n", c.typed)
		if got := rows(t, d, c.width, 12)[1]; got != c.want {
			t.Errorf("%q in %d cells: the field is %q, want %q", c.typed, c.width, got, c.want)
		}
		if x, y, ok := d.Cursor(); x != c.x || y != 1 || !ok {
			t.Errorf("%q in %d cells: the cursor is at %d, %d, %v", c.typed, c.width, x, y, ok)
		}
	}
}

// A key without effect shows a hint with the working keys, until the next key.
func TestDeadKeysSayWhatWorks(t *testing.T) {
	for name, c := range map[string]struct {
		action *act.Action
		keys   []string
		want   string
	}{
		"a letter":                     {shell("ls"), []string{"x"}, "Press y, n, a, p, e, ctrl+o or esc · text goes to the i"},
		"network without a sandbox":    {shell("ls"), []string{"w"}, "Press y, n, a, p, e, ctrl+o or esc"},
		"until the next key":           {shell("ls"), []string{"x", "up"}, "enter choose   esc deny   ctrl+o details"},
		"for the session, and network": {boxed("ls"), []string{"w", "a"}, "Network is allowed once only: y, n, w, ctrl+o or esc"},
		"always, and network":          {boxed("ls"), []string{"w", "p"}, "Network is allowed once only: y, n, w, ctrl+o or esc"},
		"a letter, and network":        {boxed("ls"), []string{"w", "x"}, "Press y, n, w, ctrl+o or esc"},
		"network off again":            {boxed("ls"), []string{"w", "p", "w", "x"}, "Press y, n, a, p, e, w, ctrl+o or esc"},
	} {
		t.Run(name, func(t *testing.T) {
			d, clock := asked(c.action, theme.Plain())
			awake(d, clock)
			for _, key := range c.keys {
				if got := press(t, d, key); (got != nil) != (key == "x") {
					t.Errorf("%s says %#v", key, got)
				}
				lines := rows(t, d, 60, 12)
				if last := lines[len(lines)-1]; key == c.keys[len(c.keys)-1] && !strings.HasPrefix(last, "  "+c.want) {
					t.Errorf("the foot is %q, want %q", last, c.want)
				}
				d.Drawn(clock.now())
				clock.pass(400)
			}
		})
	}
}

// Each rule must be visible before enter stores it.
func TestAlwaysSleepsUntilTheRuleWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, clock := asked(shell("git log -3"), theme.Plain())
		d.View()
		settled := d.Drawn(clock.now())
		clock.pass(400)
		d.Update(settled())
		if got := press(t, d, "p", "enter"); got != nil {
			t.Errorf("at once: %#v", got)
		}
		d.View()
		if d.Drawn(clock.now()) == nil {
			t.Error("nothing will paint the keys when they wake up")
		}
		clock.pass(299)
		if got := press(t, d, "enter"); got != nil {
			t.Errorf("after 299 ms: %#v", got)
		}
		clock.pass(1)
		press(t, d, "left")
		clock.pass(10_000)
		if got := press(t, d, "enter"); got != nil {
			t.Errorf("a rule that was never painted: %#v", got)
		}
		d.View()
		d.Drawn(clock.now())
		clock.pass(300)
		if got := press(t, d, "enter"); got != allow(act.Approval{Always: true, PrefixWords: 3}) {
			t.Errorf("300 ms after it was: %#v", got)
		}
	})
}

// Enter at the end of a sentence whose first letter opened the page of the rule stores no rule.
func TestTypingStoresNoRule(t *testing.T) {
	d, clock := asked(shell("touch a"), theme.Plain())
	awake(d, clock)
	press(t, d, "p")
	d.View()
	d.Drawn(clock.now())
	for _, letter := range "lease do not" {
		clock.pass(80)
		press(t, d, string(letter))
	}
	clock.pass(399)
	if got := press(t, d, "enter"); got != nil {
		t.Errorf("399 ms later: %#v", got)
	}
	clock.pass(1)
	if got := press(t, d, "enter"); got != allow(act.Approval{Always: true}) {
		t.Errorf("400 ms later: %#v", got)
	}
}

// An approval with the network must be visible before it can be given.
func TestNetworkIsSeenFirst(t *testing.T) {
	d, clock := asked(boxed("ls"), theme.Plain())
	awake(d, clock)
	if press(t, d, "w", "y") == allow(act.Approval{Network: true}) {
		t.Error("allowed at once")
	}
	if view := strings.Join(rows(t, d, 60, 12), "\n"); !strings.Contains(view, "online") {
		t.Errorf("the network is on in\n%s", view)
	}
}

// Scroll keys belong to a question that is longer than its window, or in which
// the user types.
func TestQuestionsScroll(t *testing.T) {
	long := shell(strings.Repeat("ls\n", 40))
	for name, c := range map[string]struct {
		action *act.Action
		keys   []string
		want   bool
	}{
		"short":        {shell("ls"), nil, false},
		"long":         {long, nil, true},
		"noting":       {shell("ls"), []string{"n"}, false},
		"writing":      {shell("ls"), []string{"e"}, true},
		"a short rule": {shell("ls"), []string{"p"}, false},
	} {
		d, clock := asked(c.action, theme.Plain())
		awake(d, clock)
		press(t, d, c.keys...)
		rows(t, d, 60, 12)
		if d.Scrolls() != c.want {
			t.Errorf("%s: %v, want %v", name, d.Scrolls(), c.want)
		}
	}
	for text, want := range map[string]bool{"Really?": false, strings.Repeat("more\n", 40): true} {
		c := dialog.Confirm(text, "yes", "no", theme.Plain())
		if rows(t, c, 60, 12); c.Scrolls() != want {
			t.Errorf("%.10q: %v, want %v", text, c.Scrolls(), want)
		}
	}
}

// If the first key opens details, the next key does not go to the composer.
func TestDetailsFirst(t *testing.T) {
	d, clock := asked(shell("ls"), theme.Plain())
	rows(t, d, 60, 12)
	d.Drawn(clock.now())
	clock.pass(3000)
	press(t, d, "ctrl+o")
	if got := press(t, d, "y"); got != nil {
		t.Errorf("behind the details, at once: %#v", got)
	}
	rows(t, d, 60, 12)
	d.Drawn(clock.now())
	clock.pass(400)
	if got := press(t, d, "y"); got != allow(act.Approval{}) {
		t.Errorf("behind the details, seen: %#v", got)
	}
}

// If the answers are a row, up and down select in it, so that enter takes the selected one. If the text
// scrolls, they scroll it.
func TestArrowsInTheRow(t *testing.T) {
	d, clock := asked(shell("ls"), theme.Plain())
	paint := func(h int) string {
		view := strings.Join(rows(t, d, 60, h), "\n")
		d.Drawn(clock.now())
		clock.pass(500)
		return view
	}
	paint(5)
	press(t, d, "down")
	if view := paint(5); !strings.Contains(view, "› n deny") {
		t.Errorf("down selects\n%s", view)
	}
	press(t, d, "up")
	if view := paint(5); !strings.Contains(view, "› y once") {
		t.Errorf("up selects\n%s", view)
	}
	long, clock2 := asked(shell("true"+strings.Repeat("\necho", 9)), theme.Plain())
	rows(t, long, 60, 6)
	long.Drawn(clock2.now())
	clock2.pass(500)
	press(t, long, "down")
	if view := strings.Join(rows(t, long, 60, 6), "\n"); strings.Contains(view, "› n") {
		t.Errorf("down scrolls\n%s", view)
	}
}
