package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/tools/act"
	"parley/tools/sanitize"
)

// Bounds of commands in the background.
const (
	maxJobs       = 16                     // running at the same time
	maxEndedJobs  = 16                     // ended ones whose output is kept
	maxUnreadText = 2000                   // characters of output, and of the command, kept of an old ended job until the model has read them
	maxJobText    = 125_000                // characters kept of a job's whole output: its head and its tail, at most 1 MB
	settleTime    = 500 * time.Millisecond // a command started in the background that ends within this time returns its result at once
)

// errTooManyJobs is why a command cannot move to the background.
var errTooManyJobs = fmt.Errorf("%d commands run in the background already", maxJobs)

// Jobs holds the background commands of a workspace. They end when the set of tools is closed. It
// is safe for concurrent use; a nil Jobs is empty.
type Jobs struct {
	now   func() time.Time
	timer func(time.Duration) <-chan time.Time

	mu         sync.Mutex
	after      time.Duration // time after which a command moves to the background by itself; 0: never
	foreground []*job        // commands whose calls wait for them
	list       []*job        // background commands and some that have ended, the oldest first
	lastNumber int           // number of the latest background job
	onNews     func(Job)
	closed     bool
}

func newJobs() *Jobs { return &Jobs{now: time.Now, timer: time.After} }

// A Job is a snapshot of a background command.
type Job struct {
	N       int // its number, from 1
	Command string
	Owner   string    // conversation whose call started it
	Started time.Time // start of the command
	Ended   time.Time // zero while it runs
	State   string    // how it ended, such as "exit status 0"; "" while it runs
	Failed  bool
	Size    int64 // bytes of output so far
}

// Runs reports whether the command has not ended.
func (j Job) Runs() bool { return j.Ended.IsZero() }

// Name returns the first line of the command for display.
func (j Job) Name() string {
	line, _, _ := strings.Cut(strings.TrimSpace(j.Command), "\n")
	return sanitize.Line(line)
}

// Elapsed returns the running time until now or until the command ended; 0 if the clock was
// set back.
func (j Job) Elapsed(now time.Time) time.Duration {
	if !j.Runs() {
		now = j.Ended
	}
	return max(now.Sub(j.Started), 0)
}

// Killed reports whether the user or the model ended the job.
func (j Job) Killed() bool { return strings.HasPrefix(j.State, errKilled.Error()) }

// A job is a running command with its output. It is in the background after its call has returned.
type job struct {
	moveRequested chan struct{} // receives when the user requests the move to the background
	cancel        context.CancelCauseFunc
	done          chan struct{} // closed once it has ended in the background

	showing  sync.Mutex   // held while progress is called
	progress func(string) // receives live output; nil once the call has returned

	mu          sync.Mutex
	info        Job
	unread      unseenText // output that the model has not read
	all         headTail
	rest        string // the end of the output, which may still change
	notes       string // about its end, for the model
	news        string // notices of the sandbox that the model does not know
	endReported bool   // the model knows that it ended
	viewer      func() // called on new output and at the end; nil: nobody watches
}

// SetBackground moves commands to the background that run longer than after; 0: never.
func (s *Set) SetBackground(after time.Duration) {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	s.jobs.after = after
}

// Jobs returns the background commands of all conversations in this workspace.
func (s *Set) Jobs() *Jobs {
	if s == nil {
		return nil
	}
	return s.jobs
}

func (l *Jobs) backgroundAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.after
}

// begin registers a command that starts now.
func (l *Jobs) begin(owner, command string, progress func(string), cancel context.CancelCauseFunc) *job {
	j := &job{
		moveRequested: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}), progress: progress,
		info: Job{Command: command, Owner: owner, Started: l.now()}, unread: unseenText{headTail: headTail{limit: maxText - 1000}}, all: headTail{limit: maxJobText},
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.foreground = append(l.foreground, j)
	return j
}

