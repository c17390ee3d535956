package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/session"
	"parley/session/backup"
	"parley/tools/sanitize"
	"parley/ui/cli/cmd/sessions"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// backupCommands returns the commands that write everything into a file, and take it back.
func backupCommands(a *program, stored sessions.Options) []*cobra.Command {
	write := &cobra.Command{
		Use: "backup FILE", Short: "Write all conversations to a file, with images, branches and kept files", Args: cobra.ExactArgs(1),
		Long: `Write all conversations to a file, with images, branches and kept files, what they
cost, and collections of vectors. Keys are not in it, unless you wrote them into a
conversation. Other windows of parley may stay open. FILE must not exist; - is standard
output.`,
		Example: "  parley sessions backup parley-$(date +%F).tar.gz\n  parley sessions backup - | gpg -c > parley.tar.gz.gpg",
		RunE: func(_ *cobra.Command, args []string) error {
			lib, err := stored.Open()
			if err != nil {
				return err
			}
			return errors.Join(writeBackup(a, lib, args[0]), lib.Close())
		},
	}
	restore := &cobra.Command{
		Use: "restore FILE", Short: "Take back the conversations of a backup; nothing that is here is changed", Args: cobra.ExactArgs(1),
		Long: `Take back the conversations of a backup; nothing that is here is changed. Added folders,
what you trust and what you always allow do not come along: parley asks again.`,
		Example: "  parley sessions restore parley-2026-11-23.tar.gz",
		RunE: func(_ *cobra.Command, args []string) error {
			in, err := openBackup(args[0])
			if err != nil {
				return cmdutil.Usage(err)
			}
			defer func() { _ = in.Close() }()
			undo, tmp, err := backupDirectories()
			if err != nil {
				return err
			}
			lib, err := stored.Open()
			if err != nil {
				return err
			}
			done, err := backup.Restore(in, lib, undo, tmp)
			if err == nil || done.Conversations+done.Same+done.Copies > 0 {
				tellRestored(a, done)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", args[0], err)
			}
			return errors.Join(err, lib.Close())
		},
	}
	return []*cobra.Command{write, restore}
}

// backupDirectories returns where files that tools changed are kept, and a folder beside the store.
func backupDirectories() (undo, tmp string, err error) {
	path, err := session.StorePath(os.Getenv)
	if err != nil {
		return "", "", err
	}
	return filepath.Join(filepath.Dir(path), "undo"), filepath.Dir(path), nil
}

// writeBackup writes a backup to a new file, which is removed on an error, or to standard
// output.
func writeBackup(a *program, lib *session.Store, name string) error {
	undo, tmp, err := backupDirectories()
	if err != nil {
		return err
	}
	if name == "-" {
		return backup.Write(a.Out, lib, undo, tmp, time.Now())
	}
	size, err := backup.WriteFile(name, lib, undo, tmp, time.Now())
	if err != nil {
		return err
	}
	a.Note(fmt.Sprintf("wrote %s, %s", name, format.Size(int(size))))
	return nil
}

// openBackup opens a file, or standard input for -.
func openBackup(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(name)
}

// keptKinds says what is in the tables that a restore leaves as they are if there is something
// in them.
var keptKinds = map[string]string{
	"ledger": "usage", "collections": "collections of vectors", "videos": "jobs of videos", "comparisons": "comparisons",
	"prompts": "sent prompts", "drafts": "drafts", "state": "what the screen remembers",
}

// tellRestored says what came of a restore.
func tellRestored(a *program, done backup.Restored) {
	text := format.Plural(done.Conversations, "conversation") + " restored"
	if done.Same > 0 {
		text += fmt.Sprintf(", %d here already", done.Same)
	}
	if done.Copies > 0 {
		text += fmt.Sprintf(", %d in a copy: they went on here", done.Copies)
	}
	a.Note(text)
	if len(done.Damaged) > 0 {
		a.Note("not read whole: " + strings.Join(done.Damaged, ", "))
	}
	for _, r := range done.Refused {
		a.Note(fmt.Sprintf("%s: /undo leaves %q alone: it is not in the workspace of the conversation; a folder that you add with /add-dir counts again", sanitize.Line(r.Conversation), r.Path))
	}
	if len(done.Unchanged) > 0 {
		var kinds []string
		for _, table := range done.Unchanged {
			if kind, ok := keptKinds[table]; ok {
				kinds = append(kinds, kind)
			}
		}
		a.Note("left as they are here: " + strings.Join(kinds, ", "))
	}
}
