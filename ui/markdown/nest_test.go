package markdown

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"

	"parley/providers/llmtest"
	"parley/ui/theme"
)

// However deeply lists are nested, the number of open containers is limited,
// because each line is checked for each of them, so that time grows with their
// number. No text is lost.
func TestNestedLists(t *testing.T) {
	const levels = 5 * maxNesting
	for name, indent := range map[string]string{"spaces": "  ", "tabs": "\t", "quotes": "> "} {
		if llmtest.Race && name != "quotes" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for i := range levels {
				b.WriteString(strings.Repeat(indent, i) + "- item\n")
			}
			doc := parse(structure(), limitNesting(b.String()), &scope{Context: parser.NewContext()})
			if got := depthOf(doc); got > 3*maxNesting {
				t.Errorf("%d blocks stand in one another", got)
			}
			if got := strings.Count(Render(b.String(), 80, theme.Plain()), "item"); got != levels {
				t.Errorf("%d of %d items are shown", got, levels)
			}
		})
	}
	few := strings.Repeat("  ", 20) + "- deep"
	for i := 19; i >= 0; i-- {
		few = strings.Repeat("  ", i) + "- item\n" + few
	}
	if got := depthOf(parse(structure(), limitNesting(few), &scope{Context: parser.NewContext()})); got < 40 {
		t.Errorf("21 lists in one another are %d blocks", got)
	}
}

// depthOf returns the depth of nested blocks.
func depthOf(n ast.Node) (deepest int) {
	depth := 0
	_ = ast.Walk(n, func(_ ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		depth++
		deepest = max(deepest, depth)
		return ast.WalkContinue, nil
	})
	return deepest
}
