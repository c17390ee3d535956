package models

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Fetched facts are shown by provider: new models, changed prices and context windows, removed
// models, and implausible figures. A long list is truncated unless all is set.
func TestFacts(t *testing.T) {
	r := factsReport{
		Fetched:   time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC),
		Providers: []fetched{{Provider: "groq", Models: 7}, {Provider: "mistral", Models: 1}, {Provider: "xai", Models: 2, From: "openrouter"}, {Provider: "box\x1b[31m", Models: 25}},
		Changes: []change{
			{Provider: "groq", Model: "new", Change: "new", Context: 131072, Price: &rates{Input: 0.05, Output: 0.08}},
			{Provider: "groq", Model: "new-and-unknown", Change: "new"},
			{Provider: "groq", Model: "gift", Change: "new", Price: &rates{Free: true}},
			{Provider: "groq", Model: "cheaper", Change: "price", OldPrice: &rates{Input: 2, Output: 8}, Price: &rates{Input: 0.125, Output: 4}},
			{Provider: "groq", Model: "priced", Change: "price", Price: &rates{Input: 1, Output: 2}},
			{Provider: "groq", Model: "cached", Change: "price", OldPrice: &rates{Input: 1, Output: 2, CacheRead: 0.5}, Price: &rates{Input: 1, Output: 2, CacheRead: 0.1}},
			{Provider: "groq", Model: "wider", Change: "window", OldContext: 33_000, Context: 131072},
			{Provider: "groq", Model: "told", Change: "window", Context: 8192},
			{Provider: "groq", Model: "a-bit", Change: "window", OldContext: 131_000, Context: 131_072},
			{Provider: "groq", Model: "ending", Change: "retires", Retires: "2027-02-01"},
			{Provider: "groq", Model: "later", Change: "retires", OldRetires: "2027-02-01", Retires: "2027-03-01"},
			{Provider: "groq", Model: "stays", Change: "retires", OldRetires: "2027-02-01"},
			{Provider: "groq", Model: "old", Change: "gone"},
			{Provider: "groq", Model: "e\x1b[2Jvil", Change: "refused", Why: "price \x1b[31m"},
			{Provider: "xai", Model: "grok", Change: "price", OldPrice: &rates{Input: 1, Output: 2}, Price: &rates{Free: true}},
		},
	}
	for i := range 22 {
		r.Changes = append(r.Changes, change{Provider: "box\x1b[31m", Model: fmt.Sprintf("m%02d", i), Change: "new"})
	}
	var b strings.Builder
	if err := r.write(&b, "text", false); err != nil {
		t.Fatal(err)
	}
	want := `groq: 7 models
  + new              131K · $0.05/$0.08
  + new-and-unknown
  + gift             free
  ~ cheaper          $2.00/$8.00 → $0.125/$4.00
  ~ priced           unknown → $1.00/$2.00
  ~ cached           cached $0.50 → $0.10
  ~ wider            window 33K → 131K
  ~ told             window unknown → 8K
  ~ a-bit            window 131000 → 131072
  ~ ending           retires unknown → 2027-02-01
  ~ later            retires 2027-02-01 → 2027-03-01
  ~ stays            retires 2027-02-01 → unknown
  - old              no longer listed
  ! e␛[2Jvil         not taken: price ␛[31m
mistral: 1 model, no changes
xai: 2 models in the list of openrouter
  ~ grok  $1.00/$2.00 → free
box␛[31m: 25 models
`
	for i := range mostChanges {
		want += fmt.Sprintf("  + m%02d\n", i)
	}
	want += "  … 2 more new: --all shows them\n"
	if got := b.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	b.Reset()
	if err := r.write(&b, "text", true); err != nil || !strings.HasSuffix(b.String(), "  + m20\n  + m21\n") {
		t.Errorf("all of it: %v\n%s", err, b.String())
	}
	b.Reset()
	if err := r.write(&b, "jsonl", false); err != nil || strings.Count(b.String(), "\n") != len(r.Changes) {
		t.Errorf("JSON lines: %v\n%s", err, b.String())
	}
	if line, _, _ := strings.Cut(b.String(), "\n"); line != `{"provider":"groq","model":"new","change":"new","context":131072,"price":{"free":false,"input":0.05,"output":0.08}}` {
		t.Errorf("a JSON line: %s", line)
	}
}

// A list that just fits hides nothing.
func TestAllChangesThatFit(t *testing.T) {
	r := factsReport{Providers: []fetched{{Provider: "box", Models: mostChanges}}}
	want := fmt.Sprintf("box: %d models\n", mostChanges)
	for i := range mostChanges {
		r.Changes = append(r.Changes, change{Provider: "box", Model: fmt.Sprintf("m%02d", i), Change: "new"})
		want += fmt.Sprintf("  + m%02d\n", i)
	}
	var b strings.Builder
	if err := r.write(&b, "text", false); err != nil || b.String() != want {
		t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, b.String(), want)
	}
}
