package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers"
	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/providers/media/formats"
	"parley/session"
	"parley/session/settings"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

// drawing makes the same image for each request, and remembers the requests.
type drawing struct {
	media.Formats
	image []byte
	fails error
	asked []works.ImageRequest
}

func (d *drawing) ImageMaker(_, base string) media.Opener[works.ImageMaker, catalog.ImageModel] {
	if !strings.HasPrefix(base, "https://api.openai.com/") && !strings.HasPrefix(base, "http://127.0.0.1:1/") {
		return nil
	}
	return func(adapter.Options, catalog.ImageModel, []string) works.ImageMaker { return d }
}

func (d *drawing) Make(_ context.Context, r works.ImageRequest) iter.Seq2[works.ImageEvent, error] {
	d.asked = append(d.asked, r)
	return func(yield func(works.ImageEvent, error) bool) {
		if d.fails != nil {
			yield(works.ImageEvent{}, d.fails)
			return
		}
		for range max(r.N, 1) {
			if !yield(works.ImageEvent{Image: &works.Blob{MIME: "image/png", Data: d.image}}, nil) {
				return
			}
		}
		yield(works.ImageEvent{Done: &works.Bill{Images: r.N, USD: 0.5 * float64(r.N), Priced: true, Reported: true}}, nil)
	}
}

// replaced sets one of the standard files to a temporary one with text while do runs, and returns what is written to it.
func replaced(t *testing.T, file **os.File, text []byte, do func()) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Write(text)
	f.Seek(0, io.SeekStart)
	was := *file
	*file = f
	defer func() { *file = was }()
	do()
	written, _ := os.ReadFile(f.Name())
	return string(written)
}

// newEnv returns an environment with a store of its own, in an empty working directory.
func newEnv(t *testing.T) *ability.Env {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("OPENAI_API_KEY", "k1234567")
	t.Chdir(t.TempDir())
	c := providers.Config{Providers: map[string]providers.Provider{"mock": {Kind: "openai", BaseURL: "http://127.0.0.1:1/v1"}}}
	return &ability.Env{
		Streams: new(cmdutil.Streams), Load: func() error { return nil }, Services: func() providers.Config { return c },
		OpenOptions: func() providers.OpenOptions { return providers.OpenOptions{Getenv: os.Getenv} },
		Find: func(_ context.Context, name string, open func(providers.Config, string) error) error {
			return open(c, name)
		},
		AbbrevPath: func(path string) string { return path },
	}
}

