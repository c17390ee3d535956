package tools

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// maxDiff is the largest text, in bytes, that is compared line by line; a
// larger one is shown as one replaced block.
const maxDiff = 512 << 10

// unifiedDiff returns the complete unified diff between two versions of a file. From
// reports whether the file existed before.
func unifiedDiff(file string, from bool, before, after string) string {
	if before == after {
		return ""
	}
	label := "a/" + quotePath(file)
	if !from {
		label = "/dev/null"
	}
	// Leave out common lines at the beginning and the end, except for a few lines of context.
	head := commonHead(before, after)
	tail := commonTail(before[head:], after[head:])
	start := backLines(before, head, udiff.DefaultContextLines)
	end := forwardLines(before, len(before)-tail, udiff.DefaultContextLines)
	a := before[start:end]
	b := after[start : len(after)-(len(before)-end)]

	edits := []udiff.Edit{{Start: head - start, End: len(before) - tail - start, New: after[head : len(after)-tail]}}
	if len(a)+len(b) <= maxDiff {
		edits = udiff.Lines(a, b)
	}
	diff, err := udiff.ToUnifiedDiff(label, "b/"+quotePath(file), a, edits, udiff.DefaultContextLines)
	if err != nil {
		panic(err) // edits computed by Lines always apply
	}
	above := strings.Count(before[:start], "\n")
	for _, h := range diff.Hunks {
		h.FromLine += above
		h.ToLine += above
	}
	return diff.String()
}

// FileDiff returns the unified diff between two contents of a file; for binary content, a line
// that says so. From reports whether the file existed before.
func FileDiff(file string, from bool, before, after []byte) string {
	for _, content := range [][]byte{before, after} {
		if kind := binaryKind(content); kind != "" {
			return fmt.Sprintf("%s: %s, %d → %d bytes\n", quotePath(file), kind, len(before), len(after))
		}
	}
	return unifiedDiff(file, from, string(before), string(after))
}

// commonHead returns the length of the longest common prefix of a and b in whole lines.
func commonHead(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return strings.LastIndexByte(a[:n], '\n') + 1
}

// commonTail returns the length of the longest common suffix of a and b in
// whole lines.
func commonTail(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	cut := strings.IndexByte(a[len(a)-n:], '\n')
	if cut < 0 {
		return 0
	}
	return n - cut - 1
}

// backLines returns the offset n lines before at, the beginning of a line.
func backLines(text string, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		at = strings.LastIndexByte(text[:at-1], '\n') + 1
	}
	return at
}

// forwardLines returns the offset n lines after at, the beginning of a line.
func forwardLines(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return len(text)
		}
		at += next + 1
	}
	return at
}
