// Package wire holds Hadoop's and Java's integers and strings, as Accumulo's files and mutations use them.
//
// Two different variable-length integers occur in one file and must not be mixed: HVLong (Hadoop's WritableUtils, in
// keys and mutations) and TVLong (Hadoop's TFile, in the container and in block locations). They agree on 0 … 127, so
// a mix-up shows late.
//
// Append functions write the shortest form. Decoding functions take a slice and return the value and the number of
// bytes used; they return an error that wraps ErrShort or ErrMalformed and never read past the slice. Strings that
// they return are copies. Nothing here knows a file or an offset: the caller adds both.
package wire
