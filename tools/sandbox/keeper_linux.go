package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"parley/tools/folders"
	"parley/tools/openat"
)

// A keeper protects what configures or runs programs for git, parley and the shell in a workspace
// while commands run there. It receives each name that changes, and examines those that belong to a
// git directory or a protected path. What no command may make is taken away within milliseconds; git's
// own files in new repositories stay while they run nothing.
type keeper struct {
	list       *folders.List
	root       *os.Root
	top        openat.Dir    // root
	stopEvents func()        // ends the subscription to list
	ended      chan struct{} // closed once its goroutine has ended
	wake       chan struct{} // something was touched; closed at the end

	mu           sync.Mutex
	before       baseline
	held         map[string]*os.File // directories above protected paths, unless these are mounted
	savedBytes   int64
	namesChecked int             // by allEntries, since the last look
	gitDirs      map[string]bool // those of the baseline and new ones
	accepted     map[string]bool // protected paths that the user made meanwhile
	running      []*kept
	notes        []note
	isOutside    bool     // of the repository outside that the workspace is a worktree of: its state files are only reported
	journal      *os.File // nil before the first command
	journalName  string
	quarantine

	touching  sync.Mutex      // guards the following
	touched   map[string]bool // names that changed since the last look
	protected map[string]bool // before.Protected, and the directories above: true for the paths themselves
}

// kept is a command that a keeper watches.
type kept struct {
	lasting bool // it runs as long as the user works
	mounted bool // existing protected paths are read-only for it
	notices io.Writer
	told    map[string]int         // how often each was found
	stop    atomic.Pointer[func()] // ends the command; nil before it is known, and for one that cannot be ended
	leftOut []string               // folders that the list left out before
	far     []*keeper              // of the repository elsewhere that the workspace is a worktree of
}

// keepers holds those of this process by directory, while commands run there.
var keepers struct {
	sync.Mutex
	all     map[string]*keeper
	outside atomic.Int32 // programs that the user let run outside of the sandbox: what appears meanwhile is theirs
}

// A watched command is one that keepers watch.
type watched struct {
	all     []*kept // one for each directory
	notices io.Writer
	early   bytes.Buffer // notices for the standard error of the command, unless the policy has a writer
	mu      sync.Mutex   // guards early
	ends    []func()
	once    sync.Once
}

// watch has keepers watch a command that is about to start, in the workspace and in Directories. Existing protected
// paths are read-only for it if mounts is true. End must be called when it has ended.
func (p policy) watch(mounts bool) (*watched, error) {
	w := &watched{notices: p.Notices}
	if w.notices == nil {
		w.notices = w
	}
	if len(p.Protected) == 0 {
		return w, nil
	}
	for _, dir := range append([]string{p.Workspace}, p.Directories...) {
		c := &kept{lasting: p.LongRunning, mounted: mounts || p.LongRunning || dir != p.Workspace, notices: w.notices, told: map[string]int{}}
		protected := p.Protected
		if dir != p.Workspace {
			protected = p.inDirectories[dir]
		} else {
			for _, gitDir := range p.outsideGitDirs {
				if far, err := openKeeper(gitDir); err == nil {
					far.isOutside, far.before.States = true, map[string]map[string]fileState{}
					far.saveState(".")
					c.far = append(c.far, far)
				}
			}
		}
		end, err := c.begin(dir, protected)
		if err != nil {
			w.end(nil)
			return nil, err
		}
		w.all, w.ends = append(w.all, c), append(w.ends, end)
	}
	return w, nil
}

// setStop sets the function that ends the command.
func (w *watched) setStop(stop func()) {
	for _, c := range w.all {
		c.stop.Store(&stop)
	}
}

// end ends the watch once, after the command. A nil cmd did not start.
func (w *watched) end(cmd *exec.Cmd) {
	w.once.Do(func() {
		for _, end := range w.ends {
			end()
		}
		if cmd != nil && cmd.Stderr != nil {
			_, _ = w.early.WriteTo(cmd.Stderr)
		} else {
			_, _ = w.early.WriteTo(os.Stderr)
		}
	})
}

// Write implements io.Writer.
func (w *watched) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.early.Write(text)
}

