package ipcbench

import (
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/ipc"
)

// maxPayload lets a whole 4K BGR frame through in one message.
const maxPayload = 32 << 20

// bus is the embedded NATS server and the producer's connection to it.
type bus struct {
	server *server.Server
	*ipc.Conn
}

func startBus() (*bus, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "facetrack-bench", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		MaxPayload: maxPayload, MaxPending: 4 * maxPayload,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, errors.New("the NATS server is not ready after 10 s")
	}
	nc, err := ipc.Connect(s.ClientURL(), "producer", slog.New(slog.DiscardHandler))
	if err != nil {
		s.Shutdown()
		return nil, err
	}
	return &bus{s, nc}, nil
}

func (b *bus) Close() error {
	err := b.Conn.Close()
	b.server.Shutdown()
	b.server.WaitForShutdown()
	return err
}
