// Package video implements parley video, which makes videos and stores their jobs.
package video

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/session"
	"parley/ui/app/wording"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

// Options holds the environment and the flags of parley video.
type Options struct {
	*ability.Env
	videoFlags
	library      *session.Store
	endOnSignals func() // until this is called, ctrl+c ends the program, as during a question
}

// videoFlags are the flags of parley video and its subcommands.
type videoFlags struct {
	wishes              works.VideoRequest
	name                string // of the model
	first, last, source string // files
	references          []string
	audio, silent       bool
	seed                int64
	to, variant         string
	noWait, yes         bool
}

// New returns the command that makes videos.
func New(a *ability.Env) *cobra.Command {
	c := &Options{Env: a}
	cmd := &cobra.Command{
		Use:   "video PROMPT",
		Short: "Make a video, and save it as a file",
		Long: `Make a video from a prompt, and from images if the model accepts them.

A video takes minutes, and you pay for each second of it. parley shows the price
first, and asks if it is above [budget] confirm. The job is stored: if you press
ctrl+c it continues at the provider, and parley video get ID waits for it and
downloads the video.`,
		Example: `  parley video "a fox runs through snow" --to fox.mp4
  parley video "it turns around" --first fox.png --seconds 8 --resolution 720p
  parley video "waves at night" -m gemini --no-wait
  parley video get 3`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			if cmd.ArgsLenAtDash() < 0 {
				if err := cmdutil.Misspelled(cmd, words); err != nil {
					return cmdutil.Usage(err)
				}
			}
			return c.with(func(ctx context.Context) error { return c.create(ctx, cmd, strings.Join(words, " ")) })
		},
	}
	c.register(cmd)
	cmd.AddCommand(c.jobCommands()...)
	return cmd
}

func (c *Options) register(cmd *cobra.Command) {
	f, w := cmd.Flags(), &c.wishes
	f.StringVarP(&c.name, "model", "m", "", "video `MODEL`, as provider/model, or a provider (default: the first connected one)")
	f.IntVar(&w.Seconds, "seconds", 0, "length in `SECONDS`")
	f.StringVar(&w.Resolution, "resolution", "", "`RESOLUTION`, such as 720p")
	f.StringVar(&w.Ratio, "ratio", "", "aspect `RATIO`, such as 16:9")
	f.StringVar(&c.first, "first", "", "`IMAGE` that it begins with")
	f.StringVar(&c.last, "last", "", "`IMAGE` that it ends with")
	f.StringArrayVar(&c.references, "reference", nil, "`IMAGE` that the video should follow; repeat for several")
	f.StringVar(&c.source, "source", "", "`VIDEO` to change")
	f.BoolVar(&w.Extend, "extend", false, "continue the --source video instead of changing it")
	f.BoolVar(&c.audio, "audio", false, "with sound")
	f.BoolVar(&c.silent, "no-audio", false, "without sound")
	f.Int64Var(&c.seed, "seed", 0, "seed `NUMBER`: the same number makes similar videos")
	f.StringVar(&w.NegativePrompt, "avoid", "", "`TEXT` that says what to avoid")
	f.BoolVar(&c.noWait, "no-wait", false, "print the job and exit: parley video get ID downloads it later")
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask about the cost")
	c.outputFlags(cmd)
	c.fileFlags(cmd)
	cmd.MarkFlagsMutuallyExclusive("audio", "no-audio")
	cmd.RegisterFlagCompletionFunc("model", c.Env.Complete(media.Videos.Names))
}

// outputFlags adds the flags for printing.
func (c *Options) outputFlags(cmd *cobra.Command) {
	cmdutil.OutputFlag(cmd, &c.Format)
	c.QuietFlag(cmd)
}

// fileFlags adds the flags for saving.
func (c *Options) fileFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.to, "to", "", "`FILE` to save it in, which must not exist; - is standard output")
	cmdutil.ChoiceFlag(cmd, &c.variant, "variant", "", "save another `KIND` instead of the video: thumbnail or spritesheet", works.VideoVariants)
}

