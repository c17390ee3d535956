// Package storetest fills stores with conversations of any size, for tests and benchmarks.
package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// Model is the model of all answers, Origin its wire format, and Folder the working directory.
const (
	Model  = "mock/m"
	Origin = "chat:mock"
	Folder = "/home/user/project"
)

// began is when the first conversation began.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// perTurn is how many messages a turn has: a prompt, thinking with a call, its result, and
// the answer.
const perTurn = 4

// Nodes returns a conversation of n messages: turns of a prompt, of thinking with a call, of
// its result, and of an answer, with usage. The same seed gives the same.
func Nodes(n int, seed uint64) []store.Node {
	r := rand.New(rand.NewPCG(seed, 1))
	nodes := make([]store.Node, n)
	for i := range nodes {
		nodes[i] = store.Node{Seq: i + 1, Parent: i, At: began.Add(time.Duration(seed)*time.Hour + time.Duration(i)*time.Second), Message: message(r, i, seed)}
		if nodes[i].Role == llm.RoleAssistant {
			nodes[i].Usage = &llm.Usage{Input: 40*i + 1000, Output: 60, Cost: 0.0001, Priced: true}
			nodes[i].Reason, nodes[i].TTFT, nodes[i].Duration = llm.Stop, 300*time.Millisecond, 2*time.Second
		}
		if nodes[i].Role == llm.RoleTool {
			nodes[i].Results = map[string]store.Outcome{callID(seed, i-1): {Duration: 12 * time.Millisecond}}
		}
	}
	return nodes
}

func callID(seed uint64, i int) string { return fmt.Sprintf("call_%d_%d", seed, i) }

func message(r *rand.Rand, i int, seed uint64) llm.Message {
	text := func(words int) llm.Part { return llm.Part{Kind: llm.Text, Text: Prose(r, words)} }
	answer := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Origin: Origin, Model: Model, Parts: parts}
	}
	switch i % perTurn {
	case 0:
		return llm.Message{Role: llm.RoleUser, Parts: []llm.Part{text(20)}}
	case 1:
		return answer(llm.Part{Kind: llm.Thinking, Text: Prose(r, 25)}, text(8),
			llm.Part{Kind: llm.Call, ID: callID(seed, i), Name: "read", Input: fmt.Sprintf(`{"path":"dir/file%d.go"}`, r.IntN(500))})
	case 2:
		return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: callID(seed, i-1), Name: "read", Text: Prose(r, 60)}}}
	}
	return answer(llm.Part{Kind: llm.Text, Text: "## " + Prose(r, 3) + "\n\n" + Prose(r, 40) + "\n\n- " + Prose(r, 8) + "\n- " + Prose(r, 8)})
}

// Prose returns n words, as varied as those of a natural language.
func Prose(r *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", int(r.ExpFloat64()*800))
	}
	return strings.Join(words, " ")
}

// Fill adds the given number of conversations and messages each, with folder as the
// directory, and returns their IDs, oldest first.
func Fill(db *store.DB, sessions, messages int, folder string) (ids []string, err error) {
	for i := range sessions {
		id, err := db.Import(store.Session{Dir: folder, Model: Model}, Nodes(messages, uint64(i+1)))
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Long returns the log of a conversation of n messages, in a store of its own in memory.
func Long(tb testing.TB, n int) *store.Log {
	tb.Helper()
	lib, err := store.OpenMemory()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = lib.Close() })
	ids, err := Fill(lib, 1, n, tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	log, err := lib.Resume(ids[0])
	if err != nil {
		tb.Fatal(err)
	}
	return log
}

// Branched returns a conversation with an image, thinking with state, a call, an abandoned
// branch, and settings, as a model of origin wrote it. An empty state is left out.
func Branched(id, model, origin, state string) (store.Session, []store.Node) {
	image := []byte("\x89PNG\r\n\x1a\nnot much of an image")
	thinking := llm.Part{Kind: llm.Thinking, Text: "hidden thought"}
	if state != "" {
		thinking.State = []byte(state)
	}
	node := func(seq, parent int, m llm.Message) store.Node {
		return store.Node{Seq: seq, Parent: parent, At: time.Unix(1_790_000_000+int64(seq), 0), Message: m}
	}
	nodes := []store.Node{
		node(1, 0, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: "look at this"}, {Kind: llm.Media, MIME: "image/png", Data: image, Width: 1, Height: 1}}}),
		node(2, 1, llm.Message{Role: llm.RoleAssistant, Origin: origin, Model: model, Parts: []llm.Part{thinking, {Kind: llm.Text, Text: "I read."}, {Kind: llm.Call, ID: "c1", Name: "read", Input: `{"path":"a.txt"}`}}}),
		node(3, 2, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "c1", Name: "read", Text: "ünïcode\n"}}}),
		node(4, 3, llm.Message{Role: llm.RoleAssistant, Origin: origin, Model: model, Parts: []llm.Part{{Kind: llm.Text, Text: "Done."}}}),
		node(5, 4, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: "a branch that was left"}}}),
		node(6, 4, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: "the other branch"}}}),
		node(7, 6, llm.Message{Role: llm.RoleAssistant, Origin: origin, Model: model, Parts: []llm.Part{{Kind: llm.Text, Text: "Yes."}}}),
	}
	return store.Session{ID: id, Title: "of " + model, Model: model, Effort: llm.EffortHigh, Dir: "/work", Head: 7, Pinned: true, Updated: time.Unix(1_790_000_100, 0)}, nodes
}
