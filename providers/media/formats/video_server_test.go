package formats

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"parley/providers/adapter"
	"parley/providers/llm/works"
)

// aVideo is data that is detected as a video.
const aVideo = "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom and what follows"

// A videoWire is the documented behavior of a service; FILE stands for the URL of the created file.
type videoWire struct {
	kind, base               string // base is the path of the base URL
	name, model              string // "" for the kind, and for "m"
	create, poll, file       string // "METHOD path"
	lookup, located          string // path of the lookup, and its answer with FILE; "" if polls return it
	key                      string // header, with the key
	created, waiting, done   string
	failed, refused, nothing string // the last: done, without a video
	strange                  string // an unknown state
	sent                     string // part of the request for a video of 6 s from a first frame
}

var videoWires = []videoWire{
	{
		kind: "gemini", base: "/v1beta", key: "X-Goog-Api-Key: k-secret",
		create: "POST /v1beta/models/m:predictLongRunning", poll: "GET /v1beta/models/m/operations/op1", file: "GET /v1beta/files/f:download",
		created: `{"name":"models/m/operations/op1"}`, waiting: `{"name":"models/m/operations/op1","done":false}`,
		done:    `{"name":"models/m/operations/op1","done":true,"response":{"generateVideoResponse":{"generatedSamples":[{"video":{"uri":"FILE"}}]}}}`,
		failed:  `{"name":"models/m/operations/op1","done":true,"error":{"code":13,"message":"out of memory"}}`,
		refused: `{"done":true,"response":{"generateVideoResponse":{"raiMediaFilteredCount":1,"raiMediaFilteredReasons":["it shows too much"]}}}`,
		nothing: `{"done":true,"response":{"generateVideoResponse":{}}}`, strange: `{"name":"models/m/operations/op1","metadata":{"state":"DREAMING"}}`,
		sent: `"durationSeconds":6`,
	},
	{
		kind: "grok", base: "/v1", key: "Authorization: Bearer k-secret",
		create: "POST /v1/videos/generations", poll: "GET /v1/videos/job1", file: "GET /files/f",
		created: `{"request_id":"job1"}`, waiting: `{"status":"pending","progress":12}`,
		done:    `{"status":"done","progress":100,"video":{"url":"FILE","duration":6,"respect_moderation":true},"usage":{"cost_in_usd_ticks":3000000000}}`,
		failed:  `{"status":"failed","error":{"code":"internal","message":"out of memory"}}`,
		refused: `{"status":"done","video":{"url":"","respect_moderation":false}}`,
		nothing: `{"status":"done"}`, strange: `{"status":"dreaming"}`,
		sent: `"image":{"url":"data:image/png;base64,cG5n"}`,
	},
	{
		kind: "qwen", base: "/compatible-mode/v1", key: "Authorization: Bearer k-secret",
		create: "POST /api/v1/services/aigc/video-generation/video-synthesis", poll: "GET /api/v1/tasks/job1", file: "GET /files/f",
		created: `{"output":{"task_id":"job1","task_status":"PENDING"},"request_id":"r"}`, waiting: `{"output":{"task_id":"job1","task_status":"RUNNING"}}`,
		done:    `{"output":{"task_id":"job1","task_status":"SUCCEEDED","video_url":"FILE"},"usage":{"duration":6}}`,
		failed:  `{"output":{"task_id":"job1","task_status":"FAILED","code":"InternalError","message":"out of memory"}}`,
		refused: `{"output":{"task_id":"job1","task_status":"FAILED","code":"DataInspectionFailed","message":"Output data may contain inappropriate content."}}`,
		nothing: `{"output":{"task_id":"job1","task_status":"SUCCEEDED"}}`, strange: `{"output":{"task_status":"DREAMING"}}`,
		sent: `"media":[{"type":"first_frame","url":"data:image/png;base64,cG5n"}]`,
	},
	{
		kind: "minimax", base: "/v1", key: "Authorization: Bearer k-secret",
		create: "POST /v2/video_generation", poll: "GET /v2/query/video_generation/job1", file: "GET /files/f",
		created: `{"task_id":"job1","base_resp":{"status_code":0}}`, waiting: `{"task":{"id":"job1","status":"queued"}}`,
		done:    `{"task":{"id":"job1","status":"succeeded","content":{"url":"FILE"},"usage":{"output_seconds":6}}}`,
		failed:  `{"task":{"id":"job1","status":"failed","error":{"code":1000,"message":"out of memory"}}}`,
		refused: `{"task":{"id":"job1","status":"failed","error":{"code":"content_policy_violation","message":"no"}}}`,
		nothing: `{"task":{"id":"job1","status":"succeeded"}}`, strange: `{"task":{"status":"dreaming"}}`,
		sent: `"role":"first_frame"`,
	},
	{
		kind: "minimax", name: "minimax-v1", model: "MiniMax-Hailuo-2.3", base: "/v1", key: "Authorization: Bearer k-secret",
		create: "POST /v1/video_generation", poll: "GET /v1/query/video_generation?task_id=job1", file: "GET /files/f",
		lookup: "GET /v1/files/retrieve?file_id=176844028768320", located: `{"file":{"file_id":176844028768320,"bytes":5896337,"filename":"output.mp4","download_url":"FILE"},"base_resp":{"status_code":0,"status_msg":"success"}}`,
		created: `{"task_id":"job1","base_resp":{"status_code":0,"status_msg":"success"}}`, waiting: `{"task_id":"job1","status":"Processing","file_id":"","base_resp":{"status_code":0,"status_msg":"success"}}`,
		done:    `{"task_id":"job1","status":"Success","file_id":"176844028768320","video_width":1366,"base_resp":{"status_code":0,"status_msg":"success"}}`,
		failed:  `{"task_id":"job1","status":"Fail","file_id":"","base_resp":{"status_code":1000,"status_msg":"out of memory"}}`,
		refused: `{"task_id":"job1","status":"Fail","base_resp":{"status_code":1027,"status_msg":"output has sensitive content"}}`,
		nothing: `{"task_id":"job1","status":"Success","file_id":"","base_resp":{"status_code":0,"status_msg":"success"}}`, strange: `{"status":"Dreaming","base_resp":{"status_code":0}}`,
		sent: `"first_frame_image":"data:image/png;base64,cG5n"`,
	},
	{
		kind: "glm", base: "/api/paas/v4", key: "Authorization: Bearer k-secret",
		create: "POST /api/paas/v4/videos/generations", poll: "GET /api/paas/v4/async-result/job1", file: "GET /files/f",
		created: `{"id":"job1","request_id":"r","task_status":"PROCESSING"}`, waiting: `{"id":"job1","task_status":"PROCESSING"}`,
		done:    `{"id":"job1","task_status":"SUCCESS","video_result":[{"url":"FILE","cover_image_url":"FILE?cover"}]}`,
		failed:  `{"id":"job1","task_status":"FAIL","error":{"code":"500","message":"out of memory"}}`,
		refused: `{"id":"job1","task_status":"FAIL","error":{"code":"1301","message":"unsafe"}}`,
		nothing: `{"id":"job1","task_status":"SUCCESS"}`, strange: `{"id":"job1","task_status":"DREAMING"}`,
		sent: `"image_url":"data:image/png;base64,cG5n"`,
	},
	{
		kind: "openrouter", base: "/api/v1", key: "Authorization: Bearer k-secret",
		create: "POST /api/v1/videos", poll: "GET /api/v1/videos/job1", file: "GET /api/v1/videos/job1/content",
		created: `{"id":"job1","polling_url":"http://elsewhere.example/","status":"pending"}`, waiting: `{"id":"job1","status":"in_progress"}`,
		done:    `{"id":"job1","status":"completed","unsigned_urls":["FILE"],"usage":{"cost":0.3}}`,
		failed:  `{"id":"job1","status":"failed","error":"out of memory"}`,
		refused: `{"id":"job1","status":"failed","error":"flagged: content_policy_violation, inappropriate content"}`, strange: `{"id":"job1","status":"dreaming"}`,
		sent: `"frame_images":[{"frame_type":"first_frame","image_url":{"url":"data:image/png;base64,cG5n"},"type":"image_url"}]`,
	},
	{
		kind: "vllm", base: "/v1", key: "Authorization: Bearer k-secret",
		create: "POST /v1/videos", poll: "GET /v1/videos/job1", file: "GET /v1/videos/job1/content",
		created: `{"id":"job1","object":"video","status":"queued","progress":0}`, waiting: `{"id":"job1","status":"in_progress","progress":40}`,
		done:    `{"id":"job1","status":"completed","progress":100,"error":null}`,
		failed:  `{"id":"job1","status":"failed","error":{"code":"oom","message":"out of memory"}}`,
		refused: `{"id":"job1","status":"failed","error":{"code":"content_policy_violation","message":"no"}}`, strange: `{"id":"job1","status":"dreaming"}`,
		sent: "name=\"seconds\"\r\n\r\n6",
	},
}

