package agentcli

import (
	"slices"
	"testing"

	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
)

// TestRecordings makes the fake program print the output of the real ones, and compares the result
// with that of an independent reader.
func TestRecordings(t *testing.T) {
	adaptertest.Recordings(t, "*-cli", func(t *testing.T, rec adaptertest.Recording) {
		for i, want := range rec.Outcomes {
			x := rec.Exchanges[i]
			s := script(t, []step{{Out: string(rec.Answer(t, i)), Err: x.Stderr, Exit: x.Exit}})
			compare(t, take(t, s.model(rec.Kind).Stream(t.Context(), asking(rec.Prompt))), want)
		}
	})
}

func compare(t *testing.T, got outcome, want adaptertest.Outcome) {
	t.Helper()
	want.Check(t, got.parts)
	var ran, tools []string
	for _, p := range got.parts {
		if p.Kind == llm.Call {
			ran = append(ran, p.ID+" "+p.Name)
		}
	}
	for _, c := range want.Calls {
		tools = append(tools, c.ID+" "+c.Name)
	}
	if !slices.Equal(ran, tools) {
		t.Errorf("it ran %q, want %q", ran, tools)
	}
	if u := want.Usage; u != nil && u.Input+u.Output > 0 {
		used := llm.Usage{Input: u.Input, CacheRead: u.Cached, Output: u.Output}
		if u.Cost != nil {
			used.Cost, used.Priced = *u.Cost, true
		}
		if got.usage == nil || got.usage.Input != used.Input || got.usage.CacheRead != used.CacheRead || got.usage.Output != used.Output || got.usage.Cost != used.Cost {
			t.Errorf("usage %+v, want %+v", got.usage, used)
		}
	}
	if e := want.Error; e != nil {
		fault := string(llm.FaultOf(got.err))
		also := append(e.Also, e.Category)
		if slices.Contains(also, "invalid_request") {
			also = append(also, string(llm.ModelNotFound)) // a more specific fault
		}
		if got.err == nil || !slices.Contains(also, fault) {
			t.Errorf("fault %s, want one of %q: %v", fault, also, got.err)
		}
		return
	}
	if got.err != nil || string(got.finish.Reason) != want.Finish {
		t.Errorf("finish %q, %v; want %q", got.finish.Reason, got.err, want.Finish)
	}
}
