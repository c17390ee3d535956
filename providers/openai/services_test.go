// The recordings in testdata/recordings are written by hand, except for the expected results: go
// test ./providers/openai -update rewrites those. Read the diff.

package openai_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/wire"
)

var update = flag.Bool("update", false, "write what recordings are expected to say anew")

// TestServices replays conversations in the form of each service, one file in
// testdata/recordings each:
//
//	purpose of the recording
//	-- head.json --        kind, model, and the fields of llm.Request besides the prompt
//	-- 1.request.json --   values in the first request; null for missing ones
//	-- 1.response.sse --   or .json; a status other than 200 is in the name: 1.response.429.json
//	-- 1.says --           visible result for the user
//	-- 2.request.json --   the second request, with the results of the calls or another prompt
//
// The answers have the form that the service documents or sends, with our own
// texts.
func TestServices(t *testing.T) {
	files, err := filepath.Glob("testdata/recordings/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := &performance{t: t, archive: archive}
			p.play()
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestEveryServiceIsRecorded checks that each row of the table has a recording.
func TestEveryServiceIsRecorded(t *testing.T) {
	for _, kind := range openai.Kinds {
		if files, _ := filepath.Glob("testdata/recordings/" + kind + "-*.txtar"); len(files) == 0 {
			t.Errorf("testdata/recordings has no %s-….txtar", kind)
		}
	}
}

// A performance is a recording that is being replayed.
type performance struct {
	t       *testing.T
	archive *txtar.Archive
	turn    int
	asked   []byte // the latest request
}

// file returns the file whose name has this prefix.
func (p *performance) file(prefix string) *txtar.File {
	for i := range p.archive.Files {
		if strings.HasPrefix(p.archive.Files[i].Name, prefix) {
			return &p.archive.Files[i]
		}
	}
	return nil
}

func (p *performance) play() {
	var head struct {
		Kind, Model, Prompt, Base string
		Whole                     bool
		llm.Request
	}
	about := p.file("head.json")
	if about == nil {
		p.t.Fatal("head.json is missing")
	}
	d := json.NewDecoder(bytes.NewReader(about.Data))
	d.DisallowUnknownFields()
	if err := d.Decode(&head); err != nil {
		p.t.Fatal(err)
	}
	if head.Base == "" {
		head.Base = "http://mock.invalid/v1"
	}
	dialect, ok := openai.DialectFor(head.Kind, head.Model)
	if !ok {
		p.t.Fatalf("no dialect for kind %q", head.Kind)
	}
	model := openai.New(openai.Options{
		Provider: head.Kind, Model: head.Model, BaseURL: head.Base, Key: "test-key", NoStream: head.Whole,
		HTTP: wire.Client(wire.Options{Provider: head.Kind, Transport: p}),
	}, dialect)
	req := head.Request
	req.Messages = []llm.Message{llm.UserText(head.Prompt)}
	for p.turn = 1; p.file(strconv.Itoa(p.turn)+".response") != nil; p.turn++ {
		got := hear(p.t, model.Stream(p.t.Context(), req))
		p.compare(got)
		if got.err != nil {
			continue // the same again
		}
		answer := llm.Message{Role: llm.RoleAssistant, Origin: model.Origin(), Parts: got.parts}
		next := llm.UserText("Go on.")
		if calls := answer.Calls(); len(calls) > 0 {
			next = llm.Message{Role: llm.RoleTool}
			for _, c := range calls {
				next.Parts = append(next.Parts, llm.Part{Kind: llm.Result, ID: c.ID, Name: c.Name, Text: "done"})
			}
		}
		req.Messages, _ = llm.Portable(append(req.Messages, answer, next), model.Origin())
	}
	if p.turn == 1 {
		p.t.Error("nobody answers")
	}
}

// RoundTrip returns the answer of the turn, in pieces that may split lines and runes.
func (p *performance) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if p.asked, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	f := p.file(strconv.Itoa(p.turn) + ".response")
	res := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r, Body: io.NopCloser(&pieces{f.Data, rand.New(rand.NewPCG(1, uint64(len(f.Data))))})}
	if strings.HasSuffix(f.Name, ".json") {
		res.Header.Set("Content-Type", "application/json")
		if parts := strings.Split(f.Name, "."); len(parts) == 4 {
			res.StatusCode, err = strconv.Atoi(parts[2])
		}
	}
	return res, err
}

