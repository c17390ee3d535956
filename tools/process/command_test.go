package process

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestCommandForms: each command of a configuration is a text or a list, whatever it is for.
func TestCommandForms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a program")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		value             any
		args              []string
		line, json, whole string // String, MarshalJSON, and what WithArgs comes to
	}{
		{"npx", nil, "npx", `"npx"`, `["npx"]`},
		{"npx", []string{"-y", "x"}, "npx", `"npx"`, `["npx" "-y" "x"]`},
		{"npx -y x", nil, "npx -y x", `"npx -y x"`, `["npx -y x"] in a shell`},
		{"my program", []string{"x"}, "my program", `"my program"`, `["my program x"] in a shell`},
		{"npx -y x", []string{"a b", "--c", "$D"}, "npx -y x", `"npx -y x"`, `["npx -y x 'a b' --c '$D'"] in a shell`},
		{file, []string{"a b"}, file, fmt.Sprintf("%q", file), fmt.Sprintf("[%q \"a b\"]", file)},
		{file, nil, file, fmt.Sprintf("%q", file), fmt.Sprintf("[%q]", file)},
		{[]any{"npx", "-y", "a b"}, nil, "npx -y 'a b'", `["npx","-y","a b"]`, `["npx" "-y" "a b"]`},
		{[]any{"npx"}, []string{"x"}, "npx", `["npx"]`, `["npx" "x"]`},
		{[]any{}, nil, "", `""`, `[]`},
		{"", nil, "", `""`, `[]`},
	} {
		var c CommandLine
		var text ShellText
		if err := c.UnmarshalTOML(tt.value); err != nil {
			t.Errorf("%v: %v", tt.value, err)
		}
		if err := text.UnmarshalTOML(tt.value); err != nil || string(text) != tt.line || c.String() != tt.line {
			t.Errorf("%v: %q and %q, %v; want %q", tt.value, text, c, err, tt.line)
		}
		if got, err := json.Marshal(c); err != nil || string(got) != tt.json {
			t.Errorf("%v: %s, %v; want %s", tt.value, got, err, tt.json)
		}
		whole := c.WithArgs(tt.args...)
		got := fmt.Sprintf("%q", whole.Words)
		if whole.Shell {
			got += " in a shell"
		}
		if got != tt.whole {
			t.Errorf("%v with %q: %s, want %s", tt.value, tt.args, got, tt.whole)
		}
	}
	for _, value := range []any{1, true, []any{"x", 1}} {
		if err := new(ShellText).UnmarshalTOML(value); err == nil {
			t.Errorf("%v is a command", value)
		}
	}
}

// A file of the current folder does not become the program that a text names.
func TestWithArgsForeignFile(t *testing.T) {
	t.Chdir(t.TempDir())
	const line = "npx -y @modelcontextprotocol/server-github"
	if err := os.MkdirAll(filepath.Dir(line), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(line, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{{nil, line}, {[]string{"--dir", "a b"}, line + " --dir 'a b'"}} {
		if got := ShellLine(line).WithArgs(tt.args...); !got.Shell || len(got.Words) != 1 || got.Words[0] != tt.want {
			t.Errorf("with %q: %q, shell %v, want the line %q", tt.args, got.Words, got.Shell, tt.want)
		}
	}
}
