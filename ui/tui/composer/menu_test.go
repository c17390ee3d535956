package composer_test

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/theme"
	"parley/ui/tui/composer"
	"parley/ui/uitest"
)

var workspace = []composer.Candidate{
	{Text: "main.go"}, {Text: "main_test.go"}, {Text: "ui", Directory: true}, {Text: "ui/composer", Directory: true},
	{Text: "ui/composer/keys.go"}, {Text: "a b.txt"}, {Text: `it's "it"`}, {Text: "my files", Directory: true}, {Text: "my files/x"},
}

var orders = []composer.Candidate{
	{Text: "model", Detail: "pick a model", Submit: true}, {Text: "mode", Detail: "approval mode: ask, auto, read-only"}, {Text: "quit", Submit: true},
}

// prefix returns completions that begin with the word.
func prefix(kind rune, word string) (found []composer.Candidate, more bool) {
	for _, c := range map[rune][]composer.Candidate{'@': workspace, '/': orders}[kind] {
		if strings.HasPrefix(c.Text, word) {
			found = append(found, c)
		}
	}
	return found, false
}

func TestCompletion(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want string // expected screen
		sent string
	}{
		"opens":                      {[]string{"see @mai"}, "› main.go\n  main_test.go\nsee @mai|", ""},
		"tab takes":                  {[]string{"see @mai", "tab"}, "see @main.go |", ""},
		"enter takes":                {[]string{"see @mai", "enter"}, "see @main.go |", ""},
		"and does not send":          {[]string{"@main_", "enter", "enter"}, "|", "@main_test.go "},
		"enter sends what is whole":  {[]string{"@main.go", "enter"}, "|", "@main.go"},
		"down chooses":               {[]string{"@mai", "down", "tab"}, "@main_test.go |", ""},
		"up goes round":              {[]string{"@mai", "up", "tab"}, "@main_test.go |", ""},
		"typing narrows":             {[]string{"@mai", "n_"}, "› main_test.go\n@main_|", ""},
		"backspace widens":           {[]string{"@main_", "backspace"}, "› main.go\n  main_test.go\n@main|", ""},
		"esc leaves":                 {[]string{"@mai", "esc", "n"}, "@main|", ""},
		"tab asks again":             {[]string{"@mai", "esc", "tab"}, "› main.go\n  main_test.go\n@mai|", ""},
		"no match":                   {[]string{"@mainz"}, "@mainz|", ""},
		"a space ends it":            {[]string{"@mai "}, "@mai |", ""},
		"a movement ends it":         {[]string{"@mai", "left", "right"}, "@mai|", ""},
		"deleting the sign ends it":  {[]string{"@m", "backspace", "backspace", "m"}, "m|", ""},
		"a folder goes on":           {[]string{"@u", "tab", "tab"}, "  ui/composer/keys.go\n@ui/composer/|", ""},
		"enter sends a folder":       {[]string{"@ui/composer/", "enter"}, "|", "@ui/composer/"},
		"down chooses in it":         {[]string{"@ui/composer/", "down"}, "› ui/composer/keys.go\n@ui/composer/|", ""},
		"to its end":                 {[]string{"@u", "tab", "tab", "tab"}, "@ui/composer/keys.go |", ""},
		"spaces are quoted":          {[]string{"@a", "tab"}, `@"a b.txt" |`, ""},
		"so are quotes":              {[]string{"@it", "tab"}, `@'it's "it"' |`, ""},
		"a folder with spaces":       {[]string{"@my", "tab", "tab"}, `@"my files/x" |`, ""},
		"a quoted word":              {[]string{`@"a b`}, "› a b.txt\n@\"a b|", ""},
		"an escaped space":           {[]string{`@a\ b`}, "› a b.txt\n@a\\ b|", ""},
		"is taken in quotes":         {[]string{`@a\ b`, "tab"}, `@"a b.txt" |`, ""},
		"the closing quote ends it":  {[]string{`@"a b"`}, `@"a b"|`, ""},
		"a mail address is none":     {[]string{"me@mai"}, "me@mai|", ""},
		"behind a bracket":           {[]string{"(@ui/composer/"}, "  ui/composer/keys.go\n(@ui/composer/|", ""},
		"behind Chinese":             {[]string{"看@ui/composer/"}, "  ui/composer/keys.go\n看@ui/composer/|", ""},
		"in front of a word":         {[]string{"x", "home", "@"}, "@|x", ""},
		"one space is enough":        {[]string{" x", "home", "@mai", "tab"}, "@main.go| x", ""},
		"undo":                       {[]string{"@mai", "tab", "ctrl+_"}, "@mai|", ""},
		"a paste is none":            {[]string{"paste:@mai"}, "@mai|", ""},
		"nor what is typed after it": {[]string{"paste:@ma", "i"}, "@mai|", ""},
		"unless it is asked for":     {[]string{"paste:@main.", "tab"}, "› main.go\n@main.|", ""},
		"a paste into a word":        {[]string{"@", "paste:mai"}, "@mai|", ""},
		"commands":                   {[]string{"/mo"}, "› /model  pick a model\n  /mode   approval mode: ask, auto, rea…\n/mo|", ""},
		"enter runs one":             {[]string{"/mo", "enter"}, "|", "/model "},
		"tab only writes it":         {[]string{"/mo", "tab"}, "/model |", ""},
		"one with an argument":       {[]string{"/mo", "down", "enter"}, "/mode |", ""},
		"only in the first column":   {[]string{" /mo"}, " /mo|", ""},
		"only in the first line":     {[]string{"a", "ctrl+j", "/mo"}, "a\n/mo|", ""},
		"only the first word":        {[]string{"/mode /mo"}, "/mode /mo|", ""},
		"tab on nothing":             {[]string{"hello", "tab"}, "hello|", ""},
		"history is no typing":       {[]string{"@mai", "enter", "enter", "up"}, "@main.go |", "@main.go "},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetCompleter(prefix)
			m.SetSize(40, 12)
			sent := strings.Join(play(t, m, c.keys...), "|")
			if got := strings.TrimLeft(screen(m), "\n"); got != c.want { // a list does not shrink
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if sent != c.sent {
				t.Errorf("sent %q, want %q", sent, c.sent)
			}
		})
	}
}

