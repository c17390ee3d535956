package cli

import (
	"strings"
	"time"

	"parley/session"
	"parley/session/transfer"
	"parley/ui/format"
)

// exporter returns a function that writes conversations of a library to files in folder, with secrets masked by mask.
// The note counts the masked texts.
func exporter(formats transfer.Formats, library *session.Store, folder string, mask func() (func(string) string, error)) func(s *session.Session, as, path string) (written, note string, err error) {
	return func(s *session.Session, as, path string) (written, note string, err error) {
		form, err := formats.Find(as)
		if err != nil {
			return "", "", err
		}
		about, _, err := library.Read(s.ID())
		if err != nil { // it is not stored
			about = session.Info{ID: s.ID(), Model: s.Model().Name, Created: time.Now()}
		}
		about.Head = s.Head()
		shown, _ := library.Annotations(about.ID) // export without annotations rather than fail
		known, missed := mask()
		c := transfer.Mask(transfer.Conversation{Session: about, Nodes: s.Nodes(), Annotations: shown}, known)
		if c.MaskedTexts > 0 {
			note = " · keys masked in " + format.Plural(c.MaskedTexts, "text")
		}
		if missed != nil {
			note += " · " + strings.ReplaceAll(format.ErrorText(missed), "\n", " · ")
		}
		written, err = form.Save(c, path, folder)
		return written, note, err
	}
}
