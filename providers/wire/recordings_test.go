package wire_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"parley/providers/wire"
)

// TestRecordings checks every event of recorded answers: a fault is found only in those that ended
// with an error.
func TestRecordings(t *testing.T) {
	folders, err := filepath.Glob("../../../shared/wire/*/*/meta.json")
	if err != nil || len(folders) == 0 {
		t.Skip("no recordings in ../shared/wire beside the repository")
	}
	for _, meta := range folders {
		folder := filepath.Dir(meta)
		var told struct {
			Kind      string
			Exchanges []struct {
				Response string
				Status   int
				Cut      bool
			}
		}
		var expected struct {
			Responses []struct{ Error json.RawMessage }
		}
		load(t, meta, &told)
		load(t, filepath.Join(folder, "expected.json"), &expected)
		for i, e := range told.Exchanges {
			if e.Status != 200 || filepath.Ext(e.Response) == ".jsonl" || e.Cut || i >= len(expected.Responses) {
				continue
			}
			body, err := os.ReadFile(filepath.Join(folder, e.Response))
			if err != nil {
				t.Fatal(err)
			}
			found := ""
			for line := range bytes.Lines(body) {
				if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
					if e := wire.EventError(data); e != nil {
						found = e.Error()
					}
				}
			}
			if filepath.Ext(e.Response) == ".json" {
				if e := wire.EventError(body); e != nil {
					found = e.Error()
				}
			}
			if wanted := expected.Responses[i].Error != nil; wanted != (found != "") {
				t.Errorf("%s: fault %q, want one: %v", folder, found, wanted)
			}
		}
	}
}

func load(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}
