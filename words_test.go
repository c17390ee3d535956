package main

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// crookedWords match phrases in comments that are hard to read, with better words.
var crookedWords = []struct {
	pattern *regexp.Regexp
	use     string
}{
	{regexp.MustCompile(`\bbehind\b( an?| the)? ?(\w*)`), `"after", or the noun`},
	{regexp.MustCompile(`\bin front\b`), `"before"`},
	{regexp.MustCompile(`\bthere (is|are) none (of|in)\b`), `"none", or the case itself`},
	{regexp.MustCompile(`\bwhat there (is|are|was)\b`), "the noun"},
	{regexp.MustCompile(`\bof which\b`), `"whose", or a second sentence`},
	{regexp.MustCompile(`\bwhoever\b`), "the noun: users, callers, servers"},
	{regexp.MustCompile(`^(What|Whose|Where)\b`), "the noun, first"},
}

// placesBehind match nouns that may follow the first of crookedWords.
var placesBehind = regexp.MustCompile(`\b(proxy|proxies|NAT|firewall|gateway|gateways)$`)

// TestPlainWords checks the comments of all files for crookedWords.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	checked := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file := files.AddFile(name, -1, len(text))
		var s scanner.Scanner
		s.Init(file, text, nil, scanner.ScanComments)
		before := 0 // line of the previous comment
		for {
			pos, kind, comment := s.Scan()
			if kind == token.EOF {
				return nil
			}
			line := file.Line(pos)
			if kind != token.COMMENT {
				continue
			}
			checked++
			words := strings.TrimSpace(strings.TrimLeft(comment, "/*"))
			for _, c := range crookedWords {
				found := c.pattern.FindString(words)
				continued := strings.HasPrefix(c.pattern.String(), "^") && before == line-1
				if found != "" && !continued && !placesBehind.MatchString(found) {
					t.Errorf("%s:%d: %q in a comment: use %s", name, line, found, c.use)
				}
			}
			before = line
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 10_000 {
		t.Errorf("%d comments were read, at least 10,000 are there", checked)
	}
}
