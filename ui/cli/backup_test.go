package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers"
	"parley/providers/llm"
	"parley/session"
	"parley/session/store"
	"parley/session/storetest"
	"parley/tools/undo/snapshot"
	"parley/ui/cli/cmd/backup"
)

// TestNextRequestIsTheSame checks, for each wire format, that a conversation restored on an empty machine sends the
// same bytes as on the machine of the backup. State is provider state in a message of that format.
func TestNextRequestIsTheSame(t *testing.T) {
	var machines [2]*store.DB
	var folders [2]string
	for i := range machines {
		folders[i] = t.TempDir()
		lib, err := store.Open(filepath.Join(folders[i], "parley.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lib.Close() })
		machines[i] = lib
	}
	wire := &denied{}
	next := func(lib *store.DB, id string, model llm.Endpoint) string {
		log, err := lib.Resume(id)
		if err != nil {
			t.Fatal(err)
		}
		s := session.New(session.Options{Model: model, Log: log, Effort: llm.EffortHigh})
		wire.body = ""
		for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go on"}) {
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return wire.body
	}
	families := []struct{ kind, state, mark string }{
		{"openai", `[{"type":"reasoning.encrypted","data":"SEALED"}]`, ""},
		{"deepseek", "", ""},
		{"openrouter", `[{"type":"reasoning.encrypted","data":"SEALED"}]`, "SEALED"},
		{"openai-responses", `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hidden thought"}],"encrypted_content":"SEALED"}`, "SEALED"},
		{"anthropic", `{"type":"thinking","thinking":"hidden thought","signature":"SEALED"}`, "SEALED"},
		{"gemini", `"U0VBTEVE"`, "U0VBTEVE"},
	}
	models := map[string]llm.Endpoint{}
	for _, f := range families {
		config := providers.Config{Providers: map[string]providers.Provider{f.kind: {Kind: f.kind, BaseURL: "http://127.0.0.1:1/v1", APIKey: "sk-0123456789"}}}
		model, err := providers.Open(config, f.kind+"/m", providers.OpenOptions{Transport: wire})
		if err != nil {
			t.Fatal(err)
		}
		models[f.kind] = model
		s, nodes := storetest.Branched("id-"+f.kind, model.Name, model.Origin, f.state)
		if _, err := machines[0].Import(s, nodes); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if err := backup.Write(&file, machines[0], filepath.Join(folders[0], "undo"), folders[0], time.Unix(1_795_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(&file, machines[1], filepath.Join(folders[1], "undo"), snapshot.Open(filepath.Join(folders[1], "undo")), folders[1]); err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		t.Run(f.kind, func(t *testing.T) {
			was, is := next(machines[0], "id-"+f.kind, models[f.kind]), next(machines[1], "id-"+f.kind, models[f.kind])
			if was == "" || was != is {
				t.Errorf("sent\n%s\nand after the restore\n%s", was, is)
			}
			for _, text := range []string{"look at this", "the other branch", f.mark} {
				if !strings.Contains(was, text) {
					t.Errorf("no %q in %s", text, was)
				}
			}
		})
	}
}

// denied stores the body of the last request and rejects all requests.
type denied struct{ body string }

func (d *denied) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	d.body = string(body)
	return &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(""))}, err
}
