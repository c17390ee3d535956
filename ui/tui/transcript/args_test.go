package transcript

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPeek(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing yet", "", ""},
		{"an open object", `{`, ""},
		{"an open key", `{"comm`, ""},
		{"a key without its value", `{"command":`, ""},
		{"a value that grows", `{"command":"go te`, "go te"},
		{"a whole value", `{"command":"go test","timeout":3}`, "go test"},
		{"cut in an escape", `{"command":"a\`, "a"},
		{"cut in a code point", `{"command":"a\u00`, "a"},
		{"cut between surrogates", `{"command":"a\ud83d\ude`, "a"},
		{"escapes", `{"command":"echo \"x\"\n\u00e9"}`, "echo \"x\"\né"},
		{"the more telling wins", `{"path":"src","pattern":"TODO"}`, "TODO"},
		{"in either order", `{"pattern":"TODO","path":"src"}`, "TODO"},
		{"other fields are passed over", `{"content":"\"path\":\"no\"","path":"main.go"}`, "main.go"},
		{"nested fields do not count", `{"options":{"path":"no"},"list":["path","x"],"path":"yes"}`, "yes"},
		{"a value named like a key", `{"kind":"path","x":"command"}`, ""},
		{"numbers are no strings", `{"path":12,"file":"f"}`, "f"},
		{"not an object", `["path","x"]`, ""},
		{"not JSON", `path=main.go`, ""},
		{"long content is not read", `{"content":"` + strings.Repeat("x", titleInputBytes) + `","path":"p"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := titleOf(c.in); got != c.want {
				t.Errorf("peek(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

// Every prefix of the arguments shows a prefix of the command.
func FuzzPeek(f *testing.F) {
	f.Add("go test ./...", 20)
	f.Add("a\n\"\\\u2028é👨‍👩‍👧", 14)
	f.Add("", 3)
	f.Fuzz(func(t *testing.T, command string, cut int) {
		if !utf8.ValidString(command) || len(command) > 200 {
			t.Skip()
		}
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		if cut < 0 || cut > len(args) {
			t.Skip()
		}
		got := strings.TrimSuffix(titleOf(string(args[:cut])), "\uFFFD") // half of a pair
		if !strings.HasPrefix(command, got) && utf8.ValidString(got) {
			t.Errorf("peek(%q) = %q, no prefix of %q", args[:cut], got, command)
		}
		if whole := titleOf(string(args)); whole != command {
			t.Errorf("peek(%q) = %q, want %q", args, whole, command)
		}
	})
}
