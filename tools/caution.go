package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"parley/tools/act"
	"parley/tools/places"
	"parley/tools/rule"
)

// WorkspaceProblem returns why the directory is not used as a workspace, in words such as
// "is your home directory"; "" if it is used. With a problem, reads need approval, and
// writes need it each time.
func (s *Set) WorkspaceProblem() string { return s.problem }

// ProtectFiles adds absolute paths, such as that of the configuration, to the files
// that hold credentials, also for the views of s. Call it before the first Plan.
func (s *Set) ProtectFiles(files ...string) { s.places = s.places.With(files...) }

// IsSensitive reports whether an absolute path without links is in, or is itself, a place
// that holds credentials or starts programs at login.
func IsSensitive(path string) bool { return places.New(os.Getenv).Of(path).Class != "" }

// placeOf looks up a path, relative to the workspace or absolute, in the table of places.
func (w *workspace) placeOf(file string) places.Place {
	if native := filepath.FromSlash(file); filepath.IsAbs(native) {
		return w.places.Of(native)
	}
	return w.places.Of(filepath.Join(w.realDir, filepath.FromSlash(file)))
}

// addCaution marks an action that needs approval even if the mode would let it run: one
// on a sensitive place, one outside of any workspace, and a command that could read
// credentials in the workspace. Listing names needs none.
func (s *Set) addCaution(a *act.Action) {
	switch {
	case a.Tool == "list":
	case a.Path != "":
		s.addFileCaution(a)
	case a.Command != "":
		s.addCommandCaution(a)
	}
}

// addCommandCaution marks a command that asks in the mode auto as well.
func (s *Set) addCommandCaution(a *act.Action) {
	var why []string
	if near := s.placesOfClass(places.Credentials); len(near) > 0 {
		why = append(why, quotePath(near[0].Path)+" in this folder "+near[0].Reason)
	}
	if weak := s.cmdSandbox.backend().Weak; a.Sandboxed && weak != "" {
		why = append(why, "the sandbox has "+weak+" here")
	}
	if a.Sandboxed && makesRepository(a) {
		why = append(why, "it makes a repository, whose settings can make git run programs")
	}
	if a.NeedsRule = len(why) > 0; a.NeedsRule {
		a.Caution = strings.Join(why, "; ")
	}
}

// makers are the commands that make a repository.
var makers = sync.OnceValue(func() (all []rule.Rule) {
	for _, command := range []string{"git init", "git clone", "git worktree add", "git submodule add", "git submodule update"} {
		all = append(all, rule.Rule{Effect: act.Deny, Tool: "shell", Match: command})
	}
	return all
})

// makesRepository reports whether one of a's commands makes a repository, as far as its words say.
func makesRepository(a *act.Action) bool {
	effect, _, ok := rule.Engine.Decide(makers(), rule.Call{Tool: "shell", Command: a.Command, Foreign: a.ForeignShell})
	return ok && effect == act.Deny
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

// needsApproval reports whether the user must approve before the model sees the content of a file.
func (w *workspace) needsApproval(file string) bool {
	return w.problem != "" || w.placeOf(file).Class != ""
}

// placesOfClass returns the places of a class that are in the workspace.
func (w *workspace) placesOfClass(class places.Class) []places.Found {
	if w.problem != "" {
		return nil // commands are not sandboxed there, so each needs approval
	}
	all := w.places.Within(w.realDir)
	for _, f := range addedDirectories(w) {
		all = append(all, w.places.Within(f.dir)...)
	}
	return slices.DeleteFunc(all, func(f places.Found) bool { return !f.Exists || f.Class != class })
}
