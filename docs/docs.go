// Package docs holds the manual: the pages of this folder, which "parley help TOPIC" shows.
package docs

import (
	"embed"
	"slices"
	"strings"

	"parley/tools/lazy"
)

//go:embed *.md
var files embed.FS

// order lists the pages as they are read.
var order = []string{
	"getting-started", "providers", "connect", "chat", "scripts", "tools", "mcp", "prompts", "sessions", "money", "media",
	"editors", "configuration", "commands", "themes", "accessibility", "troubleshooting", "limits", "comparison",
	"architecture", "dependencies",
}

// A Page is one topic of the manual.
type Page struct {
	Name  string // of its file, without .md
	Title string // its first heading
	Text  string // Markdown, with the heading
}

// Names returns the names of all pages, as they are read.
func Names() []string { return slices.Clone(order) }

// Pages returns all pages, as they are read.
func Pages() []Page {
	pages := make([]Page, 0, len(order))
	for _, name := range order {
		if p, ok := Open(name); ok {
			pages = append(pages, p)
		}
	}
	return pages
}

// comment finds the lines that say where generated text begins and ends: terminals would show
// them.
var comment = lazy.NewRegexp(`(?m)^<!--.*-->\n\n?`)

// pageLink finds links to pages, and within one.
var pageLink = lazy.NewRegexp(`\[([^\]]+)\]\((?:([a-z-]+)\.md)?(?:#[a-z0-9-]+)?\)`)

// named returns text with the commands that show a page in the place of links to it.
func named(text string) string {
	return pageLink.ReplaceAllStringFunc(text, func(found string) string {
		m := pageLink.FindStringSubmatch(found)
		if m[2] == "" {
			return m[1]
		}
		return m[1] + " (`parley help " + m[2] + "`)"
	})
}

// Open returns the page of a name, and whether there is one. Its text is as terminals show it:
// with commands in the place of links to other pages.
func Open(name string) (Page, bool) {
	if !slices.Contains(order, name) {
		return Page{}, false
	}
	data, err := files.ReadFile(name + ".md")
	if err != nil {
		return Page{}, false
	}
	text := named(comment.ReplaceAllString(string(data), ""))
	title, _, _ := strings.Cut(text, "\n")
	return Page{Name: name, Title: strings.TrimPrefix(title, "# "), Text: text}, true
}
