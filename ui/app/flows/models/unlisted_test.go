package models

import (
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/uitest/apptest"
)

// A model that its provider does not list is used, with a notice.
func TestUnlistedModel(t *testing.T) {
	catalog := []app.ModelChoice{{Name: "mine", Alias: "shop/mega"}, {Name: "shop/mega"}, {Name: "shop/micro:free"}, {Name: "other/mgea"}}
	live := append(catalog, app.ModelChoice{Name: "box/llama3:latest"}, app.ModelChoice{Name: "silent/"})
	for name, want := range map[string]string{
		"shop/mgea":   `shop lists no model "mgea": did you mean shop/mega?`,
		"shop/zzzzzz": `shop lists no model "zzzzzz": /model shows those it lists`,
		"shop/mega":   "", "shop/micro:nitro": "", "box/llama3": "",
		"box/lama3":  `box lists no model "lama3": did you mean box/llama3?`,
		"silent/any": "", "elsewhere/any": "",
	} {
		a := newApp(t)
		a.Models.Choices, a.Models.Live = func() []app.ModelChoice { return catalog }, func() []app.ModelChoice { return live }
		a.Models.Open = func(name string) (llm.Endpoint, error) { return llm.Endpoint{Name: name}, nil }
		e := apptest.Run(t, a, "/model "+name)
		if got := a.Session.Model().Name; got != name {
			t.Errorf("%s: the model is %s", name, got)
		}
		if got := strings.Join(apptest.See(e).Notes, "\n"); got != want {
			t.Errorf("%s: noted %q, want %q", name, got, want)
		}
	}
	a := newApp(t)
	a.Models.Choices = func() []app.ModelChoice { return catalog }
	a.Models.Open = func(name string) (llm.Endpoint, error) { return llm.Endpoint{Name: name, Known: true}, nil }
	if e := apptest.Run(t, a, "/model shop/dated"); len(apptest.See(e).Notes) > 0 {
		t.Error("a model of which the catalog has facts was called unlisted")
	}
}
