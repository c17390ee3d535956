package llm

import (
	"context"
	"io"
	"iter"
)

// Models do more than answering. No provider does all of it, so there are three
// interfaces, and a service of providers implements those that it can. None of them
// repeats a request by itself: what is created is paid for each time.

// An Embedder turns texts into vectors. Implementations are safe for concurrent use.
type Embedder interface {
	// Embed returns one vector for each input, in the order of inputs, in one request.
	// More inputs than Batch are an error of the caller. Errors are *Error.
	Embed(ctx context.Context, inputs []string, o EmbedOptions) (*Embedded, error)
	// Batch returns how many inputs one request takes, at least 1, and how many
	// tokens all of them may have together; 0 for no such limit.
	Batch() (inputs, tokens int)
}

// EmbedOptions say what vectors are wanted; the zero value leaves that to the model.
type EmbedOptions struct {
	Dimensions int
	Task       Task
}

// A Task is what vectors are made for. Models that know no tasks ignore it with a note.
type Task string

// The tasks, in the words of Gemini, in small letters.
const (
	TaskDocument   Task = "document"   // to be found
	TaskQuery      Task = "query"      // to find documents with
	TaskSimilarity Task = "similarity" // to be compared with each other
	TaskClassify   Task = "classification"
	TaskCluster    Task = "clustering"
	TaskQuestion   Task = "question"
	TaskFact       Task = "fact"
	TaskCode       Task = "code"
)

// Tasks lists every task.
var Tasks = []Task{TaskDocument, TaskQuery, TaskSimilarity, TaskClassify, TaskCluster, TaskQuestion, TaskFact, TaskCode}

// Embedded is what an Embedder returns. Vectors have the same dimensions, length 1 and no
// NaN.
type Embedded struct {
	Vectors [][]float32
	Bill    Bill
	Notes   []string // what was left out of the request, for the user
}

// A Bill is what a request used and cost. Zero fields are unknown.
type Bill struct {
	Tokens      int // of the prompt, and of what goes with it
	ImageTokens int `json:"Seen"` // part of Tokens that is images, where they are counted apart
	Output      int // tokens of the output, where it is counted in tokens
	Images      int
	Seconds     float64 // of video
	USD         float64
	Priced      bool // USD is known
	Reported    bool `json:"Exact"` // USD is what the server said, not an estimate
}

// Add returns the sum of b and c, which is priced only if both are.
func (b Bill) Add(c Bill) Bill {
	if b == (Bill{}) {
		return c
	}
	return Bill{
		Tokens: b.Tokens + c.Tokens, ImageTokens: b.ImageTokens + c.ImageTokens, Output: b.Output + c.Output, Images: b.Images + c.Images, Seconds: b.Seconds + c.Seconds,
		USD: b.USD + c.USD, Priced: b.Priced && c.Priced, Reported: b.Reported && c.Reported,
	}
}

// Usage returns b as the usage of an answer, as far as both count the same.
func (b Bill) Usage() Usage {
	return Usage{Input: b.Tokens, Output: b.Output, Cost: b.USD, Priced: b.Priced}
}

// A Blob is a file: an image or a video.
type Blob struct {
	MIME string
	Name string // "" if it has none
	Data []byte // nil if it was written elsewhere
}

// A Refusal says that a provider declined what was asked for. It is an outcome, not an
// error: asking again changes nothing.
type Refusal struct {
	Stage  string // "input" or "output"; "" if the provider does not say
	Code   string // the provider's word, such as "moderation_blocked"
	Text   string // the provider's words; untrusted text
	Billed bool   // it is paid for all the same
}

// OriginImages is the origin of messages that an ImageMaker drew. No wire format has it, so
// that every model gets the image, or hears of it.
const OriginImages = "images"

// A Preview is an image that is not finished. It is an Event: shown in the place of what
// Block will be, and kept nowhere.
type Preview struct {
	Block string
	Part
}

func (Preview) event() {}

// An ImageMaker draws images, or changes those it is given.
type ImageMaker interface {
	// Make sends r when it is ranged over, once. The sequence ends with an event that
	// has Done, and after that with its first and only error if there was one, which is
	// an *Error unless ctx was canceled. If nothing came there is the error alone;
	// images that came before it are good.
	Make(ctx context.Context, r ImageRequest) iter.Seq2[ImageEvent, error]
}

