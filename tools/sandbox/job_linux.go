package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// job holds the instructions for the helper.
type job struct {
	policy
	path          string   // of the program
	argv          []string // starts with the program's name as called
	abi           int      // of Landlock
	ownsTempDir   bool     // TempDir was created for this command, and is removed after it
	stop          func()   // ends the command; nil for one that the helper becomes. Not sent
	undone        []string // directories with the journals of Workspace and Directories
	unrestricted  bool     // not confined: the helper only ends the processes
	inPlace       bool     // the helper becomes the program, which guardFD reports
	guards        bool     // the helper starts nothing: it is a guard, and reads guardFD
	hasNamespaces bool     // the helper runs in namespaces of its own
	uid           int      // of the caller, in its own namespace
	gid           int
	listableEtc   []string // directories of /etc that may be listed
	readableEtc   []string // entries of /etc that may be read
}

// jobEnd marks the end of an encoded job; without it the job was truncated.
const jobEnd = "whole"

// stringLists returns the lists to encode. Paths and variables need not be UTF-8 and contain
// no NUL, so that joining by NUL fits better than JSON.
func (j *job) stringLists() []*[]string {
	return []*[]string{&j.ReadPaths, &j.WritePaths, &j.Protected, &j.readOnlyFiles, &j.Directories, &j.undone, &j.readOnlyParts, &j.hidden, &j.Env, &j.argv, &j.listableEtc, &j.readableEtc}
}

func (j *job) stringFields() []*string {
	return []*string{&j.Workspace, &j.TempDir, &j.path}
}

func (j *job) boolFields() []*bool {
	return []*bool{&j.Network, &j.LongRunning, &j.ownsTempDir, &j.unrestricted, &j.inPlace, &j.guards, &j.hasNamespaces}
}

func (j *job) intFields() []*int { return []*int{&j.abi, &j.uid, &j.gid} }

func (j *job) encode() (string, error) {
	var out []string
	for _, b := range j.boolFields() {
		out = append(out, strconv.FormatBool(*b))
	}
	for _, n := range j.intFields() {
		out = append(out, strconv.Itoa(*n))
	}
	for _, w := range j.stringFields() {
		out = append(out, *w)
	}
	for _, l := range j.stringLists() {
		out = append(out, strconv.Itoa(len(*l)))
		out = append(out, *l...)
	}
	out = append(out, jobEnd)
	if slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, "\x00") }) {
		return "", errors.New("a NUL byte in a path, a variable or an argument")
	}
	return strings.Join(out, "\x00"), nil
}

func decodeJob(text string) (job, error) {
	var j job
	rest := strings.Split(text, "\x00")
	next := func() (s string) {
		if len(rest) > 0 {
			s, rest = rest[0], rest[1:]
		}
		return s
	}
	for _, b := range j.boolFields() {
		v, err := strconv.ParseBool(next())
		if err != nil {
			return job{}, err
		}
		*b = v
	}
	for _, n := range j.intFields() {
		v, err := strconv.Atoi(next())
		if err != nil {
			return job{}, err
		}
		*n = v
	}
	for _, w := range j.stringFields() {
		*w = next()
	}
	for _, l := range j.stringLists() {
		n, err := strconv.Atoi(next())
		if err != nil || n < 0 || n > len(rest) {
			return job{}, errors.New("cut short")
		}
		*l, rest = rest[:n:n], rest[n:]
	}
	if j.Workspace == "" || j.path == "" || len(j.argv) == 0 || len(rest) != 1 || rest[0] != jobEnd {
		return job{}, errors.New("incomplete")
	}
	return j, nil
}

// goAhead follows a job in the pipe once the command may run. A pipe that ends without it
// means that the caller has exited or cancels the command.
const goAhead = '\n'

// maxJob bounds an encoded job, in bytes: more than a command's arguments and
// environment can have.
const maxJob = 64 << 20

// send returns a pipe with the encoded job, preceded by its length: the job contains the
// environment and so is not written to a file. Finding the readable entries of /etc takes
// half as long as starting the helper, and happens concurrently. End stops writing and waits
// for that; r is closed first.
func (j *job) send() (r *os.File, end func(), err error) {
	if _, err := j.encode(); err != nil {
		return nil, nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	done, ended, whole := make(chan struct{}), make(chan struct{}), *j
	go func() {
		defer close(done)
		defer w.Close()
		if !whole.unrestricted {
			whole.listableEtc, whole.readableEtc = readableEtc("/etc", maxEtcEntries)
		}
		text, err := whole.encode()
		if err != nil {
			return // the helper reports the missing job
		}
		_, _ = fmt.Fprintf(w, "%d\n%s", len(text), text)
		if whole.Ready != nil {
			select {
			case <-whole.Ready:
			case <-ended:
				return
			}
		}
		_, _ = w.Write([]byte{goAhead})
	}()
	return r, sync.OnceFunc(func() { close(ended); <-done }), nil
}

// receiveJob reads a job from the pipe that send returned. The rest of the pipe stays
// in r.
func receiveJob(r *bufio.Reader) (job, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return job{}, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(head, "\n"))
	if err != nil || n < 0 || n > maxJob {
		return job{}, fmt.Errorf("its length is %q", head)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return job{}, err
	}
	return decodeJob(string(text))
}

// awaitGoAhead waits until the command may run, and reports whether it may.
func awaitGoAhead(r *bufio.Reader) bool {
	b, err := r.ReadByte()
	return err == nil && b == goAhead
}
