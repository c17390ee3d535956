// Package promptfile makes turns of prompt files: their text with the files that they mention, their model and their
// settings. The flow of prompts sends them, and parley -P.
package promptfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/session/prompts"
	"parley/ui/app"
	"parley/ui/app/mention"
)

// ChangesTurn reports whether a prompt has settings for its turn.
func ChangesTurn(p *prompts.Prompt) bool {
	return p.Model != "" || p.Effort != "" || p.Web || len(p.Tools) > 0 || p.System != "" || hasSchema(p)
}

// Template reads everything a prompt needs before it is sent: mentioned files, the model, the schema. Notes name the
// mentions that were not attached and the keys without effect.
func Template(ctx context.Context, o app.Options, p *prompts.Prompt, e prompts.Expansion) (from session.Template, notes []string, err error) {
	mentions, notes := insertable(o, p, e.Mentions)
	if p.Project {
		from.Project = o.AbbrevPath(p.Path)
	}
	for _, c := range e.Commands {
		from.Commands = append(from.Commands, c.Text)
	}
	find := o.Mentions()
	find.Fetch = nil // addresses are fetched only where the user types them
	files, more, err := find.Expand(ctx, mentions+e.Typed)
	if err != nil {
		return from, nil, err
	}
	if from.Settings, err = turnSettings(o, p); err != nil {
		return from, nil, err
	}
	from.Parts = func(outputs []string) []llm.Part {
		return append(slices.Clone(files), llm.Part{Kind: llm.Text, Text: e.Text(outputs...)})
	}
	notes = append(notes, more...)
	for _, wrong := range p.UnknownKeys() {
		notes = append(notes, fmt.Sprintf("%s:%d: %s", o.AbbrevPath(wrong.Path), wrong.Line, wrong.Text))
	}
	return from, notes, nil
}

// insertable returns the mentions that a prompt may attach, and a note for each other one: denied files and, for a
// prompt of the directory, files that the model may not read.
func insertable(o app.Options, p *prompts.Prompt, mentions string) (kept string, notes []string) {
	whose, from := "/"+p.Name, 0
	if p.Project {
		whose = "a prompt of this folder"
	}
	for _, m := range attach.Mentions(mentions, mention.IsFile) {
		err := error(nil)
		if p.Project && !filepath.IsLocal(m.Path) {
			err = errors.New("it is outside this folder")
		} else if o.PromptFiles.MayInsert != nil {
			err = o.PromptFiles.MayInsert(mention.ExpandHome(m.Path), p.Project)
		}
		if !p.Project { // mentions that are not files may be resources of servers
			kept += mentions[from:m.Start]
		}
		if from = m.End; err != nil {
			notes = append(notes, fmt.Sprintf("not attached: %s, which %s mentions: %v", m.Path, whose, err))
			continue
		}
		kept += mentions[m.Start:m.End] + "\n"
	}
	if !p.Project {
		kept += mentions[from:]
	}
	return kept, notes
}

// turnSettings returns the settings for the turn of a prompt.
func turnSettings(o app.Options, p *prompts.Prompt) (t session.TurnSettings, err error) {
	t.Effort, t.Tools, t.Web = p.Effort, p.Tools, p.Web
	if p.System != "" {
		t.System = o.WholeSystem(p.System)
	}
	if p.Model != "" && o.Models.Open != nil {
		if t.Model, err = o.Models.Open(o.Models.Resolve(p.Model)); err != nil {
			return t, fmt.Errorf("%s: model: %s: %w", o.AbbrevPath(p.Path), p.Model, err)
		}
	}
	if hasSchema(p) {
		t.Schema, err = Schema(p, o.Session.Schemas)
	}
	return t, err
}

func hasSchema(p *prompts.Prompt) bool { return len(p.Schema) > 0 || p.SchemaFile != "" }

// Schema returns the schema that the answer to a prompt has to match; nil if the prompt has none.
func Schema(p *prompts.Prompt, schemas session.Schemas) (*llm.Schema, error) {
	text := []byte(p.Schema)
	if p.SchemaFile != "" {
		path := mention.ExpandHome(p.SchemaFile)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(p.Path), path)
		}
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("%s: schema: %w", p.Path, err)
		}
	}
	switch {
	case len(text) == 0:
		return nil, nil
	case schemas == nil:
		return nil, fmt.Errorf("%s: schema: this build has no JSON schemas", p.Path)
	}
	parsed, err := schemas.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: schema: %w", p.Path, err)
	}
	return parsed, nil
}
