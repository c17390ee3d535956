package providers

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// requested is the body that a model would send, and what the user is told.
func requested(t *testing.T, name string, effort llm.Effort) (body string, notices []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	taken := &capture{cancel: cancel}
	e, err := Open(Default(), name, OpenOptions{Getenv: func(string) string { return "k" }, Base: taken})
	if err != nil {
		t.Fatal(err)
	}
	for event := range e.Stream(ctx, llm.Request{Effort: effort, Messages: []llm.Message{llm.UserText("hi")}}) {
		if n, ok := event.(llm.Notice); ok && !strings.HasPrefix(n.Text, "thinking budget") {
			notices = append(notices, n.Text)
		}
	}
	return string(taken.body), notices
}

// An effort that a model has not is told of once, and the request is the one
// for the effort that the notice names.
func TestClampedEffortsAreTold(t *testing.T) {
	for _, p := range catalog.Providers() {
		if slices.Contains([]string{"claude-cli", "gemini-cli", kindDemo}, p.Kind) || p.ModelsFrom != "" {
			continue
		}
		for _, m := range p.Models {
			if p.Aliases[m.ID] != "" {
				continue // another model answers
			}
			name, has := p.ID+"/"+m.ID, efforts(m)
			for _, effort := range llm.Efforts {
				body, notices := requested(t, name, effort)
				off := effort == llm.EffortOff
				wanted := !slices.Contains(has, effort) && (m.Thinks || !off)
				if off && wanted && m.OffValue != "" {
					wanted = len(notices) == 1 // the adapter's to say
				}
				if wanted != (len(notices) == 1) || len(notices) > 1 {
					t.Errorf("%s, effort %s of %v: notices %q", name, effort, has, notices)
					continue
				}
				if !wanted {
					continue
				}
				if _, used, ok := strings.Cut(notices[0], ", using "); ok {
					if same, _ := requested(t, name, llm.Effort(used)); same != body {
						t.Errorf("%s, effort %s: told %q, but sent\n%s\nwhere that effort is\n%s", name, effort, notices[0], body, same)
					}
				}
			}
		}
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		levels string
		want   string // of off minimal low medium high max
	}{
		{"off low medium high", "low low low medium high high"},
		{"low high max", "low low low high high max"},
		{"off high", "high high high high high high"},
		{"minimal high", "minimal minimal minimal high high high"},
		{"high max", "high high high high high max"},
	} {
		var levels []llm.Effort
		for level := range strings.FieldsSeq(tt.levels) {
			levels = append(levels, llm.Effort(level))
		}
		var got []string
		for _, effort := range llm.Efforts {
			got = append(got, string(nearest(levels, effort)))
		}
		if !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("of %s: %q, want %s", tt.levels, got, tt.want)
		}
	}
}