// removeForeground removes a command that ended in the foreground.
func (l *Jobs) removeForeground(j *job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.foreground = slices.DeleteFunc(l.foreground, func(a *job) bool { return a == j })
}

// move moves a command to the background, unless there are too many.
func (l *Jobs) move(j *job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.running() >= maxJobs {
		return false
	}
	l.foreground = slices.DeleteFunc(l.foreground, func(a *job) bool { return a == j })
	l.lastNumber++
	j.mu.Lock()
	j.info.N = l.lastNumber
	j.mu.Unlock()
	l.list = append(l.list, j)
	return true
}

// running counts the commands running in the background. The caller holds the
// list's lock.
func (l *Jobs) running() (n int) {
	for _, j := range l.list {
		if j.snapshot().Runs() {
			n++
		}
	}
	return n
}

// finish records the end of a background command, and calls onNews.
func (l *Jobs) finish(j *job, r *runningCommand, out act.Outcome) {
	notes := r.notes
	if r.saved != nil {
		notes = append(notes, r.saved.notice())
	}
	j.mu.Lock()
	j.info.Ended, j.info.State, j.info.Failed = l.now(), r.endState(), out.Failed
	j.notes = strings.Join(notes, "\n")
	if len(notes) == 0 {
		j.notes = out.Text // the command did not start, or the progress function failed
	}
	is := j.info
	j.mu.Unlock()
	close(j.done)
	j.notifyViewer()
	l.mu.Lock()
	l.pruneEnded()
	tell := l.onNews
	l.mu.Unlock()
	if tell != nil {
		tell(is)
	}
}

// notify passes on a notice of the sandbox about a command. It reports whether the command is in the background: the
// notice is then also part of its output, and in notices for the user.
func (l *Jobs) notify(j *job, text string, notices *sandboxNotices) bool {
	plain, _ := Sanitize(text)
	j.mu.Lock()
	background := j.info.N > 0 && j.info.Runs()
	if background {
		j.unread.write(plain)
		j.all.write(plain)
		j.news += plain
	}
	is := j.info
	j.mu.Unlock()
	if !background {
		j.show(plain)
		return false
	}
	_, _ = notices.Write([]byte(text))
	j.notifyViewer()
	l.mu.Lock()
	tell := l.onNews
	l.mu.Unlock()
	if tell != nil {
		go tell(is) // the command may wait for what it does
	}
	return true
}

func (j *job) snapshot() Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.info
}

// write appends final text to the output. Rest follows it and may still change.
func (j *job) write(text, rest string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.info.Size += int64(len(text) + len(rest) - len(j.rest))
	j.unread.write(text)
	j.all.write(text)
	j.rest = rest
}

// show sends live output to the call's progress function.
func (j *job) show(text string) {
	j.showing.Lock()
	defer j.showing.Unlock()
	if j.progress != nil {
		j.progress(text)
	}
	j.notifyViewer()
}

// notifyViewer calls the viewer.
func (j *job) notifyViewer() {
	j.mu.Lock()
	tell := j.viewer
	j.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// stopProgress stops sending live output, because the call returns.
func (j *job) stopProgress() {
	j.showing.Lock()
	defer j.showing.Unlock()
	j.progress = nil
}

// List returns the background commands, oldest first, including some that have ended.
func (l *Jobs) List() (all []Job) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.list {
		all = append(all, j.snapshot())
	}
	return all
}

// Running returns the names of the jobs that have not ended, such as "1. make".
func (l *Jobs) Running() (names []string) {
	for _, j := range l.List() {
		if j.Runs() {
			names = append(names, fmt.Sprintf("%d. %s", j.N, j.Name()))
		}
	}
	return names
}

// find returns a job by its number; nil if there is none.
func (l *Jobs) find(n int) *job {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.list {
		if j.snapshot().N == n {
			return j
		}
	}
	return nil
}

