package print

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/ui/app"
)

// maxInput sets how much is read from standard input; more is refused rather than
// cut, for half a file gives a wrong answer.
const maxInput = 32 << 20

// Prompt merges the words of the command line with standard input. Words come
// first, then a blank line and <stdin>…</stdin>; standard input alone is the
// prompt as it is. What is not text becomes an attachment.
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

// inputSilence sets how long an input is waited for before it is looked who could write
// to it, which takes as long as there are processes.
const inputSilence = 20 * time.Millisecond

// ReadStdin reads standard input to its end. With bounded set (there are words
// on the command line already) an input that nobody seems to write to is given
// up after a while: programs that start others often leave it open. Notice is
// called when that happens, and when waiting takes long.
func ReadStdin(f *os.File, bounded bool, notice func(string)) ([]byte, error) {
	return readInput(f, bounded, func() bool { return inputHasWriter(f) }, notice)
}

// readInput is ReadStdin with hasWriter, which is asked only of an input that is silent.
func readInput(f io.Reader, bounded bool, hasWriter func() bool, notice func(string)) ([]byte, error) {
	type read struct {
		b   []byte
		err error
	}
	first, all := make(chan struct{}), make(chan read, 1)
	go func() { // lives until the input ends; the program may end before it
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
	if bounded && !isClosed(first, inputSilence) && !hasWriter() && !isClosed(first, inputTimeout) {
		notice(fmt.Sprintf("nothing on standard input for %s, and no other program of this pipeline writes to it: continuing without", inputTimeout))
		return nil, nil
	}
	if !isClosed(first, 2*time.Second) {
		notice("waiting for standard input (ctrl+d ends it)")
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

// decoded returns input as UTF-8, with a notice if it was text of another encoding.
// What is no text stays as it is.
func decoded(input []byte, notice func(string)) []byte {
	if isText(input) {
		return input
	}
	text, from, ok := app.DecodeText(input)
	if !ok || from == "" {
		return input
	}
	notice("Standard input converted from " + from + " to UTF-8")
	return []byte(text)
}
