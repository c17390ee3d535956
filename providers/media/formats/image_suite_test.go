package formats

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
	_ "parley/providers/llmtest/heap"
)

// imageSuite checks the properties of every image format: each answer of a server gives images, a
// refusal or one error; no charged request is repeated; and the key goes only to the provider.
type imageSuite struct {
	kind     string
	open     func(o adapter.Options, kind string) imageMaker
	path     string // of the base URL
	key      string // header for the key
	answer   func(images ...[]byte) string
	links    func(urls ...string) string // nil if it sends no URLs
	nothing  string                      // an answer without images
	broken   string                      // an answer whose image is invalid base64; "" if it sends URLs
	refusal  string                      // an answer with status 200 that is a refusal; ""
	refusals map[string]int              // bodies of refusals with their status
	loops    bool                        // several images are several requests
	edit     func(t *testing.T, r received)
	edits    bool
}

// received is a request as the server saw it.
type received struct {
	path   string
	header http.Header
	body   []byte
	json   map[string]any
	form   map[string][]string
	files  []string // "part name type"
}

// imageServer answers requests with answers in order, repeating the last one.
type imageServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []received
	answers  []http.HandlerFunc
}

func newImageServer(t *testing.T, answers ...http.HandlerFunc) *imageServer {
	t.Helper()
	s := &imageServer{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := received{path: r.URL.Path, header: r.Header, body: body}
		if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			r.Body = io.NopCloser(bytes.NewReader(body))
			if err := r.ParseMultipartForm(1 << 20); err != nil {
				t.Error(err)
			} else {
				got.form = r.MultipartForm.Value
				for name, files := range r.MultipartForm.File {
					for _, f := range files {
						got.files = append(got.files, name+" "+f.Filename+" "+f.Header.Get("Content-Type"))
					}
				}
			}
		} else {
			_ = json.Unmarshal(body, &got.json)
		}
		s.mu.Lock()
		n := len(s.requests)
		s.requests = append(s.requests, got)
		s.mu.Unlock()
		s.answers[min(n, len(s.answers)-1)](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *imageServer) seen() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func says(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func saysJSON(body string) http.HandlerFunc { return says(200, "application/json", body) }

// testKey must not appear in any error.
const testKey = "sk-canary-0123456789"

func (s imageSuite) maker(server string) imageMaker {
	m := s.open(adapter.Options{Provider: "mock", Model: "m", BaseURL: server + s.path, Key: testKey, KeyName: "MOCK_KEY"}, s.kind)
	m.secrets = []string{testKey}
	return m
}

// smaller returns m with a small limit for images, instead of 64 MB.
func smaller(t *testing.T, m imageMaker) imageMaker {
	t.Helper()
	if m.maxBytes() != 64<<20 {
		t.Errorf("images of %d bytes", m.maxBytes())
	}
	m.limit = 4 << 20
	return m
}

// outcome is the result of a sequence.
type outcome struct {
	images, partials []works.Blob
	refused          []works.Refusal
	notes, texts     []string
	bill             *works.Bill
	err              error
}

func made(t *testing.T, m works.ImageMaker, r works.ImageRequest) (o outcome) {
	t.Helper()
	for e, err := range m.Make(t.Context(), r) {
		switch {
		case o.err != nil:
			t.Error("something stands behind the error")
		case err != nil:
			o.err = err
		case o.bill != nil:
			t.Error("something stands behind the bill")
		case e.Image != nil:
			o.images = append(o.images, *e.Image)
		case e.Partial != nil:
			o.partials = append(o.partials, *e.Partial)
		case e.Refused != nil:
			o.refused = append(o.refused, *e.Refused)
		case e.Note != "":
			o.notes = append(o.notes, e.Note)
		case e.Text != "":
			o.texts = append(o.texts, e.Text)
		case e.Done != nil:
			o.bill = e.Done
		}
	}
	if o.err == nil && o.bill == nil {
		t.Error("the sequence ended without a bill or an error")
	}
	if told := fmt.Sprintf("%v %+v %q %q", o.err, o.refused, o.notes, o.texts); strings.Contains(told, testKey) {
		t.Errorf("the key is in %s", told)
	}
	if told := (*llm.Error)(nil); o.err != nil && !errors.As(o.err, &told) {
		t.Errorf("%v is no *llm.Error", o.err)
	}
	return o
}

// Images of the types that are sent and received.
var (
	pngImage  = pngOf(4, 3, color.NRGBA{200, 0, 0, 255})
	pngOther  = pngOf(4, 3, color.NRGBA{0, 200, 0, 255})
	pngMask   = pngOf(4, 3, color.NRGBA{0, 0, 0, 0})
	jpegImage = func() []byte {
		var b bytes.Buffer
		_ = jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 3)), nil)
		return b.Bytes()
	}()
	pngNoise = func() []byte { // of 400 KB
		img, next := image.NewNRGBA(image.Rect(0, 0, 320, 320)), rand.New(rand.NewPCG(1, 2))
		for i := range img.Pix {
			img.Pix[i] = byte(next.Uint32())
		}
		var b bytes.Buffer
		_ = png.Encode(&b, img)
		return b.Bytes()
	}()
	webpImage = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")
)

