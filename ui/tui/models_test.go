package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/ui/app"
	"parley/ui/uitest"
)

// catalogued returns models of a few providers.
func catalogued() []app.ModelChoice {
	all := "tools vision thinking"
	return []app.ModelChoice{
		{Name: "fake/one", Abilities: all, Window: "100K", Ready: true}, {Name: "fake/two", Abilities: "tools", Ready: true},
		{Name: "fake/old", Ready: true, Retired: true}, {Name: "gate/maker/audio-1", Ready: true}, {Name: "gate/maker/chat-1", Title: "Chatty One", Ready: true},
		{Name: "openai/gpt-x", Why: "set OPENAI_API_KEY"},
	}
}

// order returns the models on the screen, from top to bottom.
func (s *stage) order() string {
	var names []string
	rows := strings.Split(s.Screen(), "\n")
	list := max(slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "Model ") }), 0) // below the first screen
	for _, line := range rows[list : len(rows)-1] {
		for _, c := range catalogued() {
			if line = strings.TrimPrefix(strings.TrimSpace(line), "› "); strings.HasPrefix(line, c.Name) || strings.HasPrefix(line, "* "+c.Name) {
				names = append(names, strings.TrimSuffix(strings.Fields(strings.TrimPrefix(line, "* "))[0], "·"))
			}
		}
	}
	return strings.Join(names, " ")
}

func TestModelOrder(t *testing.T) {
	t.Parallel()
	const usual = "fake/one fake/two gate/maker/audio-1 gate/maker/chat-1 openai/gpt-x"
	for name, c := range map[string]struct {
		change func(*Options)
		keys   []string
		want   string
	}{
		"as they come":                {func(o *Options) {}, nil, usual},
		"recent ones first":           {func(o *Options) { o.App.Models.Recent = []string{"openai/gpt-x"} }, nil, "fake/one openai/gpt-x fake/two gate/maker/audio-1 gate/maker/chat-1"},
		"favourites before them":      {func(o *Options) { o.Config.Favorites = []string{"gate/*chat*", "fake/two"} }, nil, "gate/maker/chat-1 fake/two fake/one gate/maker/audio-1 openai/gpt-x"},
		"hidden by a pattern":         {func(o *Options) { o.Config.Hidden = []string{"*-1"} }, nil, "fake/one fake/two openai/gpt-x"},
		"what is in use is not":       {func(o *Options) { o.Config.Hidden = []string{"fake/*"} }, nil, "fake/one gate/maker/audio-1 gate/maker/chat-1 openai/gpt-x"},
		"shown again by a key":        {func(o *Options) { o.Config.Hidden = []string{"*audio*"} }, []string{"ctrl+o"}, "fake/one fake/two fake/old gate/maker/audio-1 gate/maker/chat-1 openai/gpt-x"},
		"a key makes a favourite":     {func(o *Options) {}, []string{"end", "ctrl+t"}, "openai/gpt-x fake/one fake/two gate/maker/audio-1 gate/maker/chat-1"},
		"and takes one back":          {func(o *Options) { o.Config.Favorites = []string{"fake/two"} }, []string{"home", "ctrl+t"}, usual},
		"a key hides":                 {func(o *Options) {}, []string{"down", "delete"}, "fake/one gate/maker/audio-1 gate/maker/chat-1 openai/gpt-x"},
		"and takes that back":         {func(o *Options) { o.Config.Hidden = []string{"*two"} }, []string{"ctrl+o", "down", "delete", "ctrl+o"}, usual},
		"what is typed is not hidden": {func(o *Options) { o.Config.Hidden = []string{"*audio*"} }, []string{"a", "u", "d", "i", "o"}, "gate/maker/audio-1"},
		"found by its maker's name":   {func(o *Options) {}, []string{"c", "h", "a", "t", "t", "y"}, "gate/maker/chat-1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUpWith(t, 80, 30, func(o *Options) { o.App.Models.Choices = catalogued; c.change(o) })
			s.Press("ctrl+x", "m").WaitForText("Model").WaitForText("openai/gpt-x").Press(c.keys...)
			if got := s.order(); got != c.want {
				t.Errorf("got  %s\nwant %s\n%s", got, c.want, s.Screen())
			}
		})
	}
}

