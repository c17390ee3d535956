package archive

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The ID in a file of parley's format is kept only if it is valid, and FromParley is set.
func TestInvalidIDsAreReplaced(t *testing.T) {
	for id, kept := range map[string]bool{
		"01hz3v9k2m4pq": true, "import-0123_x": true, "": true,
		"../../etc": false, "a b": false, "a/b": false, "\x1b[31m": false, strings.Repeat("x", 81): false, "ä": false,
	} {
		text, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := standard.read(strings.NewReader(fmt.Sprintf(`{"type":"session","format":"parley","version":1,"id":%s,"title":"t","head":1}
{"type":"message","seq":1,"parent":0,"role":"user","parts":[{"kind":"text","text":"hi"}]}
`, text)), "")
		if err != nil || len(list) != 1 {
			t.Fatalf("%q: %d, %v", id, len(list), err)
		}
		got := list[0].Session.ID
		if kept != (got == id) || !list[0].FromParley || got != "" && !validID(got) {
			t.Errorf("%q became %q, own %v", id, got, list[0].FromParley)
		}
	}
}

// Usage that cannot be does not make limits of later requests wider.
func TestUsageIsClamped(t *testing.T) {
	list, _, err := standard.read(strings.NewReader(`{"type":"session","format":"parley","version":1,"id":"a","title":"t","head":1}
{"type":"message","seq":1,"parent":0,"role":"assistant","parts":[{"kind":"text","text":"hi"}],"usage":{"input":-5,"output":7,"cost":-1000,"priced":true}}
`), "")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if u := list[0].Nodes[0].Usage; u == nil || u.Input != 0 || u.Output != 7 || u.Cost != 0 || u.Priced {
		t.Errorf("the usage is %+v", u)
	}
}

// A conversation from a file has an origin, whatever the file says.
func TestOriginOfFiles(t *testing.T) {
	for said, want := range map[string]string{"": "parley file", "fork x": "parley file", "fork x from codex": "codex", "codex": "codex"} {
		list, _, err := standard.read(strings.NewReader(fmt.Sprintf(`{"type":"session","format":"parley","version":1,"id":"a","title":"t","origin":%q}`, said)), "")
		if err != nil || len(list) != 1 || list[0].Session.Origin != want {
			t.Errorf("%q: %+v, %v", said, list, err)
		}
	}
}