func pngOf(w, h int, c color.Color) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img)
	return b.Bytes()
}

func b64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func (s imageSuite) run(t *testing.T) {
	t.Run("one image", s.one)
	t.Run("several images", s.several)
	t.Run("an edit", s.editing)
	t.Run("refusals", s.refusing)
	t.Run("no image", s.none)
	t.Run("errors", s.failing)
	t.Run("addresses", s.addresses)
	t.Run("secrets", s.keepsSecrets)
	t.Run("leaving", s.leaving)
}

func (s imageSuite) one(t *testing.T) {
	server := newImageServer(t, saysJSON(s.answer(pngNoise)))
	if o := made(t, s.maker(server.URL), works.ImageRequest{Prompt: "noise"}); len(o.images) != 1 || !bytes.Equal(o.images[0].Data, pngNoise) {
		t.Errorf("a large image: %d images, %v", len(o.images), o.err)
	}
	for name, data := range map[string][]byte{"image/png": pngImage, "image/jpeg": jpegImage, "image/webp": webpImage} {
		server := newImageServer(t, saysJSON(s.answer(data)))
		o := made(t, s.maker(server.URL), works.ImageRequest{Prompt: "a fox"})
		if o.err != nil || len(o.images) != 1 || o.images[0].MIME != name || !bytes.Equal(o.images[0].Data, data) {
			t.Errorf("%s: %d images, %v", name, len(o.images), o.err)
		}
		if o.bill != nil && o.bill.Images != 1 {
			t.Errorf("the bill is of %d images", o.bill.Images)
		}
		if got := server.seen(); len(got) != 1 || !bytes.Contains(got[0].body, []byte("a fox")) || !strings.Contains(got[0].header.Get(s.key), testKey) {
			t.Errorf("%d requests", len(got))
		}
	}
	server = newImageServer(t, saysJSON(s.answer(webpImage)))
	if o := made(t, s.maker(server.URL), works.ImageRequest{Prompt: "a fox", Format: "png"}); len(o.images) != 1 || o.images[0].MIME != "image/webp" || len(o.notes) == 0 {
		t.Errorf("webp for png: %d images, notes %q", len(o.images), o.notes)
	}
}

