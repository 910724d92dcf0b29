package sim

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// lines keeps what a store logs, each record as its message and all attributes as they are, not yet quoted by anybody.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.Key + "=" + a.Value.Resolve().String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, text)
	return nil
}
func (l *lines) WithAttrs(a []slog.Attr) slog.Handler {
	var text strings.Builder
	for _, attr := range a {
		text.WriteString(" " + attr.Key + "=" + attr.Value.Resolve().String())
	}
	return &linesWith{l, text.String()}
}
func (l *lines) WithGroup(string) slog.Handler { return l }

// linesWith adds attributes to every line.
type linesWith struct {
	*lines
	with string
}

func (l *linesWith) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	r.AddAttrs(slog.String("with", l.with))
	return l.lines.Handle(ctx, r)
}

// TestLogIsQuoted has a store log everything it can, with rows, families, qualifiers and labels full of escape sequences,
// values that are a secret, a disk that fails and actors that panic: no line has a byte that a terminal would act on, and
// none has a value. Errors that callers get are held to the same.
func TestLogIsQuoted(t *testing.T) {
	const nasty, secret = "\x1b[31m\r\n\x00\a\u202e\u009b\xff", "s3cr3t-value"
	log := &lines{}
	disk := vfs.Faulty(vfs.Mem())
	ctx := context.Background()
	var mu sync.Mutex
	doomed := map[string]int{"flush": 1, "compaction": 1, "scan": 1, "tablet": 1}
	var rt *actors.Runtime
	s, err := actors.Open(ctx, "", actors.WithFS(disk), actors.WithLogger(slog.New(log)), actors.WithMemoryLimit(8<<20),
		actors.WithHooks(actors.Hooks{Received: func(to *actor.PID, msg any) {
			mu.Lock()
			defer mu.Unlock()
			if rt == nil {
				return
			}
			if kind := rt.KindOf(to.Id); doomed[kind] > 0 && !isLibrarys(msg) {
				doomed[kind]--
				panic(fmt.Sprintf("%s is meant to fail", kind))
			}
		}}))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	note := func(err error) {
		if err != nil {
			told = append(told, err.Error())
		}
	}
	note(s.CreateTable(ctx, "t", [][]byte{[]byte("m" + nasty)}, nil))
	mu.Lock()
	rt = s.Runtime()
	mu.Unlock()
	write := func(n int) {
		for _, first := range []string{"a", "m", "z"} {
			m := tablet.NewMutation([]byte(first + nasty + fmt.Sprint(n)))
			m.Put([]byte("f"+nasty), []byte("q"+nasty), []byte(`"`+"\x1b"+`"`), []byte(secret))
			m.Put([]byte("f"+nasty), []byte("q"+nasty), nil, []byte(secret+nasty))
			note(s.Apply(ctx, "t", []*tablet.Mutation{m}))
		}
	}
	for round := range 12 {
		write(round)
		switch round % 6 {
		case 0:
			disk.Add(vfs.Rule{Op: vfs.OpSync, Class: vfs.ClassData, Err: syscall.EIO})
		case 1:
			disk.Add(vfs.Rule{Op: vfs.OpWrite, Class: vfs.ClassLog, Sticky: true, Err: syscall.EIO})
		case 2:
			disk.Add(vfs.Rule{Op: vfs.OpWrite, Class: vfs.ClassManifest, Sticky: true, Err: syscall.ENOSPC})
		case 3:
			disk.Add(vfs.Rule{Op: vfs.OpRead, Class: vfs.ClassData, Sticky: true, Err: syscall.EIO})
		}
		write(round)
		note(s.Flush(ctx, "t"))
		_, err := s.Compact(ctx, "t", actors.CompactOptions{})
		note(err)
		note(s.AddSplits(ctx, "t", [][]byte{[]byte(fmt.Sprint(round, nasty))}))
		if sc, err := s.Scan(ctx, "t", actors.ScanOptions{}); err == nil {
			_, err = ReadAll(sc)
			note(err)
		}
		m := tablet.NewMutation([]byte(nasty))
		m.Put([]byte(nasty), nil, []byte(nasty), []byte(secret)) // a label that does not parse
		note(s.Apply(ctx, "t", []*tablet.Mutation{m}))
		big := tablet.NewMutation([]byte(strings.Repeat(nasty, 200_000)))
		big.Put(nil, nil, nil, []byte(secret))
		note(s.Apply(ctx, "t", []*tablet.Mutation{big}))
		note(s.SetProperties(ctx, "t", map[string]string{"table." + nasty: nasty}))
		disk.Heal()
	}
	note(s.Close(ctx))
	raw, values := 0, 0
	for i, text := range append(log.all, told...) {
		where := "logged"
		if i >= len(log.all) {
			where = "told"
		}
		if at := strings.IndexFunc(text, func(r rune) bool {
			return r != '\n' && r != '\t' && (r == unicode.ReplacementChar || !unicode.IsPrint(r))
		}); at >= 0 {
			raw++
			t.Errorf("%s: %q", where, text[max(0, at-80):min(len(text), at+80)])
		}
		if strings.Contains(text, secret) {
			values++
			t.Errorf("%s, with a value: %.300q", where, text)
		}
	}
	lastLine(t, "R74", count("lines", len(log.all)), count("errors", len(told)), zero("raw", raw), zero("values", values))
}

// isLibrarys says whether a message is the actor library's own.
func isLibrarys(msg any) bool {
	_, auto := msg.(actor.AutoReceiveMessage)
	_, system := msg.(actor.SystemMessage)
	return auto || system
}
