package cachewatch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session/cachewatch"
)

// BenchmarkObserve measures what the ledger adds to a request with 40 tools and a system
// prompt of 8 KB: as much with 10,000 messages as with ten.
func BenchmarkObserve(b *testing.B) {
	req := llm.Request{System: strings.Repeat("system  ", 1000), Effort: llm.EffortHigh}
	for i := range 40 {
		req.Tools = append(req.Tools, llm.Tool{Name: fmt.Sprint("tool", i), Description: strings.Repeat("describe ", 60), Schema: []byte(strings.Repeat(" ", 600))})
	}
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			req := req
			for i := range n {
				req.Messages = append(req.Messages, llm.UserText(strings.Repeat(fmt.Sprint(i), 200)))
			}
			var l cachewatch.Tracker
			at := time.Unix(1_800_000_000, 0)
			usage := llm.Usage{Input: 100 * n, CacheRead: 100*n - 100, CacheWrite: 100}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p, first := cachewatch.PrefixOf(req)
				r := cachewatch.Request{Model: "a/b", At: at, First: first, LastSeq: n + i, Usage: usage}
				l.Observe(r, p, cachewatch.Facts{}, func(cachewatch.Request) cachewatch.Cause { return "" })
			}
		})
	}
}