func (s imageSuite) several(t *testing.T) {
	both, want := saysJSON(s.answer(pngImage, pngOther)), 1
	if s.loops {
		both, want = saysJSON(s.answer(pngImage)), 2
	}
	server := newImageServer(t, both)
	o := made(t, s.maker(server.URL), works.ImageRequest{Prompt: "foxes", N: 2})
	if o.err != nil || len(o.images) != 2 || len(server.seen()) != want {
		t.Errorf("%d images by %d requests: %v", len(o.images), len(server.seen()), o.err)
	}
	server = newImageServer(t, saysJSON(s.answer(pngImage)), says(500, "application/json", `{"error":{"message":"boom"}}`))
	if o = made(t, s.maker(server.URL), works.ImageRequest{Prompt: "foxes", N: 2}); len(o.images) != 1 || o.bill == nil {
		t.Errorf("of two one came: %d images, bill %v", len(o.images), o.bill)
	} else if s.loops == (o.err == nil) || !s.loops && !strings.Contains(strings.Join(o.notes, " "), "1 of 2 images") {
		t.Errorf("of two one came: notes %q, %v", o.notes, o.err)
	}
}

func (s imageSuite) editing(t *testing.T) {
	server := newImageServer(t, saysJSON(s.answer(pngImage)))
	r := works.ImageRequest{Prompt: "darker", Inputs: []works.Blob{{Name: "a.png", Data: pngImage}, {Name: "b.png", MIME: "image/png", Data: jpegImage}}}
	m := s.maker(server.URL)
	if m.abilities.inputs == 1 {
		r.Inputs = r.Inputs[:1]
	}
	o := made(t, m, r)
	if !s.edits {
		if llm.FaultOf(o.err) != llm.Unsupported || len(server.seen()) != 0 {
			t.Errorf("%d requests, %v", len(server.seen()), o.err)
		}
		return
	}
	if o.err != nil || len(o.images) != 1 {
		t.Fatalf("%d images, %v", len(o.images), o.err)
	}
	s.edit(t, server.seen()[0])
}

func (s imageSuite) refusing(t *testing.T) {
	bodies := map[string]int{}
	for body, status := range s.refusals {
		bodies[body] = status
	}
	if s.refusal != "" {
		bodies[s.refusal] = 200
	}
	for body, status := range bodies {
		server := newImageServer(t, says(status, "application/json", body))
		o := made(t, s.maker(server.URL), works.ImageRequest{Prompt: "something bad"})
		if o.err != nil || len(o.refused) != 1 || len(o.images) != 0 || len(server.seen()) != 1 {
			t.Errorf("%s: refused %+v, %d images, %v", body, o.refused, len(o.images), o.err)
		}
	}
}

func (s imageSuite) none(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"nothing":  saysJSON(s.nothing),
		"{}":       saysJSON(`{}`),
		"null":     saysJSON(`null`),
		"no JSON":  saysJSON(`{"data":[{"b64`),
		"broken":   saysJSON(s.broken),
		"empty":    saysJSON(""),
		"no image": saysJSON(s.answer([]byte("I am sorry, but I cannot draw."))),
		"a page":   says(200, "text/html", "<html><title>Sign in</title></html>"),
	} {
		server := newImageServer(t, handler)
		o := made(t, s.maker(server.URL), works.ImageRequest{Prompt: "a fox"})
		if o.err == nil || len(o.images) != 0 || len(server.seen()) != 1 {
			t.Errorf("%s: %d images by %d requests, %v", name, len(o.images), len(server.seen()), o.err)
		}
	}
}

func (s imageSuite) failing(t *testing.T) {
	for status, fault := range map[int]llm.Fault{401: llm.Authentication, 429: llm.RateLimit, 500: llm.Server, 503: llm.Server} {
		server := newImageServer(t, says(status, "application/json", `{"error":{"message":"no"}}`))
		o := made(t, s.maker(server.URL), works.ImageRequest{Prompt: "a fox"})
		if llm.FaultOf(o.err) != fault || len(server.seen()) != 1 {
			t.Errorf("%d: %v by %d requests", status, o.err, len(server.seen()))
		}
	}
	cut := newImageServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, s.answer(pngImage)[:30])
	})
	if o := made(t, s.maker(cut.URL), works.ImageRequest{Prompt: "a fox"}); o.err == nil || len(cut.seen()) != 1 {
		t.Errorf("cut: %v by %d requests", o.err, len(cut.seen()))
	}
}