// called is the wire's name in tests.
func (w videoWire) called() string { return cmp.Or(w.name, w.kind) }

// A videoServer behaves as a videoWire. Polls and downloads get the entries of answers in order,
// repeating the last one.
type videoServer struct {
	*httptest.Server
	wire videoWire

	mu       sync.Mutex
	creates  []string // bodies
	polls    int
	fetches  int
	problems []string
	create   func(http.ResponseWriter) // nil for the default answer
	answers  []func(http.ResponseWriter)
	file     func(http.ResponseWriter, *http.Request)
	address  string // URL of the file; "" for the server's own
}

func newVideoServer(t *testing.T, w videoWire) *videoServer {
	s := &videoServer{wire: w}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.Close()
		for _, p := range s.problems {
			t.Error(w.called() + ": " + p)
		}
	})
	return s
}

func (s *videoServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	name, value, _ := strings.Cut(s.wire.key, ": ")
	if r.Header.Get(name) != value {
		s.problems = append(s.problems, r.URL.Path+" came without the key")
	}
	asked := r.Method + " " + r.URL.Path
	if strings.Contains(s.wire.poll, "?") && r.URL.RawQuery != "" {
		asked += "?" + r.URL.RawQuery
	}
	switch asked {
	case s.wire.lookup:
		s.text(s.wire.located)(w)
	case s.wire.create:
		s.creates = append(s.creates, string(body))
		if s.wire.kind == "qwen" && r.Header.Get("X-DashScope-Async") != "enable" {
			s.problems = append(s.problems, "creating without X-DashScope-Async")
		}
		if s.create != nil {
			s.create(w)
			return
		}
		say(s.wire.created)(w)
	case s.wire.poll:
		s.polls++
		s.answers[min(s.polls, len(s.answers))-1](w)
	case s.wire.file:
		s.fetches++
		if s.file != nil {
			s.file(w, r)
			return
		}
		w.Header().Set("Content-Type", "video/mp4")
		_, _ = io.WriteString(w, aVideo)
	default:
		s.problems = append(s.problems, "asked for "+r.Method+" "+r.URL.String())
		http.NotFound(w, r)
	}
}

// text puts the address of the server's file into an answer.
func (s *videoServer) text(answer string) func(http.ResponseWriter) {
	_, path, _ := strings.Cut(s.wire.file, " ")
	return say(strings.ReplaceAll(answer, "FILE", cmp.Or(s.address, s.URL+path)))
}

func say(answer string) func(http.ResponseWriter) { return status(200, answer) }

func status(code int, answer string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}
}

func (s *videoServer) jobs() *videoJobs {
	o := adapter.Options{Provider: "mock", Model: cmp.Or(s.wire.model, "m"), BaseURL: s.URL + s.wire.base, Key: "k-secret", KeyName: "K"}
	return newVideoJobs(o, s.wire.kind).(*videoJobs)
}

// running returns a job of the server's.
func (s *videoServer) running(t *testing.T) works.Job {
	t.Helper()
	j, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox"})
	if err != nil {
		t.Fatalf("%s: %v", s.wire.kind, err)
	}
	return j
}

func eachVideoWire(t *testing.T, test func(t *testing.T, s *videoServer)) {
	for _, w := range videoWires {
		t.Run(w.called(), func(t *testing.T) { test(t, newVideoServer(t, w)) })
	}
}
