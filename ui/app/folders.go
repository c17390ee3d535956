package app

import (
	"strings"

	"parley/session"
	"parley/tools/sanitize"
)

// Trust is the question about the files of the directory, asked at the start with no preselected.
type Trust struct {
	Question string                                    // "" if there is nothing to ask
	Decide   func(yes bool) (system string, err error) // the answer, and the system prompt that follows from it
	Decided  TrustDecision                             // what /trust shows and changes
}

// A TrustDecision is what the user decided about the files of the directory. It counts from the
// next start: the directory's files are read there. The zero value is a directory without any.
type TrustDecision struct {
	Review func() string        // the question, with the files; nil: there are none
	Get    func() (yes bool)    // no if nothing was decided
	Set    func(yes bool) error // stores it
}

// FoldersText says which folders tools reach beside the working directory.
func FoldersText(f session.AddedDirectories) string {
	if len(f.Dirs) == 0 {
		return "No added folders"
	}
	return "Added folders: " + sanitize.Line(strings.Join(f.Dirs, ", "))
}
