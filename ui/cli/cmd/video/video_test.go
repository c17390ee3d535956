package video

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"parley/providers"
	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/session"
	"parley/session/settings"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
)

const (
	aVideo = "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"
	aPNG   = "\x89PNG\r\n\x1a\n"
)

// studio makes videos as the names of its models say.
type studio struct {
	media.Formats
	asked []works.VideoRequest
	polls int
}

func (s *studio) VideoJobs(string, string) media.Opener[media.VideoJobs, catalog.VideoModel] {
	return func(o adapter.Options, _ catalog.VideoModel, _ []string) media.VideoJobs { return filming{s, o.Model} }
}

type filming struct {
	*studio
	model string
}

func (f filming) Check(works.VideoRequest) error {
	if f.model == "unfit" {
		return &llm.Error{Fault: llm.Unsupported, Message: "it makes no foxes"}
	}
	return nil
}

func (f filming) Start(_ context.Context, r works.VideoRequest) (works.Job, error) {
	f.asked = append(f.asked, r)
	switch f.model {
	case "broken":
		return works.Job{}, &llm.Error{Fault: llm.Server, Status: 500}
	case "down":
		return works.Job{}, &llm.Error{Fault: llm.Network}
	case "denied":
		return works.Job{}, &llm.Error{Fault: llm.Authentication, Status: 401}
	}
	return works.Job{Provider: "mock", Model: f.model, ID: "j-" + f.model, State: works.JobQueued, Notes: []string{"no seed\x1b"}}, nil
}

func (f filming) Poll(_ context.Context, j works.Job) (works.Job, error) {
	f.polls++
	switch j.State = works.JobState(f.model); f.model {
	case "slow":
		if j.State = works.JobRunning; f.polls == 1 {
			return j, &llm.Error{Fault: llm.Server, Status: 500}
		} else if f.polls < 4 {
			j.RawState, j.Progress = "RENDERING\x1b", 25
			return j, nil
		}
		j.State = works.JobDone
	case "refused":
		j.Refused = &works.Refusal{Text: "no cats", Billed: true}
	case "failed":
		j.Failure = "odd"
	}
	j.Bill = &works.Bill{USD: 0.25, Priced: true}
	return j, nil
}

func (f filming) Fetch(_ context.Context, _ works.Job, o works.VideoOutput, w io.Writer) (works.Blob, error) {
	data := aVideo
	if o.Variant != "" {
		data = aPNG
	}
	_, err := io.WriteString(w, data)
	return works.Blob{}, err
}

func (f filming) Cancel(context.Context, works.Job) error {
	if f.model == "stuck" {
		return &llm.Error{Fault: llm.Unsupported, Message: "no way to cancel"}
	}
	return nil
}

// replaced sets one of the standard files to a temporary one with text while do runs, and returns what is written to it.
func replaced(t *testing.T, file **os.File, text string, do func()) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString(text)
	f.Seek(0, io.SeekStart)
	was := *file
	*file = f
	defer func() { *file = was }()
	do()
	written, _ := os.ReadFile(f.Name())
	return string(written)
}

// newEnv returns an environment with a store of its own, in a working directory with some files.
func newEnv(t *testing.T) (*ability.Env, *studio) {
	t.Helper()
	s := new(studio)
	media.Register(s)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("GEMINI_API_KEY", "k1234567")
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"in.png": aPNG, "in.mp4": aVideo, "text.png": "text", "there.mp4": ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := providers.Config{Providers: map[string]providers.Provider{"mock": {Kind: "openai", BaseURL: "http://127.0.0.1:1/v1"}}}
	return &ability.Env{
		Streams: new(cmdutil.Streams), Load: func() error { return nil }, Services: func() providers.Config { return c },
		OpenOptions: func() providers.OpenOptions { return providers.OpenOptions{Getenv: os.Getenv} },
		Find: func(_ context.Context, name string, open func(providers.Config, string) error) error {
			return open(c, name)
		},
		AbbrevPath: func(path string) string { return path },
	}, s
}

// A step is a command line, what it prints, and what it says, as notes or an error.
type step struct{ line, out, told string }

