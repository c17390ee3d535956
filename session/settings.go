package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/settings"
	"parley/session/store"
	"parley/tools"
)

// What a conversation keeps beside its messages: a persona, settings, added directories. Each is an
// event that it stores, and what the next request is made with.

// MaxPersona is how many bytes the system prompt of a persona may have.
const MaxPersona = 128 << 10

// A Persona is a system prompt that stays with a conversation, with the tools it offers. It is
// an event: the last one on a branch holds.
type Persona struct {
	Name    string   `json:"name"` // "": none from here on
	System  string   `json:"system,omitempty"`
	Tools   []string `json:"tools,omitempty"`   // as tools.Set.WithTools has them; nil: all
	Project string   `json:"project,omitempty"` // the directory that it came with; "": it is the user's own
	Ended   string   `json:"ended,omitempty"`   // without a Name: that of the one before
}

// TypedPersona is the Name of the persona that /system makes: its System is what the user typed.
const TypedPersona = "/system"

// PersonaOf returns the persona of the current branch; without a Name there is none.
func PersonaOf(s *Session) Persona {
	a, ok := s.lastAnnotation(store.KindPersona)
	if !ok {
		return Persona{}
	}
	p, _ := DecodeAnnotation(a).(Persona)
	return p
}

// SetPersona has the conversation continue with a persona, or without one, and system as the
// system prompt that this makes. It stays with the conversation.
func SetPersona(s *Session, p Persona, system string) error {
	if len(p.System) > MaxPersona {
		return fmt.Errorf("the persona %s is too large: its system prompt may have %d KB", p.Name, MaxPersona>>10)
	}
	if s.tools != nil && len(p.Tools) > 0 {
		if _, err := s.tools.WithTools(p.Tools...); err != nil {
			return fmt.Errorf("the persona %s: %w", p.Name, err)
		}
	}
	if p.Name != "" || PersonaOf(s).Name != "" {
		s.Annotate(0, p)
	}
	RestorePersona(s, p, system)
	return nil
}

// RestorePersona does as SetPersona for the persona that the conversation has.
func RestorePersona(s *Session, p Persona, system string) {
	set(s, &s.onlyTools, p.Tools)
	set(s, &s.persona, p)
	s.SetSystem(system)
}

// A systemMaker returns the system prompt that a persona makes, for one without a Name that of a
// conversation without one; not ok if the persona may not be used here.
type systemMaker = func(Persona) (system string, ok bool)

// FollowPersona makes the system prompt follow the branch: when the conversation switches to a
// branch with another persona, systemOf returns the system prompt of that; not ok: it cannot be
// used.
func FollowPersona(s *Session, systemOf func(Persona) (system string, ok bool)) {
	set(s, &s.systemOf, systemOf)
}

// followPersona continues with the persona of the current branch.
func followPersona(s *Session) {
	systemOf, was, now := get(s, &s.systemOf), get(s, &s.persona), PersonaOf(s)
	if systemOf == nil || now.Name == was.Name && now.System == was.System && slices.Equal(now.Tools, was.Tools) {
		return
	}
	system, ok := systemOf(now)
	if !ok {
		now = Persona{}
		system, _ = systemOf(now)
	}
	RestorePersona(s, now, system)
}

// Settings are what the user set for a conversation. It is an event: the last one of the
// conversation holds, on all branches.
type Settings = settings.Settings

// SettingsOf returns what was set for the conversation. It is the caller's.
func SettingsOf(s *Session) Settings {
	return locked(&s.mu, func() Settings { return s.own.Clone() })
}

// ChangeSettings has change set values of the conversation for its next requests, and returns what
// holds then. It stays with the conversation. Two calls at a time follow one another; change must
// not call the session. With an error of change, or where nothing is Changed, all is as before.
func ChangeSettings(s *Session, change func(*Settings) error) (Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.own.Clone()
	if err := change(&now); err != nil {
		return s.own.Clone(), err
	}
	if now.Changed == "" {
		return now, nil
	}
	if data, err := json.Marshal(now); err != nil || len(data) > maxAnnotationText {
		return s.own.Clone(), cmp.Or(err, fmt.Errorf("the settings of a conversation may have %d KB", maxAnnotationText>>10))
	}
	annotateBetween(s, 0, now)
	applySettings(s, now.Clone())
	return now, nil
}

