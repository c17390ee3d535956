package app

import (
	"parley/providers/catalog"
	"parley/session"
)

// Titled is what a conversation is called.
func Title(about session.Info) string {
	if about.Title != "" {
		return about.Title
	}
	return "untitled"
}

// NearestNames returns up to n of names that look most like name, the nearest first.
func NearestNames(name string, names []string, n int) []string {
	return catalog.Near(name, names, n)
}
