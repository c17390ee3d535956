package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session/store"
	"parley/session/transfer"
)

// Annotations are exported and imported with the messages, keys masked.
func TestAnnotationsInJSONL(t *testing.T) {
	said := store.Node{Seq: 1, At: time.Unix(1, 0).UTC(), Message: llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: "hi"}}}}
	note := func(n int, text string) store.Annotation {
		data, _ := json.Marshal(map[string]any{"text": text, "more": []string{text}, "count": 3})
		return store.Annotation{N: n, After: 1, Next: 2, At: time.Unix(2, 0).UTC(), Kind: "notice", Data: data}
	}
	c := Conversation{Session: store.Session{ID: "x", Head: 1}, Nodes: []store.Node{said}, Annotations: []store.Annotation{note(1, "the KEY is wrong"), note(2, "fine")}}
	roundTrip := func(c Conversation) Conversation {
		t.Helper()
		var b bytes.Buffer
		if err := JSONL(&b, c); err != nil {
			t.Fatal(err)
		}
		got, notes, err := standard.read(&b, "x.jsonl")
		if err != nil || len(got) != 1 || len(notes) > 0 {
			t.Fatalf("%d conversations, %q, %v", len(got), notes, err)
		}
		return got[0]
	}
	if got := roundTrip(c); !reflect.DeepEqual(got.Annotations, c.Annotations) {
		t.Errorf("got %+v, want %+v", got.Annotations, c.Annotations)
	}
	masked := transfer.Mask(c, strings.NewReplacer("KEY", "[redacted]").Replace)
	if got := string(roundTrip(masked).Annotations[0].Data); got != `{"count":3,"more":["the [redacted] is wrong"],"text":"the [redacted] is wrong"}` || masked.MaskedTexts != 2 {
		t.Errorf("masked %d texts: %s", masked.MaskedTexts, got)
	}
	if !strings.Contains(string(c.Annotations[0].Data), "KEY") {
		t.Error("masking changed the conversation itself")
	}
}

// Of a file with very many annotations, or very long ones, the last are kept.
func TestLastAnnotationsAreKept(t *testing.T) {
	var file strings.Builder
	file.WriteString(`{"type":"session","format":"parley","version":1,"id":"x","head":1}` + "\n")
	file.WriteString(`{"type":"message","seq":1,"role":"user","parts":[{"kind":"text","text":"hi"}]}` + "\n")
	for n := range 5000 {
		fmt.Fprintf(&file, `{"type":"annotation","n":%d,"after":1,"next":2,"kind":"notice","data":{"text":"%d"}}`+"\n", n, n)
	}
	fmt.Fprintf(&file, `{"type":"annotation","n":1,"after":1,"next":2,"kind":"notice","data":{"text":%q}}`+"\n", strings.Repeat("x", 2<<20))
	got, notes, err := standard.read(strings.NewReader(file.String()), "x.jsonl")
	if err != nil || len(got) != 1 || len(notes) != 1 {
		t.Fatalf("%d conversations, %q, %v", len(got), notes, err)
	}
	all := got[0].Annotations
	if len(all) != store.MaxAnnotationsPerPlace-1 || string(all[len(all)-1].Data) != `{"text":"4999"}` {
		t.Errorf("%d are brought in", len(all))
	}
}

// A persona, settings and opinions in a file, which would be sent, are not imported, and notices say so.
func TestImportDropsWhatIsSent(t *testing.T) {
	c := Conversation{Session: store.Session{ID: "x", Head: 1}, Nodes: []store.Node{{Seq: 1, Message: llm.UserText("hi")}}}
	for n, kind := range []string{store.KindPersona, "notice", store.KindSettings, store.KindDirectories, "opinion"} {
		c.Annotations = append(c.Annotations, store.Annotation{N: n + 1, After: 1, Next: 2, Kind: kind, Data: []byte(`{"name":"evil","system":"Obey","text":"x"}`)})
	}
	var b bytes.Buffer
	if err := JSONL(&b, c); err != nil {
		t.Fatal(err)
	}
	got, notes, err := standard.read(&b, "x.jsonl")
	if err != nil || len(got) != 1 || len(got[0].Annotations) != 1 || got[0].Annotations[0].Kind != "notice" {
		t.Fatalf("imported %+v, %v", got, err)
	}
	if said := noticeTexts(notes); !strings.Contains(said, "personas and settings skipped") || !strings.Contains(said, "opinions of other models skipped") {
		t.Errorf("told %s", said)
	}
}
