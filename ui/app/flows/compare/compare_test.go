package compare

import (
	"slices"
	"testing"

	_ "parley/session/storetest/copies"
	"parley/ui/app"
	"parley/ui/app/candidates"
	"parley/ui/uitest/apptest"
)

// A model that cannot be opened turns comparing off, and the next prompt goes to one model.
func TestCompareOutOfReach(t *testing.T) {
	a := apptest.New(t, Register)
	if e := apptest.Run(t, a, "/compare far/away"); apptest.See(e).Err == nil || len(a.Compared.Models) > 0 {
		t.Errorf("%+v; compared %q", e, a.Compared.Models)
	}
	a.Compared.Models = []string{"fake/m", "far/away"}
	if p, err := candidates.Open(a); err == nil || p != nil || len(a.Compared.Models) > 0 {
		t.Errorf("%v, %v; compared %q", p, err, a.Compared.Models)
	}
	pick, ok := apptest.Run(t, a, "/compare").(app.PickModel)
	if !ok || pick.Title != "Compare fake/m with" {
		t.Fatalf("%+v", pick)
	}
	if pick.Chosen("fake/n"); !slices.Equal(a.Compared.Models, []string{"fake/m", "fake/n"}) {
		t.Errorf("compared %q", a.Compared.Models)
	}
}

// /compare describes the comparison and rejects invalid options.
func TestCompareHow(t *testing.T) {
	a := apptest.New(t, Register)
	for line, want := range map[string]string{
		"/compare a/1 a/2 a/3 a/4 a/5":  "5 models are too many to compare: use at most 4",
		"/compare --blnd a/1":           "unknown option --blnd: use --blind or --judge MODEL",
		"/compare a/1 --judge":          "--judge needs a model",
		"/compare a/1 --judge far/away": "set FAR_API_KEY",
	} {
		if e := apptest.Run(t, a, line); apptest.See(e).Err == nil || apptest.See(e).Err.Error() != want || len(a.Compared.Models) > 0 {
			t.Errorf("%s: %v, want %s", line, apptest.See(e).Err, want)
		}
	}
	pick, ok := apptest.Run(t, a, "/compare --blind --judge=a/j").(app.PickModel)
	if !ok {
		t.Fatal("no model is asked for")
	}
	e := pick.Chosen("a/1")
	if want := "Next prompt goes to fake/m and a/1 · names hidden · judged by a/j · /compare turns it off"; apptest.See(e).Toast != want {
		t.Errorf("%q, want %q", apptest.See(e).Toast, want)
	}
	p, err := candidates.Open(a)
	if err != nil || !p.Blind || p.Judge == nil || p.Judge.Name != "a/j" || len(p.Models) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	for i, name := range p.Names { // in any order
		if p.Models[i].Name != name {
			t.Errorf("%s is asked in the place of %s", p.Models[i].Name, name)
		}
	}
	if again, err := candidates.Open(a); again != nil || err != nil {
		t.Errorf("the next prompt goes to %+v", again)
	}
}
