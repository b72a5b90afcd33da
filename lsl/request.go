package lsl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	maxLine    = 16 << 10 // bytes of one request line
	maxHeaders = 64       // header lines of a feed request
)

type requestKind int

const (
	shortInfo requestKind = iota
	fullInfo
	streamFeed
)

// request is what a reader asks on a TCP connection.
type request struct {
	kind  requestKind
	query string // of a shortInfo
	feed  feedRequest
}

// feedRequest carries the request line and the headers of a streamFeed. Headers left out keep their zero value.
type feedRequest struct {
	version      int    // 110 for 1.10
	uid          string // the stream that the reader means; "" means whichever is here
	hostname     string
	valueSize    int // bytes of a value in the reader's memory
	noIEEE754    bool
	maxBuffer    int // samples that may wait for the reader
	hasMaxBuffer bool
}

// readRequest reads one request. It reads no byte beyond the request's end that it does not need.
func readRequest(r *bufio.Reader) (request, error) {
	method, err := readLine(r)
	if err != nil {
		return request{}, err
	}
	switch {
	case method == "LSL:shortinfo":
		query, err := readLine(r)
		return request{kind: shortInfo, query: query}, err
	case method == "LSL:fullinfo":
		return request{kind: fullInfo}, nil
	case strings.HasPrefix(method, "LSL:streamfeed/"):
		feed, err := readFeed(r, strings.Fields(strings.TrimPrefix(method, "LSL:streamfeed/")))
		return request{kind: streamFeed, feed: feed}, err
	default:
		return request{}, fmt.Errorf("%w: %.40q", errUnsupported, method)
	}
}

func readFeed(r *bufio.Reader, words []string) (feedRequest, error) {
	var f feedRequest
	if len(words) == 0 {
		return f, fmt.Errorf("%w: no protocol version", errRequest)
	}
	var err error
	if f.version, err = strconv.Atoi(words[0]); err != nil {
		return f, fmt.Errorf("%w: protocol version %.20q", errRequest, words[0])
	}
	if len(words) > 1 {
		f.uid = words[1]
	}
	for range maxHeaders {
		line, err := readLine(r)
		if err != nil || line == "" {
			return f, err
		}
		if err := f.header(line); err != nil {
			return f, err
		}
	}
	return f, fmt.Errorf("%w: more than %d headers", errRequest, maxHeaders)
}

// header takes one header line. Lines without a colon and unknown keys are ignored, as the protocol asks.
func (f *feedRequest) header(line string) error {
	line, _, _ = strings.Cut(line, ";")
	key, value, found := strings.Cut(line, ":")
	if !found {
		return nil
	}
	value = strings.TrimSpace(value)
	var err error
	switch strings.ToLower(strings.TrimSpace(key)) {
	case "hostname":
		f.hostname = value
	case "value-size":
		f.valueSize, err = strconv.Atoi(value)
	case "has-ieee754-floats":
		f.noIEEE754 = value == "0" || strings.EqualFold(value, "false")
	case "max-buffer-length":
		f.maxBuffer, err = strconv.Atoi(value)
		f.hasMaxBuffer = err == nil
	}
	if err != nil || f.maxBuffer < 0 {
		return fmt.Errorf("%w: header %.60q", errRequest, line)
	}
	return nil
}

// readLine returns a line without its end and without white space around it. The reader's buffer caps its length.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", fmt.Errorf("%w: line longer than %d bytes", errRequest, maxLine)
	case errors.Is(err, io.EOF):
		return "", fmt.Errorf("%w: cut short", errRequest)
	case err != nil:
		return "", fmt.Errorf("lsl: read request: %w", err)
	}
	return strings.TrimSpace(string(line)), nil
}