// An ImageRequest says which images are wanted. Zero values leave the choice to the
// model. What changes what is paid or shown and cannot be done is an error with the fault
// Unsupported before anything is sent; other settings are left out with a note.
type ImageRequest struct {
	Prompt      string
	Inputs      []Blob // images to change or to go by; none: a new image
	Mask        *Blob  // PNG of the size of the first input; transparent: change here
	N           int    // images; 0 is 1
	Partials    int    // unfinished images to be shown on the way, at most
	Size        Size
	Quality     string // a word of the model's, such as "low"
	Format      string // "png", "jpeg" or "webp"
	Transparent bool   // the background
}

// A Size is pixels, or a ratio and a tier such as "2K". The zero value is the model's own.
type Size struct {
	Width, Height int
	Ratio         string // such as "16:9"
	Tier          string // such as "1K"
}

// An ImageEvent holds one of its fields.
type ImageEvent struct {
	Partial *Blob    // an image that is not finished
	Image   *Blob    // one that is
	Refused *Refusal // in place of an image
	Note    string   // what was adapted, for the user
	Text    string   // what the model said beside its images
	Done    *Bill    // of all; the last event
}

// VideoJobs makes videos. A job runs at the provider, for minutes.
type VideoJobs interface {
	// Start creates a job, which is paid for: it is not to be repeated unless the error
	// says that nothing was sent, or is a RateLimit.
	Start(ctx context.Context, r VideoRequest) (Job, error)
	// Poll returns the job as it is now.
	Poll(ctx context.Context, j Job) (Job, error)
	// Fetch writes an output of a job that is done to w, and returns its type. It asks for
	// a fresh address: those expire. Errors of w are in its error.
	Fetch(ctx context.Context, j Job, o VideoOutput, w io.Writer) (Blob, error)
	// Cancel ends a job, if the provider can; an *Error with the fault Unsupported if not.
	Cancel(ctx context.Context, j Job) error
}

// A VideoRequest says which video is wanted, as an ImageRequest does.
type VideoRequest struct {
	Prompt                string
	FirstFrame, LastFrame *Blob  // FirstFrame and LastFrame are images that the video begins and ends with; nil: any
	References            []Blob // images of what is to be seen in it
	Source                *Blob  // a video to change; nil: a new one
	Extend                bool   // continue Source, rather than change it
	Seconds               int
	Resolution            string // such as "720p", or pixels, as "1280x720"
	Ratio                 string // such as "16:9"
	Audio                 *bool
	Seed                  *int64
	NegativePrompt        string // what must not be seen
}

// A VideoOutput is one of the files that a job makes.
type VideoOutput struct {
	Index   int
	Variant string // "thumbnail" or "spritesheet" in place of the video itself, where the provider has them
}

// VideoVariants lists what a VideoOutput can be instead of the video.
var VideoVariants = []string{"thumbnail", "spritesheet"}

// A Job is a video that a provider makes. It is stored, and may be polled by another process; it
// holds no addresses, which expire.
type Job struct {
	Provider string   `json:"provider"` // as configured
	Model    string   `json:"model"`
	ID       string   `json:"id"` // the provider's; untrusted text
	State    JobState `json:"state"`
	RawState string   `json:"word,omitempty"`     // the provider's own word for State; untrusted text
	Progress int      `json:"progress,omitempty"` // percent; 0 if unknown
	Outputs  int      `json:"outputs,omitempty"`  // once it is done
	Bill     *Bill    `json:"bill,omitempty"`
	Refused  *Refusal `json:"refused,omitempty"`
	Failure  string   `json:"failure,omitempty"` // the provider's words; untrusted text
	Notes    []string `json:"notes,omitempty"`   // what was left out of the request
}

// JobState is the progress of a job.
type JobState string

// The states. A word of the provider's that is not known is JobRunning.
const (
	JobQueued   JobState = "queued"
	JobRunning  JobState = "running"
	JobDone     JobState = "done"
	JobRefused  JobState = "refused"
	JobFailed   JobState = "failed"
	JobCanceled JobState = "canceled"
	JobExpired  JobState = "expired" // it, or what it made, is gone
)

// Over reports whether the state is final.
func (s JobState) Over() bool { return s != JobQueued && s != JobRunning }