// begin has the keeper of a directory watch the command.
func (c *kept) begin(dir string, protected []string) (end func(), err error) {
	keepers.Lock()
	defer keepers.Unlock()
	k := keepers.all[dir]
	if k == nil {
		if found := FinishJournals(dir); found != "" {
			_, _ = io.WriteString(c.notices, found)
		}
		if k, err = newKeeper(dir, undoneDir(dir)); err != nil {
			return nil, err
		}
		if keepers.all == nil {
			keepers.all = map[string]*keeper{}
		}
		keepers.all[dir] = k
	}
	if err := k.begin(c, protected); err != nil {
		k.release(c)
		return nil, err
	}
	return func() {
		keepers.Lock()
		k.end(c)
		k.release(c)
		keepers.Unlock()
		k.flush()
	}, nil
}

// openKeeper returns a keeper of the files in dir, without a list of its folders.
func openKeeper(dir string) (*keeper, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	top, err := openat.Open(root, ".")
	if err != nil {
		root.Close()
		return nil, err
	}
	return &keeper{root: root, top: top, gitDirs: map[string]bool{}, accepted: map[string]bool{}, touched: map[string]bool{}, held: map[string]*os.File{}}, nil
}

// newKeeper returns a keeper that watches nothing yet.
func newKeeper(dir, undone string) (*keeper, error) {
	k, err := openKeeper(dir)
	if err != nil {
		return nil, err
	}
	k.list, k.path, k.ended, k.wake = folders.Open(dir), undone, make(chan struct{}), make(chan struct{}, 1)
	return k, nil
}

// begin adds a command, which may start when it returns. Its caller holds keepers.
func (k *keeper) begin(c *kept, protected []string) error {
	if _, err := k.list.Sync(context.Background()); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.running) > 0 && k.before.Mounted && !c.mounted {
		k.examineAll()
	}
	if len(k.running) == 0 || k.before.Mounted && !c.mounted {
		if err := k.setBaseline(protected, c.mounted); err != nil {
			return err
		}
	} else { // what the others may still write is not trusted
		k.examineAll()
	}
	k.running = append(k.running, c)
	c.leftOut = k.list.LeftOut()
	k.before.Lasting = k.onlyLasting()
	if k.stopEvents == nil {
		k.stopEvents = k.list.Changed(k.touch)
		go k.work()
	}
	if _, err := k.list.Sync(context.Background()); err != nil { // git directories are watched from now on
		return err
	}
	return k.writeJournal()
}

// onlyLasting reports whether all running commands are programs that last.
func (k *keeper) onlyLasting() bool {
	return !slices.ContainsFunc(k.running, func(c *kept) bool { return !c.lasting })
}

// setBaseline makes what is there now the baseline.
func (k *keeper) setBaseline(protected []string, mounted bool) error {
	k.before = baseline{Workspace: k.root.Name(), Mounted: mounted, Protected: protected, Found: map[string]saved{}, States: map[string]map[string]fileState{}}
	k.closeHeld()
	k.savedBytes = 0
	clear(k.accepted)
	r := repositories{root: k.root, workspace: k.root.Name(), protected: protected}
	if err := r.find(); err != nil {
		return err
	}
	k.before.GitDirs, k.before.Layout = r.gitDirs, r.layoutParts
	clear(k.gitDirs)
	touching := map[string]bool{}
	for _, p := range protected {
		k.save(p)
		for _, dir := range parentDirs(p) {
			touching[dir] = touching[dir] || false
			if k.mode(dir)&fs.ModeSymlink != 0 {
				k.before.Links = append(k.before.Links, dir)
			}
		}
		touching[p] = true
	}
	for _, dir := range r.gitDirs {
		k.gitDirs[dir] = true
		k.list.Enter(dir)
		k.saveState(dir)
	}
	k.touching.Lock()
	defer k.touching.Unlock()
	k.protected = touching
	return nil
}

// end examines the workspace after a command, whose processes have ended.
func (k *keeper) end(c *kept) {
	_, err := k.list.Sync(context.Background())
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.notes = append(k.notes, note{c.notices, "[CAUTION: the sandbox could not check all new folders for repositories that run programs: " + err.Error() + "]\n"})
	}
	k.examineAll()
	var found changes
	dirs := slices.DeleteFunc(slices.Sorted(maps.Keys(k.gitDirs)), func(dir string) bool {
		return k.newLinkAbove(dir) != "" || path.Base(dir) != ".git" && !k.repositories().hasGitDirLayout(filepath.Join(k.root.Name(), dir))
	})
	k.compareStates(dirs, &found)
	for _, dir := range k.list.LeftOut() {
		if !slices.Contains(c.leftOut, dir) {
			found.unseen = append(found.unseen, dir)
		}
	}
	for _, far := range c.far {
		far.compareStates([]string{"."}, &found)
		far.closeFiles()
	}
	k.tell(found)
}

