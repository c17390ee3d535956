// testdata holds the expected screens. go test ./ui/tui/composer -update rewrites them.
// Read the diff.

package composer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
	"parley/ui/tui/composer"
	"parley/ui/tui/composer/vim"
	"parley/ui/uitest"
)

func init() { vim.Register() }

// play sends keys by name to a composer. Text that is not a key name is typed,
// text after "paste:" is pasted, and "clear" calls Clear. A second passes
// between two of them.
func play(t testing.TB, m *composer.Model, keys ...string) (sent []string) {
	t.Helper()
	now := m.Now()
	m.Now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	deliver := func(msg tea.Msg) {
		sent = append(sent, results(t, m, m.Update(msg))...)
		for _, prompt := range m.TakeSubmitted() {
			if prompt.Shell {
				prompt.Text = "shell: " + prompt.Text
			}
			sent = append(sent, prompt.Text)
		}
	}
	for _, key := range keys {
		if key == "clear" {
			m.Clear()
			continue
		}
		if text, ok := strings.CutPrefix(key, "paste:"); ok {
			deliver(tea.PasteMsg{Content: text})
			continue
		}
		if k, err := uitest.Key(key); err == nil {
			deliver(k)
			continue
		}
		for _, r := range key {
			deliver(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return sent
}

// results runs a command and the commands that follow from it, and returns the
// messages for the parent.
func results(t testing.TB, m *composer.Model, cmd tea.Cmd) (heard []string) {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, cmd := range msg {
			heard = append(heard, results(t, m, cmd)...)
		}
	case composer.CompletedMsg:
		return results(t, m, m.Update(msg))
	case composer.UnqueueMsg:
		return []string{fmt.Sprintf("unqueue %d %s, edit %v", msg.Index, msg.Text, msg.Edit)}
	case composer.TooLongMsg:
		return []string{fmt.Sprintf("too long: %d", msg.Bytes)}
	default:
		t.Fatalf("unexpected %#v", msg)
	}
	return heard
}

// screen returns the view with a bar as the cursor.
func screen(m *composer.Model) string {
	lines := strings.Split(ansi.Strip(m.View()), "\n")
	x, y, ok := m.Cursor()
	if ok {
		line := lines[y] + strings.Repeat(" ", max(x-ansi.StringWidth(lines[y]), 0))
		lines[y] = ansi.Truncate(line, x, "") + "|" + ansi.TruncateLeft(line, x, "")
	}
	return strings.Join(lines, "\n")
}

func TestKeys(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want string
	}{
		"types":                         {[]string{"hello"}, "hello|"},
		"left and right":                {[]string{"abc", "left", "left", "x", "right", "y"}, "axby|c"},
		"ctrl+b and ctrl+f":             {[]string{"abc", "ctrl+b", "ctrl+b", "ctrl+f", "x"}, "abx|c"},
		"home and end of the line":      {[]string{"one", "ctrl+j", "two", "ctrl+a", "x", "ctrl+e", "y"}, "one\nxtwoy|"},
		"start and end of the text":     {[]string{"one", "ctrl+j", "two", "alt+<", "x", "alt+>", "y"}, "xone\ntwoy|"},
		"words":                         {[]string{"one, two", "alt+b", "x", "alt+b", "alt+b", "y", "alt+f", "z"}, "yonez|, xtwo"},
		"words by ctrl+arrow":           {[]string{"one two", "ctrl+left", "ctrl+left", "ctrl+right", "x"}, "onex| two"},
		"backspace":                     {[]string{"abc", "backspace", "ctrl+h"}, "a|"},
		"backspace at the start":        {[]string{"ab", "home", "backspace"}, "|ab"},
		"delete":                        {[]string{"abc", "home", "delete", "ctrl+d"}, "|c"},
		"delete joins lines":            {[]string{"a", "ctrl+j", "b", "up", "end", "delete"}, "a|b"},
		"kill to the end and yank":      {[]string{"one two", "alt+b", "ctrl+k", "ctrl+a", "ctrl+y"}, "two|one "},
		"kill to the start and yank":    {[]string{"one two", "alt+b", "ctrl+u", "ctrl+e", "ctrl+y"}, "twoone |"},
		"kill at the end of a line":     {[]string{"a", "ctrl+j", "b", "up", "end", "ctrl+k"}, "a|b"},
		"kills in a row add up":         {[]string{"one two three", "ctrl+w", "ctrl+w", "ctrl+y", "ctrl+y"}, "one two threetwo \nthree|"},
		"kills apart do not":            {[]string{"one two", "ctrl+w", "left", "ctrl+w", "ctrl+y"}, "one| "},
		"kill word right":               {[]string{"one, two", "home", "alt+d", "alt+d", "ctrl+y"}, "one, two|"},
		"kill word left stops at signs": {[]string{"ls /usr/bin", "alt+backspace"}, "ls /usr/|"},
		"kill field does not":           {[]string{"ls /usr/bin", "ctrl+w"}, "ls |"},
		"yank-pop":                      {[]string{"one two three", "ctrl+w", "left", "ctrl+w", "ctrl+y", "alt+y"}, "one three| "},
		"yank-pop goes round":           {[]string{"a b", "ctrl+w", "left", "ctrl+w", "ctrl+y", "alt+y", "alt+y"}, "a| "},
		"yank-pop needs a yank":         {[]string{"a b", "ctrl+w", "left", "right", "alt+y"}, "a |"},
		"upper, lower, capital":         {[]string{"ab cd ef", "ctrl+j", "GH", "alt+<", "alt+u", "alt+c", "alt+l", "alt+l"}, "AB Cd ef\ngh|"},
		"upper without a word":          {[]string{"a ,", "left", "alt+u"}, "a ,|"},
		"redo":                          {[]string{"one two", "ctrl+_", "ctrl+_", "alt+/", "alt+/"}, "one two|"},
		"nothing to redo after typing":  {[]string{"one", "ctrl+_", "x", "alt+/"}, "x|"},
		"undo takes words back":         {[]string{"one two", "ctrl+_", "ctrl+_"}, "one|"},
		"undo of a kill":                {[]string{"one two", "ctrl+u", "ctrl+_"}, "one two|"},
		"a yank leaves the kill alone":  {[]string{"e", "ctrl+u", "\u0301", "home", "ctrl+y", "end", " ", "ctrl+y"}, "e\u0301 e|"},
		"undo on nothing":               {[]string{"ctrl+_"}, "|"},
		"new lines":                     {[]string{"a", "ctrl+j", "b", "alt+enter", "c", "shift+enter"}, "a\nb\nc\n|"},
		"backslash and enter":           {[]string{`a\`, "enter", "b"}, "a\nb|"},
		"a flag is one":                 {[]string{"🇩🇪🇫🇷", "backspace", "left", "x"}, "x|🇩🇪"},
		"flags pair anew":               {[]string{"🇩🇪", "home", "🇫", "end", "backspace"}, "🇫🇩|"},
		"a family is one":               {[]string{"a👨‍👩‍👧‍👦b", "left", "left", "x", "right", "backspace"}, "ax|b"},
		"a mark joins its letter":       {[]string{"a", "\u0301", "b", "left", "left"}, "|a\u0301b"},
		"up and down by rows":           {[]string{"aaaa bbbb cccc dddd eeee", "up", "x"}, "aaaa bbbbx| cccc \ndddd eeee"},
		"up keeps the column":           {[]string{"12345", "ctrl+j", "1", "ctrl+j", "12345", "up", "up", "x"}, "12345x|\n1\n12345"},
		"wide characters":               {[]string{"日本語日本語日本語", "up", "up", "x"}, "日x|本語日本語日本\n語"},
		"long words break":              {[]string{"abcdefghijklmnopqrstuvwxyz"}, "abcdefghijklmnopq\nrstuvwxyz|"},
		"spaces hang":                   {[]string{"aaaa bbbb cccc ddd       "}, "aaaa bbbb cccc \nddd       |"},
		"tab is for others":             {[]string{"a", "tab", "shift+tab", "f2", "ctrl+t", "pgup"}, "a|"},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetSize(18, 5)
			play(t, m, c.keys...)
			if got := screen(m); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestSubmit(t *testing.T) {
	large := strings.Repeat("line\n", 41) + "line"
	for name, c := range map[string]struct {
		keys []string
		want []string // sent prompts
		left string   // remaining text
	}{
		"sends and empties":           {[]string{"hi", "enter"}, []string{"hi"}, ""},
		"nothing to send":             {[]string{"enter", "  ", "enter"}, nil, "  "},
		"keeps white space":           {[]string{" a ", "enter"}, []string{" a "}, ""},
		"a paste never submits":       {[]string{"paste:a\r\nb\r"}, nil, "a\nb\n"},
		"escapes stay text":           {[]string{"paste:a\x1b[201~rm -rf /\r", "enter"}, []string{"a[201~rm -rf /\n"}, ""},
		"control characters go":       {[]string{"paste:a\x00\tb\u009bc\x7f\xff", "enter"}, []string{"a\tbc\uFFFD"}, ""},
		"a large paste is whole":      {[]string{"see ", "paste:" + large, "!", "enter"}, []string{"see " + large + "!"}, ""},
		"a large paste goes at once":  {[]string{"see ", "paste:" + large, "backspace"}, nil, "see "},
		"a chip is stepped over":      {[]string{"paste:" + large, "left", "a", "right", "b", "enter"}, []string{"a" + large + "b"}, ""},
		"a chip can be yanked":        {[]string{"paste:" + large, "ctrl+u", "x", "ctrl+y", "enter"}, []string{"x" + large}, ""},
		"an empty paste":              {[]string{"paste:"}, nil, ""},
		"backslash needs to be last":  {[]string{`a\ b`, "enter"}, []string{`a\ b`}, ""},
		"a line for the shell":        {[]string{"!ls -l", "enter"}, []string{"shell: ls -l"}, ""},
		"a space makes it a prompt":   {[]string{" !ls", "enter"}, []string{" !ls"}, ""},
		"nothing for the shell":       {[]string{"! ", "enter"}, nil, "! "},
		"a paste in a chip is none":   {[]string{"paste:!" + large, "enter"}, []string{"!" + large}, ""},
		"tab opens a chip":            {[]string{"see ", "paste:" + large, "tab", "backspace", "enter"}, []string{"see " + large[:len(large)-1]}, ""},
		"and undo folds it":           {[]string{"see ", "paste:" + large, "tab", "ctrl+_", "backspace"}, nil, "see "},
		"tab opens it from before":    {[]string{"paste:" + large, "home", "tab", "backspace"}, nil, large[:len(large)-1]},
		"but nothing without end":     {[]string{"paste:" + strings.Repeat("x", 65<<10), "tab", "backspace"}, []string{"too long: 66560"}, ""},
		"backslash before the cursor": {[]string{`a\b`, "left", "enter"}, nil, "a\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetSize(18, 5)
			sent := play(t, m, c.keys...)
			if strings.Join(sent, "|") != strings.Join(c.want, "|") || len(sent) != len(c.want) {
				t.Errorf("sent %q, want %q", sent, c.want)
			}
			if got := m.Value(); got != c.left {
				t.Errorf("left is %q, want %q", got, c.left)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want string
	}{
		"up walks back":               {[]string{"up", "up"}, "second|"},
		"and stops at the oldest":     {[]string{"up", "up", "up", "up"}, "first|"},
		"down comes back":             {[]string{"draft", "up", "up", "down", "down"}, "draft|"},
		"the draft keeps its cursor":  {[]string{"draft", "left", "up", "down"}, "draf|t"},
		"down on the draft":           {[]string{"draft", "down"}, "draft|"},
		"edits stay":                  {[]string{"up", "up", "X", "up", "down"}, "secondX|"},
		"up within the text first":    {[]string{"a", "ctrl+j", "b", "up"}, "a|\nb"},
		"sent prompts are remembered": {[]string{"fourth", "enter", "up"}, "fourth|"},
		"but once":                    {[]string{"third", "enter", "third", "enter", "up", "up"}, "second|"},
		"search":                      {[]string{"ctrl+r", "ir"}, "history: ir|\nthird"},
		"search further":              {[]string{"ctrl+r", "ir", "ctrl+r"}, "history: ir|\nfirst"},
		"search without end":          {[]string{"ctrl+r", "ir", "ctrl+r", "ctrl+r"}, "No earlier match: ir|\nfirst"},
		"search nothing":              {[]string{"draft", "ctrl+r"}, "history: |\ndraft"},
		"search back to nothing":      {[]string{"draft", "ctrl+r", "f", "backspace"}, "history: |\ndraft"},
		"search with capitals":        {[]string{"ctrl+r", "FI"}, "Not in history: FI|\n"},
		"enter takes":                 {[]string{"ctrl+r", "fi", "enter", "x"}, "firstx|"},
		"a movement takes":            {[]string{"ctrl+r", "fi", "ctrl+a", "x"}, "x|first"},
		"esc leaves":                  {[]string{"draft", "ctrl+r", "fi", "esc"}, "draft|"},
		"undo brings the draft back":  {[]string{"draft", "ctrl+r", "fi", "enter", "ctrl+_"}, "draft|"},
		"search walks":                {[]string{"draft", "ctrl+r", "sec", "enter", "up"}, "first|"},
		"and comes back":              {[]string{"draft", "ctrl+r", "sec", "enter", "down", "down"}, "draft|"},
		"two quick esc leave":         {[]string{"draft", "ctrl+r", "fi", "alt+esc"}, "draft|"},
		"a paste takes":               {[]string{"ctrl+r", "fi", "paste:x"}, "firstx|"},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetSize(24, 5)
			for _, prompt := range []string{"first", "second", " ", "third"} {
				m.Recall.Remember(prompt)
			}
			play(t, m, c.keys...)
			if got := screen(m); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestClearCanBeTakenBack(t *testing.T) {
	large := strings.Repeat("line\n", 40)
	m := composer.New(theme.Plain())
	m.SetSize(40, 5)
	play(t, m, "see ", "paste:"+large)
	want := screen(m)
	m.Clear()
	if !m.Empty() {
		t.Fatalf("holds %q", m.Value())
	}
	play(t, m, "ctrl+_")
	if got := screen(m); got != want {
		t.Errorf("after undo\n%s\nwant\n%s", got, want)
	}
	m.Clear()
	play(t, m, "up")
	if got := m.Value(); got != "see "+large {
		t.Errorf("history gives %q", got)
	}
}

// A terminal ends a paste at the sequence that ends pastes, even inside of the
// pasted text. The text after it arrives as keys.
func TestPastesCannotSendThemselves(t *testing.T) {
	for name, c := range map[string]struct {
		paste string
		keys  string        // after the paste
		pause time.Duration // before each key and before the enter at the end
		want  string        // the sent prompt, or the remaining text with a mark
	}{
		"at once":            {"ls", "", 0, "left: ls\n"},
		"a moment later":     {"ls", "", 119 * time.Millisecond, "left: ls\n"},
		"by a person":        {"ls", "", 120 * time.Millisecond, "ls"},
		"with more text":     {"ls", " -l", time.Millisecond, "left: ls -l\n"},
		"with a lot of text": {"ls", strings.Repeat("x", 100), 10 * time.Millisecond, "left: ls" + strings.Repeat("x", 100) + "\n"},
		"with lines":         {"ls", "\n\n", time.Millisecond, "left: ls\n\n\n"},
		"nothing before it":  {"", "rm", time.Millisecond, "left: rm\n"},
		"typed behind it":    {"ls", " -l", 120 * time.Millisecond, "ls -l"},
		"behind a backslash": {`ls\`, "", 0, "left: ls\\\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			now := time.Unix(1e9, 0)
			m.Now = func() time.Time { return now }
			m.Update(tea.PasteMsg{Content: c.paste})
			for _, r := range c.keys + "\n" {
				now = now.Add(c.pause)
				key := tea.KeyPressMsg{Code: r, Text: string(r)}
				if r == '\n' {
					key = tea.KeyPressMsg{Code: tea.KeyEnter}
				}
				m.Update(key)
			}
			got := "left: " + m.Value()
			if sent := m.TakeSubmitted(); len(sent) > 0 {
				got = sent[0].Text
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A slow paste cannot submit itself either: the delay begins when the paste was handled, and is
// longer for a large one, which delays the next keys further.
func TestLargePastesCannotSendThemselves(t *testing.T) {
	m := composer.New(theme.Plain())
	now := time.Unix(1e9, 0)
	m.Now = func() time.Time { return now }
	large := strings.Repeat("ls\n", 10<<20/3+1)
	m.Update(tea.PasteMsg{Content: large})
	for _, pause := range []time.Duration{619 * time.Millisecond, 119 * time.Millisecond} {
		now = now.Add(pause)
		if m.Update(tea.KeyPressMsg{Code: tea.KeyEnter}); len(m.TakeSubmitted()) > 0 {
			t.Errorf("sent %s later", pause)
		}
	}
	now = now.Add(120 * time.Millisecond)
	if m.Update(tea.KeyPressMsg{Code: tea.KeyEnter}); len(m.TakeSubmitted()) != 1 {
		t.Error("a person cannot send it")
	}
}

// A draft set aside for an older prompt that was then sent or cleared can still be recalled.
func TestDraftsOutliveTheHistory(t *testing.T) {
	large := strings.Repeat("line\n", 40)
	for name, c := range map[string]struct {
		keys  []string
		draft string
	}{
		"sent":                 {[]string{"a", "ctrl+j", "b", "ctrl+j", "c", "ctrl+j", "d", "up", "up", "up", "up", "up", "enter"}, "a\nb\nc\nd"},
		"sent after a change":  {[]string{"draft", "up", "up", "!", "enter"}, "draft"},
		"sent from a search":   {[]string{"draft", "ctrl+r", "sec", "enter", "enter"}, "draft"},
		"search within a walk": {[]string{"draft", "up", "ctrl+r", "sec", "enter", "enter"}, "draft"},
		"with a paste":         {[]string{"see ", "paste:" + large, "home", "up", "up", "enter"}, "see " + large},
		"cleared":              {[]string{"draft", "up", "clear"}, "draft"},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetSize(40, 9)
			for _, prompt := range []string{"first", "second", "third"} {
				m.Recall.Remember(prompt)
			}
			play(t, m, c.keys...)
			latest := ""
			for range 3 { // the sent prompt, then the draft
				play(t, m, "alt+<", "up")
				if latest = m.Value(); latest == c.draft {
					return
				}
			}
			t.Errorf("the draft is not in the history; there is %q", latest)
		})
	}
}

func TestSetValue(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetSize(40, 5)
	play(t, m, "draft")
	m.SetValue("from the\r\neditor")
	m.Update(tea.KeyPressMsg{Code: '!', Text: "!"})
	if got, want := screen(m), "from the\neditor!|"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	play(t, m, "ctrl+_", "ctrl+_")
	if got, want := screen(m), "draft|"; got != want {
		t.Errorf("after undo\n%s\nwant\n%s", got, want)
	}
	m.Reset()
	play(t, m, "ctrl+_")
	if !m.Empty() {
		t.Errorf("undo after Reset brings %q back", m.Value())
	}
}

func TestWithoutFocus(t *testing.T) {
	m := composer.New(theme.Plain())
	m.Focus(false)
	if sent := play(t, m, "a", "paste:b", "enter"); len(sent) > 0 || !m.Empty() {
		t.Errorf("sent %q, holds %q", sent, m.Value())
	}
	if _, _, ok := m.Cursor(); ok {
		t.Error("shows a cursor")
	}
}

// Invisible characters must not be sent unseen, and no byte of a paste may reach
// the terminal as a control character.
func TestPastesAreShownAsTheyAre(t *testing.T) {
	for name, c := range map[string]struct{ paste, want string }{
		"escape":        {"a\x1b[2Jb", "a␛[2Jb|"},
		"bell":          {"a\x07b", "a␇b|"},
		"c1":            {"a\u009b31mb", "a<U+009B>31mb|"},
		"zero width":    {"a\u200bb", "a<U+200B>b|"},
		"joined":        {"a\u200db", "a<U+200D>b|"},
		"tags":          {"\U000E0069\U000E0067", "<U+E0069><U+E0067>|"},
		"tab":           {"a\tb", "a    b|"},
		"right to left": {"a\u202eb", "a<U+202E>b|"},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetSize(40, 5)
			play(t, m, "paste:"+c.paste)
			if got := screen(m); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// component shows a composer at the top of the window.
type component struct{ *composer.Model }

func (c component) View() string { return c.Model.View() }

func TestScreens(t *testing.T) {
	prose := strings.Repeat("the quick brown fox jumps over the lazy dog ", 8)
	states := map[string]func(*uitest.Driver, *composer.Model){
		"empty": func(d *uitest.Driver, m *composer.Model) {},
		"short": func(d *uitest.Driver, m *composer.Model) { d.Type("hello") },
		"long": func(d *uitest.Driver, m *composer.Model) {
			d.Paste(prose).Press("ctrl+j").Type("and 日本語のテキスト 👨‍👩‍👧‍👦.")
		},
		"scrolled": func(d *uitest.Driver, m *composer.Model) { d.Paste(strings.Repeat("a\n", 19)).Press("up", "up") },
		"chip": func(d *uitest.Driver, m *composer.Model) {
			d.Type("look at ").Paste(strings.Repeat("line\n", 42)).Type(" please")
		},
		"files":    func(d *uitest.Driver, m *composer.Model) { d.Type("compare @main.go with @ui/") },
		"narrowed": func(d *uitest.Driver, m *composer.Model) { d.Type("@main") },
		"commands": func(d *uitest.Driver, m *composer.Model) { d.Type("/mo").Press("down") },
		"queued": func(d *uitest.Driver, m *composer.Model) {
			m.Queue.SetQueue([]string{"then run the tests", "and if they pass\ncommit", "write a summary of what was done, for those who were not there", "stop"}, 0)
			d.Type("also this")
		},
		"queue": func(d *uitest.Driver, m *composer.Model) {
			m.Queue.SetQueue([]string{"then run the tests", "and if they pass\ncommit"}, 0)
			d.Press("up", "up")
		},
		"shell":     func(d *uitest.Driver, m *composer.Model) { d.Type("!git status --short") },
		"search":    func(d *uitest.Driver, m *composer.Model) { d.Press("ctrl+r").Type("fox") },
		"unfocused": func(d *uitest.Driver, m *composer.Model) { d.Type("draft"); m.Focus(false); d.Resize(50, 15) },
	}
	for _, size := range []struct {
		name string
		w, h int
	}{{"80x24", 80, 24}, {"50x15", 50, 15}} {
		for name, act := range states {
			t.Run(size.name+"/"+name, func(t *testing.T) {
				m := composer.New(theme.Dark())
				m.SetPlaceholder("Ask anything · / for commands · @ for files")
				m.Recall.Remember("what does the fox say?")
				m.SetCompleter(prefix)
				d := uitest.New(t, uitest.Standalone(component{m}), size.w, size.h/2)
				act(d, m)
				d.Golden(size.name + "/" + name)
			})
		}
	}
}
