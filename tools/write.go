package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"parley/tools/act"
	"parley/tools/process"
)

// writeTool writes a file as a whole.
const writeTool = "write"

type writeArgs struct {
	Path    string `json:"path" jsonschema:"the file, relative to the workspace"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

func init() {
	register(writeTool, planWrite)
}

func planWrite(ctx context.Context, w *workspace, args writeArgs) (*act.Action, error) {
	file, err := w.locate(args.Path)
	if err != nil {
		return nil, err
	}
	if len(args.Content) > maxEdit {
		return nil, refuse("the content is larger than %d MiB", maxEdit>>20)
	}
	if w.isVacant(file) {
		if err := w.checkCreatable(file); err != nil {
			return nil, err
		}
		return w.writeAction(fileChange{file: file, content: []byte(args.Content)}, nil, "create "+quotePath(file), ""), nil
	}
	before, info, err := w.readChangeable(ctx, file)
	if err != nil {
		return nil, err
	}
	if _, ok := w.known.get(file); !ok && len(before) > 0 {
		return nil, refuse("%s exists and you have not read it; read it first, so that nothing is lost, or change a part of it with edit", quotePath(file))
	}
	content, kept := keepLineEnds(before, args.Content)
	if bytes.Equal(content, before) {
		return nil, refuse("%s already has exactly this content", quotePath(file))
	}
	c := fileChange{file: file, content: content, old: info, sum: sha256.Sum256(before)}
	return w.writeAction(c, before, "write "+quotePath(file), kept), nil
}

// readChangeable reads a file that is to be changed. It refuses one that is
// read-only, not text, or changed since the model read it.
func (w *workspace) readChangeable(ctx context.Context, file string) ([]byte, fs.FileInfo, error) {
	content, info, err := w.readForEdit(file)
	if err != nil {
		return nil, nil, err
	}
	if _, ok := w.known.get(file); !ok && w.needsApproval(file) {
		return nil, nil, refuse("%s exists and you have not read it; read it first", quotePath(file)) // an error could reveal content without approval
	}
	if info.Mode().Perm()&0o222 == 0 {
		return nil, nil, refuse("%s is read-only (mode %04o)", quotePath(file), info.Mode().Perm())
	}
	if kind := binaryKind(content); kind != "" {
		return nil, nil, refuse("%s is not text: %s, %d bytes", quotePath(file), kind, len(content))
	}
	if text, ok := w.buffers.unsaved(ctx, absolutePath(w.dir, file), content); ok {
		content = text
	}
	if sum, ok := w.known.get(file); ok && sum != sha256.Sum256(content) {
		return nil, nil, refuse("%s has changed since you last read it; read it again", quotePath(file))
	}
	return content, info, nil
}

// checkCreatable refuses a new file below a path that is not a directory.
func (w *workspace) checkCreatable(file string) error {
	root, native := rootOf(w, file)
	for dir := filepath.Dir(native); dir != "."; dir = filepath.Dir(dir) {
		info, err := root.Lstat(dir)
		if err != nil {
			continue
		}
		if !info.IsDir() {
			return refuse("%s cannot be created: %s is no folder", quotePath(file), quotePath(filepath.ToSlash(dir)))
		}
		return nil
	}
	return nil
}

// keepLineEnds gives content the line ends and the byte order mark of before if it
// has none of its own, because read shows neither. It returns a description of
// those it kept.
func keepLineEnds(before []byte, content string) (out []byte, kept string) {
	var what []string
	if hasCRLF(before) && strings.Contains(content, "\n") && !strings.Contains(content, "\r") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
		what = append(what, "CRLF line ends")
	}
	if bytes.HasPrefix(before, bom) && !strings.HasPrefix(content, string(bom)) {
		content = string(bom) + content
		what = append(what, "the byte order mark")
	}
	return []byte(content), strings.Join(what, " and ")
}

// hasCRLF reports whether every line of text ends with CRLF.
func hasCRLF(text []byte) bool {
	n := bytes.Count(text, []byte("\r\n"))
	return n > 0 && n == bytes.Count(text, []byte("\n"))
}

// writeAction returns the action that carries out a change.
func (w *workspace) writeAction(c fileChange, before []byte, title, kept string) *act.Action {
	base, rel := splitPath(w, c.file)
	diff := unifiedDiff(c.file, c.old != nil, string(before), string(c.content))
	return &act.Action{
		Access: act.AccessWrite,
		Title:  title,
		Path:   c.file,
		Diff:   diff,

		RunByGit: process.Sandbox.GitRuns(cmp.Or(base, w.realDir), rel),
		Do: func(ctx context.Context, _ func(string)) act.Outcome {
			how, err := w.apply(ctx, c)
			if err != nil {
				return failedOutcome("%v", err)
			}
			out := act.Outcome{Diff: diff, Text: "wrote " + quotePath(c.file)}
			if c.old == nil {
				out.Text = "created " + quotePath(c.file)
			}
			out.Text += ", " + pluralize(lineCount(c.content), "line")
			if kept != "" {
				out.Text += "\n" + note("kept %s", kept)
			}
			if how != "" {
				out.Text += "\n" + note("%s", how)
			}
			if c.old != nil && c.old.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				out.Text += "\n" + note("the file had the set-user-ID or set-group-ID bit, which a changed file loses")
			}
			if c.old != nil && how == "" && linkCount(c.old) > 1 {
				out.Text += "\n" + note("the file had %d hard links; the other names keep the old content", linkCount(c.old))
			}
			return out
		},
	}
}

// lineCount counts lines, including a last one without a line end.
func lineCount(content []byte) int {
	n := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}

// isVacant reports whether there is nothing at all at file.
func (w *workspace) isVacant(file string) bool {
	root, native := rootOf(w, file)
	return isVacantIn(root, native)
}

func isVacantIn(dir *os.Root, name string) bool {
	_, err := dir.Lstat(name)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
