package format_test

import (
	"testing"
	"time"

	"parley/ui/format"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{format.Plural(1, "file"), "1 file"},
		{format.Plural(0, "file"), "0 files"},
		{format.Plural(3, "file"), "3 files"},
		{format.Tokens(812), "812"},
		{format.Tokens(999), "999"},
		{format.Tokens(1000), "1.0k"},
		{format.Tokens(1234), "1.2k"},
		{format.Tokens(9_949), "9.9k"},
		{format.Tokens(9_950), "10k"},
		{format.Tokens(18_400), "18k"},
		{format.Tokens(999_499), "999k"},
		{format.Tokens(999_500), "1.0M"},
		{format.Tokens(1_100_000), "1.1M"},
		{format.TokensExact(999), "999"},
		{format.TokensExact(1000), "1.0k"},
		{format.TokensExact(18_400), "18.4k"},
		{format.TokensExact(99_949), "99.9k"},
		{format.TokensExact(99_950), "100k"},
		{format.TokensExact(999_499), "999k"},
		{format.TokensExact(999_500), "1.0M"},
		{format.Window(128_000), "128K"},
		{format.Window(999_999), "999K"},
		{format.Window(1_000_000), "1M"},
		{format.Window(1_048_576), "1.05M"},
		{format.Rate(0), ""},
		{format.Rate(8.25), "8.2 tok/s"},
		{format.Rate(10), "10 tok/s"},
		{format.Rate(81.6), "82 tok/s"},
		{format.Percent(-1), ""},
		{format.Percent(0), "0%"},
		{format.Percent(0.125), "13%"},
		{format.Percent(0.514), "51%"},
		{format.Percent(0.997), "100%"},
		{format.Percent(1), "100%"},
		{format.Percent(1.002), "101%"},
		{format.Cost(0, true), ""},
		{format.Cost(0.0042, true), "$0.0042"},
		{format.Cost(0.0099, true), "$0.0099"},
		{format.Cost(0.01, true), "$0.01"},
		{format.Cost(1.5, false), "≥$1.50"},
		{format.Cost(1.5, true), "$1.50"},
		{format.Price(2), "$2.00"},
		{format.Price(0.125), "$0.125"},
		{format.Price(0.15), "$0.15"},
		{format.Price(12.5), "$12.50"},
		{format.Size(0), "0 bytes"},
		{format.Size(1), "1 byte"},
		{format.Size(999), "999 bytes"},
		{format.Size(1000), "1.0 KB"},
		{format.Size(1234), "1.2 KB"},
		{format.Size(999_949), "999.9 KB"},
		{format.Size(999_950), "1.0 MB"},
		{format.Size(2_500_000), "2.5 MB"},
		{format.Size(7_000_000_000), "7.0 GB"},
		{format.Size(8_000_000_000_000_000), "8000.0 TB"},
		{format.ModelID("openai/gpt"), "gpt"},
		{format.ModelID("a/b/c"), "c"},
		{format.ModelID("gpt"), "gpt"},
		{format.Join(" · ", "a", "", "b"), "a · b"},
		{format.Join(", "), ""},
		{format.Line{Text: "x"}.String(), "x"},
		{format.Line{Sign: "+", Text: "x"}.String(), "+ x"},
		{format.When(true, "x"), "x"},
		{format.When(false, "x"), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{format.Duration(40 * time.Millisecond), "40 ms"},
		{format.Duration(1250 * time.Millisecond), "1.2 s"},
		{format.Duration(999 * time.Millisecond), "999 ms"},
		{format.Duration(time.Second), "1 s"},
		{format.Duration(3 * time.Second), "3 s"},
		{format.Duration(10*time.Second - 1), "9.9 s"},
		{format.Duration(10*time.Second + time.Second/2), "10 s"},
		{format.Duration(12900 * time.Millisecond), "12 s"},
		{format.Duration(time.Minute), "1 min 0 s"},
		{format.Duration(185 * time.Second), "3 min 5 s"},
		{format.Duration(130 * time.Minute), "2 h 10 min"},
		{format.Duration(time.Hour), "1 h 0 min"},
		{format.Duration(2 * time.Hour), "2 h 0 min"},
		{format.Elapsed(9 * time.Second), "9 s"},
		{format.Elapsed(60 * time.Second), "1 min 00 s"},
		{format.Elapsed(185 * time.Second), "3 min 05 s"},
		{format.Elapsed(time.Hour), "1 h 00 min"},
		{format.Elapsed(62 * time.Minute), "1 h 02 min"},
		{format.Latency(40 * time.Millisecond), "40 ms"},
		{format.Latency(time.Second), "1.0 s"},
		{format.Latency(12 * time.Second), "12.0 s"},
		{format.Seconds(400 * time.Millisecond), "0.4 s"},
		{format.Seconds(10 * time.Second), "10 s"},
		{format.Seconds(12 * time.Second), "12 s"},
		{format.Seconds(time.Minute), "1 min 0 s"},
		{format.Seconds(185 * time.Second), "3 min 5 s"},
		{format.Age(0), "now"},
		{format.Age(time.Minute), "1 min"},
		{format.Age(3 * time.Minute), "3 min"},
		{format.Age(24 * time.Hour), "1 d"},
		{format.Age(50 * time.Hour), "2 d"},
		{format.Age(70 * 24 * time.Hour), "2 mo"},
		{format.Age(400 * 24 * time.Hour), "1 y"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestCapital(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "queued, and sent": "Queued, and sent", "a model": "A model", "don't": "Don't", "x of y": "x of y",
		"deepseek-chat does not support it": "deepseek-chat does not support it", "openai/gpt": "openai/gpt", "main.go": "main.go", "/cd PATH": "/cd PATH", "ctrl+x b": "ctrl+x b",
	} {
		if got := format.Capital(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	zone := time.FixedZone("", 2*60*60)
	now := time.Date(2026, 11, 30, 0, 30, 0, 0, zone)
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{now, "00:30"}, {now.Add(-time.Hour), "2026-11-29 23:30"}, {now.UTC(), "00:30"}, {now.UTC().Add(-time.Hour), "2026-11-29 23:30"},
	} {
		if got := format.Clock(c.at, now); got != c.want {
			t.Errorf("%v: %s, want %s", c.at, got, c.want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{"": "", "one": "one", "one\n": "one", "\n one\ntwo": "one …"} {
		if got := format.FirstLine(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
