package manual

import (
	"strings"
	"testing"

	"parley/docs"
	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
)

// TestManual checks that /manual and /help open the named page and report unknown names; without a name, one lists
// pages and the other shows the keys.
func TestManual(t *testing.T) {
	s := session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Model: llmtest.New()}})
	t.Cleanup(func() { s.Close() })
	a := app.New(app.Options{Flows: Register, Session: s})
	do := func(name, arg string) app.Effect {
		for _, c := range a.Commands {
			if c.Name == name {
				return c.Do(arg)
			}
		}
		t.Fatalf("there is no /%s", name)
		return nil
	}
	isTools := func(e app.Effect) bool {
		page, ok := e.(app.Page)
		return ok && page.Title == "Manual: tools" && strings.HasPrefix(page.Parts[0].Source, "# "+page.Parts[0].Title)
	}
	for _, name := range []string{"manual", "help"} {
		if e := do(name, "Tools"); !isTools(e) {
			t.Errorf("/%s Tools: %+v", name, e)
		}
		e, _ := do(name, "nothing").(app.Failure)
		if e.Err == nil || e.Err.Error() != `no page "nothing" in the manual: /manual lists them` {
			t.Errorf("/%s nothing: %+v", name, e)
		}
	}
	if e := do("help", ""); e != (app.PanelQuery{Panel: app.PanelHelp}) {
		t.Errorf("/help: %+v", e)
	}
	list, _ := do("manual", "").(*app.List)
	if list == nil || len(list.Items) != len(docs.Names()) {
		t.Fatalf("/manual: %+v", list)
	}
	for _, i := range list.Items {
		if i.Value == "tools" && !isTools(list.Choose(i.Value)) {
			t.Error("/manual does not open what is chosen")
		}
	}
}

// TestPage checks that a page is rendered without its title, which is shown above it, and not wider than pageWidth.
func TestPage(t *testing.T) {
	for _, width := range []int{40, 300} {
		page := show("tools").(app.Page).Parts[0]
		lines := page.Render(width)
		if strings.Contains(lines[0], page.Title) || strings.TrimSpace(lines[0]) == "" {
			t.Errorf("the page begins with %q", lines[0])
		}
		for _, line := range lines {
			if n := len([]rune(line)); n > min(width, pageWidth) {
				t.Errorf("a line of %d cells at width %d: %q", n, width, line)
			}
		}
	}
}
