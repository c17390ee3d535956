package video

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/session"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

// newVideos returns a command with a library of its own.
func newVideos(t *testing.T) *Options {
	t.Helper()
	dir := t.TempDir()
	library, err := session.OpenStore(func(name string) string { return map[string]string{"HOME": dir, "XDG_DATA_HOME": dir}[name] })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = library.Close() })
	c := &Options{Env: &ability.Env{Streams: new(cmdutil.Streams)}, library: library, endOnSignals: func() {}}
	c.Format, c.Quiet = "json", true
	return c
}

// printed returns the standard output of do.
func printed(c *Options, do func()) string {
	var out strings.Builder
	c.Out = &out
	do()
	return out.String()
}

// A job that was refused at once, and has no ID, is reported as refused again, and the server's text is sanitized.
func TestVideoRefusedAtOnce(t *testing.T) {
	c := newVideos(t)
	v := session.Video{Prompt: "a fox \u009b2J\u202e", Job: works.Job{Provider: "xai", Model: "m"}}
	if err := c.library.Videos().Add(&v); err != nil {
		t.Fatal(err)
	}
	v.Job.State, v.Job.Refused = works.JobRefused, &works.Refusal{Text: "not a fox \u009b2J"}
	if err := c.library.Videos().Save(v); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"get":    func() error { return c.get(context.Background(), "1") },
		"cancel": func() error { return c.cancel(context.Background(), "1") },
		"list":   c.list,
	} {
		var err error
		out := printed(c, func() { err = do() })
		var ended *cmdutil.ExitError
		refused := errors.As(err, &ended) && ended.Status == exit.Incomplete
		if refused != (name != "list") || !strings.Contains(out, "not a fox") || strings.ContainsAny(out, "\u009b\u202e") {
			t.Errorf("%s: %#v, %q", name, err, out)
		}
	}
}

// A busyServer rejects all requests as too busy.
type busyServer struct{ works.VideoJobs }

func (busyServer) Start(context.Context, works.VideoRequest) (works.Job, error) {
	return works.Job{}, &llm.Error{Fault: llm.RateLimit, Status: 429, Wait: 30 * time.Second}
}

// A job that is canceled before its request is repeated was never created.
func TestVideoCanceledBeforeItIsMade(t *testing.T) {
	c := newVideos(t)
	v := session.Video{Prompt: "a fox", Job: works.Job{Provider: "xai", Model: "m", State: works.JobQueued}}
	if err := c.library.Videos().Add(&v); err != nil {
		t.Fatal(err)
	}
	var err error
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(io.EOF) })
		r := newRun(c, v, busyServer{})
		err = r.start(ctx)
		v = r.video
	})
	if !errors.Is(err, io.EOF) || v.Job.State != works.JobCanceled || v.Job.Failure != "" {
		t.Errorf("%v: %+v", err, v.Job)
	}
	if err := c.get(context.Background(), "1"); err == nil || !strings.Contains(err.Error(), "was canceled") {
		t.Errorf("get says %v", err)
	}
}
