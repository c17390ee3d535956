package tools

import (
	"os"
	"path/filepath"
	"slices"

	"parley/tools/places"
)

// Nowhere says why the directory is no workspace, in words such as "is your home
// directory"; "" if it is one. Where it is not, reading asks, and writing asks each time.
func (s *Set) Nowhere() string { return s.nowhere }

// Protect adds files to those that hold credentials, by their absolute paths, also
// for the views of s: the configuration, wherever it is. It is called before the
// first Plan.
func (s *Set) Protect(files ...string) { s.places = places.New(os.Getenv, files...) }

// place returns what a path of the workspace is in the table of places.
func (w *workspace) place(file string) places.Place {
	return w.places.Of(filepath.Join(w.real, filepath.FromSlash(file)))
}

// caution marks an action about which the policy asks although the mode would let it
// run: on a sensitive place, outside of any workspace, and for commands that could
// read credentials from the workspace. Listing names is free.
func (s *Set) caution(a *Action) {
	switch {
	case a.Tool == "list":
	case a.Path != "":
		s.cautionFile(a)
	case a.Command != "":
		if near := s.near(places.Credentials); len(near) > 0 {
			a.beside = true
			a.Caution = shown(near[0].Path) + " in this folder " + near[0].What
		}
	}
}

func (s *Set) cautionFile(a *Action) {
	if p := s.place(a.Path); p.Class != "" {
		a.class, a.Caution = p.Class, shown(a.Path)+" "+p.What
	}
	if s.nowhere == "" || a.Tool == "glob" {
		return
	}
	a.nowhere = true
	a.EachTime = a.Access == Writes
	if a.Caution == "" {
		a.Caution = "this folder is no workspace: it " + s.nowhere
	}
}

// asks reports whether a user is asked before the model sees what is in a file.
func (w *workspace) asks(file string) bool { return w.nowhere != "" || w.place(file).Class != "" }

// near returns the places of a class that are in the workspace.
func (w *workspace) near(class places.Class) []places.Found {
	if w.nowhere != "" {
		return nil // no command is held there: each asks
	}
	return slices.DeleteFunc(w.places.Within(w.real), func(f places.Found) bool { return !f.Here || f.Class != class })
}
