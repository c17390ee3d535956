package formats

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"

	"github.com/openai/openai-go/v3/option"
)

// extension returns the file name extension of a type image/…, with its dot.
func extension(mime string) string { return "." + mime[len("image/"):] }

// renamedParts renames the file parts of a form from the names that the SDK uses: it knows only
// "image", "image[]" and "mask".
func renamedParts(names map[string]string) option.RequestOption {
	return option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		for from, to := range names {
			body = bytes.ReplaceAll(body, []byte(`form-data; name="`+from+`"; filename=`), []byte(`form-data; name="`+to+`"; filename=`))
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		return next(req)
	})
}

// whiteMask converts a mask with a transparent area to edit into one with that area white and the
// rest black.
func whiteMask(data []byte) ([]byte, error) {
	mask, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, invalid("the mask is no readable PNG image")
	}
	area := mask.Bounds()
	white := image.NewGray(image.Rect(0, 0, area.Dx(), area.Dy()))
	for y := range area.Dy() {
		for x := range area.Dx() {
			_, _, _, alpha := mask.At(area.Min.X+x, area.Min.Y+y).RGBA()
			white.SetGray(x, y, color.Gray{Y: 255 - uint8(alpha>>8)})
		}
	}
	var b bytes.Buffer
	err = png.Encode(&b, white)
	return b.Bytes(), err
}