// Models pinned and hidden with keys stay so after a restart.
func TestTastesAreKept(t *testing.T) {
	s := setUpWith(t, 80, 30, func(o *Options) { o.App.Models.Choices = catalogued })
	s.Press("ctrl+x", "m").WaitForText("gpt-x").Press("end", "ctrl+t")
	s.WaitFor(func() bool { return strings.HasPrefix(s.order(), "openai/gpt-x") })
	s.Press("end", "delete").WaitFor(func() bool {
		kept, _ := s.m.App.Library.Get("hidden")
		return kept != "" && !strings.Contains(s.order(), "chat-1")
	})
	want := s.order()
	again := newModel(s.m.options())
	again.Tick = s.m.Tick
	next := &stage{Driver: uitest.New(t, again, 80, 30)}
	next.Press("ctrl+x", "m").WaitForText("gpt-x")
	if got := next.order(); got != want || !strings.HasPrefix(got, "openai/gpt-x") || strings.Contains(got, "chat-1") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An incomplete model name is searched for.
func TestModelByPart(t *testing.T) {
	s := setUpWith(t, 80, 30, func(o *Options) { o.App.Models.Choices = catalogued })
	s.Type("/model tw").Press("enter").WaitForText("favorite").Press("enter").WaitForText("Model: fake/one → fake/two")
	s.Press("ctrl+p").Type("model chat").WaitForText("model gate/maker/chat-1")
}

// Each theme is shown while it is selected; leaving the list restores the
// previous one.
func TestThemesAreLookedAt(t *testing.T) {
	s := setUp(t, 80, 24)
	was := s.Styled()
	s.Press("ctrl+p").Type("theme").Press("enter").WaitForText("for light backgrounds")
	s.Press("down", "down").WaitFor(func() bool { return s.m.Theme.Name == "light" })
	s.Press("esc").WaitFor(func() bool { return s.Styled() == was })
	s.Press("ctrl+p").Type("theme").Press("enter", "down", "down", "ctrl+c").WaitFor(func() bool { return s.Styled() == was })
	s.Press("ctrl+p").Type("theme").Press("enter", "down", "down", "enter").WaitFor(func() bool { return s.m.Theme.Name == "light" })
	if kept, _ := s.m.App.Library.Get("theme"); kept != "light" {
		t.Errorf("%q is kept", kept)
	}
}

// A command that cannot run shows the reason, in the list and when it is run.
func TestLacks(t *testing.T) {
	s := setUp(t, 80, 24)
	s.Press("ctrl+p").Type("retry").WaitForText("Nothing to retry")
	s.Press("enter").WaitForText("• Nothing to retry")
	s.clock.Add(time.Minute)
	s.Type("/").Type("fork").Press("enter").WaitForText("• The conversation is empty")
}

// A toast can be read in full at any width, and moves nothing.
func TestSaidIsWhole(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {50, 15}, {20, 8}, {12, 5}} {
		t.Run("", func(t *testing.T) {
			s := setUp(t, size[0], size[1])
			before := strings.Split(s.Screen(), "\n")
			const words = "Draft stashed · ctrl+x s restores it"
			s.Type("x").Press("ctrl+x", "s")
			if size[1] >= 6 { // otherwise there is no row for it
				s.WaitForScreen(func(screen string) bool {
					return strings.Contains(strings.Join(strings.Fields(screen), " "), words)
				})
			}
			after := strings.Split(s.Screen(), "\n")
			if len(after) != len(before) || after[len(after)-1] != before[len(before)-1] || after[len(after)-2] != before[len(before)-2] {
				t.Errorf("something moved:\n%s\nwas\n%s", s.Screen(), strings.Join(before, "\n"))
			}
		})
	}
}

// The current model is listed and selected while its server has not answered, and if the
// server does not list it: enter changes nothing then.
func TestModelInUseIsListed(t *testing.T) {
	s := setUpWith(t, 80, 30, func(o *Options) {
		o.App.Models.Choices = func() []app.ModelChoice { return catalogued()[1:] }
	})
	s.Press("ctrl+x", "m").WaitForText("› fake/one · current").WaitForText("  fake/two")
	if s.Press("enter").Shows("Ask anything"); s.m.App.Session.Model().Name != "fake/one" {
		t.Errorf("enter chose %s", s.m.App.Session.Model().Name)
	}
}
