package features

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// branchInterval is the minimum time between two looks at the branch, unless something happened that may
// have changed it.
const branchInterval = 2 * time.Second

// A Branch sets Screen.Branch. It looks at HEAD on another goroutine, when the screen changes.
type Branch struct {
	*panel.Deps
	seen branchCause
	next time.Time // earliest time of the next look
}

// A branchCause is a state that changes when the branch may have changed: an answer or a command of the
// user has ended, another directory or the window was entered.
type branchCause struct {
	directory       string
	busy, unfocused bool
	attached        int
}

// branchMsg delivers the branch of a directory.
type branchMsg struct{ directory, branch string }

// Update handles the branch, and reports whether msg delivers it.
func (b *Branch) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case common.StartMsg, common.UpdatedMsg:
		return b.look(), false
	case branchMsg:
		if msg.directory == b.App.Directory {
			b.Screen.Branch = msg.branch
		}
		return nil, true
	}
	return nil, false
}

// look returns a command that reads the branch, or nil if it was read recently.
func (b *Branch) look() tea.Cmd {
	now, cause := b.Now(), branchCause{b.App.Directory, b.App.FrontEnd.Busy(), b.Unfocused, len(b.App.Attached)}
	if cause == b.seen && now.Before(b.next) {
		return nil
	}
	if cause.directory != b.seen.directory {
		b.Screen.Branch = ""
	}
	b.seen, b.next = cause, now.Add(branchInterval)
	known := b.Screen.Branch
	return func() tea.Msg {
		branch := gitBranch(cause.directory)
		if branch == known {
			return nil
		}
		return branchMsg{cause.directory, branch}
	}
}

// maxGitFile is the maximum number of bytes read from a file of git.
const maxGitFile = 4096

// gitBranch returns the branch that HEAD names in the repository that contains dir, or
// the beginning of a detached commit; "" for none. It does not run git.
func gitBranch(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	for at := dir; ; at = filepath.Dir(at) {
		if git := filepath.Join(at, ".git"); isThere(git) {
			if linked, ok := strings.CutPrefix(readSmall(git), "gitdir: "); ok { // a work tree, or a submodule
				if git = linked; !filepath.IsAbs(git) {
					git = filepath.Join(at, git)
				}
			}
			return branchOf(readSmall(filepath.Join(git, "HEAD")))
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// branchOf returns the branch, or the beginning of the commit, in the content of HEAD.
func branchOf(head string) string {
	if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		return sanitize.Line(branch)
	}
	const commit = 40 // letters of a SHA-1; SHA-256 has 64
	if len(head) < commit || strings.Trim(head, "0123456789abcdef") != "" {
		return ""
	}
	return head[:7]
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// readSmall returns the first line of a regular file; "" if name is not one.
func readSmall(name string) string {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxGitFile))
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.TrimSpace(string(line))
}
