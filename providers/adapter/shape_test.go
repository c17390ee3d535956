package adapter_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"parley/providers/adapter"
)

// A delta is the text of an event.
type delta struct{ Text string }

func (d *delta) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &d.Text) }

type event struct {
	Kind  string  `json:"kind"`
	Index int     `json:"index"`
	Score float64 `json:"score"`
	Text  delta   `json:"text"`
	More  *delta  `json:"more"`
}

// TestShape: events are decoded as without a Shape, whatever comes after what, and those that differ only in a delta and
// in what nothing reads are not decoded completely. Neither are all of those that differ in more studied again and again.
func TestShape(t *testing.T) {
	texts := []string{`"a"`, `""`, `"~"`, `"é\u00e9\n\"\\"`, `"\ud83d\ude00"`, `"x\u12"`, `"a" `, `null`, `5`, `"two words"`, "\"\t\""}
	for name, random := range map[string]func(*rand.Rand) string{
		"one shape": func(r *rand.Rand) string {
			return fmt.Sprintf(`{"kind":"delta","index":1,"padding":"%d","counter":%d,"text":"%d"}`, r.IntN(9e9), r.IntN(9e9), r.IntN(1000))
		},
		"two deltas": func(r *rand.Rand) string {
			return fmt.Sprintf(`{"kind":"delta","text":"%d","more":"%d"}`, r.IntN(1000), r.IntN(1000))
		},
		"what is read changes": func(r *rand.Rand) string {
			return fmt.Sprintf(`{"kind":"%d","index":%d,"score":%d.%d,"text":"%d"}`, r.IntN(2), r.IntN(2), r.IntN(2), r.IntN(2), r.IntN(9))
		},
		"numbers of all kinds": func(r *rand.Rand) string {
			numbers := []string{"0", "7", "8", "10", "1.5", "-3", "1e3", "1E-2", "01", "-", "123456789012345678", "1234567890123456789", `"7"`}
			return fmt.Sprintf(`{"text":"x","n":%s,"list":[%s, %s],"kind":"delta"}`, numbers[r.IntN(len(numbers))], numbers[r.IntN(len(numbers))], numbers[r.IntN(len(numbers))])
		},
		"texts of all kinds": func(r *rand.Rand) string {
			return fmt.Sprintf(`{"kind":"delta","id":%s,"text":%s}`, texts[r.IntN(2)], texts[r.IntN(len(texts))])
		},
		"cut": func(r *rand.Rand) string {
			whole := fmt.Sprintf(`{"kind":"delta","text":"\u00e9%d","n":%d}`, r.IntN(99), r.IntN(99))
			return whole[:len(whole)-r.IntN(2)*r.IntN(len(whole))]
		},
	} {
		var s adapter.Shape[event]
		decoded := 0
		decode := func(data []byte, e *event) error {
			decoded++
			*e = event{}
			return json.Unmarshal(data, e)
		}
		deltas := func(e *event) (all []json.Unmarshaler) {
			all = append(all, &e.Text)
			if e.More != nil {
				all = append(all, e.More)
			}
			return all
		}
		r := rand.New(rand.NewPCG(1, 0))
		const events = 2000
		for range events {
			data := []byte(random(r))
			var want event
			failed := json.Unmarshal(data, &want)
			got, err := s.Decode(data, decode, deltas)
			if (err == nil) != (failed == nil) || err == nil && !reflect.DeepEqual(*got, want) {
				t.Fatalf("%s: %s: got %+v, %v; want %+v, %v", name, data, got, err, want, failed)
			}
		}
		if most := map[string]int{"one shape": 100}[name]; most > 0 && decoded > most {
			t.Errorf("%s: of %d events %d were decoded", name, events, decoded)
		}
		if decoded > events+200 {
			t.Errorf("%s: %d events were decoded %d times", name, events, decoded)
		}
	}
}
