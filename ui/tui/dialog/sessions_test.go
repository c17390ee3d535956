package dialog_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

var (
	_ dialog.Dialog = (*dialog.SessionList)(nil)
	_ dialog.Dialog = (*dialog.Confirmation)(nil)
)

func conversations() []dialog.SessionRow {
	return []dialog.SessionRow{
		{ID: "1", Title: "Fix the race in the pump", Model: "openai/gpt-5.2", Age: "2 min", Cost: "$0.41", Directory: "~/src/parley", Preview: "and does it hold under -race?", Current: true},
		{ID: "2", Title: "Why is the sky blue", Model: "gemini/gemini-3-pro", Age: "3 h", Cost: "$0.01", Directory: "~", Preview: "and why is it red in the evening?"},
		{ID: "3", Title: "Release notes", Model: "zai/glm-5", Age: "2 d", Cost: "free", Directory: "~/src/parley", Preview: "shorter, please", Pinned: true},
		{ID: "4", Title: "Move the store to SQLite, with a lease for each conversation and full-text search", Model: "anthropic/claude-opus-5", Age: "4 d", Cost: "$12.80", Directory: "~/src/parley/session", Locked: "parley 4711 on lisa"},
		{ID: "5", Model: "demo/demo", Age: "5 w"},
	}
}

func sessions() *dialog.SessionList {
	return dialog.Sessions(conversations(), actions(says), theme.Plain())
}

// toPlainLines sends keys to a dialog and returns all of its messages.
func toPlainLines(t testing.TB, d dialog.Dialog, keys ...string) (all []tea.Msg) {
	t.Helper()
	for _, key := range keys {
		script := spy{Dialog: d}
		press(t, &script, key)
		all = append(all, script.said...)
	}
	return all
}

// spy records the messages of its dialog.
type spy struct {
	dialog.Dialog
	heard *[]tea.Msg
	said  []tea.Msg
}

func (s *spy) Update(msg tea.Msg) tea.Cmd {
	cmd := s.Dialog.Update(msg)
	s.said, *s.heard = append(append(s.said, *s.heard...), spoken(cmd)...), nil
	return nil
}

// spoken returns the messages of a command, in order if it is a batch.
func spoken(cmd tea.Cmd) (all []tea.Msg) {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, c := range batch {
			all = append(all, spoken(c)...)
		}
		return all
	}
	return []tea.Msg{msg}
}

func wanted(id string) tea.Msg { return preview{ID: id} }

