package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"parley/providers/llm"
)

// recordings is a folder of recorded answers beside the repository; it is not
// part of it.
const recordings = "../../../shared/wire"

type recorded struct {
	Text      string `json:"text"`
	Match     string `json:"text_match"`
	Thinking  string `json:"thinking"`
	Finish    string `json:"finish_reason"`
	ToolCalls []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"tool_calls"`
	Usage *struct {
		Input  int      `json:"input"`
		Cached int      `json:"cached_input"`
		Output int      `json:"output"`
		Cost   *float64 `json:"cost_usd"`
	} `json:"usage"`
	Error *struct {
		Category string   `json:"category"`
		Also     []string `json:"category_also"`
	} `json:"error"`
}

// TestRecordings lets the fake program print what the real ones did, and
// compares what a neutral reader made of it.
func TestRecordings(t *testing.T) {
	for _, kind := range Kinds {
		dirs, _ := filepath.Glob(filepath.Join(recordings, kind, "*"))
		if len(dirs) == 0 {
			t.Skip("no recordings at " + recordings)
		}
		for _, dir := range dirs {
			t.Run(filepath.Base(dir), func(t *testing.T) { replay(t, kind, dir) })
		}
	}
}

func replay(t *testing.T, kind, dir string) {
	var meta struct {
		Prompt    string
		Exchanges []struct {
			Response string `json:"response"`
			Exit     int    `json:"exit_code"`
			Stderr   string `json:"stderr"`
		}
	}
	var expected struct{ Responses []recorded }
	load(t, filepath.Join(dir, "meta.json"), &meta)
	load(t, filepath.Join(dir, "expected.json"), &expected)
	for i, want := range expected.Responses {
		x := meta.Exchanges[i]
		lines, err := os.ReadFile(filepath.Join(dir, x.Response))
		if err != nil {
			t.Fatal(err)
		}
		s := script(t, []step{{Out: string(lines), Err: x.Stderr, Exit: x.Exit}})
		compare(t, take(t, s.model(kind).Stream(t.Context(), asking(meta.Prompt))), want)
	}
}

func load(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(file, err)
	}
}

func compare(t *testing.T, got outcome, want recorded) {
	t.Helper()
	if want.Match != "optional" && tight(got.text()) != tight(want.Text) {
		t.Errorf("text %q, want %q", got.text(), want.Text)
	}
	var thought string
	var ran []string
	for _, p := range got.parts {
		switch p.Kind {
		case llm.Thinking:
			thought += p.Text
		case llm.Call:
			ran = append(ran, p.ID+" "+p.Name)
		}
	}
	if tight(thought) != tight(want.Thinking) {
		t.Errorf("thinking %q, want %q", thought, want.Thinking)
	}
	var tools []string
	for _, c := range want.ToolCalls {
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
			also = append(also, string(llm.ModelNotFound)) // says more
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

// tight is s without white space.
func tight(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