// A key right after a paste accepts nothing and sends nothing.
func TestPastesTakeNoCompletion(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetCompleter(prefix)
	m.SetSize(40, 12)
	play(t, m, "x")
	pasted := m.Now()
	m.Now = func() time.Time { return pasted }
	m.Update(tea.PasteMsg{Content: " "})
	for _, r := range "@mai" {
		results(t, m, m.Update(tea.KeyPressMsg{Code: r, Text: string(r)}))
	}
	results(t, m, m.Update(tea.KeyPressMsg{Code: tea.KeyEnter}))
	if got, want := m.Value(), "x @mai\n"; got != want {
		t.Errorf("holds %q, want %q", got, want)
	}
}

// Answers may arrive at any time: only one request runs at a time, and answers
// for an earlier form of the word are ignored.
func TestLateAnswers(t *testing.T) {
	m := composer.New(theme.Plain())
	var asked []string
	m.SetCompleter(func(kind rune, word string) ([]composer.Candidate, bool) {
		asked = append(asked, word)
		return prefix(kind, word)
	})
	m.SetSize(40, 12)
	var pending []tea.Cmd
	press := func(keys ...string) {
		for _, name := range keys {
			key, err := uitest.Key(name)
			if err != nil {
				t.Fatal(err)
			}
			if cmd := m.Update(key); cmd != nil {
				pending = append(pending, cmd)
			}
		}
	}
	answer := func() {
		t.Helper()
		if len(pending) != 1 {
			t.Fatalf("%d questions at once, want 1", len(pending))
		}
		cmd := pending[0]
		pending = nil
		if cmd := m.Update(cmd()); cmd != nil {
			pending = append(pending, cmd)
		}
	}
	press("@", "m", "a")
	if got, want := screen(m), "@ma|"; got != want {
		t.Errorf("before the answer:\n%s", got)
	}
	answer()
	if got, want := screen(m), "@ma|"; got != want {
		t.Errorf("after the answer to another question:\n%s", got)
	}
	answer()
	if got, want := screen(m), "› main.go\n  main_test.go\n@ma|"; got != want {
		t.Errorf("after the answer:\n%s", got)
	}
	press("i", "n", "_", "tab")
	if got, want := screen(m), "› main.go\n  main_test.go\n@main_|"; got != want {
		t.Errorf("tab took what is not meant:\n%s", got)
	}
	answer() // to "mai"
	answer()
	if got, want := screen(m), "@main_test.go |"; got != want {
		t.Errorf("tab was forgotten:\n%s", got)
	}
	if got, want := strings.Join(asked, " "), " ma mai main_"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	press("@", "m")
	stale := pending
	m.Reset()
	for _, cmd := range stale {
		if cmd := m.Update(cmd()); cmd != nil {
			t.Error("an answer to nobody asks further")
		}
	}
	if got := screen(m); got != "|" {
		t.Errorf("an answer to nobody is shown:\n%s", got)
	}
}

