package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A CommandLine is a program as the configuration names it: a list of words, or one line for a
// shell. The zero value is none.
type CommandLine struct {
	Words []string // program and arguments; one line with Shell
	Shell bool     // Words has one element, a line for a shell
}

// ShellLine returns a line for a shell; "" is none.
func ShellLine(line string) CommandLine {
	if line == "" {
		return CommandLine{}
	}
	return CommandLine{Words: []string{line}, Shell: true}
}

// IsZero reports whether there is no command.
func (c CommandLine) IsZero() bool { return len(c.Words) == 0 }

// MarshalJSON writes it as the configuration has it.
func (c CommandLine) MarshalJSON() ([]byte, error) {
	if c.Shell || c.IsZero() {
		return json.Marshal(strings.Join(c.Words, " "))
	}
	return json.Marshal(c.Words)
}

// WithArgs returns c with further arguments, for what is a program everywhere else. A text is the
// program itself where it is one word or the absolute path of a file; otherwise it stays a line for a
// shell, with the arguments after it. A relative path does not make it a program: what it names would
// depend on the folder, whose files are a stranger's.
func (c CommandLine) WithArgs(args ...string) CommandLine {
	if c.Shell && strings.ContainsFunc(c.Words[0], special) && !isFile(c.Words[0]) {
		return ShellLine(strings.Join(append(c.Words[:1:1], quoted(args)...), " "))
	}
	c.Shell = false
	c.Words = append(slices.Clip(c.Words), args...)
	return c
}

func isFile(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// special finds what a shell does not take as it is.
func special(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'\\$`&|;<>()*?[]#~!{}", r) }

// UnmarshalTOML reads a string or a list of strings.
func (c *CommandLine) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case string:
		*c = ShellLine(v)
		return nil
	case []any:
		*c = CommandLine{}
		for _, word := range v {
			text, ok := word.(string)
			if !ok {
				break
			}
			c.Words = append(c.Words, text)
		}
		if len(c.Words) == len(v) {
			return nil
		}
	}
	return errors.New(`a command is a line for the shell, or a list of words such as ["make", "test"]`)
}

// Validate returns an error for a command without a program.
func (c CommandLine) Validate() error {
	switch {
	case len(c.Words) == 0 || strings.TrimSpace(c.Words[0]) == "":
		return errors.New("command is missing")
	case strings.ContainsRune(strings.Join(c.Words, ""), 0):
		return errors.New("the command contains a NUL byte")
	}
	return nil
}

// String returns the command as a shell would take it.
func (c CommandLine) String() string {
	if c.Shell {
		return c.Words[0]
	}
	if c.IsZero() {
		return ""
	}
	return strings.Join(quoted(c.Words), " ")
}

// quoted returns words as a shell takes them for what they are.
func quoted(words []string) (quoted []string) {
	for _, word := range words {
		quoted = append(quoted, Quote(word))
	}
	return quoted
}

// Quote returns a word as a shell takes it for what it is: between quotes only if it has to be.
func Quote(word string) string {
	if word == "" || strings.ContainsFunc(word, special) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// A ShellText is a command that a shell always runs: a list is quoted for it. "" is none.
type ShellText string

// UnmarshalTOML reads a string or a list of strings.
func (t *ShellText) UnmarshalTOML(value any) error {
	var c CommandLine
	if err := c.UnmarshalTOML(value); err != nil {
		return err
	}
	*t = ShellText(c.String())
	if runtime.GOOS == "windows" && !c.Shell && !c.IsZero() { // for cmd
		*t = ShellText(`"` + strings.Join(c.Words, `" "`) + `"`)
	}
	return nil
}

// A Timeout is a time as the configuration has it: whole seconds, or a text such as "1m30s".
type Timeout time.Duration

// UnmarshalTOML reads seconds or a duration.
func (t *Timeout) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case int64:
		if v > 0 && v <= math.MaxInt64/int64(time.Second) {
			*t = Timeout(v) * Timeout(time.Second)
			return nil
		}
	case string:
		if d, err := time.ParseDuration(v); err == nil && d > 0 {
			*t = Timeout(d)
			return nil
		}
	}
	return fmt.Errorf(`timeout = %v: give seconds, or a time such as "90s"`, value)
}

// A Confinement is how the sandbox holds a program of the configuration.
type Confinement string

// The confinements.
const (
	Confined   Confinement = "on"      // as commands are, without network; the same as ""
	Networked  Confinement = "network" // as commands are, with network
	Unconfined Confinement = "off"     // it can do what the user can do
)

// Validate returns an error for an unknown value.
func (c Confinement) Validate() error {
	if c != "" && !slices.Contains([]Confinement{Confined, Networked, Unconfined}, c) {
		return fmt.Errorf("sandbox = %q: use one of %s, %s, %s", string(c), Confined, Networked, Unconfined)
	}
	return nil
}

// A Run is one run of a program from its start to its end.
type Run struct {
	Command        CommandLine
	Input          []byte // on standard input
	Timeout        time.Duration
	Sandbox        Confinement
	RequireSandbox bool // it does not run where there is no sandbox
}

// A Result is the result of a Run. The output is unsanitized, unless said.
type Result struct {
	Stdout []byte // up to a limit
	Stderr string // its end, sanitized
	Exit   int    // exit status; -1: it was ended, or did not start
	Err    error  // why it did not start or was ended; nil: it ended by itself
}
