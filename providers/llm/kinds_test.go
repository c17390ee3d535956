package llm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	. "parley/providers/llm"
	"parley/providers/llmtest"
)

// TestEveryKindHasARow: each constant of type Kind has a row in the table of outputs, with all
// outputs.
func TestEveryKindHasARow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "llm.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[Kind]llmtest.KindRow{}
	for _, row := range llmtest.Kinds {
		rows[row.Part.Kind] = row
	}
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != "Kind" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kinds++
		if row := rows[Kind(text)]; len(row.Has) != 9 {
			t.Errorf("%s: %d ways in its row, want 9", text, len(row.Has))
		}
		return true
	})
	if kinds != len(rows) || kinds < 7 {
		t.Errorf("%d kinds, %d rows", kinds, len(rows))
	}
}
