package tools

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// FetchFile downloads a file or a page for the user, by the rules of the tool fetch: only
// public addresses, no cookies and keys, 20 s and 5 MiB at most. A page is converted to
// Markdown without its invisible parts; other files are returned byte for byte. Name is a
// suggested file name.
func FetchFile(ctx context.Context, address string) (name string, data []byte, err error) {
	return fetcher{}.file(ctx, address)
}

func (f fetcher) file(ctx context.Context, address string) (name string, data []byte, err error) {
	u, err := parseURL(address)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, fmt.Errorf("it took longer than %s", fetchTime))
	defer cancel()
	err = f.follow(ctx, fetchRequest{url: u}, func(res *http.Response, at *url.URL) error {
		name = fileNameOf(at)
		data, err = responseFile(res, at)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("%s was not fetched: %s", u, networkReason(ctx, err))
	}
	return name, data, nil
}

// responseFile returns the body of a response as a file.
func responseFile(res *http.Response, at *url.URL) ([]byte, error) {
	if res.StatusCode > 299 {
		return nil, fmt.Errorf("%d %s", res.StatusCode, http.StatusText(res.StatusCode))
	}
	body, err := readBody(res, true)
	switch {
	case err != nil:
		return nil, err
	case body.truncated:
		return nil, fmt.Errorf("it is larger than %d MiB, or was cut off", maxWire>>20)
	case !isText(body.mediaType, body.data):
		return body.data, nil
	}
	c, err := body.render(at, "markdown")
	if err != nil {
		return nil, err
	}
	text, _ := Sanitize(c.text)
	if c.title != "" {
		text = "Title: " + c.title + "\n\n" + text
	}
	return []byte(strings.Trim(text, "\n") + "\n"), nil
}

// fileNameOf returns the last element of an address as a file name.
func fileNameOf(at *url.URL) string {
	name, _ := SanitizeAndTruncate(path.Base(at.Path), 100)
	if name == "/" || name == "." || name == "" {
		return at.Hostname()
	}
	return name
}
