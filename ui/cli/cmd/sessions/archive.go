package sessions

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parley/session"
	"parley/session/transfer"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

func (s Options) export() *cobra.Command {
	var as, to string
	var raw, all bool
	cmd := &cobra.Command{Use: "export SESSION", Short: "Write a conversation to a file or standard output, with configured keys masked", Args: func(cmd *cobra.Command, words []string) error {
		if all {
			return cobra.NoArgs(cmd, words)
		}
		return commandNames(cmd, words)
	}, RunE: func(_ *cobra.Command, words []string) error {
		if all {
			return s.exportAll(as, to, raw)
		}
		if to != "" && as == "" {
			as = strings.TrimPrefix(filepath.Ext(to), ".")
		}
		if as == "" {
			as = "md"
		}
		form, err := s.Archive.Formats.Find(as)
		if err != nil {
			return cmdutil.Usage(err)
		}
		return s.one(words, raw, form.Name != "jsonl", func(c transfer.Conversation) error {
			if to == "" || to == "-" {
				clean := sanitize.Text
				if form.Name == "jsonl" {
					clean = escaped
				}
				return s.write(c, form.Write, clean)
			}
			folder, err := os.Getwd()
			if err != nil {
				return err
			}
			path, err := form.Save(c, to, folder)
			if err == nil {
				s.Note("wrote " + path)
			}
			return err
		})
	}}
	cmd.Flags().StringVarP(&as, "output", "o", "", "`FORMAT`: md, html or jsonl (lossless)")
	cmd.Flags().StringVar(&to, "to", "", "`FILE` to write; must not exist yet")
	cmd.Flags().BoolVar(&raw, "raw", false, "do not mask configured keys")
	cmd.Flags().BoolVar(&all, "all", false, "write every conversation, into the folder that --to names")
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"md", "html", "jsonl"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// exportAll writes each conversation into a file in folder, named by its time, title and ID. It keeps existing files.
func (s Options) exportAll(as, folder string, raw bool) error {
	if folder == "" || folder == "-" {
		return cmdutil.Usagef("--all needs a folder: add --to FOLDER")
	}
	form, err := s.Archive.Formats.Find(cmp.Or(as, "md"))
	if err != nil {
		return cmdutil.Usage(err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return s.Stored.With(func(lib *session.Store) error {
		found, err := lib.List(session.Query{Limit: -1})
		if cmdutil.Fatal(err, len(found)) != nil {
			return err
		}
		wrote, there := 0, 0
		for _, info := range found {
			c, err := s.read(lib, info.ID, raw, form.Name != "jsonl")
			if err != nil {
				return err
			}
			name := transfer.UniqueName(c.Session) + "." + form.Name // from the masked conversation
			if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
				there++
				continue
			}
			if _, err := form.Save(c, name, folder); err != nil {
				return err
			}
			wrote++
		}
		text := format.Plural(wrote, "conversation") + " written to " + folder
		if there > 0 {
			text += fmt.Sprintf(", %d are there already", there)
		}
		s.Note(text)
		return nil
	})
}

// write writes c in a format. On a terminal it sanitizes the output, since a terminal obeys control characters.
func (s Options) write(c transfer.Conversation, form func(io.Writer, transfer.Conversation) error, clean func(string) string) error {
	if !s.Render {
		return form(s.Out, c)
	}
	var text bytes.Buffer
	if err := form(&text, c); err != nil {
		return err
	}
	_, err := io.WriteString(s.Out, clean(text.String()))
	return err
}

func escaped(json string) string { return string(sanitize.JSON([]byte(json))) }

// importOptions configure an import from other programs.
type importOptions struct {
	yes    bool   // do not ask
	dryRun bool   // list conversations, import nothing
	format string // of the list
}

const importHelp = `Import conversations from parley's own JSONL, and from other programs: sessions
of Claude Code, Codex, Gemini CLI, Qwen Code and pi, databases of crush, opencode and llm,
exports of ChatGPT and Claude (the zip, its folder, or conversations.json in it), of
Open WebUI and of LibreChat.

--all looks where these programs store conversations on this machine. If you import
again, a conversation that has grown gets its new messages, on another branch if it
was continued in parley. One that was removed from parley stays removed, unless you
name its file. A conversation gets new messages only from the place it came from: if a
database in another folder has one with the same ID, that becomes a separate
conversation.`

func (s Options) importCmd() *cobra.Command {
	var how importOptions
	var all bool
	cmd := &cobra.Command{Use: "import FILE... | --all", Short: "Import conversations from parley and other programs", Long: importHelp, RunE: func(cmd *cobra.Command, files []string) error {
		if all == (len(files) > 0) {
			return cmdutil.Usagef("name files to import, or use --all for the conversations of other programs on this machine")
		}
		if (how.yes || how.dryRun) && !all {
			return cmdutil.Usagef("--yes and --dry-run go with --all")
		}
		return s.Stored.With(func(lib *session.Store) error {
			if all {
				return lib.Bulk(func() error { return s.importAll(cmd.Context(), lib, how) })
			}
			sources := importSource()
			var failed []error
			var all []session.Info
			_ = lib.Bulk(func() error {
				for _, file := range files {
					rows, err := s.importFile(cmd.Context(), lib, file, sources)
					if failed = append(failed, err); how.format != "json" {
						failed = append(failed, s.rows(rows, how.format, nil))
					}
					all = append(all, rows...)
				}
				return nil
			})
			if how.format == "json" {
				failed = append(failed, cmdutil.WriteRows(s.Out, how.format, all))
			}
			return errors.Join(failed...)
		})
	}}
	cmdutil.FormatFlags(cmd, &how.format, "one JSON object per line")
	cmd.Flags().BoolVar(&all, "all", false, "import conversations of other programs on this machine")
	cmd.Flags().BoolVarP(&how.yes, "yes", "y", false, "with --all: do not ask")
	cmd.Flags().BoolVarP(&how.dryRun, "dry-run", "n", false, "with --all: only list the conversations")
	return cmd
}

func (s Options) importFile(ctx context.Context, lib *session.Store, file string, sources func(program, path string) session.ImportSource) (rows []session.Info, err error) {
	var unstored error // report it last: the rest is about what was read
	notices, err := s.Archive.Read(ctx, file, nil, func(c transfer.Conversation) error {
		if now := s.Now(); c.Session.Updated.After(now) { // the clock of its machine was wrong
			c.Session.Updated = now
		}
		var from session.ImportSource
		if !c.FromParley {
			from = sources(c.Session.Origin, file)
		}
		imported, err := lib.Imports(from).Add(c.Session, c.Nodes, c.Annotations...)
		if err != nil {
			unstored = fmt.Errorf("%s imported: %w", format.Plural(len(rows), "conversation"), err)
			return unstored
		}
		if there := c.Session.ID; there != "" && imported.ID != there {
			s.Note(fmt.Sprintf("%s: separate from %s, which came from elsewhere or has other messages", imported.ID, there))
		}
		if imported.Added > 0 {
			s.Note(fmt.Sprintf("%s: %s new", imported.ID, format.Plural(imported.Added, "message")))
		}
		about, _, err := lib.Read(imported.ID)
		if err == nil {
			rows = append(rows, about)
		}
		unstored = err
		return err
	})
	if err != nil && unstored == nil && ctx.Err() == nil {
		err = cmdutil.Usage(err)
	}
	for _, n := range notices {
		s.Note(file + ": " + n.String())
	}
	return rows, err
}
