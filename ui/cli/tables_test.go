package cli

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/catalog"
	"parley/session"
	"parley/session/hooks"
	"parley/tools/act"
	"parley/tools/process"
	"parley/tools/rule"
	"parley/tools/undo"
)

// -r takes a value only if one follows.
func TestOptionalValues(t *testing.T) {
	for args, want := range map[string]string{
		"": "", "-r": "--resume=", "--resume": "--resume=", "-r 0a1b": "-r 0a1b", "-r -m x": "--resume= -m x", "-r -- -r": "--resume= -- -r",
		"hello -r": "hello --resume=", "-- -r": "-- -r", "-c hello": "-c hello",
	} {
		if got := strings.Join(withOptionalValues(strings.Fields(args)), " "); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
}

// Errors about flags have the format that the flags ask for, before and after the wrong one.
func TestFormatOfArguments(t *testing.T) {
	for _, c := range []struct{ args, known, want string }{
		{"", "", "text"}, {"", "json", "json"}, {"-o json", "", "json"}, {"-ojson", "", "json"}, {"-o=jsonl", "", "jsonl"}, {"--output jsonl", "", "jsonl"}, {"--output=json", "", "json"},
		{"--wrong -o json", "", "json"}, {"-o json -o text", "", "text"}, {"-o xml", "json", "json"}, {"-o", "", "text"}, {"-- -o json", "", "text"}, {"json", "", "text"},
	} {
		if got := formatOf(strings.Fields(c.args), c.known); got != c.want {
			t.Errorf("%s: got %s, want %s", c.args, got, c.want)
		}
	}
}

// The last element of a list is completed, with values that the list does not have yet.
func TestCompletionInLists(t *testing.T) {
	tools := inList(cobra.FixedCompletions([]string{noTools, "read", "edit"}, cobra.ShellCompDirectiveNoFileComp))
	for typed, want := range map[string]string{"": "none read edit", "r": "none read edit", "read,": "read,edit", "read,e": "read,edit", "read,edit,": ""} {
		got, directive := tools(nil, nil, typed)
		if strings.Join(got, " ") != want || directive != cobra.ShellCompDirectiveNoFileComp {
			t.Errorf("%q: %q, %v; want %s", typed, got, directive, want)
		}
	}
}

func TestOffersTool(t *testing.T) {
	for _, c := range []struct {
		names, name string
		want        bool
	}{{"", "read", true}, {"read", "read", true}, {"edit, read", "read", true}, {"reader", "read", false}, {"none", "read", false}} {
		if got := offersTool(c.names, c.name); got != c.want {
			t.Errorf("--tools %q, %s: %t", c.names, c.name, got)
		}
	}
}

// A notice about an interrupted undo names the first files.
func TestInterruptedText(t *testing.T) {
	names := func(list string) (all []undo.Name) {
		for _, name := range strings.Fields(list) {
			all = append(all, undo.Name(name))
		}
		return all
	}
	for want, c := range map[string]undo.Interrupted{
		"An undo of files was interrupted: 0 restored. /undo continues or reverts it":                                                    {},
		`An undo of files was interrupted: 2 restored, 1 not restored ("c"), 2 in between ("d", "e"). /undo continues or reverts it`:     {Restored: names("a b"), Unrestored: names("c"), Changed: names("d e")},
		`An undo of files was interrupted: 0 restored, 5 not restored ("a", "b", "c", "d", "e"). /undo continues or reverts it`:          {Unrestored: names("a b c d e")},
		`An undo of files was interrupted: 0 restored, 6 in between ("a", "b", "c", "d", "e" and 1 more). /undo continues or reverts it`: {Changed: names("a b c d e f")},
	} {
		if got := interruptedText(&c); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Hooks are listed with their tools, their limits and their source; those of an untrusted folder are disabled.
func TestHookItems(t *testing.T) {
	hook := func(event, matcher string, timeout time.Duration, sandbox process.Confinement) hooks.Hook {
		h := hooks.Hook{Source: "~/c.toml"}
		h.Event, h.Matcher, h.Timeout, h.Sandbox = event, matcher, process.Timeout(timeout), sandbox
		h.Command = process.ShellLine("make")
		return h
	}
	own := []hooks.Hook{hook(act.HookPreToolUse, "", 0, ""), hook(act.HookPostToolUse, "edit", 5*time.Second, process.Confined), hook("Stop", "x", 0, "off")}
	theirs := hook("Stop", "", 0, "")
	theirs.Project, theirs.Source = true, "hooks.toml"
	for trusted, last := range map[bool]string{true: "Stop: make · hooks.toml, trusted", false: "Stop: make · hooks.toml, not trusted: does not run"} {
		p := &project{trusted: trusted, hooks: []hooks.Hook{theirs}}
		var got []string
		for _, item := range p.hookItems(own) {
			if item.Title+" · "+item.Detail != item.Value || item.Disabled != (strings.Contains(item.Detail, "not trusted")) {
				t.Errorf("%+v", item)
			}
			got = append(got, item.Value)
		}
		want := []string{"PreToolUse: make · any tool · ~/c.toml", "PostToolUse: make · edit · 5s · ~/c.toml", "Stop: make · sandbox off · ~/c.toml", last}
		if !slices.Equal(got, want) {
			t.Errorf("trusted %t: got %q, want %q", trusted, got, want)
		}
	}
}

// Headers are shown in their order, with each of their values.
func TestShownExchange(t *testing.T) {
	e := providers.Exchange{ID: 3, Provider: "openai", Model: "gpt", Status: 200, Done: true}
	e.Request.Header = map[string][]string{"B": {"2", "3"}, "A": {"1"}}
	e.Request.Bytes, e.Response.Bytes, e.Response.Body = 5, 7, "ok"
	got := shownExchange(e)
	if want := [][2]string{{"A", "1"}, {"B", "2"}, {"B", "3"}}; !slices.Equal(got.Request.Headers, want) || got.Name != "openai/gpt" || got.Sent != 5 || got.Got != 7 || got.Response.Body != "ok" || !got.Done {
		t.Errorf("got %+v", got)
	}
	e.Model = ""
	if got := shownExchange(e).Name; got != "openai" {
		t.Errorf("without a model it is called %s", got)
	}
}

// Prices are as near as their ratio, in either direction.
func TestPriceDistance(t *testing.T) {
	price := func(input, output float64) catalog.Price { return catalog.Price{Input: input, Output: output} }
	like := price(1, 5)
	for _, c := range []struct {
		name      string
		near, far catalog.Price
	}{
		{"the same", like, price(1, 6)}, {"half", price(0.5, 2.5), price(3, 15)}, {"double", price(2, 10), price(0.25, 1)}, {"more of the output", price(1, 6), price(2, 5)}, {"unknown", price(1000, 1000), catalog.Price{}},
	} {
		if near, far := priceDistance(c.near, like), priceDistance(c.far, like); near >= far {
			t.Errorf("%s: %v is farther than %v", c.name, near, far)
		}
	}
	free := catalog.Price{Free: true}
	if got := priceDistance(free, free); got != 0 {
		t.Errorf("free ones differ by %v", got)
	}
	if got := priceDistance(free, like); got != 8 {
		t.Errorf("a free one differs by %v", got)
	}
	if got := priceDistance(catalog.Price{}, like); !math.IsInf(got, 1) {
		t.Errorf("an unknown price differs by %v", got)
	}
}

// Rules that another parley stored meanwhile stay, and only those that the user removed here go.
func TestStoredRules(t *testing.T) {
	library := session.MemoryStore()
	defer library.Close()
	parse := func(text string) (list []rule.Rule) {
		for _, one := range strings.Fields(text) {
			r, err := rule.Engine.Parse(one)
			if err != nil {
				t.Fatal(err)
			}
			r.Effect, r.Source = act.Allow, rule.FromState
			list = append(list, r)
		}
		return list
	}
	s := ruleStore{library}
	for _, c := range []struct{ before, now, want string }{
		{"", "read:a", "read:a"}, {"", "read:b", "read:a read:b"}, {"read:a", "read:a read:c", "read:a read:b read:c"}, {"read:a read:b", "read:b", "read:b read:c"}, {"read:x", "read:x", "read:b read:c"},
	} {
		s.save(parse(c.before), parse(c.now))
		kept, err := s.load()
		if err != nil || !slices.Equal(kept, parse(c.want)) {
			t.Errorf("%s, then %s: stored %v, %v; want %s", c.before, c.now, kept, err, c.want)
		}
	}
	if err := library.Set("rules", "{"); err != nil {
		t.Fatal(err)
	}
	if got := s.save(nil, parse("read:a")); got != nil {
		t.Errorf("unreadable rules are replaced by %v", got)
	}
}

func TestConfiguredModels(t *testing.T) {
	c := &Config{Model: "a/1", Fallback: []string{"b/2"}}
	c.Session.TitleModel, c.Session.SummaryModel = "t/1", "s/1"
	if got, want := c.configuredModels(), []string{"a/1", "t/1", "s/1", "b/2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