type pieces struct {
	rest []byte
	rand *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 1+p.rand.IntN(40))], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// compare compares a turn with the recording.
func (p *performance) compare(got heard) {
	prefix := strconv.Itoa(p.turn)
	if want := p.file(prefix + ".request.json"); want != nil {
		var w, g any
		if err := json.Unmarshal(want.Data, &w); err != nil {
			p.t.Fatalf("%s: %v", want.Name, err)
		}
		if err := json.Unmarshal(p.asked, &g); err != nil {
			p.t.Fatal(err)
		}
		if where := missing(w, g, "request"); where != "" {
			p.t.Errorf("turn %d: %s\nin %s", p.turn, where, p.asked)
		}
	}
	said := []byte(p.script(got))
	want := p.file(prefix + ".says")
	switch {
	case *update && want == nil:
		p.archive.Files = append(p.archive.Files, txtar.File{Name: prefix + ".says", Data: said})
	case *update:
		want.Data = said
	case want == nil:
		p.t.Errorf("%s.says is missing", prefix)
	case !bytes.Equal(said, want.Data):
		p.t.Errorf("turn %d:\n%swant\n%s", p.turn, said, want.Data)
	}
}

// script returns the visible result of a turn, a line for each part and event.
func (p *performance) script(got heard) string {
	var b strings.Builder
	for _, part := range got.parts {
		switch {
		case part.Kind == llm.Call:
			id := part.ID
			if !bytes.Contains(p.file(strconv.Itoa(p.turn)+".response").Data, []byte(id)) {
				id = "(made up)"
			}
			fmt.Fprintf(&b, "call %s %s %s\n", id, part.Name, part.Input)
		case part.Kind == llm.Source:
			fmt.Fprintf(&b, "source %q %s %q\n", part.Name, part.URL, part.Text)
		case part.Text != "":
			fmt.Fprintf(&b, "%s %q\n", part.Kind, part.Text)
		}
	}
	for _, n := range got.notices {
		fmt.Fprintf(&b, "notice %q\n", n)
	}
	if got.err != nil {
		e := wire.WithProvider(got.err, wire.Options{})
		fmt.Fprintf(&b, "error %s, %s: %q\n", e.Fault, e.Code, e.Message)
		return b.String()
	}
	u := got.usage
	fmt.Fprintf(&b, "finish %s (%s), %s, %s\n", got.finish.Reason, got.finish.Raw, got.finish.ID, got.finish.Model)
	fmt.Fprintf(&b, "usage %d in, %d cached, %d written; %d out, %d thinking", u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Thinking)
	if u.Searches > 0 {
		fmt.Fprintf(&b, "; %d searches", u.Searches)
	}
	if u.Priced {
		fmt.Fprintf(&b, "; $%g", u.Cost)
	}
	return b.String() + "\n"
}

// missing returns the path where got lacks a value of want; "" if none. Null in want means that the
// value must be missing.
func missing(want, got any, path string) string {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return path + " is no object"
		}
		for name, w := range want {
			at := path + "." + name
			if v, sent := g[name]; w == nil && sent && v != nil {
				return at + " is there"
			} else if where := missing(w, v, at); where != "" {
				return where
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return fmt.Sprintf("%s is not a list of %d", path, len(want))
		}
		for i := range want {
			if where := missing(want[i], g[i], fmt.Sprintf("%s[%d]", path, i)); where != "" {
				return where
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v, not %v", path, got, want)
	}
	return ""
}
