package adapter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/iotest"

	"parley/providers/adapter"
)

// asJSON returns v as encoding/json writes it.
func asJSON(v any, escapeHTML bool) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// A body is sent in pieces, each time it is read.
func TestBody(t *testing.T) {
	items := func(list ...any) []any { return list }
	for _, list := range []any{
		adapter.ListOf(nil, nil, nil),
		adapter.ListOf(items("a"), nil, items("b")),
		adapter.ListOf(nil, []byte(`"k",{"l":1}`), nil),
		adapter.ListOf(items("a", "b"), []byte(`"k"`), items("c", "d")),
	} {
		b, err := adapter.EncodeBody(map[string]any{"a": 1, "list": list, "z": "<"}, false)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"a":1,"list":[],"z":"<"}`
		switch l := list.(type) {
		case adapter.List:
			var all []any
			if err := json.Unmarshal(fmt.Appendf(nil, "[%s]", l.Encoded), &all); err != nil {
				t.Fatal(err)
			}
			text, _ := asJSON(append(append(append([]any{}, l.First...), all...), l.Rest...), false)
			want = `{"a":1,"list":` + string(text) + `,"z":"<"}`
		case []any:
			text, _ := asJSON(l, false)
			want = `{"a":1,"list":` + string(text) + `,"z":"<"}`
		}
		if got := string(b.Bytes()); got != want {
			t.Errorf("%v comes to\n%s, want\n%s", list, got, want)
		}
		r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1", nil)
		if err != nil {
			t.Fatal(err)
		}
		b.PutInto(r)
		again, _ := r.GetBody()
		var written bytes.Buffer
		n, err := io.Copy(&written, again)
		if err != nil || n != r.ContentLength || written.String() != want {
			t.Errorf("copied: %d bytes of %d, %v, %q", n, r.ContentLength, err, written.String())
		}
		if err := iotest.TestReader(r.Body, []byte(want)); err != nil {
			t.Error(err)
		}
	}
	if _, err := adapter.EncodeBody(map[string]any{"a": json.RawMessage("{")}, false); err == nil {
		t.Error("invalid JSON is sent")
	}
}

// Later additions to a set do not change its clones, nor the reverse.
func TestSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	type pair struct {
		set  adapter.Set
		want map[string]bool
	}
	all := []pair{{want: map[string]bool{}}}
	for range 3000 {
		p := &all[r.IntN(len(all))]
		if len(all) < 20 && r.IntN(20) == 0 {
			want := map[string]bool{}
			for word := range p.want {
				want[word] = true
			}
			all = append(all, pair{p.set.Clone(), want})
			continue
		}
		word := fmt.Sprint(r.IntN(500))
		p.set.Add(word)
		p.want[word] = true
	}
	for i := range all {
		for n := range 500 {
			if word := fmt.Sprint(n); all[i].set.Has(word) != all[i].want[word] {
				t.Fatalf("set %d: Has(%s) = %v", i, word, !all[i].want[word])
			}
		}
	}
}
