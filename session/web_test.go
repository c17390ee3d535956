package session

import (
	"slices"
	"testing"

	"parley/providers/llm"
	"parley/tools"
	"parley/tools/act"
)

// TestWebOrSearch checks who searches: the provider if it is asked to and can, or else the tool of
// the configuration, and never both.
func TestWebOrSearch(t *testing.T) {
	set, err := tools.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if err := set.AddSearch(tools.SearchConfig{Kind: "brave"}, func(string) string { return "k" }); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Model: llm.Endpoint{Name: "m"}})
	defer s.Close()
	for _, test := range []struct{ on, can, web, tool bool }{
		{false, false, false, true}, {false, true, false, true}, {true, false, false, true}, {true, true, true, false},
	} {
		if _, err := s.OwnSettings.Change(func(own *Settings) error { own.SetWeb(test.on); return nil }); err != nil {
			t.Fatal(err)
		}
		s.SetModel(llm.Endpoint{Name: "m", Web: test.can})
		_, req := s.Next.Request()
		tool := slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Name == act.SearchName })
		if req.Web != test.web || tool != test.tool {
			t.Errorf("on %v, can %v: the provider searches %v, the tool is offered %v", test.on, test.can, req.Web, tool)
		}
	}
}
