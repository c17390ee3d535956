package tools

import (
	"os"
	"path/filepath"
	"slices"

	"parley/tools/act"
	"parley/tools/places"
)

// WorkspaceProblem returns why the directory is no workspace, in words such as "is your home
// directory"; "" if it is one. Where it is not, reading asks, and writing asks each time.
func (s *Set) WorkspaceProblem() string { return s.problem }

// ProtectFiles adds files to those that hold credentials, by their absolute paths, also
// for the views of s: the configuration, wherever it is. It is called before the
// first Plan.
func (s *Set) ProtectFiles(files ...string) { s.places = s.places.With(files...) }

// IsSensitive reports whether an absolute path without links is, or is below, one that holds
// credentials or starts programs at login.
func IsSensitive(path string) bool { return places.New(os.Getenv).Of(path).Class != "" }

// placeOf returns what a path of the workspace, or an absolute one, is in the table of places.
func (w *workspace) placeOf(file string) places.Place {
	if native := filepath.FromSlash(file); filepath.IsAbs(native) {
		return w.places.Of(native)
	}
	return w.places.Of(filepath.Join(w.realDir, filepath.FromSlash(file)))
}

// addCaution marks an action about which the policy asks although the mode would let it
// run: on a sensitive place, outside of any workspace, and for commands that could
// read credentials from the workspace. Listing names is free.
func (s *Set) addCaution(a *act.Action) {
	switch {
	case a.Tool == "list":
	case a.Path != "":
		s.addFileCaution(a)
	case a.Command != "":
		if near := s.placesOfClass(places.Credentials); len(near) > 0 {
			a.NearCredentials = true
			a.Caution = quotePath(near[0].Path) + " in this folder " + near[0].Reason
		}
	}
}

func (s *Set) addFileCaution(a *act.Action) {
	if p := s.placeOf(a.Path); p.Class != "" {
		a.PlaceClass, a.Caution = string(p.Class), quotePath(a.Path)+" "+p.Reason
	}
	if s.problem == "" || a.Tool == "glob" {
		return
	}
	a.NoWorkspace = true
	a.AskEachTime = a.Access == act.AccessWrite
	if a.Caution == "" {
		a.Caution = "this folder is no workspace: it " + s.problem
	}
}

// needsApproval reports whether a user is asked before the model sees what is in a file.
func (w *workspace) needsApproval(file string) bool {
	return w.problem != "" || w.placeOf(file).Class != ""
}

// placesOfClass returns the places of a class that are in the workspace.
func (w *workspace) placesOfClass(class places.Class) []places.Found {
	if w.problem != "" {
		return nil // no command is held there: each asks
	}
	all := w.places.Within(w.realDir)
	for _, f := range addedDirectories(w) {
		all = append(all, w.places.Within(f.dir)...)
	}
	return slices.DeleteFunc(all, func(f places.Found) bool { return !f.Exists || f.Class != class })
}
