package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
)

// flags holds the flags of the root command.
type flags struct {
	modelFlags
	conversationFlags
	outputFlags
	limitFlags
	wire       wireFlags
	configFile string   // used instead of the default file
	files      []string // files to attach
	toolNames  string   // "none", or a comma-separated list
	allow      []string // permission rules
	yolo       bool
}

// modelFlags choose the models and how they answer.
type modelFlags struct {
	models     []string // of -m; several are compared; settings.model is the first
	exact      bool     // model names are not mapped to others
	answers    int      // answers per model
	judge      string   // model that picks the best answer; "" for none
	fallback   []string
	noFallback bool
	settings   settingFlags
	promptName string // prompt file that takes the words as arguments
	prompt     promptFile
}

// Values of flags that turn something on or off.
const (
	on  = "on"
	off = "off"
)

// conversationFlags choose the conversation.
type conversationFlags struct {
	continueLast, fork, ephemeral bool
	resume, aside                 string
	listWords                     *string // search text of the list of conversations; nil shows no list
}

// outputFlags choose the front end and the output format.
type outputFlags struct {
	printOnly, interactive, screenReader bool
	codeOnly, raw, render, thinking      bool
	schema                               *llm.Schema // nil for none
}

// limitFlags limit one prompt; 0 is no limit.
type limitFlags struct {
	maxTurns int
	maxCost  float64 // US dollars
	timeout  time.Duration

	until       string // command that must pass before the answer is done; "" for none
	untilRounds int
	wait        time.Duration // for the reset of a provider's limit
}

// wireFlags record, replay or print requests.
type wireFlags struct {
	recordFile, replayFile, debugFile string
	dryRun                            bool
}

// register adds the flags to the root command.
func (f *flags) register(root *cobra.Command, out *cmdutil.Streams) {
	set := root.Flags()
	set.StringArrayVarP(&f.models, "model", "m", nil, "`MODEL`, as provider/model; repeat to compare several")
	f.settings.register(root, set)
	set.BoolVar(&f.exact, "exact", false, "use model names exactly as given: do not map retired or family names to current ones")
	set.IntVarP(&f.answers, "answers", "n", 1, "`NUMBER` of answers; they are compared and saved as branches")
	set.StringSliceVar(&f.fallback, "fallback", nil, "`MODELS` to continue with if one fails; auto: similar connected models")
	set.BoolVar(&f.noFallback, "no-fallback", false, "do not use fallback models")
	set.StringVar(&f.judge, "judge", "", "with several answers: `MODEL` that says which answer is best, and why")
	set.StringVarP(&f.promptName, "prompt", "P", "", "send the prompt file `NAME`, with PROMPT as its arguments; implies -p")
	set.StringArrayVarP(&f.files, "file", "f", nil, "attach `FILE`, or a web page (in PROMPT itself an @ is only text)")
	set.BoolVarP(&f.printOnly, "print", "p", false, "print the answer and exit")
	set.BoolVarP(&f.interactive, "interactive", "i", false, "open the screen even if standard input is a pipe")
	root.MarkFlagsMutuallyExclusive("print", "interactive")
	set.BoolVar(&f.screenReader, "screen-reader", false, "plain lines instead of the screen, for screen readers")
	cmdutil.OutputFlag(root, &out.Format)
	set.String("schema", "", "JSON `SCHEMA` for the answer, or a file with one; prints only the JSON")
	set.BoolVarP(&f.codeOnly, "code", "x", false, "print only the first code block of the answer")
	set.BoolVar(&f.thinking, "thinking", false, "print thinking on standard error")
	set.BoolVar(&f.raw, "raw", false, "print raw output, including control characters")
	set.BoolVar(&f.render, "render", false, "render Markdown even if standard output is not a terminal")
	set.StringVar(&f.toolNames, "tools", "", "`TOOLS` to offer: none, or a list such as read,grep")
	set.StringArrayVar(&f.allow, "allow", nil, "let a tool run without asking, by a `RULE` such as edit or \"shell:go test ./...\"")
	set.BoolVar(&f.yolo, "yolo", false, "let every tool run without asking")
	set.IntVar(&f.maxTurns, "max-turns", 0, "maximum `NUMBER` of requests for one prompt")
	set.Float64Var(&f.maxCost, "max-cost", 0, "maximum cost in US `DOLLARS`")
	set.DurationVar(&f.timeout, "timeout", 0, "time limit for the whole answer, a `DURATION` such as 90s; implies -p")
	set.StringVar(&f.until, "until", "", "continue until `COMMAND` passes: it runs in the sandbox after the answer, and if it fails, its last lines are the next prompt")
	set.IntVar(&f.untilRounds, "until-rounds", app.UntilRounds, "with --until: maximum `NUMBER` of times that the model tries again")
	f.registerWait(root)
	set.StringVar(&f.wire.recordFile, "record", "", "append each request and its answer to `FILE`, with keys masked")
	set.StringVar(&f.wire.replayFile, "replay", "", "answer from the recording in `FILE` instead of the network, without a key")
	set.BoolVar(&f.wire.dryRun, "dry-run", false, "print the request without sending it")
	set.BoolVarP(&f.continueLast, "continue", "c", false, "continue the last conversation of this folder")
	set.StringVarP(&f.resume, "resume", "r", "", "continue a `CONVERSATION`: its ID, the beginning of its ID, or words of its title; without a value, lists them")
	set.StringVar(&f.aside, "aside", "", "ask PROMPT about a `CONVERSATION`, named as with -r, without changing it; implies -p")
	set.BoolVar(&f.fork, "fork", false, "with -c or -r, continue in a copy")
	set.BoolVar(&f.ephemeral, "ephemeral", false, "do not save this conversation")
	for _, other := range []string{"continue", "resume", "fork", "ephemeral", "interactive", "prompt", "schema", "answers", "judge", "until"} {
		root.MarkFlagsMutuallyExclusive("aside", other)
	}
	out.QuietFlag(root)
	root.PersistentFlags().StringVar(&f.wire.debugFile, "debug", "", "log each request to `FILE`, without keys and texts")
	root.PersistentFlags().StringVar(&f.configFile, "config", "", "use this config `FILE`")
	root.MarkFlagFilename("schema", "json")
}

