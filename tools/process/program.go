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

// A CommandLine is a program in the configuration: a list of words, or one line for a shell.
// The zero value is no command.
type CommandLine struct {
	Words []string // program and arguments; a single line if Shell is set
	Shell bool     // Words has one element, a line for a shell
}

// ShellLine returns a line for a shell; zero if line is "".
func ShellLine(line string) CommandLine {
	if line == "" {
		return CommandLine{}
	}
	return CommandLine{Words: []string{line}, Shell: true}
}

// IsZero reports whether there is no command.
func (c CommandLine) IsZero() bool { return len(c.Words) == 0 }

// MarshalJSON encodes c as in the configuration.
func (c CommandLine) MarshalJSON() ([]byte, error) {
	if c.Shell || c.IsZero() {
		return json.Marshal(strings.Join(c.Words, " "))
	}
	return json.Marshal(c.Words)
}

// WithArgs returns c with further arguments. A text that is one word or the absolute path of a file
// is the program itself; any other text stays a line for a shell, followed by the arguments. A
// relative path is not treated as a program, because it would depend on the directory, whose files
// are untrusted.
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

// special reports whether a shell interprets r.
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

// String returns the command in shell syntax.
func (c CommandLine) String() string {
	if c.Shell {
		return c.Words[0]
	}
	if c.IsZero() {
		return ""
	}
	return strings.Join(quoted(c.Words), " ")
}

// quoted returns words quoted for a shell.
func quoted(words []string) (quoted []string) {
	for _, word := range words {
		quoted = append(quoted, Quote(word))
	}
	return quoted
}

// Quote quotes a word for a shell if necessary.
func Quote(word string) string {
	if word == "" || strings.ContainsFunc(word, special) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// A ShellText is a command always run by a shell; a list of words is quoted. "" is no command.
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

// A Timeout is a duration in the configuration: whole seconds, or a text such as "1m30s".
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

// A Confinement is the sandboxing of a configured program.
type Confinement string

// The confinements.
const (
	Confined   Confinement = "on"      // like commands, without network; same as ""
	Networked  Confinement = "network" // like commands, with network
	Unconfined Confinement = "off"     // it has the user's rights
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
	RequireSandbox bool // do not run the program without a sandbox
}

// A Result is the result of a Run. Output is unsanitized unless noted.
type Result struct {
	Stdout []byte // up to a limit
	Stderr string // the end of it, sanitized
	Exit   int    // exit status; -1: it was ended, or did not start
	Err    error  // why it did not start or was ended; nil if it ended by itself
}
