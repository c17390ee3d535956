package formats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
	"parley/tools/proxy"
	"parley/tools/sanitize"
)

// A download is a file at an address named by a provider.
type download struct {
	URL     string
	Headers map[string]string // including the key: sent only to the provider's own scheme, host and port
	Limit   int64             // bytes; a longer file is an error
	Public  bool              // treat addresses of other hosts as public, even if they are not: for tests
}

// maxRedirects bounds the number of redirects of a download.
const maxRedirects = 5

// fetch writes the file to w and returns its type, as the server names it. An address of a host
// other than the provider's must be https and public, and so must each redirect. A file shorter
// than announced, an error status, and a page or an error object instead of the file are an
// *llm.Error.
func fetch(ctx context.Context, o adapter.Options, d download, w io.Writer) (mime string, err error) {
	address := d.URL
	for range maxRedirects + 1 {
		var to string
		if mime, to, err = fetchOnce(ctx, o, d, address, w); err != nil {
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			return "", o.WithProvider(err)
		}
		if to == "" {
			return mime, nil
		}
		address = to
	}
	return "", o.WithProvider(downloadError("the address of the file redirects in circles"))
}

// fetchOnce follows no redirect; to is the target of one.
func fetchOnce(ctx context.Context, o adapter.Options, d download, address string, w io.Writer) (mime, to string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", downloadError("the address of the file cannot be read")
	}
	own := isOwn(o, u)
	if !own && !d.Public {
		if err := checkPublic(u); err != nil {
			return "", "", err
		}
	}
	ctx, alive, stop := withIdleTimeout(ctx)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", "", adapter.Unsendable(errors.New("the address of the file cannot be read"))
	}
	if own {
		for name, value := range d.Headers {
			req.Header.Set(name, value)
		}
	}
	res, err := downloader(o, req, own || d.Public).RoundTrip(req)
	if err != nil {
		return "", "", downloadFailure(ctx, err, u)
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		next, err := u.Parse(res.Header.Get("Location"))
		if err != nil || res.Header.Get("Location") == "" {
			return "", "", downloadError("the address of the file redirects nowhere")
		}
		return "", next.String(), nil
	case res.StatusCode != http.StatusOK:
		body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
		return "", "", wire.StatusError(res.StatusCode, res.Header, body, time.Now())
	}
	mime = strings.ToLower(strings.TrimSpace(strings.Split(res.Header.Get("Content-Type"), ";")[0]))
	if mime == "text/html" || mime == "application/json" {
		return "", "", downloadError("the address of the file answered with " + mime)
	}
	size, err := io.Copy(alive(w), io.LimitReader(res.Body, d.Limit+1))
	switch {
	case err != nil:
		return "", "", downloadFailure(ctx, err, u)
	case size > d.Limit:
		return "", "", downloadError(fmt.Sprintf("the file is larger than %d MB", d.Limit>>20))
	case size == 0:
		return "", "", downloadError("the file is empty")
	case res.ContentLength >= 0 && size != res.ContentLength:
		return "", "", &llm.Error{Fault: llm.Network, Message: fmt.Sprintf("the file was cut off at %d of %d bytes", size, res.ContentLength)}
	}
	return mime, "", nil
}

// idleDownload is the longest time that a download may stall.
const idleDownload = time.Minute

// withIdleTimeout returns a context that ends once the writers returned by alive have received
// nothing for idleDownload.
func withIdleTimeout(parent context.Context) (ctx context.Context, alive func(io.Writer) io.Writer, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(idleDownload, func() {
		cancel(&llm.Error{Fault: llm.Network, Message: "the download stood still"})
	})
	alive = func(w io.Writer) io.Writer {
		return writerFunc(func(p []byte) (int, error) {
			timer.Reset(idleDownload)
			return w.Write(p)
		})
	}
	return ctx, alive, func() { timer.Stop(); cancel(nil) }
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// downloadFailure adds the host to an error; errors of w are returned unchanged.
func downloadFailure(ctx context.Context, err error, u *url.URL) error {
	var (
		apiErr  *llm.Error
		network net.Error
	)
	if errors.As(context.Cause(ctx), &apiErr) || errors.As(err, &apiErr) {
		return apiErr
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) {
		return &llm.Error{Fault: llm.Network, Message: "downloading from " + u.Hostname() + ": the connection broke", Err: err}
	}
	return err
}

func downloadError(message string) error {
	return &llm.Error{Fault: llm.Server, Message: message}
}

// isOwn reports whether u is of the provider's own scheme, host and port.
func isOwn(o adapter.Options, u *url.URL) bool {
	base, err := url.Parse(o.BaseURL)
	return err == nil && base.Host != "" && strings.EqualFold(u.Scheme, base.Scheme) && strings.EqualFold(origin(u), origin(base))
}

// origin returns host:port.
func origin(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "http" {
		return net.JoinHostPort(u.Hostname(), "80")
	}
	return net.JoinHostPort(u.Hostname(), "443")
}

// checkPublic rejects addresses that a provider must not name.
func checkPublic(u *url.URL) error {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch addr, err := netip.ParseAddr(host); {
	case u.Scheme != "https":
		return downloadError("the address of the file is not https")
	case u.User != nil:
		return downloadError("the address of the file contains a password")
	case err == nil && sanitize.NonPublic(addr) != "", host == "localhost", strings.HasSuffix(host, ".localhost"):
		return downloadError("the address of the file is not public")
	}
	return nil
}

// downloader returns the transport for a download: the provider's own or, for other hosts, one that
// connects only to public addresses. If a proxy of the user carries the download, the proxy
// resolves the host, and its owner decides about the addresses.
func downloader(o adapter.Options, req *http.Request, any bool) http.RoundTripper {
	if any {
		return wire.Plain(o.HTTP)
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	found, err := proxy.FromEnvironment(req)
	if err != nil || found == nil {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return checkDial(address) }
	}
	return &http.Transport{
		Proxy:       func(*http.Request) (*url.URL, error) { return found, err },
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
		ResponseHeaderTimeout: time.Minute, DisableKeepAlives: true, MaxResponseHeaderBytes: 1 << 20,
	}
}

// checkDial rejects addresses that are not public.
func checkDial(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || sanitize.NonPublic(ap.Addr()) != "" {
		return downloadError("the host of the file is not public")
	}
	return nil
}
