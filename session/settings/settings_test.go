package settings_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/session/settings"
)

// TestSet checks what values are taken, and how the change is told.
func TestSet(t *testing.T) {
	for _, test := range []struct{ name, value, changed, err string }{
		{"temperature", "0.2", "temperature 0.2", ""},
		{"seed", "", "seed default", ""},
		{"seed", "7", "", ""},
		{"top_k", "", "", ""},
		{"top_k", "40", "top_k 40", ""},
		{"note", strings.Repeat("é", 60), "note " + strings.Repeat("é", 40) + "…", ""},
		{"note", strings.Repeat("x", 80), "note " + strings.Repeat("x", 80), ""},
		{"note", strings.Repeat("x", settings.MaxValue), "note " + strings.Repeat("x", 80) + "…", ""},
		{"temperature", "hot", "", "temperature: hot is not a number between 0 and 2"},
		{"messages", "[]", "", "messages: parley writes this field of a request itself"},
		{"note", strings.Repeat("x", settings.MaxValue+1), "", "note: a value may have 16 KB"},
	} {
		s := settings.Settings{Values: map[string]string{"seed": "7"}}
		told := ""
		if err := s.Set(test.name, test.value); err != nil {
			told = err.Error()
		}
		if s.Changed != test.changed || told != test.err {
			t.Errorf("%s %.20s: %q, %q", test.name, test.value, s.Changed, told)
		}
	}
	var s settings.Settings
	for _, on := range []bool{false, false, true} {
		s.SetWeb(on)
	}
	s.SetTool("*", false)
	s.SetTool("read", false)
	s.SetTool("mcp__x__*", true)
	if s.Changed != "web search off · web search on · all tools off · tool mcp__x__* on" {
		t.Errorf("told %q", s.Changed)
	}
	if err := s.Set("top_k", "40"); err != nil || s.Values["top_k"] != "40" {
		t.Errorf("the first value: %v, %v", s.Values, err)
	}
}

// TestSetTool: the longest name that fits a tool counts, and what is said of many replaces what
// was said of each.
func TestSetTool(t *testing.T) {
	var s settings.Settings
	for _, step := range []struct {
		name string
		on   bool
		want string // of read, mcp__x__a, mcp__x__b, mcp__xy__a
	}{
		{"read", false, "-+++"}, {"*", false, "----"}, {"mcp__x__*", true, "-++-"}, {"mcp__x__b", false, "-+--"},
		{"read", true, "++--"}, {"mcp__x__*", false, "+---"}, {"mcp__x__b", true, "+-+-"}, {"*", true, "++++"},
	} {
		s.SetTool(step.name, step.on)
		got := ""
		for _, tool := range []string{"read", "mcp__x__a", "mcp__x__b", "mcp__xy__a"} {
			got += map[bool]string{true: "+", false: "-"}[s.Offers(tool)]
		}
		if got != step.want {
			t.Errorf("%s %v: %s, want %s: %v", step.name, step.on, got, step.want, s.Tools)
		}
	}
	if len(s.Tools) > 0 {
		t.Errorf("all on leaves %v", s.Tools)
	}
}

// TestOver checks that what is set comes before what was given, which stays as it is.
func TestOver(t *testing.T) {
	on := true
	given := llm.Settings{Detail: "low", Options: map[string]any{"top_k": 5, "x": "y"}}
	s := settings.Settings{Web: &on, Values: map[string]string{"top_k": "40", "detail": "high", "temperature": "hot", "messages": "[]"}}
	got := s.Override(given)
	if !got.Web || got.Detail != "high" || got.Temperature != nil || len(got.Options) != 2 || got.Options["top_k"] == 5 {
		t.Errorf("sent %+v", got)
	}
	if given.Options["top_k"] != 5 || given.Web {
		t.Errorf("the configuration became %+v", given)
	}
	if got := s.Override(llm.Settings{}); fmt.Sprint(got.Options) != "map[top_k:40]" {
		t.Errorf("without other fields: %+v", got)
	}
	if got := (settings.Settings{}).Override(llm.Settings{Web: true}); !got.Web || got.Options != nil {
		t.Errorf("nothing set: %+v", got)
	}
	if copied := s.Clone(); copied.Set("seed", "7") != nil || s.Values["seed"] != "" || copied.Changed != "seed 7" {
		t.Errorf("a copy shares %+v", s)
	}
}
