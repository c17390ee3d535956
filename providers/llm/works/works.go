// Package works is the vocabulary for what models make besides answers: vectors, images, videos.
//
// No provider has them all, so there are three interfaces, and a provider's service implements those it
// supports. None of them retries a request by itself, since each creation is charged.
package works

import (
	"context"
	"io"
	"iter"

	"parley/providers/llm"
)

// An Embedder turns texts into vectors. Implementations are safe for concurrent use.
type Embedder interface {
	// Embed returns one vector for each input, in the order of inputs, with one request. It is the
	// caller's error to pass more inputs than Batch allows. Errors are *llm.Error.
	Embed(ctx context.Context, inputs []string, o EmbedOptions) (*Embedded, error)
	// Batch returns the maximum number of inputs in a request, at least 1, and the maximum number
	// of tokens of all of them together; 0 for no limit.
	Batch() (inputs, tokens int)
}

// EmbedOptions hold the settings of vectors; the zero value leaves them to the model.
type EmbedOptions struct {
	Dimensions int
	Task       Task
}

// A Task is the purpose of vectors. Models without tasks ignore it with a note.
type Task string

// Values of Task: Gemini's names in lower case.
const (
	TaskDocument   Task = "document"   // for documents to find
	TaskQuery      Task = "query"      // for finding documents
	TaskSimilarity Task = "similarity" // for comparing with each other
	TaskClassify   Task = "classification"
	TaskCluster    Task = "clustering"
	TaskQuestion   Task = "question"
	TaskFact       Task = "fact"
	TaskCode       Task = "code"
)

// Tasks lists every task.
var Tasks = []Task{TaskDocument, TaskQuery, TaskSimilarity, TaskClassify, TaskCluster, TaskQuestion, TaskFact, TaskCode}

// Embedded is the result of an Embedder. Vectors have the same dimensions, length 1 and no NaN.
type Embedded struct {
	Vectors [][]float32
	Bill    Bill
	Notes   []string // notes for the user about omitted options
}

// A Bill is the usage and cost of a request. Zero fields are unknown.
type Bill struct {
	Tokens      int // tokens of the prompt and its attachments
	ImageTokens int `json:"Seen"` // part of Tokens that is images, if counted separately
	Output      int // output tokens, if counted in tokens
	Images      int
	Seconds     float64 // of video
	USD         float64
	Priced      bool // USD is known
	Reported    bool `json:"Exact"` // USD was reported by the server, not estimated
}

// Add returns the sum of b and c. It is priced only if both are.
func (b Bill) Add(c Bill) Bill {
	if b == (Bill{}) {
		return c
	}
	return Bill{
		Tokens: b.Tokens + c.Tokens, ImageTokens: b.ImageTokens + c.ImageTokens, Output: b.Output + c.Output, Images: b.Images + c.Images, Seconds: b.Seconds + c.Seconds,
		USD: b.USD + c.USD, Priced: b.Priced && c.Priced, Reported: b.Reported && c.Reported,
	}
}

// Usage returns b as the usage of an answer, in the fields that both have.
func (b Bill) Usage() llm.Usage {
	return llm.Usage{Input: b.Tokens, Output: b.Output, Cost: b.USD, Priced: b.Priced}
}

// A Blob is a file: an image or a video.
type Blob struct {
	MIME string
	Name string // "" for none
	Data []byte // nil if it was written elsewhere
}

// A Refusal means that a provider declined a request. It is an outcome, not an error: a retry
// changes nothing.
type Refusal struct {
	Stage  string // "input" or "output"; "" if unknown
	Code   string // the provider's code, such as "moderation_blocked"
	Text   string // the provider's text; untrusted
	Billed bool   // it is charged nevertheless
}

// An ImageMaker generates or edits images.
type ImageMaker interface {
	// Make sends r when it is ranged over, once. The sequence ends with an event that has Done,
	// followed by its first and only error if there was one, which is an *llm.Error unless ctx was
	// canceled. If nothing was generated, there is only the error; images sent before an error are
	// valid.
	Make(ctx context.Context, r ImageRequest) iter.Seq2[ImageEvent, error]
}

