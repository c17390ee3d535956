package snapshot

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
)

// A pack is an open pack of git's with its index, both of version 2: see
// https://git-scm.com/docs/gitformat-pack.
type pack struct {
	index, data *os.File
	fanout      [256]uint32
}

func openPack(name string) (*pack, error) {
	p := &pack{}
	var err error
	if p.index, err = openRegular(name); err != nil {
		return nil, err
	}
	if p.data, err = openRegular(strings.TrimSuffix(name, ".idx") + ".pack"); err != nil {
		p.index.Close()
		return nil, err
	}
	head := make([]byte, 8+256*4)
	if _, err = p.index.ReadAt(head, 0); err == nil && !bytes.HasPrefix(head, []byte("\xfftOc\x00\x00\x00\x02")) {
		err = errors.New("an index of another version")
	}
	if err != nil {
		p.index.Close()
		p.data.Close()
		return nil, err
	}
	for i := range p.fanout {
		p.fanout[i] = binary.BigEndian.Uint32(head[8+4*i:])
	}
	return p, nil
}

// find returns the offset of an object in the pack; negative if it is not there.
func (p *pack) find(id blobID) int64 {
	const names = 8 + 256*4
	low, high, total := uint32(0), p.fanout[id[0]], int64(p.fanout[255])
	if id[0] > 0 {
		low = p.fanout[id[0]-1]
	}
	var name blobID
	for low < high {
		mid := low + (high-low)/2
		if _, err := p.index.ReadAt(name[:], names+int64(mid)*sha1.Size); err != nil {
			return -1
		}
		switch c := bytes.Compare(name[:], id[:]); {
		case c < 0:
			low = mid + 1
		case c > 0:
			high = mid
		default:
			return p.offset(total, int64(mid))
		}
	}
	return -1
}

// offset returns the offset in the pack of the nth of total objects.
func (p *pack) offset(total, n int64) int64 {
	offsets := 8 + 256*4 + total*(sha1.Size+4)
	var word [8]byte
	if _, err := p.index.ReadAt(word[:4], offsets+4*n); err != nil {
		return -1
	}
	at := binary.BigEndian.Uint32(word[:4])
	if at&(1<<31) == 0 {
		return int64(at)
	}
	if _, err := p.index.ReadAt(word[:], offsets+4*total+8*int64(at&^(1<<31))); err != nil {
		return -1
	}
	return int64(binary.BigEndian.Uint64(word[:]) &^ (1 << 63))
}

// Types of pack entries.
const (
	offsetDelta = 6
	nameDelta   = 7
)

// Bounds for the delta chain of one object; git uses up to 50 by default, 4095 at most.
const (
	maxDeltas   = 4095
	maxInflated = 4 * MaxBytes // total bytes of a chain
)

// read returns the content of the object that begins at an offset.
func (p *pack) read(at int64, budget *int64, depth int) ([]byte, error) {
	if depth > maxDeltas || at < 0 {
		return nil, errors.New("a chain of deltas without an end")
	}
	r := io.NewSectionReader(p.data, at, 1<<62)
	head := make([]byte, 64)
	n, err := r.ReadAt(head, 0)
	if head = head[:n]; n == 0 {
		return nil, err
	}
	kind, i := head[0]>>4&7, 1
	for ; i <= len(head) && head[i-1]&0x80 != 0; i++ {
	}
	if i > len(head) {
		return nil, io.ErrUnexpectedEOF
	}
	var base func() ([]byte, error)
	switch kind {
	case offsetDelta:
		back, n := offsetOf(head[i:])
		i += n
		base = func() ([]byte, error) { return p.read(at-back, budget, depth+1) }
		if back <= 0 {
			return nil, errors.New("a delta of itself")
		}
	case nameDelta:
		if len(head) < i+sha1.Size {
			return nil, io.ErrUnexpectedEOF
		}
		id := blobID(head[i : i+sha1.Size])
		i += sha1.Size
		base = func() ([]byte, error) { return p.read(p.find(id), budget, depth+1) }
	}
	z, err := zlib.NewReader(io.NewSectionReader(p.data, at+int64(i), 1<<62))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(z, *budget))
	if *budget -= int64(len(content)); *budget <= 0 {
		return nil, errors.New("an object larger than its name can be")
	}
	if err != nil || base == nil {
		return content, err
	}
	from, err := base()
	if err != nil {
		return nil, err
	}
	return applyDelta(from, content)
}

// offsetOf decodes the distance to the base of a delta, and returns the number of bytes read.
func offsetOf(head []byte) (back int64, n int) {
	for n < len(head) && n < 9 {
		c := head[n]
		n++
		back = back<<7 | int64(c&0x7f)
		if c&0x80 == 0 {
			return back, n
		}
		back++
	}
	return -1, n
}

// applyDelta applies a delta to base.
func applyDelta(base, delta []byte) ([]byte, error) {
	wrong := errors.New("a delta that does not fit")
	size := func() (n uint64) {
		for shift := 0; len(delta) > 0 && shift < 63; shift += 7 {
			c := delta[0]
			delta = delta[1:]
			if n |= uint64(c&0x7f) << shift; c&0x80 == 0 {
				return n
			}
		}
		return 1 << 62
	}
	if size() != uint64(len(base)) {
		return nil, wrong
	}
	want := size()
	if want > MaxBytes {
		return nil, wrong
	}
	out := make([]byte, 0, want)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op&0x80 == 0 {
			if op == 0 || int(op) > len(delta) {
				return nil, wrong
			}
			out, delta = append(out, delta[:op]...), delta[op:]
			continue
		}
		var args [7]uint64
		for i := range args {
			if op&(1<<i) != 0 {
				if len(delta) == 0 {
					return nil, wrong
				}
				args[i], delta = uint64(delta[0]), delta[1:]
			}
		}
		from := args[0] | args[1]<<8 | args[2]<<16 | args[3]<<24
		n := args[4] | args[5]<<8 | args[6]<<16
		if n == 0 {
			n = 1 << 16
		}
		if from+n > uint64(len(base)) || uint64(len(out))+n > want {
			return nil, wrong
		}
		out = append(out, base[from:from+n]...)
	}
	if uint64(len(out)) != want {
		return nil, wrong
	}
	return out, nil
}