// check runs a step. Pieces of the results are separated by |; with "" there must be none.
func (s step) check(t *testing.T, e *ability.Env) {
	t.Helper()
	e.Quiet = false
	var out strings.Builder
	e.Out = &out
	told := replaced(t, &os.Stderr, "", func() {
		replaced(t, &os.Stdout, "", func() {
			line, stdin, _ := strings.Cut(s.line, " < ")
			replaced(t, &os.Stdin, stdin, func() {
				cmd := New(e)
				cmd.SilenceErrors, cmd.SilenceUsage = true, true
				cmd.SetOut(&out)
				cmd.SetArgs(strings.Fields(line))
				if err := cmd.Execute(); err != nil {
					fmt.Fprint(os.Stderr, "error: ", err)
				}
			})
		})
	})
	matches(t, s.line, out.String(), s.out)
	matches(t, s.line, told, s.told)
}

func matches(t *testing.T, line, got, want string) {
	t.Helper()
	ok, rest := (got == "") == (want == "") && strings.HasPrefix(got, "error: ") == strings.HasPrefix(want, "error: "), got
	for piece := range strings.SplitSeq(want, "|") {
		_, after, found := strings.Cut(rest, piece)
		ok, rest = ok && found, after
	}
	if !ok || strings.Contains(got, "error: ") && !strings.Contains(want, "error: ") || strings.Contains(got, "\x1b") {
		t.Errorf("%s:\ngot  %q\nwant %q", line, got, want)
	}
}

