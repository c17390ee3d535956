package print

import (
	"os"
	"path/filepath"
	"testing"
)

// Text of another encoding on standard input is read as what it says, and that it
// was converted is told. What is no text stays as it is.
func TestEncodings(t *testing.T) {
	const told = "Standard input converted from "
	tests := []struct{ name, input, want, told string }{
		{"UTF-8", "naïve\n", "naïve\n", ""},
		{"UTF-16, little end first", "\xff\xfen\x00a\x00\xef\x00", "naï", told + "UTF-16 to UTF-8"},
		{"UTF-16, big end first", "\xfe\xff\x00n\x00a\x00\xef", "naï", told + "UTF-16 to UTF-8"},
		{"UTF-16 without a mark", "h\x00e\x00l\x00l\x00o\x00\n\x00", "hello\n", told + "UTF-16 to UTF-8"},
		{"UTF-16 without a mark, big end first", "\x00h\x00e\x00l\x00l\x00o", "hello", told + "UTF-16 to UTF-8"},
		{"Latin-1", "na\xefve, or not", "naïve, or not", told + "Windows-1252 to UTF-8"},
		{"an image", "\x89PNG\r\n\x1a\n\x00", "\x89PNG\r\n\x1a\n\x00", ""},
		{"bytes", "\x00\x01\x02\x03\xff\xfe", "\x00\x01\x02\x03\xff\xfe", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "input")
			if err := os.WriteFile(path, []byte(tt.input), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			notice := ""
			got, err := ReadStdin(f, false, func(text string) { notice += text })
			if err != nil || string(got) != tt.want || notice != tt.told {
				t.Errorf("got %q, told %q, %v; want %q, told %q", got, notice, err, tt.want, tt.told)
			}
		})
	}
}
