package tools

import (
	"context"
	"fmt"
	"parley/tools/act"
	"strings"
	"time"
)

// The tools that start commands and manage background commands.
const (
	shellTool = "shell"
	jobsTool  = "jobs"
)

type jobsArgs struct {
	Action  string `json:"action" jsonschema:"list, read, wait or kill"`
	Job     int    `json:"job,omitempty" jsonschema:"its number; needed but for list"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"how long wait waits at most; 60 unless given"`
}

// jobWait is how long a model waits for a job by default.
const jobWait = 60 * time.Second

func init() {
	register(jobsTool, planJobs, argumentLimit{"job", 0, 0}, argumentLimit{"seconds", 1, maxTimeout.Seconds()})
}

// planJobs reads and ends background commands of this conversation. It needs no approval:
// approving a command includes watching and ending it.
func planJobs(ctx context.Context, w *workspace, args jobsArgs) (*act.Action, error) {
	owner := act.JobOwner(ctx)
	a := &act.Action{Access: act.AccessRead, Title: strings.TrimSpace(args.Action + " job")}
	if args.Job > 0 {
		a.Title = fmt.Sprintf("%s job %d", args.Action, args.Job)
	}
	if args.Action == "list" {
		a.Title = "list jobs"
		a.Do = func(context.Context, func(string)) act.Outcome { return w.jobs.listFor(owner) }
		return a, nil
	}
	does := map[string]func(context.Context, *job) act.Outcome{
		"read": func(_ context.Context, j *job) act.Outcome { return act.Outcome{Text: j.read(w.jobs.now())} },
		"wait": func(ctx context.Context, j *job) act.Outcome { return w.jobs.await(ctx, j, args.Seconds) },
		"kill": func(_ context.Context, j *job) act.Outcome {
			if _, err := j.kill(errKilled); err != nil {
				return failedOutcome("%v", err)
			}
			return act.Outcome{Text: j.read(w.jobs.now())}
		},
	}[args.Action]
	switch {
	case does == nil:
		return nil, refuse("no action %s: use list, read, wait or kill", quoteName(args.Action))
	case args.Job == 0:
		return nil, refuse("%s needs the number of a job", args.Action)
	}
	j := w.jobs.find(args.Job)
	if j == nil || j.snapshot().Owner != owner {
		return nil, refuse("no job %d of this conversation: list shows them. Jobs end when parley does", args.Job)
	}
	a.Ordered = args.Action != "read"
	a.Do = func(ctx context.Context, _ func(string)) act.Outcome { return does(ctx, j) }
	return a, nil
}

// listFor lists the jobs of a conversation for its model.
func (l *Jobs) listFor(owner string) act.Outcome {
	var lines []string
	for _, j := range l.List() {
		if j.Owner != owner {
			continue
		}
		state := "runs, for " + roughly(j.Elapsed(l.now()))
		if !j.Runs() {
			state = j.State + ", after " + roughly(j.Elapsed(j.Ended))
		}
		lines = append(lines, fmt.Sprintf("%d\t%s\t%d bytes of output\t%s", j.N, state, j.Size, firstLine(j.Command)))
	}
	if len(lines) == 0 {
		return act.Outcome{Text: note("no jobs; they end when parley does")}
	}
	return act.Outcome{Text: truncate(strings.Join(lines, "\n"), maxText)}
}

// await returns a job's unread output once it has ended or the wait is over.
func (l *Jobs) await(ctx context.Context, j *job, seconds int) act.Outcome {
	wait := jobWait
	if seconds > 0 {
		wait = time.Duration(seconds) * time.Second
	}
	select {
	case <-j.done:
	case <-l.timer(wait):
	case <-ctx.Done():
		return failedOutcome("job %d continues", j.snapshot().N)
	}
	return act.Outcome{Text: j.read(l.now())}
}

// read returns the output that the model has not read, and the job's state.
func (j *job) read(now time.Time) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	text := j.takeUnreadLocked("no new output")
	lines := []string{text}
	if j.info.Runs() {
		lines = append(lines, note("job %d runs, for %s: %s", j.info.N, roughly(j.info.Elapsed(now)), firstLine(j.info.Command)))
	} else {
		lines = append(lines, j.notes, note("job %d has ended, after %s: %s", j.info.N, roughly(j.info.Elapsed(now)), firstLine(j.info.Command)))
		j.endReported = true
	}
	return strings.Join(lines, "\n")
}

// takeUnreadLocked returns the output that the model has not read, or none if there is no new
// output, and marks it as read. A line that changed is returned as a whole.
func (j *job) takeUnreadLocked(none string) string {
	seen := j.unread.seen
	gone, text := j.unread.take(j.rest)
	if gone != "" {
		kept := seen[:len(seen)-len(gone)]
		text = kept[strings.LastIndexByte(kept, '\n')+1:] + text
	}
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		text = note("%s", none)
	}
	return text
}

// movedOutcome reports to the model that a command continues in the background.
func (j *job) movedOutcome(now time.Time) act.Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	text := j.takeUnreadLocked("no output yet") + "\n"
	said := note("it continues in the background as job %d, after %s: the tool jobs reads what it writes from here on, waits for it, and kills it", j.info.N, roughly(j.info.Elapsed(now)))
	return act.Outcome{Text: text + said, Notes: said, Job: j.info.N}
}

// roughly returns a rounded duration in words.
func roughly(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
