// Package memory keeps lines that the user wants every conversation to get.
//
//	/remember, the tool remember ──► Add ──► memory.md beside config.toml, or .parley/memory.md of a folder
//	a conversation begins ──► Prompt ──► its system prompt
//
// Lines of a folder are used if the user wrote exactly these with parley, or trusts the folder with them.
// Lines that look like keys are neither stored nor sent.
package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"parley/session/trust"
	"parley/tools"
	"parley/tools/atomicfile"
	"parley/tools/lazy"
	"parley/tools/process"
	"parley/tools/sanitize"
)

// Bounds in bytes. Every request pays for all lines.
const (
	maxLine = 2 << 10
	maxFile = 32 << 10
)

// Memory gives access to the user's lines and to those of a folder. It is safe for concurrent use.
type Memory struct {
	path  string // memory.md of the user; "" for none
	dir   string
	found func() trust.Project // what the folder adds
	store func() (decided trust.Store, end func())
	mask  func(string) string // masks configured keys

	mu sync.Mutex // held while a file changes
}

// Open returns the memory of the user, in the file path, and of the folder dir, which adds the files of found to parley.
// Store has the user's decisions about folders. Mask changes a text that contains a configured key.
func Open(path, dir string, found func() trust.Project, store func() (decided trust.Store, end func()), mask func(string) string) *Memory {
	return &Memory{path: path, dir: dir, found: found, store: store, mask: mask}
}

// Path returns the user's file, or that of the folder.
func (m *Memory) Path(here bool) string {
	if here {
		return filepath.Join(m.dir, filepath.FromSlash(trust.MemoryName))
	}
	return m.path
}

// name is Path for messages.
func name(here bool) string {
	if here {
		return trust.MemoryName
	}
	return "memory.md"
}

// Lines returns the lines of a file; none if they may not be used.
func (m *Memory) Lines(here bool) (lines []string) {
	text, usable, _ := m.read(here)
	if !usable {
		return nil
	}
	for line := range strings.Lines(text) {
		if line = bare(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// bare returns a line without the mark of a list.
func bare(line string) string {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"- ", "* "} {
		line = strings.TrimPrefix(line, mark)
	}
	return strings.TrimSpace(line)
}

// read returns the text of a file. Usable is false if the user does not trust it.
func (m *Memory) read(here bool) (text string, usable bool, err error) {
	if here {
		text, decides, err := trust.ReadMemory(m.dir)
		if err != nil || text == "" {
			return "", err == nil, err
		}
		decided, end := m.store()
		defer end()
		yes, known := trust.Decision(decided, decides)
		return text, yes && known, nil
	}
	if m.path == "" {
		return "", false, errors.New("there is no folder for memory.md: set XDG_CONFIG_HOME")
	}
	data, err := os.ReadFile(m.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	text, _ = tools.Sanitize(string(data))
	return text, true, nil
}

// Line returns text as one line to remember, or an error why it is not remembered.
func (m *Memory) Line(text string) (string, error) {
	plain, removed := tools.Sanitize(text)
	line := bare(strings.Join(strings.Fields(plain), " "))
	switch {
	case len(text) > maxLine:
		return "", fmt.Errorf("a line to remember may have %d bytes, and this one has %d: shorten it", maxLine, len(text))
	case line == "":
		return "", errors.New("there is nothing to remember: give a text")
	case len(removed) > 0 || sanitize.Text(line) != line:
		return "", errors.New("not remembered: the text contains hidden characters; type it without them")
	case looksSecret(line) || m.mask(line) != line:
		return "", errors.New("not remembered: the text looks as if it contains a key or a password; parley connect stores keys")
	}
	return line, nil
}

// secretShape matches long hexadecimal numbers, npm's tokens, a user with a password for curl, and what is named a secret.
var secretShape = lazy.NewRegexp(`(?i)\b[0-9a-f]{32,}\b|\bnpm_[0-9a-z]{20,}|(^|\s)(-u|--user)[ =]*([\w.@%+-]*[a-z_][\w.@%+-]*:\S|\d+:\S*[^\s\d])|(password|passwd|secret|token|api[ _-]?key)(\s+is\s|\s*[:=])\s*\S`)

// base64Shape matches what may be a key in base 64, which looks like a path.
var base64Shape = lazy.NewRegexp(`[A-Za-z0-9+/]{32,}`)

// looksSecret reports whether line seems to contain a key.
func looksSecret(line string) bool {
	if secretShape.MatchString(line) {
		return true
	}
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\"'`=:,;()[]{}<>|/\\@#&?%", r) })
	for _, word := range words {
		if sanitize.LooksSecret(strings.Trim(word, ".!?")) {
			return true
		}
	}
	for _, word := range strings.Fields(line) {
		if sanitize.LooksSecret(strings.NewReplacer("/", "", "+", "").Replace(base64Shape.FindString(word))) {
			return true
		}
	}
	return len(sanitize.CommandSecrets(strings.Fields(line))) > 0
}

