package tools

import (
	"strings"
	"testing"
)

// A byte order mark is no part of the first line: ^ matches after it.
func TestGrepBehindByteOrderMark(t *testing.T) {
	f := open(t, map[string]string{"f": "\uFEFFpackage a\r\npackage b\r\n"})
	if text := f.must("grep", "pattern", "^package"); !strings.Contains(text, "1: package a\n") || !strings.Contains(text, "2: package b") {
		t.Errorf("got %q", text)
	}
}