// The list is 3 (pinned), 1 (current, selected), 2, 4 (held), 5.
func TestSessionsSay(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want []tea.Msg
	}{
		"the current one is selected":     {[]string{"enter"}, []tea.Msg{opened{ID: "1"}}},
		"down, and its preview":           {[]string{"down", "enter"}, []tea.Msg{wanted("2"), opened{ID: "2"}}},
		"a preview is wanted once":        {[]string{"end", "down", "f5", "enter"}, []tea.Msg{wanted("5"), opened{ID: "5"}}},
		"pinned ones stand first":         {[]string{"home", "enter"}, []tea.Msg{wanted("3"), opened{ID: "3"}}},
		"typing filters, and says so":     {[]string{"s", "k", "enter"}, []tea.Msg{filtered{Words: "s"}, wanted("3"), filtered{Words: "sk"}, wanted("2"), opened{ID: "2"}}},
		"words of a title and its model":  {[]string{"paste:gemini blue", "enter"}, []tea.Msg{filtered{Words: "gemini blue"}, wanted("2"), opened{ID: "2"}}},
		"a folder":                        {[]string{"paste:PARLEY/ses", "enter"}, []tea.Msg{filtered{Words: "PARLEY/ses"}, wanted("4"), opened{ID: "4"}}},
		"the first letters of words":      {[]string{"paste:wisb", "enter"}, []tea.Msg{filtered{Words: "wisb"}, wanted("2"), opened{ID: "2"}}},
		"a letter left out of a word":     {[]string{"paste:relase", "enter"}, []tea.Msg{filtered{Words: "relase"}, wanted("3"), opened{ID: "3"}}},
		"letters from anywhere are none":  {[]string{"paste:iepum", "enter"}, []tea.Msg{filtered{Words: "iepum"}}},
		"a space more is no other filter": {[]string{"paste:sky", "space"}, []tea.Msg{filtered{Words: "sky"}, wanted("2")}},
		"an emptied filter is said":       {[]string{"paste:sky", "ctrl+u", "enter"}, []tea.Msg{filtered{Words: "sky"}, wanted("2"), filtered{}, wanted("3"), opened{ID: "3"}}},
		"nothing there, nothing to do":    {[]string{"paste:zzz", "enter", "ctrl+f", "ctrl+e", "ctrl+t", "delete", "ctrl+_"}, []tea.Msg{filtered{Words: "zzz"}}},
		"fork":                            {[]string{"down", "down", "ctrl+f"}, []tea.Msg{wanted("2"), wanted("4"), forked{ID: "4"}}},
		"rename":                          {[]string{"ctrl+e", "ctrl+u", "Race", "enter", "enter"}, []tea.Msg{renamed{ID: "1", Title: "Race"}, opened{ID: "1"}}},
		"rename, and leave it":            {[]string{"ctrl+e", "x", "esc", "enter"}, []tea.Msg{opened{ID: "1"}}},
		"rename to nothing":               {[]string{"ctrl+e", "ctrl+u", "space", "enter"}, nil},
		"rename to the same":              {[]string{"ctrl+e", "enter"}, nil},
		"keys are letters in a title":     {[]string{"ctrl+e", "delete", "ctrl+t", "down", "!", "enter"}, []tea.Msg{renamed{ID: "1", Title: "Fix the race in the pump!"}}},
		"pin, and it is still selected":   {[]string{"ctrl+t", "ctrl+t", "enter"}, []tea.Msg{pinned{Value: "1", On: true}, pinned{Value: "1"}, opened{ID: "1"}}},
		"trash, and the next is selected": {[]string{"down", "delete", "enter"}, []tea.Msg{wanted("2"), trashed{ID: "2"}, wanted("4"), opened{ID: "4"}}},
		"trash the last":                  {[]string{"end", "alt+d", "enter"}, []tea.Msg{wanted("5"), trashed{ID: "5"}, wanted("4"), opened{ID: "4"}}},
		"trash is taken back":             {[]string{"down", "delete", "ctrl+_", "enter"}, []tea.Msg{wanted("2"), trashed{ID: "2"}, wanted("4"), restored{ID: "2"}, wanted("2"), opened{ID: "2"}}},
		"the last trashed comes back first": {[]string{"home", "delete", "end", "delete", "ctrl+_", "ctrl+_", "ctrl+_"}, []tea.Msg{
			wanted("3"), trashed{ID: "3"}, wanted("1"), wanted("5"), trashed{ID: "5"}, wanted("4"),
			restored{ID: "5"}, wanted("5"), restored{ID: "3"}, wanted("3")}},
		"not the open one":           {[]string{"delete"}, nil},
		"nor one open elsewhere":     {[]string{"down", "down", "delete"}, []tea.Msg{wanted("2"), wanted("4")}},
		"what was typed is not lost": {[]string{"paste:sky", "esc", "enter"}, []tea.Msg{filtered{Words: "sky"}, wanted("2"), dialog.Left{Typed: "sky"}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := sessions()
			l.SetSize(60, 20)
			if got := spoken(l.RequestPreview()); !reflect.DeepEqual(got, []tea.Msg{wanted("1")}) {
				t.Fatalf("at the start it says %#v", got)
			}
			if got := toPlainLines(t, l, c.keys...); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %#v\nwant %#v", got, c.want)
			}
			rows(t, l, 60, 20)
		})
	}
}

func screen(t testing.TB, d dialog.Dialog, width, height int) string {
	t.Helper()
	return strings.Join(rows(t, d, width, height), "\n")
}

// expect verifies that texts are on the screen, or are not if they begin with
// "not: ".
func expect(t *testing.T, d dialog.Dialog, width, height int, texts ...string) {
	t.Helper()
	shown := screen(t, d, width, height)
	for _, text := range texts {
		rest, absent := strings.CutPrefix(text, "not: ")
		if strings.Contains(shown, rest) == absent {
			t.Errorf("%q is missing, or there and should not be:\n%s", text, shown)
		}
	}
}

