package media

import (
	"strings"
	"testing"

	"parley/providers/llm"
)

// TestFilmCheckedQuotes shows a server's name for its file type on one short line.
func TestFilmCheckedQuotes(t *testing.T) {
	_, err := checked(llm.Blob{MIME: "\x1b[2J\u202e" + strings.Repeat("x", 5000)}, llm.VideoOutput{}, strings.NewReader("{}"))
	if err == nil || len(err.Error()) > 200 || strings.ContainsAny(err.Error(), "\x1b\u202e") {
		t.Errorf("%q", err)
	}
}