// A job is made, waited for, downloaded and canceled by commands of their own.
func TestJobs(t *testing.T) {
	e, _ := newEnv(t)
	dir, _ := os.Getwd()
	for _, s := range []step{
		{"list", "", "parley: no videos: parley video PROMPT makes one\n"},
		{"list -o json", "[]\n", "no videos"},
		{"a fox -m mock/done --no-wait", "1\n", "What mock/done costs is not known|no seed␛|parley: parley video get 1 waits for it and downloads it\n"},
		{"list", "1  |mock/done  queued    a fox\n", ""},
		{"get 1", "a-fox.mp4\n", "parley: mock/done: queued\n|parley: mock/done: done\n|parley: mock/done: downloading\nparley: $0.25\n"},
		{"get 1", dir + "/a-fox.mp4\n", "It was saved before\n|$0.25"},
		{"get 1 -q", dir + "/a-fox.mp4\n", ""},
		{"list", "1  |mock/done  saved  $0.25  a fox\n", ""},
		{"list -o jsonl", `{"id":1,"model":"mock/done","prompt":"a fox","state":"done","job_id":"j-done","file":"` + dir + `/a-fox.mp4","created":"|Z","cost":{"usd":0.25,"exact":false}}` + "\n", ""},
		{"get 1 --to b.mp4", "b.mp4\n", "$0.25"},
		{"get 1 --to b.odd", "b.odd\n", "b.odd contains video/mp4"},
		{"get 1 --to -", aVideo, "downloading"},
		{"get 1 --variant thumbnail", "a-fox-thumbnail.png\n", "$0.25"},
		{"get 1 --to there.mp4", "", "error: --to: there.mp4 already exists"},
		{"get 1 --variant odd", "", "error: |use one of thumbnail, spritesheet"},
		{"get 1 -o json", `"file":"` + dir + `/b.odd"|"finish_reason":"stop","exit":0}` + "\n", "It was saved before"},
		{"get 1 -o jsonl --to c.mp4", `{"type":"job","id":1|{"type":"done","id":1,|/c.mp4"|"exit":0}` + "\n", "downloading"},
		{"cancel 1", "", "error: job 1 is over: saved"},

		{"a cat -m mock/slow --no-wait", "2\n", "get 2"},
		{"cancel 2", "", "parley: Canceled job 2\n"},
		{"get 2", "", "error: mock/slow: the job was canceled"},
		{"cancel 2", "", "error: job 2 is over: canceled"},
		{"a cat -m mock/stuck --no-wait -o json", `"id":3,|"state":"queued"`, "get 3"},
		{"cancel 3", "", "error: unsupported: no way to cancel"},
		{"a cat -m mock/refused --no-wait", "4\n", "get 4"},
		{"get 4", "", "parley: mock/refused refused: no cats (it is paid for anyway)\n|error: exit status 8"},
		{"get 4 -o json", `"state":"refused",|"refused":"no cats","finish_reason":"refused","exit":8}`, "parley: mock/refused refused: no cats|error: exit status 8"},
		{"a cat -m mock/failed --no-wait", "5\n", "get 5"},
		{"get 5", "", "parley: mock/failed: queued\nparley: mock/failed: failed\n|error: mock/failed: the job failed: odd"},
		{"a cat -m mock/expired --no-wait", "6\n", "get 6"},
		{"get 6", "", "parley: mock/expired: queued\n|error: mock/expired: the job expired, together with its video"},
		{"a cat -m mock/slow --no-wait -o jsonl", `{"type":"job","id":7,`, "get 7"},
		{"cancel 7 -o json", `"id":7,|"state":"canceled"|"finish_reason":"canceled","exit":0}` + "\n", ""},
		{"get 99", "", `error: "99": no such video job: parley video list shows them`},
		{"get", "", "error: which video job? Give its ID: parley video list shows them"},

		{"a cat -m mock/broken", "", "The provider answered with an error: the video may be made, and paid for, anyway (job 8)\n|error: server (500)"},
		{"get 8", "", "error: job 8 cannot be asked for: the request that creates it was answered with an error: Server error (500)"},
		{"a cat -m mock/down", "", "The answer did not come: the video may be made, and paid for, anyway (job 9)\n|error: "},
		{"get 9", "", "error: job 9 cannot be asked for: no answer to the request that creates it: "},
		{"cancel 9", "", "error: job 9 cannot be asked for"},
		{"a cat -m mock/denied", "", "parley: What mock/denied costs is not known\n|error: authentication (401)"},
		{"get 10", "", "error: |no such video job"},

		{"a cat -m mock/done --no-wait --to new.mp4", "10\n", "get 10"},
		{"get 10", dir + "/new.mp4\n", "downloading"},
		{"__complete --model=", "gemini/veo-3.1-generate-preview\n|:4\n", "Completion ended"},
		{"__complete --variant=", "thumbnail\nspritesheet\n:4\n", "Completion ended"},
		{"lst", "", "error: |did you mean video list?"},
	} {
		s.check(t, e)
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	step{"a cat -m mock/done --no-wait --to folder/new.mp4", "11\n", "get 11"}.check(t, e)
	if err := os.Remove("folder"); err != nil {
		t.Fatal(err)
	}
	step{"get 11", "", "The job is stored: parley video get 11 continues\n|error: " + dir + "/folder: there is no longer such a folder: name a file with --to"}.check(t, e)
	step{"get 11 --to -", aVideo, "downloading"}.check(t, e)
	if data, err := os.ReadFile("new.mp4"); string(data) != aVideo {
		t.Errorf("new.mp4 contains %q, %v", data, err)
	}
	e.Load = func() error { return errors.New("odd") }
	step{"list", "", "error: odd"}.check(t, e)
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	e.Load = func() error { return nil }
	step{"list", "", "error: conversations are not saved"}.check(t, e)
}

// Flags become a request. Errors in them are found before anything is sent.
func TestRequest(t *testing.T) {
	e, s := newEnv(t)
	large, err := os.Create("large.png")
	if err != nil {
		t.Fatal(err)
	}
	large.WriteString(aPNG)
	large.Truncate(50<<20 + 1)
	large.Close()
	for line, want := range map[string]string{
		"a fox":      "a fox",
		" < a fox\n": "a fox",
		"a fox --seconds 8 --seed 0 --no-audio --resolution 720p --ratio 16:9 --avoid cats": "a fox 8s 720p 16:9 avoid cats audio false seed 0",
		"a fox --audio --first in.png --last in.png --reference in.png --reference in.png":  "a fox first in.png image/png last in.png references 2 audio true",
		"--first in.png":             " first in.png image/png",
		"--source in.mp4 --extend":   " source in.mp4 video/mp4 extend",
		"":                           "error: no prompt: describe the video",
		"a fox --seconds -1":         "error: --seconds -1: use a number above 0",
		"a fox --extend":             "error: --extend continues a video: name it with --source",
		"a fox --audio --no-audio":   "error: ",
		"a fox --first none.png":     "error: --first: open none.png: ",
		"a fox --reference text.png": "error: --reference: text.png is no image that can be sent, but text/plain",
		"a fox --source in.png":      "error: --source: in.png is no video that can be sent, but image/png",
		"a fox --last .":             "error: --last: . is no regular file",
		"a fox --last large.png":     "error: --last: large.png is larger than 50 MB",
		"a fox --to none/a.mp4":      "error: --to: none: no such folder",
		"a fox --to there.mp4":       "error: --to: there.mp4 already exists",
		"a fox -m mock/unfit":        "error: unsupported: it makes no foxes",
		"a fox -m nobody/m":          "error: |no provider \"nobody\"",
	} {
		s.asked = nil
		args, stdin, piped := strings.Cut(line, " < ")
		if !strings.Contains(line, "-m ") {
			args += " -m mock/done"
		}
		if args += " --no-wait"; piped {
			args += " < " + stdin
		}
		if strings.HasPrefix(want, "error: ") {
			step{args, "", want}.check(t, e)
			if len(s.asked) > 0 {
				t.Errorf("%s: sent a request", line)
			}
			continue
		}
		step{strings.TrimSpace(args), "\n", "get "}.check(t, e)
		if len(s.asked) != 1 || requestText(s.asked[0]) != want {
			t.Errorf("%s: sent %+v, want %s", line, s.asked, want)
		}
	}
}

func requestText(r works.VideoRequest) string {
	text := r.Prompt
	add := func(is bool, format string, args ...any) {
		if is {
			text += " " + fmt.Sprintf(format, args...)
		}
	}
	add(r.Seconds != 0, "%ds", r.Seconds)
	add(r.Resolution != "", "%s", r.Resolution)
	add(r.Ratio != "", "%s", r.Ratio)
	add(r.NegativePrompt != "", "avoid %s", r.NegativePrompt)
	if b := r.FirstFrame; b != nil {
		add(true, "first %s %s", b.Name, b.MIME)
	}
	if b := r.LastFrame; b != nil {
		add(true, "last %s", b.Name)
	}
	add(len(r.References) > 0, "references %d", len(r.References))
	if b := r.Source; b != nil {
		add(true, "source %s %s", b.Name, b.MIME)
	}
	add(r.Extend, "extend")
	if r.Audio != nil {
		add(true, "audio %v", *r.Audio)
	}
	if r.Seed != nil {
		add(true, "seed %d", *r.Seed)
	}
	return text
}

// The price is shown first. A high one needs a confirmation, and limits are kept.
func TestPrice(t *testing.T) {
	e, s := newEnv(t)
	e.ConfirmAbove = 1
	const model, about = "gemini/veo-3.1-generate-preview", "about $3.20 for 8 seconds\n"
	for _, s := range []step{
		{"a fox -m gemini --no-wait", "", model + ": " + about + "|error: the video would cost about $3.20, more than $1.00: add --yes"},
		{"a fox -m gemini --no-wait --yes", "1\n", model + ": " + about},
		{"a fox -m gemini --no-wait --yes --seconds 4 --resolution 4k", "2\n", "about $2.40 for 4 seconds\n"},
	} {
		s.check(t, e)
	}
	e.Limits = []session.Limit{{Period: settings.PerDay, Cost: 1}}
	step{"a fox -m gemini --no-wait --yes", "3\n", about}.check(t, e)
	if len(s.asked) != 3 {
		t.Errorf("sent %d requests", len(s.asked))
	}
}

// While a job is waited for, each new state is shown once.
func TestWait(t *testing.T) {
	newEnv(t)
	c := newVideos(t)
	c.Format, c.Quiet = "text", false
	s := filming{new(studio), "slow"}
	v := session.Video{Prompt: "a fox", Job: works.Job{Provider: "mock", Model: "slow", State: works.JobQueued}}
	if err := c.library.Videos().Add(&v); err != nil {
		t.Fatal(err)
	}
	var out string
	told := replaced(t, &os.Stderr, "", func() {
		synctest.Test(t, func(t *testing.T) {
			out = printed(c, func() {
				if err := newRun(c, v, s).start(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	})
	const want = "parley: no seed␛\nparley: mock/slow: queued\nparley: mock/slow: asking again: Server error (500)\nparley: mock/slow: RENDERING␛ 25%\nparley: mock/slow: done\nparley: mock/slow: downloading\nparley: $0.25\n"
	if told != want || out != "a-fox.mp4\n" {
		t.Errorf("got  %q, %q\nwant %q", out, told, want)
	}
}

// The words of a state are the provider's if they say more.
func TestStateWords(t *testing.T) {
	for _, tt := range []struct {
		v    session.Video
		want string
	}{
		{session.Video{Job: works.Job{State: works.JobQueued}}, "not confirmed"},
		{session.Video{Job: works.Job{ID: "a", State: works.JobQueued, RawState: "WAITING"}}, "queued"},
		{session.Video{Job: works.Job{ID: "a", State: works.JobRunning}}, "running"},
		{session.Video{Job: works.Job{ID: "a", State: works.JobRunning, RawState: "RENDERING\x1b"}}, "rendering␛"},
		{session.Video{Job: works.Job{ID: "a", State: works.JobDone}}, "done"},
		{session.Video{Job: works.Job{ID: "a", State: works.JobDone}, File: "a.mp4"}, "saved"},
	} {
		if got := videoStateWord(tt.v); got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.v.Job, got, tt.want)
		}
	}
}
