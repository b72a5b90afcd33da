package cuda

// Upload copies host memory to the device. Pinned memory must not change until the stream has passed the copy; other
// memory is copied away before Upload returns.
func (s *Stream) Upload(dst uint64, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return s.do("cuMemcpyHtoDAsync", func(d driver) Code { return d.upload(s.word, dst, src) })
}

// Download copies device memory to host memory, which must be Pinned.
func (s *Stream) Download(dst []byte, src uint64) error {
	if len(dst) == 0 {
		return nil
	}
	return s.do("cuMemcpyDtoHAsync", func(d driver) Code { return d.download(s.word, dst, src) })
}

// Copy copies within device memory.
func (s *Stream) Copy(dst, src uint64, bytes int64) error {
	return s.do("cuMemcpyDtoDAsync", func(d driver) Code { return d.copy(s.word, dst, src, bytes) })
}

// Fill sets bytes of device memory.
func (s *Stream) Fill(dst uint64, value byte, bytes int64) error {
	return s.do("cuMemsetD8Async", func(d driver) Code { return d.fill(s.word, dst, value, bytes) })
}
