package cmdutil

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/session/attach"
)

// maxInput is the greatest size of standard input, in bytes. Larger input is refused rather than truncated, because
// half a file gives a wrong answer.
const maxInput = 32 << 20

// Prompt returns the parts of a prompt from the words of the command line and standard input: the
// words, a blank line and <stdin>…</stdin>. Without words, standard input is the prompt as it is.
// Input that is not text becomes an attachment. It returns nil if both are empty.
func Prompt(words []string, stdin []byte) []llm.Part {
	prompt := strings.Join(words, " ")
	var parts []llm.Part
	switch {
	case len(stdin) == 0:
	case !isText(stdin):
		parts = append(parts, llm.Part{Kind: llm.Media, Name: "stdin", MIME: http.DetectContentType(stdin), Data: stdin})
	case prompt == "":
		prompt = string(stdin)
	default:
		prompt += "\n\n<stdin>\n" + strings.TrimSuffix(string(stdin), "\n") + "\n</stdin>"
	}
	if strings.TrimSpace(prompt) != "" {
		parts = append(parts, llm.Part{Kind: llm.Text, Text: prompt})
	}
	return parts
}

// isText reports whether b is UTF-8 without NUL, perhaps with a byte order mark.
func isText(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsRune(b, 0)
}

// inputSilence is how long to wait for input before searching for a process that could write it. The search is slow on
// a machine with many processes.
const inputSilence = 20 * time.Millisecond

// ReadStdin reads standard input to its end. If bounded is set, because the command line has a prompt already, it stops
// waiting after inputTimeout if no process seems to write to the input: programs often start others with an open input.
// It calls notice when it does so, and when it waits for long on a pipe; callers do not use it for a terminal. It
// returns an error if there are more than maxInput bytes.
func ReadStdin(f *os.File, bounded bool, notice func(string)) ([]byte, error) {
	return readInput(f, bounded, func() bool { return inputHasWriter(f) }, notice)
}

// readInput is ReadStdin with hasWriter, which is called only if the input is silent.
func readInput(f io.Reader, bounded bool, hasWriter func() bool, notice func(string)) ([]byte, error) {
	type read struct {
		b   []byte
		err error
	}
	first, all := make(chan struct{}), make(chan read, 1)
	go func() { // runs until the input or the program ends
		var buf bytes.Buffer
		one := make([]byte, 64<<10)
		n, err := f.Read(one)
		close(first)
		buf.Write(one[:n])
		if err == nil {
			_, err = io.Copy(&buf, io.LimitReader(f, maxInput+1))
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		all <- read{buf.Bytes(), err}
	}()
	waiting := sync.OnceFunc(func() { notice("waiting for standard input") })
	for wait := inputSilence; bounded && !isClosed(first, wait); wait = min(max(2*wait, inputTimeout), time.Minute) {
		if wait > inputSilence {
			waiting()
		}
		// The search is repeated, because a process that is being started has the descriptors of its parent for a
		// moment.
		if !hasWriter() && !isClosed(first, inputTimeout) {
			notice(fmt.Sprintf("nothing on standard input for %s, and no other program of this pipeline writes to it: continuing without", inputTimeout))
			return nil, nil
		}
	}
	if !isClosed(first, 2*time.Second) {
		waiting()
	}
	r := <-all
	if r.err != nil {
		return nil, fmt.Errorf("standard input: %w", r.err)
	}
	if len(r.b) > maxInput {
		return nil, fmt.Errorf("standard input has more than %d MB", maxInput>>20)
	}
	return decoded(r.b, notice), nil
}

// isClosed reports whether c is closed within wait.
func isClosed(c <-chan struct{}, wait time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(wait):
		return false
	}
}

// decoded returns text converted to UTF-8, with a notice if it had another encoding. It returns
// binary input as it is.
func decoded(input []byte, notice func(string)) []byte {
	if isText(input) {
		return input
	}
	text, from, ok := attach.DecodeText(input)
	if !ok || from == "" {
		return input
	}
	notice("Standard input converted from " + from + " to UTF-8")
	return []byte(text)
}
