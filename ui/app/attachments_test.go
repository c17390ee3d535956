package app

import (
	"context"
	"errors"
	"parley/tools/mcp"
	"slices"
	"strings"
	"testing"
)

// An address behind an @ is fetched and goes with the prompt; one that is part of a sentence
// ends before its punctuation, and without a way to the web it is text.
func TestMentionedAddresses(t *testing.T) {
	var asked []string
	o := Options{MCP: MCP{Servers: func() *mcp.Servers { return nil }}}
	o.FetchFile = func(_ context.Context, address string) (string, []byte, error) {
		asked = append(asked, address)
		if strings.Contains(address, "missing") {
			return "", nil, errors.New(address + " was not fetched: 404 Not Found")
		}
		return "notes.txt", []byte("hello\n"), nil
	}
	parts, _, err := o.Expand(t.Context(), "see (@https://example.com/notes.txt), and tell me")
	if err != nil || len(parts) != 1 || !strings.Contains(parts[0].Text, "hello") || !slices.Equal(asked, []string{"https://example.com/notes.txt"}) {
		t.Errorf("%+v, %v, asked %q", parts, err, asked)
	}
	if unfound := o.MissingMention("see @https://example.com/notes.txt."); unfound != "" {
		t.Errorf("not found: %q", unfound)
	}
	if _, _, err := o.Expand(t.Context(), "@https://example.com/missing"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("an address that is not there: %v", err)
	}
	o.FetchFile = nil
	if o.Mentions("@https://example.com/") {
		t.Error("mentions without a way to the web")
	}
}
