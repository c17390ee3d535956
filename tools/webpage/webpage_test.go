package webpage

import (
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
)

// Pages that are hard on a converter.
func BenchmarkHTML(b *testing.B) {
	at, err := url.Parse("https://example.com/")
	if err != nil {
		b.Fatal(err)
	}
	for name, piece := range map[string]string{
		"paragraphs": "<p>some text with <b>bold</b> and <a href=x>a link</a></p>", "open tags": "<b><i>x", "cells": "<td>x",
		"items": "<ul><li>x", "text": "a*b_c[d]` ", "quotes": "<blockquote>x</blockquote>", "brackets": "[[[", "spaces": " \n ", "lines": "x<br>",
		"rows": "<tr><td>x<td>y", "formatting": "<a><p>", "code": "<code>`</code>",
	} {
		text := strings.Repeat(piece, 2<<20/len(piece))
		if name == "cells" || name == "rows" {
			text = "<table><tr>" + text
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				page, err := parse(text, at)
				if err != nil {
					b.Log(err)
					continue
				}
				if _, err := page.toMarkdown(); err != nil {
					b.Log(err)
				}
			}
		})
	}
}

// A page takes memory in proportion to its length, whatever the parser merges: attributes of further html and
// body tags, text between tags that it ignores.
func TestHTMLGrowth(t *testing.T) {
	at, err := url.Parse("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	allocated := func(text string) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		page, err := parse(text, at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := page.toMarkdown(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	for name, page := range map[string]struct{ start, piece string }{
		"html tags": {"", "<html a%d=x>"}, "body tags": {"", "<body a%d=x>"}, "body tags in a picture": {"<svg><style>", "<body a%d=x>"},
		"ignored end tags": {"", "x</i>%d"}, "text in a table": {"<table>", "x<tr>%d"}, "text in a choice": {"<select><option>", "x</b>%d"}, "text in a cell": {"<table><td>", "x</i>%d"},
	} {
		t.Run(name, func(t *testing.T) {
			shape := func(n int) string {
				var b strings.Builder
				b.WriteString(page.start)
				for i := 0; b.Len() < n; i++ {
					fmt.Fprintf(&b, page.piece, i)
				}
				return b.String()
			}
			if small, large := allocated(shape(64<<10)), allocated(shape(256<<10)); large > 6*small {
				t.Errorf("64 KB take %.0f KB, 256 KB take %.0f KB", small/1024, large/1024)
			}
		})
	}
}

// The separators of texts for the parser are not shown to a reader.
func TestHTMLIsDividedUnseen(t *testing.T) {
	at, err := url.Parse("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ in, want string }{
		"text":    {"<p>" + strings.Repeat("word</i> ", 10_000), strings.TrimSpace(strings.Repeat("word ", 10_000))},
		"script":  {"<script>" + strings.Repeat("a < b;", 10_000) + "</script><p>text", "text"},
		"further": {"<html lang=en><html lang=de><body><p>one<body class=x><p>two", "one\n\ntwo"},
	} {
		page, err := parse(tt.in, at)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := page.toMarkdown(); err != nil || strings.TrimSpace(got) != tt.want {
			t.Errorf("%s: got %.80q, %v", name, got, err)
		}
	}
}
