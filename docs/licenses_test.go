// The table of licenses in dependencies.md is written by go test ./docs -update.

package docs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of licenses and tools")

// licenses are those that a module of the program may have, each with a sentence that
// only it has.
var licenses = []struct{ name, sentence string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"ISC", "this software for any purpose with or without fee"},
	{"public domain", "SQLite Is Public Domain"},
	{"BSD-3-Clause", "may be used to endorse or promote products"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
}

// licenseOf returns the licenses in the files of a folder, and whether there is one that is
// none of these.
func licenseOf(t *testing.T, dir string) (found []string, unknown bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || name == "LICENSE-LOGO" /* of an image that is not linked */ || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(string(data)), " ")
		i := slices.IndexFunc(licenses, func(l struct{ name, sentence string }) bool { return strings.Contains(text, l.sentence) })
		switch {
		case i < 0:
			unknown = true
		case !slices.Contains(found, licenses[i].name):
			found = append(found, licenses[i].name)
		}
	}
	return found, unknown
}

// linkedModules returns the modules of the program on any system, and their folders.
func linkedModules(t *testing.T) map[string]string {
	t.Helper()
	dirs := map[string]string{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "..")
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		list.Stderr = os.Stderr
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if path, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				dirs[path] = dir
			}
		}
	}
	return dirs
}

// TestLicenses holds the table of licenses in dependencies.md against the files of each
// module that the program is linked with, and that all of them are ones that may be.
func TestLicenses(t *testing.T) {
	const begin, end = "<!-- begin licenses -->\n", "<!-- end licenses -->"
	dirs := linkedModules(t)
	var table strings.Builder
	table.WriteString("| license | modules |\n|---|---|\n")
	byLicense := map[string][]string{}
	for path, dir := range dirs {
		found, unknown := licenseOf(t, dir)
		if len(found) == 0 || unknown {
			t.Errorf("%s: no license that is known to be allowed in %s: %q", path, dir, found)
		}
		slices.Sort(found)
		name := strings.Join(found, " and ")
		byLicense[name] = append(byLicense[name], "`"+path+"`")
	}
	names := make([]string, 0, len(byLicense))
	for name := range byLicense {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		slices.Sort(byLicense[name])
		fmt.Fprintf(&table, "| %s | %s |\n", name, strings.Join(byLicense[name], ", "))
	}
	page, err := os.ReadFile("dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	was, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("dependencies.md has no place for the table")
	}
	if was == table.String() {
		return
	}
	if !*update {
		t.Fatalf("dependencies.md says\n%s\nit should be (-update writes it)\n%s", was, table.String())
	}
	if err := os.WriteFile("dependencies.md", []byte(before+begin+table.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
