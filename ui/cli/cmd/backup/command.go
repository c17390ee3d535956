package backup

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/session"
	"parley/tools/sanitize"
	"parley/tools/undo"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// Options configure the commands.
type Options struct {
	*cmdutil.Streams
	Stored cmdutil.Conversations
	Files  func() undo.Store // opens the store for earlier versions of files; it returns nil if there is no place for it
}

// Add adds the commands to conversations.
func (o Options) Add(conversations *cobra.Command) {
	write := &cobra.Command{
		Use: "backup FILE", Short: "Write all conversations to a file, with images, branches and files for /undo", Args: cobra.ExactArgs(1),
		Long: `Write all conversations to a file, with images, branches, costs, the files stored for
/undo, and collections of vectors. It contains no keys, except those in your messages.
Other windows of parley may stay open. FILE must not exist; - is standard output.`,
		Example: "  parley sessions backup parley-$(date +%F).tar.gz\n  parley sessions backup - | gpg -c > parley.tar.gz.gpg",
		RunE: func(_ *cobra.Command, args []string) error {
			return o.Stored.With(func(lib *session.Store) error { return o.write(lib, args[0]) })
		},
	}
	restore := &cobra.Command{
		Use: "restore FILE", Short: "Restore the conversations of a backup; existing conversations are not changed", Args: cobra.ExactArgs(1),
		Long: `Restore the conversations of a backup; existing conversations are not changed. Added
folders, trusted folders and rules that always allow are not restored: parley asks
again.`,
		Example: "  parley sessions restore parley-2026-11-23.tar.gz",
		RunE: func(_ *cobra.Command, args []string) error {
			in, err := openBackup(args[0])
			if err != nil {
				return cmdutil.Usage(err)
			}
			defer func() { _ = in.Close() }()
			files, tmp, err := backupDirectories()
			if err != nil {
				return err
			}
			return o.Stored.With(func(lib *session.Store) error {
				done, err := Restore(in, lib, files, o.Files(), tmp)
				if err == nil || done.Conversations+done.Same+done.Copies > 0 {
					o.tellRestored(done)
				}
				if err != nil {
					err = fmt.Errorf("%s: %w", args[0], err)
				}
				return err
			})
		},
	}
	conversations.AddCommand(write, restore)
}

// backupDirectories returns the directory of earlier versions of files, and a directory for temporary files next to the
// store.
func backupDirectories() (undo, tmp string, err error) {
	path, err := session.StorePath(os.Getenv)
	if err != nil {
		return "", "", err
	}
	return filepath.Join(filepath.Dir(path), "undo"), filepath.Dir(path), nil
}

// write writes a backup to standard output or to a new file, which it removes on an error.
func (o Options) write(lib *session.Store, name string) error {
	files, tmp, err := backupDirectories()
	if err != nil {
		return err
	}
	if name == "-" {
		return Write(o.Out, lib, files, tmp, time.Now())
	}
	size, err := WriteFile(name, lib, files, tmp, time.Now())
	if err != nil {
		return err
	}
	o.Note(fmt.Sprintf("wrote %s, %s", name, format.Size(int(size))))
	return nil
}

// openBackup opens a file, or standard input for -.
func openBackup(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(name)
}

// tellRestored reports the result of a restore.
func (o Options) tellRestored(done Restored) {
	text := format.Plural(done.Conversations, "conversation") + " restored"
	if done.Same > 0 {
		text += fmt.Sprintf(", %d here already", done.Same)
	}
	if done.Copies > 0 {
		text += fmt.Sprintf(", %d in a copy: they went on here", done.Copies)
	}
	o.Note(text)
	if len(done.Damaged) > 0 {
		o.Note("not read whole: " + strings.Join(done.Damaged, ", "))
	}
	for _, r := range done.Refused {
		o.Note(fmt.Sprintf("%s: /undo does not change %q, which is outside the conversation's workspace, unless you add its folder with /add-dir", sanitize.Line(r.Conversation), r.Path))
	}
	if len(done.Unchanged) > 0 {
		var kinds []string
		keptKinds := map[string]string{ // tables that are not restored unless they are empty
			"ledger": "usage", "collections": "collections of vectors", "videos": "jobs of videos", "comparisons": "comparisons",
			"prompts": "sent prompts", "drafts": "drafts", "state": "what the screen remembers",
		}
		for _, table := range done.Unchanged {
			if kind, ok := keptKinds[table]; ok {
				kinds = append(kinds, kind)
			}
		}
		o.Note("left as they are here: " + strings.Join(kinds, ", "))
	}
}