// registerWait adds the flag for long waits to a command that asks models.
func (f *limitFlags) registerWait(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.wait, "wait", 0, "wait up to `DURATION`, such as 6h, for a provider's limit to reset, and continue")
}

// valueNames describes the values of flags by their types.
var valueNames = map[string]string{
	"int": "a whole number", "int64": "a whole number", "float64": "a number", "duration": "a time such as 90s or 5m", "bool": "true or false",
}

// flagError explains an invalid flag value in words for users.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return unknownFlag(cmd, unknown)
	}
	var lacking *pflag.ValueRequiredError
	if errors.As(err, &lacking) {
		typed := "--" + lacking.GetSpecifiedName()
		if lacking.GetSpecifiedShortnames() != "" {
			typed = "-" + lacking.GetSpecifiedName()
		}
		takes, _ := pflag.UnquoteUsage(lacking.GetFlag())
		return fmt.Errorf("%s needs a value: %s %s", typed, typed, takes)
	}
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	want := valueNames[bad.GetFlag().Value.Type()]
	var choice cmdutil.ChoiceError
	switch {
	case errors.As(err, &choice):
		if want = strings.TrimPrefix(string(choice), "use "); bad.GetFlag().Name == "output" && cmd.Flags().Lookup("to") != nil {
			want += "; --to names the file"
		}
	case want == "":
		return err
	case errors.Is(err, strconv.ErrRange):
		want = "a smaller number"
	}
	return fmt.Errorf("%s %s: use %s", flagName(bad.GetFlag()), bad.GetValue(), want)
}

// flagName returns a flag as users write it.
func flagName(flag *pflag.Flag) string {
	if flag.Shorthand != "" {
		return "-" + flag.Shorthand
	}
	return "--" + flag.Name
}

// excludedFlags names the mutually exclusive flags that were given; it returns other errors unchanged.
func excludedFlags(err error) error {
	if err == nil || !strings.HasPrefix(err.Error(), "if any flags in the group ") {
		return err
	}
	_, set, _ := strings.Cut(err.Error(), "none of the others can be; [")
	set, _, found := strings.Cut(set, "] were all set")
	if !found {
		return err
	}
	return fmt.Errorf("--%s: give one of them", strings.Join(strings.Fields(set), " and --"))
}

// limitError rejects limits of zero.
func (f *flags) limitError(cmd *cobra.Command) error {
	for _, limit := range []struct {
		flag  string
		valid bool
	}{
		{"max-turns", f.maxTurns > 0}, {"max-cost", f.maxCost > 0 && !math.IsInf(f.maxCost, 0)}, {"timeout", f.timeout > 0}, {"wait", f.wait > 0},
	} {
		if flag := cmd.Flags().Lookup(limit.flag); flag.Changed && !limit.valid {
			return fmt.Errorf("--%s %s: use more than 0", limit.flag, flag.Value)
		}
	}
	return nil
}

