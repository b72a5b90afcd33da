// Package wire writes and reads the JSON of per-frame messages without reflection.
//
// An [Encoder] appends to one reusable buffer; a [Cursor] pulls values out of a message in one pass. Both
// keep their first error and name the field it happened in, so that codecs read as plain lists of fields.
// What the Encoder writes, any JSON library reads; what the Cursor accepts is valid JSON.
package wire
