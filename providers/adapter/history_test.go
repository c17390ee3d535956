package adapter_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// A turns is a Writer: it joins messages of one role in a row, as formats do, and writes some in another way when late.
type turns struct{ items []any }

func (w *turns) Write(messages []llm.Message, i int, late bool) (varies bool) {
	m := messages[i]
	text := fmt.Sprint(m.Origin, m.Parts)
	varies = m.Text() == "varies"
	if varies && late {
		text = "late"
	}
	if n := len(w.items); n > 0 {
		if last := w.items[n-1].(map[string]any); last["role"] == string(m.Role) {
			last["text"] = fmt.Sprint(last["text"], text)
			return varies
		}
	}
	w.items = append(w.items, map[string]any{"role": string(m.Role), "text": text})
	return varies
}

func (w *turns) Settle() []any {
	var settled []any
	settled, w.items = adapter.CutLast(w.items)
	return settled
}

func (w *turns) Clone() *turns { return &turns{adapter.CloneItems(w.items)} }

// TestHistories: a conversation has the same items with the cache as without it, whether it continues, changes or is
// another one. Most items of a long conversation come from the cache.
func TestHistories(t *testing.T) {
	var h adapter.Histories[*turns]
	random := rand.New(rand.NewPCG(1, 0))
	encode := func(messages []llm.Message, late int, whole bool, key string) (text []byte, kept int) {
		cached, w := h.Write(key, messages, late, whole, func() *turns { return &turns{} })
		b, err := adapter.EncodeBody(map[string]any{"l": adapter.ListOf(nil, cached, w.items)}, false)
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes(), len(cached)
	}
	message := func() llm.Message {
		m := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: fmt.Sprint(random.IntN(1000))}}}
		switch random.IntN(8) {
		case 0, 1, 2, 3:
			m.Role, m.Origin = llm.RoleAssistant, fmt.Sprint(random.IntN(2))
		case 4:
			m.Role, m.Parts[0] = llm.RoleTool, llm.Part{Kind: llm.Result, ID: fmt.Sprint(random.IntN(9)), Failed: random.IntN(2) == 0}
		case 5:
			m.Parts[0].Text = "varies"
		}
		return m
	}
	talks := make([][]llm.Message, 5) // more than are cached
	fromCache := 0
	for range 1500 {
		of := random.IntN(len(talks))
		talk := talks[of]
		switch n := len(talk); {
		case n > 120:
			talk = nil
		case n > 40 && random.IntN(10) == 0:
			talk = copyOf(talk[:n-random.IntN(n)])
		case n > 40 && random.IntN(10) == 0:
			talk = copyOf(talk)
			talk[random.IntN(n)] = message()
		default:
			for range 1 + random.IntN(4) {
				talk = append(copyOf(talk), message())
			}
		}
		talks[of] = talk
		late := len(talk)
		if random.IntN(2) == 0 {
			late = random.IntN(len(talk) + 1)
		}
		key := fmt.Sprint(random.IntN(20) / 19)
		got, kept := encode(talk, late, false, key)
		want, none := encode(talk, late, true, key)
		if !bytes.Equal(got, want) || none > 0 {
			t.Fatalf("%d messages, late from %d, %d bytes cached:\n%s\nwant\n%s", len(talk), late, kept, got, want)
		}
		if len(talk) < 32 && kept > 0 {
			t.Errorf("%d messages are cached", len(talk))
		}
		if kept > 0 {
			fromCache++
		}
	}
	if fromCache < 200 {
		t.Errorf("only %d of 1500 requests had anything cached", fromCache)
	}
}

// copyOf returns a copy of messages.
func copyOf(messages []llm.Message) []llm.Message { return append([]llm.Message(nil), messages...) }

// TestHistoriesReuse: the messages of the last request are not written again, those of the last rounds excepted.
func TestHistoriesReuse(t *testing.T) {
	var h adapter.Histories[*counting]
	written := 0
	var talk []llm.Message
	for i := range 100 {
		talk = append(talk, llm.UserText(fmt.Sprint(i)), llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Text, Text: "yes"}}})
		before := written
		kept, _ := h.Write("", talk, len(talk), false, func() *counting { return &counting{n: &written} })
		if n := written - before; len(talk) > 60 && (n > 12 || kept == nil) {
			t.Fatalf("of %d messages %d were written again", len(talk), n)
		}
	}
}

// counting counts what is written.
type counting struct {
	turns
	n *int
}

func (c *counting) Write(messages []llm.Message, i int, late bool) bool {
	*c.n++
	return c.turns.Write(messages, i, late)
}

func (c *counting) Clone() *counting { return &counting{*c.turns.Clone(), c.n} }
