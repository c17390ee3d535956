package agentcli

import (
	"bytes"
	"cmp"
	"net/http"
	"path/filepath"
	"strings"

	"parley/providers/wire"
)

// exchange returns a run and its standard input in the form of recordings, with "TEMP" in place of
// the names of temporary files.
func (m *Model) exchange(r *run) (wire.Exchange, []byte) {
	e := wire.Exchange{
		Provider: m.o.Provider, Kind: m.o.Kind, Model: m.o.Model, Key: cmp.Or(m.o.KeyName, m.flavor.key), URL: m.flavor.program,
	}
	if r.file != "" {
		e.Request.Header = http.Header{wire.SystemHeader: {r.system}}
	}
	var names []string
	for _, path := range r.temps {
		names = append(names, path, "TEMP", filepath.Base(path), "TEMP") // a file in r.dir has a relative name
	}
	plain := strings.NewReplacer(names...)
	for _, arg := range r.args {
		e.Args = append(e.Args, plain.Replace(arg))
	}
	if len(names) == 0 {
		return e, r.stdin
	}
	return e, []byte(plain.Replace(string(r.stdin)))
}

// beginExchange starts the recording of a run; nil if there is no tap.
func (m *Model) beginExchange(r *run) *wire.ProgramExchange {
	if m.o.Tap == nil {
		return nil
	}
	e, stdin := m.exchange(r)
	return m.o.Tap.Program(e, stdin, m.credentials())
}

// replay answers from a recording instead of running the program.
func (m *Model) replay(a *answer) error {
	e, stdin := m.exchange(a.run)
	out, code, said, err := m.o.Replay.Program(e, stdin)
	if err != nil {
		return err
	}
	d := m.flavor.decoder(a)
	for line := range bytes.Lines(out) {
		if a.done || a.out.Stopped() {
			break
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			a.onLine(d, line)
		}
	}
	if a.done && a.fault == nil {
		a.close()
	}
	a.firstStderr = said
	return m.resultOf(a, exitInfo{code: code, stderr: said, byItself: true})
}