func TestSessionsShowWhatWasDone(t *testing.T) {
	l := sessions()
	expect(t, l, 80, 20, "* Release notes", "pump · current", "· open elsewhere", "untitled", "and does it hold")

	toPlainLines(t, l, "end", "delete")
	expect(t, l, 70, 20, "Deleted \"untitled\" · ctrl+_ undo", "not:   untitled")
	toPlainLines(t, l, "up")
	expect(t, l, 70, 20, "not: deleted", "ctrl+_ undo")
	toPlainLines(t, l, "ctrl+_")
	expect(t, l, 70, 20, "› untitled", "not: ctrl+_")

	toPlainLines(t, l, "up", "delete")
	expect(t, l, 70, 20, "Open elsewhere, cannot be deleted: parley 4711 on lisa")

	toPlainLines(t, l, "home", "ctrl+t", "ctrl+e", " 1.2")
	expect(t, l, 70, 20, "› Release notes 1.2", "cancel")
	if x, y, ok := l.Cursor(); !ok || x != len("› Release notes 1.2")-len("›")+1 || y != 0 {
		t.Errorf("the cursor is at %d, %d, %v", x, y, ok)
	}
	toPlainLines(t, l, "enter")
	expect(t, l, 70, 20, "› Release notes 1.2", "not: * ", "not: keep the title")
}

