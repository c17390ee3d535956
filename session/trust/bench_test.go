package trust_test

import (
	"fmt"
	"testing"

	"parley/session/trust"
)

// BenchmarkLoad reads a folder with 200 prompts, which happens before the first frame.
func BenchmarkLoad(b *testing.B) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf(".claude/commands/p%d.md", i)] = "---\ndescription: number\n---\nDo $1 and more words to read here in this prompt\n"
	}
	root := tree(b, files)
	for b.Loop() {
		if o, err := trust.Load(root, nil, extras...); err != nil || len(o.Files) != len(files) {
			b.Fatal(err)
		}
	}
}
