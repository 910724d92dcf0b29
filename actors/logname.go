package actors

import (
	"fmt"
	"log/slog"
)

// typeName logs a message as its type, formatted only if the line is written. Its content may be user data.
type typeName struct{ msg any }

// LogValue implements slog.LogValuer.
func (t typeName) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf("%T", t.msg)) }
