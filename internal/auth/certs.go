package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// How long certificates last. The CA outlives what it signs, so that the server's can be renewed without giving clients a new CA.
const (
	caLife     = 10 * 365 * 24 * time.Hour
	serverLife = 2 * 365 * 24 * time.Hour
	expiresIn  = 30 * 24 * time.Hour // from then on starting says so
	earlier    = time.Hour           // clocks of other machines may be behind
)

// local are the names by which processes of the server's own machine reach it.
var local = []string{"localhost", "127.0.0.1", "::1"}

// authority signs certificates of servers.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func serial() (*big.Int, error) { return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) }

// newAuthority makes a CA that signs itself.
func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	number, err := serial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: "facetrack CA"}, NotBefore: now.Add(-earlier), NotAfter: now.Add(caLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate, key}, err
}

// sign makes a certificate of a server with the names and addresses, which ends no later than the CA.
func (a *authority) sign(hosts []string, now time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	number, err := serial()
	if err != nil {
		return nil, nil, err
	}
	end := now.Add(serverLife)
	if end.After(a.certificate.NotAfter) {
		end = a.certificate.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: "facetrack NATS server"}, NotBefore: now.Add(-earlier), NotAfter: end,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range withLocal(hosts) {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	key, err = pemKey(private)
	return pemCertificate(der), key, err
}

func withLocal(hosts []string) []string {
	out := slices.Clone(hosts)
	for _, h := range local {
		if !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

func pemCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func pemKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// openAuthority reads the CA that a folder has.
func openAuthority(certPath, keyPath string) (*authority, error) {
	pair, err := readPair(certPath, keyPath)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%w: %s is not a key that facetrack auth init has made", ErrCredentials, keyPath)
	}
	return &authority{pair.Leaf, key}, nil
}

// readPair reads a certificate and its key.
func readPair(certPath, keyPath string) (tls.Certificate, error) {
	certificate, err := readPublic(certPath)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readSecret(keyPath)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%w: %s with %s: %w", ErrCredentials, certPath, keyPath, err)
	}
	return pair, nil
}

// readCertificate reads one certificate.
func readCertificate(path string) (*x509.Certificate, error) {
	data, err := readPublic(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%w: %s holds no certificate", ErrCredentials, path)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCredentials, path, err)
	}
	return certificate, nil
}
