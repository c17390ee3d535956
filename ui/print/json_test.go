package print

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// A long text is the same JSON as it would be in one piece.
func TestLongJSON(t *testing.T) {
	text := strings.Repeat("a\"\\\n\u009b€😀\u202e", pieceSize/8)
	o := object{{"type", "done"}, {"text", text}, {"empty", ""}, {"exit", 8}}
	var b bytes.Buffer
	if err := write(&b, o); err != nil {
		t.Fatal(err)
	}
	if want := append(encode(o), '\n'); !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%d bytes, want %d", b.Len(), len(want))
	}
	var back struct{ Text string }
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Text != text {
		t.Errorf("the text did not come back: %v", err)
	}
}
