package ipc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/fault"
)

// prove has capture write fresh random bytes into device memory and reads them back on the GPU.
func (a *gpuAttach) prove(ctx context.Context, reader gpuring.DeviceReader) error {
	var challenge [challengeBytes]byte
	if _, err := rand.Read(challenge[:]); err != nil {
		return err
	}
	request := a.link.attachRequest(opProve, "none")
	request.Challenge = hex.EncodeToString(challenge[:])
	reply, err := a.link.ask(ctx, request)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoProof, err)
	}
	if reply.Ring.Nonce != a.reply.Ring.Nonce || fault.At("generation") != "" {
		return fmt.Errorf("%w: %w", gpuring.ErrClosed, errRenewed)
	}
	return reader.Prove(reply.Cell, challenge)
}

// ended tells whether the ring was at its end when err came. Memory whose owner is gone fails in many ways: none of
// them says anything about this machine, and the ring that capture has now deserves a try of its own.
func (a *gpuAttach) ended(ctx context.Context, err error) error {
	if errors.Is(err, gpuring.ErrClosed) {
		return a.why(err)
	}
	var driver *cuda.Error
	if !errors.As(err, &driver) && !errors.Is(err, gpuring.ErrNotShared) {
		return nil
	}
	now, asked := a.link.request(ctx, opAttach, "none")
	if errors.Is(asked, ErrNoCapture) || asked == nil && now.Ring.Nonce != a.reply.Ring.Nonce {
		return a.why(fmt.Errorf("%w: %w: %w", gpuring.ErrClosed, errRenewed, err))
	}
	return nil
}