// Output returns a job and its output, of a long one the head and the tail; !ok if there is no such
// job.
func (l *Jobs) Output(n int) (is Job, text string, ok bool) {
	j := l.find(n)
	if j == nil {
		return Job{}, "", false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.info, j.all.String() + j.rest, true
}

// View sets the viewer of a job: changed is called after new output and at the end, from any
// goroutine, at most about twenty times a second. Nil removes the viewer. An unknown job is
// ignored.
func (l *Jobs) View(n int, changed func()) {
	if j := l.find(n); j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.viewer = changed
	}
}

// Kill ends a job and its processes for the user, and waits at most half a minute for that.
func (l *Jobs) Kill(n int) (Job, error) {
	j := l.find(n)
	if j == nil {
		return Job{}, fmt.Errorf("there is no job %d", n)
	}
	if is := j.snapshot(); !is.Runs() {
		return is, fmt.Errorf("job %d has ended: %s", n, is.State)
	}
	return j.kill(fmt.Errorf("%w by the user", errKilled))
}

// killTime bounds the wait for a killed job to end; see
// process.Child.Terminate.
const killTime = 30 * time.Second

func (j *job) kill(why error) (Job, error) {
	j.cancel(why)
	select {
	case <-j.done:
		return j.snapshot(), nil
	case <-time.After(killTime):
		return j.snapshot(), fmt.Errorf("job %d could not be ended", j.snapshot().N)
	}
}

// Move moves the foreground commands to the background for the user, and returns how many moved.
// The error says why some could not.
func (l *Jobs) Move() (n int, err error) {
	if l == nil {
		return 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	room := maxJobs - l.running()
	for _, j := range l.foreground {
		if n == room {
			return n, errTooManyJobs
		}
		select {
		case j.moveRequested <- struct{}{}:
			n++
		default: // requested already
		}
	}
	return n, nil
}

// OnNews sets the function that is called with each background job that ends, and with each about which the sandbox has
// a notice, from any goroutine.
func (l *Jobs) OnNews(f func(Job)) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onNews = f
}

// TakeEnded returns the ended jobs of a conversation that its model does not know about yet, and
// marks them as reported.
func (l *Jobs) TakeEnded(owner string) (ended []Job) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.list {
		j.mu.Lock()
		if !j.info.Runs() && !j.endReported && j.info.Owner == owner {
			j.endReported = true
			ended = append(ended, j.info)
		}
		j.mu.Unlock()
	}
	return ended
}

// takeNews returns the notices of the sandbox about the jobs of a conversation that its model does not know.
func (l *Jobs) takeNews(owner string) (news []string) {
	for _, is := range l.List() {
		if j := l.find(is.N); j != nil && is.Owner == owner {
			j.mu.Lock()
			if j.news != "" {
				news = append(news, note("job %d: %s", is.N, strings.Trim(truncate(j.news, maxNotices), "[]\n")))
			}
			j.news = ""
			j.mu.Unlock()
		}
	}
	return news
}

// TakeEndedJobs returns a report for a conversation's model about its background commands that
// ended since the last report, and the sandbox's notices about those; "" for none.
func (s *Set) TakeEndedJobs(conversation string) string {
	lines := s.Jobs().takeNews(conversation)
	for _, j := range s.Jobs().TakeEnded(conversation) {
		command, _, _ := strings.Cut(j.Command, "\n")
		lines = append(lines, note("job %d has ended: %s: %s. The tool jobs reads what it wrote", j.N, j.State, command))
	}
	return strings.Join(lines, "\n")
}

// Close ends all jobs, prevents new ones, and waits at most half a minute. It returns the jobs
// that were running.
func (l *Jobs) Close() (ended []Job) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	l.closed, l.onNews = true, nil
	list := slices.Clone(l.list)
	l.mu.Unlock()
	var all sync.WaitGroup
	for _, j := range list {
		if j.snapshot().Runs() {
			ended = append(ended, j.snapshot())
			all.Go(func() { _, _ = j.kill(errKilled) })
		}
	}
	all.Wait()
	return ended
}