// release ends the watch of a command. Its caller holds keepers.
func (k *keeper) release(c *kept) {
	k.mu.Lock()
	k.running = slices.DeleteFunc(k.running, func(r *kept) bool { return r == c })
	left := len(k.running)
	k.before.Lasting = k.onlyLasting()
	k.mu.Unlock()
	if left > 0 {
		return
	}
	delete(keepers.all, k.root.Name())
	k.close()
}

func (k *keeper) close() {
	if k.stopEvents != nil {
		k.stopEvents()
		close(k.wake)
		<-k.ended
	}
	removeJournal(k.journal, k.journalName)
	k.prune(time.Now())
	k.list.Close()
	k.closeFiles()
}

func (k *keeper) closeFiles() {
	k.closeHeld()
	k.root.Close()
	k.top.Close()
}

func (k *keeper) closeHeld() {
	for _, f := range k.held {
		f.Close()
	}
	clear(k.held)
}

// touch notes a name that changed, if it matters. It is called by the list.
func (k *keeper) touch(name string) {
	base := path.Base(name)
	isPart := base == ".git" || slices.Contains(gitDirLayout, base) || slices.Contains(gitConfigNames, base) || path.Base(path.Dir(name)) == "hooks"
	if _, inGitDir, ok := strings.Cut("/"+name, "/.git/"); ok {
		part, _, _ := strings.Cut(inGitDir, "/")
		isPart = slices.Contains(gitConfigNames, part)
	}
	k.touching.Lock()
	defer k.touching.Unlock()
	_, known := k.protected[name]
	if !known && !isPart && !slices.ContainsFunc(parentDirs(name), func(dir string) bool { return k.protected[dir] }) {
		return
	}
	k.touched[name] = true
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// work examines what is touched until the keeper is closed. A file that was mapped or has another hard link changes
// without being touched.
func (k *keeper) work() {
	defer close(k.ended)
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	for {
		var began time.Time
		select {
		case _, open := <-k.wake:
			if !open {
				return
			}
			time.Sleep(5 * time.Millisecond) // more is touched soon
			k.mu.Lock()
			k.examineTouched()
			k.mu.Unlock()
			k.flush()
		case began = <-again.C:
			k.mu.Lock()
			k.examineKept()
			k.mu.Unlock()
			k.flush()
			again.Reset(max(lookAgain, 50*time.Since(began)))
		}
	}
}

// lookAgain is how often files are read that no command may change, where one can.
const lookAgain = 100 * time.Millisecond

// examineKept examines what stayed in new repositories, and protected paths that are not mounted.
func (k *keeper) examineKept() {
	k.namesChecked = 0
	var found changes
	r := k.repositories()
	for dir := range k.gitDirs {
		if _, was := k.before.States[dir]; !was {
			k.addRepository(r, dir)
		}
	}
	k.examineNew(r, &found)
	for _, p := range k.before.Protected {
		if !k.before.Mounted {
			k.examine(p, &found)
		}
	}
	k.tell(found)
}

// examineTouched examines what was touched since the last time.
func (k *keeper) examineTouched() {
	k.touching.Lock()
	touched := k.touched
	k.touched = map[string]bool{}
	k.touching.Unlock()
	k.namesChecked = 0
	r := k.repositories()
	var found changes
	var gitDirs []string
	for _, name := range slices.Sorted(maps.Keys(touched)) {
		if dir := k.gitDirOf(name); dir != "" && !slices.Contains(gitDirs, dir) {
			gitDirs = append(gitDirs, dir)
		}
	}
	near, above := map[string]bool{}, map[string]bool{}
	for name := range touched {
		near[name], near[k.gitDirOf(name)] = true, true
		for _, dir := range parentDirs(name) {
			above[dir] = true
		}
	}
	for _, p := range k.before.Protected {
		if near[p] || above[p] || slices.ContainsFunc(parentDirs(p), func(dir string) bool { return near[dir] }) {
			k.examine(p, &found)
		}
	}
	for _, dir := range gitDirs {
		k.addRepository(r, dir)
	}
	k.examineNew(r, &found)
	k.tell(found)
}

// gitDirOf returns the git directory that name belongs to; "" for none.
func (k *keeper) gitDirOf(name string) string {
	if before, _, ok := strings.Cut("/"+name+"/", "/.git/"); ok {
		return path.Join(strings.TrimPrefix(before, "/"), ".git")
	}
	for _, dir := range parentDirs(name) {
		if k.gitDirs[dir] {
			return dir
		}
	}
	if slices.Contains(gitDirLayout, path.Base(name)) {
		return path.Dir(name)
	}
	return ""
}

// repositories returns the repositories so far.
func (k *keeper) repositories() *repositories {
	return &repositories{root: k.root, workspace: k.root.Name(), protected: slices.Clone(k.before.Protected)}
}

// addRepository adds the repository of a git directory, if it is one, to r.
func (k *keeper) addRepository(r *repositories, gitDir string) {
	if path.Base(gitDir) == ".git" {
		r.protectRepository(path.Dir(gitDir))
	} else {
		r.protectRepository(gitDir)
	}
}

// examineAll examines everything.
func (k *keeper) examineAll() {
	k.examineTouched()
	k.namesChecked = 0
	var found changes
	for _, p := range k.before.Protected {
		k.examine(p, &found)
	}
	r := k.repositories()
	if err := r.find(); err != nil {
		found.unseen = append(found.unseen, k.root.Name())
	}
	k.examineNew(r, &found)
	k.tell(found)
}

// examine puts back or takes away what changed of a protected path.
func (k *keeper) examine(p string, found *changes) {
	was, known := k.before.Found[p]
	switch {
	case k.accepted[p] || k.before.Mounted && known && was.Mode&fs.ModeSymlink == 0:
	case known && k.isWhole(p), !known && k.newLinkAbove(p) == "" && (!k.exists(p) || k.isHarmless(p)):
	case keepers.outside.Load() > 0:
		k.accepted[p] = true
	case k.before.Lasting && !known && !strings.Contains("/"+p, "/.git"):
		found.created = append(found.created, p)
		k.accepted[p] = true
	case !known && k.newLinkAbove(p) != "":
		found.note(p, k.take(k.newLinkAbove(p)))
	default:
		k.putBack(p, found)
	}
}

// newLinkAbove returns the first part of the path of a missing protected file that is now a link: it may lead anywhere.
func (k *keeper) newLinkAbove(p string) string {
	for _, dir := range parentDirs(p) {
		if k.mode(dir)&fs.ModeSymlink != 0 && !slices.Contains(k.before.Links, dir) {
			return dir
		}
	}
	return ""
}

// examineNew takes away what configures the new ones of r, unless it runs nothing.
func (k *keeper) examineNew(r *repositories, found *changes) {
	noLinks := map[string]bool{} // directories
	for _, dir := range r.gitDirs {
		if k.newLinkAbove(dir+"/config") != "" {
			delete(k.gitDirs, dir) // another of its names is examined
			continue
		}
		k.gitDirs[dir], noLinks[dir] = true, true
		k.list.Enter(dir) // perhaps once more: it may be another folder of this name
	}
	for _, p := range r.protected[len(k.before.Protected):] {
		if r.missing[p] {
			continue
		}
		_, err := k.top.Stat(p)
		if errors.Is(err, fs.ErrPermission) {
			makeReadable(k.root, path.Dir(p))
			_, err = k.top.Stat(p)
		}
		if err != nil || k.accepted[p] || !noLinks[path.Dir(p)] && k.newLinkAbove(p) != "" || k.isHarmless(p) {
			continue
		}
		if keepers.outside.Load() > 0 {
			k.accepted[p] = true
			continue
		}
		if r.bareDirs[path.Dir(p)] {
			p = k.newLayoutPart(path.Dir(p), p)
		}
		k.takeParts(p, found)
	}
}

// takeParts takes away what is new and runs something in a path that configures git, which may have repositories of
// the baseline in it: worktrees and modules do.
func (k *keeper) takeParts(p string, found *changes) {
	if !slices.ContainsFunc(k.before.GitDirs, func(dir string) bool { return isWithin(dir, p) }) {
		found.note(p, k.take(p))
		return
	}
	children, _ := k.names(p, -1)
	for _, child := range children {
		child = path.Join(p, child)
		if !slices.Contains(k.before.GitDirs, child) && !k.isHarmlessGitDir(child) {
			k.takeParts(child, found)
		}
	}
}

// newLayoutPart returns a new file that gives a directory the layout of a git directory: without it git does not treat
// the directory as one, and other files can stay. If there is none, it returns what.
func (k *keeper) newLayoutPart(dir, what string) string {
	for _, name := range gitDirLayout {
		if name = path.Join(dir, name); k.exists(name) && !slices.Contains(k.before.Layout, name) {
			return name
		}
	}
	return what
}

// maxTimes is how often a command may make again what is taken away before it is ended: in such a loop the file exists
// part of the time.
const maxTimes = 20

// maxTold bounds the names that are reported about one command.
const maxTold = 1000

// tell reports to the running commands what was found, each name once.
func (k *keeper) tell(found changes) {
	kept := k.locations
	k.locations = nil
	for _, c := range k.running {
		was := len(c.told)
		text := describeChanges(found.without(c.told), kept)
		if was <= maxTold && len(c.told) > maxTold {
			text += "[CAUTION: further names of this command are not listed]\n"
		} else if was > maxTold {
			text = ""
		}
		for name, times := range c.told {
			if stop := c.stop.Load(); times >= maxTimes && name[0] == '0' && stop != nil { // of those taken away
				text += "[the sandbox ended the command, because it kept making " + joinNames([]string{name[1:]}) + "]\n"
				c.stop.Store(nil)
				(*stop)()
			}
		}
		if text != "" {
			k.notes = append(k.notes, note{c.notices, text})
		}
	}
}

// A note is a notice to be written once k is unlocked: its reader may wait for something else.
type note struct {
	to   io.Writer
	text string
}

// flush writes the notes. Its caller holds no lock.
func (k *keeper) flush() {
	k.mu.Lock()
	notes := k.notes
	k.notes = nil
	k.mu.Unlock()
	for _, n := range notes {
		_, _ = io.WriteString(n.to, n.text)
	}
}

// Trust accepts what appears in any watched directory until release is called: it is made by a program that the
// user let run outside of the sandbox.
func Trust() (release func()) {
	each := func(n int32) {
		keepers.Lock()
		defer keepers.Unlock()
		for _, k := range keepers.all {
			_, _ = k.list.Sync(context.Background())
			k.mu.Lock()
			k.examineAll()
			k.mu.Unlock()
		}
		keepers.outside.Add(n)
	}
	each(1)
	return sync.OnceFunc(func() { each(-1) })
}

// Accept accepts a path that parley itself is about to make in a watched directory.
func Accept(file string) {
	keepers.Lock()
	defer keepers.Unlock()
	for dir, k := range keepers.all {
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			k.mu.Lock()
			for _, p := range append(parentDirs(rel), rel) {
				k.accepted[p] = true
			}
			k.mu.Unlock()
		}
	}
}