// restoreSettings finds the settings of a conversation that was kept.
func restoreSettings(s *Session) {
	for _, a := range slices.Backward(s.tree.annotations) {
		if a.Kind == store.KindSettings {
			if now, ok := DecodeAnnotation(a).(Settings); ok {
				applySettings(s, now.Clone())
			}
			return
		}
	}
}

// applySettings makes own the settings of the conversation. The session is locked.
func applySettings(s *Session, own Settings) {
	given := s.configured
	given.Web = s.settings.Web // a prompt may search the web while it is answered
	s.own, s.settings = own, own.Override(given)
	s.tokens.reset()
}

// Directories are the directories beside the workspace that tools reach in a conversation. It is an
// event: the last one on a branch holds.
type Directories struct {
	Dirs []string          `json:"dirs"`          // absolute, without links; some may be gone at the moment
	IDs  map[string]string `json:"ids,omitempty"` // what told each from others when it was added; not of all
}

// BranchDirectories returns the added directories that the current branch stores, whether tools
// reach them or not; see MissingDirectories.
func BranchDirectories(s *Session) []string { return directoriesOf(s).Dirs }

func directoriesOf(s *Session) Directories {
	a, _ := s.lastAnnotation(store.KindDirectories)
	f, _ := DecodeAnnotation(a).(Directories)
	return f
}

// AddDirectory adds a directory that tools may use beside the workspace. Dir is the path that
// CheckDirectory returned, after the user agreed. The conversation stores it.
func AddDirectory(s *Session, dir string) error {
	others := slices.DeleteFunc(slices.Clone(BranchDirectories(s)), func(other string) bool { return other == dir })
	if slices.Contains(MissingDirectories(s), dir) {
		_ = SetDirectories(s, others...) // what it says of others is said below
	}
	return SetDirectories(s, append(others, dir)...)
}

// SetDirectories replaces the added directories of the conversation, from here on. It returns an
// error for those that cannot be added, and leaves them out; a directory that the conversation
// had and that no longer exists stays, and is used once it is back.
func SetDirectories(s *Session, dirs ...string) error {
	if s.tools == nil {
		return errors.New("no tools are available")
	}
	err := RestoreDirectories(s, dirs...)
	was, now := directoriesOf(s), s.tools.Folders()
	before := was.Dirs
	kept := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return !slices.Contains(now, dir) && (!slices.Contains(before, dir) || mayExist(dir))
	})
	if !slices.Equal(kept, before) {
		ids := tools.FolderIDs(s.tools)
		maps.Copy(ids, was.IDs)
		maps.DeleteFunc(ids, func(dir, _ string) bool { return !slices.Contains(kept, dir) })
		s.Annotate(0, Directories{Dirs: kept, IDs: ids})
	}
	return err
}