// While files are still being found, the request is repeated, and the user's
// selection stays.
func TestMoreToCome(t *testing.T) {
	m := composer.New(theme.Plain())
	asked := 0
	m.SetCompleter(func(rune, string) ([]composer.Candidate, bool) {
		asked++
		all := []composer.Candidate{{Text: "nearer"}, {Text: "b"}, {Text: "a"}}
		return all[max(2-asked, 0):], asked < 2
	})
	m.SetSize(40, 12)
	again := m.Update(m.Update(tea.KeyPressMsg{Code: '@', Text: "@"})())
	if again == nil {
		t.Fatal("it is not asked again")
	}
	play(t, m, "down")
	if got, want := screen(m), "  b\n› a\n@|"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if more := m.Update(again()); more != nil {
		t.Error("it is asked without end")
	}
	if got, want := screen(m), "  nearer\n  b\n› a\n@|"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A shorter list keeps its rows, so that the conversation above it does not
// move with every key.
func TestListsDoNotShrink(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetCompleter(prefix)
	m.SetSize(40, 12)
	for _, c := range []struct {
		key  string
		rows int
	}{{"@", 9}, {"m", 9}, {"a", 9}, {"backspace", 9}, {"esc", 1}, {" ", 1}, {"@m", 9}, {"zzz", 1}, {"backspace", 1}} {
		play(t, m, c.key)
		if m.Height() != c.rows {
			t.Errorf("after %s: %d rows, want %d", c.key, m.Height(), c.rows)
		}
	}
}

func TestLongLists(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetCompleter(func(rune, string) (found []composer.Candidate, more bool) {
		for r := 'a'; r <= 'z'; r++ {
			found = append(found, composer.Candidate{Text: strings.Repeat(string(r), 3)})
		}
		return append(found, composer.Candidate{Text: "\x1b[2J"}, composer.Candidate{Text: "two\nlines"}, composer.Candidate{}), false
	})
	m.SetSize(20, 30)
	play(t, m, "@", "up")
	want := []string{"  sss", "  ttt", "  uuu", "  vvv", "  www", "  xxx", "  yyy", "› zzz", "@|"}
	if got := screen(m); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	if m.PromptRow() != 8 {
		t.Errorf("the sign is in row %d", m.PromptRow())
	}
	m.SetSize(20, 3)
	if got, want := screen(m), "  yyy\n› zzz\n@|"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	m.SetSize(20, 1)
	if got, want := screen(m), "@|"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestQueue(t *testing.T) {
	five := []string{"one", "two\nlines", "three", "four", "five"}
	for name, c := range map[string]struct {
		queue []string
		keys  []string
		want  string
		heard string
	}{
		"shown":             {five[:2], nil, "queued: one\nqueued: two …\n|", ""},
		"many":              {five, nil, "queued: one\nqueued: two …\nqueued: three\n2 more\n|", ""},
		"up chooses":        {five[:2], []string{"up"}, "queued: one\nqueued: two …  enter edit · del remove\n|", ""},
		"up goes further":   {five[:2], []string{"up", "up", "up"}, "queued: one  enter edit · del remove\nqueued: two …\n|", ""},
		"the list follows":  {five, []string{"up"}, "queued: three\nqueued: four\nqueued: five  enter edit · del remove\n2 more\n|", ""},
		"down leaves":       {five[:1], []string{"up", "down", "x"}, "queued: one\nx|", ""},
		"esc leaves":        {five[:1], []string{"up", "esc", "enter"}, "queued: one\n|", ""},
		"typing leaves":     {five[:1], []string{"up", "x"}, "queued: one\nx|", ""},
		"enter edits":       {five[:2], []string{"up", "enter"}, "queued: one\nqueued: two …\n|", "unqueue 1 two\nlines, edit true"},
		"right edits":       {five[:2], []string{"up", "up", "right"}, "queued: one\nqueued: two …\n|", "unqueue 0 one, edit true"},
		"delete drops":      {five[:1], []string{"up", "delete"}, "queued: one  enter edit · del remove\n|", "unqueue 0 one, edit false"},
		"backspace drops":   {five[:1], []string{"up", "backspace"}, "queued: one  enter edit · del remove\n|", "unqueue 0 one, edit false"},
		"not with a draft":  {five[:1], []string{"x", "up", "enter"}, "queued: one\n|", "past"},
		"without a queue":   {nil, []string{"up"}, "past|", ""},
		"hostile":           {[]string{"\x1b[2J\u202e\x07"}, nil, "queued: ␛[2J<U+202E>␇\n|", ""},
		"without its words": {[]string{"  \n\n  one"}, nil, "queued: one\n|", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetSize(60, 12)
			m.Recall.Remember("past")
			m.Queue.SetQueue(c.queue, 0)
			heard := strings.Join(play(t, m, c.keys...), "|")
			if got := screen(m); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if heard != c.heard {
				t.Errorf("heard %q, want %q", heard, c.heard)
			}
		})
	}
}

func TestQueueShowsWhatSteers(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetSize(60, 12)
	m.Queue.SetQueue([]string{"one", "two"}, 1)
	if got, want := screen(m), "next: one\nqueued: two\n|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestQueueChangesUnderTheCursor(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetSize(60, 12)
	m.Queue.SetQueue([]string{"one", "two"}, 0)
	play(t, m, "up")
	m.Queue.SetQueue([]string{"two"}, 0)
	if got, want := screen(m), "queued: two  enter edit · del remove\n|"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	m.Queue.SetQueue(nil, 0)
	if heard := play(t, m, "enter", "delete"); len(heard) > 0 || m.Height() != 1 {
		t.Errorf("heard %q, %d rows", heard, m.Height())
	}
}

func TestStash(t *testing.T) {
	large := strings.Repeat("line\n", 40)
	m := composer.New(theme.Plain())
	m.SetSize(40, 5)
	if m.Recall.Stash() || m.Recall.Unstash() || m.Recall.Stashed() != 0 {
		t.Error("there is something to stash in nothing")
	}
	play(t, m, "see ", "paste:"+large, "left")
	first := screen(m)
	if !m.Recall.Stash() || !m.Empty() || m.Recall.Stashed() != 1 {
		t.Errorf("after Stash: %q, %d stashed", m.Value(), m.Recall.Stashed())
	}
	play(t, m, "second")
	m.Recall.Unstash()
	if got := screen(m); got != first || m.Recall.Stashed() != 1 {
		t.Errorf("after Unstash: %d stashed\n%s\nwant\n%s", m.Recall.Stashed(), got, first)
	}
	m.Recall.Unstash()
	if got := screen(m); got != "second|" {
		t.Errorf("swapped back: %s", got)
	}
	m.Clear()
	for m.Recall.Unstash() {
		play(t, m, "enter")
	}
	for i := range 30 {
		play(t, m, string(rune('A'+i)))
		m.Recall.Stash()
	}
	if m.Recall.Stashed() > 20 {
		t.Errorf("%d drafts are kept", m.Recall.Stashed())
	}
	play(t, m, "ctrl+r", "A")
	if got := m.Value(); got != "A" {
		t.Errorf("the oldest is not in the history: %q", got)
	}
}

func TestClick(t *testing.T) {
	long := "aaaa bbbb cccc dddd eeee ffff gggg hhhh"
	for name, c := range map[string]struct {
		text string
		x, y int
		want string
	}{
		"a letter":          {"hello", 2, 0, "he|llo"},
		"behind the end":    {"hello", 15, 0, "hello|"},
		"left of it":        {"hello", -1, 0, "|hello"},
		"below":             {"hello", 2, 5, "hello|"},
		"above":             {"hello", 2, -1, "hello|"},
		"another row":       {long, 2, 1, "aaaa bbbb cccc \ndd|dd eeee ffff \ngggg hhhh"},
		"the end of a row":  {long, 17, 1, "aaaa bbbb cccc \ndddd eeee ffff| \ngggg hhhh"},
		"wide, left half":   {"日本語", 2, 0, "日|本語"},
		"wide, right half":  {"日本語", 3, 0, "日|本語"},
		"a family":          {"a👨‍👩‍👧‍👦b", 2, 0, "a|👨‍👩‍👧‍👦b"},
		"behind the family": {"a👨‍👩‍👧‍👦b", 3, 0, "a👨‍👩‍👧‍👦|b"},
		"a mark":            {"e\u0301x", 1, 0, "e\u0301|x"},
		"a tab":             {"\tx", 2, 0, "|    x"},
		"right to left":     {"שלום", 1, 0, "ש|לום"},
		"another line":      {"one\ntwo\nthree", 1, 2, "one\ntwo\nt|hree"},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetSize(18, 9)
			m.SetValue(c.text)
			m.Click(c.x, c.y)
			if got := screen(m); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestClickOnLists(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetCompleter(prefix)
	m.SetSize(40, 12)
	m.Queue.SetQueue([]string{"one", "two"}, 0)
	m.Click(0, 0)
	if heard := play(t, m, "enter"); len(heard) != 1 || heard[0] != "unqueue 0 one, edit true" {
		t.Errorf("heard %q", heard)
	}
	play(t, m, "@main")
	m.Click(3, 5) // an empty row of a list that became shorter
	m.Click(3, 9)
	if got := m.Value(); got != "@main_test.go " {
		t.Errorf("took %q", got)
	}
	m.Clear()
	m.Queue.SetQueue(nil, 0)
	play(t, m, "paste:"+strings.Repeat("line\n", 40))
	m.Click(3, 0)
	if got := screen(m); got != "|[pasted 40 lines]" {
		t.Errorf("one click:\n%s", got)
	}
	m.Click(3, 0)
	if got := m.Height(); got != 12 {
		t.Errorf("the chip is not open: %d rows", got)
	}
	m.Reset()
	m.Recall.Remember("some fox")
	play(t, m, "ctrl+r", "fox")
	m.Click(5, 1)
	if got := screen(m); got != "some |fox" {
		t.Errorf("a click in a search:\n%s", got)
	}
}

// Text is stored and edited in reading order, and the terminal's cursor is at the
// next character, where input methods draw.
func TestScriptsOfTheWorld(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want string
	}{
		"Hebrew":                   {[]string{"שלום", "left", "left", "x"}, "שלx|ום"},
		"backspace in Arabic":      {[]string{"مرحبا", "backspace"}, "مرحب|"},
		"both ways":                {[]string{"abc אבג def", "alt+b", "alt+b", "x"}, "abc x|אבג def"},
		"points are one character": {[]string{"שָׁ", "left"}, "|שָׁ"},
		"Thai":                     {[]string{"ที่นี่", "left", "x"}, "ที่x|นี่"},
		"Devanagari":               {[]string{"नमस्ते", "home", "right", "right", "x"}, "नमx|स्ते"},
		"Hangul from its parts":    {[]string{"\u1112", "\u1161", "\u11ab", "left"}, "|\u1112\u1161\u11ab"},
		"bidi controls are seen":   {[]string{"a", "\u202e", "b", "left", "x"}, "a<U+202E>x|b"},
		"isolates too":             {[]string{"\u2067", "x"}, "<U+2067>x|"},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetSize(40, 5)
			play(t, m, c.keys...)
			if got := screen(m); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// An input method types several characters at once.
func TestInputMethods(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetSize(40, 5)
	for _, text := range []string{"日本語", "e", "\u0301", "👩\u200d💻", "ที่"} {
		m.Update(tea.KeyPressMsg{Code: tea.KeyExtended, Text: text})
	}
	if got, want := m.Value(), "日本語e\u0301👩\u200d💻ที่"; got != want {
		t.Errorf("holds %q, want %q", got, want)
	}
	if x, y, ok := m.Cursor(); x != 10 || y != 0 || !ok {
		t.Errorf("the cursor is at %d, %d, %v", x, y, ok)
	}
	play(t, m, "backspace", "backspace", "backspace", "x")
	if got, want := screen(m), "日本語x|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSign(t *testing.T) {
	m := composer.New(theme.Plain())
	for _, c := range []struct {
		keys  []string
		shell bool
	}{
		{nil, false},
		{[]string{"!"}, true},
		{[]string{"ls", "home", "x", "backspace"}, true},
		{[]string{" "}, false},
		{[]string{"backspace"}, true},
		{[]string{"delete"}, false},
	} {
		play(t, m, c.keys...)
		if m.Shell() != c.shell {
			t.Errorf("%q: shell is %v", m.Value(), m.Shell())
		}
	}
}

func TestEscapes(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetCompleter(prefix)
	m.Queue.SetQueue([]string{"one"}, 0)
	m.SetSize(40, 12)
	for _, c := range []struct {
		keys []string
		want bool
	}{
		{nil, false}, {[]string{"up"}, true}, {[]string{"esc"}, false}, {[]string{"@m"}, true}, {[]string{"x"}, false},
		{[]string{"esc", "ctrl+r"}, true}, {[]string{"esc"}, false},
	} {
		play(t, m, c.keys...)
		if got := m.HandlesEsc(); got != c.want {
			t.Errorf("after %q: %v", c.keys, got)
		}
	}
	m.Clear()
	m.SetModal(true)
	for _, c := range []struct {
		key  string
		want bool
	}{{"x", true}, {"esc", false}, {"d", true}, {"esc", false}, {"v", true}, {"esc", false}} {
		play(t, m, c.key)
		if got := m.HandlesEsc(); got != c.want {
			t.Errorf("vim, after %s: %v", c.key, got)
		}
	}
}