// with runs do after opening the configuration and the store.
func (c *Options) with(do func(context.Context) error) error {
	if err := c.Load(); err != nil {
		return err
	}
	library, err := session.OpenStore(os.Getenv)
	if err != nil { // paid jobs must be found again
		return errors.Join(err, library.Close())
	}
	c.library = library
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c.endOnSignals = func() { exit.CancelOnSignals(cancel) }
	err = do(ctx)
	switch {
	case errors.As(err, new(exit.Interrupted)), errors.Is(err, wording.ErrPipe):
		err = cmdutil.Exit(exit.Of(err))
	case !errors.As(err, new(*cmdutil.ExitError)):
		err = cmdutil.Fail(exit.Failed, err)
	}
	return cmp.Or(err, library.Close())
}

// create makes a video from a prompt.
func (c *Options) create(ctx context.Context, cmd *cobra.Command, prompt string) error {
	c.wishes.Prompt = prompt
	if prompt == "" && !term.IsTerminal(os.Stdin.Fd()) {
		text, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<20))
		if err != nil {
			return cmdutil.Usagef("standard input: %w", err)
		}
		c.wishes.Prompt = strings.TrimSpace(string(text))
	}
	if err := c.readWishes(cmd); err != nil {
		return cmdutil.Usage(err)
	}
	if err := c.checkOutput(false); err != nil {
		return cmdutil.Usage(err)
	}
	m, err := media.Videos.Find(ctx, c.Find, c.name, c.OpenOptions())
	if err != nil {
		return cmdutil.Config(err)
	}
	if err := media.CheckVideo(c.Services(), m, c.wishes, os.Getenv); err != nil {
		return err
	}
	if err := c.confirm(m.Name, m.Facts); err != nil {
		return err
	}
	usd, known := m.Facts.Cost(c.wishes.Seconds, c.wishes.Resolution)
	reservation, err := c.Reserve(c.library, m.Name, llm.Usage{Cost: usd, Priced: known})
	if err != nil {
		return err
	}
	c.endOnSignals()
	provider, model, _ := strings.Cut(m.Name, "/")
	v := session.Video{Prompt: c.wishes.Prompt, To: absolute(c.to), Job: works.Job{Provider: provider, Model: model, State: works.JobQueued}}
	if err := c.library.Videos().Add(&v); err != nil {
		return errors.Join(err, reservation.Settle())
	}
	r := newRun(c, v, m.Service)
	r.reservation = reservation
	return r.start(ctx)
}

// readWishes reads the files named by the flags.
func (c *Options) readWishes(cmd *cobra.Command) error {
	w := &c.wishes
	switch {
	case strings.TrimSpace(w.Prompt) == "" && c.first == "" && c.source == "":
		return errors.New(`no prompt: describe the video, as in parley video "a fox runs through snow"`)
	case w.Seconds < 0:
		return fmt.Errorf("--seconds %d: use a number above 0", w.Seconds)
	case w.Extend && c.source == "":
		return errors.New("--extend continues a video: name it with --source")
	}
	if c.audio || c.silent {
		w.Audio = &c.audio
	}
	if cmd.Flags().Changed("seed") {
		w.Seed = &c.seed
	}
	var all, err error
	one := func(flag, path, kind string) *works.Blob {
		if path == "" {
			return nil
		}
		var b *works.Blob
		if b, err = readMedia(path, kind); err != nil {
			all = errors.Join(all, fmt.Errorf("--%s: %w", flag, err))
		}
		return b
	}
	w.FirstFrame, w.LastFrame, w.Source = one("first", c.first, "image"), one("last", c.last, "image"), one("source", c.source, "video")
	for _, path := range c.references {
		if b := one("reference", path, "image"); b != nil {
			w.References = append(w.References, *b)
		}
	}
	return all
}

// checkOutput rejects output that cannot be saved before anything is paid for. Stored jobs may have an output name of
// their own.
func (c *Options) checkOutput(kept bool) error {
	if c.to == "" && (c.noWait || kept) {
		return nil
	}
	return ability.CheckTarget(c.to, c.Format, false)
}

// confirm shows the price of a video, and asks if it is high.
func (c *Options) confirm(model string, facts catalog.VideoModel) error {
	usd, known := facts.Cost(c.wishes.Seconds, c.wishes.Resolution)
	if !known {
		c.Note("What " + model + " costs is not known")
		return nil
	}
	price := fmt.Sprintf("about $%.2f", usd)
	if seconds := cmp.Or(c.wishes.Seconds, facts.Default); facts.PerVideo == 0 && seconds > 0 {
		price += fmt.Sprintf(" for %d seconds", seconds)
	}
	c.Note(model + ": " + price)
	if c.yes {
		return nil
	}
	return c.ConfirmCost("the video would", usd, known)
}