func pngOf(t *testing.T, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 3))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A command line becomes a request, and the images become files. Errors in it are found before anything is sent.
func TestCommand(t *testing.T) {
	made, given := pngOf(t, 2), pngOf(t, 4)
	const request = "{Prompt:a fox N:1}"
	for _, tt := range []struct {
		args    string
		stdin   string
		request string // "" if none is sent
		out     string
		told    string // pieces of standard error or of the error, separated by |
	}{
		{args: "a fox", request: request, out: "a-fox.png\n", told: "openai/gpt-image-2.6-flare · 1 image · $0.50"},
		{args: "a fox -q", request: request, out: "a-fox.png\n"},
		{args: "a fox -m mock/m", request: request, out: "a-fox.png\n", told: "mock/m · 1 image"},
		{args: "a fox -n 2 --to new", request: "{Prompt:a fox N:2}", out: "new/a-fox.png\nnew/a-fox-2.png\n", told: "2 images · $1.00"},
		{args: "a fox --to b.png", request: request, out: "b.png\n"},
		{args: "a fox --to b.jpg", request: "{Prompt:a fox N:1 Format:jpeg}", out: "b.png\n", told: "not saved as b.jpg, but as b.png"},
		{args: "a fox --to b.webp", request: "{Prompt:a fox N:1 Format:webp}", out: "b.png\n"},
		{args: "a fox --to b.webp --format jpg", request: "{Prompt:a fox N:1 Format:jpeg}", out: "b.png\n"},
		{args: "a fox --to b.odd", request: request, out: "b.png\n", told: "not saved as b.odd"},
		{args: "a fox --to -", request: request, out: string(made)},
		{args: "a fox -o json", request: request, out: `"file":"a-fox.png","mime":"image/png","bytes":`},
		{args: "a fox --size 16:9 --quality low --transparent", request: "{Prompt:a fox N:1 Size:16:9 Quality:low Transparent}", out: "a-fox.png\n"},
		{args: "red --image in.png --mask mask.png", request: "{Prompt:red N:1 Inputs:in.png image/png Mask:mask.png}", out: "red.png\n"},
		{args: "red", stdin: string(given), request: "{Prompt:red N:1 Inputs:standard input image/png}", out: "red.png\n"},
		{stdin: "a fox", request: request, out: "a-fox.png\n"},

		{told: "no prompt: give one as an argument or on standard input"},
		{args: "-n 2", stdin: string(given), told: "no prompt"},
		{args: "red", stdin: "\x00\x01", told: "standard input"},
		{args: "a fox --format bmp", told: "--format bmp: use one of png, jpeg, webp, gif, svg"},
		{args: "a fox --size odd", told: "--size \"odd\""},
		{args: "a fox -n 0", told: "-n 0: use 1 or more images"},
		{args: "a fox -n 2 --to -", told: "--to -: standard output takes one image"},
		{args: "a fox --to in.png", told: "in.png already exists"},
		{args: "red --mask mask.png", told: "--mask needs the image that it is for"},
		{args: "red --image none.png", told: "--image none.png: "},
		{args: "red --image text.png", told: "--image text.png: not an image, whatever its name says"},
		{args: "red --image in.png --mask text.png", told: "--mask text.png: not an image"},
		{args: "a fox -m nobody/m", told: "no provider \"nobody\""},
	} {
		e := newEnv(t)
		d := &drawing{image: made}
		media.Register(d)
		for name, data := range map[string][]byte{"in.png": given, "mask.png": given, "text.png": []byte("text")} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir("new", 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		out, told := run(t, e, tt.args, tt.stdin, &err)
		if err != nil {
			told += err.Error()
		}
		request := ""
		for _, r := range d.asked {
			request += requestText(r)
		}
		exact := !strings.Contains(tt.args, "json")
		if request != tt.request || exact && out != tt.out || !strings.Contains(out, tt.out) || (err == nil) != (tt.request != "") {
			t.Errorf("%s: sent %s, printed %q, %v\nwant %s, %q", tt.args, request, out, err, tt.request, tt.out)
		}
		if strings.HasSuffix(tt.args, " -q") != (told == "") && exact || !strings.Contains(told, tt.told) || strings.Contains(told, "cost:") {
			t.Errorf("%s: got %q, want %q", tt.args, told, tt.told)
		}
	}
}

// run runs the command with a command line, and returns what it wrote.
func run(t *testing.T, e *ability.Env, args, stdin string, err *error) (out, told string) {
	t.Helper()
	var b strings.Builder
	e.Out = &b
	told = replaced(t, &os.Stderr, nil, func() {
		replaced(t, &os.Stdout, nil, func() {
			replaced(t, &os.Stdin, []byte(stdin), func() {
				cmd := Images{}.Command(e)
				cmd.SilenceErrors, cmd.SilenceUsage = true, true
				cmd.SetOut(&b)
				cmd.SetArgs(strings.Fields(args))
				*err = cmd.ExecuteContext(t.Context())
			})
		})
	})
	return b.String(), told
}

func requestText(r works.ImageRequest) string {
	text := fmt.Sprintf("{Prompt:%s N:%d", r.Prompt, r.N)
	for _, in := range r.Inputs {
		text += " Inputs:" + in.Name + " " + in.MIME
	}
	if r.Mask != nil {
		text += " Mask:" + r.Mask.Name
	}
	if r.Size != (works.Size{}) {
		text += " Size:" + r.Size.String()
	}
	for name, value := range map[string]string{"Quality": r.Quality, "Format": r.Format} {
		if value != "" {
			text += " " + name + ":" + value
		}
	}
	if r.Transparent {
		text += " Transparent"
	}
	return text + "}"
}

// Shells complete the flags.
func TestCompletion(t *testing.T) {
	e := newEnv(t)
	media.Register(&drawing{})
	for flag, want := range map[string]string{
		"--image=": "png\njpg\njpeg\nwebp\n:8\n", "--mask=": "png\n:8\n", "--format=w": "png\njpeg\nwebp\ngif\nsvg\n:4\n",
		"--output=": "text\njson\njsonl\n:4\n", "--model=": "openai/gpt-image-2.6-flare\n",
	} {
		var err error
		if out, _ := run(t, e, "__complete "+flag, "", &err); err != nil || !strings.HasPrefix(out, want) {
			t.Errorf("%s: got %q, %v, want %q", flag, out, err, want)
		}
	}
}

// A high price and a limit that is reached stop a request; the cost of others is stored.
func TestCost(t *testing.T) {
	d := &drawing{image: pngOf(t, 2)}
	media.Register(d)
	e := newEnv(t)
	e.ConfirmAbove, e.Limits = 0.2, []session.Limit{{Period: settings.PerDay, Cost: 1}}
	for _, tt := range []struct{ args, want string }{
		{"a fox", ""},
		{"a fox -n 2", "2 × openai/gpt-image-2.6-flare cost about $0.25, more than $0.20: add --yes"},
		{"a fox -n 2 --yes", ""},
		{"a fox", "daily limit of $1.00 reached"},
	} {
		var err error
		run(t, e, tt.args, "", &err)
		var ended *cmdutil.ExitError
		if (err == nil) != (tt.want == "") || err != nil && (!errors.As(err, &ended) || ended.Status != exit.Limit || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.args, err, tt.want)
		}
	}
	library, err := session.OpenStore(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	sums, err := library.Ledger().Sums(time.Time{}, time.Now().Add(time.Hour), "model", "purpose")
	if err != nil || len(sums) != 1 || sums[0].Purpose != session.PurposeImage || sums[0].Model != "openai/gpt-image-2.6-flare" || sums[0].Usage.Cost != 1.5 {
		t.Errorf("stored are %+v, %v", sums, err)
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	if _, told := run(t, e, "a fox", "", &err); err != nil || !strings.HasPrefix(told, "parley: could not save the cost: ") {
		t.Errorf("without a store: got %v, %s", err, told)
	}
}

// Errors of the configuration and of the provider are reported; a dry run prints the request and needs no key.
func TestNotSent(t *testing.T) {
	e := newEnv(t)
	d := &drawing{fails: &llm.Error{Fault: llm.Authentication, Status: 401}}
	media.Register(d)
	var err error
	_, told := run(t, e, "a fox", "", &err)
	if err == nil || err.Error() != "exit status 3" || !strings.Contains(told, "Authentication failed") || len(d.asked) != 1 {
		t.Errorf("got %v, %s after %d requests", err, told, len(d.asked))
	}
	formats.Register()
	t.Setenv("OPENAI_API_KEY", "")
	out, _ := run(t, e, "a fox --dry-run", "", &err)
	if err != nil || !strings.Contains(out, "POST https://api.openai.com/v1/images/generations") || !strings.Contains(out, "a fox") {
		t.Errorf("a dry run prints %q, %v", out, err)
	}
	if out, _ := run(t, e, "a fox --dry-run --size 9x9 -m openai/gpt-image-2", "", &err); err == nil || out != "" {
		t.Errorf("a dry run of a bad request prints %q, %v", out, err)
	}
	if _, _ = run(t, e, "a fox", "", &err); llm.FaultOf(err) != llm.Authentication {
		t.Errorf("without a key: got %v", err)
	}
	odd := errors.New("odd")
	e.Load = func() error { return odd }
	if _, _ = run(t, e, "a fox", "", &err); err != odd {
		t.Errorf("without a configuration: got %v", err)
	}
}

// Image models are offered to conversations with their prices, and what the others lack.
func TestModels(t *testing.T) {
	e := newEnv(t)
	d := &drawing{image: pngOf(t, 2)}
	media.Register(d)
	models := Images{}.Models(e, ".", "mock/m")
	items := models.List()
	if len(items) < 2 || items[0].Value != "mock/m" || items[0].Detail != "image_model in config.toml" || items[1].Value != "openai/gpt-image-2.6-flare" || !strings.HasPrefix(items[1].Detail, "$0.12 an image · ") || items[1].Disabled {
		t.Errorf("offered are %+v", items)
	}
	t.Setenv("OPENAI_API_KEY", "")
	if items := models.List(); len(items) < 2 || !items[1].Disabled || items[1].Detail != "set OPENAI_API_KEY" {
		t.Errorf("without a key: offered are %+v", items)
	}
	for name, want := range map[string]string{"": "mock/m", "mock/n": "mock/n", "nobody/m": ""} {
		m, err := models.Open(t.Context(), name)
		if m.Name != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %s, %v", name, m.Name, err)
			continue
		}
		if want == "" {
			continue
		}
		for event, err := range m.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Parts: []llm.Part{{Kind: llm.Text, Text: want}}}}}) {
			if err != nil {
				t.Error(event, err)
			}
		}
	}
	if files, _ := filepath.Glob("mock-*.png"); len(files) != 2 {
		t.Errorf("saved are %q", files)
	}
}
