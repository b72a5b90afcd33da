// Package auth decides who may do what on the NATS server of a rig: the roles and their permissions, their keys and the
// certificates, and how server and clients use them.
//
// Each process has a role with an nkey of its own. [Init] makes a folder with the keys of all roles, the book of their public
// halves, which is all that a server needs, and a certificate of the server:
//
//	roles.json         who has which public key; server and auth commands
//	<role>.nk          the seed of a role's key; nobody but that role's process
//	ca.pem             whom clients trust; everybody
//	ca-key.pem         makes further certificates; auth commands alone
//	server.pem, server-key.pem   the server
//	nats-server.conf   for a server that facetrack up does not start
//
// What a role may publish and subscribe to is the table in permissions.go. Nobody but the roles that read pixels may ask for a
// ring, and capture's answers reach the inboxes of those roles alone, which nobody else may subscribe to.
package auth
