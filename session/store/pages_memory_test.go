package store

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"parley/providers/llm"
)

// Messages that are read hold little more memory than what they say, of whatever kind that is.
func TestPagesHoldWhatTheySay(t *testing.T) {
	const n, size = 2 * minPaged, 8 << 10
	lines := func(end string) string { return strings.Repeat("some line of code "+end, size/20) }
	result := func(text string) llm.Message {
		return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "c", Name: "edit", Text: text}}}
	}
	for name, node := range map[string]Node{
		"lines":         {Message: result(lines("\n"))},
		"short lines":   {Message: result(lines("\n")[:2<<10])},
		"CRLF":          {Message: result(lines("\r\n"))},
		"escapes":       {Message: result(lines("\x1b[0m\u2028"))},
		"short escapes": {Message: result(lines("\x1b\v\U0001F600")[:1<<10])},
		"diff":          {Message: result("edited"), Results: map[string]Outcome{"c": {Diff: lines("\n")}}},
		"state":         {Message: llm.Message{Role: llm.RoleAssistant, Origin: "o", Parts: []llm.Part{{Kind: llm.Thinking, State: []byte(`"` + lines("") + `"`)}}}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes, content := make([]Node, n), 0
			for i := range nodes {
				nodes[i] = node
				nodes[i].Seq, nodes[i].Parent = i+1, i
				content += len(node.Parts[0].Text) + len(node.Parts[0].State) + len(node.Results["c"].Diff)
			}
			_, l := resumed(t, nodes)
			held := func() int {
				var m runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc)
			}
			before := held()
			read, err := l.Read(1, n)
			if err != nil {
				t.Fatal(err)
			}
			const each = 1500 // bytes of a message beside its text
			if got := held() - before; got > content*3/2+n*each {
				t.Errorf("%.1f MB hold %.1f MB", float64(got)/1e6, float64(content)/1e6)
			}
			runtime.KeepAlive(read)
		})
	}
}

// BenchmarkRead reads messages of several sizes.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{1 << 10, 4 << 10, 16 << 10, 60 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			nodes := make([]Node, 4*minPaged)
			for i := range nodes {
				nodes[i] = says(i+1, llm.RoleUser, strings.Repeat("some line of code\n", size/18))
			}
			_, l := resumed(b, nodes)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Read(1, len(nodes)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
