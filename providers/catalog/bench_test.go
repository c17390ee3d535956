package catalog

import "testing"

func BenchmarkDecodeAll(b *testing.B) {
	files, _ := data.ReadDir("data")
	for b.Loop() {
		for _, f := range files {
			e := newEntry("data/" + f.Name())
			e.head()
			for _, r := range e.rows() {
				r.model()
			}
		}
	}
}

func BenchmarkDecodeOne(b *testing.B) {
	for b.Loop() {
		e := newEntry("data/openai.toml")
		e.head()
		for _, r := range e.rows() {
			r.model()
		}
	}
}

func BenchmarkDecodeHeads(b *testing.B) {
	files, _ := data.ReadDir("data")
	for b.Loop() {
		for _, f := range files {
			newEntry("data/" + f.Name()).head()
		}
	}
}