// mayExist reports whether something may stand at dir, whatever it is: only an error that says that
// there is nothing denies it, so that what cannot be looked at counts as there.
func mayExist(dir string) bool {
	_, err := os.Lstat(dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// MissingDirectories returns the added directories of the conversation that tools cannot use, for
// instance because they no longer exist.
func MissingDirectories(s *Session) []string {
	now := AddedDirectories(s)
	return slices.DeleteFunc(slices.Clone(BranchDirectories(s)), func(dir string) bool { return slices.Contains(now, dir) })
}

// withRestoredDirectories has tools reach the directories of the conversation that are back, and returns a
// prompt with what the model is told of that. Where another one stands by now it is no longer among
// them, which the user is told.
func withRestoredDirectories(t *turn, parts []llm.Part) []llm.Part {
	missing := MissingDirectories(t.Session)
	if t.Session.tools == nil || !slices.ContainsFunc(missing, mayExist) {
		return parts
	}
	there := slices.DeleteFunc(slices.Clone(BranchDirectories(t.Session)), func(dir string) bool { return !mayExist(dir) })
	if err := RestoreDirectories(t.Session, there...); err != nil {
		t.emit(llm.Notice{Text: "Continuing without a folder: " + strings.ReplaceAll(err.Error(), "\n", "; ")})
		_ = SetDirectories(t.Session, BranchDirectories(t.Session)...) // those that are gone stay
	}
	now := AddedDirectories(t.Session)
	back := slices.DeleteFunc(missing, func(dir string) bool { return !slices.Contains(now, dir) })
	if len(back) == 0 {
		return parts
	}
	t.emit(llm.Notice{Text: "Tools reach " + strings.Join(back, ", ") + " again"})
	told := "Tools reach " + strings.Join(back, ", ") + " again, as before."
	return append(slices.Clip(parts), llm.Part{Kind: llm.Text, Name: "note on folders", Text: "<note>\n" + told + "\n</note>"})
}

// RestoreDirectories does what SetDirectories does with the directories that the conversation
// stores, when it is opened again.
func RestoreDirectories(s *Session, dirs ...string) error {
	if s.tools == nil {
		return nil
	}
	err := tools.RestoreFolders(s.tools, directoriesOf(s).IDs, dirs...)
	s.files.AddFolders(s.tools.Folders()...)
	return err
}

// DirectoriesText tells a model of added directories; "" for none.
func DirectoriesText(dirs []string) string {
	if len(dirs) == 0 {
		return ""
	}
	return "Besides the workspace, tools reach these folders, by absolute paths: " + strings.Join(dirs, ", ") + ". Commands in the sandbox can change files in them, but not git's own."
}

// CheckDirectory returns the path of dir without symbolic links, or an error why it cannot be
// added.
func CheckDirectory(s *Session, dir string) (real string, err error) {
	if s.tools == nil {
		return "", errors.New("no tools are available")
	}
	return s.tools.CheckFolder(dir)
}

// AddedDirectories returns the directories that tools reach beside the workspace.
func AddedDirectories(s *Session) []string { return s.tools.Folders() }

// Tools returns the tools of the session, and of these what the next request offers.
func Tools(s *Session) (all, offered []llm.Tool) {
	if s.tools != nil {
		all = s.tools.Tools()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return all, s.emptyRequest(s.model).Tools
}

// notOffered says why a call of a tool does not run, whatever the policy allows: the model had no tools, or
// the user has turned the tool off since it was asked; nil if it may run.
func (t *turn) notOffered(name string) error {
	if t.tools == nil || t.latest.toolless {
		return noTools(name)
	}
	t.mu.Lock()
	off := len(t.own.Tools) > 0 && !t.own.Offers(name)
	t.mu.Unlock()
	if off && slices.ContainsFunc(t.tools.Tools(), func(tool llm.Tool) bool { return tool.Name == name }) {
		return fmt.Errorf("the user has turned the tool %q off", name)
	}
	return nil
}

// noTools says that a call does not run where no tools are on offer.
func noTools(name string) error {
	return fmt.Errorf("no tool %q: no tools are available here", name)
}

// offeredTools returns the tools as they are now that a persona and the user leave; nil for
// none. The session is locked.
func offeredTools(s *Session) *tools.Set {
	if s.tools == nil {
		return nil
	}
	offered := s.tools.Snapshot()
	if len(s.onlyTools) > 0 {
		only, err := offered.WithTools(s.onlyTools...)
		if err != nil { // one of them is gone since
			only, _ = offered.WithTools("none")
		}
		offered = only
	}
	if len(s.own.Tools) == 0 {
		return offered
	}
	names := []string{}
	for _, t := range offered.Tools() {
		if s.own.Offers(t.Name) {
			names = append(names, t.Name)
		}
	}
	left, _ := offered.WithTools(names...) // which are its own
	return left
}