// Add stores text as a line, in the file of the folder if here is set.
func (m *Memory) Add(text string, here bool) error { return m.Replace(here, "", text) }

// Replace replaces the line old by text. An empty old adds text, and an empty text forgets old.
func (m *Memory) Replace(here bool, old, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := ""
	if old == "" || text != "" {
		var err error
		if line, err = m.Line(text); err != nil {
			return err
		}
	}
	now, usable, err := m.read(here)
	switch {
	case err != nil:
		return err
	case !usable:
		return fmt.Errorf("%s was not written by you with parley: open parley here again and trust the folder, or remove the file", trust.MemoryName)
	}
	var after strings.Builder
	done := old == ""
	for was := range strings.Lines(now) {
		is := bare(was)
		if is == line && line != "" {
			return fmt.Errorf("%s has this line already", name(here))
		}
		if !done && is == old {
			done = true
			if was = ""; line != "" {
				was = "- " + line + "\n"
			}
		}
		after.WriteString(was)
	}
	if !done {
		return fmt.Errorf("%s no longer has the line %q", name(here), old)
	}
	if old == "" {
		if now != "" && !strings.HasSuffix(now, "\n") {
			after.WriteString("\n")
		}
		after.WriteString("- " + line + "\n")
	}
	if after.Len() > maxFile && after.Len() > len(now) {
		return fmt.Errorf("%s may have %d KB, because each request includes it: forget lines with /memory first", name(here), maxFile>>10)
	}
	return m.write(here, after.String())
}

// write replaces a file.
func (m *Memory) write(here bool, text string) error {
	path := m.Path(here)
	if !here {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return atomicfile.Replace(path, []byte(text))
	}
	found := m.found().WithoutMemory()
	decided, end := m.store()
	defer end()
	if yes, known := trust.Decision(decided, found); !found.Empty() && !(yes && known) {
		return errors.New("this folder is not trusted, so its lines are not used: trust it with /trust first")
	}
	folder := filepath.Dir(path)
	if info, err := os.Lstat(folder); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is no folder", folder)
	}
	defer process.Sandbox.Trust()()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := atomicfile.ReplaceShared(path, []byte(text)); err != nil {
		return err
	}
	if found.Empty() { // so that the next start does not ask about lines of the user's
		if err := trust.SaveDecision(decided, found, true); err != nil {
			return err
		}
	}
	return m.trust(decided, text)
}

// trust records that the lines of the folder are the user's. Text is what they should be; "" accepts any.
func (m *Memory) trust(decided trust.Store, text string) error {
	now, decides, err := trust.ReadMemory(m.dir)
	if err == nil && text != "" && now != text {
		err = fmt.Errorf("%s was changed at the same time: it is not used before you open parley here again", trust.MemoryName)
	}
	if err != nil {
		return err
	}
	return trust.SaveDecision(decided, decides, true)
}

// Edited accepts a file that the user has edited. The error names what is not sent of it.
func (m *Memory) Edited(here bool) error {
	if here {
		decided, end := m.store()
		defer end()
		if err := m.trust(decided, ""); err != nil {
			return err
		}
	}
	_, err := m.sent(here)
	return err
}

// sent returns the lines of a file as they are sent to a model. The error says what is left out.
func (m *Memory) sent(here bool) (text string, err error) {
	all, usable, err := m.read(here)
	if err != nil || !usable {
		return "", err
	}
	var out strings.Builder
	secret := 0
	for line := range strings.Lines(all) {
		if looksSecret(line) {
			secret++
			continue
		}
		out.WriteString(line)
	}
	text = strings.TrimSpace(out.String())
	if len(text) > maxFile {
		return strings.ToValidUTF8(text[:maxFile], ""), fmt.Errorf("%s: only its first %d KB are sent", name(here), maxFile>>10)
	}
	if secret > 0 {
		err = fmt.Errorf("%s: lines that look like keys are not sent (%d): remove them", name(here), secret)
	}
	return text, err
}

// Prompt returns all lines for the system prompt; "" for none. The error says what is left out.
func (m *Memory) Prompt() (text string, err error) {
	for _, here := range []bool{false, true} {
		if !here && m.path == "" {
			continue
		}
		lines, problem := m.sent(here)
		if err = errors.Join(err, problem); lines == "" {
			continue
		}
		if text == "" {
			text = "The user wants these lines to be known in every conversation. Newer words of the user count more."
		}
		text += fmt.Sprintf("\n\n<memory file=%q>\n%s\n</memory>", name(here), lines)
	}
	return text, err
}
