package archive

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/session/transfer"
)

// TestProgramsAreNamed holds that users are told of every program whose conversations are read:
// those with a golden.
func TestProgramsAreNamed(t *testing.T) {
	places := map[string]string{"ErrNoConversation of transfer.go": transfer.ErrNoConversation.Error()}
	for place, path := range map[string]string{
		"README.md": "../../README.md", "docs/sessions.md": "../../docs/sessions.md", "importHelp of ui/cli/cmd/sessions": "../../ui/cli/cmd/sessions/archive.go",
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		places[place] = string(text)
	}
	goldens, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(goldens) == 0 {
		t.Fatalf("%v, %v", goldens, err)
	}
	for _, golden := range goldens {
		name := strings.FieldsFunc(filepath.Base(golden), func(r rune) bool { return r == '.' || r == '-' })[0]
		if name == "everything" { // an export
			continue
		}
		word := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(name) + `\b`)
		for place, text := range places {
			if !word.MatchString(text) {
				t.Errorf("%s does not name %s, whose conversations are imported", place, name)
			}
		}
	}
}
