package uitest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// docs is the directory of the manual, from a package two levels below the module.
const docs = "../../docs"

// ReadDoc returns a page of the manual, by the name of its file without .md.
func ReadDoc(t *testing.T, page string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(docs, page+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// GeneratedDoc holds that text is what a page has between the comments "begin NAME" and "end
// NAME". With the flag -update it writes it there.
func GeneratedDoc(t *testing.T, page, name, text string) {
	t.Helper()
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n"
	whole := ReadDoc(t, page)
	before, rest, opened := strings.Cut(whole, begin)
	was, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("docs/%s.md has no part between %q and %q", page, begin, end)
	}
	if text = "\n" + text + "\n"; text == was {
		return
	}
	if !*update {
		t.Errorf("docs/%s.md: the part %q is old (-update writes it)", page, name)
		onlyIn(t, "has", was, text)
		onlyIn(t, "lacks", text, was)
		return
	}
	file := filepath.Join(docs, page+".md")
	err := os.WriteFile(file+".new", []byte(before+begin+text+end+after), 0o644)
	if err == nil {
		err = os.Rename(file+".new", file) // other tests read it meanwhile
	}
	if err != nil {
		t.Fatal(err)
	}
}

// onlyIn logs the lines of one text that another has not.
func onlyIn(t *testing.T, what, text, other string) {
	t.Helper()
	others := strings.Split(other, "\n")
	for line := range strings.SplitSeq(text, "\n") {
		if !slices.Contains(others, line) {
			t.Logf("it %s %s", what, line)
		}
	}
}
