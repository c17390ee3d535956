package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const someVideo = "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom and what follows"

// A studio is a home folder with a server that makes videos as xAI does.
type studio struct {
	*testing.T
	home, url string

	mu      sync.Mutex
	key     string
	creates int
	poll    string        // the answer to polls
	begun   chan struct{} // closed when a download that never ends has begun; nil: downloads end
	created chan struct{} // gets a value for each job
}

// made returns the number of created jobs.
func (s *studio) made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.creates
}

func newStudio(t *testing.T) *studio {
	t.Parallel()
	s := &studio{T: t, home: t.TempDir(), key: "sk-canary-0123456789", created: make(chan struct{}, 9)}
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		key, poll, begun := s.key, s.poll, s.begun
		s.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+key:
			fail(w, 404, `{"error":"no such job"}`)
		case r.Method == "POST" && r.URL.Path == "/v1/videos/generations" && json.Valid(body):
			s.mu.Lock()
			s.creates++
			s.mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"request_id":"job-1"}`)
			s.created <- struct{}{}
		case r.URL.Path == "/v1/file":
			w.Header().Set("Content-Type", "video/mp4")
			w.Header().Set("Content-Length", fmt.Sprint(len(someVideo)))
			if begun != nil {
				_, _ = io.WriteString(w, someVideo[:20])
				w.(http.Flusher).Flush()
				close(begun)
				<-stop
				return
			}
			_, _ = io.WriteString(w, someVideo)
		case strings.HasPrefix(r.URL.Path, "/v1/videos/"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, strings.ReplaceAll(poll, "FILE", s.url+"/v1/file"))
		}
	}))
	t.Cleanup(func() { close(stop); server.Close() })
	s.url = server.URL
	s.poll = `{"status":"done","video":{"url":"FILE","respect_moderation":true},"usage":{"cost_in_usd_ticks":3000000000}}`
	config := fmt.Sprintf("[providers.xai]\nbase_url = %q\napi_key_env = \"MOCK_KEY\"\n[budget]\nconfirm = 1.0\n", s.url+"/v1")
	if err := os.WriteFile(filepath.Join(s.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *studio) command(args ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	return &exec.Cmd{
		Path: exe, Dir: s.home, Args: append([]string{"parley", "--config", filepath.Join(s.home, "config.toml")}, args...),
		Env: []string{"HOME=" + s.home, "XDG_DATA_HOME=" + s.home, "NO_PROXY=127.0.0.1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "MOCK_KEY=" + "sk-canary-0123456789"},
	}
}

// run runs the program and checks its exit status.
func (s *studio) run(status int, args ...string) (stdout, stderr string) {
	s.Helper()
	cmd := s.command(args...)
	out, errs, got, err := runProgram(cmd.Dir, cmd.Env, cmd.Args[1:], "")
	if err != nil {
		s.Fatal(err)
	}
	if got != status {
		s.Errorf("%q: exit status %d, want %d\n%s%s", args, got, status, out, errs)
	}
	for _, text := range []string{out, errs} {
		if strings.Contains(text, "\x1b") || strings.Contains(text, "sk-canary") {
			s.Errorf("%q prints %q", args, text)
		}
	}
	return out, errs
}

func (s *studio) wants(text, part string) {
	s.Helper()
	if !strings.Contains(text, part) {
		s.Errorf("%q\nwant %q", text, part)
	}
}

// file returns the content of a file in the home folder; "" if there is none.
func (s *studio) file(name string) string {
	data, _ := os.ReadFile(filepath.Join(s.home, name))
	return string(data)
}

// TestVideoLater prints a job, finds it in another process, downloads it under an unused name, and counts its cost
// once.
func TestVideoLater(t *testing.T) {
	s := newStudio(t)
	if err := os.WriteFile(filepath.Join(s.home, "etc-a-fox.mp4"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, said := s.run(0, "video", "../../etc/\x1b[2Ja fox", "--no-wait")
	if out != "1\n" {
		t.Errorf("printed %q", out)
	}
	s.wants(said, "about $0.40 for 8 seconds")
	s.wants(said, "parley video get 1")
	out, _ = s.run(0, "video", "list")
	s.wants(out, "queued")
	s.wants(out, "$0.40")
	out, _ = s.run(0, "video", "get", "1")
	if name := strings.TrimSpace(out); s.file(name) != someVideo || strings.ContainsAny(name, "/\x1b") {
		t.Errorf("saved as %q: %q", name, s.file(name))
	}
	out, said = s.run(0, "video", "get", "1", "-o", "json")
	s.wants(said, "saved before")
	s.wants(out, `"finish_reason":"stop"`)
	if s.file("etc-a-fox.mp4") != "mine" {
		t.Error("a file was overwritten")
	}
	s.run(0, "video", "get", "1", "--to", "again.mp4", "-o", "jsonl")
	if s.file("again.mp4") != someVideo {
		t.Error("--to saved nothing")
	}
	out, _ = s.run(0, "video", "get", "1", "--to", "-", "-q")
	if out != someVideo {
		t.Errorf("standard output got %q", out)
	}
	out, _ = s.run(0, "usage", "--by", "model")
	s.wants(out, "$0.30")
	s.wants(out, "xai/grok-imagine-video         1 ")
	if s.made() != 1 {
		t.Errorf("%d jobs", s.made())
	}
}

// TestVideoPrice checks that a run without a terminal ends if the price is above [budget] confirm.
func TestVideoPrice(t *testing.T) {
	s := newStudio(t)
	dear := []string{"video", "a fox", "-m", "xai/grok-imagine-video-1.5", "--seconds", "15", "--resolution", "1080p", "--no-wait"}
	_, said := s.run(5, dear...)
	s.wants(said, "$3.75")
	s.wants(said, "--yes")
	if s.made() != 0 {
		t.Error("a job was created")
	}
	s.run(0, append(dear, "--yes")...)
	config := fmt.Sprintf("[providers.xai]\nbase_url = %q\napi_key_env = \"MOCK_KEY\"\n[budget]\nconfirm = 0\n", s.url+"/v1")
	if err := os.WriteFile(filepath.Join(s.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(0, dear...) // 0 never asks, as everywhere
}

// TestMediaBudget checks that the limits of days and months apply to images, videos and vectors as to conversations:
// nothing is sent above them.
func TestMediaBudget(t *testing.T) {
	s := newStudio(t)
	var sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		w.Header().Set("Content-Type", "application/json")
		var body struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		var rows []string
		for i := range body.Input {
			rows = append(rows, fmt.Sprintf(`{"index":%d,"embedding":[1,0]}`, i))
		}
		fmt.Fprintf(w, `{"data":[%s],"usage":{"prompt_tokens":40,"total_tokens":40}}`, strings.Join(rows, ","))
	}))
	t.Cleanup(server.Close)
	config := func(budget string) {
		t.Helper()
		text := fmt.Sprintf("[providers.xai]\nbase_url = %q\napi_key_env = \"MOCK_KEY\"\n[providers.openai]\nbase_url = %q\napi_key_env = \"MOCK_KEY\"\n%s", s.url+"/v1", server.URL+"/v1", budget)
		if err := os.WriteFile(filepath.Join(s.home, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Repeat("a line of text\n", 20000)
	if err := os.WriteFile(filepath.Join(s.home, "lines.txt"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	embed := []string{"embed", "-m", "openai/text-embedding-3-small", "--parallel", "1"}

	config("[budget.providers.openai]\nday_tokens = 80\n")
	s.run(0, append(embed, "one")...) // 40 of 80 tokens
	_, said := s.run(5, append(embed, "--file", "lines.txt")...)
	s.wants(said, "daily limit of 80 tokens at openai reached")
	if n := sent.Load(); n != 2 { // the second request was the last that fits
		t.Errorf("%d requests; the second one reached the limit", n)
	}
	before := sent.Load()
	_, said = s.run(5, append(embed, "two")...)
	s.wants(said, "daily limit of 80 tokens at openai reached")
	_, said = s.run(5, "image", "a fox", "-m", "openai/gpt-image-1", "--yes")
	s.wants(said, "daily limit of 80 tokens at openai reached")
	if sent.Load() != before {
		t.Error("a request above the limit was sent")
	}

	config("[budget]\nmonth = 0.3\n")
	s.run(0, "video", "a fox", "--to", "fox.mp4", "--yes") // $0.30
	_, said = s.run(5, "video", "a fox", "--to", "again.mp4", "--yes")
	s.wants(said, "monthly limit of $0.30 reached: $0.30 used")
	if s.made() != 1 {
		t.Errorf("%d videos", s.made())
	}
}

// TestVideoRefused checks the exit status of a refused video.
func TestVideoRefused(t *testing.T) {
	s := newStudio(t)
	s.mu.Lock()
	s.poll = `{"status":"done","video":{"respect_moderation":false}}`
	s.mu.Unlock()
	s.run(0, "video", "a fox", "--no-wait", "--to", "fox.mp4")
	out, said := s.run(8, "video", "get", "1", "-o", "json")
	s.wants(out, `"finish_reason":"refused","exit":8`)
	s.wants(said, "refused")
	s.wants(said, "paid for anyway")
	if s.file("fox.mp4") != "" {
		t.Error("a file was made")
	}
}

// TestVideoBeforeAnythingIsPaid checks that invalid requests are rejected before they cost anything.
func TestVideoBeforeAnythingIsPaid(t *testing.T) {
	s := newStudio(t)
	if err := os.WriteFile(filepath.Join(s.home, "there.mp4"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		status int
		words  string
		args   []string
	}{
		{2, "already exists", []string{"a fox", "--to", "there.mp4"}},
		{2, "no such folder", []string{"a fox", "--to", "no/where/fox.mp4"}},
		{2, "is a folder", []string{"a fox", "--to", "."}},
		{2, "did you mean parley video list", []string{"lst"}},
		{2, "no image", []string{"a fox", "--first", "config.toml"}},
		{2, "no such file", []string{"a fox", "--first", "none.png"}},
		{2, "describe the video", []string{}},
		{2, "--variant", []string{"a fox", "--variant", "poster"}},
		{1, "not 16", []string{"a fox", "--seconds", "16"}},
		{1, "last frame", []string{"a fox", "--last", "a.png"}},
		{3, "no video models; of the connected providers, these have: xai", []string{"a fox", "-m", "demo"}},
		{2, "no such video job", []string{"get", "7"}},
	} {
		if err := os.WriteFile(filepath.Join(s.home, "a.png"), []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, said := s.run(test.status, append([]string{"video"}, test.args...)...)
		s.wants(said, test.words)
	}
	if s.made() != 0 || s.file("there.mp4") != "mine" {
		t.Errorf("%d jobs", s.made())
	}
	if out, _ := s.run(0, "video", "list"); out != "" {
		t.Errorf("jobs are kept that never were: %s", out)
	}
}

// TestVideoInterrupted checks that an interrupted run prints how to continue the job, and that this works.
func TestVideoInterrupted(t *testing.T) {
	s := newStudio(t)
	cmd := s.command("video", "a fox", "--to", "fox.mp4")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.created:
	case <-time.After(30 * time.Second):
		t.Fatal("no job was created")
	}
	for out := ""; !strings.Contains(out, "job-"); out, _ = s.run(0, "video", "list", "-o", "jsonl") { // it is stored
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("%v\n%s", cmd.ProcessState, said.String())
	}
	s.wants(said.String(), "parley video get 1 continues")
	s.mu.Lock()
	s.key = "another"
	s.mu.Unlock()
	_, other := s.run(1, "video", "get", "1")
	s.wants(other, "started with another key")
	s.mu.Lock()
	s.key = "sk-canary-0123456789"
	s.mu.Unlock()
	if s.run(0, "video", "get", "1"); s.file("fox.mp4") != someVideo || s.made() != 1 {
		t.Errorf("%q after %d jobs", s.file("fox.mp4"), s.made())
	}
}

// TestVideoKilledInDownload checks that a killed download leaves no file under the final name, and does not prevent the
// next download.
func TestVideoKilledInDownload(t *testing.T) {
	s := newStudio(t)
	s.run(0, "video", "a fox", "--to", "fox.mp4", "--no-wait")
	begun := make(chan struct{})
	s.mu.Lock()
	s.begun = begun
	s.mu.Unlock()
	cmd := s.command("video", "get", "1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-begun:
	case <-time.After(30 * time.Second):
		t.Fatal("no download has begun")
	}
	part := func() string {
		names, _ := filepath.Glob(filepath.Join(s.home, ".parley-*.part"))
		if len(names) == 0 {
			return ""
		}
		return s.file(filepath.Base(names[0]))
	}
	for part() == "" {
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if s.file("fox.mp4") != "" {
		t.Error("half a video has the final name")
	}
	s.mu.Lock()
	s.begun = nil
	s.mu.Unlock()
	s.run(0, "video", "get", "1")
	if s.file("fox.mp4") != someVideo {
		t.Errorf("%q", s.file("fox.mp4"))
	}
}

// TestMediaLists checks that OpenRouter's lists of video, image and embedding models are used: once with --refresh, and
// always after --update.
func TestMediaLists(t *testing.T) {
	s := newStudio(t)
	var creates atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/v1/models":
			fmt.Fprint(w, `{"data":[{"id":"acme/chat","context_length":9000}]}`)
		case "/v1/videos/models":
			fmt.Fprint(w, `{"data":[{"id":"acme/film","name":"Acme \u001b[31mFilm","supported_resolutions":["720p"],"supported_durations":[4,8],"supported_frame_images":["first_frame"],"pricing_skus":{"duration_seconds":"0.5"}}]}`)
		case "/v1/images/models":
			fmt.Fprint(w, `{"data":[{"id":"acme/draw","name":"Acme Draw","architecture":{"input_modalities":["text"],"output_modalities":["image"]},"supported_parameters":{}}]}`)
		case "/v1/embeddings/models":
			fail(w, 404, `{"error":{"message":"nothing here"}}`)
		default:
			creates.Add(1)
			fail(w, 500, `{}`)
		}
	}))
	defer server.Close()
	config := fmt.Sprintf("[providers.openrouter]\nbase_url = %q\napi_key_env = \"MOCK_KEY\"\n[budget]\nconfirm = 1.0\n", server.URL+"/v1")
	if err := os.WriteFile(filepath.Join(s.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := s.run(0, "models", "--video", "film", "--refresh")
	s.wants(out, "openrouter/acme/film")
	s.wants(out, "$0.50 a second · first frame")
	if out, _ = s.run(0, "models", "--video", "film"); out != "" {
		t.Errorf("a look is kept: %s", out)
	}
	out, said := s.run(0, "models", "--update")
	s.wants(out, "+ acme/film")
	if strings.Contains(said, "embedding models") {
		t.Errorf("a list that is not there is an error: %s", said)
	}
	out, _ = s.run(0, "models", "--video", "film")
	s.wants(out, "openrouter/acme/film")
	out, _ = s.run(0, "models", "--image", "acme")
	s.wants(out, "openrouter/acme/draw")
	_, said = s.run(1, "video", "a fox", "-m", "openrouter/acme/film", "--seconds", "5")
	s.wants(said, "4 or 8 seconds, not 5")
	_, said = s.run(5, "video", "a fox", "-m", "openrouter/acme/film", "--seconds", "8")
	s.wants(said, "$4.00")
	if n := creates.Load(); n > 0 {
		t.Errorf("%d requests for videos", n)
	}
}

// mediaFaults lists the tests for possible faults with embeddings, images and videos, as "folder Test", or "script
// NAME: a piece of it" for testdata/script.
var mediaFaults = []struct {
	fault string
	tests []string
}{
	{"empty, blank and 1 MB texts among good ones", []string{"script embed: 2 blank lines skipped", "script embed: long.txt:3: about", "ui/cli/cmd/embed/embedding TestTooLong"}},
	{"2049, 101, 65 and 11 texts: split, in order", []string{"ui/cli/cmd/embed/embedding TestSplit", "ui/cli/cmd/embed/embedding TestSplitByTokens"}},
	{"vectors reversed, doubled, missing, without index", []string{"providers/media/formats TestEmbedPlacesVectors", "providers/media/formats TestEmbedIndexes", "providers/media/formats TestEmbedSuiteBadAnswers"}},
	{"base64 that cannot be, NaN, the zero vector", []string{"providers/media/formats TestEmbedBase64", "providers/media/formats TestEmbedSuiteBadAnswers"}},
	{"other dimensions than asked for", []string{"providers/media/formats TestEmbedSuiteBadAnswers", "script embed: --dimensions 5000"}},
	{"429 in a batch: finished vectors are kept, the rest is asked for again", []string{"ui/cli/cmd/embed/embedding TestRetries", "ui/cli/cmd/embed/embedding TestHalves", "script embed: --continue-from"}},
	{"an error in base_resp with status 200", []string{"providers/media/formats TestEmbedSuiteFaults", "providers/media/formats TestVideoBaseResp", "providers/media/formats TestImagesOfMiniMax"}},
	{"text named .png, HEIC, 60 MB, 17 files", []string{"providers/media/formats TestImageRequestsThatCannotBe", "script image: large.png: ", "script image: words.png: not an image"}},
	{"a mask of another size, without alpha, a JPEG, for who takes none", []string{"providers/media/formats TestImageRequestsThatCannotBe", "providers/media/formats TestImageServicesThatCannot"}},
	{"transparent and JPEG", []string{"providers/media/formats TestImageRequestsThatCannotBe", "script image: --transparent --format jpeg"}},
	{"1000x1000, 0x0, 16:0", []string{"providers/media/formats TestImageRequestsThatCannotBe", "providers/llm/works TestParseSize", "script image: --size 16:0"}},
	{"no image, 11 images, 2 of 4 blocked", []string{"script image: -n 0", "providers/media/formats TestImageRequestsThatCannotBe", "providers/media/formats TestImagesThatWereBlockedInPart", "providers/media/formats TestSurplusImages"}},
	{"no data, broken base64, a page with status 200", []string{"providers/media/formats TestImagesOfOpenAI", "providers/media/formats TestBase64OfServers", "script image: without an image"}},
	{"WebP in the place of PNG: the name follows the bytes", []string{"providers/media/formats TestImagesOfOpenAI", "script image: not saved as fox.webp, but as fox.png"}},
	{"cut after an unfinished image, an error event, no usage", []string{"providers/media/formats TestOpenAIPartialImages", "providers/media/formats TestPartialImagesOfOpenRouter"}},
	{"refusals by status, finish reason and text", []string{"providers/media/formats TestImagesOfOpenAI", "providers/media/formats TestImagesOfGemini", "providers/media/formats TestVideoRefusedAtOnce", "script image: status 8"}},
	{"addresses: http, of others, redirected to loopback, 403, endless", []string{"providers/media/formats TestImagesOfGrok", "providers/media/formats TestVideoDownloads", "providers/media/formats TestEndlessImageDownload"}},
	{"the file is there, its folder is not, the disk is full, standard output is a terminal", []string{"ui/cli/ability TestCheckTarget", "ui/cli/cmd/embed TestEmbedOnFullDisk", "providers/media/formats TestFilmDiskFull", "session/attach TestSaveWhereNothingCanBe", "script image: ulimit -f 0", "script image: image -m mock/m fox --to -\n", "script image: video -m mock fox --to -\n"}},
	{"cut after sending: nothing is created twice", []string{"providers/media/formats TestVideoIsCreatedOnce", "providers/media/formats TestAsksAgainOnlyIfNothingWasMade", "script image: may still charge"}},
	{"polls: 202 without a body, 500, 404, unknown states, progress of 150", []string{"providers/media/formats TestVideoOutcomes", "providers/media/formats TestVideoPollFaults", "providers/media TestFilmWaits"}},
	{"done without a video, filtered", []string{"providers/media/formats TestVideoOutcomes"}},
	{"a download that is short, JSON, of another type", []string{"providers/media/formats TestVideoDownloads", "providers/media TestFilmDownloads"}},
	{"ctrl+c, another process, another key", []string{". TestVideoInterrupted", ". TestVideoLater"}},
	{"an address that ran out between poll and download", []string{"providers/media/formats TestVideoAddressRanOut"}},
	{"prompts of 40,000 characters and 100 kB, escape codes, ../ in ids", []string{"providers/media/formats TestImageRequestsThatCannotBe", "providers/media/formats TestVideoWishesThatCannotBe", "providers/media/formats TestVideoIDsAreNoPaths", "providers/media/formats TestVideoFileOfMiniMax", "script image: revised prompt: a fox .*red", "script image: 32000 characters", "session/attach TestFileNamesOfTexts"}},
	{"killed in a download: nothing under the name", []string{". TestVideoKilledInDownload", "script embed: Killed in the middle", "session/attach TestStaleParts"}},
	{"status 200 with nothing", []string{"providers/media/formats TestImagesOfOpenAI", "providers/media/formats TestEmbedSuiteBadAnswers", "providers/media/formats TestVideoOutcomes"}},
	{"an answer that does not end", []string{"providers/media/formats TestEndlessImageAnswer", "providers/media/formats TestEmbedSuiteEnds", "providers/media/formats TestVideoPollFaults"}},
	{"a key in a redirect", []string{"providers/media/formats TestVideoDownloads", "providers/media/formats TestImagesOfGrok"}},
	{"a terminal without pictures", []string{"ui/tui/chat TestTerminalIsAskedForImages", "ui/tui/termimage TestDetect", "ui/tui/termimage TestHalfBlocks"}},
}

// TestMediaFaultsHaveTests checks that the tests named in mediaFaults exist.
func TestMediaFaultsHaveTests(t *testing.T) {
	t.Parallel()
	tests := namedTests(t)
	for _, f := range mediaFaults {
		for _, test := range f.tests {
			checkNamedTest(t, tests, f.fault, test)
		}
	}
}
