package adaptertest

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// recordings is the directory of recorded exchanges, by kind, beside the repository.
const recordings = "../../../shared/wire"

// A Recording is a recorded conversation with a service, and the expected result of each
// response.
type Recording struct {
	Kind      string `json:"parley_kind"`
	Model     string
	Mode      string // "json" if the answers were not streamed
	Prompt    string
	Tags      []string
	Exchanges []Exchange

	Outcomes []Outcome `json:"-"` // of the exchanges
	dir      string
}

// An Exchange is one recorded response.
type Exchange struct {
	Response    string // name of the file with its body
	Status      int
	ContentType string `json:"content_type"`
	Headers     map[string]string
	Cut         bool // the connection was interrupted

	Exit   int `json:"exit_code"` // exit status of a program, and its standard error
	Stderr string
}

// An Outcome is the expected result of a response.
type Outcome struct {
	Text, Thinking string
	TextMatch      string         `json:"text_match"`     // "", "nospace", "prefix" or "optional"
	ThinkingMatch  string         `json:"thinking_match"` // "" or "any"
	Calls          []recordedCall `json:"tool_calls"`
	Finish         string         `json:"finish_reason"`
	FinishAlso     []string       `json:"finish_also"`
	Usage          *struct {
		Input  int
		Cached int `json:"cached_input"`
		Output int
		Think  int      `json:"reasoning"`
		Cost   *float64 `json:"cost_usd"`
	}
	Error *struct {
		Category string
		Also     []string `json:"category_also"`
		Wait     int      `json:"retry_after_ms"`
	}
}

type recordedCall struct {
	ID        string
	Name      string
	Arguments map[string]any
}

// A Replay replays recordings to an adapter: each response is sent in pieces of random
// size, to a request with the history of those before it.
type Replay struct {
	Kinds string // pattern of filepath.Match for the kinds of recordings

	// Open returns the adapter for the server at base.
	Open func(t *testing.T, base string, r Recording) Adapter

	// Coarse maps faults to those that recordings contain instead.
	Coarse map[llm.Fault]llm.Fault

	// Signed matches, in its group, the parts of a response that must be in the next request; nil
	// if there are none.
	Signed *regexp.Regexp
}

// An Adapter is a model with the methods that Replay needs.
type Adapter interface {
	llm.Model
	Origin() string
	Body(llm.Request) ([]byte, error)
}

// Run replays every recording, and skips the test if there are none.
func (r Replay) Run(t *testing.T) { Recordings(t, r.Kinds, r.play) }

// Recordings runs test as a subtest for every recording of kinds, which is a pattern of
// filepath.Match. It skips the test if there are none.
func Recordings(t *testing.T, kinds string, test func(t *testing.T, rec Recording)) {
	dirs, err := filepath.Glob(filepath.Join(recordings, kinds, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) == 0 {
		t.Skip("no recordings of " + kinds + " in ../shared/wire beside the repository")
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) { test(t, open(t, dir)) })
	}
}

func open(t *testing.T, dir string) Recording {
	rec := Recording{dir: dir}
	expected := struct{ Responses *[]Outcome }{&rec.Outcomes}
	for name, v := range map[string]any{"meta.json": &rec, "expected.json": &expected} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			t.Fatal(name, err)
		}
	}
	if len(rec.Outcomes) == 0 || len(rec.Outcomes) > len(rec.Exchanges) {
		t.Fatalf("%d answers and %d expected ones", len(rec.Exchanges), len(rec.Outcomes))
	}
	return rec
}

// Answer returns the body of the nth response, from 0.
func (rec Recording) Answer(t *testing.T, n int) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(rec.dir, rec.Exchanges[n].Response))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func (r Replay) play(t *testing.T, rec Recording) {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rec.Exchanges[n].write(w, rec.Answer(t, n))
	}))
	t.Cleanup(server.Close)
	model := r.Open(t, server.URL, rec)
	req := llm.Request{Messages: []llm.Message{llm.UserText(rec.Prompt)}}
	for _, o := range rec.Outcomes {
		for _, c := range o.Calls {
			req.Tools = append(req.Tools, llm.Tool{Name: c.Name, Schema: json.RawMessage(`{"type":"object"}`)})
		}
	}
	for n = range rec.Outcomes {
		want := rec.Outcomes[n]
		if slices.ContainsFunc(rec.Tags, func(tag string) bool { return strings.HasPrefix(tag, "inline-") }) {
			for i := range want.Calls {
				want.Calls[i].ID = "" // calls found in text get new ids
			}
		}
		got := llmtest.Collect(t, model.Stream(t.Context(), req))
		r.compare(t, want, got)
		if t.Failed() {
			return
		}
		if got.Err != nil {
			continue // the same request is sent again
		}
		written := llm.Message{Role: llm.RoleAssistant, Origin: model.Origin(), Parts: got.Parts}
		req.Messages, _ = llm.Portable(append(req.Messages, written, results(written)), model.Origin())
		r.checkSigned(t, model, req, rec.Answer(t, n))
	}
}