// changes lists what was found in protected paths.
type changes struct {
	restored, failed []string
	dangerousFiles   []string // files that name programs for git to run
	created          []string // by programs that last, or by the user meanwhile: they stay
	unseen           []string // folders that are not looked at
}

func (c *changes) note(name string, err error) {
	list := &c.restored
	if err != nil {
		list = &c.failed
	}
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// without returns c without what is told, to which it adds the rest.
func (c changes) without(told map[string]int) changes {
	for i, list := range []*[]string{&c.restored, &c.failed, &c.dangerousFiles, &c.created, &c.unseen} {
		*list = slices.DeleteFunc(slices.Clone(*list), func(name string) bool {
			key := strconv.Itoa(i) + name
			if len(told) > maxTold && told[key] == 0 {
				return true
			}
			told[key]++
			return told[key] > 1
		})
	}
	return c
}

// describeChanges returns notices about c and the locations of moved files; "" without
// changes.
func describeChanges(c changes, kept []string) string {
	var b strings.Builder
	where := ""
	if len(kept) > 0 {
		where = "; the removed file is kept in " + joinNames(kept)
	}
	if len(c.restored) > 0 {
		b.WriteString("[the sandbox undid changes of " + joinNames(c.restored) + ": no command may change them" + where + "]\n")
		where = ""
	}
	if len(c.failed) > 0 {
		b.WriteString("[CAUTION: " + joinNames(c.failed) + " was changed and could not be restored" + where + "]\n")
	}
	if len(c.dangerousFiles) > 0 {
		b.WriteString("[CAUTION: " + joinNames(c.dangerousFiles) + " is new and names programs for git to run; look at it before you use git there]\n")
	}
	if len(c.created) > 0 {
		b.WriteString("[CAUTION: " + joinNames(c.created) + " was made while the program ran; look at it before you use it]\n")
	}
	if len(c.unseen) > 0 {
		b.WriteString("[CAUTION: the sandbox could not check all new folders for repositories that run programs; it skipped " + joinNames(c.unseen) + "]\n")
	}
	return b.String()
}

// joinNames joins names, at most the first thousand. No name can begin a line of its own.
func joinNames(names []string) string {
	const most = 1000
	more := len(names) - most
	text := strings.Map(func(r rune) rune {
		switch {
		case r < ' ':
			return r + '␀'
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r): // format characters may reorder a line
			return unicode.ReplacementChar
		}
		return r
	}, strings.Join(names[:min(len(names), most)], ", "))
	if more > 0 {
		text = fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}
