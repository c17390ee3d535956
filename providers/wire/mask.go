package wire

import (
	"context"
	"errors"
	"net/http"

	"parley/providers/llm"
	"parley/providers/token"
	"parley/tools/sanitize"
)

const (
	redacted     = sanitize.Redacted
	messageLimit = 2000    // runes of a message after masking
	rawLimit     = 8 << 10 // runes before masking, so that truncation does not split a secret, which would then not be found
)

// A mask removes secrets from texts.
type mask struct{ sanitize.Mask }

// newMask returns the mask of a provider's secrets.
func newMask(secrets []string) mask { return mask{sanitize.NewMask(secrets, 4)} }

// MaskText returns a function that removes secrets from text as [sanitize.Mask.Excerpt] does, in all
// encodings. It does not look for secrets shorter than shortest bytes.
func MaskText(secrets []string, shortest int) func(string) string {
	return sanitize.NewMask(secrets, max(shortest, 4)).Excerpt
}

func (m mask) header(h http.Header) http.Header {
	h = h.Clone()
	for _, values := range h {
		for i, v := range values {
			values[i] = m.Text(v)
		}
	}
	return h
}

// oneLine returns s on one line, truncated to limit runes.
func oneLine(s string, limit int) string {
	return sanitize.Truncate(sanitize.Words(sanitize.Plain(s)), limit)
}

// MaskErrors returns m with errors free of secrets and of the tokens of tokens, which may be nil. A
// Client masks its own errors; these come from inside an answer.
func MaskErrors(m llm.Model, secrets []string, tokens *token.Source) llm.Model {
	return masked{m, newMask(secrets), tokens}
}

type masked struct {
	llm.Model
	mask   mask
	tokens *token.Source
}

func (m masked) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		for event, err := range m.Model.Stream(ctx, req) {
			if err != nil && m.tokens != nil {
				err = newMask(m.tokens.Values()).err(err)
			}
			if !yield(event, m.mask.err(err)) {
				return
			}
		}
	}
}

// err returns err, or its masked text as an error.
func (m mask) err(err error) error {
	if err == nil || m.IsZero() {
		return err
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		return err
	}
	apiErr := *e
	mapWords(&apiErr, m.Text)
	if apiErr.Message == e.Message && apiErr.Code == e.Code && apiErr.Param == e.Param && apiErr.ID == e.ID {
		return err
	}
	if apiErr.Err != nil && m.Text(apiErr.Err.Error()) != apiErr.Err.Error() {
		apiErr.Err = nil
	}
	return &apiErr
}

// mapWords applies word to the texts of an error.
func mapWords(e *llm.Error, word func(string) string) {
	for _, field := range []*string{&e.Message, &e.Code, &e.Param, &e.ID} {
		*field = word(*field)
	}
}

// MaskError returns err if it contains no secrets, else an error with its text masked.
func MaskError(err error, secrets []string) error { return newMask(secrets).err(err) }
