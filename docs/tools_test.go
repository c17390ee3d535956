package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"parley/tools/act"
)

// TestTools holds the rows of parley's own tools in tools.md, which come from act.Tools; -update writes them.
func TestTools(t *testing.T) {
	var rows strings.Builder
	for i := 0; i < len(act.Tools); {
		f, names := act.Tools[i], ""
		for ; i < len(act.Tools) && act.Tools[i].Does == f.Does; i++ {
			names += ", `" + act.Tools[i].Name + "`"
		}
		rows.WriteString("| " + strings.TrimPrefix(names, ", ") + " | " + f.Does + " | " + f.InAsk + " |\n")
	}
	page, err := os.ReadFile("tools.md")
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile("(?s)(\\| Tool \\|[^\n]*\n[^\n]*\n)(.*?)(\\| `skill` \\|)").FindSubmatchIndex(page)
	if table == nil {
		t.Fatal("tools.md has no table of tools with a row for skill")
	}
	if was := string(page[table[4]:table[5]]); was != rows.String() {
		if !*update {
			t.Fatalf("tools.md says\n%s\nwant (-update writes it)\n%s", was, rows.String())
		}
		page = append(append(page[:table[4]:table[4]], rows.String()...), page[table[5]:]...)
		if err := os.WriteFile("tools.md", page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
