package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of commands in the background.
const (
	maxJobs      = 16                     // that run at the same time
	maxEndedJobs = 16                     // whose output is kept, once they ended
	maxToldText  = 2000                   // characters of output, and of the command, that are kept of others until the model was told
	maxJobText   = 125_000                // characters that are kept of all output of one: its head and its tail, at most 1 MB
	settleTime   = 500 * time.Millisecond // in which one that begins in the background may end in the foreground
)

// errTooManyJobs is why a command does not go to the background.
var errTooManyJobs = fmt.Errorf("%d commands run in the background already", maxJobs)

// Jobs are the commands of a workspace that go on behind the calls that started them. They end
// with the set of tools. It is safe for concurrent use; a nil one is empty.
type Jobs struct {
	now   func() time.Time
	timer func(time.Duration) <-chan time.Time

	mu       sync.Mutex
	after    time.Duration // after which a command goes to the background by itself; 0: never
	attended []*job        // whose calls wait for them
	list     []*job        // in the background, or ended there, the oldest first
	last     int           // number of the one that was moved last
	onEnd    func(Job)
	closed   bool
}

func newJobs() *Jobs { return &Jobs{now: time.Now, timer: time.After} }

// A Job is a command in the background as it is at a moment.
type Job struct {
	N       int // its number, from 1
	Command string
	Owner   string    // the conversation whose call started it
	Started time.Time // when the command did
	Ended   time.Time // zero: it runs
	State   string    // how it ended, such as "exit status 0"; "" while it runs
	Failed  bool
	Size    int64 // bytes of output until now
}

// Runs reports whether the command has not ended.
func (j Job) Runs() bool { return j.Ended.IsZero() }

// Elapsed returns how long the command has run by now, or did until it ended; 0 where a clock
// that was set back says less.
func (j Job) Elapsed(now time.Time) time.Duration {
	if !j.Runs() {
		now = j.Ended
	}
	return max(now.Sub(j.Started), 0)
}

// Killed reports whether it ended because the user or the model wanted that.
func (j Job) Killed() bool { return strings.HasPrefix(j.State, errKilled.Error()) }

// A job is a command with what it has written. The call that started it may have returned.
type job struct {
	wanted chan struct{} // takes that the user wants it in the background
	cancel context.CancelCauseFunc
	done   chan struct{} // closed once it has ended in the background

	showing  sync.Mutex   // held while progress is called
	progress func(string) // nil: the call has returned

	mu     sync.Mutex
	is     Job
	unread headTail // output that the model was not told
	all    headTail
	notes  string // of its end, for the model
	told   bool   // the model knows that it ended
	viewer func() // is told of new output and of the end; nil: nobody looks on
}

// SetBackground has commands that run longer go on in the background; 0: none does by itself.
func (s *Set) SetBackground(after time.Duration) {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	s.jobs.after = after
}

// Jobs returns the commands in the background, those of all conversations in this workspace.
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

// begin adds a command that starts now.
func (l *Jobs) begin(owner, command string, progress func(string), cancel context.CancelCauseFunc) *job {
	j := &job{
		wanted: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}), progress: progress,
		is: Job{Command: command, Owner: owner, Started: l.now()}, unread: headTail{limit: maxText - 1000}, all: headTail{limit: maxJobText},
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attended = append(l.attended, j)
	return j
}

// leave forgets a command that ended while its call waited for it.
func (l *Jobs) leave(j *job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attended = slices.DeleteFunc(l.attended, func(a *job) bool { return a == j })
}

// move lets a command go on in the background, unless there are too many.
func (l *Jobs) move(j *job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.running() >= maxJobs {
		return false
	}
	l.attended = slices.DeleteFunc(l.attended, func(a *job) bool { return a == j })
	l.last++
	j.mu.Lock()
	j.is.N = l.last
	j.mu.Unlock()
	l.list = append(l.list, j)
	return true
}

// running counts the commands that run in the background. The list is locked.
func (l *Jobs) running() (n int) {
	for _, j := range l.list {
		if j.snapshot().Runs() {
			n++
		}
	}
	return n
}

// end notes how a command ended in the background, and tells it.
func (l *Jobs) end(j *job, r *runningCommand, out Outcome) {
	notes := r.notes
	if r.saved != nil {
		notes = append(notes, r.saved.notice())
	}
	j.mu.Lock()
	j.is.Ended, j.is.State, j.is.Failed = l.now(), r.endState(), out.Failed
	j.notes = strings.Join(notes, "\n")
	if len(notes) == 0 {
		j.notes = out.Text // it did not start, or whoever watched failed
	}
	is := j.is
	j.mu.Unlock()
	close(j.done)
	j.view()
	l.mu.Lock()
	l.forget()
	tell := l.onEnd
	l.mu.Unlock()
	if tell != nil {
		tell(is)
	}
}

func (j *job) snapshot() Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.is
}

// write takes output.
func (j *job) write(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.is.Size += int64(len(text))
	j.unread.write(text)
	j.all.write(text)
}

// show hands live output to whoever watches the call.
func (j *job) show(text string) {
	j.showing.Lock()
	defer j.showing.Unlock()
	if j.progress != nil {
		j.progress(text)
	}
	j.view()
}

// view tells whoever looks on that the job has changed.
func (j *job) view() {
	j.mu.Lock()
	tell := j.viewer
	j.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// detach has nobody watch any more: the call returns.
func (j *job) detach() {
	j.showing.Lock()
	defer j.showing.Unlock()
	j.progress = nil
}

// List returns the commands in the background, the oldest first, and some that have ended.
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

// Running returns those that have not ended.
func (l *Jobs) Running() []Job {
	return slices.DeleteFunc(l.List(), func(j Job) bool { return !j.Runs() })
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

// Output returns a job and what it has written, of much the beginning and the end; not ok if
// there is no such job.
func (l *Jobs) Output(n int) (is Job, text string, ok bool) {
	j := l.find(n)
	if j == nil {
		return Job{}, "", false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.is, j.all.String(), true
}

// View calls changed whenever a job has written something, and when it has ended, from any
// goroutine and at most some twenty times a second; nil ends that. A job has one viewer. Nothing
// happens if there is no such job.
func (l *Jobs) View(n int, changed func()) {
	if j := l.find(n); j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.viewer = changed
	}
}

// Kill ends a job with everything it started, by the user's wish, and waits for that, at most
// half a minute. The error says why it could not.
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

// killTime is how long the end of a job is waited for; see process.Child.Terminate.
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

// Move lets the commands that calls wait for go on in the background, by the user's wish. It
// returns how many that are.
func (l *Jobs) Move() (n int, err error) {
	if l == nil {
		return 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	room := maxJobs - l.running()
	for _, j := range l.attended {
		if n == room {
			return n, errTooManyJobs
		}
		select {
		case j.wanted <- struct{}{}:
			n++
		default: // it was asked for already
		}
	}
	return n, nil
}

// OnEnd calls f with each job that ends, from any goroutine.
func (l *Jobs) OnEnd(f func(Job)) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onEnd = f
}

// TellEnded returns the jobs of a conversation that have ended and of which its model was not
// told; from now on it was.
func (l *Jobs) TellEnded(owner string) (ended []Job) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.list {
		j.mu.Lock()
		if !j.is.Runs() && !j.told && j.is.Owner == owner {
			j.told = true
			ended = append(ended, j.is)
		}
		j.mu.Unlock()
	}
	return ended
}

// Close ends all jobs, and those to come before they run in the background, and waits for that,
// at most half a minute. It returns those that ran.
func (l *Jobs) Close() (ended []Job) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	l.closed, l.onEnd = true, nil
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
