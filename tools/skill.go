package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"parley/tools/act"
	"path/filepath"
	"runtime"
	"strings"
)

// SkillTool returns the tool that loads the named skills. Text returns a skill's text and a
// mark that it begins with: a skill already in the conversation is not sent again.
func SkillTool(names []string, text func(name string) (text, mark string, err error)) External {
	schema, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"name"}, "additionalProperties": false,
		"properties": map[string]any{"name": map[string]any{"type": "string", "enum": names, "description": "the skill's name, as the list of skills has it"}},
	})
	if err != nil { // cannot fail for strings
		panic(err)
	}
	return External{
		Name: act.SkillName, Schema: schema,
		Description: "Loads a skill: instructions for a certain task, and the folder with its files. Call it before you begin a task that the description of a skill fits. A skill that was loaded in this conversation is not loaded again.",
		Plan: func(_ context.Context, input json.RawMessage) (*act.Action, error) {
			var args struct{ Name string }
			if err := json.Unmarshal(input, &args); err != nil {
				return nil, err
			}
			return &act.Action{Access: act.AccessRead, Title: "skill " + args.Name, Do: func(ctx context.Context, _ func(string)) act.Outcome {
				shown, mark, err := text(args.Name)
				switch {
				case err != nil:
					return failedOutcome("%v", err)
				case act.IsShown(ctx, mark):
					return act.Outcome{Text: fmt.Sprintf("The skill %s is in this conversation already, above.", args.Name)}
				}
				plain, notes := Sanitize(shown)
				return act.Outcome{Text: strings.Join(append([]string{plain}, notes...), "\n")}
			}}, nil
		},
	}
}

// AllowReading lets read access the files in directories outside the workspace, and sandboxed
// commands run programs there: the directories of skills. Call it before the first Plan.
func (s *Set) AllowReading(dirs ...string) {
	s.readable = nil
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			s.readable = append(s.readable, real)
		}
	}
}

// planReadable plans a read in a directory added by AllowReading; nil if name is in none.
func (w *workspace) planReadable(name string, p readResult) (*act.Action, error) {
	if !filepath.IsAbs(name) || len(w.readable) == 0 {
		return nil, nil
	}
	if runtime.GOOS == "windows" {
		if _, err := w.windowsPath(name); err != nil {
			return nil, err
		}
		if _, ok := w.relativeInside(name); ok {
			return nil, nil // EvalSymlinks would follow a link to a server
		}
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, nil
	}
	for _, dir := range w.readable {
		if real == dir || !isWithin(real, dir) {
			continue
		}
		inside, err := filepath.Rel(dir, real)
		if err != nil {
			return nil, err
		}
		p.file = filepath.ToSlash(real)
		return &act.Action{Access: act.AccessRead, Title: "read " + quotePath(p.file), Path: p.file, Do: func(ctx context.Context, _ func(string)) act.Outcome {
			p := p
			if err := p.readWithin(ctx, dir, inside); err != nil {
				return failedOutcome("%v", err)
			}
			return p.outcome()
		}}, nil
	}
	return nil, nil
}

// readWithin fills p with a text file below dir; links cannot lead out of dir.
func (p *readResult) readWithin(ctx context.Context, dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return explainError(p.file, err)
	}
	defer root.Close()
	f, info, err := openIn(root, name, p.file)
	if err != nil {
		return explainError(p.file, err)
	}
	defer f.Close()
	p.size = info.Size()
	return p.readText(ctx, bufio.NewReaderSize(f, 64<<10))
}
