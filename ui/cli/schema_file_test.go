package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A schema may be as large as the limit, and not one byte larger.
func TestSchemaFileOfTheLimit(t *testing.T) {
	const object = `{"type":"object"}`
	for size, ok := range map[int]bool{maxSchema: true, maxSchema + 1: false} {
		path := filepath.Join(t.TempDir(), "schema.json")
		if err := os.WriteFile(path, []byte(object+strings.Repeat(" ", size-len(object))), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := answerSchema(path); (err == nil && s != nil) != ok {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
