package attach

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/tools/atomicfile"
)

// longestName bounds a name derived from a text, in bytes without the extension.
const longestName = 40

// Slug derives a file name from text: ASCII letters and digits in lower case, with
// hyphens between words; "" if there are none.
func Slug(text string) string {
	other := func(r rune) bool { return (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') } // 0x20 converts letters to lower case
	var words []string
	for word := range strings.FieldsFuncSeq(text, other) {
		if len(strings.Join(words, "-"))+1+len(word) > longestName && len(words) > 0 {
			break
		}
		words = append(words, strings.ToLower(word[:min(len(word), longestName)]))
	}
	return strings.Join(words, "-")
}

// reservedNames are device names on Windows, with any extension.
var reservedNames = []string{
	"con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
}

// SlugFileName derives a name for a new file from text, or uses otherwise, such as "image", if the
// text has no letters. It adds the extension of the type.
func SlugFileName(text, otherwise, mime string) string {
	name := Slug(text)
	switch {
	case name == "":
		name = otherwise
	case slices.Contains(reservedNames, name):
		name = otherwise + "-" + name
	}
	return name + Extension(mime)
}

// Extension returns the file extension of a type, with the dot; "" if unknown.
func Extension(mime string) string {
	_, kind, _ := strings.Cut(mime, "/")
	switch mime {
	case "image/jpeg":
		return ".jpg"
	case "image/png", "image/webp", "image/gif", "image/avif", "video/mp4", "video/webm", "video/avi":
		return "." + kind
	case "image/svg+xml":
		return ".svg"
	case "video/quicktime":
		return ".mov"
	}
	return ""
}

// WithExtension returns path with its extension replaced if that is of another type. A path
// without an extension keeps none.
func WithExtension(path, mime string) string {
	want, has := Extension(mime), filepath.Ext(path)
	if want == "" || has == "" || strings.EqualFold(has, want) || want == ".jpg" && strings.EqualFold(has, ".jpeg") {
		return path
	}
	return strings.TrimSuffix(path, has) + want
}

// CanSave returns why nothing can be saved in the directory of path, to check before
// generating something that costs money.
func CanSave(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such folder", printable(dir))
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", printable(dir))
	}
	part, err := newPart(dir)
	if err != nil {
		return fmt.Errorf("%s: nothing can be saved there: %w", printable(dir), plain(err))
	}
	return errors.Join(part.Close(), os.Remove(part.Name()))
}

// Save writes data to a new file at path, or with a number after its name if that exists, and returns
// its path. A file of this name is always complete, because data is written and synced under another
// name first.
func Save(path string, data []byte) (string, error) {
	return SaveWith(path, func(f *os.File) (string, error) {
		_, err := f.Write(data)
		return path, err
	})
}

// SaveNew writes data to a new file of exactly that name, readable by its owner only. If it
// exists, the error is [fs.ErrExist].
func SaveNew(path string, data []byte) error {
	return atomicfile.Create(path, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// SaveWith is Save for data that write writes to a file, which may take long. Write returns the
// final path in the directory of path, which may depend on the data.
func SaveWith(path string, write func(*os.File) (path string, err error)) (string, error) {
	saving := func(err error) error { return fmt.Errorf("saving %s: %w", printable(path), plain(err)) }
	part, err := CreateTemp(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(part.Name()) }()
	named, err := write(part)
	var disk *fs.PathError
	switch {
	case errors.As(err, &disk) && disk.Path == part.Name():
		return "", errors.Join(saving(disk), part.Close())
	case err != nil:
		return "", errors.Join(err, part.Close())
	}
	if err = errors.Join(part.Sync(), part.Close()); err == nil {
		path, err = RenameUnique(part.Name(), named)
	}
	if err != nil {
		return "", saving(err)
	}
	return path, nil
}

// CreateTemp creates a temporary file beside path, to be written and then renamed by [Place],
// or removed. It removes parts left by earlier writers.
func CreateTemp(path string) (*os.File, error) {
	removeStale(filepath.Dir(path))
	part, err := newPart(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("saving %s: %w", printable(path), plain(err))
	}
	_ = tryLock(part) // see removeStale
	return part, nil
}

// RenameUnique renames a file to path, or with a number after its name if that exists, and returns
// its new path. It never overwrites a file, even if others create files at the same time.
func RenameUnique(part, path string) (string, error) {
	ext := filepath.Ext(path)
	for n := 1; ; n++ {
		name := path
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), n, ext)
		}
		if err := atomicfile.Place(part, name); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
}

// newPart creates a file with a unique name.
func newPart(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, partPrefix+rand.Text()[:partRandom]+partSuffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

// Parts have names such as .parley-K5TQ2ZB7A4MN.part, with letters and digits of base32 in the middle.
const (
	partPrefix, partSuffix = ".parley-", ".part"
	partRandom             = 12
)

// staleAge is the age of the last write after which a part is removed.
const staleAge = 24 * time.Hour

// removeStale removes the parts in dir that killed writers left: unlocked ones
// that were not written to for a day.
func removeStale(dir string) {
	files, _ := filepath.Glob(filepath.Join(escapeGlob(dir), partPrefix+strings.Repeat("[A-Z2-7]", partRandom)+partSuffix))
	for _, path := range files {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < staleAge {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		err = tryLock(f)
		if _ = f.Close(); err == nil {
			_ = os.Remove(path)
		}
	}
}

// escapeGlob returns a pattern that matches only dir.
func escapeGlob(dir string) string {
	if filepath.Separator == '\\' { // the pattern cannot be escaped on Windows
		return dir
	}
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[").Replace(dir)
}

// plain returns the system's error without operation and path.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Dimensions returns the width and height of an image in pixels; zero if data is not an image
// that can be measured.
func Dimensions(data []byte) (width, height int) {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}
