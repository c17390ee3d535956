package cli

import (
	"path/filepath"

	"parley/session"
	"parley/session/trust"
	"parley/tools"
	"parley/ui/app"
	"parley/ui/format"
)

// memories keeps the lines that every conversation gets.
type memories interface {
	app.Memory
	Prompt() (text string, err error)                                     // returns all lines for the system prompt; err names those left out
	Tool(current func() *session.Session, imported string) tools.External // returns the tool with which a model proposes a line
}

// A memoryOpener opens the lines of the user, in the file path, and of the folder dir.
type memoryOpener[M any] func(path, dir string, found func() trust.Project, store func() (trust.Store, func()), mask func(string) string) M

// openMemory is nil in a build without remembered lines.
var openMemory memoryOpener[memories]

// setMemory sets openMemory.
func setMemory[M memories](open memoryOpener[M]) {
	openMemory = func(path, dir string, found func() trust.Project, store func() (trust.Store, func()), mask func(string) string) memories {
		return open(path, dir, found, store, mask)
	}
}

// offerMemory opens the remembered lines, and if the user can be asked, offers the tool with which a model proposes one.
func offerMemory(a *program, asks bool, current func() *session.Session, imported string) error {
	if openMemory == nil {
		return nil
	}
	path := ""
	if dir := configDir(); dir != "" {
		path = filepath.Join(dir, "memory.md")
	}
	if a.project.memories == nil {
		a.project.memories = openMemory(path, a.dir, func() trust.Project { return a.project.found }, func() (trust.Store, func()) {
			decided, end, _ := openDecisions(a.library, a.flags.ephemeral)
			return decided, end
		}, func(text string) string {
			mask, _ := maskSecrets(a) // an unreadable store of keys masks fewer
			return mask(text)
		})
	}
	if _, err := a.project.memories.Prompt(); err != nil {
		a.Note(format.ErrorText(err))
	}
	tool := a.project.memories.Tool(current, imported)
	if a.toolSet == nil || !asks || !offersTool(a.flags.toolNames, tool.Name) {
		return nil
	}
	a.toolSet.ProtectFiles(path)
	return a.toolSet.AddExternal(tool)
}

// remembered returns the remembered lines for the system prompt; "" for none.
func (p *project) remembered() string {
	if p.memories == nil {
		return ""
	}
	text, _ := p.memories.Prompt() // offerMemory reports the error
	return text
}
