package vectors

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	set  = Space{Model: "openai/text-embedding-3-small", Dimensions: 3, Task: "document"}
	rows = []Row{
		{Line: 1, Text: "a \"quoted\"\ttext\nof two lines, é \x1b[1m\u009b\u202e\U000e0041", Vector: []float32{0.6, -0.8, 1e-9}},
		{File: "a.txt", Line: 7, Text: "", Vector: []float32{1, 0, 0.33333334}},
	}
)

func written(t *testing.T, format string, rows []Row) string {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(format, &b)
	for _, r := range rows {
		if err := w.Write(set, []Row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Vectors written as JSON lines are read back exactly.
func TestLines(t *testing.T) {
	text := written(t, "jsonl", rows)
	if strings.ContainsAny(text, "\x1b\u009b\u202e\U000e0041") {
		t.Errorf("a terminal obeys %q", text)
	}
	var got []Row
	end := int64(0)
	for l, err := range Lines(strings.NewReader(text)) {
		if err != nil || l.Space != set {
			t.Fatal(l.Space, err)
		}
		got, end = append(got, l.Row), l.End
	}
	if len(got) != 2 || got[0].Text != rows[0].Text || got[1].File != "a.txt" || got[1].Line != 7 || !slices.Equal(got[0].Vector, rows[0].Vector) || !slices.Equal(got[1].Vector, rows[1].Vector) || end != int64(len(text)) {
		t.Errorf("read %+v to %d", got, end)
	}
	if n := strings.Count(text, `"model":"openai/text-embedding-3-small","dimensions":3,"task":"document"`); n != 2 {
		t.Errorf("%d lines say what they are of:\n%s", n, text)
	}
}

// A file truncated anywhere is read up to its last whole line.
func TestLinesCut(t *testing.T) {
	text := written(t, "jsonl", rows)
	first := int64(strings.Index(text, "\n") + 1)
	for cut := range len(text) {
		n, end, last := 0, int64(0), error(nil)
		for l, err := range Lines(strings.NewReader(text[:cut])) {
			if last = err; err == nil {
				n, end = n+1, l.End
			}
		}
		whole := cut == 0 || int64(cut) == first
		if want := cut >= int(first); (n == 1) != want || want && end != first || (last == nil) != whole || last != nil && last != ErrTruncated {
			t.Fatalf("cut at %d: %d lines to %d, %v", cut, n, end, last)
		}
	}
}

// The error about another format or about mixed models names the line.
func TestLinesRefused(t *testing.T) {
	good := written(t, "jsonl", rows[:1])
	for text, want := range map[string]string{
		"hello\n" + good:                                                  "line 1: it is no JSON line",
		good + `{"text":"x"}` + "\n" + good:                               "line 2: it is no JSON line",
		good + strings.Replace(good, "small", "large", 1) + good:          "line 2: its vectors are mixed: the first has the model",
		good + strings.Replace(good, "document", "query", 1) + good:       "the task",
		good + strings.Replace(good, "[0.6,", "[", 1) + good:              "line 2",
		good + strings.Replace(good, "[0.6,", "[null,", 1) + good:         "line 2",
		good + strings.Replace(good, `:3,"task"`, `:-3,"task"`, 1) + good: "line 2",
	} {
		var last error
		for _, last = range Lines(strings.NewReader(text)) {
		}
		if last == nil || !strings.Contains(last.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, last, want)
		}
	}
}

// A last line counts as truncated only if it has no line break and is the beginning of one of parley's lines for the
// same Space. Anything else may belong to the user and is kept.
func TestLinesNotCut(t *testing.T) {
	good := written(t, "jsonl", rows[:1])
	other := strings.Replace(good, "small", "large", 1)
	for text, want := range map[string]string{
		"all my notes":                       "line 1: it is no JSON line",
		"all my notes\n":                     "line 1: it is no JSON line",
		`{"line":"mine"}` + "\n":             "line 1: it is no JSON line",
		good + "all my notes":                "line 2: it is no JSON line",
		good + "all my notes\n":              "line 2: it is no JSON line",
		good + `{"line":2,"text":"x"` + "\n": "line 2: it is no JSON line",
		good + other:                         "line 2: its vectors are mixed",
		good + other[:len(other)-1]:          "line 2: it is no JSON line",
		good + other[:len(other)-9]:          "line 2: it is no JSON line",
	} {
		var last error
		for _, last = range Lines(strings.NewReader(text)) {
		}
		if last == nil || last == ErrTruncated || !strings.Contains(last.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, last, want)
		}
	}
}

func TestJSONAndCSV(t *testing.T) {
	var object struct {
		Model, Task string
		Dimensions  int
		Embeddings  []struct {
			File, Text string
			Line       int
			Embedding  []float32
		}
	}
	if err := json.Unmarshal([]byte(written(t, "json", rows)), &object); err != nil || object.Model != set.Model || object.Dimensions != 3 || len(object.Embeddings) != 2 || object.Embeddings[1].Line != 7 || !slices.Equal(object.Embeddings[0].Embedding, rows[0].Vector) {
		t.Errorf("%+v, %v", object, err)
	}
	if err := json.Unmarshal([]byte(written(t, "json", nil)), &object); err != nil || len(object.Embeddings) != 0 {
		t.Errorf("without rows: %+v, %v", object, err)
	}
	table, err := csv.NewReader(strings.NewReader(written(t, "csv", rows))).ReadAll()
	if err != nil || len(table) != 3 || !slices.Equal(table[0], []string{"file", "line", "text", "model", "task", "v1", "v2", "v3"}) || table[1][2] != rows[0].Text || table[2][7] != "0.33333334" {
		t.Errorf("%q, %v", table, err)
	}
}

// NumPy, if installed, reads the file; the header is checked in any case.
func TestNumPy(t *testing.T) {
	for n, shape := range map[int]string{0: "(0, 0)", 2: "(2, 3)"} {
		path := filepath.Join(t.TempDir(), "a.npy")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w := NewWriter("npy", f)
		if n > 0 {
			err = w.Write(set, rows[:n])
		}
		if err != nil || w.Close() != nil || f.Close() != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		head := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }"
		if err != nil || len(data) != 128+n*12 || !strings.HasPrefix(string(data), head) || data[127] != '\n' || n > 0 && !slices.Equal(fromBytes(data[128:140]), rows[0].Vector) {
			t.Errorf("%q, %v", data, err)
		}
		out, err := exec.Command("/usr/bin/python3", "-c", "import numpy,sys; a=numpy.load(sys.argv[1]); print(a.shape, a.dtype, a.tolist()[:1])", path).CombinedOutput()
		if err != nil {
			t.Logf("not read by NumPy: %s", out)
			continue
		}
		if n > 0 && !strings.HasPrefix(string(out), "(2, 3) float32 [[0.60000002") {
			t.Errorf("NumPy read %s", out)
		}
	}
}
