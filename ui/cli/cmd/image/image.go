// Package image implements parley image, which makes and changes images.
package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/session"
	"parley/session/attach"
	"parley/tools/sanitize"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/format"
	"parley/ui/tui/termimage"
)

// Options holds the environment and the flags of the command.
type Options struct {
	*ability.Env
	model, size, quality, kind string
	inputs                     []string
	mask, to                   string
	n                          int
	transparent, yes, dryRun   bool
}

// Images makes images, for the command line and for conversations.
type Images struct{}

// Command returns the command that makes and changes images.
func (Images) Command(a *ability.Env) *cobra.Command {
	c := &Options{Env: a}
	cmd := &cobra.Command{
		Use: "image PROMPT", Short: "Make or change images",
		Long: `Make images from a prompt, or change the images given with --image.

Each image is saved under a name made from the prompt, or as --to says; no file is
overwritten. It exits with 8 if the provider refuses.`,
		Example: `  parley image "a fox in the snow"
  parley image "make the sky darker" --image photo.jpg --to dark.png
  parley image "a logo of a whale" -n 4 --size 1:1 --transparent -m openai/gpt-image-2`,
		RunE: func(cmd *cobra.Command, words []string) error { return c.run(cmd.Context(), words) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.model, "model", "m", "", "image `MODEL`, as provider/model; parley models --image lists them")
	f.StringArrayVarP(&c.inputs, "image", "i", nil, "`IMAGE` to change or to use as a reference; repeat for several")
	f.StringVar(&c.mask, "mask", "", "`PNG` of the size of the first image: the model changes its transparent area")
	f.StringVar(&c.size, "size", "", "`SIZE`: 1536x1024, 16:9, 2K, or \"16:9 2K\"")
	f.IntVarP(&c.n, "number", "n", 1, "`NUMBER` of images")
	f.StringVar(&c.quality, "quality", "", "`QUALITY`, as the model calls it, such as low or high")
	f.BoolVar(&c.transparent, "transparent", false, "transparent background")
	f.StringVar(&c.kind, "format", "", "file `FORMAT`: png, jpeg, webp, or gif and svg with gpt-image-2.6")
	f.StringVar(&c.to, "to", "", "save as `FILE`, or in this folder; - is standard output")
	cmdutil.OutputFlag(cmd, &c.Format)
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask about the cost")
	f.BoolVar(&c.dryRun, "dry-run", false, "print the request without sending it")
	c.QuietFlag(cmd)
	cmd.MarkFlagFilename("image", "png", "jpg", "jpeg", "webp")
	cmd.MarkFlagFilename("mask", "png")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(imageFormats, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("model", a.Complete(media.Images.Names))
	return cmd
}

// imageFormats lists the values of --format.
var imageFormats = []string{"png", "jpeg", "webp", "gif", "svg"}

// run makes the images.
func (c *Options) run(ctx context.Context, words []string) error {
	r, err := c.request(words)
	if err != nil {
		return cmdutil.Usage(err)
	}
	if err := c.Load(); err != nil {
		return err
	}
	if c.dryRun {
		text, err := providers.Captured(ctx, c.OpenOptions(), func(ctx context.Context, o providers.OpenOptions) error {
			m, err := c.open(ctx, o)
			if err != nil {
				return err
			}
			for _, failed := range m.Service.Make(ctx, r) {
				err = failed
			}
			return err
		})
		if err != nil {
			return err
		}
		_, err = io.WriteString(c.Out, sanitize.Text(text))
		return err
	}
	m, err := c.open(ctx, c.OpenOptions())
	if err != nil {
		return err
	}
	usd, known := m.Facts.Cost(r.N)
	if !c.yes {
		if err := c.ConfirmCost(fmt.Sprintf("%d × %s", r.N, m.Name), usd, known); err != nil {
			return err
		}
	}
	library, err := session.OpenStore(os.Getenv)
	if err != nil {
		c.Note("could not save the cost: " + format.ErrorText(err))
	}
	defer func() { _ = library.Close() }()
	reservation, err := c.Reserve(library, m.Name, llm.Usage{Cost: usd, Priced: known})
	if err != nil {
		return err
	}
	status, bill := c.draw(ctx, m.Name, media.WithRetries(m.Service, nil), r)
	c.account(library, reservation, m.Name, bill)
	return cmdutil.Exit(status)
}

// open opens the model.
func (c *Options) open(ctx context.Context, o providers.OpenOptions) (media.Model[works.ImageMaker, catalog.ImageModel], error) {
	name := cmp.Or(c.model, c.ImageModel)
	if all := media.Images.Choices(c.Services(), os.Getenv); c.dryRun && name == "" && len(all) > 0 {
		name = all[0].Name // without a request, no key is needed
	}
	return media.Images.Find(ctx, c.Find, name, o)
}

// draw requests the images and saves them. It returns the exit status and the bill.
func (c *Options) draw(ctx context.Context, model string, maker works.ImageMaker, r works.ImageRequest) (int, works.Bill) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	exit.CancelOnSignals(cancel)
	told := &report{
		Streams: *c.Streams, model: model, wanted: r.N, err: os.Stderr, progress: func(string) {},
		save: func(b works.Blob) (savedImage, error) { return c.save(r.Prompt, b) },
	}
	if term.IsTerminal(os.Stderr.Fd()) && c.Format == "text" && !c.Quiet {
		r.Partials = 1
		p := ability.NewProgress(os.Stderr, time.Now(), func(elapsed, text string) string {
			return strings.TrimSuffix("drawing "+elapsed+" · "+text, " · ")
		})
		defer p.Stop()
		told.progress = p.Show
	}
	if term.IsTerminal(os.Stdout.Fd()) && !c.Quiet && !c.Plain {
		told.picture = c.picture
	}
	return told.run(maker.Make(ctx, r)), told.bill
}

// picture returns an image for the terminal; "" if it draws none.
func (c *Options) picture(b works.Blob) string {
	p, _ := termimage.Detect(c.Images, os.Getenv)
	if p == termimage.Off {
		return ""
	}
	const cols, rows, edge = 60, 20, 960
	png, w, h, err := attach.Preview(llm.Part{Kind: llm.Media, MIME: b.MIME, Name: b.Name, Data: b.Data}, edge)
	if err != nil {
		return "" // it is saved
	}
	return termimage.Print(p, png, w, h, cols, rows)
}

// account stores what was spent and releases the reservation.
func (c *Options) account(library *session.Store, reservation session.Reservation, model string, bill works.Bill) {
	spent := ability.Spending{Purpose: session.PurposeImage, Model: model}
	if bill != (works.Bill{}) {
		spent.Add(bill)
	}
	if err := errors.Join(spent.Save(library), reservation.Settle()); err != nil {
		c.Note("could not save the cost: " + format.ErrorText(err))
	}
}

// request builds the request from the flags and words, and checks everything that does not depend on the model.
func (c *Options) request(words []string) (r works.ImageRequest, err error) {
	if ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(c.to), ".")); c.kind == "" && ext != "png" && (ext == "jpg" || slices.Contains(imageFormats, ext)) {
		c.kind = ext // PNG is the default
	}
	if c.kind == "jpg" {
		c.kind = "jpeg"
	}
	r = works.ImageRequest{N: c.n, Quality: c.quality, Format: c.kind, Transparent: c.transparent}
	if r.Size, err = works.ParseSize(c.size); err != nil {
		return r, fmt.Errorf("--%w", err)
	}
	switch {
	case c.kind != "" && !slices.Contains(imageFormats, c.kind):
		return r, fmt.Errorf("--format %s: use one of %s", c.kind, strings.Join(imageFormats, ", "))
	case c.n < 1:
		return r, fmt.Errorf("-n %d: use 1 or more images", c.n)
	case c.mask != "" && len(c.inputs) == 0:
		return r, errors.New("--mask needs the image that it is for: name it with --image")
	}
	if c.to == "-" && c.n > 1 {
		return r, errors.New("--to -: standard output takes one image: name a file, or a folder")
	}
	if err := ability.CheckTarget(c.to, c.Format, true); err != nil {
		return r, err
	}
	if r.Prompt, r.Inputs, err = c.prompt(words); err != nil {
		return r, err
	}
	for _, path := range c.inputs {
		in, err := c.image(path)
		if err != nil {
			return r, fmt.Errorf("--image %w", err)
		}
		r.Inputs = append(r.Inputs, in)
	}
	if c.mask != "" {
		mask, err := c.image(c.mask)
		if err != nil {
			return r, fmt.Errorf("--mask %w", err)
		}
		r.Mask = &mask
	}
	return r, nil
}