func (s imageSuite) addresses(t *testing.T) {
	if s.links == nil {
		t.Skip("it sends no addresses")
	}
	file := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(pngImage)
	}
	ask := func(public bool, link string) (outcome, *imageServer) {
		t.Helper()
		server := newImageServer(t, saysJSON(""), file)
		server.answers[0] = saysJSON(s.links(strings.ReplaceAll(link, "OWN", server.URL)))
		m := s.maker(server.URL)
		m.public = public
		return made(t, m, works.ImageRequest{Prompt: "a fox"}), server
	}
	o, own := ask(false, "OWN/file.png")
	if o.err != nil || len(o.images) != 1 || !strings.Contains(own.seen()[1].header.Get(s.key), testKey) {
		t.Errorf("at the provider: %d images, %v", len(o.images), o.err)
	}
	foreign := newImageServer(t, file)
	if o, _ = ask(true, foreign.URL+"/file.png?sig=1"); o.err != nil || len(o.images) != 1 {
		t.Errorf("elsewhere: %d images, %v", len(o.images), o.err)
	}
	for _, r := range foreign.seen() {
		for name, values := range r.header {
			if strings.Contains(strings.Join(values, " "), testKey) {
				t.Errorf("another host got the key in %s", name)
			}
		}
	}
	loop := newImageServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, foreign.URL+"/x", http.StatusFound) })
	for _, link := range []string{foreign.URL + "/x", "http://example.com/x", "https://169.254.169.254/x", "https://localhost/x", loop.URL, "file:///etc/passwd", "https://u:p@example.com/x", "::"} {
		if o, server := ask(false, link); o.err == nil || len(o.images) != 0 || len(server.seen()) != 1 {
			t.Errorf("%s: %d images, %v", link, len(o.images), o.err)
		}
	}
	gone := newImageServer(t, says(403, "application/xml", "<Error>expired</Error>"))
	if o, _ = ask(true, gone.URL); o.err == nil || len(gone.seen()) != 1 {
		t.Errorf("gone: %v", o.err)
	}
	flaky := newImageServer(t, says(503, "text/plain", "busy"), file)
	if o, server := ask(true, flaky.URL); o.err != nil || len(o.images) != 1 || len(server.seen()) != 1 {
		t.Errorf("the second download: %d images, %v", len(o.images), o.err)
	}
}

func (s imageSuite) keepsSecrets(t *testing.T) {
	said := s.answer(pngImage)
	server := newImageServer(t, saysJSON(strings.Replace(said, "{", `{"revised_prompt":"`+testKey+`",`, 2)))
	made(t, s.maker(server.URL), works.ImageRequest{Prompt: "a fox"})
	for _, body := range []string{`{"error":{"code":"moderation_blocked","message":"no: ` + testKey + `"}}`, `{"error":{"message":"bad key ` + testKey + `"}}`, `{"message":"` + testKey + `","code":"x"}`, testKey} {
		server := newImageServer(t, says(400, "application/json", body))
		made(t, s.maker(server.URL), works.ImageRequest{Prompt: "a fox"}) // made checks for the key
	}
}

func (s imageSuite) leaving(t *testing.T) {
	server := newImageServer(t, saysJSON(s.answer(pngImage, pngOther)))
	for range s.maker(server.URL).Make(t.Context(), works.ImageRequest{Prompt: "foxes", N: 2}) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.maker(server.URL).Make(ctx, works.ImageRequest{Prompt: "a fox"}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
	}
}

// imageFacts returns the catalog's facts of a model.
func imageFacts(t *testing.T, provider, id string) catalog.ImageModel {
	t.Helper()
	for _, m := range catalog.MediaOf(provider).Images {
		if m.ID == id {
			return m
		}
	}
	t.Fatalf("the catalog has no %s of %s", id, provider)
	return catalog.ImageModel{}
}
