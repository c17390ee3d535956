package formats

import (
	"bytes"
	"fmt"
	"maps"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm/works"
)

// A form is a request body other than JSON.
type form struct {
	Type string // content type with its parameters
	Data []byte
}

// multipartForm returns fields as a form. Blobs become files with a content type, which servers
// require; several blobs are parts of the same name.
func multipartForm(fields map[string]any) (form, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var err error
		switch value := fields[name].(type) {
		case *works.Blob:
			err = writeFile(w, name, "image", *value)
		case []works.Blob:
			for i, blob := range value {
				if err = writeFile(w, name, fmt.Sprintf("image-%d", i+1), blob); err != nil {
					break
				}
			}
		case string:
			err = w.WriteField(name, value)
		default:
			text, failed := adapter.Marshal(value)
			if err = failed; err == nil {
				err = w.WriteField(name, string(text))
			}
		}
		if err != nil {
			return form{}, err
		}
	}
	if err := w.Close(); err != nil {
		return form{}, err
	}
	return form{Type: w.FormDataContentType(), Data: b.Bytes()}, nil
}

// writeFile writes an image as the form part called name.
func writeFile(w *multipart.Writer, name, file string, b works.Blob) error {
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", fmt.Sprintf(`form-data; name="%s"; filename="%s.%s"`, name, file, strings.TrimPrefix(b.MIME, "image/")))
	header.Set("Content-Type", b.MIME)
	part, err := w.CreatePart(header)
	if err == nil {
		_, err = part.Write(b.Data)
	}
	return err
}