// write sends an answer in pieces.
func (x Exchange) write(w http.ResponseWriter, body []byte) {
	for name, value := range x.Headers {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", x.ContentType)
	w.WriteHeader(x.Status)
	random := rand.New(rand.NewPCG(1, uint64(len(body))))
	for len(body) > 0 {
		n := min(len(body), 1+random.IntN(900))
		write(w, string(body[:n]))
		body = body[n:]
	}
	if x.Cut {
		panic(http.ErrAbortHandler)
	}
}

// checkSigned checks that the signed parts of a response are in the next request.
func (r Replay) checkSigned(t *testing.T, model Adapter, req llm.Request, answer []byte) {
	t.Helper()
	if r.Signed == nil {
		return
	}
	body, err := model.Body(req)
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range r.Signed.FindAllSubmatch(answer, -1) {
		if !strings.Contains(string(body), string(match[1])) {
			t.Errorf("%.60s… does not go back", match[1])
		}
	}
}

var finishes = map[llm.Reason]string{
	llm.Stop: "stop", llm.Length: "length", llm.Calls: "tool_calls", llm.Refused: "content_filter",
}

func (r Replay) compare(t *testing.T, want Outcome, got llmtest.Response) {
	t.Helper()
	want.Check(t, got.Parts)
	calls := localCalls(t, got.Parts)
	if want.Error != nil {
		r.compareErrors(t, want, got.Err)
		return
	}
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	for i := range calls {
		if calls[i].ID == "" {
			t.Errorf("call %d has no id", i)
		}
		if i < len(want.Calls) && want.Calls[i].ID == "" {
			calls[i].ID = "" // generated
		}
	}
	if len(want.Calls)+len(calls) > 0 && !reflect.DeepEqual(calls, want.Calls) {
		t.Errorf("calls %v, want %v", calls, want.Calls)
	}
	if finish := finishes[got.Finish.Reason]; want.Finish != "" && !slices.Contains(append(want.FinishAlso, want.Finish), finish) {
		t.Errorf("finish %q (%q), want %q", finish, got.Finish.Raw, want.Finish)
	}
	u := want.Usage
	if u == nil {
		return
	}
	if got.Usage.Input != u.Input || got.Usage.CacheRead != u.Cached || got.Usage.Output != u.Output || got.Usage.Thinking != u.Think {
		t.Errorf("usage %+v, want %+v", got.Usage, *u)
	}
	if u.Cost != nil && math.Abs(got.Usage.Cost-*u.Cost) > 1e-9 {
		t.Errorf("cost %g, want %g", got.Usage.Cost, *u.Cost)
	}
}

func (r Replay) compareErrors(t *testing.T, want Outcome, err error) {
	t.Helper()
	fault := llm.FaultOf(err)
	if coarse, ok := r.Coarse[fault]; ok {
		fault = coarse
	}
	if err == nil || !slices.Contains(append(want.Error.Also, want.Error.Category), string(fault)) {
		t.Errorf("error %v (%s), want %s", err, fault, want.Error.Category)
	}
	if e, ok := err.(*llm.Error); ok && want.Error.Wait > 0 && e.Wait != time.Duration(want.Error.Wait)*time.Millisecond {
		t.Errorf("wait %s, want %d ms", e.Wait, want.Error.Wait)
	}
}

// Check checks the text and thinking of a response.
func (o Outcome) Check(t *testing.T, parts []llm.Part) {
	t.Helper()
	var text, thinking string
	for _, p := range parts {
		switch {
		case p.Remote: // not recorded
		case p.Kind == llm.Text:
			text += p.Text
		case p.Kind == llm.Thinking:
			thinking += p.Text
		}
	}
	if !o.matchesText(text) {
		t.Errorf("text %q, want %q", text, o.Text)
	}
	if o.ThinkingMatch != "any" && withoutSpace(thinking) != withoutSpace(o.Thinking) {
		t.Errorf("thinking %q, want %q", thinking, o.Thinking)
	}
}

// localCalls returns the calls that parley runs.
func localCalls(t *testing.T, parts []llm.Part) (calls []recordedCall) {
	t.Helper()
	for _, p := range parts {
		if p.Kind != llm.Call || p.Remote {
			continue
		}
		c := recordedCall{ID: p.ID, Name: p.Name}
		if err := json.Unmarshal([]byte(p.Input), &c.Arguments); err != nil {
			t.Errorf("arguments %q: %v", p.Input, err)
		}
		calls = append(calls, c)
	}
	return calls
}

// matchesText reports whether text matches the outcome.
func (o Outcome) matchesText(text string) bool {
	got, want := strings.TrimSpace(text), strings.TrimSpace(o.Text)
	switch o.TextMatch {
	case "optional":
		return true
	case "nospace":
		return withoutSpace(got) == withoutSpace(want)
	case "prefix":
		return strings.HasPrefix(want, got)
	}
	return got == want
}

// withoutSpace returns s without white space.
func withoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
