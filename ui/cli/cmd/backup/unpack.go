package backup

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// limits bound the unpacked size of a backup, so that a small file cannot fill the disk.
type limits struct {
	total int64 // bytes of all files
	files int
	file  int64 // bytes of one file other than the store
	ratio int64 // total bytes per byte read, once the total exceeds free
	free  int64
}

// standard are the limits for backups by parley. Stores of many years, with images, have some GB. A version of a file
// has at most 64 MB, and a history some hundred bytes for each change. Conversations compress to about a tenth, and
// versions of files are compressed already; only zeros compress to a thousandth.
var standard = limits{total: 256 << 30, files: 4 << 20, file: 1 << 30, ratio: 200, free: 1 << 30}

// maxTrailer is the greatest size after the last file: blocks of zeros to the end of a record.
const maxTrailer = 1 << 20

// A limitError reports which limit a backup exceeds.
type limitError struct{ what string }

func (e *limitError) Error() string {
	return "this backup was not restored: it has " + e.what + ", more than parley writes"
}

// allow returns an error if the nth file of an archive, from 0, must not be unpacked.
func (l limits) allow(n int, h *tar.Header) error {
	switch {
	case n > l.files:
		return &limitError{fmt.Sprintf("over %d files", l.files)}
	case h.Size > l.total, h.Name != storeName && h.Size > l.file:
		return &limitError{fmt.Sprintf("%d bytes in %q", h.Size, h.Name)}
	}
	return nil
}

// A limitedReader reads unpacked bytes up to the limits, and then fails with a *limitError.
type limitedReader struct {
	r      io.Reader
	packed *io.LimitedReader // compressed input of r; its N began as MaxInt64
	most   limits
	n      int64
}

func (b *limitedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	switch {
	case b.n > b.most.total:
		return n, &limitError{fmt.Sprintf("over %d bytes", b.most.total)}
	case b.n > b.most.free && b.n/b.most.ratio > math.MaxInt64-b.packed.N:
		return n, &limitError{fmt.Sprintf("over %d times its own size", b.most.ratio)}
	}
	return n, err
}

// unpack writes the files of an archive into dir, and never outside of it.
func unpack(r io.Reader, dir string, most limits) error {
	counted := &io.LimitedReader{R: r, N: math.MaxInt64}
	packed, err := gzip.NewReader(counted)
	if err != nil {
		return fmt.Errorf("this is no backup of parley: %w", err)
	}
	in := tar.NewReader(&limitedReader{r: packed, packed: counted, most: most})
	for n := 0; ; n++ {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF) && n > 1:
			if _, err := io.CopyN(io.Discard, packed, maxTrailer); !errors.Is(err, io.EOF) { // reads the checksum
				if err == nil {
					err = errors.New("something follows its end")
				}
				return fmt.Errorf("this is no whole backup of parley: %w", err)
			}
			return nil
		case errors.As(err, new(*limitError)):
			return err
		case err != nil:
			return fmt.Errorf("this is no whole backup of parley: %w", err)
		case hasHoles(h): // it unpacks to more bytes than are read, which evades the limits
			return fmt.Errorf("this is no backup of parley: %q in it has holes", h.Name)
		case n == 0:
			if err := readManifest(h, in); err != nil {
				return err
			}
			continue
		case n == 1 && h.Name != storeName, h.Typeflag != tar.TypeReg, !filepath.IsLocal(h.Name), path.Clean(h.Name) != h.Name, n > 1 && !strings.HasPrefix(h.Name, undoName+"/"):
			return fmt.Errorf("this is no backup of parley: %q is in it", h.Name)
		}
		if err := most.allow(n, h); err != nil {
			return err
		}
		err = writeNew(filepath.Join(dir, filepath.FromSlash(h.Name)), in)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) {
			return fmt.Errorf("this is no whole backup of parley: %w", err)
		}
		if err != nil {
			return err
		}
	}
}

// hasHoles reports whether a file of an archive is sparse in GNU's format, which archive/tar reads as a regular file.
func hasHoles(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// readManifest checks the first file of an archive.
func readManifest(h *tar.Header, in io.Reader) error {
	var about manifest
	if h.Name != manifestName || json.NewDecoder(io.LimitReader(in, 1<<16)).Decode(&about) != nil || about.Format < 1 {
		return errors.New("this is no backup of parley")
	}
	if about.Format > version {
		return fmt.Errorf("a newer parley made this backup (format %d, this one knows %d): install a newer parley", about.Format, version)
	}
	return nil
}

// writeNew writes a file that must not exist, for its owner only.
func writeNew(path string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