func TestSessionsFindMessages(t *testing.T) {
	l := sessions()
	l.SetMatches("sky", []dialog.FoundRow{{ID: "9", Title: "of words that nobody typed"}})
	l.SetMatches("", []dialog.FoundRow{{ID: "9", Title: "of words that nobody typed"}})
	expect(t, l, 90, 20, "not: nobody typed")

	toPlainLines(t, l, "paste:sky")
	l.SetMatches("sk", []dialog.FoundRow{{ID: "9", Title: "of words typed before"}})
	expect(t, l, 90, 20, "1 of 5", "not: typed before", "not: in messages")

	l.SetMatches("sky", []dialog.FoundRow{
		{ID: "2", Seq: 4, Title: "Why is the sky blue", Snippet: "the sky scatters blue light", Marks: [][2]int{{4, 7}}},
		{ID: "1", Seq: 7, Title: "Fix the race in the pump", Snippet: strings.Repeat("and on ", 20) + "to the SKY it went", Marks: [][2]int{{147, 150}}},
	})
	expect(t, l, 90, 20, "in messages · 2", "the sky scatters", "to the SKY it went")

	got := toPlainLines(t, l, "down", "down", "ctrl+e", "ctrl+t", "delete")
	want := []tea.Msg{preview{ID: "2", Seq: 4}, preview{ID: "1", Seq: 7}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
	l.SetPreview("1", []string{"around message seven"})
	expect(t, l, 90, 20, "around message seven")
	if got := toPlainLines(t, l, "enter"); !reflect.DeepEqual(got, []tea.Msg{opened{ID: "1", Seq: 7}}) {
		t.Errorf("got %#v", got)
	}

	l = sessions()
	toPlainLines(t, l, "paste:zebra")
	expect(t, l, 90, 20, "No title, folder or model matches")
	l.SetMatches("zebra", nil)
	expect(t, l, 90, 20, "Nothing found")
	l.SetMatches("zebra", []dialog.FoundRow{{ID: "2", Snippet: "a zebra", Seq: 3}})
	if got := spoken(l.RequestPreview()); !reflect.DeepEqual(got, []tea.Msg{preview{ID: "2", Seq: 3}}) {
		t.Errorf("got %#v", got)
	}
	expect(t, l, 90, 20, "1 in messages", "not: of 5")
	toPlainLines(t, l, "x")
	expect(t, l, 90, 20, "not: a zebra")
}

// Matching words are recognizable without colors.
func TestSessionsMarkWhatWasFound(t *testing.T) {
	sgr := theme.NewSGR(theme.Plain().Strong.Underline(true))
	bold, plain := sgr.On, sgr.Off
	for name, c := range map[string]struct {
		snippet string
		marks   [][2]int
		want    string
	}{
		"words":               {"a sky is a sky", [][2]int{{2, 5}, {11, 14}}, "a " + bold + "sky" + plain + " is a " + bold + "sky" + plain},
		"at the ends":         {"sky", [][2]int{{0, 3}}, bold + "sky" + plain},
		"none":                {"sky", nil, "sky"},
		"behind the end":      {"sky", [][2]int{{1, 99}, {99, 100}}, "s" + bold + "ky" + plain},
		"out of order":        {"abcd", [][2]int{{2, 3}, {0, 1}, {3, 1}, {-5, -1}}, "ab" + bold + "c" + plain + "d"},
		"hostile":             {"\x1b[2Jsky\x07", [][2]int{{4, 7}}, "␛[2J" + bold + "sky" + plain + "␇"},
		"in the middle of it": {"\x1b[2J", [][2]int{{1, 2}}, "␛" + bold + "[" + plain + "2J"},
	} {
		t.Run(name, func(t *testing.T) {
			l := sessions()
			toPlainLines(t, l, "paste:sky")
			l.SetMatches("sky", []dialog.FoundRow{{ID: "2", Title: "t", Snippet: c.snippet, Marks: c.marks}})
			l.SetSize(60, 12)
			if view := l.View(); !strings.Contains(view, "  "+c.want) {
				t.Errorf("%q does not show %q", view, c.want)
			}
		})
	}
}

func TestSessionsTakeNewRows(t *testing.T) {
	l := sessions()
	toPlainLines(t, l, "down") // 2
	l.SetRows(append([]dialog.SessionRow{{ID: "6", Title: "newest"}}, conversations()...))
	expect(t, l, 70, 20, "› Why is the sky blue", "newest")
	if got := spoken(l.RequestPreview()); got != nil {
		t.Errorf("the selection is the same, but it says %#v", got)
	}

	l.SetRows(conversations()[2:])
	if got := spoken(l.RequestPreview()); !reflect.DeepEqual(got, []tea.Msg{wanted("5")}) {
		t.Errorf("the selection was deleted; got %#v", got)
	}

	toPlainLines(t, l, "home", "ctrl+e", "x")
	l.SetRows(conversations()[:2]) // the conversation being renamed is gone
	if got := toPlainLines(t, l, "y"); !reflect.DeepEqual(got[:1], []tea.Msg{filtered{Words: "y"}}) {
		t.Errorf("got %#v", got)
	}
	l.SetRows(nil)
	expect(t, l, 70, 20, "No title, folder or model matches")
	toPlainLines(t, l, "backspace")
	expect(t, l, 70, 20, "conversations yet")

	l = sessions()
	toPlainLines(t, l, "ctrl+e", " twice")
	l.SetRows(conversations()) // the same rows again
	if got := toPlainLines(t, l, "enter"); !reflect.DeepEqual(got, []tea.Msg{renamed{ID: "1", Title: "Fix the race in the pump twice"}}) {
		t.Errorf("got %#v", got)
	}
}

// The rows may arrive after the list has opened.
func TestSessionsSelectAmongLateRows(t *testing.T) {
	others := conversations()[1:]
	for name, c := range map[string]struct {
		typed string
		rows  []dialog.SessionRow
		want  string
	}{
		"the current one":                {"", conversations(), "1"},
		"none is current":                {"", others, "3"},
		"a current one far down":         {"", append(many(200), dialog.SessionRow{ID: "here", Current: true}), "here"},
		"many, none current":             {"", many(200), "0"},
		"what was typed goes before":     {"paste:sky", conversations(), "2"},
		"the first of those that match":  {"paste:~", others, "3"},
		"the current one does not match": {"paste:gemini", conversations(), "2"},
	} {
		t.Run(name, func(t *testing.T) {
			l := dialog.Sessions(nil, actions(says), theme.Plain())
			toPlainLines(t, l, c.typed)
			rows(t, l, 60, 12)
			l.SetRows(c.rows)
			if got := spoken(l.RequestPreview()); !reflect.DeepEqual(got, []tea.Msg{wanted(c.want)}) {
				t.Errorf("got %#v, want %s selected", got, c.want)
			}
			expect(t, l, 60, 12, "› ")
		})
	}
}

func TestSessionsPreview(t *testing.T) {
	l := sessions()
	l.SetPreview("2", []string{"of another one"})
	expect(t, l, 120, 20, "not: another one", "│ and does it hold", "│ ~/src/parley · openai/gpt-5.2 · $0.41")
	l.SetPreview("1", []string{"you: \x1b[31mis it red?", "gpt: no\n\n1. it is\r\n2. blue"})
	expect(t, l, 120, 20, "│ you: ␛[31mis it red?", "│ gpt: no", "│ 1. it is", "│ 2. blue", "not: ␊", "not: ␍")
	toPlainLines(t, l, "down")
	expect(t, l, 120, 20, "not: gpt: no", "│ and why is it red")
	expect(t, l, 99, 20, "not: │", "── ~ · gemini/gemini-3-pro · $0.01 ─")
	toPlainLines(t, l, "down")
	expect(t, l, 99, 20, "Open elsewhere: parley 4711 on lisa")
	expect(t, l, 99, 8, "not: parley 4711")
}

func many(n int) []dialog.SessionRow {
	var rows []dialog.SessionRow
	for i := range n {
		rows = append(rows, dialog.SessionRow{
			ID: fmt.Sprint(i), Title: fmt.Sprintf("Conversation %d about the things of day %d", i, i%365), Model: fmt.Sprintf("provider-%d/model-%d", i%40, i%7),
			Age: fmt.Sprintf("%d d", i/10), Cost: "$0.12", Directory: "~/src/project", Preview: strings.Repeat("words ", 20),
		})
	}
	return rows
}

// The window is as high as its list, if that fits.
func TestSessionsHeight(t *testing.T) {
	for _, c := range []struct{ rows, width, height, want int }{
		{0, 80, 40, 19}, {5, 80, 40, 19}, {5, 80, 14, 14}, {20, 80, 40, 29}, {20, 120, 40, 25}, {5, 120, 40, 19}, {200, 80, 40, 40}, {200, 80, 5, 5}, {5, 80, 0, 0},
	} {
		l := dialog.Sessions(many(c.rows), actions(says), theme.Plain())
		l.SetSize(c.width, c.height)
		before := l.Height()
		toPlainLines(t, l, "zzz")
		if before != c.want || l.Height() != before {
			t.Errorf("%d conversations in %d by %d take %d rows, and %d while one types; want %d", c.rows, c.width, c.height, before, l.Height(), c.want)
		}
	}
}

// The cost of a frame depends on the visible rows, not on the number of rows.
func TestSessionsDrawWhatIsInSight(t *testing.T) {
	frame := func(n int) float64 {
		l := dialog.Sessions(many(n), actions(says), theme.Dark())
		l.SetSize(120, 30)
		end := []tea.KeyPressMsg{{Code: tea.KeyEnd}, {Code: tea.KeyHome}}
		turn := 0
		return testing.AllocsPerRun(20, func() {
			l.Update(end[turn%2])
			l.View()
			turn++
		})
	}
	few, lots := frame(50), frame(2000)
	if lots > few*1.05 {
		t.Errorf("a frame of 2000 rows takes %v allocations, one of 50 takes %v", lots, few)
	}
	all, dark := many(2000), theme.Dark()
	if n := testing.AllocsPerRun(5, func() { dialog.Sessions(all, actions(says), dark) }); n > 100 {
		t.Errorf("to open 2000 rows takes %v allocations", n)
	}
	l := dialog.Sessions(all, actions(says), theme.Dark())
	l.View()
	if n := testing.AllocsPerRun(20, func() { l.View() }); n != 0 {
		t.Errorf("a frame in which nothing changed takes %v allocations", n)
	}
}

func BenchmarkSessionsOpen(b *testing.B) {
	all, th := many(2000), theme.Dark()
	b.ReportAllocs()
	for b.Loop() {
		l := dialog.Sessions(all, actions(says), th)
		l.SetSize(120, 40)
		l.View()
	}
}

func BenchmarkSessionsFilter(b *testing.B) {
	l := dialog.Sessions(many(2000), actions(says), theme.Dark())
	l.SetSize(120, 40)
	b.ReportAllocs()
	for b.Loop() { // four keys with a frame each, and back
		for _, key := range []string{"c", "7", "d", "x", "ctrl+u"} {
			press(b, l, key)
			l.View()
		}
	}
}