// An ImageRequest describes the images to make. Zero values leave the choice to the model. An
// unsupported setting that would change the result or its price is an error with the fault
// Unsupported before anything is sent; other settings are dropped with a note.
type ImageRequest struct {
	Prompt      string
	Inputs      []Blob // images to edit or to follow; nil for a new image
	Mask        *Blob  // PNG of the size of the first input; its transparent area is edited
	N           int    // number of images; 0 is 1
	Partials    int    // maximum number of unfinished images to show
	Size        Size
	Quality     string // a word of the model, such as "low"
	Format      string // "png", "jpeg" or "webp"
	Transparent bool   // transparent background
}

// A Size is in pixels, or a ratio and a tier such as "2K". The zero value is the model's default.
type Size struct {
	Width, Height int
	Ratio         string // such as "16:9"
	Tier          string // such as "1K"
}

// An ImageEvent has exactly one field set.
type ImageEvent struct {
	Partial *Blob    // an unfinished image
	Image   *Blob    // a finished image
	Refused *Refusal // instead of an image
	Note    string   // notice for the user about an adaptation
	Text    string   // text of the model beside its images
	Done    *Bill    // bill of all images; the last event
}

// VideoJobs makes videos. A job runs at the provider and takes minutes.
type VideoJobs interface {
	// Start creates a job, which is charged: do not retry it unless the error says that nothing was
	// sent, or is a RateLimit.
	Start(ctx context.Context, r VideoRequest) (Job, error)
	// Poll returns the current state of the job.
	Poll(ctx context.Context, j Job) (Job, error)
	// Fetch writes an output of a finished job to w and returns its type. It requests a new
	// address, since addresses expire. It returns write errors of w too.
	Fetch(ctx context.Context, j Job, o VideoOutput, w io.Writer) (Blob, error)
	// Cancel ends a job. If the provider cannot, it returns an *llm.Error with the fault Unsupported.
	Cancel(ctx context.Context, j Job) error
}

// A VideoRequest describes the video to make, as an ImageRequest does.
type VideoRequest struct {
	Prompt                string
	FirstFrame, LastFrame *Blob  // first and last image of the video; nil for any
	References            []Blob // images of subjects to show
	Source                *Blob  // a video to edit; nil for a new one
	Extend                bool   // continue Source instead of editing it
	Seconds               int
	Resolution            string // such as "720p", or in pixels, such as "1280x720"
	Ratio                 string // such as "16:9"
	Audio                 *bool
	Seed                  *int64
	NegativePrompt        string // content to avoid
}

// A VideoOutput is one of a job's files.
type VideoOutput struct {
	Index   int
	Variant string // "thumbnail" or "spritesheet" instead of the video, if the provider has them
}

// VideoVariants lists the variants of a VideoOutput.
var VideoVariants = []string{"thumbnail", "spritesheet"}

// A Job is a video being made by a provider. It is stored, and may be polled by another process. It
// holds no addresses, since they expire.
type Job struct {
	Provider string   `json:"provider"` // as configured
	Model    string   `json:"model"`
	ID       string   `json:"id"` // assigned by the provider; untrusted text
	State    JobState `json:"state"`
	RawState string   `json:"word,omitempty"`     // the provider's name for State; untrusted text
	Progress int      `json:"progress,omitempty"` // percent; 0 if unknown
	Outputs  int      `json:"outputs,omitempty"`  // number of outputs, once done
	Bill     *Bill    `json:"bill,omitempty"`
	Refused  *Refusal `json:"refused,omitempty"`
	Failure  string   `json:"failure,omitempty"` // the provider's message; untrusted text
	Notes    []string `json:"notes,omitempty"`   // notes for the user about omitted options
}

// JobState is the progress of a job.
type JobState string

// Values of JobState. Unknown states of a provider are JobRunning.
const (
	JobQueued   JobState = "queued"
	JobRunning  JobState = "running"
	JobDone     JobState = "done"
	JobRefused  JobState = "refused"
	JobFailed   JobState = "failed"
	JobCanceled JobState = "canceled"
	JobExpired  JobState = "expired" // the job or its output is gone
)

// Over reports whether the state is final.
func (s JobState) Over() bool { return s != JobQueued && s != JobRunning }