// untilError rejects --until without a command, rounds or a single answer.
func (f *flags) untilError(cmd *cobra.Command) error {
	switch given := cmd.Flags().Changed("until"); {
	case !given && cmd.Flags().Changed("until-rounds"):
		return errors.New("--until-rounds limits --until: give both")
	case !given:
		return nil
	case newCheck == nil:
		return errors.New("this build has no --until")
	case strings.TrimSpace(f.until) == "":
		return errors.New("--until needs a command, such as --until \"go test ./...\"")
	case f.untilRounds < 1:
		return fmt.Errorf("--until-rounds %d: use 1 or more", f.untilRounds)
	case f.answers > 1 || len(f.models) > 1:
		return errors.New("--until continues one answer: use one -m, without -n")
	}
	return nil
}

// validate rejects contradictory flags, and words that are probably a mistyped command: asking a model costs money.
func (f *flags) validate(cmd *cobra.Command, words []string, format string) error {
	switch {
	case f.continueLast && f.resume != "":
		return errors.New("-c and -r name two conversations: use one of them")
	case f.fork && !f.continueLast && !cmd.Flags().Changed("resume"):
		return errors.New("--fork copies a conversation: name it with -c or -r")
	case f.wire.recordFile != "" && f.wire.replayFile != "":
		return errors.New("--replay sends nothing for --record to save: use one of them")
	case f.ephemeral && (f.continueLast || f.resume != "") && !f.fork:
		return errors.New("--ephemeral saves nothing, so it cannot continue a saved conversation: add --fork to continue in a copy")
	case f.codeOnly && format != "text":
		return fmt.Errorf("--code prints code alone: -o %s does not apply", format)
	}
	if err := f.limitError(cmd); err != nil {
		return err
	}
	if err := f.settings.validate(); err != nil {
		return err
	}
	if err := f.untilError(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("resume") && f.resume == "" {
		f.listWords = new(string)
	}
	if len(f.models) > 0 {
		f.settings.model = f.models[0]
	}
	if f.answers < 1 || f.answers > mostAnswers {
		return fmt.Errorf("-n %d: use 1 to %d answers", f.answers, mostAnswers)
	}
	if f.answers > 1 && (cmd.Flags().Changed("schema") || f.wire.dryRun) {
		return errors.New("-n compares answers: --schema and --dry-run work with one")
	}
	if len(f.models) > 1 && (cmd.Flags().Changed("schema") || f.wire.dryRun) {
		return errors.New("-m twice compares answers: --schema and --dry-run work with one model")
	}
	if err := f.validateCompared(); err != nil {
		return err
	}
	if f.aside != "" {
		if len(f.models) > 1 {
			return errors.New("-m twice compares answers: --aside works with one model")
		}
		f.resume, f.printOnly = f.aside, true
	}
	if cmd.Flags().Changed("schema") {
		if f.codeOnly || f.render {
			return errors.New("--schema prints JSON: --code and --render do not apply")
		}
		want, err := answerSchema(cmd.Flags().Lookup("schema").Value.String())
		if err != nil {
			return fmt.Errorf("--schema: %w", err)
		}
		f.schema = want
	}
	if f.printOnly || cmd.ArgsLenAtDash() >= 0 {
		return nil
	}
	return cmdutil.Misspelled(cmd.Root(), words)
}

// mostAnswers is the greatest number of answers from one model at once.
const mostAnswers = 16

// validateCompared rejects too many models, and a judge without a comparison.
func (f *modelFlags) validateCompared() error {
	names := f.compared(cmp.Or(f.settings.model, "model"))
	if len(names) < 2 {
		if f.judge != "" {
			return errors.New("--judge says which of several answers is best: use -m twice, or -n")
		}
		return nil
	}
	return session.CheckCompared(names)
}

// maxSchema is the greatest size of a schema in bytes.
const maxSchema = 1 << 20

// schemas fits answers and calls to JSON schemas; nil in a build without that.
var schemas interface {
	session.Schemas
	Check(schema, arguments json.RawMessage) error
	Repair(text []byte) ([]byte, bool)
}

// answerSchema returns the schema of the answer: arg itself if it begins as a JSON object, otherwise the content of the
// file arg.
func answerSchema(arg string) (*llm.Schema, error) {
	if schemas == nil {
		return nil, errors.New("this build has no JSON schemas")
	}
	if text := strings.TrimSpace(arg); strings.HasPrefix(text, "{") {
		return schemas.Parse([]byte(text))
	}
	f, err := os.Open(arg)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSchema+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("%s has more than %d MB", arg, maxSchema>>20)
	}
	s, err := schemas.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	return s, nil
}