// prompt joins words and standard input, which may be an image.
func (c *Options) prompt(words []string) (text string, inputs []works.Blob, err error) {
	var stdin []byte
	if !term.IsTerminal(os.Stdin.Fd()) {
		if stdin, err = cmdutil.ReadStdin(os.Stdin, len(words) > 0, c.Note); err != nil {
			return "", nil, err
		}
	}
	for _, p := range cmdutil.Prompt(words, stdin) {
		if p.Kind == llm.Text {
			text = p.Text
			continue
		}
		a, err := attach.FromBytes("standard input", p.Data, imageLimits)
		if err != nil {
			return "", nil, err
		}
		inputs = append(inputs, works.Blob{Name: "standard input", MIME: a.Part.MIME, Data: a.Part.Data})
	}
	if strings.TrimSpace(text) == "" {
		return "", nil, errors.New("no prompt: give one as an argument or on standard input")
	}
	return text, inputs, nil
}

// imageLimits are the limits for input images, which are not scaled down.
var imageLimits = attach.Limits{Bytes: 50 << 20, Edge: 8192, ImageBytes: 50 << 20}

// image reads an image and removes its metadata.
func (c *Options) image(path string) (works.Blob, error) {
	a, err := attach.FromFile(path, imageLimits)
	switch {
	case err != nil:
		return works.Blob{}, fmt.Errorf("%s: %w", path, err)
	case a.Part.Kind != llm.Media || !strings.HasPrefix(a.Part.MIME, "image/"):
		return works.Blob{}, fmt.Errorf("%s: not an image, whatever its name says", path)
	}
	if a.Note != "" {
		c.Note(path + ": " + a.Note)
	}
	return works.Blob{Name: filepath.Base(path), MIME: a.Part.MIME, Data: a.Part.Data}, nil
}

// save saves an image.
func (c *Options) save(prompt string, b works.Blob) (savedImage, error) {
	s := savedImage{MIME: b.MIME, Bytes: len(b.Data)}
	s.Width, s.Height = attach.Dimensions(b.Data)
	if c.to == "-" {
		_, err := c.Out.Write(b.Data)
		return s, err
	}
	name, path := attach.SlugFileName(prompt, "image", b.MIME), c.to
	if info, err := os.Stat(path); path == "" || err == nil && info.IsDir() {
		path = filepath.Join(path, name)
	} else if is := attach.WithExtension(path, b.MIME); is != path {
		s.Note = "not saved as " + filepath.Base(path) + ", but as " + filepath.Base(is)
		path = is
	}
	var note string
	var err error
	s.Path, note, err = ability.SaveFile(path, name, b.Data)
	s.Note = cmp.Or(note, s.Note)
	return s, err
}
