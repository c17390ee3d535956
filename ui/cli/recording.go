package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"parley/providers"
	"parley/ui/app"
	"parley/ui/exchange"
	"parley/ui/format"
)

// exchanges inspects, records or replays HTTP exchanges.
type exchanges struct {
	tap     *providers.Tap               // nil if exchanges are not inspected
	replay  providers.Replay             // of --replay; nil uses the network
	onError atomic.Pointer[func(string)] // reports recording errors to the screen; nil in print mode

	record func(path string, onError func(error)) (providers.Recorder, error) // nil if recordings are not supported
	read   func(path string) (providers.Replay, error)                        // likewise
}

// open opens the file to record to or to replay.
func (r *exchanges) open(f *wireFlags, note func(string)) error {
	if r.record == nil && f.replayFile+f.recordFile != "" {
		return errors.New("this build of parley has no recordings")
	}
	if f.replayFile != "" {
		replay, err := r.read(f.replayFile)
		if err != nil {
			return fmt.Errorf("--replay: %w", err)
		}
		r.replay = replay
	}
	if f.recordFile == "" {
		return nil
	}
	recorder, err := r.record(f.recordFile, func(err error) {
		if report := r.onError.Load(); report != nil {
			(*report)(format.ErrorText(err))
			return
		}
		note(format.ErrorText(err))
	})
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	r.tap = &providers.Tap{Recorder: recorder}
	return nil
}

// close ends a recording. If the run was successful, it notes the replayed exchanges that were not requested.
func (r *exchanges) close(well bool, note func(string)) {
	if r.tap != nil && r.tap.Recorder != nil {
		if err := r.tap.Recorder.Close(); err != nil {
			note("the recording: " + format.ErrorText(err))
		}
	}
	if r.replay != nil && well {
		if n := r.replay.Remaining(); n > 0 {
			note(fmt.Sprintf("%d recorded requests were not used", n))
		}
	}
}

// inspector gives the screen access to the exchanges.
func (r *exchanges) inspector() app.Wire {
	return app.Wire{
		List: func() []exchange.Exchange {
			var all []exchange.Exchange
			for _, e := range r.tap.List() {
				all = append(all, shownExchange(e))
			}
			return all
		},
		Get: func(id int) (exchange.Exchange, bool) {
			e, ok := r.tap.Exchange(id)
			shown := shownExchange(e)
			shown.Curl = e.Curl()
			return shown, ok
		},
		OnRecordError: func(f func(string)) { r.onError.Store(&f) },
	}
}

// shownExchange converts e for the screen.
func shownExchange(e providers.Exchange) exchange.Exchange {
	side := func(m providers.Traffic) exchange.Side {
		t := exchange.Side{Body: m.Body, Tail: m.Tail, Cut: m.Omitted}
		for _, name := range slices.Sorted(maps.Keys(m.Header)) {
			for _, value := range m.Header[name] {
				t.Headers = append(t.Headers, [2]string{name, value})
			}
		}
		return t
	}
	return exchange.Exchange{
		ID: e.ID, Name: strings.Trim(e.Provider+"/"+e.Model, "/"), Method: e.Method, URL: e.URL, Args: e.Args,
		Status: e.Status, Error: e.Error, Reason: e.Reason, Start: e.Start, Timing: exchange.Timing{Headers: e.Headers, FirstByte: e.FirstByte, Total: e.Duration},
		Done: e.Done, Sent: e.Request.Bytes, Got: e.Response.Bytes, Request: side(e.Request), Response: side(e.Response),
	}
}
